//! The durable traits: what a store needs from the medium below it, and how a test makes it fail.

use std::sync::Arc;

use crate::key::{Key, ResourceKey};
use crate::object::Object;

/// Why the medium could not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StorageError {
    /// The data could not be opened.
    #[error("open the object store at {path}: {detail}")]
    Open {
        /// Where it lies.
        path: String,
        /// What the medium said.
        detail: String,
    },
    /// The file is no whole store; it is left as it was found.
    #[error("the object store {path} is damaged: {found}")]
    Damage {
        /// Where it lies.
        path: String,
        /// What was found.
        found: String,
    },
    /// The file is gone from beside what was made with it.
    #[error("the object store {path} {found}, although its directory has been used before")]
    Lost {
        /// Where it should lie.
        path: String,
        /// `is missing`, or `is empty`.
        found: String,
    },
    /// The data was written by a newer program (X7); it is left untouched.
    #[error(
        "the object store has format {found}, this program knows formats up to {known}: use a newer program"
    )]
    NewerFormat {
        /// The format on the medium.
        found: u64,
        /// The newest format that is understood.
        known: u64,
    },
    /// A stored object cannot be read.
    #[error("read {resource} {key} from the object store: it is damaged")]
    Damaged {
        /// Its resource.
        resource: String,
        /// Its key.
        key: String,
    },
    /// The data could not be read.
    #[error("read the object store: {0}")]
    Read(String),
    /// A transaction could not be made durable.
    #[error("write the object store: {0}")]
    Write(String),
    /// A transaction could not be made durable, since the medium has no room for it.
    #[error("write the object store: {0}")]
    Full(String),
    /// Whoever keeps the objects elsewhere refused one, and would again.
    #[error("it is refused: {0}")]
    Refused(String),
    /// A test stopped the store here.
    #[error("the object store was stopped at a fault point")]
    Stopped,
}

impl StorageError {
    /// Whether the store itself is spoilt or gone: no other program, and no second try, will read it.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damage { .. } | Self::Lost { .. } | Self::Damaged { .. }
        )
    }
}

/// What a medium holds when it is opened.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// The newest resource version that was given out.
    pub(crate) rv: u64,
    /// Events up to this version are gone.
    pub(crate) compacted: u64,
    /// All objects.
    pub(crate) objects: Vec<(ResourceKey, Key, Arc<Object>)>,
    /// The event log, oldest first.
    pub(crate) log: Vec<LogEntry>,
}

/// One event in the log: what a key held before the change of version `rv`.
///
/// What it held after is the next entry's `old`, or the stored object: nothing is kept twice.
#[derive(Debug, Clone)]
pub(crate) struct LogEntry {
    /// The version of the change.
    pub(crate) rv: u64,
    /// The resource of the object.
    pub(crate) resource: ResourceKey,
    /// The object's key.
    pub(crate) key: Key,
    /// The state before the change, `None` where the change created it.
    pub(crate) old: Option<Arc<Object>>,
}

/// One change within a transaction.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// The event that it makes.
    pub(crate) entry: LogEntry,
    /// The new state, `None` where the change deletes.
    pub(crate) new: Option<Arc<Object>>,
}

/// A medium that keeps objects and the event log.
///
/// Only the store's writer calls it, one call at a time.
pub(crate) trait Backend: Send {
    /// Reads everything.
    ///
    /// # Errors
    /// The medium cannot be read, is damaged, or was written by a newer program.
    fn load(&mut self) -> Result<Loaded, StorageError>;

    /// Makes all `changes` durable at once, or none of them; forgets events up to `compact`.
    ///
    /// # Errors
    /// Nothing was written.
    fn persist(
        &mut self,
        changes: &[Change],
        rv: u64,
        compact: Option<u64>,
    ) -> Result<(), StorageError>;
}

/// Where a test may stop the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultPoint {
    /// The transaction was computed, nothing is durable.
    BeforePersist,
    /// The transaction is durable, nobody was answered.
    AfterPersist,
}

/// Decides whether the writer stops at a fault point: a crash, as the callers see it.
pub trait Faults: Send + Sync {
    /// Returns true to stop the store here; every later call is answered [`StorageError::Stopped`].
    fn stop_at(&self, point: FaultPoint) -> bool;
}
