//! Reading one repository: its objects, those that are staged beside them, and caches that may be dropped at any time.
//!
//! The modules below are what is read of them: refs, histories, where packages are, files, what a push lacks. Nothing here
//! moves a ref or writes to the disk.

mod caches;
mod history;
mod lacking;
mod listing;
mod packages;
mod refs;
mod whole;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use gix::ObjectId;
use gix::objs::Kind;

use crate::disk::{Disk, RawRefs};
use crate::error::{Error, Result};
use crate::fault::{FaultVerdict, Faults, Point};
use crate::limits::name_of;
use crate::lru::{Lru, SLOT, Share, lock};
use crate::object::{
    Commit, Entry, decode_commit, decode_tree, find_dir, holds_no_dir, tag_target,
};
use crate::staged::Staging;
use crate::stats::{Counters, add};
use crate::{Dir, Limits, RefName, Refs, Snapshot};

use caches::{Below, Walked};

/// What a repository is opened with.
pub(crate) struct Setup {
    pub(crate) url: String,
    pub(crate) writable: bool,
    pub(crate) limits: Limits,
    pub(crate) share: Share,
    pub(crate) faults: Arc<dyn Faults>,
    pub(crate) counters: Arc<Counters>,
}

/// The ref, and its value, that brought an object.
pub(crate) type Anchor = Arc<(RefName, ObjectId)>;

/// What is read of one repository over one disk.
pub(crate) struct RepoReader<D> {
    pub(crate) url: String,
    /// Whether refs of it may be moved at all.
    pub(crate) writable: bool,
    pub(crate) limits: Limits,
    faults: Arc<dyn Faults>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) disk: D,
    pub(crate) staging: Arc<Staging>,
    pub(crate) snapshots: Lru<ObjectId, Arc<Snapshot>>,
    found: Lru<ObjectId, Below>,
    pub(crate) peeled: Lru<ObjectId, Option<ObjectId>>,
    commits: Lru<ObjectId, Arc<Commit>>,
    trees: Lru<ObjectId, Arc<[u8]>>,
    /// Which ref keeps what we wrote.
    pub(crate) anchors: Lru<ObjectId, Anchor>,
    listed: Mutex<Option<(Arc<RawRefs>, Arc<Refs>)>>,
    /// What the last list left out, and why.
    broken: Mutex<BTreeMap<RefName, String>>,
    /// What it left out since it leads to a tree or a file: that stays so until the ref moves.
    aside: Mutex<BTreeMap<RefName, String>>,
    walked: Mutex<Vec<Walked>>,
    stopped: AtomicBool,
}

