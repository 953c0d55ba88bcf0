//! Keys of an index entry: of most entries one, which takes no room of its own.

use std::collections::{BTreeMap, BTreeSet};

use model::ObjectKey;

/// At least one key.
#[derive(Debug, Clone)]
pub(crate) enum Keys {
    /// One, as a package has one revision at first, and a variant one package.
    One(ObjectKey),
    /// What was more than one once.
    Many(BTreeSet<ObjectKey>),
}

impl Keys {
    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ObjectKey> {
        let (one, many) = match self {
            Self::One(key) => (Some(key), None),
            Self::Many(keys) => (None, Some(keys)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    fn insert(&mut self, key: &ObjectKey) {
        match self {
            Self::One(one) if one == key => {}
            Self::One(one) => *self = Self::Many(BTreeSet::from([one.clone(), key.clone()])),
            Self::Many(keys) => drop(keys.insert(key.clone())),
        }
    }

    /// Whether no key is left.
    fn remove(&mut self, key: &ObjectKey) -> bool {
        match self {
            Self::One(one) => one == key,
            Self::Many(keys) => {
                keys.remove(key);
                keys.is_empty()
            }
        }
    }
}

/// Adds a key to an index.
pub(super) fn add<K: Ord>(index: &mut BTreeMap<K, Keys>, at: K, key: &ObjectKey) {
    match index.get_mut(&at) {
        Some(keys) => keys.insert(key),
        None => drop(index.insert(at, Keys::One(key.clone()))),
    }
}

/// Takes a key out of an index.
pub(super) fn take<K: Ord>(index: &mut BTreeMap<K, Keys>, at: &K, key: &ObjectKey) {
    if index.get_mut(at).is_some_and(|keys| keys.remove(key)) {
        index.remove(at);
    }
}

/// The keys of an entry; none, if there is no such entry.
pub(super) fn find(keys: Option<&Keys>) -> impl Iterator<Item = &ObjectKey> {
    keys.into_iter().flat_map(Keys::iter)
}

#[cfg(test)]
mod tests {
    use model::{Namespace, ObjectName};

    use super::*;

    fn key(name: &str) -> ObjectKey {
        let namespace = Namespace::parse("fleet").unwrap();
        ObjectKey::new(namespace, ObjectName::parse(name).unwrap())
    }

    #[test]
    fn an_index_knows_what_was_added_and_not_taken() {
        let mut index: BTreeMap<u8, Keys> = BTreeMap::new();
        let mut plain: BTreeMap<u8, BTreeSet<ObjectKey>> = BTreeMap::new();
        // Every order of a few steps: add or take one of three keys at one of two places.
        for walk in 0..12_u32.pow(4) {
            index.clear();
            plain.clear();
            for step in 0..4 {
                let what = walk / 12_u32.pow(step) % 12;
                let (at, key) = (
                    u8::from(what % 2 == 0),
                    key(["a", "b", "c"][what as usize / 2 % 3]),
                );
                if what < 6 {
                    add(&mut index, at, &key);
                    plain.entry(at).or_default().insert(key);
                } else {
                    take(&mut index, &at, &key);
                    if let Some(keys) = plain.get_mut(&at) {
                        keys.remove(&key);
                    }
                    plain.retain(|_, keys| !keys.is_empty());
                }
            }
            assert_eq!(index.len(), plain.len());
            for (at, keys) in &plain {
                assert!(find(index.get(at)).eq(keys));
            }
        }
    }
}
