//! What the other side of a push lacks of what the new refs lead to.
//!
//! It has what the refs lead to that it tells of, and nothing else is taken for granted (X10): what was sent
//! once may never have arrived, or was thrown away since, and what lies here may never have been there. A
//! file that it has under some other ref is sent again, as git does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;

use super::RepoReader;
use crate::RefName;
use crate::disk::{Disk, Lacking, RawEdit, RawRefs};
use crate::error::{Error, Result};
use crate::object::{Oid as _, RawEntry, SUBMODULE, TREE, name_order, next_entry};
use crate::staged::Packed;

/// Commits that are looked at to find out whether the other side has an old one.
const LOOKS: usize = 10_000;
/// Shared branches whose history is looked at for that.
const BRANCHES: usize = 16;
/// Objects that are packed here at most, and bytes of those that are read from disk for it.
const OBJECTS: usize = 100_000;
const BYTES: usize = 64 << 20;

impl<D: Disk> RepoReader<D> {
    /// The objects that the new values of refs lead to and that a side with these refs lacks; `None` if
    /// they are too many to be packed here. `along` is what need not be read from disk.
    pub(crate) fn lacking(
        &self,
        edits: &[RawEdit],
        theirs: &RawRefs,
        along: &BTreeMap<ObjectId, Arc<Packed>>,
    ) -> Result<Lacking> {
        let mut known = Known::new(self, edits, theirs)?;
        let mut sending = Sending {
            reader: self,
            along,
            sent: BTreeSet::new(),
            objects: Vec::new(),
            bytes: 0,
        };
        let mut commits: Vec<ObjectId> = edits.iter().filter_map(|e| e.new).collect();
        while let Some(id) = commits.pop() {
            // What was built just now can be nowhere else, and its history need not be walked to find that out.
            let there = !along.contains_key(&id) && known.holds(&id)?;
            if there || !sending.add(&id)? {
                continue;
            }
            let commit = self.read_commit(&id)?;
            let mut before = Vec::new();
            for parent in &commit.parents {
                let parent = parent.oid()?;
                // Whoever has the parents has their trees: what one of them holds in the same place need not be sent.
                before.push(self.read_commit(&parent)?.tree.oid()?);
                commits.push(parent);
            }
            sending.tree(commit.tree.oid()?, before)?;
            if sending.is_too_much() {
                return Ok(None);
            }
        }
        Ok(Some(sending.objects))
    }
}

/// What the other side has, found out as far as it is asked for.
struct Known<'a, D> {
    reader: &'a RepoReader<D>,
    tips: BTreeSet<ObjectId>,
    /// Commits that it has, and those of them whose parents were not looked at.
    seen: BTreeSet<ObjectId>,
    next: VecDeque<ObjectId>,
}

impl<'a, D: Disk> Known<'a, D> {
    fn new(reader: &'a RepoReader<D>, edits: &[RawEdit], theirs: &RawRefs) -> Result<Self> {
        let shared = |name: &RefName| {
            let short = name.as_str().strip_prefix("refs/heads/");
            short.is_some_and(|short| !short.contains('/'))
        };
        let moved = edits.iter().filter_map(|e| theirs.get(&e.name));
        let shared = theirs.iter().filter(|(name, _)| shared(name));
        let first = moved.chain(shared.map(|(_, id)| id).take(BRANCHES));
        let mut known = Self {
            reader,
            tips: theirs.values().copied().collect(),
            seen: BTreeSet::new(),
            next: VecDeque::new(),
        };
        for id in first {
            if let Some(commit) = reader.peel(*id)? {
                known.note(commit);
            }
        }
        Ok(known)
    }

    fn note(&mut self, commit: ObjectId) {
        if self.seen.insert(commit) {
            self.next.push_back(commit);
        }
    }

    /// Whether the other side surely has a commit with everything in it. A wrong "no" costs bytes.
    fn holds(&mut self, id: &ObjectId) -> Result<bool> {
        loop {
            if self.tips.contains(id) || self.seen.contains(id) {
                return Ok(true);
            }
            let Some(next) = self.next.pop_front().filter(|_| self.seen.len() < LOOKS) else {
                return Ok(false);
            };
            // What they have need not be here.
            if self.reader.kind(&next)? == Some(Kind::Commit) {
                for parent in &self.reader.read_commit(&next)?.parents {
                    self.note(parent.oid()?);
                }
            }
        }
    }
}

/// What is sent.
struct Sending<'a, D> {
    reader: &'a RepoReader<D>,
    along: &'a BTreeMap<ObjectId, Arc<Packed>>,
    sent: BTreeSet<ObjectId>,
    objects: Vec<Arc<Packed>>,
    /// Bytes of what was read from disk.
    bytes: usize,
}

