//! What handles, watches and the writer of one store share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::Notify;

use crate::backend::{FaultPoint, Faults, StorageError};
use crate::state::State;

/// What all handles, watches and the writer share.
pub(crate) struct Shared {
    pub(super) state: RwLock<State>,
    pub(super) stopped: AtomicBool,
    pub(super) faults: Option<Arc<dyn Faults>>,
    pub(super) work: Notify,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits for housekeeping.
    pub(crate) fn wake(&self) {
        self.work.notify_one();
    }

    /// Lets a test stop the store here.
    pub(crate) fn fault(&self, point: FaultPoint) -> Result<(), StorageError> {
        if self.stopped.load(Ordering::SeqCst) {
            return Err(StorageError::Stopped);
        }
        if self
            .faults
            .as_ref()
            .is_some_and(|faults| faults.stop_at(point))
        {
            self.stopped.store(true, Ordering::SeqCst);
            return Err(StorageError::Stopped);
        }
        Ok(())
    }
}
