//! Records over the server's store: embedded, the record is the `PackageRevision` object.

mod inherited;

use std::sync::Arc;

use apiserver::{Record, RecordError, ServerHandle};
use async_trait::async_trait;
use engine::ports::{Change, Expect, Feed, Known, PortError, RecordWrite, Records};
use futures::future::join_all;
use model::{Class, ObjectKey, ObjectMeta, Revision, Uid};
use objectstore::{Expect as Found, Object, StorageError};
use serde_json::Value;

use super::objects::read_feed;
use super::{failed, feed, revisions};

pub(crate) use inherited::Inherited;

/// The resource that records are.
const RESOURCE: &str = "packagerevisions";

/// Bytes of a record that are not the revision's.
const ROOM: usize = 8 << 10;

/// The records of package revisions.
#[derive(Debug)]
pub(super) struct ServerRecords {
    handle: ServerHandle,
    /// How many bytes one may have.
    largest: usize,
    /// What another server kept of revisions that are found in git.
    inherited: Arc<Inherited>,
}

impl ServerRecords {
    /// Records in this server, or where its host keeps them, which may take no more than so many bytes of one.
    pub(super) fn new(handle: ServerHandle, largest: usize, inherited: Arc<Inherited>) -> Self {
        Self {
            handle,
            largest,
            inherited,
        }
    }

    /// One write. Writes that wait at the same time share the store's next transaction.
    async fn write(&self, write: RecordWrite) -> Result<Option<Revision>, PortError> {
        let (key, revision) = match write.change {
            Change::Put(mut revision) => {
                self.mark_content(&mut revision, &write.expect);
                (revision.key.clone(), Some(*revision))
            }
            Change::Delete(key) => {
                self.inherited.forget(&key);
                (key, None)
            }
        };
        let attempt = || format!("write the record of {key}");
        let expect = match &write.expect {
            Expect::Absent => Found::Absent,
            Expect::Any => Found::Any,
            Expect::Version(version) => match version.parse() {
                Ok(rv) => Found::Rv(rv),
                Err(_) => {
                    let text = format!("{version:?} is no version");
                    return Err(PortError::new(Class::Conflict, attempt(), text));
                }
            },
        };
        let object = revision.as_ref().map(api::write_revision);
        let record = Record {
            group: api::PACKAGE_GROUP.to_owned(),
            resource: RESOURCE.to_owned(),
            namespace: key.namespace.as_str().to_owned(),
            name: key.name.as_str().to_owned(),
            expect,
            object,
            manager: String::new(),
        };
        let stored = self.handle.commit(vec![record]).await;
        let stored = stored.map_err(|e| PortError::new(class(&e), attempt(), chain(&e)))?;
        let stamped = revision.zip(stored.first());
        Ok(stamped.map(|(revision, stored)| as_stamped(revision, stored)))
    }

    /// New content gets a version of its own (A6): the newest that any watcher can
    /// have seen before, so it grows with every change of content and with nothing else.
    fn mark_content(&self, revision: &mut Revision, expect: &Expect) {
        if revision.content_version.is_empty() {
            revision.content_version = match expect {
                Expect::Version(version) => version.clone(),
                Expect::Absent | Expect::Any => self.handle.version().to_string(),
            };
        }
    }
}

#[async_trait]
impl Records for ServerRecords {
    fn watch(&self, known: Known) -> Feed<Revision> {
        let read = |object: &Value| match read(object) {
            Ok(revision) => Some(revision),
            Err(why) => {
                tracing::error!(%why, "a record cannot be read");
                None
            }
        };
        let feed = feed::feed_of(&self.handle, &revisions(), api::read_key, known);
        read_feed(feed, read)
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Revision>, PortError> {
        let attempt = format!("read the record of {key}");
        let found = self
            .handle
            .get(&revisions(), key.namespace.as_str(), key.name.as_str())
            .await;
        let object = found.map_err(|f| failed(attempt.clone(), &f))?;
        object
            .map(|o| read(&o).map_err(|e| PortError::new(Class::Bug, attempt, e)))
            .transpose()
    }

    async fn is_retired(&self, key: &ObjectKey) -> Result<bool, PortError> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let handle = &self.handle;
        Ok(handle.is_retired(api::PACKAGE_GROUP, RESOURCE, namespace, name))
    }

    fn fits(&self, record: &Revision) -> Result<(), PortError> {
        let largest = self.largest;
        let size = api::write_revision(record).to_string().len();
        // What the server adds: who manages which field, times, the record around it.
        if size + size / 16 + ROOM <= largest {
            return Ok(());
        }
        let why = format!(
            "its record would be of {size} bytes, and {largest} at most are kept of one: leave annotations of the package out, or \
             decide conflicts in several steps"
        );
        let attempt = format!("write the record of {}", record.key);
        Err(PortError::new(Class::Limit, attempt, why))
    }

    fn inherited(&self, key: &ObjectKey) -> Option<ObjectMeta> {
        self.inherited.get(key)
    }

    async fn commit(&self, writes: Vec<RecordWrite>) -> Vec<Result<Option<Revision>, PortError>> {
        join_all(writes.into_iter().map(|write| self.write(write))).await
    }
}

/// A record as it reads from the store: what the store adds is its identity, its times and its version.
fn as_stamped(mut revision: Revision, stored: &Object) -> Revision {
    let (meta, fields) = (&mut revision.meta, &stored.fields);
    meta.resource_version = stored.rv.to_string();
    meta.generation = fields.generation;
    meta.uid = Uid::parse(&fields.uid).ok();
    meta.created = fields.creation_timestamp.clone().unwrap_or_default();
    revision
}

fn read(object: &Value) -> Result<Revision, String> {
    api::read_revision(object)
}

fn class(error: &RecordError) -> Class {
    match error {
        RecordError::Conflict { .. } => Class::Conflict,
        RecordError::Storage(StorageError::Refused(_)) => Class::Denied,
        RecordError::Storage(_) => Class::Unavailable,
        // Too large, or of a shape that nobody may write: the one that it is about says so.
        RecordError::Invalid { .. } => Class::Invalid,
    }
}

fn chain(error: &RecordError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
