//! The objects that come along with the submissions of a batch.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use crate::staged::{Bundle, Part, Parts};

/// What comes along with submissions.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    pub(super) order: Vec<Part>,
    ids: BTreeSet<ObjectId>,
    pub(super) held: BTreeSet<ObjectId>,
    pub(super) relies: BTreeSet<ObjectId>,
    /// The commits that were looked at, and whether they are kept.
    commits: BTreeMap<ObjectId, bool>,
}

impl Offer {
    pub(crate) fn holds(&self, id: &ObjectId) -> bool {
        self.ids.contains(id)
    }

    pub(crate) fn take(&mut self, parts: &Parts) {
        for part in parts.all.values() {
            self.add(part.clone());
        }
        self.held.extend(&parts.held);
        self.relies.extend(&parts.relies);
    }

    fn add(&mut self, part: Part) {
        if self.ids.insert(part.id()) {
            self.order.push(part);
        }
    }

    /// Takes a commit and those that it stands on. One that a ref shows now, and that another moves on from, keeps what it
    /// brought, and so do those in its history: `shown` are the values of the refs that are about to move.
    pub(crate) fn take_all(&mut self, bundle: &Bundle, shown: &BTreeSet<ObjectId>) {
        self.take_below(bundle, shown, false);
    }

    fn take_below(&mut self, bundle: &Bundle, shown: &BTreeSet<ObjectId>, kept: bool) {
        // Commits stand on each other in many ways: each is looked at once, and once more if it turns out to be kept.
        let before = self.commits.get(&bundle.of.commit);
        if before.is_some_and(|before| *before || !kept) {
            return;
        }
        self.commits.insert(bundle.of.commit, kept);
        self.take(&bundle.parts);
        if kept {
            self.held.extend(bundle.parts.all.keys());
        }
        for needed in &bundle.needs {
            let at = &needed.of.commit;
            let parent = bundle.of.parents.contains(at);
            self.take_below(needed, shown, parent && (kept || shown.contains(at)));
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        for part in other.order {
            self.add(part);
        }
        self.held.extend(other.held);
        self.relies.extend(other.relies);
    }
}
