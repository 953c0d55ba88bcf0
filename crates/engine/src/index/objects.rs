//! Objects that somebody injects or selects, and who is interested in which.

use std::collections::{BTreeMap, BTreeSet};

use model::ObjectKey;

use super::mirror::{Mirror, Versioned};
use super::revisions::{add, take};
use crate::ports::{Gvk, ObjectSummary};

impl Versioned for ObjectSummary {
    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.version
    }
}

/// Objects by kind, and the variants that name them, also where they do not exist (V11).
#[derive(Debug, Default)]
pub(crate) struct Objects {
    kinds: BTreeMap<Gvk, Mirror<ObjectSummary>>,
    wanted: BTreeMap<(Gvk, ObjectKey), BTreeSet<ObjectKey>>,
    wants: BTreeMap<ObjectKey, BTreeSet<(Gvk, ObjectKey)>>,
}

impl Objects {
    /// The mirror of a kind that is followed; `None` before it is.
    pub(crate) fn kind(&self, kind: &Gvk) -> Option<&Mirror<ObjectSummary>> {
        self.kinds.get(kind)
    }

    /// The mirror of a kind, made if need be.
    pub(crate) fn kind_mut(&mut self, kind: &Gvk) -> &mut Mirror<ObjectSummary> {
        self.kinds.entry(kind.clone()).or_default()
    }

    /// Forgets a kind that is not served any more; the keys of what was known of it.
    pub(crate) fn forget(&mut self, kind: &Gvk) -> Vec<ObjectKey> {
        let gone = self.kinds.remove(kind);
        gone.iter()
            .flat_map(Mirror::iter)
            .map(|o| o.key.clone())
            .collect()
    }

    /// The variants that name this object.
    pub(crate) fn interested(&self, kind: &Gvk, object: &ObjectKey) -> Vec<ObjectKey> {
        self.wanted
            .get(&(kind.clone(), object.clone()))
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// All variants that name an object of this kind.
    pub(crate) fn interested_in_kind(&self, kind: &Gvk) -> BTreeSet<ObjectKey> {
        self.wanted
            .iter()
            .filter(|((k, _), _)| k == kind)
            .flat_map(|(_, keys)| keys.iter().cloned())
            .collect()
    }

    /// Notes what a variant names now, instead of what it named before.
    pub(crate) fn want(&mut self, variant: &ObjectKey, objects: BTreeSet<(Gvk, ObjectKey)>) {
        if self.wants.get(variant).is_some_and(|old| *old == objects) {
            return;
        }
        for old in self.wants.remove(variant).unwrap_or_default() {
            take(&mut self.wanted, &old, variant);
        }
        for object in &objects {
            add(&mut self.wanted, object.clone(), variant);
        }
        if !objects.is_empty() {
            self.wants.insert(variant.clone(), objects);
        }
    }
}
