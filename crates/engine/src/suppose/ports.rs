//! The ports of a supposed world: what the cluster holds can be read, and nothing can be written or told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use functions::{FunctionCall, Limits, RunError, Runner};
use futures::StreamExt as _;
use model::{Class, Namespace, ObjectKey, Problem, Revision, Uid, UpstreamSource, Variant};
use plan::set::KindScope;

use crate::ports::{
    Cluster, ClusterEvent, Events, Feed, Found, Gvk, Known, ObjectContent, ObjectSummary, Objects,
    OurKind, Ours, PortError, Reader, RecordWrite, Records, Requester, Secret, Secrets, Stored,
    StoredVariant, Variants,
};

fn refused<T>(attempt: &str) -> Result<T, PortError> {
    let why = "the world is only supposed: nothing is written";
    Err(PortError::new(Class::Bug, attempt, why))
}

/// What a set is decided by, and whoever plans may not see: the set's plan is not known.
fn untold<T>(verb: &str, kind: &Gvk, what: &str) -> Result<T, PortError> {
    let attempt = format!("{verb} {} of {what}", kind.kind);
    let why = format!("you may not {verb} {} of {what}", kind.kind);
    Err(PortError::new(Class::Denied, attempt, why))
}

/// A cluster that can only be read.
pub(super) struct ReadOnlyCluster {
    pub(super) real: Arc<dyn Cluster>,
    /// For whom a variant reads that a set would make: the set (X6).
    pub(super) made: Mutex<BTreeMap<ObjectKey, ObjectKey>>,
}

impl fmt::Debug for ReadOnlyCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOnlyCluster").finish_non_exhaustive()
    }
}

impl ReadOnlyCluster {
    /// Notes that a set makes a variant.
    pub(super) fn makes(&self, set: &ObjectKey, variant: &ObjectKey) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert(variant.clone(), set.clone());
    }

    fn requester(&self, requester: &Requester) -> Requester {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match made.get(&requester.key) {
            Some(set) if requester.kind == OurKind::Variant => Requester {
                kind: OurKind::Set,
                key: set.clone(),
            },
            _ => requester.clone(),
        }
    }
}

#[async_trait]
impl Cluster for ReadOnlyCluster {
    async fn objects(&self, _kind: &Gvk) -> Result<Option<Feed<ObjectSummary>>, PortError> {
        refused("follow a kind")
    }

    async fn objects_now(
        &self,
        kind: &Gvk,
        namespace: &Namespace,
    ) -> Result<Option<Vec<ObjectSummary>>, PortError> {
        self.real.objects_now(kind, namespace).await
    }

