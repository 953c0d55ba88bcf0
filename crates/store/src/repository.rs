//! One repository: reads with caches, and the trait `Repo` over any disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gix::ObjectId;
use gix::objs::Kind;
use model::{CommitId, TreeId};

use crate::disk::{Disk, Who};
use crate::error::{Error, Result};
use crate::fault::{Faults, Point, Verdict};
use crate::history::Walked;
use crate::journal::Journal;
use crate::lru::{Lru, SLOT, Share, lock};
use crate::object::{Commit, Entry, Oid as _, commit_id, decode_commit, decode_tree, tree_id};
use crate::packages::Below;
use crate::push::Unheard;
use crate::queue::{Job, Queue};
use crate::refname::PENDING;
use crate::reuse::Anchor;
use crate::staged::Staging;
use crate::stats::{Counters, Stats, add};
use crate::traits::name_of;
use crate::tree::find_dir;
use crate::{
    Announced, Answer, Beyond, CommitSpec, Dir, Handle, Intent, IntentId, Limits, Packages,
    RefName, Refs, Repo, Snapshot, Submission, Written,
};

/// What a repository is opened with.
pub(crate) struct Setup {
    pub(crate) url: String,
    pub(crate) writable: bool,
    pub(crate) limits: Limits,
    pub(crate) share: Share,
    pub(crate) faults: Arc<dyn Faults>,
    pub(crate) counters: Arc<Counters>,
}

type RawRefs = BTreeMap<RefName, ObjectId>;

/// One repository over one disk.
pub(crate) struct Repository<D> {
    pub(crate) url: String,
    pub(crate) writable: bool,
    pub(crate) limits: Limits,
    faults: Arc<dyn Faults>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) disk: D,
    pub(crate) staging: Arc<Staging>,
    pub(crate) snapshots: Lru<ObjectId, Arc<Snapshot>>,
    pub(crate) found: Lru<ObjectId, Below>,
    pub(crate) peeled: Lru<ObjectId, Option<ObjectId>>,
    commits: Lru<ObjectId, Arc<Commit>>,
    trees: Lru<ObjectId, Arc<[u8]>>,
    /// Which ref keeps what we wrote.
    pub(crate) anchors: Lru<ObjectId, Anchor>,
    /// What the batch that is being published wrote.
    pub(crate) kept: Mutex<BTreeSet<ObjectId>>,
    listed: Mutex<Option<(Arc<RawRefs>, Arc<Refs>)>>,
    /// What the last list left out, and why.
    broken: Mutex<BTreeMap<RefName, String>>,
    pub(crate) walked: Mutex<Vec<Walked>>,
    pub(crate) journal: Mutex<Journal>,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) unheard: Mutex<Unheard>,
    /// Whether the intents of the last process wait for the remote.
    pub(crate) waits: AtomicBool,
    stopped: AtomicBool,
}

