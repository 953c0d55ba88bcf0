//! Caches bounded by bytes: they make things faster, never different, and may be dropped at any time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Values by key; the least recently used go first.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    limit: usize,
    inner: Mutex<Inner<K, V>>,
}

#[derive(Debug)]
struct Inner<K, V> {
    values: BTreeMap<K, (V, usize, u64)>,
    uses: BTreeMap<u64, K>,
    clock: u64,
    bytes: usize,
}

impl<K: Ord + Clone, V: Clone> Cache<K, V> {
    /// A cache of this many bytes; 0 keeps nothing.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            inner: Mutex::new(Inner {
                values: BTreeMap::new(),
                uses: BTreeMap::new(),
                clock: 0,
                bytes: 0,
            }),
        }
    }

    /// Whether a value of this many bytes would be kept at all.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        bytes <= self.limit
    }

    /// What is kept under a key.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (value, _, used) = inner.values.get_mut(key)?;
        inner.uses.remove(used);
        inner.clock += 1;
        *used = inner.clock;
        inner.uses.insert(inner.clock, key.clone());
        Some(value.clone())
    }

    /// Keeps a value of about this many bytes.
    pub(crate) fn put(&self, key: K, value: V, bytes: usize) {
        if !self.fits(bytes) {
            return;
        }
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.clock += 1;
        if let Some((_, old, used)) = inner
            .values
            .insert(key.clone(), (value, bytes, inner.clock))
        {
            inner.bytes -= old;
            inner.uses.remove(&used);
        }
        inner.uses.insert(inner.clock, key);
        inner.bytes += bytes;
        while inner.bytes > self.limit {
            let Some((_, oldest)) = inner.uses.pop_first() else {
                break;
            };
            if let Some((_, bytes, _)) = inner.values.remove(&oldest) {
                inner.bytes -= bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;

    #[test]
    fn the_least_recently_used_goes_first_and_bytes_are_bounded() {
        let cache = Cache::new(10);
        cache.put("a", 1, 4);
        cache.put("b", 2, 4);
        assert_eq!(cache.get(&"a"), Some(1));
        cache.put("c", 3, 4);
        assert_eq!(
            (cache.get(&"a"), cache.get(&"b"), cache.get(&"c")),
            (Some(1), None, Some(3))
        );
        cache.put("big", 4, 11);
        assert_eq!(cache.get(&"big"), None);
        cache.put("a", 5, 10);
        assert_eq!((cache.get(&"a"), cache.get(&"c")), (Some(5), None));
    }
}
