//! What a batch has to write, and what it may rely on being there (X10).
//!
//! Others tidy a repository beside us: `git gc`, `git prune` and `git repack -d` drop what no ref reaches, and they may
//! have begun before our refs move. So an object that comes along is left out of a pack only where something is sure
//! to keep it: a commit that has it at the same place and that ours stands on, or a ref that is where it was when
//! it brought the object; and only if it is there now. What is named by id alone must be there, or the submission is refused:
//! whoever asked makes it again from what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gix::ObjectId;

use crate::batch::{Accepted, Round};
use crate::disk::{Disk, View};
use crate::error::{Error, Result};
use crate::lru::{SLOT, lock};
use crate::object::Oid as _;
use crate::repository::Repository;
use crate::staged::{Bundle, Part, Parts};
use crate::{RefName, Refusal, Submission};

/// The ref, and its value, that brought an object.
pub(crate) type Anchor = Arc<(RefName, ObjectId)>;

/// What comes along with submissions.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    order: Vec<Part>,
    ids: BTreeSet<ObjectId>,
    held: BTreeSet<ObjectId>,
    relies: BTreeSet<ObjectId>,
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

    fn join(&mut self, other: Self) {
        for part in other.order {
            self.add(part);
        }
        self.held.extend(other.held);
        self.relies.extend(other.relies);
    }
}

impl<D: Disk> Repository<D> {
    /// Takes a submission's objects into the round, or says which one that it relies on is not there.
    pub(crate) fn take_offer(&self, offer: Offer, round: &mut Round) -> Result<Option<Refusal>> {
        for id in &offer.relies {
            let known = offer.holds(id) || round.offer.holds(id) || round.offer.relies.contains(id);
            if !known && self.disk.kind(id)?.is_none() {
                // What was read before is no help: it would lead here again.
                self.forget();
                return Ok(Some(Refusal::Gone { id: id.to_string() }));
            }
        }
        round.offer.join(offer);
        Ok(None)
    }

    /// What of a round is to be written.
    pub(crate) fn choose(&self, view: &dyn View, round: &mut Round) -> Result<()> {
        let offer = std::mem::take(&mut round.offer);
        for part in offer.order {
            let id = part.id();
            if self.stays(&id, &offer.held, &round.now, view)? {
                continue;
            }
            match part.packed()? {
                Some(packed) => round.objects.push(packed),
                None if self.disk.has(&id)? => {}
                None => return Err(self.missing("file", &id)),
            }
        }
        Ok(())
    }

    /// Whether an object is there, and stays until our refs keep it.
    fn stays(
        &self,
        id: &ObjectId,
        held: &BTreeSet<ObjectId>,
        now: &BTreeMap<RefName, crate::journal::Edit>,
        view: &dyn View,
    ) -> Result<bool> {
        let anchored = || match self.anchors.get(id) {
            Some(anchor) => {
                let (name, at) = &*anchor;
                let moves = now.get(name).is_some_and(|edit| edit.new != Some(*at));
                Ok::<bool, Error>(!moves && view.get(name)? == Some(*at))
            }
            None => Ok(false),
        };
        // Being there is not enough: somebody may be pruning what no ref leads to. Nor is being kept, once somebody has.
        let kept = held.contains(id) || lock(&self.kept).contains(id) || anchored()?;
        Ok(kept && self.disk.has(id)?)
    }

    /// Notes which refs keep what a submission brought.
    pub(crate) fn note_anchors(&self, submission: &Submission, accepted: &Accepted) {
        for written in &submission.written {
            let Ok(commit) = written.commit().oid() else {
                continue;
            };
            let made = accepted.edits.iter().find(|e| e.new == Some(commit));
            if let Some(edit) = made {
                let anchor = Arc::new((edit.name.clone(), commit));
                self.anchor(&written.bundle, &anchor);
            }
        }
    }

    fn anchor(&self, bundle: &Bundle, anchor: &Anchor) {
        for id in bundle.parts.all.keys() {
            self.anchors.put(*id, Arc::clone(anchor), SLOT);
        }
        for needed in &bundle.needs {
            self.anchor(needed, anchor);
        }
    }
}
