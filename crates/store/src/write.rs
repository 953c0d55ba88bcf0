//! What a commit is built of, and what was built.

use std::sync::Arc;

use gix::ObjectId;
use model::{CommitId, Files, TreeId};

use crate::object::{commit_id, tree_id};
use crate::staged::Bundle;
use crate::{Dir, Opaque, Signature};

/// What a directory becomes.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// These files, and what is carried along unread.
    Files(&'a Files, &'a [Opaque]),
    /// A tree that exists (or is held by a [`Written`]).
    Tree(TreeId),
    /// It goes.
    Remove,
}

/// A commit to build.
#[derive(Debug, Clone)]
pub struct CommitSpec<'a> {
    /// The commit whose root directory is taken; `None` starts from nothing.
    pub base: Option<CommitId>,
    /// The directory that is replaced in it.
    pub dir: &'a Dir,
    /// What the directory becomes.
    pub content: Content<'a>,
    /// The parents, in order; they may be held by a [`Written`].
    pub parents: &'a [CommitId],
    /// Who wrote it.
    pub author: &'a Signature,
    /// Who commits it.
    pub committer: &'a Signature,
    /// The whole message, trailers included; opaque.
    pub message: &'a str,
}

/// A commit that was built: its ids are known, nothing is visible. It holds its objects, and those
/// of unwritten commits that it stands on.
#[derive(Debug, Clone)]
#[must_use = "hand it to `Repo::submit`, or nothing of it will ever be seen"]
pub struct Written {
    commit: CommitId,
    root: TreeId,
    tree: Option<TreeId>,
    pub(crate) bundle: Arc<Bundle>,
}

impl Written {
    /// A commit with this root directory, of which `bundle` holds the objects.
    pub(crate) fn new(root: &ObjectId, bundle: Arc<Bundle>) -> Self {
        Self {
            commit: commit_id(&bundle.of.commit),
            root: tree_id(root),
            tree: bundle.of.tree.as_ref().map(tree_id),
            bundle,
        }
    }

    /// The commit's id.
    pub fn commit(&self) -> CommitId {
        self.commit
    }

    /// The root directory of the commit.
    pub fn root(&self) -> TreeId {
        self.root
    }

    /// The directory that was replaced; `None` if it is gone.
    pub fn tree(&self) -> Option<TreeId> {
        self.tree
    }
}
