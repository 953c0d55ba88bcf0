//! Refs as git keeps them in files: read, and moved in one transaction under git's own locks.
//!
//! A few refs are written one by one; many, or any that is deleted from `packed-refs`, or one that stands alone
//! where that file is short, by replacing that file, which is one rename. Other processes' git works beside us: every ref is locked, then
//! compared, then moved. What moves is durable before what is made, and that before anything goes
//! ([`RawEdit::turn`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gix::ObjectId;

use crate::RefName;
use crate::disk::{Moved, RawEdit, View};
use crate::error::{Error, Result};
use crate::git::lockfile::{Claims, LockFile, sync_dir};
use crate::git::packed::{Packed, PackedFile};
use crate::git::plain;
use crate::lru::lock;

/// The refs of one git directory.
#[derive(Debug)]
pub(crate) struct RefFiles {
    dir: PathBuf,
    claims: Claims,
    packed: PackedFile,
    sync: bool,
    /// Refs that there may be.
    most: usize,
    /// Directories whose names changed since they were last made durable.
    dirty: Mutex<BTreeSet<PathBuf>>,
    /// What the last list left out, and why.
    broken: Mutex<BTreeMap<RefName, String>>,
}

impl RefFiles {
    /// The refs of a directory, at most so many in so many bytes; `claims` is a file of ours that names the locks that we hold.
    pub(crate) fn new(git_dir: &Path, claims: PathBuf, sync: bool, bounds: (usize, u64)) -> Self {
        let packed = PackedFile::new(git_dir, bounds);
        Self {
            dir: git_dir.to_owned(),
            claims: Claims::new(claims),
            packed,
            sync,
            most: bounds.0,
            dirty: Mutex::default(),
            broken: Mutex::default(),
        }
    }

    /// Removes the locks that a crash of ours left behind.
    pub(crate) fn release(&self) -> Result<()> {
        self.claims.release()
    }

    /// All refs; loose ones are read first, as packing moves refs the other way. One that cannot be read keeps nobody
    /// from the others, and hides what the packed file says of it, as for git.
    pub(crate) fn list(&self) -> Result<BTreeMap<RefName, ObjectId>> {
        let (mut loose, mut broken) = (BTreeMap::new(), BTreeMap::new());
        self.walk("refs", &mut loose, &mut broken)?;
        let packed = self.packed.load()?;
        let mut all = BTreeMap::new();
        all.extend(packed.refs.iter().filter_map(named));
        all.extend(loose);
        // The packed value of a broken ref is older than what its file was to say: showing it would move the ref back.
        all.retain(|name, _| !broken.contains_key(name));
        *lock(&self.broken) = broken;
        Ok(all)
    }

    /// What the last list left out, and why.
    pub(crate) fn broken(&self) -> BTreeMap<RefName, String> {
        lock(&self.broken).clone()
    }