impl<D: Disk> Sending<'_, D> {
    /// Adds an object; whether it was not there yet.
    fn add(&mut self, id: &ObjectId) -> Result<bool> {
        if !self.sent.insert(*id) {
            return Ok(false);
        }
        let object = match self.along.get(id) {
            Some(object) => Arc::clone(object),
            None => {
                let found = match self.reader.read(id) {
                    // Git sends it without having it here as a whole.
                    Err(Error::TooLarge { .. }) => {
                        self.bytes = usize::MAX;
                        return Ok(false);
                    }
                    found => found?,
                };
                let (kind, raw) = found.ok_or_else(|| self.reader.missing("object", id))?;
                self.bytes = self.bytes.saturating_add(raw.len());
                Arc::new(Packed::new(kind, raw)?)
            }
        };
        if object.id != *id {
            return Err(Error::Damaged {
                id: id.to_string(),
                why: format!("its bytes are those of {}", object.id),
            });
        }
        self.objects.push(object);
        Ok(true)
    }

    fn is_too_much(&self) -> bool {
        self.objects.len() > OBJECTS || self.bytes > BYTES
    }

    /// Adds what a tree holds and trees in the same place before it did not.
    fn tree(&mut self, id: ObjectId, before: Vec<ObjectId>) -> Result<()> {
        let mut trees = vec![(id, before)];
        while let Some((id, before)) = trees.pop() {
            if before.contains(&id) || !self.add(&id)? {
                continue;
            }
            if self.is_too_much() {
                return Ok(());
            }
            let raw = self.reader.read_as(&id, Kind::Tree)?;
            let mut old = Vec::with_capacity(before.len());
            for id in &before {
                old.push(self.reader.read_as(id, Kind::Tree)?);
            }
            for (entry, beside) in fresh(&raw, &old) {
                match entry.mode {
                    TREE => trees.push((entry.id, beside)),
                    // A commit of another repository.
                    SUBMODULE => {}
                    _ => drop(self.add(&entry.id)?),
                }
            }
        }
        Ok(())
    }
}

type Fresh<'a> = (RawEntry<'a>, Vec<ObjectId>);

/// The entries of a tree that none of the others has, each with the trees of that name in them.
fn fresh<'a>(new: &'a [u8], old: &[Arc<[u8]>]) -> Vec<Fresh<'a>> {
    let Some((first, others)) = old.split_first() else {
        return entries(new).map(|entry| (entry, Vec::new())).collect();
    };
    let mut found = changed(new, first);
    for other in others {
        if found.is_empty() {
            break;
        }
        let mut rest = entries(other).peekable();
        found.retain_mut(|(entry, beside)| {
            while rest.next_if(|e| order(e, entry).is_lt()).is_some() {}
            let same = rest.next_if(|e| order(e, entry).is_eq());
            note(entry, same, beside)
        });
    }
    found
}

/// The entries of a tree that another one does not have. Large trees of which little changed are
/// compared as bytes where they are equal.
fn changed<'a>(new: &'a [u8], old: &[u8]) -> Vec<Fresh<'a>> {
    let (mut new, mut old) = (new, old);
    let mut found = Vec::new();
    let mut differed = true;
    while let Some((entry, after)) = next_entry(new) {
        if differed && new == old {
            break;
        }
        let Some((theirs, rest)) = next_entry(old) else {
            found.push((entry, Vec::new()));
            new = after;
            continue;
        };
        let ord = order(&theirs, &entry);
        if ord.is_le() {
            old = rest;
        }
        if ord.is_lt() {
            differed = true;
            continue;
        }
        let mut beside = Vec::new();
        let same = Some(theirs).filter(|_| ord.is_eq());
        differed = note(&entry, same, &mut beside);
        if differed {
            found.push((entry, beside));
        }
        new = after;
    }
    found
}

/// Notes the tree that stood in the place of an entry; whether the entry is another one.
fn note(entry: &RawEntry<'_>, before: Option<RawEntry<'_>>, beside: &mut Vec<ObjectId>) -> bool {
    let Some(before) = before else { return true };
    beside.extend(Some(before.id).filter(|_| before.mode == TREE));
    before.id != entry.id
}

fn order(a: &RawEntry<'_>, b: &RawEntry<'_>) -> std::cmp::Ordering {
    name_order(a.name, a.mode == TREE, b.name, b.mode == TREE)
}

fn entries(mut raw: &[u8]) -> impl Iterator<Item = RawEntry<'_>> {
    std::iter::from_fn(move || {
        let (entry, rest) = next_entry(raw)?;
        raw = rest;
        Some(entry)
    })
}
