//! A cache bounded by bytes; the least recently used goes first. Droppable at any time.

use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::lru::LruCache;

/// What an entry costs beside its value, in bytes: its places in the map and in the order.
pub(crate) const SLOT: usize = 112;

struct Inner<K, V> {
    /// Each value with what it costs. How many there are is bounded by their bytes alone.
    entries: LruCache<K, (V, usize)>,
    used: usize,
}

pub(crate) struct Lru<K, V> {
    inner: Mutex<Inner<K, V>>,
    share: Share,
    part: usize,
}

impl<K, V> fmt::Debug for Lru<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lru").finish_non_exhaustive()
    }
}

/// What each repository of a store may use for its caches: an equal part of the whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share(Arc<AtomicUsize>);

impl Share {
    /// Divides the whole anew; a cache that became too large shrinks when it is used next.
    pub(crate) fn divide(&self, whole: usize, repositories: usize) {
        self.0.store(whole / repositories.max(1), Ordering::Relaxed);
    }
}

/// A lock whose holder panicked guards plain data here; it is used on.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Hash + Eq, V: Clone> Lru<K, V> {
    /// A cache that may use one part of a share, such as a quarter.
    pub(crate) fn new(share: &Share, part: usize) -> Self {
        let inner = Inner {
            entries: LruCache::unbounded(),
            used: 0,
        };
        Self {
            inner: Mutex::new(inner),
            share: share.clone(),
            part,
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut inner = lock(&self.inner);
        inner.entries.get(key).map(|(value, _)| value.clone())
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        let mut inner = lock(&self.inner);
        // A new one, since what was emptied keeps its room.
        inner.entries = LruCache::unbounded();
        inner.used = 0;
    }

    /// Keeps a value that costs so many bytes; one larger than the whole cache is not kept.
    pub(crate) fn put(&self, key: K, value: V, cost: usize) {
        // The share may have become smaller since the last value came: the loop below gives back what is too much.
        let limit = self.share.0.load(Ordering::Relaxed) / self.part;
        if cost > limit {
            return;
        }
        let mut inner = lock(&self.inner);
        let inner = &mut *inner;
        if let Some((_, old)) = inner.entries.put(key, (value, cost)) {
            inner.used -= old;
        }
        inner.used += cost;
        while inner.used > limit {
            let Some((_, (_, cost))) = inner.entries.pop_lru() else {
                break;
            };
            inner.used -= cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lru, Share};

    #[test]
    fn the_least_recently_used_goes_first_and_bytes_are_bounded() {
        let share = Share::default();
        share.divide(20, 1);
        let cache = Lru::new(&share, 2);
        cache.put("a", 1, 4);
        cache.put("b", 2, 4);
        assert_eq!(cache.get(&"a"), Some(1));
        cache.put("c", 3, 4);
        let held = |keys: [&'static str; 3]| keys.map(|key| cache.get(&key));
        assert_eq!(held(["a", "b", "c"]), [Some(1), None, Some(3)]);
        cache.put("big", 4, 11);
        assert_eq!(cache.get(&"big"), None);
        // A share that became smaller is kept to from the next value on.
        share.divide(20, 2);
        cache.put("d", 5, 4);
        assert_eq!(held(["a", "c", "d"]), [None, None, Some(5)]);
        cache.put("d", 6, 1);
        cache.put("e", 7, 4);
        assert_eq!(held(["c", "d", "e"]), [None, Some(6), Some(7)]);
        cache.clear();
        assert_eq!(held(["c", "d", "e"]), [None; 3]);
    }
}
