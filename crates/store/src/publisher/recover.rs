//! After an unclean stop: what the journal says, compared with the refs.
//!
//! An intent of which any ref stands is completed here, as far as refs go; its owner then writes
//! the record and settles it. One of which none stands is left for its owner to drop.

use std::sync::atomic::Ordering;

use super::Publisher;
use crate::disk::{Disk, Who};
use crate::error::{Error, Result};
use crate::journal::Edit;
use crate::lru::lock;
use crate::object::commit_id;
use crate::{Intent, IntentId, IntentRef};

impl<D: Disk> Publisher<D> {
    /// Runs once, when the repository is opened. A remote that cannot be asked now is asked before
    /// anything else is pushed; until then, nobody knows what the intents came to.
    pub(crate) fn recover(&self, fetched: bool, who: &Who) -> Result<()> {
        let waits = !lock(&self.journal).open().is_empty();
        // Until the end of this: what fails on the way leaves something half there.
        self.waits.store(waits, Ordering::Release);
        // The mirror shows what was heard last: a push without an answer may stand at the remote all the same.
        if self.reader.disk.upstream().is_some() && waits && !fetched {
            match self.bring(who) {
                Ok(()) => {}
                Err(Error::Stopped { url }) => return Err(Error::Stopped { url }),
                Err(error) => {
                    tracing::warn!(url = self.reader.url, %error, "open intents wait for the remote");
                    return Ok(());
                }
            }
        }
        self.settle_open(who)?;
        self.sweep_pending()?;
        self.waits.store(false, Ordering::Release);
        Ok(())
    }

    /// The same when a repository is opened: a ref that somebody broke, and that an intent names, is in the way of
    /// whoever writes there, until it is mended, and of nobody who reads.
    pub(crate) fn recover_at_open(&self, fetched: bool, who: &Who) -> Result<()> {
        match self.recover(fetched, who) {
            Err(error) if is_broken(&error) => {
                tracing::warn!(url = self.reader.url, %error, "open intents wait until it is mended");
                Ok(())
            }
            done => done,
        }
    }

    /// Completes what the intents name and stands in part. One that cannot be looked at keeps nobody from the others.
    fn settle_open(&self, who: &Who) -> Result<()> {
        let open = lock(&self.journal).open().clone();
        let view = self.reader.disk.view()?;
        let mut standing = Vec::new();
        let mut failed = Ok(());
        // Of what stood as a whole nothing is put back: a ref of it that is elsewhere by now was moved by somebody.
        for (id, entry) in open.iter().filter(|(_, entry)| !entry.landed) {
            match self.stands(&*view, &entry.edits) {
                Ok(true) => standing.push((*id, &*entry.edits)),
                Ok(false) => {}
                Err(error) if is_broken(&error) => failed = Err(error),
                Err(error) => return Err(error),
            }
        }
        drop(view);
        let upstream = self.reader.disk.upstream();
        if let Some(upstream) = upstream {
            // What it does not take now, it is offered at no later look: discovery tells what is half done.
            let changes: Vec<&[Edit]> = standing.iter().map(|(_, edits)| *edits).collect();
            self.roll_forward(upstream, &changes, who)?;
        }
        for (id, edits) in standing {
            let done = match upstream {
                // Refs of ours come last: they say that the remote has what they belong to.
                Some(_) => self.finish_local(edits),
                None => self.finish_edits(edits.iter()),
            };
            match done {
                Ok(()) => lock(&self.journal).land([id]),
                Err(error) if is_broken(&error) => failed = Err(error),
                Err(error) => return Err(error),
            }
        }
        failed
    }

    pub(crate) fn open_intents(&self) -> Result<Vec<Intent>> {
        self.reader.alive()?;
        let open = lock(&self.journal).open().clone();
        let view = self.reader.disk.view()?;
        let mut intents = Vec::with_capacity(open.len());
        for (id, entry) in open {
            let mut refs = Vec::with_capacity(entry.edits.len());
            let mut known = !self.waits();
            for edit in &entry.edits {
                let stands = match entry.landed {
                    true => self.is_there(&*view, edit),
                    false => self.stands_one(&*view, edit),
                };
                let stands = match stands {
                    Err(error) if is_broken(&error) => {
                        known = false;
                        false
                    }
                    looked => looked?,
                };
                refs.push(IntentRef {
                    name: edit.name.clone(),
                    from: edit.old.as_ref().map(commit_id),
                    to: edit.new.as_ref().map(commit_id),
                    scope: edit.scope,
                    stands,
                });
            }
            intents.push(Intent {
                id: IntentId(id),
                stands: any_stands(&refs),
                known,
                payload: entry.payload,
                commit: entry.commit.as_ref().map(commit_id),
                refs,
            });
        }
        Ok(intents)
    }
}

/// Whether somebody left the repository so, and the disk itself does what it is asked.
fn is_broken(error: &Error) -> bool {
    matches!(
        error,
        Error::BrokenRef { .. }
            | Error::Missing { .. }
            | Error::Damaged { .. }
            | Error::TooLarge { .. }
    )
}

/// The same as [`Publisher::stands`], for refs that were looked at.
fn any_stands(refs: &[IntentRef]) -> bool {
    let made = refs.iter().any(|r| r.to.is_some());
    refs.iter().any(|r| r.stands && (r.to.is_some() || !made))
}
