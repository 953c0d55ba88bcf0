//! A git directory as the repository's disk.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gix::ObjectId;
use gix::objs::Kind;

use crate::disk::{Disk, Moved, RawEdit, Upstream, View, Who};
use crate::error::{Error, Result};
use crate::git::journal::JournalFile;
use crate::git::layout;
use crate::git::local::Fence;
use crate::git::lockfile;
use crate::git::odb::Odb;
use crate::git::pack::{self, Draft, Keep};
use crate::git::refs::RefFiles;
use crate::git::transport::Git;
use crate::git::upkeep::Upkeep;
use crate::git::worktrees;
use crate::lru::lock;
use crate::staged::Packed;
use crate::stats::{Counters, add};
use crate::{Limits, RefName};

/// Where things are.
pub(crate) struct DiskPaths {
    pub(crate) git_dir: PathBuf,
    pub(crate) journal: PathBuf,
    pub(crate) remote: bool,
    pub(crate) writable: bool,
    pub(crate) sync: bool,
    pub(crate) roll_up: usize,
    pub(crate) direct: bool,
    pub(crate) fence: Fence,
}

/// One git directory with its journal.
pub(crate) struct GitDisk {
    pub(crate) place: DiskPaths,
    pub(crate) git: Git,
    pub(crate) odb: Odb,
    pub(crate) refs: RefFiles,
    journal: JournalFile,
    counters: Arc<Counters>,
    draft: Mutex<Option<Draft>>,
    /// What keeps packs of ours that no ref shows yet.
    keeps: Mutex<Vec<Keep>>,
    /// Which directory of objects was looked at last.
    incarnation: AtomicU64,
    upkeep: Arc<Upkeep>,
}

impl GitDisk {
    pub(crate) fn open(
        place: DiskPaths,
        git: Git,
        counters: &Arc<Counters>,
        limits: &Limits,
    ) -> Result<Self> {
        let objects = place.git_dir.join("objects");
        place.fence.check_git_dir(&place.git_dir)?;
        if place.writable {
            pack::sweep(&objects);
            if place.remote {
                pack::sweep_broken_off(&objects);
            }
            std::fs::create_dir_all(objects.join("pack"))
                .map_err(|e| Error::io(format!("make {}/pack", objects.display()), e))?;
        }
        let claims = place.journal.with_file_name("locks");
        // A mirror holds refs of ours besides all that its remote may tell of.
        let times = 1 + usize::from(place.remote);
        let bounds = (
            limits.refs.saturating_mul(times),
            limits.ref_bytes.saturating_mul(times as u64),
        );
        let refs =
            RefFiles::new(&place.git_dir, claims, place.sync, bounds).within(place.fence.clone());
        if place.writable {
            refs.release()?;
        }
        if place.remote {
            lockfile::free(&place.git_dir)?;
        }
        Ok(Self {
            odb: Odb::open(objects, place.fence.clone(), limits)?,
            refs,
            journal: JournalFile::new(place.journal.clone(), place.sync),
            counters: Arc::clone(counters),
            draft: Mutex::default(),
            keeps: Mutex::default(),
            incarnation: AtomicU64::new(0),
            upkeep: Arc::new(Upkeep::new(place.roll_up)),
            place,
            git,
        })
    }

    /// Whether this is a mirror that never saw its remote.
    pub(crate) fn is_new_mirror(&self) -> Result<bool> {
        Ok(self.place.remote && self.refs.list()?.is_empty())
    }

    /// Whether the remote lets these credentials read, and shows a certificate that they trust. One that cannot be
    /// reached lets nobody in: what others fetched is read by whoever was let in before ([`crate::Store::here`]).
    pub(crate) fn welcome(&self, who: &Who) -> Result<()> {
        if self.place.remote {
            self.look(who)?;
        }
        Ok(())
    }

    /// Whether the repository is there, and leads nowhere else: asked at each look.
    fn exists(&self) -> Result<()> {
        self.place.fence.check_git_dir(&self.place.git_dir)?;
        if self.place.git_dir.join("HEAD").is_file() {
            return Ok(());
        }
        Err(Error::NoRepository {
            url: self.git.url.clone(),
        })
    }

