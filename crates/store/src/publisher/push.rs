//! Remotes: pending values, one push, and what its answer means.
//!
//! New values stand below `refs/offshoot/pending/` until the push is answered. Taken: moved into
//! place. Refused: dropped. No answer: the remote's refs decide, now or at a later look.
//!
//! What a change replaces goes in a step of its own, when the remote shows everything that the change
//! makes (X10). Where only a part got there, it is completed, never taken back.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::ObjectId;

use super::Publisher;
use super::round::{Landed, ROUNDS, Round, Waiting};
use crate::disk::{Disk, Moved, Pushed, RawEdit, Upstream, Who};
use crate::error::{Error, Result};
use crate::fault::{FaultVerdict, Point};
use crate::staged::Packed;
use crate::{RefName, Scope, SubmissionRefusal};

impl<D: Disk> Publisher<D> {
    pub(crate) fn land_remote(
        &self,
        upstream: &dyn Upstream,
        waiting: &mut [Waiting],
        round: &Round,
        who: &Who,
    ) -> Result<Landed> {
        let edits = round.edits(Some(Scope::Remote));
        // A push may go unheard: until a look decides, nothing but these refs keeps its objects from whoever tidies the mirror.
        self.set_pending(&edits)?;
        self.reader.fault(Point::PendingWritten)?;
        if self.reader.fault(Point::BeforePush)? == FaultVerdict::Unreachable {
            self.drop_pending(&edits)?;
            return Err(self.unreachable("push to"));
        }
        let mut pushed = match self.push(upstream, &edits, &round.along(), who) {
            Ok(pushed) => pushed,
            Err(error) => {
                self.drop_pending(&edits)?;
                return Err(error);
            }
        };
        if pushed == Pushed::Taken && self.reader.fault(Point::PushTaken)? == FaultVerdict::Lose {
            pushed = Pushed::Unheard;
        }
        self.reader.fault(Point::PushAnswered)?;
        match pushed {
            // The remote has it: no error says any more that nothing happened.
            Pushed::Taken => self.finish(round).or_else(|error| self.unsure(error)),
            Pushed::Stale(_) => {
                self.drop_pending(&edits)?;
                self.bring(who)?;
                Ok(Landed::Again)
            }
            Pushed::Declined(names) => {
                self.drop_pending(&edits)?;
                if waiting.len() > 1 {
                    return Ok(Landed::OneByOne);
                }
                let first = names.into_iter().next();
                let (name, text) = first.unwrap_or_else(|| any_of(&edits));
                Ok(Landed::Refused(SubmissionRefusal::Declined { name, text }))
            }
            Pushed::Unheard => {
                for (one, accepted) in waiting.iter_mut().zip(&round.accepted) {
                    one.tried = Some(accepted.clone());
                }
                match self.find_out(upstream, waiting, who) {
                    // Checked anew: what landed is found to stand, the rest is pushed again.
                    Ok(true) => match self.drop_pending(&edits) {
                        Ok(()) => Ok(Landed::Again),
                        Err(error) => self.unsure(error),
                    },
                    Err(Error::Stopped { url }) => Err(Error::Stopped { url }),
                    Ok(false) | Err(_) => Ok(Landed::Unheard),
                }
            }
        }
    }

    /// Pushes refs in two steps: those that are made or move, and once the remote shows them, those
    /// that go. What is left of it when the second step fails is found out by a look.
    fn push(
        &self,
        upstream: &dyn Upstream,
        edits: &[RawEdit],
        along: &BTreeMap<ObjectId, Arc<Packed>>,
        who: &Who,
    ) -> Result<Pushed> {
        let (made, gone): (Vec<_>, Vec<_>) = edits.iter().cloned().partition(|e| e.new.is_some());
        if made.is_empty() {
            return self.push_step(upstream, &gone, &[], along, who);
        }
        // What is to go has to be where it was: once something is made, the change cannot be refused as a whole any more.
        let before: Vec<_> = gone.iter().map(|e| (e.name.clone(), e.old)).collect();
        match self.push_step(upstream, &made, &before, along, who)? {
            Pushed::Taken if gone.is_empty() => return Ok(Pushed::Taken),
            Pushed::Taken => {}
            other => return Ok(other),
        }
        if self.reader.fault(Point::BeforeRemoval)? == FaultVerdict::Unreachable {
            return Ok(Pushed::Unheard);
        }
        let after: Vec<_> = made.iter().map(|e| (e.name.clone(), e.new)).collect();
        match self.push_step(upstream, &gone, &after, along, who) {
            Ok(Pushed::Taken) => Ok(Pushed::Taken),
            Err(Error::Stopped { url }) => Err(Error::Stopped { url }),
            // A part stands. Refused or unheard, a look at the remote says what is to become of the rest.
            said => {
                tracing::info!(
                    url = self.reader.url,
                    ?said,
                    "what was replaced did not go yet"
                );
                Ok(Pushed::Unheard)
            }
        }
    }

    /// Looks what became of a push that nobody answered, and completes what stands of it; whether
    /// that is known now.
    fn find_out(
        &self,
        upstream: &dyn Upstream,
        waiting: &mut [Waiting],
        who: &Who,
    ) -> Result<bool> {
        self.bring(who)?;
        let view = self.reader.disk.view()?;
        let mut standing = Vec::new();
        for tried in waiting.iter().filter_map(|one| one.tried.as_ref()) {
            if self.stands(&*view, &tried.edits)? {
                standing.push(&*tried.edits);
            }
        }
        drop(view);
        let rolled = self.roll_forward(upstream, &standing, who)?;
        for one in waiting {
            let edits = one.tried.as_ref().map(|tried| &*tried.edits);
            one.declined = rolled.refusal(edits.unwrap_or_default());
        }
        Ok(rolled.done)
    }

    /// What the remote took becomes what we show.
    fn finish(&self, round: &Round) -> Result<Landed> {
        for _ in 0..ROUNDS {
            let view = self.reader.disk.view()?;
            let mut edits = Vec::new();
            for edit in round.edits(None) {
                // The remote has it, whatever the mirror shows: what is there now is all that is expected.
                let old = view.get(&edit.name)?;
                edits.push(RawEdit { old, ..edit });
            }
            // In one transaction with the refs that keep the objects from now on.
            for edit in round.edits(Some(Scope::Remote)) {
                let name = edit.name.pending();
                if let Some(old) = view.get(&name)? {
                    edits.push(RawEdit {
                        name,
                        old: Some(old),
                        new: None,
                    });
                }
            }
            drop(view);
            edits.retain(|e| e.old != e.new);
            if self.move_refs(&edits)? == Moved::All {
                self.reader.fault(Point::RefsWritten)?;
                self.reader.disk.refs_durable()?;
                self.reader.fault(Point::BeforeAnswer)?;
                return Ok(Landed::All);
            }
        }
        // The mirror is not what it was: a look at the remote puts it right.
        Ok(Landed::Unheard)
    }
}

fn any_of(edits: &[RawEdit]) -> (RefName, String) {
    let name = edits.first().map(|e| e.name.clone());
    let name = name.unwrap_or_else(RefName::unknown);
    (name, "it gave no reason".to_owned())
}
