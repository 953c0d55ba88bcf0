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

use crate::batch::{Accepted, Landed, ROUNDS, Round, Waiting};
use crate::disk::{Disk, Moved, Pushed, RawEdit, Step, Upstream, View, Who};
use crate::error::{Error, Result};
use crate::fault::{Point, Verdict};
use crate::journal::Edit;
use crate::lru::lock;
use crate::object::commit_id;
use crate::refname::PENDING;
use crate::repository::Repository;
use crate::staged::Packed;
use crate::stats::add;
use crate::{Answer, Handle, RefName, Refusal, Scope};

/// Pushes whose answer was lost.
#[derive(Debug, Default)]
pub(crate) struct Unheard {
    next: u64,
    open: BTreeMap<u64, (Accepted, Option<u64>)>,
    heard: BTreeMap<u64, Answer>,
}

/// Answers that are kept for callers that ask late.
const KEPT: usize = 10_000;

impl<D: Disk> Repository<D> {
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
        self.fault(Point::PendingWritten)?;
        if self.fault(Point::BeforePush)? == Verdict::Unreachable {
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
        if pushed == Pushed::Taken && self.fault(Point::PushTaken)? == Verdict::Lose {
            pushed = Pushed::Unheard;
        }
        self.fault(Point::PushAnswered)?;
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
                Ok(Landed::Refused(Refusal::Declined { name, text }))
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
        if self.fault(Point::BeforeRemoval)? == Verdict::Unreachable {
            return Ok(Pushed::Unheard);
        }
        let after: Vec<_> = made.iter().map(|e| (e.name.clone(), e.new)).collect();
        match self.push_step(upstream, &gone, &after, along, who) {
            Ok(Pushed::Taken) => Ok(Pushed::Taken),
            Err(Error::Stopped { url }) => Err(Error::Stopped { url }),
            // A part stands. Refused or unheard, a look at the remote says what is to become of the rest.
            said => {
                tracing::info!(url = self.url, ?said, "what was replaced did not go yet");
                Ok(Pushed::Unheard)
            }
        }
    }

    pub(crate) fn push_step(
        &self,
        upstream: &dyn Upstream,
        edits: &[RawEdit],
        beside: &[(RefName, Option<ObjectId>)],
        along: &BTreeMap<ObjectId, Arc<Packed>>,
        who: &Who,
    ) -> Result<Pushed> {
        add(&self.counters.pushes, 1);
        let step = Step {
            edits,
            beside,
            lacking: &|theirs| self.lacking(edits, theirs, along),
        };
        upstream.push(&step, who)
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
        let view = self.disk.view()?;
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

    pub(crate) fn unreachable(&self, attempt: &'static str) -> Error {
        Error::Remote {
            attempt,
            url: self.url.clone(),
            class: model::Class::Unavailable,
            text: "it cannot be reached".to_owned(),
        }
    }

    /// What the remote took becomes what we show.
    fn finish(&self, round: &Round) -> Result<Landed> {
        for _ in 0..ROUNDS {
            let view = self.disk.view()?;
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
                self.fault(Point::RefsWritten)?;
                self.disk.refs_durable()?;
                self.fault(Point::BeforeAnswer)?;
                return Ok(Landed::All);
            }
        }
        // The mirror is not what it was: a look at the remote puts it right.
        Ok(Landed::Unheard)
    }

    fn set_pending(&self, edits: &[RawEdit]) -> Result<()> {
        let view = self.disk.view()?;
        let mut pending = Vec::new();
        for edit in edits.iter().filter(|e| e.new.is_some()) {
            let name = edit.name.pending();
            let old = view.get(&name)?;
            pending.push(RawEdit {
                name,
                old,
                new: edit.new,
            });
        }
        drop(view);
        pending.retain(|e| e.old != e.new);
        if let Moved::Stale(names) = self.move_refs(&pending)? {
            tracing::warn!(url = self.url, ?names, "somebody else writes to our mirror");
            return Err(self.restless());
        }
        self.disk.refs_durable()
    }

    fn drop_pending(&self, edits: &[RawEdit]) -> Result<()> {
        let names: Vec<RefName> = edits.iter().map(|e| e.name.pending()).collect();
        let view = self.disk.view()?;
        let mut gone = Vec::new();
        for name in names {
            if let Some(old) = view.get(&name)? {
                gone.push(RawEdit {
                    name,
                    old: Some(old),
                    new: None,
                });
            }
        }
        drop(view);
        self.move_refs(&gone).map(|_| ())
    }

    /// Brings the remote's refs and objects here.
    pub(crate) fn bring(&self, who: &Who) -> Result<()> {
        let Some(upstream) = self.disk.upstream() else {
            return Ok(());
        };
        if self.fault(Point::BeforeFetch)? == Verdict::Unreachable {
            return Err(self.unreachable("fetch from"));
        }
        add(&self.counters.fetches, 1);
        upstream.fetch(who)
    }

    /// A look at the remote that somebody asked for; settles what was unheard.
    pub(crate) fn refetch(&self, who: &Who) -> Result<()> {
        self.bring(who)?;
        if self.waits() {
            self.recover(true, who)?;
        }
        self.hear(who)?;
        self.sweep_pending()
    }