impl<D: Disk> Repository<D> {
    pub(crate) fn new(disk: D, setup: Setup) -> Result<Self> {
        let share = &setup.share;
        let journal = Journal::load(&disk)?;
        Ok(Self {
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
            kept: Mutex::default(),
            listed: Mutex::default(),
            broken: Mutex::default(),
            walked: Mutex::default(),
            journal: Mutex::new(journal),
            queue: Mutex::default(),
            unheard: Mutex::default(),
            waits: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        })
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

    pub(crate) fn list_refs(&self) -> Result<Arc<Refs>> {
        self.look()?;
        let raw = self.disk.list()?;
        let mut broken = self.disk.broken_refs();
        let mut listed = lock(&self.listed);
        // What leads nowhere may lead somewhere by now.
        let fine = broken.is_empty() && lock(&self.broken).is_empty();
        if let Some((before, refs)) = &*listed
            && fine
            && **before == raw
        {
            return Ok(Arc::clone(refs));
        }
        let mut refs = Refs::new();
        for (name, id) in &raw {
            if name.as_str().starts_with(PENDING) {
                continue;
            }
            // Of thousands of refs a few moved since the last list.
            let still = |(before, refs): &(Arc<RawRefs>, Arc<Refs>)| {
                let same = before.get(name) == Some(id);
                same.then(|| refs.get(name).copied()).flatten()
            };
            let commit = match listed.as_ref().and_then(still) {
                Some(commit) => Some(commit),
                None => match self.follow(*id)? {
                    Ok(commit) => commit.as_ref().map(commit_id),
                    Err(why) => {
                        broken.insert(name.clone(), why);
                        None
                    }
                },
            };
            refs.extend(commit.map(|commit| (name.clone(), commit)));
        }
        *lock(&self.broken) = broken;
        let refs = Arc::new(refs);
        *listed = Some((Arc::new(raw), Arc::clone(&refs)));
        Ok(refs)
    }

    /// Where a ref leads, or why nowhere: one that cannot be followed keeps nobody from the others.
    fn follow(&self, id: ObjectId) -> Result<Result<Option<ObjectId>, String>> {
        match self.peel(id) {
            Ok(None) if self.peeled.get(&id).is_none() && self.kind(&id)?.is_none() => {
                Ok(Err(format!("object {id} is not in the repository")))
            }
            Ok(end) => Ok(Ok(end)),
            Err(
                error @ (Error::Missing { .. } | Error::Damaged { .. } | Error::TooLarge { .. }),
            ) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn find_ref(&self, name: &RefName) -> Result<Option<CommitId>> {
        Ok(self
            .find_refs(&[], std::slice::from_ref(name))?
            .remove(name))
    }

    /// The refs below directories, and these names: one look at the disk for all of them.
    pub(crate) fn find_refs(&self, dirs: &[RefName], names: &[RefName]) -> Result<Refs> {
        self.look()?;
        let ours = |name: &RefName| !name.as_str().starts_with(PENDING);
        let mut refs = Refs::new();
        for dir in dirs {
            for (name, id) in self.disk.view()?.below(dir)? {
                if ours(&name)
                    && let Ok(Some(commit)) = self.follow(id)?
                {
                    refs.insert(name, commit_id(&commit));
                }
            }
        }
        for name in names.iter().filter(|name| ours(name)) {
            if let Some(id) = self.disk.view()?.get(name)? {
                refs.extend(self.peel(id)?.map(|id| (name.clone(), commit_id(&id))));
            }
        }
        Ok(refs)
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
    pub(crate) fn fault(&self, point: Point) -> Result<Verdict> {
        self.alive()?;
        let verdict = self.faults.at(&self.url, point);
        if verdict == Verdict::Die {
            self.stop();
            return Err(self.gone());
        }
        self.alive()?;
        Ok(verdict)
    }
}

/// Runs what reads a disk and may take long: the tasks of this thread go on on another one meanwhile, so that what
/// somebody put into a repository keeps no request of others waiting.
fn beside<D: Disk, T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let several = |at: Handle| at.runtime_flavor() == RuntimeFlavor::MultiThread;
    match !D::INLINE && Handle::try_current().is_ok_and(several) {
        true => tokio::task::block_in_place(work),
        false => work(),
    }
}

/// A repository that can be shared: the trait `Repo`.
pub(crate) struct Shared<D> {
    pub(crate) repository: Arc<Repository<D>>,
    pub(crate) who: Who,
}

#[async_trait]
impl<D: Disk> Repo for Shared<D> {
    fn url(&self) -> &str {
        &self.repository.url
    }

    fn writable(&self) -> bool {
        self.repository.writable
    }

    fn refs(&self) -> Result<Arc<Refs>> {
        beside::<D, _>(|| self.repository.list_refs())
    }

    fn broken_refs(&self) -> BTreeMap<RefName, String> {
        lock(&self.repository.broken).clone()
    }

    fn find_ref(&self, name: &RefName) -> Result<Option<CommitId>> {
        self.repository.find_ref(name)
    }

    fn refs_of(&self, dirs: &[RefName], names: &[RefName]) -> Result<Refs> {
        self.repository.find_refs(dirs, names)
    }

    async fn fetch(&self) -> Result<Arc<Refs>> {
        if self.repository.disk.upstream().is_some() {
            self.repository
                .enqueue(None, |answer| Job::Fetch(answer, Arc::clone(&self.who)))
                .await??;
        }
        self.repository.list_refs()
    }

    fn commit(&self, id: CommitId) -> Result<Arc<Commit>> {
        self.repository.read_commit(&id.oid()?)
    }

    fn subtree(&self, root: TreeId, dir: &Dir) -> Result<Option<TreeId>> {
        Ok(self
            .repository
            .find_subtree(&root.oid()?, dir)?
            .as_ref()
            .map(tree_id))
    }

    fn snapshot(&self, tree: TreeId) -> Result<Arc<Snapshot>> {
        if let Some(known) = self.repository.snapshots.get(&tree.oid()?) {
            return Ok(known);
        }
        beside::<D, _>(|| self.repository.take_snapshot(tree))
    }

    fn snapshot_within(&self, tree: TreeId) -> Result<(Arc<Snapshot>, Vec<Beyond>)> {
        beside::<D, _>(|| self.repository.take_snapshot_within(tree))
    }

    fn limits(&self) -> Limits {
        self.repository.limits
    }

    fn packages(&self, root: TreeId, under: &Dir) -> Result<Packages> {
        beside::<D, _>(|| self.repository.find_packages(root, under))
    }

    fn package(&self, root: TreeId, under: &Dir, at: &Dir) -> Result<Option<TreeId>> {
        self.repository.find_package(root, under, at)
    }

    fn first_parents(&self, from: CommitId, limit: usize) -> Result<Vec<CommitId>> {
        self.repository.walk_first_parents(from, limit)
    }

    fn last_change(&self, head: CommitId, dir: &Dir) -> Result<Option<CommitId>> {
        beside::<D, _>(|| self.repository.find_last_change(head, dir))
    }

    fn is_ancestor(&self, ancestor: CommitId, of: CommitId) -> Result<bool> {
        beside::<D, _>(|| self.repository.reaches(ancestor, of))
    }

    fn has_commit(&self, id: CommitId) -> Result<bool> {
        Ok(self.repository.kind(&id.oid()?)? == Some(Kind::Commit))
    }

    fn tidied(&self) -> Result<u64> {
        self.repository.look()?;
        Ok(self.repository.disk.tidied())
    }

    fn broken(
        &self,
        of: &BTreeSet<(CommitId, TreeId)>,
    ) -> Result<BTreeMap<(CommitId, TreeId), String>> {
        beside::<D, _>(|| self.repository.find_broken(of))
    }

    fn write(&self, spec: CommitSpec<'_>) -> Result<Written> {
        self.repository.write_commit(&spec)
    }

    fn announce(&self) -> Announced {
        self.repository.expect()
    }

    async fn submit(&self, mut submission: Submission) -> Result<Answer> {
        if !self.repository.writable {
            return Err(Error::ReadOnly {
                url: self.repository.url.clone(),
            });
        }
        let announced = submission.announced.take();
        // What the writer would have to do while others wait for it; a disk that packs nothing needs none of it.
        if !D::INLINE {
            submission.written.iter().for_each(|w| w.bundle.prepare());
        }
        self.repository
            .enqueue(announced, |answer| {
                Job::Submit(Box::new(submission), answer, Arc::clone(&self.who))
            })
            .await?
    }

    async fn outcome(&self, handle: Handle) -> Result<Answer> {
        if let Some(known) = self.repository.heard(handle)? {
            return Ok(known);
        }
        match self
            .repository
            .enqueue(None, |answer| Job::Fetch(answer, Arc::clone(&self.who)))
            .await?
        {
            Ok(()) => Ok(self
                .repository
                .heard(handle)?
                .unwrap_or(Answer::Pending(handle))),
            Err(Error::Stopped { url }) => Err(Error::Stopped { url }),
            // Still not reachable: still not known.
            Err(_) => Ok(Answer::Pending(handle)),
        }
    }

    fn unfinished(&self) -> Result<Vec<Intent>> {
        self.repository.open_intents()
    }

    fn settle(&self, ids: &[IntentId]) -> Result<()> {
        self.repository.fault(Point::BeforeSettle)?;
        let ids: Vec<u64> = ids.iter().map(|id| id.0).collect();
        lock(&self.repository.journal).settle(&self.repository.disk, &ids)
    }

    fn stats(&self) -> Stats {
        self.repository.counters.read()
    }
}
