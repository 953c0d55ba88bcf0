//! Records: how the embedding program writes the objects of its own resources, several at once.
//!
//! What only a server can know is still set here: uid and creation time of new objects, generations, managed
//! fields, versions. Schemas are not applied: the writer is the authority of these resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use objects::Failure;
use objects::write::part::Part;
use objects::write::{Moment, WriteOptions, managed, metadata, metadata_mut};
use objectstore::{
    CommitError, Expect, NOTES, NewObject, Object, Op, ResourceKey, StorageError, Store, key_of,
    sorted,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Core, RequestTarget, Whose};
use crate::aggregated::HostWrite;

/// One record of a batch.
#[derive(Debug, Clone)]
pub struct Record {
    /// The API group.
    pub group: String,
    /// The plural of the resource.
    pub resource: String,
    /// The namespace; empty at cluster scope.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// What must be there now.
    pub expect: Expect,
    /// The whole new object, or `None` to remove it.
    pub object: Option<Value>,
    /// The manager of the changed fields; empty keeps `managedFields` as the object has them, and where it has none
    /// takes those of the request that it answers, or of the state before.
    pub manager: String,
}

/// Why a batch of records was not written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RecordError {
    /// Another write came first: observe again.
    #[error("record {index} of the batch is not in the expected state")]
    Conflict {
        /// Which record lost.
        index: usize,
        /// What is there instead.
        found: Option<Box<Value>>,
    },
    /// The store failed.
    #[error("write the records")]
    Storage(#[source] StorageError),
    /// A record cannot be written by anyone.
    #[error("record {index} of the batch cannot be written: {why}")]
    Invalid {
        /// Which record.
        index: usize,
        /// Why.
        why: String,
    },
}