    /// Decides all pushes whose answer was lost by what the remote shows, and completes those of
    /// which a part stands.
    fn hear(&self, who: &Who) -> Result<()> {
        let open: Vec<_> = lock(&self.unheard).open.clone().into_iter().collect();
        if open.is_empty() {
            return Ok(());
        }
        let view = self.disk.view()?;
        let mut standing = Vec::new();
        for (_, (accepted, _)) in &open {
            if self.stands(&*view, &accepted.edits)? {
                standing.push(&*accepted.edits);
            }
        }
        drop(view);
        let rolled = match self.disk.upstream() {
            Some(upstream) => self.roll_forward(upstream, &standing, who)?,
            None => self.complete_here(&standing)?,
        };
        for (handle, (accepted, intent)) in open {
            let view = self.disk.view()?;
            let answer = if !self.stands(&*view, &accepted.edits)? {
                self.refuse_late(intent, Refusal::NotTaken)?
            // What a later look can complete is not answered yet: an answer is final.
            } else if !rolled.done && self.left_of(&[&accepted.edits], &rolled.declined)?.any() {
                continue;
            } else if let Some(refusal) = rolled.refusal(&accepted.edits) {
                self.refuse_late(intent, refusal)?
            } else if let Some(refusal) = self.kept_out(&*view, &accepted.edits)? {
                self.refuse_late(intent, refusal)?
            } else {
                self.finish_local(&accepted.edits)?;
                lock(&self.journal).land(intent);
                Answer::Published(self.as_it_stands(&*view, &accepted, intent)?)
            };
            let mut unheard = lock(&self.unheard);
            unheard.open.remove(&handle);
            unheard.heard.insert(handle, answer);
            if unheard.heard.len() > KEPT {
                unheard.heard.pop_first();
            }
        }
        Ok(())
    }

    fn refuse_late(&self, intent: Option<u64>, refusal: Refusal) -> Result<Answer> {
        if let Some(intent) = intent {
            lock(&self.journal).settle(&self.disk, &[intent])?;
        }
        Ok(Answer::Refused(refusal))
    }

    /// Pending values that nobody waits for.
    pub(crate) fn sweep_pending(&self) -> Result<()> {
        // A push without an answer may still land, and must find its objects here then.
        if self.disk.upstream().is_none() || self.is_unheard() {
            return Ok(());
        }
        let left = self
            .disk
            .list()?
            .into_iter()
            .filter(|(n, _)| n.as_str().starts_with(PENDING));
        let gone: Vec<RawEdit> = left
            .map(|(name, id)| RawEdit {
                name,
                old: Some(id),
                new: None,
            })
            .collect();
        self.move_refs(&gone).map(|_| ())
    }

    /// Those that nobody can tell the fate of get a handle.
    pub(crate) fn answer_later(&self, waiting: Vec<Waiting>, round: Round) {
        for (one, accepted) in waiting.into_iter().zip(round.accepted) {
            self.defer(one, accepted);
        }
    }

    /// The answer comes with a later look.
    pub(crate) fn defer(&self, one: Waiting, accepted: Accepted) {
        let mut unheard = lock(&self.unheard);
        unheard.next += 1;
        let handle = unheard.next;
        unheard.open.insert(handle, (accepted, one.intent));
        drop(unheard);
        one.answer(Ok(Answer::Pending(Handle(handle))));
    }

    pub(crate) fn is_unheard(&self) -> bool {
        !lock(&self.unheard).open.is_empty()
    }

    /// The answer to a push that was unheard, if it is known by now.
    pub(crate) fn heard(&self, handle: Handle) -> Result<Option<Answer>> {
        let unheard = lock(&self.unheard);
        if let Some(answer) = unheard.heard.get(&handle.0) {
            return Ok(Some(answer.clone()));
        }
        if unheard.open.contains_key(&handle.0) {
            return Ok(None);
        }
        let why = "it is not known: the repository was opened anew".to_owned();
        Err(Error::Nonsense {
            attempt: "ask for the outcome of a submission",
            why,
        })
    }

    /// Whether any of these refs stands. Deletions decide only where there is nothing else, as
    /// anybody may have deleted a ref.
    pub(crate) fn stands(&self, view: &dyn View, edits: &[Edit]) -> Result<bool> {
        let made = edits.iter().any(|e| e.new.is_some());
        let decides = |e: &&Edit| e.new.is_some() || !made;
        for edit in edits.iter().filter(decides) {
            if self.stands_one(view, edit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a ref is where it was to be, or beyond.
    pub(crate) fn stands_one(&self, view: &dyn View, edit: &Edit) -> Result<bool> {
        Ok(edit.old != edit.new && self.is_there(view, edit)?)
    }

    /// The same for a ref of which it is known that it was moved.
    pub(crate) fn is_there(&self, view: &dyn View, edit: &Edit) -> Result<bool> {
        match (edit.new, view.get(&edit.name)?) {
            (None, now) => Ok(now.is_none()),
            (Some(new), Some(now)) if new == now => Ok(true),
            (Some(_), None) => Ok(false),
            // Absent before: what is there now may have been put on top of ours.
            (Some(new), Some(now)) => match self.peel(now)? {
                Some(now) if edit.old != Some(now) => {
                    self.reaches(commit_id(&new), commit_id(&now))
                }
                _ => Ok(false),
            },
        }
    }
}

fn any_of(edits: &[RawEdit]) -> (RefName, String) {
    let name = edits.first().map(|e| e.name.clone());
    let name = name.unwrap_or_else(RefName::unknown);
    (name, "it gave no reason".to_owned())
}
