//! A batch, from what is expected to what is answered: evaluate, pack, journal, refs, answers.
//!
//! The order of effects is the promise: content is durable before the journal names it, the
//! journal before a ref shows it, refs before anybody is answered. Submissions are checked in the
//! order in which they came, each on top of those before it, so a batch is never different from
//! the same submissions one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use tokio::sync::oneshot;

use crate::check::Checked;
use crate::disk::{Disk, Moved, RawEdit, View, Who};
use crate::error::{Error, Result};
use crate::fault::Point;
use crate::journal::{Edit, Entry};
use crate::lru::{SLOT, lock};
use crate::object::commit_id;
use crate::repository::Repository;
use crate::reuse::Offer;
use crate::staged::Packed;
use crate::stats::add;
use crate::{Answer, IntentId, Published, RefName, Refusal, Scope, Submission};

/// A submission on its way.
pub(crate) struct Waiting {
    pub(crate) submission: Submission,
    answer: oneshot::Sender<Result<Answer>>,
    /// Its number in the journal, once it has one.
    pub(crate) intent: Option<u64>,
    /// What was pushed without an answer: it may stand.
    pub(crate) tried: Option<Accepted>,
    /// Why the remote did not take all of that, though a part of it stands.
    pub(crate) declined: Option<Refusal>,
}

impl Waiting {
    pub(crate) fn new(submission: Submission, answer: oneshot::Sender<Result<Answer>>) -> Self {
        Self {
            submission,
            answer,
            intent: None,
            tried: None,
            declined: None,
        }
    }

    pub(crate) fn answer(self, answer: Result<Answer>) {
        // A caller that went away finds everything in the journal.
        drop(self.answer.send(answer));
    }
}

/// A submission whose expectations hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accepted {
    pub(crate) commit: Option<ObjectId>,
    pub(crate) edits: Vec<Edit>,
}

/// One look at a batch: what is to be written and moved.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) objects: Vec<Arc<Packed>>,
    /// All that comes along with what was checked so far.
    pub(crate) offer: Offer,
    /// Where each ref is after the submissions checked so far.
    pub(crate) now: BTreeMap<RefName, Edit>,
    pub(crate) accepted: Vec<Accepted>,
}

impl Round {
    /// What was written for it, which need not be read again.
    pub(crate) fn along(&self) -> BTreeMap<ObjectId, Arc<Packed>> {
        let objects = self.objects.iter();
        objects.map(|o| (o.id, Arc::clone(o))).collect()
    }

    /// The net edits: what goes last goes last.
    pub(crate) fn edits(&self, scope: Option<Scope>) -> Vec<RawEdit> {
        let wanted = self
            .now
            .values()
            .filter(|e| scope.is_none_or(|s| s == e.scope));
        let mut all: Vec<RawEdit> = wanted.filter(|e| e.old != e.new).map(Edit::raw).collect();
        // A ref that goes may be the only one that leads to what another one is to keep: whoever dies in between
        // has a ref too many, never a commit too few.
        all.sort_by_key(|e| e.new.is_none());
        all
    }
}

/// What came of a round.
pub(crate) enum Landed {
    /// All of it stands.
    All,
    /// Nothing stands; what was expected may have changed.
    Again,
    /// Nothing stands; one of them is unwelcome, nobody says which.
    OneByOne,
    /// Nobody knows what stands.
    Unheard,
    /// Nothing stands; all are refused.
    Refused(Refusal),
}

/// How often a batch is checked anew while others keep moving the same refs.
pub(crate) const ROUNDS: usize = 10;

impl<D: Disk> Repository<D> {
    /// Publishes a batch. Until it is over, nobody who tidies the repository takes away what it wrote: no ref shows it yet.
    pub(crate) fn publish(&self, waiting: Vec<Waiting>, who: &Who) {
        self.publish_held(waiting, who);
        lock(&self.kept).clear();
        // Whoever died tidies nothing any more: what was written stays kept until a restart knows what became of it.
        if self.alive().is_ok() && !self.half_moved() {
            self.disk.release();
        }
    }

