//! A server of some resources within a cluster whose other API server keeps everything else: what it asks of that cluster, and
//! the mirror of what is kept there.
//!
//! Such a server has no built-in kinds, no roles, no namespaces and no collector of its own: the cluster has them. Records of the
//! embedding program lie in the cluster, too ([`Host::write`]); here is a [`Mirror`] of them, fed by one watch in the order of
//! versions, from which everything is read. It gives out no version of its own, so that GET, LIST and WATCH agree.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::request::Parts;
use objects::Failure;
use objectstore::{CommitError, Expect, Key, NewObject, Object, Op, ResourceKey, Store, key_of};
use serde_json::Value;
use tokio::sync::watch;

use crate::gateway::User;

/// What a namespace is told to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespacePhase {
    /// Objects may be made in it.
    Active,
    /// It is on its way out.
    Terminating,
    /// There is none of that name.
    Absent,
}

impl NamespacePhase {
    /// What a namespace is, by its object.
    #[must_use]
    pub fn of(namespace: &Value) -> Self {
        let phase = namespace.pointer("/status/phase").and_then(Value::as_str);
        let deleted = namespace.pointer("/metadata/deletionTimestamp");
        let goes = phase == Some("Terminating") || deleted.is_some_and(|time| !time.is_null());
        match goes {
            true => Self::Terminating,
            false => Self::Active,
        }
    }
}

/// One write of a record, as the cluster is to keep it.
#[derive(Debug, Clone)]
pub struct HostWrite {
    /// The namespace; empty at cluster scope.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// What must be there now.
    pub expect: Expect,
    /// The whole new object, or `None` to remove it.
    pub object: Option<Value>,
    /// What the mirror holds.
    pub old: Option<Arc<Object>>,
}

/// The cluster around an aggregated server.
#[async_trait]
pub trait Host: Send + Sync + fmt::Debug {
    /// Tells who asks; without credentials that is `system:anonymous`.
    ///
    /// # Errors
    /// 401 for credentials that are not accepted.
    async fn identify(&self, parts: &Parts) -> Result<User, Failure>;

    /// What a namespace is now.
    ///
    /// # Errors
    /// The cluster cannot say.
    async fn namespace(&self, name: &str) -> Result<NamespacePhase, Failure>;

    /// Whether requests can be told apart by now: credentials of the cluster are known.
    fn is_ready(&self) -> bool;

    /// Writes a record where the cluster keeps it; answers the version of the write once the mirror has it, for a removal
    /// the version that was removed.
    ///
    /// # Errors
    /// The expectation does not hold, or the cluster cannot be reached.
    async fn write(&self, write: HostWrite) -> Result<u64, CommitError>;
}

/// An object of a list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// The object as it is served.
    pub object: Value,
}

/// What one resource holds in the cluster, as one watch tells it.
#[derive(Debug)]
pub struct Mirror {
    store: Store,
    resource: ResourceKey,
    seen: watch::Sender<u64>,
}

impl Mirror {
    /// A mirror of a resource into a store that nobody else writes.
    #[must_use]
    pub fn new(store: Store, resource: ResourceKey) -> Self {
        Self {
            store,
            resource,
            seen: watch::Sender::new(0),
        }
    }

    /// Takes over a complete list. What the list lacks is gone; what changed while nobody watched is told in the order of
    /// versions.
    ///
    /// # Errors
    /// The list is older than the mirror: list again. The store failed.
    pub async fn list(&self, version: u64, mut all: Vec<Listed>) -> Result<(), MirrorError> {
        let mirror = self.store.rv();
        if version < mirror {
            return Err(MirrorError::Stale {
                list: version,
                mirror,
            });
        }
        all.sort_by_key(|one| one.version);
        let mut held: std::collections::BTreeMap<Key, u64> = self
            .store
            .list(&self.resource, "")
            .objects
            .into_iter()
            .map(|(key, object)| (key, object.rv))
            .collect();
        let mut ops = Vec::new();
        for one in &all {
            let key = key_of(&one.namespace, &one.name);
            if held.remove(&key) != Some(one.version) {
                ops.push((one.version, self.op(key, Some(&one.object))?));
            }
        }
        // When these went nobody knows: the list's version is the first at which they surely are gone.
        for (key, _) in held {
            ops.push((version, self.op(key, None)?));
        }
        let first = mirror == 0;
        self.store.ingest(ops, version).await?;
        if first {
            // Nobody has seen a version before this list's.
            self.store.compact();
        }
        self.seen.send_replace(version);
        Ok(())
    }

    /// Takes over a change.
    ///
    /// # Errors
    /// The object is none; the store failed.
    pub async fn put(&self, one: &Listed) -> Result<(), MirrorError> {
        let key = key_of(&one.namespace, &one.name);
        let op = self.op(key, Some(&one.object))?;
        self.take(one.version, op).await
    }

    /// Takes over a removal, which has a version of its own.
    ///
    /// # Errors
    /// The store failed.
    pub async fn remove(
        &self,
        (namespace, name): (&str, &str),
        version: u64,
    ) -> Result<(), MirrorError> {
        let op = self.op(key_of(namespace, name), None)?;
        self.take(version, op).await
    }

    /// Nothing happened up to this version.
    ///
    /// # Errors
    /// The store failed.
    pub async fn advance(&self, version: u64) -> Result<(), MirrorError> {
        self.store.ingest(Vec::new(), version).await?;
        // Looked at first: what is borrowed while it is replaced waits for itself.
        let seen = version.max(self.version());
        self.seen.send_replace(seen);
        Ok(())
    }

    /// The version that was taken over last; 0 before the first list.
    #[must_use]
    pub fn version(&self) -> u64 {
        *self.seen.borrow()
    }

    /// What the mirror holds under a name.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.store.get(&self.resource, &key_of(namespace, name))
    }

    /// Waits until `done`, which is asked after each change; whether it came to that in time.
    pub async fn wait(&self, patience: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let mut seen = self.seen.subscribe();
        let waiting = async {
            while !done(self) {
                if seen.changed().await.is_err() {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(patience, waiting)
            .await
            .unwrap_or(false)
    }

    async fn take(&self, version: u64, op: Op) -> Result<(), MirrorError> {
        // A watch that starts anew repeats what is known.
        if version > self.version() {
            self.store.ingest(vec![(version, op)], version).await?;
            self.seen.send_replace(version);
        }
        Ok(())
    }

    fn op(&self, key: Key, object: Option<&Value>) -> Result<Op, MirrorError> {
        let put = object.map(NewObject::new).transpose();
        let put = put.map_err(|e| MirrorError::Object(key.to_string(), e.to_string()))?;
        Ok(Op {
            resource: self.resource.clone(),
            key,
            expect: Expect::Any,
            put,
            homes: Vec::new(),
        })
    }
}

/// Why a mirror did not take something over.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// A list is older than what is known.
    #[error("the list is of version {list}, the mirror of version {mirror}")]
    Stale {
        /// The list's version.
        list: u64,
        /// The mirror's.
        mirror: u64,
    },
    /// An object has no readable metadata.
    #[error("the object {0} has no readable metadata: {1}")]
    Object(String, String),
    /// The store in memory failed.
    #[error("keep the mirror")]
    Store(#[source] CommitError),
}

impl From<CommitError> for MirrorError {
    fn from(error: CommitError) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests;
