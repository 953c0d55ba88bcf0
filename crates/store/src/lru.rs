//! A cache bounded by bytes; the least recently used goes first. Droppable at any time.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    limit: usize,
}

/// A lock whose holder panicked guards plain data here; it is used on.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Hash + Eq + Clone, V: Clone> Lru<K, V> {
    pub(crate) fn new(limit: usize) -> Self {
        let inner = Inner {
            map: HashMap::new(),
            order: BTreeMap::new(),
            tick: 0,
            used: 0,
        };
        Self {
            inner: Mutex::new(inner),
            limit,
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

    /// Keeps a value that costs so many bytes; one larger than the whole cache is not kept.
    pub(crate) fn put(&self, key: K, value: V, cost: usize) {
        if cost > self.limit {
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
        while inner.used > self.limit {
            let Some((_, oldest)) = inner.order.pop_first() else {
                break;
            };
            if let Some((_, cost, _)) = inner.map.remove(&oldest) {
                inner.used -= cost;
            }
        }
    }
}
