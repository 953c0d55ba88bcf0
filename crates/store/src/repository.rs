//! One repository: the trait `Repo` over any disk. What is read and what is written is the reader's and the writer's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use gix::objs::Kind;
use model::{CommitId, TreeId};

use crate::build::write_commit;
use crate::disk::{Disk, Who};
use crate::error::{Error, Result};
use crate::fault::Point;
use crate::object::{Commit, Oid as _, tree_id};
use crate::publisher::Publisher;
use crate::reader::{RepoReader, Setup};
use crate::stats::Stats;
use crate::writer::{Job, RepoWriter};
use crate::{
    Announced, Answer, Beyond, CommitSpec, Dir, Handle, Intent, IntentId, Limits, Packages,
    RefName, Refs, RemoteSpec, Repo, Snapshot, Submission, Written,
};

/// One repository over one disk.
pub(crate) struct Repository<D> {
    pub(crate) reader: Arc<RepoReader<D>>,
    writer: Arc<RepoWriter<D>>,
}

impl<D: Disk> Repository<D> {
    pub(crate) fn new(disk: D, setup: Setup) -> Result<Self> {
        let reader = Arc::new(RepoReader::new(disk, setup));
        let publisher = Publisher::new(Arc::clone(&reader))?;
        let writer = Arc::new(RepoWriter::new(publisher));
        Ok(Self { reader, writer })
    }

    /// Completes or drops what the last process left half done, as far as the remote can be asked; a mirror that is new is
    /// filled first.
    pub(crate) fn put_right(&self, new: bool, who: &Who) -> Result<()> {
        if new {
            self.writer.publisher.bring(who)?;
        }
        match self.reader.writable {
            true => self.writer.publisher.recover_at_open(new, who),
            false => Ok(()),
        }
    }

