//! After an unclean stop: what the journal says, compared with the refs.
//!
//! An intent of which any ref stands is completed here, as far as refs go; its owner then writes
//! the record and settles it. One of which none stands is left for its owner to drop.

use std::sync::atomic::Ordering;

use crate::disk::{Disk, Moved, View, Who};
use crate::error::{Error, Result};
use crate::journal::Edit;
use crate::lru::lock;
use crate::object::commit_id;
use crate::repository::Repository;
use crate::{Intent, IntentId, IntentRef, Scope};

impl<D: Disk> Repository<D> {
    /// Runs once, when the repository is opened. A remote that cannot be asked now is asked before
    /// anything else is pushed; until then, nobody knows what the intents came to.
    pub(crate) fn recover(&self, fetched: bool, who: &Who) -> Result<()> {
        let waits = !lock(&self.journal).open().is_empty();
        // The mirror shows what was heard last: a push without an answer may stand at the remote all the same.
        if self.disk.upstream().is_some() && waits && !fetched {
            match self.bring(who) {
                Ok(()) => {}
                Err(Error::Stopped { url }) => return Err(Error::Stopped { url }),
                Err(error) => {
                    tracing::warn!(url = self.url, %error, "open intents wait for the remote");
                    self.waits.store(true, Ordering::Release);
                    return Ok(());
                }
            }
        }
        self.waits.store(false, Ordering::Release);
        let open = lock(&self.journal).open().clone();
        let view = self.disk.view()?;
        let mut standing = Vec::new();
        let mut ids = Vec::new();
        // Of what stood as a whole nothing is put back: a ref of it that is elsewhere by now was moved by somebody.
        for (id, entry) in open.iter().filter(|(_, entry)| !entry.landed) {
            if self.stands(&*view, &entry.edits)? {
                ids.push(*id);
                standing.push(&*entry.edits);
            }
        }
        drop(view);
        let Some(upstream) = self.disk.upstream() else {
            for edits in standing {
                self.finish_edits(edits.iter())?;
            }
            lock(&self.journal).land(ids);
            return Ok(());
        };
        // What it does not take now, it is offered at no later look: discovery tells what is half done.
        self.roll_forward(upstream, &standing, who)?;
        // Refs of ours come last: they say that the remote has what they belong to.
        for edits in standing {
            self.finish_local(edits)?;
        }
        lock(&self.journal).land(ids);
        self.sweep_pending()
    }

    /// Moves the refs of ours only that belong to what the remote took.
    pub(crate) fn finish_local(&self, edits: &[Edit]) -> Result<()> {
        self.finish_edits(edits.iter().filter(|e| e.scope == Scope::Local))
    }

    pub(crate) fn finish_edits<'a>(&self, edits: impl Iterator<Item = &'a Edit>) -> Result<()> {
        let mut left = Vec::new();
        let view = self.disk.view()?;
        for edit in edits {
            // A ref that is neither where it was nor where it was to go belongs to whoever moved it.
            if self.still_old(&*view, edit)? {
                left.push(edit.raw());
            }
        }
        drop(view);
        left.sort_by_key(|e| e.new.is_none());
        match self.move_refs(&left)? {
            Moved::All => self.disk.refs_durable(),
            // Somebody moved one of them since: theirs stands.
            Moved::Stale(_) => Ok(()),
        }
    }

    pub(crate) fn still_old(&self, view: &dyn View, edit: &Edit) -> Result<bool> {
        let now = view.get(&edit.name)?;
        Ok(now == edit.old && edit.old != edit.new)
    }

    /// Whether a remote has still to be asked what became of the last process's intents.
    pub(crate) fn waits(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    pub(crate) fn open_intents(&self) -> Result<Vec<Intent>> {
        self.alive()?;
        let open = lock(&self.journal).open().clone();
        let view = self.disk.view()?;
        let mut intents = Vec::with_capacity(open.len());
        for (id, entry) in open {
            let mut refs = Vec::with_capacity(entry.edits.len());
            for edit in &entry.edits {
                let stands = match entry.landed {
                    true => self.is_there(&*view, edit)?,
                    false => self.stands_one(&*view, edit)?,
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
                known: !self.waits(),
                payload: entry.payload,
                commit: entry.commit.as_ref().map(commit_id),
                refs,
            });
        }
        Ok(intents)
    }
}

/// The same as [`Repository::stands`], for refs that were looked at.
fn any_stands(refs: &[IntentRef]) -> bool {
    let made = refs.iter().any(|r| r.to.is_some());
    refs.iter().any(|r| r.stands && (r.to.is_some() || !made))
}
