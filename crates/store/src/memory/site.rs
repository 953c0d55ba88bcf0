//! One repository in memory: what everybody sees, and what would survive.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind as ObjectKind;

use crate::RefName;
use crate::disk::{RawEdit, RawRefs};
use crate::object::{next_entry, tag_target};
use crate::staged::Packed;

pub(super) type Objects = BTreeMap<ObjectId, (ObjectKind, Arc<[u8]>)>;

/// A repository as it stood once.
#[derive(Debug, Clone, Default)]
pub struct Copied {
    objects: Objects,
    refs: RawRefs,
}

/// One repository's disk: what everybody sees and what would survive.
#[derive(Debug, Default)]
pub(super) struct Site {
    pub(super) objects: Objects,
    /// Written, neither durable nor visible.
    pub(super) putting: Vec<Arc<Packed>>,
    pub(super) refs: RawRefs,
    pub(super) durable_refs: RawRefs,
    pub(super) journal: Vec<u8>,
    pub(super) durable_journal: usize,
    /// Prefixes of refs that are declined when pushed.
    pub(super) declines: Vec<String>,
    /// How often it was made anew.
    pub(super) incarnation: u64,
    /// How often objects went away.
    pub(super) tidied: u64,
    /// What is lost, and may come back.
    lost: Objects,
}

impl Site {
    pub(super) fn apply(&mut self, edit: &RawEdit) {
        match edit.new {
            Some(new) => self.refs.insert(edit.name.clone(), new),
            None => self.refs.remove(&edit.name),
        };
    }

    /// The refs below a name.
    pub(super) fn below(&self, dir: &RefName) -> impl Iterator<Item = (&RefName, &ObjectId)> {
        let below = format!("{dir}/");
        let from = (Bound::Included(below.as_str()), Bound::Unbounded);
        let refs = self.refs.range::<str, _>(from);
        refs.take_while(move |(name, _)| name.as_str().starts_with(&below))
    }

    pub(super) fn stale(&self, edits: &[RawEdit]) -> Vec<RefName> {
        let moved = |e: &&RawEdit| self.refs.get(&e.name).copied() != e.old;
        edits.iter().filter(moved).map(|e| e.name.clone()).collect()
    }

    /// Drops what no ref reaches.
    pub(super) fn prune(&mut self) {
        let mut reached = Self::default();
        let refs = self.refs.values().chain(self.durable_refs.values());
        reached.copy(self, refs.copied().collect());
        self.objects = reached.objects;
        self.tidied += 1;
    }

    /// Loses an object, or brings it back.
    pub(super) fn lose(&mut self, id: ObjectId, lost: bool) {
        let (from, to) = match lost {
            true => (&mut self.objects, &mut self.lost),
            false => (&mut self.lost, &mut self.objects),
        };
        to.extend(from.remove(&id).map(|object| (id, object)));
        self.tidied += 1;
    }

    /// What is to be kept of it.
    pub(super) fn copied(&self) -> Copied {
        Copied {
            objects: self.objects.clone(),
            refs: self.refs.clone(),
        }
    }

    /// Another repository takes its place. What is beside it, the journal, stays.
    pub(super) fn replace(&mut self, copy: &Copied) {
        *self = Self {
            objects: copy.objects.clone(),
            refs: copy.refs.clone(),
            durable_refs: copy.refs.clone(),
            incarnation: self.incarnation + 1,
            tidied: self.tidied + 1,
            journal: std::mem::take(&mut self.journal),
            durable_journal: self.durable_journal,
            ..Self::default()
        };
    }

    /// Makes a ref lead nowhere, or takes it away.
    pub(super) fn lead_nowhere(&mut self, name: &RefName, leads: bool) {
        for refs in [&mut self.refs, &mut self.durable_refs] {
            match leads {
                true => refs.insert(name.clone(), ObjectId::Sha1([0xde; 20])),
                false => refs.remove(name),
            };
        }
    }

    /// Makes a ref, if there is none of its name.
    pub(super) fn lead_to(&mut self, name: &RefName, to: ObjectId) -> bool {
        if self.refs.contains_key(name) || !self.holds(to) {
            return false;
        }
        for refs in [&mut self.refs, &mut self.durable_refs] {
            refs.insert(name.clone(), to);
        }
        true
    }

    /// Takes what a push brought.
    pub(super) fn take(&mut self, objects: &[Arc<Packed>]) {
        for object in objects {
            let found = (object.kind, Arc::clone(&object.raw));
            self.objects.entry(object.id).or_insert(found);
        }
    }

    /// The refs of a push that are not taken, and why.
    pub(super) fn declined(&self, edits: &[RawEdit]) -> Vec<(RefName, String)> {
        let why = |edit: &RawEdit| {
            let name = edit.name.as_str();
            if self.declines.iter().any(|d| name.starts_with(d)) {
                return Some("it is protected");
            }
            let whole = edit.new.is_none_or(|new| self.holds(new));
            (!whole).then_some("missing necessary objects")
        };
        let declined = edits
            .iter()
            .filter_map(|e| Some((e.name.clone(), why(e)?.to_owned())));
        declined.collect()
    }

    /// Whether any of these refs would lead to what is not here.
    pub(super) fn lacks(&self, edits: &[RawEdit]) -> bool {
        edits
            .iter()
            .filter_map(|e| e.new)
            .any(|new| !self.holds(new))
    }

    /// Whether an object is here with everything that it leads to, as git looks for it: what a ref
    /// leads to is whole.
    fn holds(&self, id: ObjectId) -> bool {
        let mut seen: BTreeSet<ObjectId> = self.refs.values().copied().collect();
        let mut ids = vec![id];
        while let Some(id) = ids.pop() {
            let Some((kind, raw)) = self.objects.get(&id) else {
                return false;
            };
            ids.extend(links(*kind, raw).into_iter().filter(|id| seen.insert(*id)));
        }
        true
    }

    /// Takes along everything that these ids reach and that is not here.
    pub(super) fn copy(&mut self, from: &Self, mut ids: Vec<ObjectId>) {
        while let Some(id) = ids.pop() {
            let Some((kind, raw)) = from.objects.get(&id) else {
                continue;
            };
            if self.objects.contains_key(&id) {
                continue;
            }
            self.objects.insert(id, (*kind, Arc::clone(raw)));
            ids.extend(links(*kind, raw));
        }
    }
}

fn links(kind: ObjectKind, raw: &[u8]) -> Vec<ObjectId> {
    let mut ids = Vec::new();
    match kind {
        ObjectKind::Blob => {}
        ObjectKind::Tag => ids.extend(tag_target(raw)),
        ObjectKind::Tree => {
            let mut rest = raw;
            while let Some((entry, after)) = next_entry(rest) {
                ids.push(entry.id);
                rest = after;
            }
        }
        ObjectKind::Commit => {
            let hex = |line: &[u8]| {
                let hex = line
                    .strip_prefix(b"tree ")
                    .or_else(|| line.strip_prefix(b"parent "));
                hex.and_then(|hex| ObjectId::from_hex(hex).ok())
            };
            let head = raw
                .split(|b| *b == b'\n')
                .take_while(|line| !line.is_empty());
            ids.extend(head.filter_map(hex));
        }
    }
    ids
}