impl<D: Disk> RepoReader<D> {
    pub(crate) fn new(disk: D, setup: Setup) -> Self {
        let share = &setup.share;
        Self {
            url: setup.url,
            writable: setup.writable,
            limits: setup.limits,
            faults: setup.faults,
            counters: setup.counters,
            disk,
            staging: Arc::default(),
            snapshots: Lru::new(share, 2),
            found: Lru::new(share, 16),
            peeled: Lru::new(share, 8),
            commits: Lru::new(share, 16),
            trees: Lru::new(share, 4),
            anchors: Lru::new(share, 16),
            listed: Mutex::default(),
            broken: Mutex::default(),
            aside: Mutex::default(),
            walked: Mutex::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Reads an object, from what is staged or from disk.
    pub(crate) fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Arc<[u8]>)>> {
        if let Some(staged) = self.staging.find(id) {
            return Ok(Some((staged.kind, Arc::clone(&staged.raw))));
        }
        self.alive()?;
        add(&self.counters.reads, 1);
        let found = self.disk.read(id)?;
        if let Some((kind, raw)) = &found {
            self.limits.check_object(*kind, id, raw.len() as u64)?;
        }
        Ok(found)
    }

    /// Reads an object that must be of this kind; trees are cached.
    pub(crate) fn read_as(&self, id: &ObjectId, kind: Kind) -> Result<Arc<[u8]>> {
        if kind == Kind::Tree
            && let Some(raw) = self.trees.get(id)
        {
            return Ok(raw);
        }
        match self.read(id)? {
            Some((found, raw)) if found == kind => {
                if kind == Kind::Tree {
                    self.trees.put(*id, Arc::clone(&raw), raw.len() + SLOT);
                }
                Ok(raw)
            }
            _ => Err(self.missing(name_of(kind), id)),
        }
    }

    pub(crate) fn tree(&self, id: &ObjectId) -> Result<Arc<[Entry]>> {
        decode_tree(id, &self.read_as(id, Kind::Tree)?)
    }

    pub(crate) fn read_commit(&self, id: &ObjectId) -> Result<Arc<Commit>> {
        if let Some(known) = self.commits.get(id) {
            return Ok(known);
        }
        let raw = self.read_as(id, Kind::Commit)?;
        let commit = Arc::new(decode_commit(id, &raw)?);
        self.commits.put(*id, Arc::clone(&commit), raw.len() + 256);
        Ok(commit)
    }

    /// What an object is, staged or on disk.
    pub(crate) fn kind(&self, id: &ObjectId) -> Result<Option<Kind>> {
        match self.staging.find(id) {
            Some(staged) => Ok(Some(staged.kind)),
            None => self.disk.kind(id),
        }
    }

    /// What an object is, if it is not too large to be read.
    pub(crate) fn readable(&self, id: &ObjectId) -> Result<Option<Kind>> {
        if let Some(staged) = self.staging.find(id) {
            return Ok(Some(staged.kind));
        }
        let Some((kind, size)) = self.disk.header(id)? else {
            return Ok(None);
        };
        self.limits.check_object(kind, id, size)?;
        Ok(Some(kind))
    }

    /// Whether the repository has an object already, as far as it is known: what is there now may go before it is needed
    /// (see `reuse`).
    pub(crate) fn has(&self, id: &ObjectId) -> Result<bool> {
        Ok(self.anchors.get(id).is_some() || self.disk.has(id)?)
    }

    /// Looks at the directory of objects itself. What was read of another repository, that stood at the same
    /// place before, is forgotten.
    pub(crate) fn look(&self) -> Result<()> {
        self.alive()?;
        if self.disk.look()? {
            self.forget();
        }
        Ok(())
    }

    /// Forgets everything that was read: caches make things faster, never different.
    pub(crate) fn forget(&self) {
        self.snapshots.clear();
        self.found.clear();
        self.peeled.clear();
        self.commits.clear();
        self.trees.clear();
        self.anchors.clear();
        *lock(&self.listed) = None;
        lock(&self.walked).clear();
    }

    pub(crate) fn find_subtree(&self, root: &ObjectId, dir: &Dir) -> Result<Option<ObjectId>> {
        let mut at = *root;
        for segment in dir.segments() {
            let raw = self.read_as(&at, Kind::Tree)?;
            let Some(next) = find_dir(&raw, segment.as_bytes()) else {
                return Ok(None);
            };
            at = next;
        }
        Ok(Some(at))
    }

    /// What stands in the way of a directory: a file, a link or a submodule at its path or at a parent of it. To put the
    /// directory there would take it away.
    pub(crate) fn in_the_way(&self, root: &ObjectId, dir: &Dir) -> Result<Option<String>> {
        let mut at = *root;
        let mut path: Vec<&str> = Vec::new();
        for segment in dir.segments() {
            path.push(segment);
            let raw = self.read_as(&at, Kind::Tree)?;
            match find_dir(&raw, segment.as_bytes()) {
                Some(next) => at = next,
                None if holds_no_dir(&raw, segment.as_bytes()) => return Ok(Some(path.join("/"))),
                None => break,
            }
        }
        Ok(None)
    }

    /// Follows annotated tags; `None` where no commit is at the end.
    pub(crate) fn peel(&self, id: ObjectId) -> Result<Option<ObjectId>> {
        if let Some(known) = self.peeled.get(&id) {
            return Ok(known);
        }
        let mut at = id;
        let mut end = None;
        for _ in 0..8 {
            match self.readable(&at)? {
                Some(Kind::Commit) => {
                    end = Some(at);
                    break;
                }
                Some(Kind::Tag) => {
                    let raw = self.read_as(&at, Kind::Tag)?;
                    let Some(target) = tag_target(&raw) else {
                        break;
                    };
                    at = target;
                }
                Some(Kind::Tree | Kind::Blob) => break,
                // Not here (yet): not to be remembered.
                None => return Ok(None),
            }
        }
        self.peeled.put(id, end, SLOT);
        Ok(end)
    }

    pub(crate) fn missing(&self, kind: &'static str, id: &ObjectId) -> Error {
        Error::Missing {
            kind,
            id: id.to_string(),
            url: self.url.clone(),
        }
    }

    pub(crate) fn alive(&self) -> Result<()> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(self.gone());
        }
        Ok(())
    }

    pub(crate) fn gone(&self) -> Error {
        Error::Stopped {
            url: self.url.clone(),
        }
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Asks what happens here; a death is final.
    pub(crate) fn fault(&self, point: Point) -> Result<FaultVerdict> {
        self.alive()?;
        let verdict = self.faults.at(&self.url, point);
        if verdict == FaultVerdict::Die {
            self.stop();
            return Err(self.gone());
        }
        self.alive()?;
        Ok(verdict)
    }
}
