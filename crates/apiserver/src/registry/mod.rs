//! The resources that are served: built-in ones, those that the embedding program gives, and users' CRDs.
//!
//! A [`Catalog`] is an immutable picture; the [`Registry`] swaps it when a definition comes or goes. Nothing here
//! reads or writes objects.

pub(crate) mod discovery;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use objects::Resource;
use objects::resource::Version;

/// The resources at one moment.
#[derive(Debug, Default, Clone)]
pub(crate) struct Catalog {
    /// Group and plural → resource.
    by_name: BTreeMap<(String, String), Arc<Resource>>,
    /// What definitions say is served, by their names, also where nothing is for want of a name.
    claimed: BTreeMap<String, (String, Vec<String>)>,
    /// Counts changes: part of ETags.
    pub(crate) revision: u64,
}

impl Catalog {
    /// Finds a resource by group and plural.
    #[must_use]
    pub(crate) fn get(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_name.get(&(group.to_owned(), plural.to_owned()))
    }

    /// Finds a resource by group and kind.
    #[must_use]
    pub(crate) fn by_kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.iter().find(|r| r.group == group && r.kind == kind)
    }

    /// All resources, ordered by group and plural.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_name.values()
    }

    /// The served groups except the core group, each with its served versions in order of preference.
    #[must_use]
    pub(crate) fn groups(&self) -> Vec<(String, Vec<String>)> {
        self.grouped(false)
    }

    /// As [`Self::groups`], with those that a definition claims whose names are taken: the real server lists groups by what
    /// definitions say.
    #[must_use]
    pub(crate) fn listed_groups(&self) -> Vec<(String, Vec<String>)> {
        self.grouped(true)
    }

    fn grouped(&self, claimed: bool) -> Vec<(String, Vec<String>)> {
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let served = self.iter().map(|resource| {
            let served = resource.versions.iter().filter(|v| v.served);
            (&resource.group, served.map(|v| &v.name).collect::<Vec<_>>())
        });
        let said = self.claimed.values().filter(|_| claimed);
        let said = said.map(|(group, versions)| (group, versions.iter().collect()));
        for (group, served) in served.chain(said) {
            let versions = groups.entry(group).or_default();
            for version in served {
                if !versions.contains(version) {
                    versions.push(version.clone());
                }
            }
        }
        let mut out: Vec<(String, Vec<String>)> = Vec::new();
        for (group, mut versions) in groups {
            versions.sort_by_key(|v| std::cmp::Reverse(Version::preference(v)));
            if !versions.is_empty() {
                out.push((group.to_owned(), versions));
            }
        }
        out
    }
}

/// The current catalog, and the only place that changes it.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    catalog: RwLock<Arc<Catalog>>,
}

impl Registry {
    /// The picture of this moment.
    #[must_use]
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a resource or replaces one of the same name.
    pub(crate) fn put(&self, resource: Resource) {
        self.change(|catalog| {
            let key = (resource.group.clone(), resource.plural.clone());
            catalog.by_name.insert(key, Arc::new(resource));
        });
    }

    /// Takes a resource out.
    pub(crate) fn remove(&self, group: &str, plural: &str) {
        self.change(|catalog| {
            catalog
                .by_name
                .remove(&(group.to_owned(), plural.to_owned()));
        });
    }

    /// Notes what a definition says is served.
    pub(crate) fn claim(&self, name: &str, group: &str, served: Vec<String>) {
        let claimed = (group.to_owned(), served);
        if self.catalog().claimed.get(name) != Some(&claimed) {
            self.change(|catalog| {
                catalog.claimed.insert(name.to_owned(), claimed);
            });
        }
    }

    /// Forgets what a definition said.
    pub(crate) fn unclaim(&self, name: &str) {
        if self.catalog().claimed.contains_key(name) {
            self.change(|catalog| {
                catalog.claimed.remove(name);
            });
        }
    }

    fn change(&self, with: impl FnOnce(&mut Catalog)) {
        let mut slot = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = Catalog::clone(&slot);
        with(&mut next);
        next.revision += 1;
        *slot = Arc::new(next);
    }
}
