//! Targets that move to other packages, since the set says another `downstream` or selects others (F7).
//!
//! Such a target gets a variant of its own for the other package, in its step. The variant of the package that it leaves stays
//! until every step is done: until then the rollout can be taken back, and what a closed step has does not go before its turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{ObjectName, RepositoryName, RolloutStatus, UidMark, VariantSet};

use super::super::guard::uid_mark;
use super::super::observed::{Existing, Observed};
use super::members::Target;
use super::{Fate, Steered, measure, named_few, restore};
use crate::digest::wanted;
use crate::early::Early;
use crate::report::counted;

/// The variants of a set, by name.
type Ours<'a> = BTreeMap<&'a ObjectName, &'a Arc<Existing>>;

/// Whether targets of a set move.
pub(super) struct Moves {
    /// Whether something that was written is no target now.
    pub(super) leaves: bool,
    /// Whether targets have moved that the present rollout knows nothing of: another one begins.
    pub(super) begins: bool,
}

impl Moves {
    /// What appears and goes while the set says the same moves nothing: that is one target's matter.
    pub(super) fn of(
        before: Option<&RolloutStatus>,
        set: &VariantSet,
        ours: &Ours<'_>,
        targets: &[Target<'_>],
    ) -> Self {
        let leaves = leaves(before, ours, targets);
        let begins = before.is_some_and(|before| {
            let is_new = |t: &Target<'_>| {
                let known =
                    before.awaited.contains(&t.mark) || before.members.contains_key(&t.mark);
                t.variant.is_none() && !known
            };
            let places = wanted::places(&set.spec.targets);
            let said = !before.places.is_empty() && before.places != places;
            // Back where they came from they are none that are new, and the rollout knows them no more for that.
            said && leaves && (before.moves || targets.iter().any(is_new))
        });
        Self { leaves, begins }
    }
}

/// Whether a variant that was written is no target now. It is told by what the set remembers, too: a list that comes late
/// hides nothing.
fn leaves(status: Option<&RolloutStatus>, ours: &Ours<'_>, targets: &[Target<'_>]) -> bool {
    let wanted: BTreeSet<UidMark> = targets.iter().map(|t| t.mark).collect();
    let known = status.into_iter().flat_map(|s| s.members.keys().copied());
    let there = ours.keys().map(|name| uid_mark(name.as_str()));
    known.chain(there).any(|mark| !wanted.contains(&mark))
}

/// Remembers where the targets are, once nothing is left of what they were before.
pub(super) fn settle(
    status: &mut RolloutStatus,
    set: &VariantSet,
    (ours, targets): (&Ours<'_>, &[Target<'_>]),
    certain: bool,
) {
    let gone = certain && !leaves(Some(status), ours, targets);
    if status.places.is_empty() || gone {
        status.places = wanted::places(&set.spec.targets);
    }
    status.moves &= !(gone && status.is_over());
}

impl Steered {
    /// Keeps what the targets leave until every step is done and they have published in their other package, which a step may be
    /// done without; at the upstream that the set wrote to it last. A plan that only tells what would be tells what goes
    /// then, too.
    pub(super) fn keep(&mut self, o: &Observed, ours: &Ours<'_>, targets: &[Target<'_>]) {
        if !self.status.moves || o.whole_rollout {
            return;
        }
        let over = self.status.is_over();
        let missing = |t: &&Target<'_>| !measure::is_published(o, t);
        let missing: BTreeSet<&RepositoryName> = targets
            .iter()
            .filter(missing)
            .map(|t| &t.wanted.downstream.repo)
            .collect();
        let places: BTreeSet<&RepositoryName> =
            targets.iter().map(|t| &t.wanted.downstream.repo).collect();
        let mut waiting = Vec::new();
        let wanted: BTreeSet<&ObjectName> = targets.iter().map(|t| t.name).collect();
        for (name, existing) in ours {
            if wanted.contains(name) || existing.meta.is_deleting() {
                continue;
            }
            let repo = existing.variant.as_ref().map(|v| &v.spec.downstream.repo);
            // Whose repository has no target now may have moved to any.
            let goes = match repo.filter(|repo| places.contains(repo)) {
                Some(repo) => !missing.contains(repo),
                None => missing.is_empty(),
            };
            if over && goes {
                continue;
            }
            if over {
                waiting.push(*name);
            }
            self.left.insert((*name).clone());
            if existing.is_open() {
                self.early.insert((*name).clone(), Early::Left);
            }
            let Some(is) = &existing.variant else {
                continue;
            };
            // A list that lacked it let the set forget it: it is known again as it is, so that it can be put back from now on.
            let mark = uid_mark(name.as_str());
            let members = &mut self.status.members;
            if is.spec.upstream.commit.is_some() {
                let known = members.entry(mark);
                known.or_insert_with(|| restore::standing(&is.spec, is.spec.upstream.clone()));
            }
            let Some(member) = members.get(&mark) else {
                continue;
            };
            if is.spec.upstream != member.upstream && !self.fates.contains_key(*name) {
                let spec = restore::at(&is.spec, &member.upstream);
                let fate = Fate::Instead(Box::new(spec));
                self.fates.insert((*name).clone(), fate);
            }
        }
        if let Some(named) = named_few(&waiting) {
            let (one, many) = (
                "package variant that a target left stays",
                "package variants that targets left stay",
            );
            let left = counted(waiting.len(), one, many);
            self.notes.push(format!(
                "{left} until what was moved to is published: {named}"
            ));
        }
    }
}