    async fn object(
        &self,
        kind: &Gvk,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<ObjectContent>, PortError> {
        let (namespace, name) = (&key.namespace, Some(&key.name));
        if !self.real.may_be_told(kind, namespace, name).await? {
            note(|noted| &mut noted.hidden, format!("{} {key}", kind.kind));
            // What the package holds of it already stays, and nothing is read.
            return Ok(Found::WriterUnknown);
        }
        self.real
            .object(kind, key, &self.requester(requester))
            .await
    }

    async fn listable(
        &self,
        kind: &Gvk,
        requester: &Requester,
    ) -> Result<Found<KindScope>, PortError> {
        let namespace = &requester.key.namespace;
        if !self.real.may_be_told(kind, namespace, None).await? {
            return untold("list", kind, &format!("namespace {namespace}"));
        }
        self.real.listable(kind, &self.requester(requester)).await
    }

    async fn revision_set(
        &self,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<Result<Vec<UpstreamSource>, Vec<Problem>>>, PortError> {
        let kind = Gvk::revision_sets();
        let (namespace, name) = (&key.namespace, Some(&key.name));
        if !self.real.may_be_told(&kind, namespace, name).await? {
            return untold("read", &kind, &key.to_string());
        }
        self.real
            .revision_set(key, &self.requester(requester))
            .await
    }

    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError> {
        self.real.namespace_active(namespace).await
    }
}

/// What can only be read of a port.
#[derive(Debug)]
pub(super) struct ReadOnlyPort<P: ?Sized>(pub(super) Arc<P>);

#[async_trait]
impl<K: Ours, P: Objects<K> + ?Sized> Objects<K> for ReadOnlyPort<P> {
    fn feed(&self, _known: Known) -> Feed<Stored<K::Asked, K::Status>> {
        futures::stream::pending().boxed()
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Stored<K::Asked, K::Status>>, PortError> {
        self.0.get(key).await
    }

    async fn now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<Stored<K::Asked, K::Status>>, PortError> {
        self.0.now(namespace).await
    }

    async fn set_status(
        &self,
        _key: &ObjectKey,
        _version: &str,
        _status: &K::Status,
    ) -> Result<String, PortError> {
        refused("write a status")
    }

    async fn set_finalizers(
        &self,
        _key: &ObjectKey,
        _version: &str,
        _finalizers: &[String],
    ) -> Result<String, PortError> {
        refused("write finalizers")
    }
}

#[async_trait]
impl<P: Variants + ?Sized> Variants for ReadOnlyPort<P> {
    async fn create(&self, _variant: &Variant) -> Result<StoredVariant, PortError> {
        refused("create a variant")
    }

    async fn update(&self, _variant: &Variant, _version: &str) -> Result<StoredVariant, PortError> {
        refused("update a variant")
    }

    async fn delete(&self, _key: &ObjectKey, _uid: &Uid) -> Result<(), PortError> {
        refused("delete a variant")
    }
}

#[async_trait]
impl Records for ReadOnlyPort<dyn Records> {
    fn watch(&self, _known: Known) -> Feed<Revision> {
        futures::stream::pending().boxed()
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Revision>, PortError> {
        self.0.get(key).await
    }

    async fn is_retired(&self, key: &ObjectKey) -> Result<bool, PortError> {
        self.0.is_retired(key).await
    }

    fn fits(&self, record: &Revision) -> Result<(), PortError> {
        self.0.fits(record)
    }

    async fn commit(&self, writes: Vec<RecordWrite>) -> Vec<Result<Option<Revision>, PortError>> {
        writes.iter().map(|_| refused("write a record")).collect()
    }
}

/// Secrets are nobody's to read for a plan: what is in git is read of what is there.
#[derive(Debug)]
pub(super) struct NoSecrets;

#[async_trait]
impl Secrets for NoSecrets {
    async fn secret(&self, _key: &ObjectKey, _reader: &Reader) -> Result<Found<Secret>, PortError> {
        refused("read a Secret")
    }

    async fn trusted(&self, _namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError> {
        Ok(None)
    }
}

/// Nobody is told of what is only supposed.
#[derive(Debug)]
pub(super) struct NoEvents;

#[async_trait]
impl Events for NoEvents {
    async fn tell(&self, _event: ClusterEvent) {}
}

/// What the work of a task met that makes its plan inexact.
#[derive(Debug, Default, Clone)]
pub(crate) struct Noted {
    /// The functions of others that it asked for.
    pub(crate) foreign: BTreeSet<String>,
    /// The objects that whoever plans may not read.
    pub(crate) hidden: BTreeSet<String>,
}

tokio::task_local! {
    /// What the work of this task met.
    pub(crate) static NOTED: Mutex<Noted>;
}

/// Notes something for the plan of this task; outside of one nobody asks.
fn note(kind: impl FnOnce(&mut Noted) -> &mut BTreeSet<String>, what: String) {
    _ = NOTED.try_with(|noted| {
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        kind(&mut noted).insert(what)
    });
}

/// Runs the functions of this build; those of others only where that was asked for. It notes which they are.
pub(super) struct OwnFunctions {
    pub(super) real: Arc<dyn Runner>,
    pub(super) run_others: bool,
}

#[async_trait]
impl Runner for OwnFunctions {
    async fn run(
        &self,
        call: FunctionCall,
        limits: &Limits,
    ) -> Result<functions::FunctionOutcome, RunError> {
        let image = call.function.image.clone();
        if image.as_deref().and_then(functions::find).is_some() {
            return self.real.run(call, limits).await;
        }
        let name = image
            .or_else(|| call.function.exec.clone())
            .unwrap_or_default();
        note(|noted| &mut noted.foreign, name.clone());
        if self.run_others {
            return self.real.run(call, limits).await;
        }
        Err(RunError::NoRuntime {
            function: name,
            hint: "a plan runs it with --run-functions".to_owned(),
        })
    }
}
