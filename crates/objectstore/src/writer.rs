//! The one writer: checks expectations, gives out versions, makes a group durable, then shows it.
//!
//! Batches that wait together become one transaction. A batch whose expectation fails is dropped from the
//! group and answered; the others go on. Nothing is visible before it is durable (X4).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::backend::{Backend, Change, FaultPoint, LogEntry, StorageError};
use crate::key::{Key, ObjectRef, ResourceKey};
use crate::object::{NewObject, Object};
use crate::shared::Shared;
use crate::text::Packers;

/// What a write expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No object.
    Absent,
    /// The object at exactly this version.
    Rv(u64),
    /// Some state of the object.
    Present,
    /// Anything.
    Any,
}

impl Expect {
    fn is_met(self, found: Option<&Object>) -> bool {
        match self {
            Self::Absent => found.is_none(),
            Self::Rv(rv) => found.is_some_and(|object| object.rv == rv),
            Self::Present => found.is_some(),
            Self::Any => true,
        }
    }
}

/// One write of a batch.
#[derive(Debug, Clone)]
pub struct Op {
    /// The resource.
    pub resource: ResourceKey,
    /// The object.
    pub key: Key,
    /// What must be there now.
    pub expect: Expect,
    /// The new state, or `None` to delete.
    pub put: Option<NewObject>,
    /// What must be there, and stay, where this makes the object: its namespace, the definition of its kind.
    pub homes: Vec<ObjectRef>,
}

/// Why a batch was not written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// Another write came first: observe again.
    #[error("{resource} {key} is not in the expected state")]
    Conflict {
        /// Which operation of the batch lost.
        index: usize,
        /// The resource.
        resource: ResourceKey,
        /// The object.
        key: Key,
        /// What is there instead.
        found: Option<Arc<Object>>,
    },
    /// What the object was to lie in is not there, or is being deleted.
    #[error("nothing is made in {resource} {key}, which {}", gone(found))]
    Homeless {
        /// The resource of what it was to lie in.
        resource: ResourceKey,
        /// Its key.
        key: Key,
        /// What is there of it.
        found: Option<Arc<Object>>,
    },
    /// The medium failed; nothing of the batch was written, or (after [`StorageError::Stopped`]) nobody knows.
    #[error("commit to the object store")]
    Storage(#[source] StorageError),
}

fn gone(found: &Option<Arc<Object>>) -> &'static str {
    match found {
        Some(_) => "is being deleted",
        None => "does not exist",
    }
}

/// A caller's batch and where its answer goes.
pub(crate) struct Request {
    pub(crate) ops: Vec<Op>,
    /// The version of each, where another store gave them out.
    pub(crate) versions: Option<Vec<u64>>,
    pub(crate) reply: oneshot::Sender<Answer>,
}

pub(crate) type Answer = Result<Vec<Arc<Object>>, CommitError>;

/// How many batches become one transaction at most: bounds the memory of a group, not its latency.
const GROUP: usize = 1024;

/// The log is compacted in steps of this many versions, so that most transactions do not touch old entries.
const COMPACT_STEP: u64 = 4096;

pub(crate) struct Writer {
    backend: Box<dyn Backend>,
    shared: Arc<Shared>,
    compacted: u64,
    packers: Packers,
}

impl Writer {
    pub(crate) fn new(backend: Box<dyn Backend>, shared: Arc<Shared>) -> Self {
        let compacted = shared.read().compacted;
        Self {
            backend,
            shared,
            compacted,
            packers: Packers::default(),
        }
    }

