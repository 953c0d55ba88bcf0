//! Ways to be wrong, each in a wrapper around the ports or the store and never in the
//! product: a simulation that does not notice them notices nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use engine::ports::{
    Change, Expect, Found, Objects, PortError, RecordWrite, Records as _, StoredVariant, Variants,
};
use model::{CommitId, Digest, ObjectKey, Revision, SetStatus, Variant};
use plan::set::KindScope;
use plan::variant::words::ROLLOUT;
use store::{Answer, MemoryStore, Published, RefEdit, RefName, Scope, Submission};

use super::fixtures::{NS, TENANT};
use crate::twin::Twin;

/// What is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// Writers are answered before anything is durable.
    NoDurability,
    /// Refs are moved whatever stands there.
    NoLease,
    /// What was made for the same input already is not recognised.
    NoDeduplication,
    /// What is injected is read whoever asks.
    ReadsForAnybody,
    /// What lies in no namespace is selected as if it lay in one.
    SelectsUnmarked,
    /// A record gets the owner of the same revision in another namespace.
    ForeignOwners,
    /// A change that is pushed again after a lost answer takes its objects for sent: the remote refuses
    /// the new refs, and takes the deletions.
    TakenForSent,
    /// A push whose answer was lost is believed to have been taken.
    Believes,
    /// What a rollout wrote onto a member is lost.
    LosesMarks,
    /// A member is written without the commit that is wanted, and follows a ref.
    Unpinned,
    /// What a set remembers of its rollout is lost.
    ForgetsRollouts,
    /// What halted a rollout is forgotten.
    ForgetsHalts,
    /// What a member had published before a rollout reached it is forgotten.
    ForgetsBefore,
    /// What a step takes is forgotten: it is told by its name alone.
    ForgetsTakes,
    /// What a variant has published is taken for what a set writes to it: another spec at the same upstream commit skips steps.
    TakesForPublished,
    /// Where the targets of a set were is forgotten: those that move are none.
    ForgetsPlaces,
    /// That targets move is forgotten, and what they leave is what nobody wants.
    ForgetsMoves,
    /// Effects start whenever they are wanted, whoever holds the Lease by then.
    NoTerm,
}

impl Mutant {
    /// Those that only worlds with a rollout can notice.
    pub const OF_ROLLOUTS: [Self; 7] = [
        Self::LosesMarks,
        Self::Unpinned,
        Self::ForgetsRollouts,
        Self::ForgetsHalts,
        Self::ForgetsBefore,
        Self::ForgetsTakes,
        Self::TakesForPublished,
    ];

    /// Those that only worlds whose sites move to other packages can notice.
    pub const OF_MOVES: [Self; 2] = [Self::ForgetsPlaces, Self::ForgetsMoves];

    /// Those that worlds with several processes notice.
    pub const OF_REPLICAS: [Self; 3] = [Self::NoTerm, Self::NoLease, Self::NoDeduplication];

    /// All others.
    pub const ALL: [Self; 8] = [
        Self::NoDurability,
        Self::NoLease,
        Self::NoDeduplication,
        Self::ReadsForAnybody,
        Self::SelectsUnmarked,
        Self::ForeignOwners,
        Self::TakenForSent,
        Self::Believes,
    ];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoDurability => "no-durability",
            Self::NoLease => "no-lease",
            Self::NoDeduplication => "no-deduplication",
            Self::ReadsForAnybody => "reads-for-anybody",
            Self::SelectsUnmarked => "selects-unmarked",
            Self::ForeignOwners => "foreign-owners",
            Self::TakenForSent => "taken-for-sent",
            Self::Believes => "believes",
            Self::LosesMarks => "loses-marks",
            Self::Unpinned => "unpinned",
            Self::ForgetsRollouts => "forgets-rollouts",
            Self::ForgetsHalts => "forgets-halts",
            Self::ForgetsBefore => "forgets-before",
            Self::ForgetsTakes => "forgets-takes",
            Self::TakesForPublished => "takes-for-published",
            Self::ForgetsPlaces => "forgets-places",
            Self::ForgetsMoves => "forgets-moves",
            Self::NoTerm => "no-term",
        }
    }

    /// The mutant of this name.
    pub fn parse(name: &str) -> Option<Self> {
        let others = Self::OF_ROLLOUTS.into_iter().chain(Self::OF_MOVES);
        let others = others.chain(Self::OF_REPLICAS);
        let mut all = Self::ALL.into_iter().chain(others);
        all.find(|m| m.name() == name)
    }
}

/// What a crash takes back.
#[derive(Debug)]
enum Undo {
    Record(ObjectKey, Option<Box<Revision>>),
    Refs(String, BTreeMap<RefName, Option<CommitId>>),
}

/// Writes that were answered and are not durable: [`Mutant::NoDurability`].
#[derive(Debug, Clone, Default)]
pub(super) struct Unsafe(Arc<Mutex<Vec<Undo>>>);

impl Unsafe {
    fn add(&self, undo: Undo, flush: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if flush {
            all.clear();
        }
        all.push(undo);
    }

    /// A record that was written; whether everything before was made durable by then.
    pub(super) fn record(&self, key: ObjectKey, before: Option<Revision>, flush: bool) {
        self.add(Undo::Record(key, before.map(Box::new)), flush);
    }

    /// Refs that were moved.
    pub(super) fn refs(&self, url: &str, before: BTreeMap<RefName, Option<CommitId>>, flush: bool) {
        self.add(Undo::Refs(url.to_owned(), before), flush);
    }

