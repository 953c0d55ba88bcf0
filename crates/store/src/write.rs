//! Building commits in memory: in parallel, without a ref, without anything durable.

use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::{CommitId, Files, TreeId};

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::object::{CommitText, Oid as _, commit_id, encode_commit, tree_id};
use crate::room::Room;
use crate::staged::{Bundle, Packed};
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

impl<D: Disk> Room<D> {
    pub(crate) fn write_commit(&self, spec: &CommitSpec<'_>) -> Result<Written> {
        let mut objects = Vec::new();
        let mut needs = Vec::new();
        let content = match spec.content {
            Content::Files(files, opaque) => self.build_tree(files, opaque, &mut objects)?,
            Content::Tree(tree) => {
                let tree = tree.oid()?;
                self.gather(&tree, &mut objects)?;
                Some(tree)
            }
            Content::Remove => None,
        };
        let base = match spec.base {
            Some(base) => {
                let base = base.oid()?;
                needs.extend(self.shelf.commit(&base));
                Some(self.read_commit(&base)?.tree.oid()?)
            }
            None => None,
        };
        let root = self.graft(base, spec.dir, content, &mut objects)?;
        let mut parents = Vec::with_capacity(spec.parents.len());
        for parent in spec.parents {
            let parent = parent.oid()?;
            match self.shelf.commit(&parent) {
                Some(bundle) => needs.push(bundle),
                None if self.kind(&parent)? == Some(Kind::Commit) => {}
                None => return Err(self.missing("commit", &parent)),
            }
            parents.push(parent);
        }
        let commit = self.commit_object(CommitText {
            tree: &root,
            parents: &parents,
            author: spec.author,
            committer: spec.committer,
            message: spec.message,
        })?;
        let id = commit.id;
        objects.push(commit);
        Ok(Written {
            commit: commit_id(&id),
            root: tree_id(&root),
            tree: content.as_ref().map(tree_id),
            bundle: self.shelf.bundle(id, objects, needs),
        })
    }

    pub(crate) fn commit_object(&self, text: CommitText<'_>) -> Result<Arc<Packed>> {
        self.shelf.stage(Kind::Commit, encode_commit(text)?.into())
    }

    /// Takes along what of a tree is not in the repository yet.
    pub(crate) fn gather(&self, tree: &ObjectId, out: &mut Vec<Arc<Packed>>) -> Result<()> {
        if self.has(tree)? {
            return Ok(());
        }
        let Some(staged) = self.shelf.find(tree) else {
            return Err(self.missing("tree", tree));
        };
        out.push(staged);
        for entry in self.tree(tree)?.iter() {
            if entry.is_tree() {
                self.gather(&entry.id, out)?;
            } else if let Some(blob) = self.shelf.find(&entry.id)
                && !self.has(&entry.id)?
            {
                out.push(blob);
            }
        }
        Ok(())
    }

    pub(crate) fn missing(&self, kind: &'static str, id: &ObjectId) -> Error {
        Error::Missing {
            kind,
            id: id.to_string(),
            url: self.url.clone(),
        }
    }
}
