//! The traits: what the rest of the house sees of git.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use model::{CommitId, TreeId};

use crate::{
    Announced, Answer, Beyond, Commit, CommitSpec, Dir, Handle, Intent, IntentId, Limits, Packages,
    RefName, RemoteSpec, Result, Snapshot, Stats, Submission, Written,
};

/// All refs with the commits that they lead to, annotated tags followed.
pub type Refs = BTreeMap<RefName, CommitId>;

/// Opens repositories; one [`Repo`] per URL, whoever asks (V25).
#[async_trait]
pub trait Store: Send + Sync {
    /// Opens a repository, or hands out the one that is open. What a crash left half done is
    /// completed or dropped first, as far as the remote can be asked.
    ///
    /// # Errors
    /// A URL, format or branch that cannot be used; a remote that fails and was never mirrored.
    async fn open(&self, spec: RemoteSpec) -> Result<Arc<dyn Repo>>;

    /// What is here of the remote at this URL, to be read: no remote is asked, and nobody is waited for who asks one.
    /// `None` where there is no mirror of it yet. Whoever calls this decides who may read it.
    ///
    /// # Errors
    /// A URL that cannot be used; a disk that cannot be read.
    async fn here(&self, url: &str) -> Result<Option<Arc<dyn Repo>>>;

    /// Ends every conversation with a remote within two seconds, and begins no more: the process is to
    /// end. Programs that were started for one are ended with it. A submission that was being pushed
    /// is answered [`Answer::Pending`] and stays in the journal; one that was not sent is an error.
    fn disconnect(&self) {}
}

/// A git repository. Reads are by id, from any thread, and never wait for the writer.
#[async_trait]
pub trait Repo: Send + Sync {
    /// The URL in its one form.
    fn url(&self) -> &str;

    /// Whether this repository can be written at all.
    fn writable(&self) -> bool;

    /// All refs, as they are on this disk now; those that only this repository needs are left out.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn refs(&self) -> Result<Arc<Refs>>;

    /// Refs that the last [`Repo::refs`] left out, as they lead nowhere or to no commit, and why.
    fn broken_refs(&self) -> BTreeMap<RefName, String>;

    /// Where one ref leads, as [`Repo::refs`] would say, without reading the others.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn find_ref(&self, name: &RefName) -> Result<Option<CommitId>>;

