//! The kinds of ours that people write and the engine acts on: variants, sets, repositories.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use model::{
    Namespace, ObjectKey, ObjectMeta, Problem, Repository, RepositoryStatus, SetStatus, Uid,
    Variant, VariantSet, VariantStatus,
};

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

/// A kind of ours, as one of its objects is held.
pub trait Ours: Send + Sync + 'static {
    /// What an object asks for.
    type Asked: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;
    /// What is reported of it.
    type Status: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;

    /// Puts an object's metadata into what it asks for, which carries it, too.
    fn carry(asked: &mut Self::Asked, meta: &Arc<ObjectMeta>);
}

impl Ours for Variant {
    type Asked = Arc<Self>;
    type Status = VariantStatus;

    fn carry(asked: &mut Self::Asked, meta: &Arc<ObjectMeta>) {
        Arc::make_mut(asked).meta = Arc::clone(meta);
    }
}

impl Ours for VariantSet {
    type Asked = Self;
    type Status = SetStatus;

    fn carry(asked: &mut Self::Asked, meta: &Arc<ObjectMeta>) {
        asked.meta = ObjectMeta::clone(meta);
    }
}

impl Ours for Repository {
    type Asked = Self;
    type Status = RepositoryStatus;

    fn carry(asked: &mut Self::Asked, meta: &Arc<ObjectMeta>) {
        asked.meta = ObjectMeta::clone(meta);
    }
}

/// An object as it stands once this status is written, at this version.
pub(crate) fn reported<K: Ours>(
    known: &Stored<K::Asked, K::Status>,
    version: String,
    status: K::Status,
) -> Stored<K::Asked, K::Status> {
    let mut now = Stored {
        status,
        ..known.clone()
    };
    Arc::make_mut(&mut now.meta).resource_version = version;
    if let Ok(asked) = &mut now.parsed {
        K::carry(asked, &now.meta);
    }
    now
}

/// The objects of a kind of ours.
///
/// Writes compare `version` (a `resourceVersion`) and fail with class `Conflict` where it differs, with `NotFound` where the
/// object is gone. They answer the new version, which is all that changes besides; it is empty where the object went.
#[async_trait]
pub trait Objects<K: Ours>: Send + Sync + fmt::Debug {
    /// All of them in all namespaces, and what becomes of them; what is `known` may be left out.
    fn feed(&self, known: Known) -> Feed<Stored<K::Asked, K::Status>>;

    /// One as it is now, not as a watch knows it; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn get(&self, key: &ObjectKey) -> Result<Option<Stored<K::Asked, K::Status>>, PortError>;

    /// Those of a namespace as they are now, not as a watch knows them.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<Stored<K::Asked, K::Status>>, PortError>;

    /// Writes its status; one equal to the stored one is no write.
    async fn set_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &K::Status,
    ) -> Result<String, PortError>;

    /// Writes its finalizers; an object on its way out goes with its last.
    async fn set_finalizers(
        &self,
        key: &ObjectKey,
        version: &str,
        finalizers: &[String],
    ) -> Result<String, PortError>;
}

/// Variants: of all kinds of ours the one whose objects the engine itself makes.
#[async_trait]
pub trait Variants: Objects<Variant> {
    /// Whether one is at this version now: what it says need not be read for that.
    ///
    /// # Errors
    /// The store cannot be read.
    async fn is_at(&self, key: &ObjectKey, version: &str) -> Result<bool, PortError> {
        let now = self.get(key).await?;
        Ok(now.is_some_and(|now| now.meta.resource_version == version))
    }

    /// Creates one, or `Conflict` if the name is taken.
    async fn create(&self, variant: &Variant) -> Result<StoredVariant, PortError>;

    /// Writes its labels, annotations, owners and spec.
    async fn update(&self, variant: &Variant, version: &str) -> Result<StoredVariant, PortError>;

    /// Asks for its deletion, if it is still the one with this uid.
    async fn delete(&self, key: &ObjectKey, uid: &Uid) -> Result<(), PortError>;
}
