//! What every object of the API carries.

use std::fmt;

use crate::{Namespace, ObjectName, Uid};

/// The namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: ObjectName,
}

impl ObjectKey {
    /// A key of both.
    pub fn new(namespace: Namespace, name: ObjectName) -> Self {
        Self { namespace, name }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Labels, annotations and the like, side by side in the order of their keys. Thousands of objects have a few pairs
/// each, for which a tree would take half a kilobyte. Many are added at once: each alone moves those behind it.
pub type Pairs = litemap::LiteMap<String, String>;

/// An owner of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerReference {
    /// Such as `config.porch.kpt.dev/v1alpha1`.
    pub api_version: String,
    /// Such as `PackageVariant`.
    pub kind: String,
    /// The owner's name.
    pub name: String,
    /// The owner's uid: ownership is equality of uids (R51).
    pub uid: Uid,
    /// Whether the owner controls the object.
    pub controller: bool,
    /// Whether foreground deletion of the owner waits for this object.
    pub block_owner_deletion: bool,
}

/// The metadata that decisions need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectMeta {
    /// Empty until the server assigned one.
    pub uid: Option<Uid>,
    /// An opaque version to compare and hand back; empty for an object that is not stored yet.
    pub resource_version: String,
    /// Grows with every change of the spec.
    pub generation: i64,
    /// RFC 3339, as the server wrote it; empty if unknown.
    pub created: String,
    /// Set once somebody asked to delete the object.
    pub deleted: Option<String>,
    /// Labels.
    pub labels: Pairs,
    /// Annotations.
    pub annotations: Pairs,
    /// Finalizers, in order.
    pub finalizers: Vec<String>,
    /// Owners, in order.
    pub owners: Vec<OwnerReference>,
}

impl ObjectMeta {
    /// Whether somebody asked to delete the object.
    pub fn is_deleting(&self) -> bool {
        self.deleted.is_some()
    }

    /// Whether both are one object in one generation, on its way out or not: what was decided about one holds for the other.
    pub fn stands_as(&self, other: &Self) -> bool {
        (&self.uid, self.generation, &self.deleted)
            == (&other.uid, other.generation, &other.deleted)
    }

    /// Whether the object with this uid is among the owners.
    pub fn is_owned_by(&self, uid: &Uid) -> bool {
        self.owners.iter().any(|o| o.uid == *uid)
    }

    /// The owner that controls the object.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owners.iter().find(|o| o.controller)
    }
}
