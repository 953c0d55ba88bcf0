//! After an unclean stop: what the journal says, compared with the refs.
//!
//! An intent of which any ref stands is completed here, as far as refs go; its owner then writes
//! the record and settles it. One of which none stands is left for its owner to drop.

use crate::disk::{Disk, Moved, RawEdit, View, Who};
use crate::error::{Error, Result};
use crate::journal::Edit;
use crate::lru::lock;
use crate::object::commit_id;
use crate::room::Room;
use crate::{Intent, IntentId, IntentRef, Scope};

impl<D: Disk> Room<D> {
    /// Runs once, when the repository is opened. A remote that cannot be asked now is asked at the
    /// next fetch; until then, intents show what the mirror shows.
    pub(crate) fn recover(&self, fetched: bool, who: &Who) -> Result<()> {
        let waits = !lock(&self.journal).open().is_empty();
        if self.disk.upstream().is_some() && waits && !fetched {
            match self.bring(who) {
                Ok(()) => {}
                Err(Error::Stopped { url }) => return Err(Error::Stopped { url }),
                Err(error) => {
                    tracing::warn!(url = self.url, %error, "open intents wait for the remote");
                    return Ok(());
                }
            }
        }
        let open = lock(&self.journal).open().clone();
        for entry in open.into_values() {
            let stands = self.stands(&*self.disk.view()?, &entry.edits)?;
            if stands {
                self.complete(&entry.edits, who)?;
            }
        }
        if self.disk.upstream().is_some() {
            self.sweep_pending()?;
        }
        Ok(())
    }

    fn complete(&self, edits: &[Edit], who: &Who) -> Result<()> {
        if self.disk.upstream().is_none() {
            return self.finish_edits(edits.iter());
        }
        let mut left = Vec::new();
        let view = self.disk.view()?;
        let remote = edits.iter().filter(|e| e.scope == Scope::Remote);
        for edit in remote {
            if self.still_old(&*view, edit)? {
                left.push(RawEdit {
                    name: edit.name.clone(),
                    old: edit.old,
                    new: edit.new,
                });
            }
        }
        drop(view);
        if let Some(upstream) = self.disk.upstream().filter(|_| !left.is_empty()) {
            // A remote without atomic pushes took a part; whatever it says, a later look repairs.
            let said = upstream.push(&left, who);
            tracing::info!(url = self.url, ?said, "completed a push");
            self.bring(who)?;
        }
        self.finish_local(edits)
    }

    /// Moves the refs of ours only that belong to what the remote took.
    pub(crate) fn finish_local(&self, edits: &[Edit]) -> Result<()> {
        self.finish_edits(edits.iter().filter(|e| e.scope == Scope::Local))
    }

    fn finish_edits<'a>(&self, edits: impl Iterator<Item = &'a Edit>) -> Result<()> {
        let mut left = Vec::new();
        let view = self.disk.view()?;
        for edit in edits {
            if self.still_old(&*view, edit)? {
                left.push(RawEdit {
                    name: edit.name.clone(),
                    old: edit.old,
                    new: edit.new,
                });
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

    fn still_old(&self, view: &dyn View, edit: &Edit) -> Result<bool> {
        let now = view.get(&edit.name)?;
        Ok(now == edit.old && edit.old != edit.new)
    }

    pub(crate) fn open_intents(&self) -> Result<Vec<Intent>> {
        self.alive()?;
        let open = lock(&self.journal).open().clone();
        let view = self.disk.view()?;
        let mut intents = Vec::with_capacity(open.len());
        for (id, entry) in open {
            let mut refs = Vec::with_capacity(entry.edits.len());
            for edit in &entry.edits {
                refs.push(IntentRef {
                    name: edit.name.clone(),
                    from: edit.old.as_ref().map(commit_id),
                    to: edit.new.as_ref().map(commit_id),
                    scope: edit.scope,
                    stands: self.stands_one(&*view, edit)?,
                });
            }
            intents.push(Intent {
                id: IntentId(id),
                stands: self.stands(&*view, &entry.edits)?,
                payload: entry.payload,
                commit: entry.commit.as_ref().map(commit_id),
                refs,
            });
        }
        Ok(intents)
    }
}
