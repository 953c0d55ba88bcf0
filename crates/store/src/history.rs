//! Walking history: first parents, what a directory last changed in, and reachability.
//!
//! The peer walks all of history for each package at each look; here one index per branch head is
//! filled as far back as somebody asked, and extended forward when the branch moves.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::CommitId;

use crate::Dir;
use crate::disk::Disk;
use crate::error::Result;
use crate::lru::{SLOT, lock};
use crate::object::{Oid as _, RawEntry, TREE, commit_id, name_order, next_entry};
use crate::room::Room;

/// Which commit of a first-parent history last changed which directory.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    head: Option<ObjectId>,
    changed: BTreeMap<String, ObjectId>,
    /// The next older commit to look at.
    next: Option<ObjectId>,
}

/// Heads that are remembered; the oldest is forgotten first.
const LANES: usize = 8;

impl<D: Disk> Room<D> {
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
        let mut lanes = lock(&self.lanes);
        let at = match lanes.iter().position(|l| l.head == Some(head)) {
            Some(at) => at,
            None => self.open_lane(&mut lanes, head)?,
        };
        let Some(lane) = lanes.get_mut(at) else {
            return Ok(None);
        };
        loop {
            if let Some(id) = lane.changed.get(dir.as_str()) {
                return Ok(Some(commit_id(id)));
            }
            let Some(id) = lane.next else { return Ok(None) };
            let (paths, parent) = self.changes(&id)?;
            for path in paths {
                lane.changed.entry(path).or_insert(id);
            }
            lane.next = parent;
        }
    }

    /// Extends the lane of an older head of the same branch, or starts a new one.
    fn open_lane(&self, lanes: &mut Vec<Lane>, head: ObjectId) -> Result<usize> {
        const NEWER: usize = 10_000;
        let mut newer = Vec::new();
        let mut next = Some(head);
        while let Some(id) = next.filter(|_| !lanes.is_empty() && newer.len() < NEWER) {
            if let Some(at) = lanes.iter().position(|l| l.head == Some(id)) {
                for id in newer.iter().rev() {
                    let paths = self.changes(id)?.0;
                    if let Some(lane) = lanes.get_mut(at) {
                        lane.changed
                            .extend(paths.into_iter().map(|path| (path, *id)));
                        lane.head = Some(*id);
                    }
                }
                return Ok(at);
            }
            newer.push(id);
            let parents = &self.read_commit(&id)?.parents;
            next = parents.first().map(|p| p.oid()).transpose()?;
        }
        if lanes.len() >= LANES {
            lanes.remove(0);
        }
        lanes.push(Lane {
            head: Some(head),
            changed: BTreeMap::new(),
            next: Some(head),
        });
        Ok(lanes.len() - 1)
    }

    /// The directories that a commit changed against its first parent, and that parent.
    fn changes(&self, id: &ObjectId) -> Result<(Vec<String>, Option<ObjectId>)> {
        let commit = self.read_commit(id)?;
        let parent = commit.parents.first().map(|p| p.oid()).transpose()?;
        let before = match &parent {
            Some(parent) => Some(self.read_commit(parent)?.tree.oid()?),
            None => None,
        };
        let mut paths = Vec::new();
        self.compare(before, Some(commit.tree.oid()?), "", &mut paths)?;
        Ok((paths, parent))
    }

    fn compare(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        at: &str,
        paths: &mut Vec<String>,
    ) -> Result<()> {
        if old == new {
            return Ok(());
        }
        paths.push(at.to_owned());
        let read = |id: Option<ObjectId>| match id {
            Some(id) => self.read_as(&id, Kind::Tree),
            None => Ok(Arc::from(&[][..])),
        };
        let (old, new) = (read(old)?, read(new)?);
        for (name, old, new) in changed_dirs(&old, &new) {
            let Ok(name) = std::str::from_utf8(name) else {
                continue;
            };
            let slash = if at.is_empty() { "" } else { "/" };
            self.compare(old, new, &format!("{at}{slash}{name}"), paths)?;
        }
        Ok(())
    }

    /// Follows annotated tags; `None` where no commit is at the end.
    pub(crate) fn peel(&self, id: ObjectId) -> Result<Option<ObjectId>> {
        if let Some(known) = self.peeled.get(&id) {
            return Ok(known);
        }
        let mut at = id;
        let mut end = None;
        for _ in 0..8 {
            match self.kind(&at)? {
                Some(Kind::Commit) => {
                    end = Some(at);
                    break;
                }
                Some(Kind::Tag) => {
                    let raw = self.read_as(&at, Kind::Tag)?;
                    let Some(target) = crate::object::tag_target(&raw) else {
                        break;
                    };
                    at = target;
                }
                Some(Kind::Tree | Kind::Blob) => break,
                // Not here (yet): not to be remembered.
                None => return Ok(None),
            }
        }
        self.peeled.put(id, end, SLOT);
        Ok(end)
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
