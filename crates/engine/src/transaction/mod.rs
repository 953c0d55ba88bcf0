//! One change of a repository, from what is assembled to what everybody sees: the only way in which the engine writes.
//!
//! Its phases are types. [`Begun`] takes commits, refs and what becomes of the branch; commits are built, so that their trees have
//! ids, and nothing of them is visible. With the records that follow it is [`Prepared`]: a dry run and a plan end there, by letting
//! it go. Publishing chooses nothing. It is durable first and visible last: content and refs go to git, then the records are
//! written, then the intent is settled. A change that moves nothing in git is its records alone.

mod commit;
mod records;
mod submit;

use std::sync::Arc;

use model::{Class, Revision};
use store::{Announced, BranchEdit, RefEdit, Submission, Written};

pub(crate) use commit::{DraftCommit, Tip, fits, kept_conflicts, told};
pub(crate) use records::{Follow, at_branch, record, unrecorded};
pub(crate) use submit::{keep, move_refs};

use crate::codec::{self, Record};
use crate::ports::Point;
use crate::queue::Key;
use crate::repos::OpenRepository;
use crate::stats::count;
use crate::{Engine, Error, Result};

/// The phase in which a transaction takes what changes in git.
#[derive(Debug)]
pub(crate) struct Begun;

/// The phase in which it is whole, and nothing of it has happened.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The records that follow.
    follow: Vec<Follow>,
}

/// A change of one repository.
#[must_use = "prepare and publish it, or drop it where somebody only wants to know"]
pub(crate) struct Transaction<'e, P> {
    engine: &'e Engine,
    open: &'e OpenRepository,
    /// Commits that were built.
    written: Vec<Written>,
    /// Refs to move.
    refs: Vec<RefEdit>,
    /// A commit on the shared branch.
    branch: Option<BranchEdit>,
    /// What the repository's writer was told beforehand.
    announced: Option<Announced>,
    phase: P,
}

impl<'e> Transaction<'e, Begun> {
    /// A change of this repository in which nothing changes yet.
    pub(crate) fn begin(engine: &'e Engine, open: &'e OpenRepository) -> Self {
        Self {
            engine,
            open,
            written: Vec::new(),
            refs: Vec::new(),
            branch: None,
            announced: None,
            phase: Begun,
        }
    }

    /// The engine whose change it is.
    pub(crate) fn engine(&self) -> &'e Engine {
        self.engine
    }

    /// Moves these refs, if they stand where each of them expects.
    pub(crate) fn move_refs(&mut self, refs: impl IntoIterator<Item = RefEdit>) -> &mut Self {
        self.refs.extend(refs);
        self
    }

    /// Puts a commit on the shared branch.
    pub(crate) fn change_branch(&mut self, edit: BranchEdit) -> &mut Self {
        self.branch = Some(edit);
        self
    }

    /// Keeps the promise that was made to the repository's writer.
    pub(crate) fn as_announced(&mut self, announced: Option<Announced>) -> &mut Self {
        self.announced = announced;
        self
    }

    /// The whole of it: these records follow, the first one tells of what whoever asked is answered.
    ///
    /// # Errors
    /// A record that git is to move for cannot be stored: it is too large.
    pub(crate) fn prepare(self, follow: Vec<Follow>) -> Result<Transaction<'e, Prepared>> {
        if self.moves() {
            for f in &follow {
                if let Record::Put { record, .. } = &f.record {
                    let fits = self.engine.ports().records.fits(record);
                    fits.map_err(|source| Error::Port { source })?;
                }
            }
        }
        Ok(Transaction {
            engine: self.engine,
            open: self.open,
            written: self.written,
            refs: self.refs,
            branch: self.branch,
            announced: self.announced,
            phase: Prepared { follow },
        })
    }
}

impl<P> Transaction<'_, P> {
    /// Whether anything moves in git.
    fn moves(&self) -> bool {
        !(self.written.is_empty() && self.refs.is_empty() && self.branch.is_none())
    }
}

impl Transaction<'_, Prepared> {
    /// The record that whoever asks would be answered; `None` if it would be removed.
    pub(crate) fn into_record(self) -> Option<Revision> {
        match self.phase.follow.into_iter().next()?.record {
            Record::Put { record, .. } => Some(*record),
            Record::Delete(_) => None,
        }
    }

    /// Makes it durable, then visible, and records it. Answers the first of its records as it stands by then; `None` if it was
    /// removed.
    ///
    /// # Errors
    /// `Conflict` if git was not as expected: nothing happened. Anything after that leaves an
    /// intent, and is completed by the next look.
    pub(crate) async fn publish(self) -> Result<Option<Arc<Revision>>> {
        let Self { engine, open, .. } = self;
        let moves = self.moves();
        let mut follow = self.phase.follow;
        if !moves {
            return Ok(first(record(engine, follow).await?));
        }
        engine.point(Point::Derived)?;
        let submission = Submission {
            written: self.written,
            refs: self.refs,
            branch: self.branch,
            intent: Some(codec::encode_intent(follow.iter().map(|f| &f.record))),
            announced: self.announced,
        };
        let published = match submit::submit(engine, open, submission).await {
            Ok(published) => published,
            Err(error) => {
                // Whoever gave no answer may have taken it.
                if error.class() == Class::Unavailable {
                    unfinished(engine, open);
                }
                return Err(error);
            }
        };
        count(&engine.counters().published);
        engine.point(Point::Published)?;
        if let Some(commit) = published.commit {
            for f in &mut follow {
                at_branch(&mut f.record, commit);
            }
        }
        let stored = match record(engine, follow).await {
            Ok(stored) => stored,
            Err(error) => {
                // What the change says beside its refs stands in its intent alone.
                let repos = &engine.inner.repos;
                let intent = published.intent;
                intent
                    .iter()
                    .for_each(|id| repos.leave_open(open.repo.url(), *id));
                unfinished(engine, open);
                return Err(error);
            }
        };
        engine.point(Point::Recorded)?;
        if let Some(intent) = published.intent
            && let Err(error) = open.repo.settle(&[intent])
        {
            // All of it stands: whoever asked is not told otherwise. The next start finds nothing left to do.
            tracing::warn!(%error, "an intent that is done cannot be settled");
        }
        engine.point(Point::Settled)?;
        Ok(first(stored))
    }
}

/// The record that whoever asked is answered.
fn first(stored: Vec<Option<Arc<Revision>>>) -> Option<Arc<Revision>> {
    stored.into_iter().next().flatten()
}

/// Git may say what no record says: nothing is decided about the repository's packages before
/// somebody has looked.
pub(crate) fn unfinished(engine: &Engine, open: &OpenRepository) {
    engine.inner.repos.unrecorded(open.key());
    engine.inner.queue.add(Key::Repository(open.key().clone()));
}
