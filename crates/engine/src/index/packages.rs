//! Records by their package, package by package of each repository: whoever asks for one repository's looks at no other's.

use std::collections::BTreeMap;
use std::fmt;

use model::{Namespace, ObjectKey, PackageName, RepositoryName, Revision};

use super::keys::{self, Keys};

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

/// The packages of one repository.
type Packages = BTreeMap<PackageName, Keys>;

/// The records of all packages.
#[derive(Debug, Default, Clone)]
pub(super) struct ByPackage(BTreeMap<Namespace, BTreeMap<RepositoryName, Packages>>);

impl ByPackage {
    /// The packages of a repository that have records, in order.
    pub(super) fn of_repository(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> impl Iterator<Item = (&PackageName, &Keys)> {
        let found = self.0.get(namespace).and_then(|all| all.get(repository));
        found.into_iter().flatten()
    }

    /// The keys of a package's records.
    pub(super) fn of_package(&self, package: &PackageKey) -> Option<&Keys> {
        let all = self.0.get(&package.namespace)?.get(&package.repository)?;
        all.get(&package.package)
    }

    /// The keys of all records of a namespace, package by package.
    pub(super) fn of_namespace(&self, namespace: &Namespace) -> impl Iterator<Item = &Keys> {
        let all = self.0.get(namespace).into_iter().flatten();
        all.flat_map(|(_, packages)| packages.values())
    }

    /// The repositories that have records.
    pub(super) fn repositories(&self) -> impl Iterator<Item = (&Namespace, &RepositoryName)> {
        let each = self.0.iter();
        each.flat_map(|(namespace, all)| all.keys().map(move |name| (namespace, name)))
    }

    /// Adds a record.
    pub(super) fn add(&mut self, at: PackageKey, key: &ObjectKey) {
        let all = self.0.entry(at.namespace).or_default();
        keys::add(all.entry(at.repository).or_default(), at.package, key);
    }

    /// Takes a record out; a repository without any is forgotten.
    pub(super) fn take(&mut self, at: &PackageKey, key: &ObjectKey) {
        let Some(all) = self.0.get_mut(&at.namespace) else {
            return;
        };
        let Some(packages) = all.get_mut(&at.repository) else {
            return;
        };
        keys::take(packages, &at.package, key);
        if packages.is_empty() {
            all.remove(&at.repository);
        }
        if all.is_empty() {
            self.0.remove(&at.namespace);
        }
    }
}
