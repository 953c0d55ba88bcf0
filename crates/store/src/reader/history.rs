//! Walking history: first parents, what a directory last changed in, and reachability.
//!
//! Porch walks all of history for each package at each look; here one index per branch head is
//! filled as far back as somebody asked, and extended forward when the branch moves.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::CommitId;

use super::RepoReader;
use super::caches::{Walked, WalkedCommit};
use crate::Dir;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::lru::{SLOT, lock};
use crate::object::{Oid as _, RawEntry, TREE, commit_id, name_order, next_entry};

/// Heads that are remembered; the oldest is forgotten first.
const WALKED: usize = 8;

/// Commits that a look for one in the history of another visits.
const HISTORY: usize = 1_000_000;

/// How many levels deep changes are listed: no package lies deeper.
const DEPTH: usize = 128;

/// The longest path that is listed, in bytes.
const PATH: usize = 512;

/// Bytes of paths that are listed for one head.
const LISTED: usize = 16 << 20;

/// A directory of this many bytes counts for one more.
const LARGE: u64 = 4_000;

/// What a commit changed, as far as the budget goes.
struct ChangedPaths {
    paths: Vec<String>,
    left: u64,
}

impl<D: Disk> RepoReader<D> {
    pub(crate) fn walk_first_parents(&self, from: CommitId, limit: usize) -> Result<Vec<CommitId>> {
        let mut all = Vec::new();
        let mut next = Some(from);
        while let Some(id) = next.filter(|_| all.len() < limit) {
            all.push(id);
            next = self.read_commit(&id.oid()?)?.parents.first().copied();
        }
        Ok(all)
    }

    pub(crate) fn reaches(&self, ancestor: CommitId, of: CommitId) -> Result<bool> {
        let mut seen = BTreeSet::from([of]);
        let mut queue = VecDeque::from([of]);
        while let Some(id) = queue.pop_front() {
            if id == ancestor {
                return Ok(true);
            }
            if seen.len() > HISTORY {
                return Err(Error::TooLarge {
                    what: format!("number of commits in the history of {of}"),
                    limit: HISTORY as u64,
                    found: seen.len() as u64,
                });
            }
            for parent in &self.read_commit(&id.oid()?)?.parents {
                if seen.insert(*parent) {
                    queue.push_back(*parent);
                }
            }
        }
        Ok(false)
    }

    pub(crate) fn find_last_change(&self, head: CommitId, dir: &Dir) -> Result<Option<CommitId>> {
        let head = head.oid()?;
        if dir.as_str().len() > PATH || dir.segments().count() > DEPTH {
            return self.walk_to_change(head, dir);
        }
        let mut walked = lock(&self.walked);
        let at = match walked.iter().position(|l| l.head == Some(head)) {
            Some(at) => at,
            None => self.open_walked(&mut walked, head)?,
        };
        let Some(branch) = walked.get_mut(at) else {
            return Ok(None);
        };
        let known = branch.changed.get(dir.as_str()).copied();
        let before = known.map_or(i64::MAX, |(place, _)| place);
        // A commit that changed too much to be listed may be newer than the newest that is listed for this directory.
        for step in branch.wide.range(..before).map(|(_, step)| step) {
            if self.differs(step, dir)? {
                return Ok(Some(commit_id(&step.commit)));
            }
        }
        if let Some((_, id)) = known {
            return Ok(Some(commit_id(&id)));
        }
        while let Some(id) = branch.next {
            let (paths, parent) = self.changes(&id, branch.bytes)?;
            let step = WalkedCommit { commit: id, parent };
            let found = match &paths {
                Some(paths) => paths.iter().any(|path| path == dir.as_str()),
                None => self.differs(&step, dir)?,
            };
            branch.note(branch.oldest, step, paths);
            branch.oldest += 1;
            branch.next = parent;
            if found {
                return Ok(Some(commit_id(&id)));
            }
        }
        Ok(None)
    }

    /// The same for a directory that no list names.
    fn walk_to_change(&self, head: ObjectId, dir: &Dir) -> Result<Option<CommitId>> {
        let mut next = Some(head);
        while let Some(commit) = next {
            let parents = &self.read_commit(&commit)?.parents;
            let parent = parents.first().map(|p| p.oid()).transpose()?;
            let step = WalkedCommit { commit, parent };
            if self.differs(&step, dir)? {
                return Ok(Some(commit_id(&commit)));
            }
            next = parent;
        }
        Ok(None)
    }

