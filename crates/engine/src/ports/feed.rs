//! A watch as the engine wants it: first everything, then what changes.

use std::fmt;
use std::sync::Arc;

use futures::stream::BoxStream;
use model::ObjectKey;

/// One message of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta<T> {
    /// All there is: the first message, and again whenever the watch had to start anew. What is
    /// not in it is gone.
    Snapshot(Vec<T>),
    /// It is there, new or changed.
    Put(T),
    /// It is gone.
    Deleted {
        /// What is gone.
        key: ObjectKey,
        /// The version of the deletion; empty if unknown.
        version: String,
    },
}

/// A list that keeps itself up to date. It may lose nothing, but it may repeat and be late: a
/// consumer compares versions. Cluster-scoped objects have the namespace of who asked.
pub type Feed<T> = BoxStream<'static, Delta<T>>;

/// Whether something is known at this version or a later one: a feed need not read and tell it then. Most changes are
/// the engine's own writes, which it has taken up by the time that a watch tells of them.
#[derive(Clone)]
pub struct Known(Arc<Ask>);

/// Whether this object is known at this version.
type Ask = dyn Fn(&ObjectKey, &str) -> bool + Send + Sync;

impl Known {
    /// Asks whoever knows.
    pub fn new(ask: impl Fn(&ObjectKey, &str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Nothing is known: everything is told.
    pub fn nothing() -> Self {
        Self::new(|_, _| false)
    }

    /// Whether this object is known at this version or a later one.
    pub fn knows(&self, key: &ObjectKey, version: &str) -> bool {
        (self.0)(key, version)
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Known")
    }
}
