//! What is waited for beyond this process's own work: a remote that answers when it likes, or an earlier change that waits
//! for one.
//!
//! Whoever is answered for a wait learns what it is about, so that a late answer names its cause. A key whose turn waits
//! long gives its slot back: it works on nothing, and others would wait for its remote with it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{Class, ObjectKey};
use tokio::time::Instant;

use crate::controllers::queue::Key;
use crate::ports::{EventType, OurKind, PortError};
use crate::{Engine, Error, Result};

/// How long a turn may wait before it gives its slot back.
const LEND: Duration = Duration::from_secs(2);
/// How long a remote may be silent before controllers send it nothing more to wait for.
const SILENT: Duration = Duration::from_secs(10);

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

/// Waits for remotes that have not ended, by address.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    since: BTreeMap<String, BTreeMap<u64, Instant>>,
}

/// One of them; it ends when this is dropped.
struct Begun<'a> {
    waits: &'a Waits,
    address: &'a str,
    number: u64,
}

impl Waits {
    fn begin<'a>(&'a self, address: &'a str) -> Begun<'a> {
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

    /// For how long the longest wait for a remote has lasted.
    fn longest(&self, address: &str) -> Duration {
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
struct Noted(Option<Asked>);

impl Noted {
    fn new(wait: Wait) -> Self {
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

impl Engine {
    /// Waits for what talks to a remote.
    pub(crate) async fn remote<T>(&self, address: &str, talk: impl Future<Output = T>) -> T {
        if address.starts_with("file://") {
            return talk.await;
        }
        let _begun = self.inner.waits.begin(address);
        self.wait(Wait::Remote(address.to_owned()), talk).await
    }

    /// Waits for an earlier change of a package to end.
    pub(crate) async fn earlier<T>(&self, end: impl Future<Output = T>) -> T {
        self.wait(Wait::Change, end).await
    }

    /// Says what came of a change of a package revision after whoever asked for it was told that it goes on.
    pub async fn tell_late(&self, revision: &ObjectKey, failed: Option<&str>) {
        let (event_type, reason, message) = match failed {
            None => (
                EventType::Normal,
                "ChangeCompleted",
                "a change that was answered late is done".to_owned(),
            ),
            Some(why) => (
                EventType::Warning,
                "ChangeFailed",
                format!("a change that was answered late failed: {why}"),
            ),
        };
        self.tell(OurKind::Revision, revision, event_type, reason, message)
            .await;
    }

    async fn wait<T>(&self, wait: Wait, work: impl Future<Output = T>) -> T {
        let _noted = Noted::new(wait);
        let Ok(Some(key)) = ASKER.try_with(|asker| asker.key.clone()) else {
            return work.await;
        };
        tokio::pin!(work);
        if let Ok(done) = tokio::time::timeout(LEND, &mut work).await {
            return done;
        }
        self.inner.queue.lend(&key);
        work.await
    }

    /// Keeps controllers from lining up behind a remote that is silent: each of them would hold a derived package until
    /// it speaks again. People are told what they wait for.
    ///
    /// # Errors
    /// It has been silent for long, and a controller asks.
    pub(crate) fn is_heard(&self, address: &str) -> Result<()> {
        let controls = ASKER.try_with(|asker| asker.key.is_some());
        let silent = self.inner.waits.longest(address);
        if controls != Ok(true) || silent < SILENT {
            return Ok(());
        }
        let text = format!(
            "nothing was heard for {} s; it is tried again",
            silent.as_secs()
        );
        Err(Error::Port {
            source: PortError::new(Class::Unavailable, format!("push to {address}"), text),
        })
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