    /// Extends the walk of an older head of the same branch, or starts a new one.
    fn open_walked(&self, walked: &mut Vec<Walked>, head: ObjectId) -> Result<usize> {
        const NEWER: usize = 10_000;
        let mut newer = Vec::new();
        let mut next = Some(head);
        while let Some(id) = next.filter(|_| !walked.is_empty() && newer.len() < NEWER) {
            if let Some(at) = walked.iter().position(|l| l.head == Some(id)) {
                for id in newer.iter().rev() {
                    let known = walked.get(at).map_or(0, |branch| branch.bytes);
                    let (paths, parent) = self.changes(id, known)?;
                    if let Some(branch) = walked.get_mut(at) {
                        // Newer commits get places below the first one's, so that no place that is noted has to change.
                        branch.newest -= 1;
                        let step = WalkedCommit {
                            commit: *id,
                            parent,
                        };
                        branch.note(branch.newest, step, paths);
                        branch.head = Some(*id);
                    }
                }
                return Ok(at);
            }
            newer.push(id);
            let parents = &self.read_commit(&id)?.parents;
            next = parents.first().map(|p| p.oid()).transpose()?;
        }
        if walked.len() >= WALKED {
            walked.remove(0);
        }
        walked.push(Walked::of(head));
        Ok(walked.len() - 1)
    }

    /// The directories that a commit changed against its first parent, and that parent; no list where there are too
    /// many, or too many are known already.
    fn changes(
        &self,
        id: &ObjectId,
        known: usize,
    ) -> Result<(Option<Vec<String>>, Option<ObjectId>)> {
        let commit = self.read_commit(id)?;
        let parent = commit.parents.first().map(|p| p.oid()).transpose()?;
        if known > LISTED {
            return Ok((None, parent));
        }
        let before = match &parent {
            Some(parent) => Some(self.read_commit(parent)?.tree.oid()?),
            None => None,
        };
        let mut walk = ChangedPaths {
            paths: Vec::new(),
            left: self.limits.visits / 4,
        };
        self.compare(before, Some(commit.tree.oid()?), "", DEPTH, &mut walk)?;
        Ok(((walk.left > 0).then_some(walk.paths), parent))
    }

    /// Whether a commit changed one directory.
    fn differs(&self, step: &WalkedCommit, dir: &Dir) -> Result<bool> {
        let at = |commit: &ObjectId| -> Result<Option<ObjectId>> {
            let root = self.read_commit(commit)?.tree.oid()?;
            self.find_subtree(&root, dir)
        };
        let before = step.parent.as_ref().map(at).transpose()?.flatten();
        Ok(at(&step.commit)? != before)
    }

    fn compare(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        at: &str,
        levels: usize,
        walk: &mut ChangedPaths,
    ) -> Result<()> {
        if old == new || walk.left == 0 {
            return Ok(());
        }
        let cost = 1 + at.len() / SLOT;
        walk.left = walk.left.saturating_sub(cost as u64);
        walk.paths.push(at.to_owned());
        if levels == 0 {
            return Ok(());
        }
        let read = |id: Option<ObjectId>| match id {
            Some(id) => self.read_as(&id, Kind::Tree),
            None => Ok(Arc::from(&[][..])),
        };
        let (old, new) = (read(old)?, read(new)?);
        let size = (old.len() + new.len()) as u64;
        walk.left = walk.left.saturating_sub(size / LARGE);
        for (name, old, new) in changed_dirs(&old, &new) {
            let Ok(name) = std::str::from_utf8(name) else {
                continue;
            };
            if at.len() + name.len() >= PATH {
                continue;
            }
            let slash = if at.is_empty() { "" } else { "/" };
            self.compare(old, new, &format!("{at}{slash}{name}"), levels - 1, walk)?;
        }
        Ok(())
    }
}

type Change<'a> = (&'a [u8], Option<ObjectId>, Option<ObjectId>);

/// The directories in which two trees differ: both are in git's order, so one pass tells.
fn changed_dirs<'a>(old: &'a [u8], new: &'a [u8]) -> Vec<Change<'a>> {
    let (mut old, mut new) = (old, new);
    let mut changes = Vec::new();
    loop {
        let (a, b) = (next_entry(old), next_entry(new));
        let order = match (&a, &b) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((a, _)), Some((b, _))) => {
                name_order(a.name, a.mode == TREE, b.name, b.mode == TREE)
            }
        };
        let left = a.filter(|_| order.is_le());
        let right = b.filter(|_| order.is_ge());
        let id = |entry: &Option<(RawEntry<'a>, &'a [u8])>| {
            entry
                .as_ref()
                .filter(|(e, _)| e.mode == TREE)
                .map(|(e, _)| e.id)
        };
        let (before, after) = (id(&left), id(&right));
        let name = left.as_ref().or(right.as_ref()).map(|(e, _)| e.name);
        if let Some(name) = name.filter(|_| before != after) {
            changes.push((name, before, after));
        }
        old = left.map_or(old, |(_, rest)| rest);
        new = right.map_or(new, |(_, rest)| rest);
    }
}
