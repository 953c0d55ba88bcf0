//! Registered repositories, by key and by the place that their addresses lead to.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ObjectKey, PackageName};
use plan::repository::place;

use super::keys::{Keys, add, find, take};
use super::mirror::{Changed, Mirror, Versioned as _};
use crate::ports::StoredRepository;

/// The condition of a `Repository` through which nothing may be written, since another one writes there.
pub(crate) const READ_ONLY: &str = "ReadOnly";

/// A directory of a branch of a repository, however registrations spell it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Location(Box<str>);

/// All registrations.
#[derive(Debug, Default, Clone)]
pub(crate) struct Repositories {
    mirror: Mirror<StoredRepository>,
    places: BTreeMap<String, Keys>,
    /// What opening showed: where an address leads that a link on the disk hides.
    resolved: BTreeMap<String, String>,
}

impl Repositories {
    /// The registration of this key.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Arc<StoredRepository>> {
        self.mirror.get(key)
    }

    /// All of them, in the order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<StoredRepository>> {
        self.mirror.iter()
    }

    /// Whether all were seen once.
    pub(crate) fn is_loaded(&self) -> bool {
        self.mirror.is_loaded()
    }

    /// The registrations of the place that an address leads to, in all namespaces.
    pub(crate) fn at(&self, url: &str) -> impl Iterator<Item = &Arc<StoredRepository>> {
        let keys = find(self.places.get(&self.place(url)));
        keys.filter_map(|key| self.mirror.get(key))
    }

    /// Whether two addresses lead to one place.
    pub(crate) fn same_place(&self, a: &str, b: &str) -> bool {
        self.place(a) == self.place(b)
    }

    /// Where in git a package lies that is named through a registration; `None` if that cannot be understood.
    pub(super) fn location(
        &self,
        through: &StoredRepository,
        package: &PackageName,
    ) -> Option<Location> {
        let git = &through.parsed.as_ref().ok()?.git;
        let directory = git.directory.trim_matches('/');
        let slash = if directory.is_empty() { "" } else { "/" };
        let (place, branch) = (self.place(&git.repo), &git.branch);
        let whole = format!("{place}\n{branch}\n{directory}{slash}{package}");
        Some(Location(whole.into()))
    }

    fn place(&self, url: &str) -> String {
        let place = place(url);
        self.resolved.get(&place).cloned().unwrap_or(place)
    }

    /// Notes that an address leads to this one; whether that is news.
    pub(super) fn resolve(&mut self, url: &str, real: &str) -> bool {
        let (from, to) = (place(url), place(real));
        if from == to || self.resolved.get(&from) == Some(&to) {
            return false;
        }
        self.resolved.insert(from, to);
        self.places.clear();
        let all: Vec<_> = self.mirror.iter().cloned().collect();
        for stored in all {
            self.enter(&stored);
        }
        true
    }

    fn enter(&mut self, stored: &StoredRepository) {
        if let Some(url) = url_of(stored) {
            let place = self.place(url);
            add(&mut self.places, place, stored.key());
        }
    }

    /// Takes a registration.
    pub(super) fn put(
        &mut self,
        stored: impl Into<Arc<StoredRepository>>,
    ) -> Option<Changed<StoredRepository>> {
        let changed = self.mirror.put(stored)?;
        self.reindex(&changed);
        Some(changed)
    }

    /// Takes a deletion.
    pub(super) fn delete(
        &mut self,
        key: &ObjectKey,
        version: &str,
    ) -> Option<Changed<StoredRepository>> {
        let changed = self.mirror.delete(key, version)?;
        self.reindex(&changed);
        Some(changed)
    }

    /// Takes all that there are.
    pub(super) fn snapshot(
        &mut self,
        all: Vec<StoredRepository>,
    ) -> Vec<Changed<StoredRepository>> {
        let changes = self.mirror.snapshot(all);
        for changed in &changes {
            self.reindex(changed);
        }
        changes
    }

    fn reindex(&mut self, changed: &Changed<StoredRepository>) {
        if let Some(old) = &changed.old
            && let Some(url) = url_of(old)
        {
            let place = self.place(url);
            take(&mut self.places, &place, old.key());
        }
        if let Some(new) = &changed.new {
            self.enter(new);
        }
    }
}

fn url_of(stored: &StoredRepository) -> Option<&str> {
    let parsed = stored.parsed.as_ref().ok();
    parsed.map(|repository| repository.git.repo.as_str())
}