    fn walk(
        &self,
        at: &str,
        found: &mut BTreeMap<RefName, ObjectId>,
        broken: &mut BTreeMap<RefName, String>,
    ) -> Result<()> {
        let dir = self.dir.join(at);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound && at != "refs" => return Ok(()),
            Err(e) => return Err(Error::io(format!("read {}", dir.display()), e)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().map(|name| format!("{at}/{name}")) else {
                continue;
            };
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                self.walk(&name, found, broken)?;
            } else if let Ok(name) = RefName::parse(&name) {
                if found.len() + broken.len() >= self.most {
                    return Err(Error::TooLarge {
                        what: format!("number of refs below {}", dir.display()),
                        limit: self.most as u64,
                        found: self.most as u64 + 1,
                    });
                }
                match self.loose(name.as_str()) {
                    Ok(Some(id)) => drop(found.insert(name, id)),
                    Ok(None) => {}
                    Err(Error::BrokenRef { why, .. }) => drop(broken.insert(name, why)),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// The value of a loose ref; symbolic ones are not ours to follow.
    fn loose(&self, name: &str) -> Result<Option<ObjectId>> {
        let path = self.dir.join(name);
        let text = match plain::read(&path, LOOSE) {
            Ok(text) => text,
            Err(e) if is_absent(&e) => return Ok(None),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                return Err(Error::BrokenRef {
                    name: name.to_owned(),
                    why: format!("of its file, {e}"),
                });
            }
            Err(e) => return Err(Error::io(format!("read {}", path.display()), e)),
        };
        // HEAD of another directory and the like: what they point to is listed under its own name.
        if text.starts_with(b"ref:") {
            return Ok(None);
        }
        let id = text.get(..40).and_then(|hex| ObjectId::from_hex(hex).ok());
        id.map(Some).ok_or_else(|| Error::BrokenRef {
            name: name.to_owned(),
            why: match text.is_empty() {
                true => "its file is empty".to_owned(),
                false => "its file holds no object id".to_owned(),
            },
        })
    }

    fn get(&self, name: &RefName) -> Result<Option<ObjectId>> {
        match self.loose(name.as_str())? {
            Some(id) => Ok(Some(id)),
            None => Ok(self.packed.load()?.get(name.as_str())),
        }
    }

    pub(crate) fn view(&self) -> Result<RefView<'_>> {
        Ok(RefView {
            refs: self,
            packed: self.packed.load()?,
        })
    }

    /// Moves all refs or none; with how many times the disk was asked to sync.
    pub(crate) fn apply(
        &self,
        edits: &[RawEdit],
        each: &mut dyn FnMut() -> Result<()>,
    ) -> Result<(Moved, usize)> {
        let packed = self.packed.load()?;
        let from_packed = |e: &RawEdit| e.new.is_none() && packed.get(e.name.as_str()).is_some();
        // One file that is replaced needs one sync, however many refs are in it; loose ones need one each.
        let many = edits.len() > 4 + packed.refs.len() / 1_000;
        // Each directory that is made for a ref has to be made durable; one short file costs less.
        let alone = |e: &RawEdit| e.new.is_some() && !self.has_place(&e.name);
        let short = packed.refs.len() < SHORT && edits.iter().any(alone);
        let moved = if many || short || edits.iter().any(from_packed) {
            self.apply_packed(edits)?
        } else {
            self.apply_loose(edits, each)?
        };
        self.tidy(edits);
        Ok(moved)
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

    fn compare(&self, edits: &[RawEdit], stale: &mut Vec<RefName>) -> Result<()> {
        for edit in edits {
            // In the packed file nothing would keep a ref from standing below one that somebody just made.
            let made = edit.old.is_none() && edit.new.is_some();
            let mut above = edit.name.ancestors();
            let hidden = made && above.any(|above| self.dir.join(above).is_file());
            if hidden || self.get(&edit.name)? != edit.old {
                stale.push(edit.name.clone());
            }
        }
        Ok(())
    }

    fn apply_loose(
        &self,
        edits: &[RawEdit],
        each: &mut dyn FnMut() -> Result<()>,
    ) -> Result<(Moved, usize)> {
        let paths = edits.iter().map(|e| self.dir.join(e.name.as_str()));
        let claim = self.claims.note(paths, self.sync)?;
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
    fn apply_packed(&self, edits: &[RawEdit]) -> Result<(Moved, usize)> {
        let locked = self.worth_a_lock(edits);
        let paths = locked.iter().map(|e| self.dir.join(e.name.as_str()));
        let claim = self
            .claims
            .note(paths.chain([self.packed.path.clone()]), self.sync)?;
        let mut file = LockFile::take(&self.packed.path, &mut Vec::new())?;
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
            let name = edit.name.as_str().as_bytes().to_vec();
            match edit.new {
                Some(id) => after.refs.insert(name, (id, None)),
                // A loose ref of that name goes below; the packed line must go first, or deleting the file would show it again.
                None => after.refs.remove(&name),
            };
        }
        file.write(&after.encode(self.packed.fully_peeled()?), self.sync)?;
        file.commit()?;
        self.note_dirty(&self.packed.path);
        syncs += usize::from(self.sync);
        let stay = |name: &&&RefName| self.dir.join(name.as_str()).is_file();
        let loose: Vec<&&RefName> = locks.keys().filter(stay).collect();
        if !loose.is_empty() {
            // Until the rename lasts, these files are all that holds their refs.
            syncs += self.sync_dirty()?;
        }
        for name in loose {
            let path = self.dir.join(name.as_str());
            if remove(&path)? {
                self.note_dirty(&path);
            }
        }
        drop(locks);
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

    /// Removes directories that are empty now, as git does; `refs/heads` and its like stay.
    fn tidy(&self, edits: &[RawEdit]) {
        let mut seen = BTreeSet::new();
        for edit in edits {
            let mut above: Vec<&str> = edit.name.ancestors().skip(1).collect();
            while let Some(dir) = above.pop() {
                if !seen.insert(dir) || fs::remove_dir(self.dir.join(dir)).is_err() {
                    break;
                }
            }
        }
    }

    fn note_dirty(&self, path: &Path) {
        if let Some(dir) = path.parent() {
            lock(&self.dirty).insert(dir.to_owned());
        }
    }

    /// Makes moved refs durable. How many times the disk was asked to sync.
    pub(crate) fn durable(&self) -> Result<usize> {
        let count = self.sync_dirty()?;
        self.claims.clear();
        Ok(count)
    }

    fn sync_dirty(&self) -> Result<usize> {
        let dirty = std::mem::take(&mut *lock(&self.dirty));
        if !self.sync {
            return Ok(0);
        }
        let mut count = 0;
        for dir in dirty {
            count += usize::from(sync_dir(&dir)?);
        }
        Ok(count)
    }
}

/// A packed ref by its name, if we can have such a name.
fn named(
    (name, (id, _)): (&Vec<u8>, &(ObjectId, Option<ObjectId>)),
) -> Option<(RefName, ObjectId)> {
    let name = std::str::from_utf8(name).ok()?;
    Some((RefName::parse(name).ok()?, *id))
}

/// Bytes of a file that holds one ref, by its id or by another name.
const LOOSE: u64 = 4 << 10;

/// How deep the names of shared branches lie; those of drafts and tags lie deeper.
const SHARED: usize = 2;

/// A file of packed refs with fewer than these is written anew as fast as one ref is.
const SHORT: usize = 256;

fn depth(name: &RefName) -> usize {
    name.as_str().matches('/').count()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

fn remove(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if is_absent(&e) || path.is_dir() => Ok(false),
        Err(e) => Err(Error::io(format!("remove {}", path.display()), e)),
    }
}

/// Point lookups during one batch.
pub(crate) struct RefView<'a> {
    refs: &'a RefFiles,
    packed: Arc<Packed>,
}

impl View for RefView<'_> {
    fn get(&self, name: &RefName) -> Result<Option<ObjectId>> {
        match self.refs.loose(name.as_str())? {
            Some(id) => Ok(Some(id)),
            None => Ok(self.packed.get(name.as_str())),
        }
    }

    fn shadow(&self, name: &RefName) -> Result<Option<String>> {
        for above in name.ancestors() {
            if self.refs.dir.join(above).is_file() || self.packed.get(above).is_some() {
                return Ok(Some(above.to_owned()));
            }
        }
        if let Some(below) = self.packed.below(name.as_str()) {
            return Ok(Some(below));
        }
        if !self.refs.dir.join(name.as_str()).is_dir() {
            return Ok(None);
        }
        let (mut found, mut broken) = (BTreeMap::new(), BTreeMap::new());
        self.refs.walk(name.as_str(), &mut found, &mut broken)?;
        let mut names = found.into_keys().chain(broken.into_keys());
        Ok(names.next().map(|n| n.to_string()))
    }

    /// Loose refs are read first, as packing moves refs the other way.
    fn below(&self, dir: &RefName) -> Result<BTreeMap<RefName, ObjectId>> {
        let (mut loose, mut broken) = (BTreeMap::new(), BTreeMap::new());
        if self.refs.dir.join(dir.as_str()).is_dir() {
            self.refs.walk(dir.as_str(), &mut loose, &mut broken)?;
        }
        let packed = self.refs.packed.load()?;
        let mut all: BTreeMap<_, _> = packed.range_below(dir.as_str()).filter_map(named).collect();
        all.extend(loose);
        all.retain(|name, _| !broken.contains_key(name));
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
