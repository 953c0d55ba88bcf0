//! A map of objects that only ever goes forward.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use model::ObjectKey;

/// Something with a key and a version.
pub(crate) trait Versioned {
    /// Its namespace and name.
    fn key(&self) -> &ObjectKey;
    /// Its `resourceVersion`.
    fn version(&self) -> &str;
}

/// How many deletions are remembered, the last ones: far more than a watch is ever behind.
const TOMBSTONES: usize = 65_536;

/// What one delta did to one object.
#[derive(Debug, Clone)]
pub(crate) struct Changed<T> {
    /// What was known before.
    pub(crate) old: Option<Arc<T>>,
    /// What is known now.
    pub(crate) new: Option<Arc<T>>,
}

/// Objects by key.
#[derive(Debug, Clone)]
pub(crate) struct Mirror<T> {
    items: BTreeMap<ObjectKey, Arc<T>>,
    /// Versions of deletions: an older event never brings an object back.
    gone: BTreeMap<ObjectKey, u128>,
    /// Their order, so that the oldest is forgotten first; what came back since is still named here.
    forgotten_next: VecDeque<(ObjectKey, u128)>,
    loaded: bool,
}

impl<T> Default for Mirror<T> {
    fn default() -> Self {
        Self {
            items: BTreeMap::new(),
            gone: BTreeMap::new(),
            forgotten_next: VecDeque::new(),
            loaded: false,
        }
    }
}

/// Versions are compared as numbers where they are some; anything else counts as newest.
fn number(version: &str) -> u128 {
    version.parse().unwrap_or(u128::MAX)
}

impl<T: Versioned> Mirror<T> {
    /// The object of this key.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.items.get(key)
    }

    /// All objects in key order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.items.values()
    }

    /// Whether everything was seen once.
    pub(crate) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// Whether an object is known at this version or a later one, or is known to be gone since.
    pub(crate) fn knows(&self, key: &ObjectKey, version: &str) -> bool {
        let version = number(version);
        let known = self.items.get(key).map(|i| number(i.version()));
        let newest = known.max(self.gone.get(key).copied());
        version != u128::MAX && newest.is_some_and(|n| n != u128::MAX && n >= version)
    }

    /// Takes an object that is there; `None` if something newer is known.
    pub(crate) fn put(&mut self, item: impl Into<Arc<T>>) -> Option<Changed<T>> {
        let new: Arc<T> = item.into();
        if self.knows(new.key(), new.version()) {
            return None;
        }
        self.gone.remove(new.key());
        let old = self.items.insert(new.key().clone(), Arc::clone(&new));
        Some(Changed {
            old,
            new: Some(new),
        })
    }

    /// Takes a deletion; `None` if it was gone or has come back since.
    pub(crate) fn delete(&mut self, key: &ObjectKey, version: &str) -> Option<Changed<T>> {
        let at = number(version);
        let known = self.items.get(key).map(|item| number(item.version()));
        if known.is_some_and(|known| known != u128::MAX && at < known) {
            return None;
        }
        let old = self.items.remove(key);
        // Without a version there is nothing to compare with: a late event may bring it back,
        // and the next one takes it away.
        if at != u128::MAX {
            // Also of what is not known: the event that tells of it, or the answer to its creation, may come later.
            self.remember(key, at);
        }
        old.map(|old| Changed {
            old: Some(old),
            new: None,
        })
    }

    fn remember(&mut self, key: &ObjectKey, at: u128) {
        let last = self.gone.entry(key.clone()).or_default();
        *last = at.max(*last);
        self.forgotten_next.push_back((key.clone(), *last));
        if self.forgotten_next.len() > TOMBSTONES
            && let Some((oldest, at)) = self.forgotten_next.pop_front()
            && self.gone.get(&oldest) == Some(&at)
        {
            self.gone.remove(&oldest);
        }
    }

    /// Takes everything there is, whatever was known: versions are not compared. Returns what differs.
    pub(crate) fn replace(&mut self, items: Vec<T>) -> Vec<Changed<T>>
    where
        T: PartialEq,
    {
        let mut old = std::mem::take(&mut self.items);
        self.loaded = true;
        let mut changes = Vec::new();
        for item in items {
            let new = Arc::new(item);
            let before = old.remove(new.key());
            if before.as_ref() != Some(&new) {
                changes.push(Changed {
                    old: before,
                    new: Some(Arc::clone(&new)),
                });
            }
            self.items.insert(new.key().clone(), new);
        }
        changes.extend(old.into_values().map(|gone| Changed {
            old: Some(gone),
            new: None,
        }));
        changes
    }

    /// Takes everything there is; returns what differs from what was known.
    pub(crate) fn snapshot(&mut self, items: Vec<T>) -> Vec<Changed<T>> {
        self.loaded = true;
        let present: BTreeSet<&ObjectKey> = items.iter().map(Versioned::key).collect();
        let mut left: Vec<ObjectKey> = self.items.keys().cloned().collect();
        left.retain(|key| !present.contains(key));
        let mut changes: Vec<Changed<T>> = left
            .iter()
            .filter_map(|key| self.items.remove(key))
            .map(|old| Changed {
                old: Some(old),
                new: None,
            })
            .collect();
        changes.extend(items.into_iter().filter_map(|item| self.put(item)));
        changes
    }
}
