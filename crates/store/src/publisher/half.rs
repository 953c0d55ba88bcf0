//! Changes of which a part stands on this disk: found out, completed, told.
//!
//! Behind the first ref that moved, and the first push that was taken, no error says that nothing
//! happened. As for a push that nobody answered (X4), what stands decides: it is completed before
//! anything else is written, or whoever asks is told what keeps it from being whole.

use super::Publisher;
use super::forward::Rolled;
use super::round::Landed;
use crate::SubmissionRefusal;
use crate::disk::{Disk, View};
use crate::error::{Error, Result};
use crate::journal::Edit;
use crate::object::commit_id;

impl<D: Disk> Publisher<D> {
    /// What an error comes to where something may stand already.
    pub(crate) fn unsure(&self, error: Error) -> Result<Landed> {
        if let Error::Stopped { .. } = error {
            return Err(error);
        }
        tracing::warn!(url = self.reader.url, %error, "what was published stands in part at least");
        Ok(Landed::Unheard)
    }

    /// Whether something waits to be completed on this disk, where no remote decides what stands.
    pub(crate) fn half_moved(&self) -> bool {
        self.reader.disk.upstream().is_none() && self.unheard() > 0
    }

    /// Completes changes of which something stands here. What one of them replaces goes only where
    /// everything that it makes stands.
    pub(crate) fn complete_here(&self, changes: &[&[Edit]]) -> Result<Rolled> {
        for edits in changes {
            let mut made: Vec<&Edit> = edits.iter().filter(|e| e.new.is_some()).collect();
            made.sort_by_key(|e| e.raw().turn());
            // One by one: what somebody keeps from being made is in nobody else's way.
            for edit in made {
                self.finish_edits(std::iter::once(edit))?;
            }
            let view = self.reader.disk.view()?;
            let whole = self.not_standing(&*view, edits)?.is_none();
            drop(view);
            if whole {
                self.finish_edits(edits.iter().filter(|e| e.new.is_none()))?;
            }
        }
        Ok(Rolled {
            done: true,
            ..Rolled::default()
        })
    }

    /// A ref that a change makes or moves, and that does not stand.
    fn not_standing<'a>(&self, view: &dyn View, edits: &'a [Edit]) -> Result<Option<&'a Edit>> {
        for edit in edits.iter().filter(|e| e.new.is_some() && e.new != e.old) {
            if !self.stands_one(view, edit)? {
                return Ok(Some(edit));
            }
        }
        Ok(None)
    }

    /// Why a change that was completed as far as it goes is not whole on this disk.
    pub(crate) fn kept_out(
        &self,
        view: &dyn View,
        edits: &[Edit],
    ) -> Result<Option<SubmissionRefusal>> {
        if self.reader.disk.upstream().is_some() {
            return Ok(None);
        }
        let Some(edit) = self.not_standing(view, edits)? else {
            return Ok(None);
        };
        let name = edit.name.clone();
        if let Some(other) = view.shadow(&name)? {
            return Ok(Some(SubmissionRefusal::Shadowed { name, other }));
        }
        let (found, wanted) = (view.get(&name)?, edit.new);
        Ok(Some(SubmissionRefusal::Ref {
            name,
            expected: wanted.map_or_else(|| "absent".to_owned(), |id| id.to_string()),
            found: found.as_ref().map(commit_id),
        }))
    }
}
