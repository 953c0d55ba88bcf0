//! One writer for each package, in this process.
//!
//! It keeps two changes of one package from racing for nothing; what guards against others is the
//! expectation of every write. Different packages never wait for each other, so that the store can
//! batch them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use model::Class;
use tokio::sync::OwnedMutexGuard;

use crate::Error;
use crate::index::PackageKey;

/// Locks by package; a lock that nobody holds or waits for takes no room.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: Mutex<BTreeMap<PackageKey, Weak<tokio::sync::Mutex<()>>>>,
    /// Packages for which somebody makes a revision now.
    making: Mutex<BTreeSet<PackageKey>>,
}

/// That a revision of a package is being made, until this is dropped.
pub(crate) struct Making<'l> {
    locks: &'l Locks,
    key: &'l PackageKey,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        lock(&self.locks.making).remove(self.key);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Locks {
    /// Waits for the package to be free, and holds it.
    pub(crate) async fn package(&self, key: &PackageKey) -> OwnedMutexGuard<()> {
        self.lock(key).lock_owned().await
    }

    /// The same for a request: whoever waits for another one may find its own work undone by it.
    pub(crate) async fn for_request(&self, key: &PackageKey) -> (OwnedMutexGuard<()>, Race) {
        let lock = self.lock(key);
        match Arc::clone(&lock).try_lock_owned() {
            Ok(free) => (free, Race(None)),
            Err(_) => (lock.lock_owned().await, Race(Some(key.clone()))),
        }
    }

    /// Notes that a revision of a package is made, whose lock the caller holds.
    ///
    /// # Errors
    /// A package is being made that contains this one, or lies in it: each would be judged without the other.
    pub(crate) fn making<'l>(&'l self, key: &'l PackageKey) -> Result<Making<'l>, Error> {
        let mut making = lock(&self.making);
        let beside = |k: &&PackageKey| {
            (&k.namespace, &k.repository) == (&key.namespace, &key.repository)
                && k.package != key.package
                && k.package.overlaps(&key.package)
        };
        if let Some(other) = making.iter().find(beside) {
            return Err(Error::conflict(format!(
                "package path \"{}\" conflicts with package \"{}\", which is being made: packages cannot be nested",
                key.package, other.package
            )));
        }
        making.insert(key.clone());
        Ok(Making { locks: self, key })
    }

    /// How many packages are held or made now.
    pub(crate) fn held(&self) -> usize {
        let held = lock(&self.held);
        let used = held.values().filter(|lock| lock.strong_count() > 0).count();
        used + lock(&self.making).len()
    }

    /// Holds the package if nobody does.
    pub(crate) fn if_free(&self, key: &PackageKey) -> Option<OwnedMutexGuard<()>> {
        self.lock(key).try_lock_owned().ok()
    }

    fn lock(&self, key: &PackageKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut held = lock(&self.held);
        if held.len() > 1_024 {
            held.retain(|_, lock| lock.strong_count() > 0);
        }
        if let Some(lock) = held.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        held.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }
}

/// The package in which a request waited for another one, if it did.
#[derive(Debug, Default)]
pub(crate) struct Race(Option<PackageKey>);

impl Race {
    /// An error as whoever asked is told it: what another request has changed, made or removed meanwhile is a race
    /// that was lost (A4).
    pub(crate) fn tell(&self, error: Error) -> Error {
        let lost = matches!(error.class(), Class::Conflict | Class::NotFound);
        match self.0.as_ref().filter(|_| lost) {
            Some(package) => Error::Raced {
                package: package.package.clone(),
                repository: package.repository.clone(),
                lost: Box::new(error),
            },
            None => error,
        }
    }
}
