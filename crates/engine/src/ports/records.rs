//! The records of package revisions: the object store's truth about them.

use std::fmt;

use async_trait::async_trait;
use model::{ObjectKey, ObjectMeta, Revision};

use super::{Feed, Known, PortError};

/// Reads and writes records; embedded, the record *is* the `PackageRevision` object.
#[async_trait]
pub trait Records: Send + Sync + fmt::Debug {
    /// All records of all namespaces, and every change of them, in version order.
    ///
    /// The engine keeps its indexes from it, and applies its own writes to them at once; what is `known` may be left out.
    fn watch(&self, known: Known) -> Feed<Revision>;

    /// The record as it is now, not as a watch knows it.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn get(&self, key: &ObjectKey) -> Result<Option<Revision>, PortError>;

    /// Whether a record of this name was ever removed, also before the last start: then the next
    /// one is another object, and needs another uid (A5).
    ///
    /// # Errors
    /// The store cannot be read.
    async fn is_retired(&self, key: &ObjectKey) -> Result<bool, PortError>;

    /// Whether a record can be kept at all: asked before anything of it goes to git. What is refused later all the same
    /// stands in git, and is told of.
    ///
    /// # Errors
    /// `Limit`, where it is too large.
    fn fits(&self, _record: &Revision) -> Result<(), PortError> {
        Ok(())
    }

    /// What another server of this API kept beside git of a revision that is found there: its uid, labels, annotations,
    /// owners and finalizers. Each is handed out once.
    fn inherited(&self, _key: &ObjectKey) -> Option<ObjectMeta> {
        None
    }

    /// Writes each record whose expectation holds; nobody relies on the batch being atomic.
    ///
    /// One answer for each write, in order: the record as stored (with its versions), `None` for a
    /// deletion, or a failure, of class `Conflict` where the expectation does not hold. A record
    /// that is written unchanged keeps its version and tells nobody. Answered when durable.
    async fn commit(&self, writes: Vec<RecordWrite>) -> Vec<Result<Option<Revision>, PortError>>;
}

/// One write of a record.
#[derive(Debug, Clone)]
pub struct RecordWrite {
    /// What must be stored.
    pub expect: Expect,
    /// What is stored then.
    pub change: Change,
}

/// What must be stored for a write to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// Nothing of that name.
    Absent,
    /// This version of it (`meta.resource_version`).
    Version(String),
    /// Anything or nothing: for repairs from the journal and from git.
    Any,
}

/// What is done to a record.
#[derive(Debug, Clone)]
pub enum Change {
    /// It is written as given. `meta.uid` is kept as given; `resource_version`, and `generation`
    /// where it is 0, `created` where it is empty, are the store's to assign. `content_version`
    /// becomes the write's version where it is empty (A6).
    Put(Box<Revision>),
    /// It is removed, whatever its finalizers: the caller has seen to them.
    Delete(ObjectKey),
}
