//! Building commits in memory: in parallel, without a ref, without anything durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::{CommitId, Files, TreeId};

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::object::{CommitText, Entry, Oid as _, commit_id, decode_tree, encode_commit, tree_id};
use crate::repository::Repository;
use crate::staged::{Built, Bundle, Packed, Part, Parts};
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

impl<D: Disk> Repository<D> {
    pub(crate) fn write_commit(&self, spec: &CommitSpec<'_>) -> Result<Written> {
        let mut parts = Parts::default();
        let mut needs = Vec::new();
        let content = match spec.content {
            Content::Files(files, opaque) => self.build_tree(files, opaque, &mut parts)?,
            Content::Tree(tree) => {
                let tree = tree.oid()?;
                self.gather(&tree, &mut parts);
                Some(tree)
            }
            Content::Remove => None,
        };
        let base = match spec.base {
            Some(base) => {
                let base = base.oid()?;
                match self.staging.commit(&base) {
                    // A base that is not written yet comes along; one that is has to be there still when refs move.
                    Some(bundle) => needs.push(bundle),
                    None => drop(parts.relies.insert(base)),
                }
                Some(self.read_commit(&base)?.tree.oid()?)
            }
            None => None,
        };
        self.note_held(base, spec.dir, content.as_ref(), &mut parts)?;
        let root = self.graft(base, spec.dir, content, &mut parts)?;
        let mut parents = Vec::with_capacity(spec.parents.len());
        for parent in spec.parents {
            let parent = parent.oid()?;
            match self.staging.commit(&parent) {
                Some(bundle) => needs.push(bundle),
                None if self.kind(&parent)? == Some(Kind::Commit) => {
                    parts.relies.insert(parent);
                }
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
        let of = Built {
            commit: commit.id,
            parents,
            tree: content,
        };
        parts.build(commit);
        Ok(Written {
            commit: commit_id(&of.commit),
            root: tree_id(&root),
            tree: content.as_ref().map(tree_id),
            bundle: self.staging.bundle(of, parts, needs),
        })
    }

    pub(crate) fn commit_object(&self, text: CommitText<'_>) -> Result<Arc<Packed>> {
        let packed = Packed::new(Kind::Commit, encode_commit(text)?.into())?;
        // Nobody could read it again.
        let size = packed.raw.len() as u64;
        self.limits.check_object(Kind::Commit, &packed.id, size)?;
        self.staging.keep(packed)
    }

    /// Takes along what a tree is made of: from a commit that was built of it, or it has to be in the repository.
    pub(crate) fn gather(&self, tree: &ObjectId, out: &mut Parts) {
        let Some(bundle) = self.staging.about(tree) else {
            out.relies.insert(*tree);
            return;
        };
        let from = &bundle.parts;
        let mut left = vec![*tree];
        while let Some(id) = left.pop() {
            if out.all.contains_key(&id) || out.relies.contains(&id) {
                continue;
            }
            // Not built here: the repository had it when the tree was read, and must have it when refs move.
            let Some(part) = from.all.get(&id) else {
                out.relies.insert(id);
                continue;
            };
            left.extend(part.links());
            out.add(part.clone());
        }
    }

    /// Notes what the directory has in common with the one that it replaces, place by place.
    pub(crate) fn note_held(
        &self,
        base: Option<ObjectId>,
        dir: &Dir,
        content: Option<&ObjectId>,
        parts: &mut Parts,
    ) -> Result<()> {
        let before = match base {
            Some(base) => self.find_subtree(&base, dir)?,
            None => None,
        };
        let (Some(before), Some(after)) = (before, content) else {
            return Ok(());
        };
        let mut left = vec![(before, *after)];
        while let Some((before, after)) = left.pop() {
            // Equal ids, equal contents: nothing below differs.
            if before == after {
                parts.hold(&after);
                continue;
            }
            let Some(Part::Built(new)) = parts.all.get(&after) else {
                continue;
            };
            if new.kind != Kind::Tree {
                continue;
            }
            let new = decode_tree(&after, &new.raw)?;
            let old = self.tree(&before)?;
            let old: BTreeMap<&[u8], &Entry> = old.iter().map(|e| (&*e.name, e)).collect();
            // A file that became a directory has nothing in common with it.
            let same = |e: &&Entry| {
                old.get(&*e.name)
                    .is_some_and(|o| o.is_tree() == e.is_tree())
            };
            let both = new.iter().filter(same);
            left.extend(both.filter_map(|e| Some((old.get(&*e.name)?.id, e.id))));
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