    /// The crash: what was not durable is as it was before.
    pub(super) async fn crash(&self, twin: &Twin, store: &MemoryStore) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for undo in all.into_iter().rev() {
            match undo {
                Undo::Record(key, before) => {
                    let change = before.map_or(Change::Delete(key), Change::Put);
                    let expect = Expect::Any;
                    drop(twin.commit(vec![RecordWrite { expect, change }]).await);
                }
                Undo::Refs(url, before) => put_back(store, &url, before).await,
            }
        }
    }
}

async fn put_back(store: &MemoryStore, url: &str, before: BTreeMap<RefName, Option<CommitId>>) {
    let Ok(outside) = store.outside(url) else {
        return;
    };
    let refs = before.into_iter().map(|(name, to)| RefEdit {
        name,
        expect: store::Expect::Any,
        to,
        scope: Scope::Remote,
    });
    let submission = Submission {
        refs: refs.collect(),
        ..Submission::default()
    };
    drop(outside.submit(submission).await);
}

/// Breaks a record that is to be written.
pub(super) fn break_record(mutant: Option<Mutant>, twin: &Twin, change: &mut Change) {
    let Change::Put(record) = change else { return };
    match mutant {
        Some(Mutant::NoDeduplication) => {
            if let Some(machine) = &mut record.machine {
                machine.digest = Digest::new(1, &[0; 32]);
                machine.full_digest = Digest::new(1, &[0; 32]);
            }
        }
        Some(Mutant::ForeignOwners) if record.key.namespace.as_str() == TENANT => {
            let same = twin.revision(NS, record.key.name.as_str());
            let owners = same.map(|r| r.meta.owners).unwrap_or_default();
            record.meta.owners.extend(owners);
        }
        _ => {}
    }
}

/// Breaks a variant that a set writes.
pub(super) fn break_variant(mutant: Option<Mutant>, variant: &Variant) -> Variant {
    let mut variant = variant.clone();
    let annotations = &mut Arc::make_mut(&mut variant.meta).annotations;
    match mutant {
        Some(Mutant::LosesMarks) => drop(annotations.remove(ROLLOUT)),
        Some(Mutant::Unpinned) => variant.spec.upstream.commit = None,
        _ => {}
    }
    variant
}

/// Writes a variant; one that says of itself that what it has published is of what was just written is broken.
pub(super) async fn update_variant(
    mutant: Option<Mutant>,
    twin: &Twin,
    variant: &Variant,
    version: &str,
) -> Result<StoredVariant, PortError> {
    let written = Variants::update(twin, variant, version).await?;
    let mut status = written.status.clone();
    if mutant != Some(Mutant::TakesForPublished) || status.published_generation.is_none() {
        return Ok(written);
    }
    status.published_generation = Some(written.meta.generation);
    let (key, version) = (&written.key, &written.meta.resource_version);
    drop(Objects::<Variant>::set_status(twin, key, version, &status).await);
    let broken = twin.variant(key.namespace.as_str(), key.name.as_str());
    Ok(broken.unwrap_or(written))
}

/// Breaks what is known of a kind that a set selects from.
pub(super) fn break_scope(mutant: Option<Mutant>, found: Found<KindScope>) -> Found<KindScope> {
    match (mutant, found) {
        (Some(Mutant::SelectsUnmarked), Found::Here(_)) => Found::Here(KindScope::Namespaced),
        (_, found) => found,
    }
}

/// Breaks what a set remembers.
pub(super) fn break_set(mutant: Option<Mutant>, status: &SetStatus) -> SetStatus {
    let mut status = status.clone();
    match (mutant, &mut status.rollout) {
        (Some(Mutant::ForgetsRollouts), rollout) => *rollout = None,
        (Some(Mutant::ForgetsHalts), Some(rollout)) => rollout.halted = None,
        (Some(Mutant::ForgetsBefore), Some(rollout)) => {
            rollout.members.values_mut().for_each(|m| m.before = None);
        }
        (Some(Mutant::ForgetsTakes), Some(rollout)) => {
            rollout.steps.iter_mut().for_each(|s| s.takes.clear());
        }
        (Some(Mutant::ForgetsPlaces), Some(rollout)) => rollout.places.clear(),
        (Some(Mutant::ForgetsMoves), Some(rollout)) => rollout.moves = false,
        _ => {}
    }
    status
}

/// What a remote that nobody heard is believed to have done.
pub(super) fn believed(submission: &Submission) -> Answer {
    let refs = submission.refs.iter().map(|e| (e.name.clone(), e.to));
    Answer::Published(Published {
        intent: None,
        commit: None,
        refs: refs.collect(),
    })
}

/// What a remote made of a push that was taken for sent: the new refs are refused, and the deletions taken.
pub(super) async fn lose_what_goes(
    store: &MemoryStore,
    url: &str,
    submission: &Submission,
) -> bool {
    let (Ok(outside), true) = (store.outside(url), makes(submission)) else {
        return false;
    };
    let refs: Vec<RefEdit> = submission
        .refs
        .iter()
        .filter(|e| e.to.is_none())
        .cloned()
        .collect();
    if refs.is_empty() {
        return false;
    }
    let gone = Submission {
        refs,
        ..Submission::default()
    };
    outside.submit(gone).await.is_ok()
}

fn makes(submission: &Submission) -> bool {
    submission.branch.is_some() || submission.refs.iter().any(|e| e.to.is_some())
}
