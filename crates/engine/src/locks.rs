//! One writer for each package, in this process.
//!
//! It keeps two changes of one package from racing for nothing; what guards against others is the
//! expectation of every write. Different packages never wait for each other, so that the store can
//! batch them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::OwnedMutexGuard;

use crate::index::PackageKey;

/// Locks by package; a lock that nobody holds or waits for takes no room.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: Mutex<BTreeMap<PackageKey, Weak<tokio::sync::Mutex<()>>>>,
}

impl Locks {
    /// Waits for the package to be free, and holds it.
    pub(crate) async fn package(&self, key: &PackageKey) -> OwnedMutexGuard<()> {
        let lock = {
            let mut held = self
                .held
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if held.len() > 1_024 {
                held.retain(|_, lock| lock.strong_count() > 0);
            }
            match held.get(key).and_then(Weak::upgrade) {
                Some(lock) => lock,
                None => {
                    let lock = Arc::new(tokio::sync::Mutex::new(()));
                    held.insert(key.clone(), Arc::downgrade(&lock));
                    lock
                }
            }
        };
        lock.lock_owned().await
    }
}
