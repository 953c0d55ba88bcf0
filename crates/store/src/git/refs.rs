//! Refs as git keeps them in files: read, and moved in one transaction under git's own locks.

mod change;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use gix::ObjectId;

use crate::RefName;
use crate::disk::{RawEdit, View};
use crate::error::{Error, Result};
use crate::git::local::{Fence, REFS};
use crate::git::lockfile::{Claims, sync_dir};
use crate::git::packed::{Packed, PackedFile};
use crate::git::plain;
use crate::lru::lock;

/// The refs of one git directory.
#[derive(Debug)]
pub(crate) struct RefFiles {
    dir: PathBuf,
    claims: Claims,
    packed: PackedFile,
    /// Where links in it may lead.
    fence: Fence,
    sync: bool,
    /// Refs that there may be.
    most: usize,
    /// Directories whose names changed since they were last made durable.
    dirty: Mutex<BTreeSet<PathBuf>>,
    /// Whether a lock of ours on the packed file went, and its directory was not synced since: a power cut may bring it
    /// back.
    lingers: AtomicBool,
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
            fence: Fence::default(),
            sync,
            most: bounds.0,
            dirty: Mutex::default(),
            lingers: AtomicBool::new(false),
            broken: Mutex::default(),
        }
    }

    /// The same, of which no link leads out of this.
    pub(crate) fn within(self, fence: Fence) -> Self {
        Self { fence, ..self }
    }

    /// Looks at the way to a ref: somebody may have put a link there, through which it would be read or written elsewhere.
    fn check_way(&self, name: &RefName) -> Result<()> {
        let way = name.ancestors().chain([name.as_str()]);
        self.fence.check_links(REFS, &self.dir, way)
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
            if entry.file_type().is_ok_and(|t| t.is_symlink()) {
                self.fence.check_links(REFS, &self.dir, [&name])?;
            }
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
        self.check_way(name)?;
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
        if !self.sync {
            lock(&self.dirty).clear();
            return Ok(0);
        }
        let mut count = 0;
        loop {
            let noted = std::mem::take(&mut *lock(&self.dirty));
            if noted.is_empty() {
                break;
            }
            // A directory that was emptied and removed since is gone for good once the one that held it is synced: each once.
            let gone = |dir: &Path| {
                let looked = fs::symlink_metadata(dir);
                looked.is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
            };
            let there = |dir: &PathBuf| dir.ancestors().find(|d| !gone(d)).map(Path::to_owned);
            let mut dirs: BTreeSet<PathBuf> = noted.iter().filter_map(there).collect();
            while let Some(dir) = dirs.pop_first() {
                match sync_dir(&dir) {
                    Ok(synced) => count += usize::from(synced),
                    // It is not durable yet, and whoever asks again must not hear otherwise.
                    Err(error) => {
                        let mut dirty = lock(&self.dirty);
                        dirty.insert(dir);
                        dirty.append(&mut dirs);
                        return Err(error);
                    }
                }
                if dir == self.dir {
                    self.lingers.store(false, Ordering::Relaxed);
                }
            }
        }
        Ok(count)
    }
}

/// A packed ref by its name, if we can have such a name.
fn named(
    (name, (id, _)): (&Arc<[u8]>, &(ObjectId, Option<ObjectId>)),
) -> Option<(RefName, ObjectId)> {
    let name = std::str::from_utf8(name).ok()?;
    Some((RefName::parse(name).ok()?, *id))
}

/// Bytes of a file that holds one ref, by its id or by another name.
const LOOSE: u64 = 4 << 10;

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
    /// The loose ref is read first, as packing moves refs the other way: one that is packed meanwhile is in the file by then.
    fn get(&self, name: &RefName) -> Result<Option<ObjectId>> {
        self.refs.check_way(name)?;
        match self.refs.loose(name.as_str())? {
            Some(id) => Ok(Some(id)),
            None => Ok(self.refs.packed.load()?.get(name.as_str())),
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
        self.refs.check_way(dir)?;
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
