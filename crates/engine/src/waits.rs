//! What is waited for beyond this process's own work: a remote that answers when it likes, or an earlier change that waits
//! for one.
//!
//! Whoever is answered for a wait learns what it is about, so that a late answer names its cause. A key whose turn waits
//! long gives its slot back: it works on nothing, and others would wait for its remote with it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::queue::Key;

tokio::task_local! {
    /// For whom the current task works.
    static ASKER: Asker;
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// A remote, at this address.
    Remote(String),
    /// An earlier change of the same package.
    Change,
}

#[derive(Debug, Clone)]
struct Asker {
    key: Option<Key>,
    wait: Asked,
}

/// A request that may be asked what it waits for, and since when. Clones are the same request.
#[derive(Debug, Clone, Default)]
pub struct Asked(Arc<Mutex<Option<(Wait, Instant)>>>);

impl Asked {
    /// Works for the request.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let asker = Asker {
            key: None,
            wait: self.clone(),
        };
        ASKER.scope(asker, work).await
    }

    /// Each remote that is waited for, and for how long already.
    pub fn waits_for(&self) -> Option<(Wait, Duration)> {
        let wait = lock(&self.0).clone()?;
        Some((wait.0, wait.1.elapsed()))
    }
}

/// Works on a key.
pub(crate) async fn turn<T>(key: &Key, work: impl Future<Output = T>) -> T {
    let asker = Asker {
        key: Some(key.clone()),
        wait: Asked::default(),
    };
    ASKER.scope(asker, work).await
}

/// The key that the current task works on; the outer `None` where it works for nobody that is known.
pub(crate) fn asking() -> Option<Option<Key>> {
    ASKER.try_with(|asker| asker.key.clone()).ok()
}

/// Waits for remotes that have not ended, by address.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<OpenWaits>);

#[derive(Debug, Default)]
struct OpenWaits {
    next: u64,
    since: BTreeMap<String, BTreeMap<u64, Instant>>,
}

/// One of them; it ends when this is dropped.
pub(crate) struct Begun<'a> {
    waits: &'a Waits,
    address: &'a str,
    number: u64,
}

impl Waits {
    /// Begins one.
    pub(crate) fn begin<'a>(&'a self, address: &'a str) -> Begun<'a> {
        let mut open = lock(&self.0);
        open.next += 1;
        let number = open.next;
        let all = open.since.entry(address.to_owned()).or_default();
        all.insert(number, Instant::now());
        Begun {
            waits: self,
            address,
            number,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).since.values().map(BTreeMap::len).sum()
    }

    /// For how long the longest wait for a remote has lasted.
    pub(crate) fn longest(&self, address: &str) -> Duration {
        let open = lock(&self.0);
        let all = open.since.get(address);
        let first = all.and_then(|all| all.values().next());
        first.map(Instant::elapsed).unwrap_or_default()
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut open = lock(&self.waits.0);
        if let Some(all) = open.since.get_mut(self.address) {
            all.remove(&self.number);
            if all.is_empty() {
                open.since.remove(self.address);
            }
        }
    }
}

/// What the current request waits for, until it is dropped.
pub(crate) struct Noted(Option<Asked>);

impl Noted {
    pub(crate) fn new(wait: Wait) -> Self {
        let asked = ASKER.try_with(|asker| asker.wait.clone()).ok();
        if let Some(asked) = &asked {
            *lock(&asked.0) = Some((wait, Instant::now()));
        }
        Self(asked)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        if let Some(asked) = &self.0 {
            *lock(&asked.0) = None;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_longest_wait_for_a_remote_counts_while_it_lasts() {
        let waits = Waits::default();
        let first = waits.begin("a");
        tokio::time::advance(Duration::from_secs(3)).await;
        let second = waits.begin("a");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(waits.longest("a"), Duration::from_secs(5));
        assert_eq!(waits.longest("b"), Duration::ZERO);
        drop(first);
        assert_eq!(waits.longest("a"), Duration::from_secs(2));
        drop(second);
        assert_eq!(waits.longest("a"), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_says_what_it_waits_for() {
        let asked = Asked::default();
        let inside = asked.clone();
        let work = asked.during(async move {
            let noted = Noted::new(Wait::Remote("a".to_owned()));
            tokio::time::sleep(Duration::from_secs(7)).await;
            let waited = inside.waits_for();
            drop(noted);
            (waited, inside.waits_for())
        });
        let waited = Some((Wait::Remote("a".to_owned()), Duration::from_secs(7)));
        assert_eq!(work.await, (waited, None));
    }
}
