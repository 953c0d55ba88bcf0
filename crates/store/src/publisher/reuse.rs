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

use super::Publisher;
use super::offer::Offer;
use super::round::{Accepted, Round};
use crate::disk::{Disk, View};
use crate::error::{Error, Result};
use crate::lru::{SLOT, lock};
use crate::object::Oid as _;
use crate::reader::Anchor;
use crate::staged::Bundle;
use crate::{RefName, Submission, SubmissionRefusal};

impl<D: Disk> Publisher<D> {
    /// Takes a submission's objects into the round, or says which one that it relies on is not there.
    pub(crate) fn take_offer(
        &self,
        offer: Offer,
        round: &mut Round,
    ) -> Result<Option<SubmissionRefusal>> {
        for id in &offer.relies {
            let known = offer.holds(id) || round.offer.holds(id) || round.offer.relies.contains(id);
            if !known && self.reader.disk.kind(id)?.is_none() {
                // What was read before is no help: it would lead here again.
                self.reader.forget();
                return Ok(Some(SubmissionRefusal::Gone { id: id.to_string() }));
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
                None if self.reader.disk.has(&id)? => {}
                None => return Err(self.reader.missing("file", &id)),
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
        let anchored = || match self.reader.anchors.get(id) {
            Some(anchor) => {
                let (name, at) = &*anchor;
                let moves = now.get(name).is_some_and(|edit| edit.new != Some(*at));
                Ok::<bool, Error>(!moves && view.get(name)? == Some(*at))
            }
            None => Ok(false),
        };
        // Being there is not enough: somebody may be pruning what no ref leads to. Nor is being kept, once somebody has.
        let kept = held.contains(id) || lock(&self.kept).contains(id) || anchored()?;
        Ok(kept && self.reader.disk.has(id)?)
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
            self.reader.anchors.put(*id, Arc::clone(anchor), SLOT);
        }
        for needed in &bundle.needs {
            self.anchor(needed, anchor);
        }
    }
}
