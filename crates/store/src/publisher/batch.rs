//! A batch, from what is expected to what is answered: evaluate, pack, journal, refs, answers.
//!
//! The order of effects is the promise: content is durable before the journal names it, the
//! journal before a ref shows it, refs before anybody is answered. Submissions are checked in the
//! order in which they came, each on top of those before it, so a batch is never different from
//! the same submissions one by one.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::objs::Kind;

use super::Publisher;
use super::check::Checked;
use super::round::{Landed, ROUNDS, Round, Waiting, as_it_stands, published};
use crate::disk::{Disk, Moved, RawEdit, View, Who};
use crate::error::{Error, Result};
use crate::fault::Point;
use crate::journal::Entry;
use crate::lru::{SLOT, lock};
use crate::stats::add;
use crate::{Answer, Scope, SubmissionRefusal};

impl<D: Disk> Publisher<D> {
    /// Publishes a batch. Until it is over, nobody who tidies the repository takes away what it wrote: no ref shows it yet.
    pub(crate) fn publish(&self, waiting: Vec<Waiting>, who: &Who) {
        self.publish_held(waiting, who);
        lock(&self.kept).clear();
        // Whoever died tidies nothing any more: what was written stays kept until a restart knows what became of it.
        if self.reader.alive().is_ok() && !self.half_moved() {
            self.reader.disk.release();
        }
    }

    /// Checks and lands a batch until it stands, is refused, or nobody can tell.
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
        self.reader.look()?;
        let view = self.reader.disk.view()?;
        let mut round = Round {
            checked_out: self.reader.disk.checked_out()?,
            ..Round::default()
        };
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
                    tracing::warn!(url = self.reader.url, %error, "what became of a push is not known yet");
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
        Ok(Some(Answer::Published(as_it_stands(
            view, tried, one.intent,
        )?)))
    }

    /// Durable, then visible.
    fn land(&self, waiting: &mut [Waiting], round: &Round, who: &Who) -> Result<Landed> {
        self.reader.fault(Point::BeforePack)?;
        if !round.objects.is_empty() {
            self.reader.disk.put(&round.objects)?;
            self.reader.fault(Point::PackWritten)?;
            self.reader.disk.put_durable()?;
            self.note_put(round);
        }
        self.reader.fault(Point::PackDurable)?;
        // From here on a restart knows what was meant: it finds the refs moved or not, and finishes or forgets.
        self.note_intents(waiting, round)?;
        match self.reader.disk.upstream() {
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
                self.reader.peeled.put(object.id, Some(object.id), SLOT);
            }
        }
    }

    /// Writes down what each submission is about to move, with what its caller wants to know of it after a death.
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
        let bytes = journal.add(&self.reader.disk, entries)?;
        // Intents are settled while the disk syncs: nobody waits for it under the lock.
        drop(journal);
        add(&self.reader.counters.journal_bytes, bytes);
        self.reader.fault(Point::JournalWritten)?;
        self.reader.disk.journal_durable()?;
        self.reader.fault(Point::JournalDurable)?;
        Ok(())
    }

    /// Moves the refs of a repository on this machine, which is the only one there is.
    fn land_here(&self, edits: &[RawEdit]) -> Result<Landed> {
        match self.move_refs(edits) {
            // Nothing moved: a ref transaction is all or nothing.
            Ok(Moved::Stale(_)) => Ok(Landed::Again),
            Ok(Moved::All) => {
                self.reader.fault(Point::RefsWritten)?;
                if let Err(error) = self.reader.disk.refs_durable() {
                    return self.unsure(error);
                }
                self.reader.fault(Point::BeforeAnswer)?;
                Ok(Landed::All)
            }
            // Others may have moved before the one that could not.
            Err(error) if self.any_moved(edits) => self.unsure(error),
            Err(error) => Err(error),
        }
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

    fn refuse(&self, waiting: Vec<Waiting>, refusal: &SubmissionRefusal) {
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
        if self.reader.alive().is_ok()
            && !ids.is_empty()
            && let Err(error) = lock(&self.journal).settle(&self.reader.disk, &ids)
        {
            tracing::warn!(url = self.reader.url, %error, "refused intents stay in the journal");
        }
    }
}