impl Core {
    /// Writes a batch of records, all or none; answers the new objects, for removals the last states.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub(crate) async fn commit(
        &self,
        records: Vec<Record>,
    ) -> Result<Vec<Arc<Object>>, RecordError> {
        if self.host.is_some() {
            return self.commit_to_host(records).await;
        }
        let mut ops = Vec::with_capacity(records.len());
        let mut retired = Vec::new();
        for (index, record) in records.into_iter().enumerate() {
            let invalid = |failure: Failure| RecordError::Invalid {
                index,
                why: failure.message,
            };
            let op = self.record(record).map_err(invalid)?;
            if op.put.is_none() && self.store.get(&op.resource, &op.key).is_some() {
                retired.push(retire(&op).map_err(|e| RecordError::Invalid {
                    index,
                    why: e.to_string(),
                })?);
            }
            ops.push(op);
        }
        // The notes stand behind the records: an index in a conflict must be one of the caller's.
        let asked = ops.len();
        ops.extend(forgotten(&self.store, &retired, RETIRED));
        ops.extend(retired);
        match self.store.commit(ops).await {
            Ok(mut objects) => {
                objects.truncate(asked);
                Ok(objects)
            }
            Err(CommitError::Conflict { index, found, .. }) => Err(RecordError::Conflict {
                index,
                found: found.map(|o| Box::new(o.value())),
            }),
            Err(error) => Err(not_written(error)),
        }
    }

    /// Whether a record of this name was ever removed; lasts as long as the store does. Where so many
    /// were removed that the oldest names are forgotten, any name counts as used: taking a new object
    /// for a former one is wrong, the other way round costs nothing.
    pub(crate) fn is_retired(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> bool {
        let catalog = self.registry.catalog();
        let Some(resource) = catalog.get(group, resource) else {
            return false;
        };
        let (names, key) = (retired_names(&resource.key()), key_of(namespace, name));
        let noted = |key: &str| self.store.get(&names, key).is_some();
        noted(&key) || noted(FORGOTTEN)
    }

    /// Each record is written alone: nobody relies on a batch being atomic.
    async fn commit_to_host(&self, records: Vec<Record>) -> Result<Vec<Arc<Object>>, RecordError> {
        let mut written = Vec::with_capacity(records.len());
        for (index, record) in records.into_iter().enumerate() {
            let invalid = |failure: Failure| RecordError::Invalid {
                index,
                why: failure.message,
            };
            let (target, expect, object) = self.stamped(record).map_err(invalid)?;
            match self.hand_to_host(&target, (expect, object)).await {
                Ok(object) => written.push(object),
                Err(CommitError::Conflict { found, .. }) => {
                    return Err(RecordError::Conflict {
                        index,
                        found: found.map(|o| Box::new(o.value())),
                    });
                }
                Err(error) => return Err(not_written(error)),
            }
        }
        Ok(written)
    }

    /// Has the cluster keep an object, or remove it; answers what was written, at its version.
    pub(super) async fn hand_to_host(
        &self,
        target: &RequestTarget,
        (expect, object): (Expect, Option<Value>),
    ) -> Result<Arc<Object>, CommitError> {
        let failed = |why: String| CommitError::Storage(StorageError::Write(why));
        let host = self.host.as_ref();
        let host = host.ok_or_else(|| failed("there is no cluster to write to".to_owned()))?;
        let old = self.store.get(&target.resource.key(), &target.key());
        let draft = object.as_ref().map(NewObject::new).transpose();
        let draft = draft.map_err(|e| failed(e.to_string()))?;
        let write = HostWrite {
            namespace: target.namespace.clone(),
            name: target.name.clone(),
            expect,
            object,
            old: old.clone(),
        };
        let version = host.write(write).await?;
        match (draft, old) {
            (Some(draft), _) => Ok(Arc::new(draft.seal(version))),
            (None, Some(old)) => Ok(old),
            // It was gone already.
            (None, None) => empty()
                .map(|nothing| Arc::new(nothing.seal(version)))
                .map_err(|e| failed(e.to_string())),
        }
    }

    fn record(&self, record: Record) -> Result<Op, Failure> {
        let (target, expect, object) = self.stamped(record)?;
        self.op(&target, expect, object)
    }

    /// What a record becomes, with what only a server knows.
    fn stamped(&self, record: Record) -> Result<(RequestTarget, Expect, Option<Value>), Failure> {
        let catalog = self.registry.catalog();
        let resource = catalog.get(&record.group, &record.resource);
        let resource =
            resource.ok_or_else(|| Failure::not_found(&record.group, &record.resource, ""))?;
        let target = RequestTarget::stored(resource, &record.namespace, &record.name);
        let Some(mut object) = record.object else {
            return Ok((target, record.expect, None));
        };
        let before = self.store.get(&resource.key(), &target.key());
        let before = before.map(Former::of);
        let moment = self.moment();
        stamp(&target, before.as_ref(), &mut object, &moment)?;
        if record.manager.is_empty() {
            self.own_record(&target, before.as_ref(), &mut object);
        } else {
            let old = before.map(|before| before.object.value());
            let rules = target.rules()?;
            let options = WriteOptions {
                field_manager: record.manager,
                ..WriteOptions::default()
            };
            match &old {
                Some(old) => {
                    let mut asked = object.clone();
                    rules.updated(old, &mut asked, Part::Main, &options, &moment);
                    managed::take_from(&mut object, asked);
                }
                None => rules.created(&mut object, None, &options, &moment),
            }
        }
        Ok((target, record.expect, Some(object)))
    }

    /// The identity of the server's own work.
    #[must_use]
    pub(crate) fn own(&self, name: &str) -> Whose {
        Whose {
            user: crate::gateway::User::new(name, &["system:masters", "system:authenticated"]),
            agent: name.rsplit(':').next().unwrap_or(name).to_owned(),
        }
    }
}

/// Why records were not written that nobody else has written.
fn not_written(error: CommitError) -> RecordError {
    RecordError::Storage(match error {
        CommitError::Storage(error) => error,
        refused => StorageError::Refused(refused.to_string()),
    })
}

/// How many names of removed records are remembered for each resource: a few megabytes.
const RETIRED: usize = 16_384;

/// Stands among them once some were forgotten; no object has such a name.
const FORGOTTEN: &str = "*";

/// The record as it stood, of whose text no more is read than is asked for.
pub(super) struct Former {
    object: Arc<Object>,
    text: Bytes,
}

impl Former {
    fn of(object: Arc<Object>) -> Self {
        Self {
            text: object.bytes(),
            object,
        }
    }

