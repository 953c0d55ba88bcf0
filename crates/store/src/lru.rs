//! A cache bounded by bytes; the least recently used goes first. Droppable at any time.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an entry costs beside its value, in bytes: its places in the map and in the order.
pub(crate) const SLOT: usize = 112;

#[derive(Debug)]
struct Inner<K, V> {
    map: HashMap<K, (V, usize, u64)>,
    order: BTreeMap<u64, K>,
    tick: u64,
    used: usize,
}

#[derive(Debug)]
pub(crate) struct Lru<K, V> {
    inner: Mutex<Inner<K, V>>,
    share: Share,
    part: usize,
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

impl<K: Hash + Eq + Clone, V: Clone> Lru<K, V> {
    /// A cache that may use one part of a share, such as a quarter.
    pub(crate) fn new(share: &Share, part: usize) -> Self {
        let inner = Inner {
            map: HashMap::new(),
            order: BTreeMap::new(),
            tick: 0,
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
        let inner = &mut *inner;
        let (value, _, tick) = inner.map.get_mut(key)?;
        inner.order.remove(tick);
        inner.tick += 1;
        *tick = inner.tick;
        inner.order.insert(inner.tick, key.clone());
        Some(value.clone())
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        let mut inner = lock(&self.inner);
        inner.map.clear();
        inner.order.clear();
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
        inner.tick += 1;
        if let Some((_, old, tick)) = inner.map.insert(key.clone(), (value, cost, inner.tick)) {
            inner.order.remove(&tick);
            inner.used -= old;
        }
        inner.order.insert(inner.tick, key);
        inner.used += cost;
        while inner.used > limit {
            let Some((_, oldest)) = inner.order.pop_first() else {
                break;
            };
            if let Some((_, cost, _)) = inner.map.remove(&oldest) {
                inner.used -= cost;
            }
        }
    }
}
