//! The objects around packages: variants, sets, repositories, and whatever is injected or selected.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use model::{
    Namespace, ObjectKey, ObjectMeta, ObjectName, Pairs, Problem, Repository, RepositoryStatus,
    SetStatus, Text, UpstreamSource, Variant, VariantSet, VariantStatus,
};

use plan::set::{KindScope, Object};

use super::{Feed, Known, PortError};

/// An object of ours as it is stored: parsed as far as it can be, with its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored<T, S> {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its metadata.
    pub meta: Arc<ObjectMeta>,
    /// What it asks for, or everything that is wrong with it (A4a: it is stored all the same).
    pub parsed: Result<T, Vec<Problem>>,
    /// What was last reported.
    pub status: S,
}

/// A stored `PackageVariant`.
pub type StoredVariant = Stored<Arc<Variant>, VariantStatus>;
/// A stored `PackageVariantSet`.
pub type StoredSet = Stored<VariantSet, SetStatus>;
/// A stored `Repository`.
pub type StoredRepository = Stored<Repository, RepositoryStatus>;

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
    pub object: Arc<Object>,
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

/// A kind of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OurKind {
    /// `PackageVariant`
    Variant,
    /// `PackageVariantSet`
    Set,
    /// `Repository`
    Repository,
    /// `PackageRevision`
    Revision,
}

impl OurKind {
    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Variant => "PackageVariant",
            Self::Set => "PackageVariantSet",
            Self::Repository => "Repository",
            Self::Revision => "PackageRevision",
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

/// For whom a Secret with credentials is read (X8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    /// Whoever named the Secret, or the address that it is used at, in a repository: as recorded, and only while the
    /// repository still names both.
    Repository {
        /// The repository.
        key: ObjectKey,
        /// Its address.
        address: String,
    },
    /// Whoever asks for a clone.
    Caller {
        /// The user.
        user: String,
        /// The user's groups.
        groups: Vec<String>,
    },
}

/// The parts of a Secret with credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its type, such as `kubernetes.io/basic-auth`.
    pub kind: String,
    /// The hosts that it is bound to (`offshoot.dev/hosts`), as written; `None` for all.
    pub hosts: Option<String>,
    /// Its data, decoded.
    pub data: BTreeMap<String, Vec<u8>>,
}

/// Keys only: values of secrets are never printed.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("kind", &self.kind)
            .field("keys", &self.data.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// Whether an event is a worry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// For information.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An `Event` about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterEvent {
    /// The kind of the object that it is about.
    pub kind: OurKind,
    /// That object.
    pub about: ObjectKey,
    /// Whether it is a worry.
    pub event_type: EventType,
    /// A word in `CamelCase`.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// Objects of the cluster, embedded or real.
///
/// Writes compare `version` (a `resourceVersion`) and fail with class `Conflict` where it differs,
/// with `NotFound` where the object is gone. A status equal to the stored one is no write.
#[async_trait]
pub trait Cluster: Send + Sync + fmt::Debug {
    /// All variants of all namespaces; what is `known` may be left out.
    fn variants(&self, known: Known) -> Feed<StoredVariant>;

    /// A variant as it is now, not as a watch knows it; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn variant(&self, key: &ObjectKey) -> Result<Option<StoredVariant>, PortError>;

    /// Whether a variant is at this version now: what it says need not be read for that.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn variant_is_at(&self, key: &ObjectKey, version: &str) -> Result<bool, PortError> {
        let now = self.variant(key).await?;
        Ok(now.is_some_and(|now| now.meta.resource_version == version))
    }

    /// A repository as it is now, not as a watch knows it; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn repository(&self, key: &ObjectKey) -> Result<Option<StoredRepository>, PortError>;

    /// All sets of all namespaces.
    fn sets(&self) -> Feed<StoredSet>;

    /// A set as it is now, not as a watch knows it; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn set(&self, key: &ObjectKey) -> Result<Option<StoredSet>, PortError>;

    /// All repositories of all namespaces.
    fn repositories(&self) -> Feed<StoredRepository>;

    /// The repositories of a namespace as they are now, not as a watch knows them.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn repositories_now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<StoredRepository>, PortError>;

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

    /// A Secret with credentials, as the reader may see it: whoever may not learns nothing about it.
    async fn secret(&self, key: &ObjectKey, reader: &Reader) -> Result<Found<Secret>, PortError>;

    /// The certificates (PEM) that a namespace trusts beside the system's, if it says so.
    async fn trusted(&self, namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError>;

    /// Writes a variant's status; answers the variant's version, all that changes besides.
    async fn set_variant_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &VariantStatus,
    ) -> Result<String, PortError>;

    /// Writes a set's status.
    async fn set_set_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &SetStatus,
    ) -> Result<StoredSet, PortError>;

    /// Writes a repository's status.
    async fn set_repository_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &RepositoryStatus,
    ) -> Result<StoredRepository, PortError>;

    /// Writes the finalizers of an object of ours; an object on its way out goes with its last.
    /// Answers with the object's new version, empty if it went.
    async fn set_finalizers(
        &self,
        kind: OurKind,
        key: &ObjectKey,
        version: &str,
        finalizers: &[String],
    ) -> Result<String, PortError>;

    /// Creates a variant, or `Conflict` if the name is taken.
    async fn create_variant(&self, variant: &Variant) -> Result<StoredVariant, PortError>;

    /// Writes a variant's labels, annotations, owners and spec.
    async fn update_variant(
        &self,
        variant: &Variant,
        version: &str,
    ) -> Result<StoredVariant, PortError>;

    /// Asks for a variant's deletion, if it is still the one with this uid.
    async fn delete_variant(&self, key: &ObjectKey, uid: &model::Uid) -> Result<(), PortError>;

    /// Tells people about something; never fails, counts what is lost.
    async fn event(&self, event: ClusterEvent);

    /// Whether a namespace is there and not on its way out (V10).
    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError>;
}