    /// The refs whose names lie below this one, such as `refs/heads/drafts/app`, as [`Repo::refs`]
    /// would say, without reading the others: what one package has takes no longer in a large
    /// repository.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn refs_below(&self, dir: &RefName) -> Result<Refs> {
        self.refs_of(std::slice::from_ref(dir), &[])
    }

    /// The refs below some directories, and these names as far as they are there, in one look.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn refs_of(&self, dirs: &[RefName], names: &[RefName]) -> Result<Refs>;

    /// Looks at the remote, if there is one, and returns all refs.
    ///
    /// # Errors
    /// A remote that cannot be reached or refuses us.
    async fn fetch(&self) -> Result<Arc<Refs>>;

    /// A commit.
    ///
    /// # Errors
    /// One that is not here, or is no commit.
    fn commit(&self, id: CommitId) -> Result<Arc<Commit>>;

    /// The tree of a directory below a root tree; `None` if it is absent or no directory.
    ///
    /// # Errors
    /// A tree that is not here.
    fn subtree(&self, root: TreeId, dir: &Dir) -> Result<Option<TreeId>>;

    /// The files of a directory's tree, within the limits.
    ///
    /// # Errors
    /// More or larger files than allowed; a tree that is not here.
    fn snapshot(&self, tree: TreeId) -> Result<Arc<Snapshot>>;

    /// The same, without what is beyond the limits, each with the reason: what can still be shown of a package that
    /// somebody made too large by git. What is left out is carried on ([`Snapshot::opaque`]).
    ///
    /// # Errors
    /// A tree that is not here.
    fn snapshot_within(&self, tree: TreeId) -> Result<(Arc<Snapshot>, Vec<Beyond>)>;

    /// The limits of what is read, which hold for what is written, too.
    fn limits(&self) -> Limits;

    /// Directories that hold a `Kptfile` below `under`, relative to it, in path order; what lies
    /// inside one is its content. Within [`Limits::visits`] and
    /// [`Limits::packages`]; what is beyond is said.
    ///
    /// # Errors
    /// A tree that is not here.
    fn packages(&self, root: TreeId, under: &Dir) -> Result<Packages>;

    /// The tree of the package at one directory below `under`, as [`Repo::packages`] would name it; `None` if there is none.
    ///
    /// # Errors
    /// A tree that is not here.
    fn package(&self, root: TreeId, under: &Dir, at: &Dir) -> Result<Option<TreeId>>;

    /// The first-parent history, the newest first, itself included.
    ///
    /// # Errors
    /// A commit that is not here.
    fn first_parents(&self, from: CommitId, limit: usize) -> Result<Vec<CommitId>>;

    /// The newest commit of the first-parent history that changed a directory (removed it, too);
    /// `None` if it never was.
    ///
    /// # Errors
    /// A commit that is not here.
    fn last_change(&self, head: CommitId, dir: &Dir) -> Result<Option<CommitId>>;

    /// Whether one commit is in the history of another (or is it).
    ///
    /// # Errors
    /// A commit that is not here.
    fn is_ancestor(&self, ancestor: CommitId, of: CommitId) -> Result<bool>;

    /// Whether a commit with everything in it can be read here.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn has_commit(&self, id: CommitId) -> Result<bool>;

    /// How often objects went away that were there, or the repository was made anew: what names them may have to be
    /// looked at again.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn tidied(&self) -> Result<u64>;

    /// Which of these packages, each a commit with the tree of a directory in it, cannot be read whole, each with what
    /// is missing: looked up where objects are kept, never in a cache.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn broken(
        &self,
        of: &BTreeSet<(CommitId, TreeId)>,
    ) -> Result<BTreeMap<(CommitId, TreeId), String>>;

    /// Builds blobs, trees and a commit in memory. Nothing is visible or durable; while the
    /// [`Written`] lives, its commit can be read like any other.
    ///
    /// # Errors
    /// Contents that git cannot hold; a base that is not here.
    fn write(&self, spec: CommitSpec<'_>) -> Result<Written>;

    /// Says that a submission is being built: until it comes in
    /// [`Submission::announced`](crate::Submission), or the answer is dropped, a batch that opens now
    /// may wait for it. Whoever holds this must not wait for the same repository's writer.
    fn announce(&self) -> Announced {
        Announced::default()
    }

    /// Publishes: durable first, visible last, all or nothing.
    ///
    /// # Errors
    /// What could not be attempted: a full disk, a remote that was not reached. Nothing of the
    /// submission stands then.
    async fn submit(&self, submission: Submission) -> Result<Answer>;

    /// What came of a submission that was answered [`Answer::Pending`]; asks the remote.
    ///
    /// # Errors
    /// A handle that is not known (any more).
    async fn outcome(&self, handle: Handle) -> Result<Answer>;

    /// Intents that nobody settled: after a restart, what is to be recorded or forgotten.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn unfinished(&self) -> Result<Vec<Intent>>;

    /// Forgets intents whose records are durable. Losing a settlement costs one more look.
    ///
    /// # Errors
    /// A disk that cannot be written.
    fn settle(&self, ids: &[IntentId]) -> Result<()>;

    /// What was done since the repository was opened.
    fn stats(&self) -> Stats;

    /// What is held for changes that are not over, by name: nothing of it may grow with how many were made.
    ///
    /// # Errors
    /// A disk that cannot be read.
    fn held(&self) -> Result<Vec<(&'static str, usize)>>;
}