    /// Serves requests until the last store handle is gone.
    pub(crate) fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        while let Some(first) = requests.blocking_recv() {
            let mut group = vec![first];
            // What waits together shares one sync of the disk; nobody is waited for.
            while group.len() < GROUP {
                match requests.try_recv() {
                    Ok(next) => group.push(next),
                    Err(_) => break,
                }
            }
            self.process(group);
        }
    }

    /// Writes one group of batches and answers each.
    pub(crate) fn process(&mut self, group: Vec<Request>) {
        let mut staged = Staged::new(self.shared.read().rv);
        let mut winners = Vec::new();
        for Request {
            ops,
            versions,
            reply,
        } in group
        {
            match self.stage(&mut staged, ops, versions.as_deref()) {
                Ok(objects) => winners.push((reply, objects)),
                Err(error) => answer(reply, Err(error)),
            }
        }
        let resources = staged
            .changes
            .iter()
            .map(|c| c.entry.resource.clone())
            .collect();
        match self.publish(staged, &resources) {
            Ok(()) => winners
                .into_iter()
                .for_each(|(reply, objects)| answer(reply, Ok(objects))),
            Err(error) => {
                for (reply, _) in winners {
                    answer(reply, Err(CommitError::Storage(error.clone())));
                }
            }
        }
    }

    /// Makes the staged changes durable, then visible.
    fn publish(
        &mut self,
        staged: Staged,
        resources: &BTreeSet<ResourceKey>,
    ) -> Result<(), StorageError> {
        if staged.changes.is_empty() {
            return Ok(());
        }
        self.shared.fault(FaultPoint::BeforePersist)?;
        let oldest = self.shared.read().oldest();
        let compact = (oldest >= self.compacted + COMPACT_STEP).then_some(oldest);
        self.backend.persist(&staged.changes, staged.rv, compact)?;
        self.compacted = compact.unwrap_or(self.compacted);
        self.shared.fault(FaultPoint::AfterPersist)?;
        // All of the group under one lock: a list shows the whole of a batch or nothing of it.
        let mut state = self.shared.write();
        for change in staged.changes {
            state.apply(change);
        }
        drop(state);
        // Watchers read what they are told of: they must not find the door closed.
        self.shared.read().announce(resources);
        self.shared.wake();
        Ok(())
    }

    /// Checks a batch against the state and what the group has staged so far; all of it or nothing is staged.
    fn stage(&mut self, staged: &mut Staged, ops: Vec<Op>, versions: Option<&[u64]>) -> Answer {
        let state = self.shared.read();
        let mut seen: BTreeMap<ObjectRef, Option<Arc<Object>>> = BTreeMap::new();
        let mut changes = Vec::with_capacity(ops.len());
        let mut answers = Vec::with_capacity(ops.len());
        let mut rv = staged.rv;
        for (index, op) in ops.into_iter().enumerate() {
            let at = (op.resource.clone(), op.key.clone());
            // Its own batch over the group over what is stored: a group comes to the same as its batches one by one.
            let held = |at: &ObjectRef| {
                let changed = seen.get(at).or_else(|| staged.seen.get(at));
                let stored = || state.get(&at.0, &at.1).cloned();
                changed.cloned().unwrap_or_else(stored)
            };
            let found = held(&at);
            if !op.expect.is_met(found.as_deref()) {
                return Err(CommitError::Conflict {
                    index,
                    resource: op.resource,
                    key: op.key,
                    found,
                });
            }
            if op.put.is_some() && found.is_none() {
                check_homes(op.homes, held)?;
            }
            // Nothing happens where nothing was: it makes no event and takes no version.
            if op.put.is_none() && found.is_none() {
                continue;
            }
            rv = match versions.and_then(|given| given.get(index)) {
                Some(given) => *given,
                None => rv + 1,
            };
            let packer = self.packers.of(&op.resource);
            let seal = |draft: NewObject| Arc::new(draft.seal_after(found.as_deref(), rv, packer));
            let new = op.put.map(seal);
            let shown = new
                .clone()
                .or_else(|| found.as_ref().map(|old| Arc::new(old.at(rv))));
            answers.extend(shown);
            seen.insert(at, new.clone());
            changes.push(Change {
                entry: LogEntry {
                    rv,
                    resource: op.resource,
                    key: op.key,
                    old: found,
                },
                new,
            });
        }
        staged.rv = staged.rv.max(rv);
        staged.seen.append(&mut seen);
        staged.changes.append(&mut changes);
        Ok(answers)
    }
}

/// What is made needs a place that stays. Whoever asked looked before, and here nothing comes between: what is deleted
/// lists what it holds after its mark was written.
fn check_homes(
    homes: Vec<ObjectRef>,
    held: impl Fn(&ObjectRef) -> Option<Arc<Object>>,
) -> Result<(), CommitError> {
    for at in homes {
        let found = held(&at);
        if !found.as_deref().is_some_and(Object::stays) {
            let (resource, key) = at;
            return Err(CommitError::Homeless {
                resource,
                key,
                found,
            });
        }
    }
    Ok(())
}

/// A caller that no longer waits has given up its answer; the write stands.
fn answer(reply: oneshot::Sender<Answer>, with: Answer) {
    drop(reply.send(with));
}

struct Staged {
    rv: u64,
    seen: BTreeMap<ObjectRef, Option<Arc<Object>>>,
    changes: Vec<Change>,
}

impl Staged {
    fn new(rv: u64) -> Self {
        Self {
            rv,
            seen: BTreeMap::new(),
            changes: Vec::new(),
        }
    }
}