    /// Whether anything but metadata and separately written status differs: in the store equal values have equal texts.
    fn differs(&self, status: bool, new: &Value) -> bool {
        let old: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_slice(&self.text);
        let (Ok(old), Some(new)) = (old, new.as_object()) else {
            return true;
        };
        let counts = |key: &&String| *key != "metadata" && !(status && *key == "status");
        let same = |key: &String| {
            let mut text = Vec::new();
            let value = new.get(key).unwrap_or(&Value::Null);
            let old = old.get(key).map(|old| old.get().as_bytes());
            sorted(&mut text, value).is_ok() && old == Some(&text[..])
        };
        old.keys().filter(counts).count() != new.keys().filter(counts).count()
            || !new.keys().filter(counts).all(same)
    }

    /// Who owned its fields.
    pub(super) fn owners(&self) -> Option<Value> {
        #[derive(Deserialize)]
        struct Owned {
            metadata: Entries,
        }
        #[derive(Deserialize)]
        struct Entries {
            #[serde(rename = "managedFields")]
            entries: Option<Value>,
        }
        let owned: Owned = serde_json::from_slice(&self.text).ok()?;
        owned.metadata.entries
    }
}

/// Where the names of removed records are kept: a resource that is served nowhere.
fn retired_names(resource: &ResourceKey) -> ResourceKey {
    format!("{NOTES}{resource}").into()
}

/// What makes room for more names of removed records: the oldest quarter goes at once, so that it is
/// rare, and it is noted that some were forgotten.
fn forgotten(store: &Store, retired: &[Op], most: usize) -> Vec<Op> {
    let names: BTreeSet<&ResourceKey> = retired.iter().map(|op| &op.resource).collect();
    let mut ops = Vec::new();
    for names in names {
        if store.count(names) + retired.len() <= most {
            continue;
        }
        // An empty note cannot fail; without it nothing is forgotten.
        let Ok(empty) = empty() else { continue };
        let mut notes = store.list(names, "").objects;
        notes.retain(|(key, _)| &**key != FORGOTTEN);
        notes.sort_by_key(|(_, note)| note.rv);
        notes.truncate(notes.len() / 4 + 1);
        let note = |key: &str, put| Op {
            resource: names.clone(),
            key: key.into(),
            expect: Expect::Any,
            put,
            homes: Vec::new(),
        };
        ops.extend(notes.iter().map(|(key, _)| note(key, None)));
        ops.push(note(FORGOTTEN, Some(empty)));
    }
    ops
}

/// The note that a name was used, written with the removal.
fn retire(removal: &Op) -> Result<Op, serde_json::Error> {
    Ok(Op {
        resource: retired_names(&removal.resource),
        key: removal.key.clone(),
        expect: Expect::Any,
        put: Some(empty()?),
        homes: Vec::new(),
    })
}

fn empty() -> Result<NewObject, serde_json::Error> {
    NewObject::new(&serde_json::json!({ "metadata": {} }))
}

/// Sets name, namespace, identity, times and generation of a record.
fn stamp(
    target: &RequestTarget,
    old: Option<&Former>,
    object: &mut Value,
    moment: &Moment,
) -> Result<(), Failure> {
    let rules = target.rules()?;
    let changed = old.is_some_and(|old| old.differs(rules.version.status, object));
    let missing = || Failure::bad_request("metadata is not an object");
    let metadata = metadata_mut(object).ok_or_else(missing)?;
    metadata::tidy(metadata);
    metadata.insert("name".to_owned(), target.name.clone().into());
    if !target.namespace.is_empty() {
        metadata.insert("namespace".to_owned(), target.namespace.clone().into());
    }
    let fields = old.map(|old| &*old.object.fields);
    let uid = fields.map(|fields| fields.uid.as_str());
    let created = fields.and_then(|fields| fields.creation_timestamp.as_deref());
    let fresh = [
        ("uid", uid, &moment.uid),
        ("creationTimestamp", created, &moment.now),
    ];
    for (field, kept, value) in fresh {
        match kept.filter(|kept| !kept.is_empty()) {
            Some(kept) => drop(metadata.insert(field.to_owned(), kept.into())),
            None if metadata.contains_key(field) => {}
            None => drop(metadata.insert(field.to_owned(), value.clone().into())),
        }
    }
    let before = fields.map(|fields| fields.generation);
    let before = before.filter(|generation| *generation != 0);
    let generation = before.map_or(1, |g| g + i64::from(changed));
    metadata.insert("generation".to_owned(), generation.into());
    Ok(())
}

#[cfg(test)]
mod tests;
