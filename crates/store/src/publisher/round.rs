//! A batch on its way: what waits, what was accepted of it, what came of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::ObjectId;
use tokio::sync::oneshot;

use super::offer::Offer;
use crate::disk::{RawEdit, View};
use crate::error::Result;
use crate::journal::Edit;
use crate::object::commit_id;
use crate::staged::Packed;
use crate::{Answer, IntentId, Published, RefName, Scope, Submission, SubmissionRefusal};

/// A submission on its way.
pub(crate) struct Waiting {
    pub(crate) submission: Submission,
    answer: oneshot::Sender<Result<Answer>>,
    /// Its number in the journal, once it has one.
    pub(crate) intent: Option<u64>,
    /// What was pushed without an answer: it may stand.
    pub(crate) tried: Option<Accepted>,
    /// Why the remote did not take all of that, though a part of it stands.
    pub(crate) declined: Option<SubmissionRefusal>,
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
    /// The branches that are checked out, with where: they stay as they are.
    pub(crate) checked_out: BTreeMap<RefName, String>,
}

impl Round {
    /// What was written for it, which need not be read again.
    pub(crate) fn along(&self) -> BTreeMap<ObjectId, Arc<Packed>> {
        let objects = self.objects.iter();
        objects.map(|o| (o.id, Arc::clone(o))).collect()
    }

    /// The net edits, deletions last.
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
    Refused(SubmissionRefusal),
}

/// How often a batch is checked anew while others keep moving the same refs.
pub(crate) const ROUNDS: usize = 10;

/// What is answered where every ref of a submission went where it was to go.
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

/// What stands of a submission of which not every ref went that was to go: somebody moved it
/// meanwhile, or the remote keeps it.
pub(crate) fn as_it_stands(
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
