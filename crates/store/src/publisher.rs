//! Publishing: what waits becomes durable, then visible, and nobody is answered before (X4).
//!
//! From the bottom up: what a batch is (`round`, `offer`), whether refs stand (`standing`), what is said to the remote (`exchange`,
//! `pending`), completing what stands in part (`forward`, `half`), a start after a crash (`recover`), answers that were lost
//! (`unheard`), and a batch from its check to its answers (`check`, `reuse`, `push`, `batch`).

mod batch;
mod check;
mod exchange;
mod forward;
mod half;
mod offer;
mod pending;
mod push;
mod recover;
mod reuse;
pub(crate) mod round;
mod standing;
mod unheard;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use gix::ObjectId;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::lru::lock;
use crate::reader::RepoReader;
use crate::refname::PENDING;
use crate::{Answer, IntentId};

use round::Accepted;

/// What publishes to one repository, one batch after the other.
pub(crate) struct Publisher<D> {
    pub(crate) reader: Arc<RepoReader<D>>,
    /// What the batch that is being published wrote.
    kept: Mutex<BTreeSet<ObjectId>>,
    journal: Mutex<Journal>,
    unheard: Mutex<Unheard>,
    /// Whether the intents of the last process wait for the remote.
    waits: AtomicBool,
}

/// Pushes whose answer was lost.
#[derive(Debug, Default)]
struct Unheard {
    next: u64,
    open: BTreeMap<u64, (Accepted, Option<u64>)>,
    heard: BTreeMap<u64, Answer>,
}

impl<D: Disk> Publisher<D> {
    pub(crate) fn new(reader: Arc<RepoReader<D>>) -> Result<Self> {
        let journal = Journal::load(&reader.disk)?;
        Ok(Self {
            reader,
            kept: Mutex::default(),
            journal: Mutex::new(journal),
            unheard: Mutex::default(),
            waits: AtomicBool::new(false),
        })
    }

    /// Notes that intents are finished elsewhere.
    pub(crate) fn settle(&self, ids: &[IntentId]) -> Result<()> {
        let ids: Vec<u64> = ids.iter().map(|id| id.0).collect();
        lock(&self.journal).settle(&self.reader.disk, &ids)
    }

    /// What is held for changes that are not over.
    pub(crate) fn held(&self) -> Result<Vec<(&'static str, usize)>> {
        let (intents, bytes) = {
            let journal = lock(&self.journal);
            (journal.open().len(), journal.bytes())
        };
        let unheard = self.unheard();
        let refs = self.reader.disk.list()?;
        let pending = refs
            .iter()
            .filter(|(name, _)| name.as_str().starts_with(PENDING))
            .count();
        Ok(vec![
            ("intents", intents),
            ("journal_bytes", bytes),
            ("unheard", unheard),
            ("pending", pending),
            ("kept", lock(&self.kept).len()),
            ("staged", self.reader.staging.held()),
        ])
    }

    /// Whether a remote has still to be asked what became of the last process's intents.
    fn waits(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    /// How many pushes have no answer yet.
    fn unheard(&self) -> usize {
        lock(&self.unheard).open.len()
    }

    /// Others keep moving what is to be written, or stand in its way.
    fn restless(&self) -> Error {
        Error::Remote {
            attempt: "write to",
            url: self.reader.url.clone(),
            class: model::Class::Unavailable,
            text: "its refs keep moving; nothing was written".to_owned(),
        }
    }

    pub(crate) fn unreachable(&self, attempt: &'static str) -> Error {
        Error::Remote {
            attempt,
            url: self.reader.url.clone(),
            class: model::Class::Unavailable,
            text: "it cannot be reached".to_owned(),
        }
    }
}
