//! New values below `refs/offshoot/pending/`: they keep the objects of a push until it is answered.

use super::Publisher;
use crate::RefName;
use crate::disk::{Disk, Moved, RawEdit};
use crate::error::Result;
use crate::refname::PENDING;

impl<D: Disk> Publisher<D> {
    pub(super) fn set_pending(&self, edits: &[RawEdit]) -> Result<()> {
        let view = self.reader.disk.view()?;
        let mut pending = Vec::new();
        for edit in edits.iter().filter(|e| e.new.is_some()) {
            let name = edit.name.pending();
            let old = view.get(&name)?;
            pending.push(RawEdit {
                name,
                old,
                new: edit.new,
            });
        }
        drop(view);
        pending.retain(|e| e.old != e.new);
        if let Moved::Stale(names) = self.move_refs(&pending)? {
            tracing::warn!(
                url = self.reader.url,
                ?names,
                "somebody else writes to our mirror"
            );
            return Err(self.restless());
        }
        self.reader.disk.refs_durable()
    }

    pub(super) fn drop_pending(&self, edits: &[RawEdit]) -> Result<()> {
        let names: Vec<RefName> = edits.iter().map(|e| e.name.pending()).collect();
        let view = self.reader.disk.view()?;
        let mut gone = Vec::new();
        for name in names {
            if let Some(old) = view.get(&name)? {
                gone.push(RawEdit {
                    name,
                    old: Some(old),
                    new: None,
                });
            }
        }
        drop(view);
        self.move_refs(&gone).map(|_| ())
    }

    /// Pending values that nobody waits for.
    pub(crate) fn sweep_pending(&self) -> Result<()> {
        // A push without an answer may still land, and must find its objects here then.
        if self.reader.disk.upstream().is_none() || self.unheard() > 0 {
            return Ok(());
        }
        let left = self
            .reader
            .disk
            .list()?
            .into_iter()
            .filter(|(n, _)| n.as_str().starts_with(PENDING));
        let gone: Vec<RawEdit> = left
            .map(|(name, id)| RawEdit {
                name,
                old: Some(id),
                new: None,
            })
            .collect();
        self.move_refs(&gone).map(|_| ())
    }
}
