//! The one place where commits of drafts are built.

use model::{CommitId, Machine, PackageName, WorkspaceName};
use store::{CommitSpec, Content, Written};

use crate::git::{Message, Subject, author_of, committer};
use crate::repos::Open;
use crate::usecase::Caller;
use crate::{Engine, Error, Result};

/// A commit of a draft.
#[derive(Debug, Clone)]
pub(crate) struct DraftCommit<'a> {
    /// The package.
    pub(crate) package: &'a PackageName,
    /// Its workspace.
    pub(crate) workspace: &'a WorkspaceName,
    /// What the package's directory becomes.
    pub(crate) content: Content<'a>,
    /// The parents; the first one's root directory is taken along.
    pub(crate) parents: &'a [CommitId],
    /// What is done.
    pub(crate) subject: Subject<'a>,
    /// More about it.
    pub(crate) body: String,
    /// What the machine notes.
    pub(crate) machine: Option<&'a Machine>,
    /// What could not be decided alone.
    pub(crate) conflicts: &'a [model::Conflict],
}

impl Engine {
    /// Builds a commit in memory: nothing is visible.
    ///
    /// # Errors
    /// Git cannot hold it, or its base is not there.
    pub(crate) fn build(
        &self,
        open: &Open,
        by: &Caller,
        commit: &DraftCommit<'_>,
    ) -> Result<Written> {
        let dir = open.layout.dir(commit.package);
        let text = (!commit.conflicts.is_empty())
            .then(|| package::conflicts::encode(commit.conflicts))
            // Longer ones do not fit a trailer; the record holds them all the same (V4a).
            .filter(|text| text.len() <= package::conflicts::TRAILER_LIMIT);
        let message = Message {
            subject: commit.subject,
            body: commit.body.clone(),
            path: dir.as_str(),
            workspace: commit.workspace.as_str(),
            machine: commit.machine,
            conflicts: text.as_deref(),
            acting_for: &by.acting_for,
        };
        let now = self.now();
        let written = open.repo.write(CommitSpec {
            base: commit.parents.first().copied(),
            dir: &dir,
            content: commit.content,
            parents: commit.parents,
            author: &author_of(&by.user, Some(&open.repository), now),
            committer: &committer(now),
            message: &message.text(),
        });
        written.map_err(|source| Error::Store {
            attempt: "write the package",
            source,
        })
    }

    /// The branch's head.
    ///
    /// # Errors
    /// The branch is not there.
    pub(crate) fn head(&self, open: &Open) -> Result<CommitId> {
        let branch = open.layout.branch_ref()?;
        let head = open.repo.find_ref(&branch).map_err(|source| Error::Store {
            attempt: "read the branch",
            source,
        })?;
        head.ok_or_else(|| Error::NotFound {
            what: "branch",
            name: open.layout.branch().to_owned(),
        })
    }

    /// The package's tree at a commit; `None` if the directory is not there.
    pub(crate) fn tree_at(
        &self,
        open: &Open,
        commit: CommitId,
        package: &PackageName,
    ) -> Result<Option<model::TreeId>> {
        let failed = |source| Error::Store {
            attempt: "read the package",
            source,
        };
        let root = open.repo.commit(commit).map_err(failed)?.tree;
        open.repo
            .subtree(root, &open.layout.dir(package))
            .map_err(failed)
    }

    /// A package's files by the id of its tree.
    pub(crate) fn snapshot(
        &self,
        open: &Open,
        tree: model::TreeId,
    ) -> Result<std::sync::Arc<store::Snapshot>> {
        open.repo.snapshot(tree).map_err(|source| Error::Store {
            attempt: "read the package",
            source,
        })
    }
}
