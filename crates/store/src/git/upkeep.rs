//! Upkeep: many small packs become few, many loose refs become one file.
//!
//! Done beside the writer by git itself, which never drops an object here: packs are only rolled
//! up. Without the `git` program nothing is done, and nothing breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::git::transport::Git;

/// When the next roll-up is due.
#[derive(Debug)]
pub(crate) struct Upkeep {
    every: usize,
    packs: AtomicUsize,
    running: AtomicBool,
}

impl Upkeep {
    pub(crate) fn new(every: usize) -> Self {
        Self {
            every,
            packs: AtomicUsize::new(0),
            running: AtomicBool::new(false),
        }
    }

    /// Told of a new pack; starts a roll-up when enough came together.
    pub(crate) fn note_pack(self: &Arc<Self>, git: &Git) {
        let packs = self.packs.fetch_add(1, Ordering::Relaxed) + 1;
        if self.every == 0 || packs < self.every || self.running.swap(true, Ordering::AcqRel) {
            return;
        }
        self.packs.store(0, Ordering::Relaxed);
        let (this, git) = (Arc::clone(self), git.clone());
        let work = git.runtime.clone().spawn_blocking(move || {
            let repack = ["-c", "pack.window=0", "repack", "-d", "-q", "--geometric=2"];
            for args in [&repack[..], &["pack-refs", "--all", "--prune"]] {
                if let Err(error) = git.here(args) {
                    tracing::warn!(url = git.url, %error, "upkeep was left undone");
                }
            }
            this.running.store(false, Ordering::Release);
        });
        drop(work);
    }
}
