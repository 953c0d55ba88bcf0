//! Pushes whose answer was lost: the remote's refs decide, at this look or a later one.

use super::Publisher;
use super::round::{Accepted, Round, Waiting, as_it_stands};
use crate::disk::{Disk, Who};
use crate::error::{Error, Result};
use crate::lru::lock;
use crate::{Answer, Handle, SubmissionRefusal};

/// Answers that are kept for callers that ask late.
const KEPT: usize = 10_000;

impl<D: Disk> Publisher<D> {
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
        let view = self.reader.disk.view()?;
        let mut standing = Vec::new();
        for (_, (accepted, _)) in &open {
            if self.stands(&*view, &accepted.edits)? {
                standing.push(&*accepted.edits);
            }
        }
        drop(view);
        let rolled = match self.reader.disk.upstream() {
            Some(upstream) => self.roll_forward(upstream, &standing, who)?,
            None => self.complete_here(&standing)?,
        };
        for (handle, (accepted, intent)) in open {
            let view = self.reader.disk.view()?;
            let answer = if !self.stands(&*view, &accepted.edits)? {
                self.refuse_late(intent, SubmissionRefusal::NotTaken)?
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
                Answer::Published(as_it_stands(&*view, &accepted, intent)?)
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

    fn refuse_late(&self, intent: Option<u64>, refusal: SubmissionRefusal) -> Result<Answer> {
        if let Some(intent) = intent {
            lock(&self.journal).settle(&self.reader.disk, &[intent])?;
        }
        Ok(Answer::Refused(refusal))
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
}
