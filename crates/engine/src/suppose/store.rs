//! The store of a supposed world: everything can be read and built as in the real one, and nothing can be published.
//! No remote is asked and no directory is made: what is not here is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use model::{CommitId, TreeId};
use store::{
    Answer, Beyond, Commit, CommitSpec, Dir, Error, Handle, Intent, IntentId, Limits, Packages,
    RefName, Refs, RemoteSpec, Repo, Result, Snapshot, Stats, Store, Submission, Written,
};

/// Repositories that can only be read.
pub(super) struct ReadOnlyStore(pub(super) Arc<dyn Store>);

#[async_trait]
impl Store for ReadOnlyStore {
    /// Nobody is asked: whose address and whose credentials these are is not known here.
    async fn open(&self, spec: RemoteSpec) -> Result<Arc<dyn Repo>> {
        Err(Error::NoRepository { url: spec.url })
    }

    async fn here(&self, url: &str) -> Result<Option<Arc<dyn Repo>>> {
        let here = self.0.here(url).await?;
        Ok(here.map(|repo| -> Arc<dyn Repo> { Arc::new(ReadOnly(repo)) }))
    }
}

/// A repository that can be read, and in which commits can be built in memory.
pub(super) struct ReadOnly(pub(super) Arc<dyn Repo>);

impl ReadOnly {
    fn refused(&self) -> Error {
        Error::ReadOnly {
            url: self.0.url().to_owned(),
        }
    }
}

#[async_trait]
impl Repo for ReadOnly {
    fn url(&self) -> &str {
        self.0.url()
    }

    fn writable(&self) -> bool {
        self.0.writable()
    }

    fn refs(&self) -> Result<Arc<Refs>> {
        self.0.refs()
    }

    fn broken_refs(&self) -> BTreeMap<RefName, String> {
        self.0.broken_refs()
    }

    fn find_ref(&self, name: &RefName) -> Result<Option<CommitId>> {
        self.0.find_ref(name)
    }

    fn refs_of(&self, dirs: &[RefName], names: &[RefName]) -> Result<Refs> {
        self.0.refs_of(dirs, names)
    }

    async fn fetch(&self) -> Result<Arc<Refs>> {
        self.0.refs()
    }

    fn commit(&self, id: CommitId) -> Result<Arc<Commit>> {
        self.0.commit(id)
    }

    fn subtree(&self, root: TreeId, dir: &Dir) -> Result<Option<TreeId>> {
        self.0.subtree(root, dir)
    }

    fn snapshot(&self, tree: TreeId) -> Result<Arc<Snapshot>> {
        self.0.snapshot(tree)
    }

    fn snapshot_within(&self, tree: TreeId) -> Result<(Arc<Snapshot>, Vec<Beyond>)> {
        self.0.snapshot_within(tree)
    }

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn packages(&self, root: TreeId, under: &Dir) -> Result<Packages> {
        self.0.packages(root, under)
    }

    fn package(&self, root: TreeId, under: &Dir, at: &Dir) -> Result<Option<TreeId>> {
        self.0.package(root, under, at)
    }

    fn first_parents(&self, from: CommitId, limit: usize) -> Result<Vec<CommitId>> {
        self.0.first_parents(from, limit)
    }

    fn last_change(&self, head: CommitId, dir: &Dir) -> Result<Option<CommitId>> {
        self.0.last_change(head, dir)
    }

    fn is_ancestor(&self, ancestor: CommitId, of: CommitId) -> Result<bool> {
        self.0.is_ancestor(ancestor, of)
    }

    fn has_commit(&self, id: CommitId) -> Result<bool> {
        self.0.has_commit(id)
    }

    fn tidied(&self) -> Result<u64> {
        self.0.tidied()
    }

    fn broken(
        &self,
        of: &BTreeSet<(CommitId, TreeId)>,
    ) -> Result<BTreeMap<(CommitId, TreeId), String>> {
        self.0.broken(of)
    }

    fn write(&self, spec: CommitSpec<'_>) -> Result<Written> {
        self.0.write(spec)
    }

    async fn submit(&self, _submission: Submission) -> Result<Answer> {
        Err(self.refused())
    }

    async fn outcome(&self, _handle: Handle) -> Result<Answer> {
        Err(self.refused())
    }

    fn unfinished(&self) -> Result<Vec<Intent>> {
        Ok(Vec::new())
    }

    fn settle(&self, _ids: &[IntentId]) -> Result<()> {
        Err(self.refused())
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }

    fn held(&self) -> Result<Vec<(&'static str, usize)>> {
        Ok(Vec::new())
    }
}
