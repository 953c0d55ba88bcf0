//! How much of a kind of work is done at once, such as functions in processes of their own, and how much of it for one tenant. Each
//! takes memory and time of its own, so that a tenant with many requests would otherwise take those of the machine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places for what is done at once. Whoever finds none waits, each tenant in the order in which its own came.
#[derive(Debug)]
pub struct Shares {
    all: Arc<Semaphore>,
    /// How many of them one tenant has at most.
    each: usize,
    tenants: Mutex<BTreeMap<Arc<str>, Weak<Semaphore>>>,
}

/// A place. It is free again when this goes.
#[derive(Debug)]
pub struct Place {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_tenant: Option<OwnedSemaphorePermit>,
    /// Keeps the tenant's share known while somebody has or awaits a part of it.
    _share: Arc<Semaphore>,
}

impl Shares {
    /// So many at once, half of them for one tenant; at least one.
    pub fn new(at_once: usize) -> Self {
        Self::of(at_once, at_once.div_ceil(2))
    }

    /// So many at once, and so many of them for one tenant; at least one.
    pub fn of(at_once: usize, each: usize) -> Self {
        let most = |count: usize| count.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(most(at_once))),
            each: most(each),
            tenants: Mutex::default(),
        }
    }

    /// Waits for a place. A tenant's own share comes first: what waits for that keeps no place from others.
    pub async fn place(&self, tenant: Option<&Arc<str>>) -> Place {
        let share = self.share_of(tenant);
        // Neither is ever closed.
        let of_tenant = Arc::clone(&share).acquire_owned().await.ok();
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok();
        Place {
            _of_all: of_all,
            _of_tenant: of_tenant,
            _share: share,
        }
    }

    fn share_of(&self, tenant: Option<&Arc<str>>) -> Arc<Semaphore> {
        let name = tenant.cloned().unwrap_or_else(|| Arc::from(""));
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = tenants.get(&name).and_then(Weak::upgrade) {
            return share;
        }
        tenants.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.each));
        tenants.insert(name, Arc::downgrade(&share));
        share
    }
}

impl Default for Shares {
    /// Twice as many as there are processors.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::new(processors.saturating_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn named(name: &str) -> Option<Arc<str>> {
        Some(Arc::from(name))
    }

    async fn waits(shares: &Shares, tenant: &str) -> bool {
        let tenant = named(tenant);
        let place = shares.place(tenant.as_ref());
        tokio::time::timeout(Duration::from_millis(20), place)
            .await
            .is_err()
    }

    #[tokio::test]
    async fn a_tenant_has_half_and_all_have_the_whole() {
        let shares = Shares::new(4);
        let of = async |tenant: &str| shares.place(named(tenant).as_ref()).await;
        let (one, _two) = (of("a").await, of("a").await);
        assert!(waits(&shares, "a").await);
        let (_three, four) = (of("b").await, of("c").await);
        assert!(waits(&shares, "d").await, "all four are taken");
        drop(four);
        assert!(waits(&shares, "a").await, "its half is taken");
        drop(one);
        assert!(!waits(&shares, "a").await);
    }

    #[tokio::test]
    async fn who_waits_for_its_own_share_keeps_nobody_else_out() {
        let shares = Arc::new(Shares::new(2));
        let _one = shares.place(named("a").as_ref()).await;
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let shares = Arc::clone(&shares);
                tokio::spawn(async move { shares.place(named("a").as_ref()).await })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(!waits(&shares, "b").await);
        for one in waiting {
            one.abort();
        }
    }

    #[tokio::test]
    async fn a_share_that_nobody_has_is_forgotten() {
        let shares = Shares::new(2);
        for tenant in 0..100 {
            drop(shares.place(named(&tenant.to_string()).as_ref()).await);
        }
        assert!(shares.tenants.lock().unwrap().len() <= 2);
    }
}
