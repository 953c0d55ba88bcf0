//! Moving refs: all of a transaction or none, under git's own locks.
//!
//! A few refs are written one by one; many, or any that is deleted from `packed-refs`, or one that stands alone
//! where that file is short, by replacing that file, which is one rename. Other processes' git works beside us: every ref is locked, then
//! compared, then moved. What moves is durable before what is made, and that before anything goes
//! ([`RawEdit::turn`]).
//!
//! Whoever packs refs (our own upkeep, too) holds the lock of `packed-refs` while it reads those that are files of their
//! own, and none of theirs. So nobody may do that while such a file goes: what was read of it before would show it again.
//! That lock is taken before anything is compared, and held until the files are gone, as git does it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::RefName;
use crate::disk::{Moved, RawEdit, RawRefs};
use crate::error::{Error, Result};
use crate::git::lockfile::{Claim, LockFile, holds_file, lock_of};
use crate::git::packed::Packed;
use crate::git::refs::{RefFiles, remove};
use crate::lru::lock;

/// How deep the names of shared branches lie; those of drafts and tags lie deeper.
const SHARED: usize = 2;

/// A file of packed refs with fewer than these is written anew as fast as one ref is.
const SHORT: usize = 256;

/// The lock of the packed file, while it is held.
struct Packing<'a> {
    refs: &'a RefFiles,
    lock: Option<LockFile>,
}

impl Drop for Packing<'_> {
    fn drop(&mut self) {
        self.lock = None;
        // Nothing but the lock may have changed in that directory, and it is not worth a sync: the notes that follow name it.
        if self.refs.sync {
            self.refs.lingers.store(true, Ordering::Relaxed);
        }
    }
}

impl RefFiles {
    /// Moves all refs or none; with how many times the disk was asked to sync.
    pub(crate) fn apply(
        &self,
        edits: &[RawEdit],
        each: &mut dyn FnMut() -> Result<()>,
    ) -> Result<(Moved, usize)> {
        edits.iter().try_for_each(|e| self.check_way(&e.name))?;
        let packed = self.packed.load()?;
        // One file that is replaced needs one sync, however many refs are in it; loose ones need one each.
        let many = edits.len() > 4 + packed.refs.len() / 1_000;
        // Each directory that is made for a ref has to be made durable; one short file costs less.
        let alone = |e: &RawEdit| e.new.is_some() && !self.has_place(&e.name);
        let short = packed.refs.len() < SHORT && edits.iter().any(alone);
        let moved = if many || short || goes_from(&packed, edits) {
            self.apply_packed(edits, each)?
        } else {
            self.apply_loose(edits, each)?
        };
        self.tidy(edits);
        Ok(moved)
    }