    /// The branch that it is registered with is there, or is made.
    pub(crate) async fn ensure_branch(&self, spec: &RemoteSpec) -> Result<()> {
        self.writer.ensure_branch(spec).await
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

/// How often somebody waits for a place among the fetches that run at once.
pub(crate) const WAITS: usize = 3;

impl<D: Disk> Shared<D> {
    /// Has the writer fetch; where others do, as many as may, its turn is waited for here, where nobody waits for us.
    async fn bring(&self) -> Result<()> {
        let (repository, who) = (&self.repository, &self.who);
        let fetch = || {
            let job = |answer| Job::Fetch(answer, Arc::clone(who));
            repository.writer.enqueue(None, job)
        };
        let mut done = fetch().await?;
        for _ in 0..WAITS {
            let upstream = repository.reader.disk.upstream();
            let turn = match &done {
                Err(Error::Busy { .. }) => upstream.map(|upstream| upstream.turn(who)),
                _ => None,
            };
            let Some(turn) = turn else { break };
            let kept = turn.await?;
            done = fetch().await?;
            drop(kept);
        }
        done
    }
}

#[async_trait]
impl<D: Disk> Repo for Shared<D> {
    fn url(&self) -> &str {
        &self.repository.reader.url
    }

    fn writable(&self) -> bool {
        self.repository.reader.writable
    }

    fn refs(&self) -> Result<Arc<Refs>> {
        beside::<D, _>(|| self.repository.reader.list_refs())
    }

    fn broken_refs(&self) -> BTreeMap<RefName, String> {
        self.repository.reader.broken_refs()
    }

    fn find_ref(&self, name: &RefName) -> Result<Option<CommitId>> {
        self.repository.reader.find_ref(name)
    }

    fn refs_of(&self, dirs: &[RefName], names: &[RefName]) -> Result<Refs> {
        self.repository.reader.find_refs(dirs, names)
    }

    async fn fetch(&self) -> Result<Arc<Refs>> {
        if self.repository.reader.disk.upstream().is_some() {
            self.bring().await?;
        }
        self.repository.reader.list_refs()
    }

    fn commit(&self, id: CommitId) -> Result<Arc<Commit>> {
        self.repository.reader.read_commit(&id.oid()?)
    }

    fn subtree(&self, root: TreeId, dir: &Dir) -> Result<Option<TreeId>> {
        Ok(self
            .repository
            .reader
            .find_subtree(&root.oid()?, dir)?
            .as_ref()
            .map(tree_id))
    }

    fn snapshot(&self, tree: TreeId) -> Result<Arc<Snapshot>> {
        if let Some(known) = self.repository.reader.snapshots.get(&tree.oid()?) {
            return Ok(known);
        }
        beside::<D, _>(|| self.repository.reader.take_snapshot(tree))
    }

    fn snapshot_within(&self, tree: TreeId) -> Result<(Arc<Snapshot>, Vec<Beyond>)> {
        beside::<D, _>(|| self.repository.reader.take_snapshot_within(tree))
    }

    fn limits(&self) -> Limits {
        self.repository.reader.limits
    }

    fn packages(&self, root: TreeId, under: &Dir) -> Result<Packages> {
        beside::<D, _>(|| self.repository.reader.find_packages(root, under))
    }

    fn package(&self, root: TreeId, under: &Dir, at: &Dir) -> Result<Option<TreeId>> {
        self.repository.reader.find_package(root, under, at)
    }

    fn first_parents(&self, from: CommitId, limit: usize) -> Result<Vec<CommitId>> {
        self.repository.reader.walk_first_parents(from, limit)
    }

    fn last_change(&self, head: CommitId, dir: &Dir) -> Result<Option<CommitId>> {
        beside::<D, _>(|| self.repository.reader.find_last_change(head, dir))
    }

    fn is_ancestor(&self, ancestor: CommitId, of: CommitId) -> Result<bool> {
        beside::<D, _>(|| self.repository.reader.reaches(ancestor, of))
    }

    fn has_commit(&self, id: CommitId) -> Result<bool> {
        Ok(self.repository.reader.kind(&id.oid()?)? == Some(Kind::Commit))
    }

    fn tidied(&self) -> Result<u64> {
        self.repository.reader.look()?;
        Ok(self.repository.reader.disk.tidied())
    }

    fn broken(
        &self,
        of: &BTreeSet<(CommitId, TreeId)>,
    ) -> Result<BTreeMap<(CommitId, TreeId), String>> {
        beside::<D, _>(|| self.repository.reader.find_broken(of))
    }

    fn write(&self, spec: CommitSpec<'_>) -> Result<Written> {
        write_commit(&self.repository.reader, &spec)
    }

    fn announce(&self) -> Announced {
        self.repository.writer.expect()
    }

    async fn submit(&self, mut submission: Submission) -> Result<Answer> {
        if !self.repository.reader.writable {
            return Err(Error::ReadOnly {
                url: self.repository.reader.url.clone(),
            });
        }
        let announced = submission.announced.take();
        // What the writer would have to do while others wait for it; a disk that packs nothing needs none of it.
        if !D::INLINE {
            submission.written.iter().for_each(|w| w.bundle.prepare());
        }
        self.repository
            .writer
            .enqueue(announced, |answer| {
                Job::Submit(Box::new(submission), answer, Arc::clone(&self.who))
            })
            .await?
    }

    async fn outcome(&self, handle: Handle) -> Result<Answer> {
        if let Some(known) = self.repository.writer.publisher.heard(handle)? {
            return Ok(known);
        }
        match self
            .repository
            .writer
            .enqueue(None, |answer| Job::Fetch(answer, Arc::clone(&self.who)))
            .await?
        {
            Ok(()) => Ok(self
                .repository
                .writer
                .publisher
                .heard(handle)?
                .unwrap_or(Answer::Pending(handle))),
            Err(Error::Stopped { url }) => Err(Error::Stopped { url }),
            // Still not reachable: still not known.
            Err(_) => Ok(Answer::Pending(handle)),
        }
    }

    fn unfinished(&self) -> Result<Vec<Intent>> {
        self.repository.writer.publisher.open_intents()
    }

    fn settle(&self, ids: &[IntentId]) -> Result<()> {
        self.repository.reader.fault(Point::BeforeSettle)?;
        self.repository.writer.publisher.settle(ids)
    }

    fn stats(&self) -> Stats {
        self.repository.reader.counters.read()
    }

    fn held(&self) -> Result<Vec<(&'static str, usize)>> {
        self.repository.writer.publisher.held()
    }
}
