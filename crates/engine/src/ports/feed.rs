//! A watch as the engine wants it: first everything, then what changes.

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
