//! Objects that somebody injects or selects, and who is interested in which.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::ObjectKey;

use super::keys::{Keys, add, find, take};
use super::mirror::{Mirror, Versioned};
use crate::ports::{Gvk, ObjectSummary};

impl Versioned for ObjectSummary {
    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.version
    }
}

/// An object that a variant names, with its kind.
type Named = (Arc<Gvk>, ObjectKey);

/// Objects by kind, and the variants that name them, also where they do not exist (V11).
#[derive(Debug, Default, Clone)]
pub(crate) struct Objects {
    kinds: BTreeMap<Gvk, Mirror<ObjectSummary>>,
    wanted: BTreeMap<Arc<Gvk>, BTreeMap<ObjectKey, Keys>>,
    wants: BTreeMap<ObjectKey, Box<[Named]>>,
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
        let of_kind = self.wanted.get(kind);
        find(of_kind.and_then(|wanted| wanted.get(object)))
            .cloned()
            .collect()
    }

    /// How many variants name any.
    pub(crate) fn wants(&self) -> usize {
        self.wants.len()
    }

    /// All variants that name an object of this kind.
    pub(crate) fn interested_in_kind(&self, kind: &Gvk) -> BTreeSet<ObjectKey> {
        let of_kind = self.wanted.get(kind).into_iter();
        of_kind
            .flat_map(BTreeMap::values)
            .flat_map(Keys::iter)
            .cloned()
            .collect()
    }

    /// Notes what a variant names now, instead of what it named before.
    pub(crate) fn want(&mut self, variant: &ObjectKey, objects: BTreeSet<(Gvk, ObjectKey)>) {
        let known = self.wants.get(variant).map(Box::as_ref).unwrap_or_default();
        if known
            .iter()
            .map(|(k, o)| (&**k, o))
            .eq(objects.iter().map(|(k, o)| (k, o)))
        {
            return;
        }
        for (kind, object) in self.wants.remove(variant).unwrap_or_default() {
            if let Some(wanted) = self.wanted.get_mut(&kind) {
                take(wanted, &object, variant);
                if wanted.is_empty() {
                    self.wanted.remove(&kind);
                }
            }
        }
        let wants = objects.into_iter().map(|(kind, object)| {
            let known = self.wanted.get_key_value(&kind);
            let kind = known.map_or_else(|| Arc::new(kind), |(known, _)| Arc::clone(known));
            add(
                self.wanted.entry(Arc::clone(&kind)).or_default(),
                object.clone(),
                variant,
            );
            (kind, object)
        });
        let wants: Box<[_]> = wants.collect();
        if !wants.is_empty() {
            self.wants.insert(variant.clone(), wants);
        }
    }
}