    fn publish_held(&self, mut waiting: Vec<Waiting>, who: &Who) {
        // What the last process left is settled first: nothing is put on top of what may be half there.
        if (self.waits() || self.half_moved())
            && let Err(error) = self.refetch(who)
        {
            return self.fail(waiting, &error);
        }
        for _ in 0..ROUNDS {
            let round = match self.check(&mut waiting) {
                Ok(round) => round,
                Err(error) => return self.fail(waiting, &error),
            };
            if waiting.is_empty() {
                return;
            }
            match self.land(&mut waiting, &round, who) {
                Ok(Landed::All) => return self.answer_all(waiting, round),
                // Somebody moved a ref between our look and our write. What was checked may be wrong now, so the whole
                // batch is checked anew; objects that were written for it are found again and not written twice.
                Ok(Landed::Again) => {}
                // A remote takes a push whole or not at all and does not always say which ref it minds: alone, only the
                // unwelcome submission is refused.
                Ok(Landed::OneByOne) => {
                    return waiting
                        .into_iter()
                        .for_each(|one| self.publish_held(vec![one], who));
                }
                Ok(Landed::Unheard) => return self.answer_later(waiting, round),
                Ok(Landed::Refused(refusal)) => return self.refuse(waiting, &refusal),
                Err(error) => return self.fail(waiting, &error),
            }
        }
        let error = self.restless();
        self.fail(waiting, &error);
    }

    /// Checks all submissions; those that are refused or make no sense are answered and go.
    fn check(&self, waiting: &mut Vec<Waiting>) -> Result<Round> {
        // One look for the whole batch: what somebody pruned since the commits were built is not relied on.
        self.look()?;
        let view = self.disk.view()?;
        let mut round = Round::default();
        let mut stay = Vec::with_capacity(waiting.len());
        for one in waiting.drain(..) {
            // In a later round this submission may already stand: a push whose answer was lost is no conflict with itself.
            match self.landed_before(&*view, &one) {
                Ok(Some(Answer::Refused(refusal))) => {
                    self.refuse(vec![one], &refusal);
                    continue;
                }
                Ok(Some(answer)) => {
                    one.answer(Ok(answer));
                    continue;
                }
                Ok(None) => {}
                Err(error @ Error::Stopped { .. }) => return Err(error),
                // It may stand all the same.
                Err(error) => {
                    tracing::warn!(url = self.url, %error, "what became of a push is not known yet");
                    let tried = one.tried.clone().unwrap_or_default();
                    self.defer(one, tried);
                    continue;
                }
            }
            match self.check_one(&one.submission, &*view, &mut round) {
                Ok(Checked::Fine(accepted)) => {
                    round.accepted.push(accepted);
                    stay.push(one);
                }
                Ok(Checked::No(refusal)) => self.refuse(vec![one], &refusal),
                Err(error) => self.fail(vec![one], &error),
            }
        }
        *waiting = stay;
        // Which objects are written is decided last, against the same view: what another process tidied away
        // since it was built is written again.
        self.choose(&*view, &mut round)?;
        Ok(round)
    }

    /// A push that nobody answered may have landed after all.
    fn landed_before(&self, view: &dyn View, one: &Waiting) -> Result<Option<Answer>> {
        let Some(tried) = &one.tried else {
            return Ok(None);
        };
        if !self.stands(view, &tried.edits)? {
            return Ok(None);
        }
        if let Some(refusal) = &one.declined {
            return Ok(Some(Answer::Refused(refusal.clone())));
        }
        // The remote has it, this mirror does not know yet.
        self.finish_local(&tried.edits)?;
        lock(&self.journal).land(one.intent);
        Ok(Some(Answer::Published(
            self.as_it_stands(view, tried, one.intent)?,
        )))
    }

    /// What stands of a submission of which not every ref went that was to go: somebody moved it
    /// meanwhile, or the remote keeps it.
    pub(crate) fn as_it_stands(
        &self,
        view: &dyn View,
        accepted: &Accepted,
        intent: Option<u64>,
    ) -> Result<Published> {
        let mut published = published(accepted, intent);
        let goes = |e: &&Edit| e.new.is_none() && e.scope == Scope::Remote;
        for edit in accepted.edits.iter().filter(goes) {
            if view.get(&edit.name)?.is_some() {
                published.refs.remove(&edit.name);
            }
        }
        Ok(published)
    }

    /// Durable, then visible.
    fn land(&self, waiting: &mut [Waiting], round: &Round, who: &Who) -> Result<Landed> {
        self.fault(Point::BeforePack)?;
        if !round.objects.is_empty() {
            self.disk.put(&round.objects)?;
            self.fault(Point::PackWritten)?;
            self.disk.put_durable()?;
            self.note_put(round);
        }
        self.fault(Point::PackDurable)?;
        // From here on a restart knows what was meant: it finds the refs moved or not, and finishes or forgets.
        self.note_intents(waiting, round)?;
        match self.disk.upstream() {
            Some(upstream) if round.now.values().any(|e| e.scope == Scope::Remote) => {
                self.land_remote(upstream, waiting, round, who)
            }
            _ => self.land_here(&round.edits(None)),
        }
    }

