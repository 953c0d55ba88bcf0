//! Whatever is selected or injected, of any kind.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use model::{Namespace, ObjectKey, ObjectName, Pairs, Problem, Text, UpstreamSource};
use plan::set::{KindScope, SelectedObject};

use super::{Feed, OurKind, PortError};

/// Group, version and kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl Gvk {
    /// From `apiVersion` and kind.
    pub fn of(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// The kind of named selections of upstream packages.
    pub(crate) fn revision_sets() -> Self {
        Self::of("config.porch.kpt.dev/v1alpha1", "PackageRevisionSet")
    }

    /// From `group/version/kind`, as recipes write it; the core group is empty.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(3, '/');
        let (kind, version) = (parts.next()?, parts.next()?);
        Some(Self {
            group: parts.next().unwrap_or_default().to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        })
    }

    /// `apiVersion` as objects write it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// `group/version/kind`.
impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.group, self.version, self.kind)
    }
}

/// What selections see of an object (S4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectSummary {
    /// Its namespace (of the asking set, for a cluster-scoped object) and name.
    pub key: ObjectKey,
    /// Its version.
    pub version: String,
    /// What sets see of it: without a namespace, if it is cluster-scoped.
    pub object: Arc<SelectedObject>,
}

impl ObjectSummary {
    /// Whether sets of this namespace see it.
    pub fn is_seen_from(&self, namespace: &Namespace) -> bool {
        self.object.namespace.is_empty() || self.key.namespace == *namespace
    }
}

/// What injection takes from an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectContent {
    /// Its version.
    pub version: String,
    /// Its `data` as JSON text, keys in the order stored; `None` if it has none.
    pub data: Option<Text>,
    /// Its `spec` as JSON text, keys in the order stored; `None` if it has none.
    pub spec: Option<Text>,
    /// Its labels.
    pub labels: Pairs,
}

/// What was found under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<T> {
    /// It is there.
    Here(T),
    /// There is nothing of that name.
    Absent,
    /// The kind is not served in that version (`SchemaMissing`).
    KindMissing,
    /// Whoever asks may not read it, and why (X6).
    Forbidden(String),
    /// Nobody knows who wrote the object that it is read for: it is read for nobody (X6).
    WriterUnknown,
    /// The kind lies in no namespace, and was looked for in one: nothing of it was read.
    ClusterScoped,
}

impl<T> Found<T> {
    /// Why it is not there, as an answer about something else; `None` if it is there.
    pub fn why_not<U>(self) -> Option<Found<U>> {
        match self {
            Self::Here(_) => None,
            Self::Absent => Some(Found::Absent),
            Self::KindMissing => Some(Found::KindMissing),
            Self::Forbidden(why) => Some(Found::Forbidden(why)),
            Self::WriterUnknown => Some(Found::WriterUnknown),
            Self::ClusterScoped => Some(Found::ClusterScoped),
        }
    }
}

/// For whom something is read: authorised as the user who last wrote that object (X6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requester {
    /// Its kind.
    pub kind: OurKind,
    /// Its key.
    pub key: ObjectKey,
}

/// What the cluster holds beside our kinds: what sets select and variants inject, and the namespaces that all of it lies in.
#[async_trait]
pub trait Cluster: Send + Sync + fmt::Debug {
    /// All objects of a kind. `None` if the kind is not served (now); a feed ends when the kind
    /// ceases to be served.
    async fn objects(&self, kind: &Gvk) -> Result<Option<Feed<ObjectSummary>>, PortError>;

    /// The objects of a kind in a namespace (all, for a cluster-scoped kind) as they are now, not as a
    /// watch knows them; `None` if the kind is not served.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn objects_now(
        &self,
        kind: &Gvk,
        namespace: &Namespace,
    ) -> Result<Option<Vec<ObjectSummary>>, PortError>;

    /// What an object holds, as the requester may see it.
    async fn object(
        &self,
        kind: &Gvk,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<ObjectContent>, PortError>;

    /// Where a kind lies that is there to stay (S3), if the requester may list it there: in the requester's namespace, or
    /// across the cluster.
    async fn listable(
        &self,
        kind: &Gvk,
        requester: &Requester,
    ) -> Result<Found<KindScope>, PortError>;

    /// Whether whoever plans may be told what an object holds or, without a name, which objects of a kind there are in
    /// a namespace (everywhere, for a cluster-scoped kind). Whoever carries out what is decided tells nobody (F2).
    ///
    /// # Errors
    /// It cannot be found out now.
    async fn may_be_told(
        &self,
        _kind: &Gvk,
        _namespace: &Namespace,
        _name: Option<&ObjectName>,
    ) -> Result<bool, PortError> {
        Ok(true)
    }

    /// What a `PackageRevisionSet` takes as upstream, or everything that is wrong with it, as the
    /// requester may see it.
    async fn revision_set(
        &self,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<Result<Vec<UpstreamSource>, Vec<Problem>>>, PortError>;

    /// Tells each namespace as it begins to go, at first those that go already: what we hold up in it can be let go before
    /// anybody asks. Where nobody waits for that it tells nothing.
    fn leaving(&self) -> BoxStream<'static, Namespace> {
        stream::pending().boxed()
    }

    /// Whether a namespace is there and not on its way out (V10).
    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError>;
}
