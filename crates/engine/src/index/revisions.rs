//! Records of package revisions by name, package and owner.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Namespace, ObjectKey, ObjectName, PackageName, RepositoryName, Revision, Uid};

use super::keys::{Keys, add, find, take};
use super::mirror::{Changed, Mirror, Versioned};
use super::packages::{ByPackage, PackageKey};

impl Versioned for Revision {
    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.meta.resource_version
    }
}

/// All records, indexed.
#[derive(Debug, Default, Clone)]
pub(crate) struct Revisions {
    mirror: Mirror<Revision>,
    packages: ByPackage,
    owners: BTreeMap<Uid, Keys>,
}

impl Revisions {
    /// The record of this key.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<Revision>> {
        self.mirror.get(key).cloned()
    }

    /// Whether all records were seen once.
    pub(crate) fn is_loaded(&self) -> bool {
        self.mirror.is_loaded()
    }

    /// All records, in the order of their keys.
    pub(crate) fn known(&self) -> Vec<Arc<Revision>> {
        self.mirror.iter().cloned().collect()
    }

    /// All records of a package, placeholder included, in name order.
    pub(crate) fn of_package(&self, package: &PackageKey) -> Vec<Arc<Revision>> {
        self.all(self.packages.of_package(package))
    }

    /// All records that an object of this namespace owns: an owner is one in its own namespace alone (V25).
    pub(crate) fn of_owner(&self, namespace: &Namespace, owner: &Uid) -> Vec<Arc<Revision>> {
        let mut owned = self.all(self.owners.get(owner));
        owned.retain(|r| r.key.namespace == *namespace);
        owned
    }

    /// All records of a repository, package by package.
    pub(crate) fn of_repository(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> Vec<Arc<Revision>> {
        let mine = |k: &&ObjectKey| {
            self.mirror
                .get(k)
                .is_some_and(|r| r.repository == *repository)
        };
        self.packages
            .of_repository(namespace, repository)
            .flat_map(|(_, keys)| keys.iter().filter(mine))
            .filter_map(|key| self.mirror.get(key).cloned())
            .collect()
    }

    /// Whether a repository has a record that stems from this address.
    pub(crate) fn is_listed_at(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
        address: &str,
    ) -> bool {
        let packages = self.packages.of_repository(namespace, repository);
        let mut records = packages
            .flat_map(|(_, keys)| keys.iter())
            .filter_map(|key| self.mirror.get(key));
        records.any(|r| {
            r.self_lock
                .as_ref()
                .is_some_and(|lock| lock.repo == address)
        })
    }

    /// The repositories that have records, as their objects are named.
    pub(crate) fn repositories(&self) -> impl Iterator<Item = ObjectKey> {
        self.packages
            .repositories()
            .filter_map(|(namespace, name)| {
                let name = ObjectName::parse(name.as_str()).ok()?;
                Some(ObjectKey::new(namespace.clone(), name))
            })
    }

    /// All records of a namespace, package by package.
    pub(crate) fn of_namespace(&self, namespace: &Namespace) -> Vec<Arc<Revision>> {
        self.packages
            .of_namespace(namespace)
            .flat_map(Keys::iter)
            .filter_map(|key| self.mirror.get(key).cloned())
            .collect()
    }

    /// The packages of a repository.
    pub(crate) fn packages_of(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> Vec<PackageName> {
        let packages = self.packages.of_repository(namespace, repository);
        packages.map(|(name, _)| name.clone()).collect()
    }

    fn all(&self, keys: Option<&Keys>) -> Vec<Arc<Revision>> {
        find(keys)
            .filter_map(|key| self.mirror.get(key).cloned())
            .collect()
    }

    /// Whether a record is known at this version or a later one.
    pub(crate) fn knows(&self, key: &ObjectKey, version: &str) -> bool {
        self.mirror.knows(key, version)
    }

    /// Takes a record.
    pub(crate) fn put(&mut self, revision: impl Into<Arc<Revision>>) -> Option<Changed<Revision>> {
        let changed = self.mirror.put(revision)?;
        self.reindex(&changed);
        Some(changed)
    }

    /// Takes a deletion.
    pub(crate) fn delete(&mut self, key: &ObjectKey, version: &str) -> Option<Changed<Revision>> {
        let changed = self.mirror.delete(key, version)?;
        self.reindex(&changed);
        Some(changed)
    }

    /// Takes all records there are.
    pub(crate) fn snapshot(&mut self, all: Vec<Revision>) -> Vec<Changed<Revision>> {
        let changes = self.mirror.snapshot(all);
        for changed in &changes {
            self.reindex(changed);
        }
        changes
    }

    fn reindex(&mut self, changed: &Changed<Revision>) {
        if let Some(old) = &changed.old {
            self.packages.take(&PackageKey::of(old), &old.key);
            for owner in &old.meta.owners {
                take(&mut self.owners, &owner.uid, &old.key);
            }
        }
        if let Some(new) = &changed.new {
            self.packages.add(PackageKey::of(new), &new.key);
            for owner in &new.meta.owners {
                add(&mut self.owners, owner.uid.clone(), &new.key);
            }
        }
    }
}