    fn count_syncs(&self, count: usize) {
        add(&self.counters.fsyncs, count);
    }
}

impl Disk for GitDisk {
    const INLINE: bool = false;

    fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Arc<[u8]>)>> {
        let found = self.odb.read(id)?;
        if found.is_none() {
            self.exists()?;
        }
        Ok(found)
    }

    fn look(&self) -> Result<bool> {
        self.exists()?;
        let now = self.odb.look()?;
        if self.incarnation.load(Ordering::Acquire) == now {
            return Ok(false);
        }
        layout::check_format(&self.git.url, &self.place.git_dir)?;
        self.incarnation.store(now, Ordering::Release);
        Ok(true)
    }

    fn tidied(&self) -> u64 {
        self.odb.tidied()
    }

    fn has(&self, id: &ObjectId) -> Result<bool> {
        Ok(self.odb.has(id))
    }

    fn header(&self, id: &ObjectId) -> Result<Option<(Kind, u64)>> {
        self.odb.header(id)
    }

    fn list(&self) -> Result<BTreeMap<RefName, ObjectId>> {
        self.exists()?;
        self.refs.list()
    }

    fn broken_refs(&self) -> BTreeMap<RefName, String> {
        self.refs.broken()
    }

    fn view(&self) -> Result<Box<dyn View + '_>> {
        self.exists()?;
        Ok(Box::new(self.refs.view()?))
    }

    fn put(&self, objects: &[Arc<Packed>]) -> Result<()> {
        let Some(first) = objects.first() else {
            return Ok(());
        };
        let bytes = pack::encode(objects)?;
        let draft = Draft::write(&self.place.git_dir.join("objects"), &bytes, first.id)?;
        add(&self.counters.packs, 1);
        add(&self.counters.objects, objects.len());
        add(&self.counters.pack_bytes, draft.bytes);
        *lock(&self.draft) = Some(draft);
        Ok(())
    }

    fn put_durable(&self) -> Result<()> {
        let Some(draft) = lock(&self.draft).take() else {
            return Ok(());
        };
        let first = draft.first;
        let (syncs, keep) = draft.publish(self.place.sync)?;
        self.count_syncs(syncs);
        lock(&self.keeps).push(keep);
        self.odb.note_pack(&first)?;
        self.upkeep.note_pack(&self.git);
        Ok(())
    }

    fn release(&self) {
        for keep in std::mem::take(&mut *lock(&self.keeps)) {
            drop(keep);
        }
    }

    fn move_refs(&self, edits: &[RawEdit], each: &mut dyn FnMut() -> Result<()>) -> Result<Moved> {
        let (moved, syncs) = self.refs.apply(edits, each)?;
        self.count_syncs(syncs);
        Ok(moved)
    }

    fn refs_durable(&self) -> Result<()> {
        self.count_syncs(self.refs.durable()?);
        Ok(())
    }

    fn checked_out(&self) -> Result<BTreeMap<RefName, String>> {
        match self.place.remote {
            // The remote has its own, and says so.
            true => Ok(BTreeMap::new()),
            false => worktrees::checked_out(&self.place.git_dir),
        }
    }

    fn journal_load(&self) -> Result<Vec<u8>> {
        if self.place.writable {
            self.journal.load()
        } else {
            Ok(Vec::new())
        }
    }

    fn journal_append(&self, bytes: &[u8]) -> Result<()> {
        self.journal.append(bytes)
    }

    fn journal_durable(&self) -> Result<()> {
        self.count_syncs(self.journal.durable()?);
        Ok(())
    }

    fn journal_replace(&self, bytes: &[u8]) -> Result<()> {
        if self.place.writable {
            self.journal.replace(bytes)
        } else {
            Ok(())
        }
    }

    fn journal_path(&self) -> String {
        self.journal.path.display().to_string()
    }

    fn upstream(&self) -> Option<&dyn Upstream> {
        self.place.remote.then_some(self as &dyn Upstream)
    }

    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        drop(self.git.runtime.spawn_blocking(work));
    }
}
