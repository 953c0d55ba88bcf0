//! How many fetches bring objects at once, and how many of them for one tenant. Each is a program with memory of its own, and lasts as
//! long as its remote likes, up to the bounds of a conversation: many of one tenant would take the machine, and keep others out.
//!
//! Looks at the refs of a remote take no place: they cost little, and a remote that says nothing is found out by them. Whoever
//! finds no place in a moment is told so, and gives up its thread and its turn at the mirror. It waits without them, and the
//! place that it gets is kept until it comes again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lru::lock;

/// How long a fetch may wait where others wait for it.
const MOMENT: Duration = Duration::from_secs(2);

/// Which fetch a place is kept for: whose, and from where.
type Asked = (Arc<str>, Arc<str>);

/// Places for fetches that run at once.
#[derive(Debug)]
pub(crate) struct Fetches {
    all: Arc<Semaphore>,
    /// How many of them one tenant has at most.
    each: usize,
    tenants: Mutex<BTreeMap<Arc<str>, Weak<Semaphore>>>,
    kept: Mutex<BTreeMap<Asked, FetchPlace>>,
    /// The one fetch that may have more memory than others.
    large: Semaphore,
}

/// A place. It is free again when this goes.
#[derive(Debug)]
pub(crate) struct FetchPlace {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_tenant: Option<OwnedSemaphorePermit>,
    /// Keeps the tenant's share known while somebody has or awaits a part of it.
    _share: Arc<Semaphore>,
}

/// A place that is kept for a fetch until that takes it, or this goes.
#[derive(Debug)]
pub(crate) struct KeptPlace {
    fetches: Arc<Fetches>,
    asked: Asked,
}

impl Drop for KeptPlace {
    fn drop(&mut self) {
        drop(lock(&self.fetches.kept).remove(&self.asked));
    }
}

impl Fetches {
    /// So many at once, half of them for one tenant; at least one.
    pub(crate) fn new(at_once: usize) -> Self {
        let at_once = at_once.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(at_once)),
            each: at_once.div_ceil(2),
            tenants: Mutex::default(),
            kept: Mutex::default(),
            large: Semaphore::new(1),
        }
    }

    /// Twice as many as there are processors.
    pub(crate) fn usual() -> usize {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        processors.saturating_mul(2).max(4)
    }

    /// The place that was kept for this fetch, or one that is free in a moment.
    pub(crate) async fn take(&self, tenant: &Arc<str>, url: &str) -> Option<FetchPlace> {
        let asked = (Arc::clone(tenant), Arc::from(url));
        let kept = lock(&self.kept).remove(&asked);
        if kept.is_some() {
            return kept;
        }
        tokio::time::timeout(MOMENT, self.place(tenant)).await.ok()
    }

    /// Waits for a place, and keeps it for this fetch.
    pub(crate) async fn keep(self: Arc<Self>, tenant: Arc<str>, url: Arc<str>) -> KeptPlace {
        let place = self.place(&tenant).await;
        let asked = (tenant, url);
        let before = lock(&self.kept).insert(asked.clone(), place);
        // Of two that ask for the same one has enough.
        drop(before);
        KeptPlace {
            fetches: self,
            asked,
        }
    }

    /// Waits until no other fetch has more memory than the usual.
    pub(crate) async fn large(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        // Never closed.
        self.large.acquire().await.ok()
    }

    /// Waits for a place. A tenant's own share comes first: what waits for that keeps no place from others.
    async fn place(&self, tenant: &Arc<str>) -> FetchPlace {
        let share = self.share_of(tenant);
        // Neither is ever closed.
        let of_tenant = Arc::clone(&share).acquire_owned().await.ok();
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok();
        FetchPlace {
            _of_all: of_all,
            _of_tenant: of_tenant,
            _share: share,
        }
    }

    fn share_of(&self, tenant: &Arc<str>) -> Arc<Semaphore> {
        let mut tenants = lock(&self.tenants);
        if let Some(share) = tenants.get(tenant).and_then(Weak::upgrade) {
            return share;
        }
        tenants.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.each));
        tenants.insert(Arc::clone(tenant), Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://git.test/a.git";

    async fn take(fetches: &Fetches, tenant: &str) -> Option<FetchPlace> {
        fetches.take(&Arc::from(tenant), URL).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_has_half_and_all_have_the_whole() {
        let fetches = Fetches::new(4);
        let (one, _two) = (take(&fetches, "a").await, take(&fetches, "a").await);
        assert!(take(&fetches, "a").await.is_none());
        let (_three, four) = (take(&fetches, "b").await, take(&fetches, "c").await);
        assert!(four.is_some());
        assert!(take(&fetches, "d").await.is_none(), "all four are taken");
        drop(four);
        assert!(take(&fetches, "a").await.is_none(), "its half is taken");
        drop(one);
        assert!(take(&fetches, "a").await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_kept_for_whoever_waited_for_it() {
        let fetches = Arc::new(Fetches::new(2));
        let keep = |tenant: &str| Arc::clone(&fetches).keep(Arc::from(tenant), Arc::from(URL));
        let one = take(&fetches, "a").await;
        let waiting = tokio::spawn(keep("a"));
        tokio::task::yield_now().await;
        assert!(
            take(&fetches, "b").await.is_some(),
            "b waits for nobody of a"
        );
        drop(one);
        let kept = waiting.await.unwrap();
        let a = Arc::from("a");
        let other = fetches.take(&a, "https://git.test/b.git");
        assert!(other.await.is_none(), "it is not anybody's");
        assert!(take(&fetches, "a").await.is_some());
        drop(kept);
        drop(keep("a").await);
        assert!(lock(&fetches.kept).is_empty(), "what nobody takes goes");
        assert!(take(&fetches, "a").await.is_some());
    }
}