    /// Notes the locks of these refs, and that of the packed file where it is taken.
    fn note<'a>(
        &self,
        locked: impl Iterator<Item = &'a RawEdit>,
        packs: bool,
    ) -> Result<Claim<'_>> {
        let refs = locked.map(|e| lock_of(&self.dir.join(e.name.as_str())));
        let names = packs || self.lingers.load(Ordering::Relaxed);
        let packed = [lock_of(&self.packed.path), self.packed.fresh()];
        let packed = packed.into_iter().filter(|_| names);
        self.claims.note(refs.chain(packed), self.sync)
    }

    /// Keeps everybody from packing refs.
    fn pack(&self) -> Result<Packing<'_>> {
        Ok(Packing {
            lock: Some(LockFile::take(&self.packed.path, &mut Vec::new())?),
            refs: self,
        })
    }

    /// Writes refs of a mirror anew that cannot be read, or takes their files away, so that they can be compared and moved
    /// like any other. `theirs` is where they are to be.
    pub(crate) fn rewrite_broken(
        &self,
        broken: &BTreeMap<RefName, String>,
        theirs: &RawRefs,
    ) -> Result<()> {
        let at = |name: &RefName| self.dir.join(name.as_str());
        let locks = broken.keys().map(|name| lock_of(&at(name)));
        let claim = self.claims.note(locks, self.sync)?;
        let packed = self.packed.load()?;
        for (name, why) in broken {
            let path = at(name);
            let mut held = LockFile::take(&path, &mut Vec::new())?;
            if !matches!(self.loose(name.as_str()), Err(Error::BrokenRef { .. })) {
                continue;
            }
            tracing::warn!(%name, why, "writing a broken ref of a mirror anew");
            let value = theirs.get(name).copied();
            match value.or_else(|| packed.get(name.as_str())) {
                Some(id) => {
                    held.write(format!("{id}\n").as_bytes(), self.sync)?;
                    held.commit()?;
                }
                None => drop(remove(&path)?),
            }
            self.note_dirty(&path);
        }
        claim.keep();
        Ok(())
    }

    /// Whether the directory is there in which a ref would be a file.
    fn has_place(&self, name: &RefName) -> bool {
        let path = self.dir.join(name.as_str());
        path.parent().is_some_and(Path::is_dir)
    }

    /// Locks refs in the order of names.
    fn lock_all<'a>(
        &self,
        edits: impl Iterator<Item = &'a RawEdit>,
        stale: &mut Vec<RefName>,
        made: &mut Vec<PathBuf>,
    ) -> Result<BTreeMap<&'a RefName, LockFile>> {
        let mut sorted: Vec<&RawEdit> = edits.collect();
        // One order for everybody: two writers that lock some of the same refs cannot wait for each other in a circle.
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        let mut locks = BTreeMap::new();
        for edit in sorted {
            match LockFile::take(&self.dir.join(edit.name.as_str()), made) {
                Ok(taken) => drop(locks.insert(&edit.name, taken)),
                // A file where a directory would have to be: another ref is in the way.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
                    stale.push(edit.name.clone());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(locks)
    }

    /// Notes which refs are not what their edits expect, or could not be put in place beside others.
    fn compare(&self, edits: &[RawEdit], stale: &mut Vec<RefName>) -> Result<()> {
        for edit in edits {
            // In the packed file nothing would keep a ref from standing below one that somebody just made.
            let made = edit.old.is_none() && edit.new.is_some();
            let mut above = edit.name.ancestors();
            let hidden = made && above.any(|above| self.dir.join(above).is_file());
            // A file below would keep this one from being put in place when others have moved.
            let hidden = hidden || made && self.has_below(&edit.name)?;
            if hidden || self.get(&edit.name)? != edit.old {
                stale.push(edit.name.clone());
            }
        }
        Ok(())
    }

    /// Whether anything stands below a ref, or is about to: a lock counts, too.
    fn has_below(&self, name: &RefName) -> Result<bool> {
        let packed = self.packed.load()?.below(name.as_str()).is_some();
        Ok(packed || holds_file(&self.dir.join(name.as_str())))
    }

    /// Each ref as a file of its own: lock all, compare all, write all, then rename one after the other. Until the first rename
    /// nothing has happened; a death between two leaves what `turn` put first, and the journal finishes the rest.
    pub(super) fn apply_loose(
        &self,
        edits: &[RawEdit],
        each: &mut dyn FnMut() -> Result<()>,
    ) -> Result<(Moved, usize)> {
        let goes = edits.iter().any(|e| e.new.is_none());
        let claim = self.note(edits.iter(), goes)?;
        let packing = goes.then(|| self.pack()).transpose()?;
        // Packed since the look that chose this way: the line would show again what the file alone does not hide any more.
        if packing.is_some() && goes_from(&*self.packed.load()?, edits) {
            drop(packing);
            drop(claim);
            return self.apply_packed(edits, each);
        }
        // First lock, then compare: between the two nobody else's git can move what was compared.
        let (mut stale, mut made) = (Vec::new(), Vec::new());
        let mut locks = self.lock_all(edits.iter(), &mut stale, &mut made)?;
        self.compare(edits, &mut stale)?;
        if !stale.is_empty() {
            return Ok((Moved::Stale(stale), 0));
        }
        let mut edits: Vec<&RawEdit> = edits.iter().collect();
        // A commit's branch comes before its tag, and what is made before what goes: wherever the power fails, each
        // commit that somebody was told of still has a ref.
        edits.sort_by_key(|e| e.turn());
        let mut syncs = claim.syncs;
        for edit in &edits {
            if let (Some(id), Some(lock)) = (edit.new, locks.get_mut(&edit.name)) {
                lock.write(format!("{id}\n").as_bytes(), self.sync)?;
                syncs += usize::from(self.sync);
            }
        }
        // A directory that was made for a ref is lost with its parent's entry, and the ref with it.
        let parents = made.iter().filter_map(|dir| dir.parent());
        lock(&self.dirty).extend(parents.map(Path::to_owned));
        for (at, edit) in edits.iter().enumerate() {
            let path = self.dir.join(edit.name.as_str());
            match (locks.remove(&edit.name), edit.new) {
                (Some(lock), Some(_)) => lock.commit()?,
                (_, _) => drop(remove(&path)?),
            }
            self.note_dirty(&path);
            let Some(next) = edits.get(at + 1) else { break };
            // The next kind of edit relies on this one: it lasts before that begins.
            if next.turn() > edit.turn() {
                syncs += self.sync_dirty()?;
            }
            each()?;
        }
        drop(locks);
        drop(packing);
        claim.keep();
        Ok((Moved::All, syncs))
    }

    /// One rename moves all. Refs that are files of their own are locked and then removed; so are
    /// some that move from one value to another, shared branches first. A branch that is a file of
    /// its own is written as such before: no tag is ever seen whose commit no branch has.
    ///
    /// Thousands of lock files would cost more than all the rest (ext4 is slow to make files after
    /// many were deleted), so others are compared without one. Git compares after it has locked:
    /// whoever locks after our rename sees our value, and whoever locked before it and moves after
    /// it stands as if he had come next, as a push by force does. Such a ref is what a look at
    /// the repository finds later (V23).
    fn apply_packed(
        &self,
        edits: &[RawEdit],
        each: &mut dyn FnMut() -> Result<()>,
    ) -> Result<(Moved, usize)> {
        let locked = self.worth_a_lock(edits);
        let claim = self.note(locked.iter().copied(), true)?;
        let packing = self.pack()?;
        let mut stale = Vec::new();
        let mut locks = self.lock_all(locked.iter().copied(), &mut stale, &mut Vec::new())?;
        self.compare(edits, &mut stale)?;
        if !stale.is_empty() {
            return Ok((Moved::Stale(stale), 0));
        }
        let mut syncs = claim.syncs + self.write_branches(&locked, &mut locks)?;
        // Read again under the lock: another process may have packed its refs since the view was taken.
        let before = self.packed.load()?;
        let mut after = Packed {
            refs: before.refs.clone(),
        };
        for edit in edits {
            let name = edit.name.as_str().as_bytes();
            match edit.new {
                Some(id) => after.refs.insert(name.into(), (id, None)),
                // A loose ref of that name goes below; the packed line must go first, or deleting the file would show it again.
                None => after.refs.remove(name),
            };
        }
        // The lock stays: the files that follow are still read by whoever packs refs.
        self.packed.replace(after, self.sync)?;
        self.note_dirty(&self.packed.path);
        syncs += usize::from(self.sync);
        let stay = |name: &&&RefName| self.dir.join(name.as_str()).is_file();
        let loose: Vec<&&RefName> = locks.keys().filter(stay).collect();
        if !loose.is_empty() {
            // Until the rename lasts, these files are all that holds their refs.
            syncs += self.sync_dirty()?;
            each()?;
        }
        for name in loose {
            let path = self.dir.join(name.as_str());
            if remove(&path)? {
                self.note_dirty(&path);
            }
        }
        drop(locks);
        drop(packing);
        claim.keep();
        Ok((Moved::All, syncs))
    }

    /// Moves shared branches that are files of their own, durably, and lets go of their locks.
    fn write_branches(
        &self,
        locked: &[&RawEdit],
        locks: &mut BTreeMap<&RefName, LockFile>,
    ) -> Result<usize> {
        let mut syncs = 0;
        let branch = |e: &&&RawEdit| e.turn() == 0 && depth(&e.name) == SHARED;
        for edit in locked.iter().filter(branch) {
            let path = self.dir.join(edit.name.as_str());
            if let (true, Some(id), Some(mut lock)) =
                (path.is_file(), edit.new, locks.remove(&edit.name))
            {
                lock.write(format!("{id}\n").as_bytes(), self.sync)?;
                lock.commit()?;
                self.note_dirty(&path);
                syncs += usize::from(self.sync);
            }
        }
        if syncs > 0 {
            syncs += self.sync_dirty()?;
        }
        Ok(syncs)
    }

    fn worth_a_lock<'a>(&self, edits: &'a [RawEdit]) -> Vec<&'a RawEdit> {
        const LOCKS: usize = 64;
        let loose = |e: &&RawEdit| self.dir.join(e.name.as_str()).is_file();
        let (mut locked, others): (Vec<_>, Vec<_>) = edits.iter().partition(loose);
        let mut moved: Vec<_> = others
            .into_iter()
            .filter(|e| e.old.is_some() && e.new.is_some())
            .collect();
        // Shared branches first: there people push beside us.
        moved.sort_by_key(|e| depth(&e.name));
        locked.extend(moved.into_iter().take(LOCKS));
        locked
    }
}

/// Whether any of these refs goes that the packed file has.
fn goes_from(packed: &Packed, edits: &[RawEdit]) -> bool {
    let has = |e: &RawEdit| e.new.is_none() && packed.get(e.name.as_str()).is_some();
    edits.iter().any(has)
}

fn depth(name: &RefName) -> usize {
    name.as_str().matches('/').count()
}
