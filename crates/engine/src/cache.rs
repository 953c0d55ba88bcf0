//! Caches bounded by bytes: they make things faster, never different, and may be dropped at any time.

use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

/// Values by key; the least recently used go first.
pub(crate) struct Cache<K, V> {
    limit: usize,
    inner: Mutex<Inner<K, V>>,
}

struct Inner<K, V> {
    /// Each value with its bytes. How many there are is bounded by these alone.
    values: LruCache<K, (V, usize)>,
    bytes: usize,
}

impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Cache");
        f.field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// A cache of this many bytes; 0 keeps nothing.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            inner: Mutex::new(Inner {
                values: LruCache::unbounded(),
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
        inner.values.get(key).map(|(value, _)| value.clone())
    }

    /// Keeps a value of about this many bytes.
    pub(crate) fn put(&self, key: K, value: V, bytes: usize) {
        if !self.fits(bytes) {
            return;
        }
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = inner.values.put(key, (value, bytes)) {
            inner.bytes -= old;
        }
        inner.bytes += bytes;
        while inner.bytes > self.limit {
            let Some((_, (_, bytes))) = inner.values.pop_lru() else {
                break;
            };
            inner.bytes -= bytes;
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
