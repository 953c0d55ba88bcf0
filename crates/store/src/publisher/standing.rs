//! Whether refs are where a change was to bring them, and moving those that are not on this disk.

use super::Publisher;
use crate::Scope;
use crate::disk::{Disk, Moved, RawEdit, View};
use crate::error::Result;
use crate::fault::Point;
use crate::journal::Edit;
use crate::object::commit_id;
use crate::stats::add;

impl<D: Disk> Publisher<D> {
    /// Whether any of these refs stands. Deletions decide only where there is nothing else, as
    /// anybody may have deleted a ref.
    pub(crate) fn stands(&self, view: &dyn View, edits: &[Edit]) -> Result<bool> {
        let made = edits.iter().any(|e| e.new.is_some());
        let decides = |e: &&Edit| e.new.is_some() || !made;
        for edit in edits.iter().filter(decides) {
            if self.stands_one(view, edit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a ref is where it was to be, or beyond.
    pub(crate) fn stands_one(&self, view: &dyn View, edit: &Edit) -> Result<bool> {
        Ok(edit.old != edit.new && self.is_there(view, edit)?)
    }

    /// The same for a ref of which it is known that it was moved.
    pub(crate) fn is_there(&self, view: &dyn View, edit: &Edit) -> Result<bool> {
        match (edit.new, view.get(&edit.name)?) {
            (None, now) => Ok(now.is_none()),
            (Some(new), Some(now)) if new == now => Ok(true),
            (Some(_), None) => Ok(false),
            // Absent before: what is there now may have been put on top of ours.
            (Some(new), Some(now)) => match self.reader.peel(now)? {
                Some(now) if edit.old != Some(now) => {
                    self.reader.reaches(commit_id(&new), commit_id(&now))
                }
                _ => Ok(false),
            },
        }
    }

    /// Whether any of these refs is where it was to go.
    pub(crate) fn any_moved(&self, edits: &[RawEdit]) -> bool {
        let look = || -> Result<bool> {
            let view = self.reader.disk.view()?;
            for edit in edits {
                if view.get(&edit.name)? == edit.new {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        // What cannot be read may have moved.
        look().unwrap_or(true)
    }

    pub(crate) fn move_refs(&self, edits: &[RawEdit]) -> Result<Moved> {
        if edits.is_empty() {
            return Ok(Moved::All);
        }
        add(&self.reader.counters.ref_transactions, 1);
        add(&self.reader.counters.refs, edits.len());
        self.reader.disk.move_refs(edits, &mut || {
            self.reader.fault(Point::RefMoved).map(|_| ())
        })
    }

    /// Moves the refs of ours only that belong to what the remote took.
    pub(crate) fn finish_local(&self, edits: &[Edit]) -> Result<()> {
        self.finish_edits(edits.iter().filter(|e| e.scope == Scope::Local))
    }

    pub(crate) fn finish_edits<'a>(&self, edits: impl Iterator<Item = &'a Edit>) -> Result<()> {
        let mut left = Vec::new();
        let view = self.reader.disk.view()?;
        for edit in edits {
            // A ref that is neither where it was nor where it was to go belongs to whoever moved it.
            if self.still_old(&*view, edit)? {
                left.push(edit.raw());
            }
        }
        drop(view);
        left.sort_by_key(|e| e.new.is_none());
        match self.move_refs(&left)? {
            Moved::All => self.reader.disk.refs_durable(),
            // Somebody moved one of them since: theirs stands.
            Moved::Stale(_) => Ok(()),
        }
    }

    pub(crate) fn still_old(&self, view: &dyn View, edit: &Edit) -> Result<bool> {
        let now = view.get(&edit.name)?;
        Ok(now == edit.old && edit.old != edit.new)
    }
}
