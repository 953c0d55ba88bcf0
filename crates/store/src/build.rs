//! Building commits in memory: in parallel, without a ref, without anything durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::object::{CommitText, Entry, Oid as _, decode_tree, encode_commit};
use crate::reader::RepoReader;
use crate::staged::{Built, Packed, Part, Parts};
use crate::tree;
use crate::{CommitSpec, Content, Dir, Written};

/// Builds a commit that others may stand on before it is written.
pub(crate) fn write_commit<D: Disk>(
    reader: &RepoReader<D>,
    spec: &CommitSpec<'_>,
) -> Result<Written> {
    let mut parts = Parts::default();
    let mut needs = Vec::new();
    let content = match spec.content {
        Content::Files(files, opaque) => tree::of_files(reader, files, opaque, &mut parts)?,
        Content::Tree(tree) => {
            let tree = tree.oid()?;
            gather(reader, &tree, &mut parts);
            Some(tree)
        }
        Content::Remove => None,
    };
    let base = match spec.base {
        Some(base) => {
            let base = base.oid()?;
            match reader.staging.commit(&base) {
                // A base that is not written yet comes along; one that is has to be there still when refs move.
                Some(bundle) => needs.push(bundle),
                None => drop(parts.relies.insert(base)),
            }
            Some(reader.read_commit(&base)?.tree.oid()?)
        }
        None => None,
    };
    if let (Some(root), Some(_)) = (&base, &content)
        && let Some(path) = reader.in_the_way(root, spec.dir)?
    {
        return Err(Error::InTheWay { path });
    }
    note_held(reader, base, spec.dir, content.as_ref(), &mut parts)?;
    let root = tree::graft(reader, base, spec.dir, content, &mut parts)?;
    let mut parents = Vec::with_capacity(spec.parents.len());
    for parent in spec.parents {
        let parent = parent.oid()?;
        match reader.staging.commit(&parent) {
            Some(bundle) => needs.push(bundle),
            None if reader.kind(&parent)? == Some(Kind::Commit) => {
                parts.relies.insert(parent);
            }
            None => return Err(reader.missing("commit", &parent)),
        }
        parents.push(parent);
    }
    let commit = commit_object(
        reader,
        CommitText {
            tree: &root,
            parents: &parents,
            author: spec.author,
            committer: spec.committer,
            message: spec.message,
        },
    )?;
    let of = Built {
        commit: commit.id,
        parents,
        tree: content,
    };
    parts.build(commit);
    let bundle = reader.staging.bundle(of, parts, needs);
    Ok(Written::new(&root, bundle))
}

pub(crate) fn commit_object<D: Disk>(
    reader: &RepoReader<D>,
    text: CommitText<'_>,
) -> Result<Arc<Packed>> {
    let packed = Packed::new(Kind::Commit, encode_commit(text)?.into())?;
    // Nobody could read it again.
    let size = packed.raw.len() as u64;
    reader.limits.check_object(Kind::Commit, &packed.id, size)?;
    reader.staging.keep(packed)
}

/// Takes along what a tree is made of: from a commit that was built of it, or it has to be in the repository.
pub(crate) fn gather<D: Disk>(reader: &RepoReader<D>, tree: &ObjectId, out: &mut Parts) {
    let Some(bundle) = reader.staging.about(tree) else {
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
pub(crate) fn note_held<D: Disk>(
    reader: &RepoReader<D>,
    base: Option<ObjectId>,
    dir: &Dir,
    content: Option<&ObjectId>,
    parts: &mut Parts,
) -> Result<()> {
    let before = match base {
        Some(base) => reader.find_subtree(&base, dir)?,
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
        let old = reader.tree(&before)?;
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
