//! Records of package revisions by name, package and owner.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use model::{Namespace, ObjectKey, PackageName, RepositoryName, Revision, Uid};

use super::keys::{Keys, add, find, take};
use super::mirror::{Changed, Mirror, Versioned};

impl Versioned for Revision {
    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.meta.resource_version
    }
}

/// A package of a registered repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PackageKey {
    /// The namespace of its repository.
    pub(crate) namespace: Namespace,
    /// The repository.
    pub(crate) repository: RepositoryName,
    /// The package.
    pub(crate) package: PackageName,
}

impl PackageKey {
    /// A key of all three.
    pub(crate) fn new(
        namespace: &Namespace,
        repository: &RepositoryName,
        package: &PackageName,
    ) -> Self {
        Self {
            namespace: namespace.clone(),
            repository: repository.clone(),
            package: package.clone(),
        }
    }

    /// The package of a revision.
    pub(crate) fn of(revision: &Revision) -> Self {
        Self::new(
            &revision.key.namespace,
            &revision.repository,
            &revision.package,
        )
    }
}

impl fmt::Display for PackageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.namespace, self.repository, self.package)
    }
}

/// All records, indexed.
#[derive(Debug, Default, Clone)]
pub(crate) struct Revisions {
    mirror: Mirror<Revision>,
    packages: BTreeMap<PackageKey, Keys>,
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
        self.all(self.packages.get(package))
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
        // Package keys sort by namespace, then repository: a range would need the least package
        // name; skipping is linear in the packages of the namespace before it only.
        self.packages
            .iter()
            .skip_while(|(k, _)| (&k.namespace, &k.repository) < (namespace, repository))
            .take_while(|(k, _)| (&k.namespace, &k.repository) == (namespace, repository))
            .flat_map(|(_, keys)| keys.iter().filter(mine))
            .filter_map(|key| self.mirror.get(key).cloned())
            .collect()
    }

    /// Whether a repository has any record.
    pub(crate) fn is_listed(&self, namespace: &Namespace, repository: &RepositoryName) -> bool {
        let before = |k: &PackageKey| (&k.namespace, &k.repository) < (namespace, repository);
        let mut rest = self.packages.keys().skip_while(|k| before(k));
        let first = rest.next();
        first.is_some_and(|k| k.namespace == *namespace && k.repository == *repository)
    }

    /// All records of a namespace, package by package.
    pub(crate) fn of_namespace(&self, namespace: &Namespace) -> Vec<Arc<Revision>> {
        self.packages
            .iter()
            .skip_while(|(k, _)| k.namespace < *namespace)
            .take_while(|(k, _)| k.namespace == *namespace)
            .flat_map(|(_, keys)| keys.iter())
            .filter_map(|key| self.mirror.get(key).cloned())
            .collect()
    }

    /// The packages of a repository.
    pub(crate) fn packages_of(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> Vec<PackageName> {
        self.packages
            .keys()
            .skip_while(|k| (&k.namespace, &k.repository) < (namespace, repository))
            .take_while(|k| (&k.namespace, &k.repository) == (namespace, repository))
            .map(|k| k.package.clone())
            .collect()
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
            take(&mut self.packages, &PackageKey::of(old), &old.key);
            for owner in &old.meta.owners {
                take(&mut self.owners, &owner.uid, &old.key);
            }
        }
        if let Some(new) = &changed.new {
            add(&mut self.packages, PackageKey::of(new), &new.key);
            for owner in &new.meta.owners {
                add(&mut self.owners, owner.uid.clone(), &new.key);
            }
        }
    }
}