    /// What a round wrote is here, and nobody has to look into a pack for what its refs lead to.
    fn note_put(&self, round: &Round) {
        let heads: BTreeSet<ObjectId> = round.now.values().filter_map(|e| e.new).collect();
        let mut kept = lock(&self.kept);
        for object in &round.objects {
            kept.insert(object.id);
            if object.kind == Kind::Commit && heads.contains(&object.id) {
                self.peeled.put(object.id, Some(object.id), SLOT);
            }
        }
    }

    fn note_intents(&self, waiting: &mut [Waiting], round: &Round) -> Result<()> {
        let mut journal = lock(&self.journal);
        let mut entries = journal.overtaken(&round.now);
        for (one, accepted) in waiting.iter_mut().zip(&round.accepted) {
            let Some(payload) = &one.submission.intent else {
                continue;
            };
            // A second round keeps the number of the first: callers may know it already.
            let id = *one.intent.get_or_insert_with(|| journal.next_id());
            let edits = accepted.edits.clone();
            entries.push((id, Entry::new(accepted.commit, edits, payload.clone())));
        }
        if entries.is_empty() {
            return Ok(());
        }
        let bytes = journal.add(&self.disk, entries)?;
        // Intents are settled while the disk syncs: nobody waits for it under the lock.
        drop(journal);
        add(&self.counters.journal_bytes, bytes);
        self.fault(Point::JournalWritten)?;
        self.disk.journal_durable()?;
        self.fault(Point::JournalDurable)?;
        Ok(())
    }

    fn land_here(&self, edits: &[RawEdit]) -> Result<Landed> {
        match self.move_refs(edits) {
            // Nothing moved: a ref transaction is all or nothing.
            Ok(Moved::Stale(_)) => Ok(Landed::Again),
            Ok(Moved::All) => {
                self.fault(Point::RefsWritten)?;
                if let Err(error) = self.disk.refs_durable() {
                    return self.unsure(error);
                }
                self.fault(Point::BeforeAnswer)?;
                Ok(Landed::All)
            }
            // Others may have moved before the one that could not.
            Err(error) if self.any_moved(edits) => self.unsure(error),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn move_refs(&self, edits: &[RawEdit]) -> Result<Moved> {
        if edits.is_empty() {
            return Ok(Moved::All);
        }
        add(&self.counters.ref_transactions, 1);
        add(&self.counters.refs, edits.len());
        self.disk
            .move_refs(edits, &mut || self.fault(Point::RefMoved).map(|_| ()))
    }

    fn answer_all(&self, waiting: Vec<Waiting>, round: Round) {
        // Before anybody hears of it: whoever is answered may write its record, and settle the intent, at once.
        lock(&self.journal).land(waiting.iter().filter_map(|one| one.intent));
        for (one, accepted) in waiting.into_iter().zip(round.accepted) {
            // Only now may an unwritten commit be forgotten by the staging area: its ref keeps it from here on.
            self.note_anchors(&one.submission, &accepted);
            let published = published(&accepted, one.intent);
            one.answer(Ok(Answer::Published(published)));
        }
    }

    fn refuse(&self, waiting: Vec<Waiting>, refusal: &Refusal) {
        self.drop_intents(&waiting);
        for one in waiting {
            one.answer(Ok(Answer::Refused(refusal.clone())));
        }
    }

    fn fail(&self, waiting: Vec<Waiting>, error: &Error) {
        self.drop_intents(&waiting);
        for one in waiting {
            one.answer(Err(error.clone()));
        }
    }

    /// Nothing of these stands, so their intents go; an intent that stays is looked at in vain.
    fn drop_intents(&self, waiting: &[Waiting]) {
        let ids: Vec<u64> = waiting.iter().filter_map(|one| one.intent).collect();
        if self.alive().is_ok()
            && !ids.is_empty()
            && let Err(error) = lock(&self.journal).settle(&self.disk, &ids)
        {
            tracing::warn!(url = self.url, %error, "refused intents stay in the journal");
        }
    }
}

pub(crate) fn published(accepted: &Accepted, intent: Option<u64>) -> Published {
    let refs = accepted
        .edits
        .iter()
        .map(|e| (e.name.clone(), e.new.as_ref().map(commit_id)));
    Published {
        intent: intent.map(IntentId),
        commit: accepted.commit.as_ref().map(commit_id),
        refs: refs.collect(),
    }
}
