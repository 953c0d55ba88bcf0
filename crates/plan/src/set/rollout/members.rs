//! Which target belongs to which step (F7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    CommitId, Member, ObjectName, Pairs, Rollout, RolloutState, RolloutStatus, StepMembers, Uid,
    UidMark, VariantSpec,
};

use super::super::guard::uid_mark;
use super::super::observed::{Existing, Observed, Published};
use crate::digest::wanted;
use crate::variant::pinned::mark;

/// What a set remembers of its variants.
pub(super) type Members = BTreeMap<UidMark, Member>;

/// A target that a set wants.
pub(super) struct Target<'a> {
    pub(super) name: &'a ObjectName,
    /// Stands for its name in what is remembered.
    pub(super) mark: UidMark,
    pub(super) wanted: &'a VariantSpec,
    /// Stands for what is wanted.
    pub(super) hash: String,
    /// Its variant, if the set has it.
    pub(super) variant: Option<&'a Arc<Existing>>,
    /// The variant that has its name and is not the set's.
    pub(super) theirs: Option<&'a Arc<Existing>>,
    /// Whether its variant is as the set wants it, and the set wrote it so.
    pub(super) is_written: bool,
    /// The labels of its repository.
    pub(super) labels: Option<&'a Pairs>,
}

impl Target<'_> {
    /// What is remembered of it, if the present rollout reached it.
    pub(super) fn reached<'m>(&self, members: &'m Members) -> Option<&'m Member> {
        reached(members, &self.mark)
    }

    /// Whether its variant was written by a rollout, as it says itself. That decides on nothing but whether what it had
    /// published before is read once more.
    pub(super) fn is_of(&self, rollout: &str) -> bool {
        let mark = self.variant.and_then(|v| mark(&v.meta));
        mark.is_some_and(|mark| mark.rollout == rollout)
    }

    /// The variant that is not the set's yet, and is taken over when the step opens (S8).
    pub(super) fn taken_over(&self) -> Option<&Arc<Existing>> {
        self.theirs.filter(|_| self.refusal().is_none())
    }

    /// Why its variant cannot be made: another one has the name, and is not taken over.
    pub(super) fn refusal(&self) -> Option<String> {
        self.theirs?.refusal(&self.wanted.downstream)
    }

    /// Whether its newest revision is open.
    pub(super) fn is_open(&self) -> bool {
        self.variant.is_some_and(|v| v.is_open())
    }

    /// Whether its newest revision is open, and of another upstream commit than this.
    pub(super) fn is_open_at_another(&self, wanted: Option<CommitId>) -> bool {
        let holds = self.variant.and_then(|v| v.holds);
        self.is_open() && holds.is_some() && holds != wanted
    }

    /// Whether somebody published another upstream commit of it since the rollout began, which has not reached it.
    pub(super) fn is_ahead(&self, published: Option<&Published>, began: i64) -> bool {
        let since = |p: &&Published| p.at.is_some_and(|at| at > began);
        let found = published.filter(since);
        let is_there = self.variant.is_some();
        is_there && !self.is_written && found.is_some_and(|p| Some(p.commit) != p.then)
    }

    fn place(&self) -> MemberPlace<'_> {
        MemberPlace {
            name: self.name.as_str(),
            uid: self
                .variant
                .map(|v| v.meta.uid.as_ref().map_or(self.name.as_str(), Uid::as_str)),
            is_written: self.is_written,
            labels: self.labels,
        }
    }
}

/// What a set wants, each with the variant that there is, and whether that is as the set wrote it.
pub(super) fn targets<'a>(
    o: &'a Observed,
    uid: &Uid,
    ours: &BTreeMap<&ObjectName, &'a Arc<Existing>>,
    all: impl Iterator<Item = (&'a ObjectName, &'a VariantSpec, bool)>,
) -> Vec<Target<'a>> {
    let theirs: BTreeMap<&ObjectName, &'a Arc<Existing>> = o
        .variants
        .iter()
        .filter(|v| !v.meta.is_owned_by(uid) && !v.meta.is_deleting())
        .map(|v| (&v.key.name, v))
        .collect();
    all.map(|(name, wanted, is_written)| {
        let variant = ours.get(name).copied();
        let mark = uid_mark(name.as_str());
        let hash = wanted::spec(wanted);
        // What somebody else made of a variant is not the set's doing, whatever it comes to.
        let by_us = o.status.rollout.as_ref().is_none_or(|before| {
            let member = before.members.get(&mark);
            member.is_some_and(|m| m.spec == hash)
        });
        Target {
            name,
            mark,
            wanted,
            hash,
            variant,
            theirs: theirs.get(name).copied(),
            is_written: is_written && variant.is_some() && by_us,
            labels: o
                .repositories
                .get(&wanted.downstream.repo)
                .map(|r| &r.labels),
        }
    })
    .collect()
}

fn reached<'m>(members: &'m Members, mark: &UidMark) -> Option<&'m Member> {
    members.get(mark).filter(|member| member.step.is_some())
}

/// What decides on the step of a target, beside what its set remembers of it.
#[derive(Debug, Clone, Copy)]
pub struct MemberPlace<'a> {
    /// The name of its variant.
    pub name: &'a str,
    /// The uid of its variant; `None` before that is made.
    pub uid: Option<&'a str>,
    /// Whether the variant is as the set wants it.
    pub is_written: bool,
    /// The labels of its repository, where that is known.
    pub labels: Option<&'a Pairs>,
}

impl MemberPlace<'_> {
    /// Its place among those of a share.
    fn order(&self) -> String {
        wanted::order(self.uid.unwrap_or(self.name))
    }

    /// The first step whose selector matches.
    fn selected(&self, rollout: &Rollout) -> Option<usize> {
        let labels = self.labels?;
        rollout.steps.iter().position(|step| match &step.members {
            StepMembers::Selector(selector) => selector.matches(labels),
            StepMembers::Percent(_) | StepMembers::Rest => false,
        })
    }

    /// Whether a target was not there when the rollout began.
    fn is_late(&self, status: &RolloutStatus) -> bool {
        let mark = uid_mark(self.name);
        let known = status.awaited.contains(&mark) || status.members.contains_key(&mark);
        self.uid.is_none() && !known
    }
}

/// The step in which the present rollout reached a variant of the set, by the variant's name.
pub fn step_of<'s>(status: &'s RolloutStatus, variant: &str) -> Option<&'s str> {
    reached(&status.members, &uid_mark(variant))?
        .step
        .as_deref()
}

/// Whether the present rollout has not reached a variant of the set, or its step is closed again: what it has published is of
/// before, whatever it says of itself.
pub fn waits_for_step(status: &RolloutStatus, variant: &str) -> bool {
    if status.id.is_empty() || status.state == RolloutState::Complete {
        return false;
    }
    let Some(step) = step_of(status, variant) else {
        return true;
    };
    let at = |name: &str| status.steps.iter().position(|s| s.name == name);
    let current = status.step.as_deref().and_then(at);
    let behind = at(step).zip(current).is_some_and(|(at, now)| at > now);
    // What is taken back goes back from all steps at once.
    behind && status.state != RolloutState::Undone
}

/// Whether nothing that is open of a variant is to be approved now, since its step is closed; during an undo, what the rollout
/// brought is all of that kind but what goes back (F8).
pub fn is_early(status: &RolloutStatus, variant: &str) -> bool {
    let made = || {
        let member = status.members.get(&uid_mark(variant));
        member.is_some_and(|m| m.step.is_some() && m.before.is_none())
    };
    waits_for_step(status, variant) || (status.state == RolloutState::Undone && made())
}

/// The step of each variant of a set (F7), for whoever shows a rollout as the set's status has it. `None` where it is not
/// settled: a share is of targets that have no variant yet, too.
pub fn steps<'r>(
    rollout: &'r Rollout,
    status: &RolloutStatus,
    variants: &[MemberPlace<'_>],
) -> Vec<Option<&'r str>> {
    let shares = |step: &model::RolloutStep| matches!(step.members, StepMembers::Percent(_));
    let open = !status.awaited.is_empty() && rollout.steps.iter().any(shares);
    let found = place(rollout, status, variants.iter().copied());
    let both = variants.iter().zip(found);
    both.map(|(variant, step)| {
        let sure = step_of(status, variant.name).is_some() || variant.selected(rollout).is_some();
        let step = rollout.steps.get(step).filter(|_| sure || !open)?;
        Some(step.name.as_str())
    })
    .collect()
}

/// The step of each target, in the order of the targets.
///
/// What was reached stays where it was reached. A step whose members were all reached takes no other target that would
/// have to be written; what appears after the rollout began belongs to the last step.
pub(super) fn assign(
    rollout: &Rollout,
    status: &RolloutStatus,
    targets: &[Target<'_>],
) -> Vec<usize> {
    place(rollout, status, targets.iter().map(Target::place))
}

fn place<'a>(
    rollout: &Rollout,
    status: &RolloutStatus,
    targets: impl ExactSizeIterator<Item = MemberPlace<'a>>,
) -> Vec<usize> {
    let last = rollout.steps.len().saturating_sub(1);
    let known = |at: usize| status.steps.get(at);
    let frozen = |at: usize| known(at).is_some_and(|s| s.frozen);
    let mut steps = vec![last; targets.len()];
    let mut taken = vec![0_usize; rollout.steps.len()];
    let mut pool = Vec::new();
    for (i, target) in targets.enumerate() {
        let named = step_of(status, target.name);
        let at = named.and_then(|name| rollout.steps.iter().position(|s| s.name == name));
        let step = match (at, target.selected(rollout)) {
            (Some(at), _) => at,
            (None, _) if target.is_late(status) => last,
            (None, Some(at)) if frozen(at) && !target.is_written => last,
            (None, Some(at)) => at,
            (None, None) => {
                pool.push((target.order(), i, target.is_written));
                continue;
            }
        };
        put(&mut steps, &mut taken, i, step);
    }
    pool.sort();
    let mut placed = BTreeSet::new();
    let mut before = 0;
    for (at, step) in rollout.steps.iter().enumerate() {
        if let StepMembers::Percent(percent) = step.members {
            let upto = (status.total * usize::from(percent)).div_ceil(100);
            let here = taken.get(at).copied().unwrap_or_default();
            let mut room = upto.saturating_sub(before + here);
            for (_, i, is_written) in &pool {
                let fits = !frozen(at) || *is_written;
                if room > 0 && fits && placed.insert(*i) {
                    room -= 1;
                    put(&mut steps, &mut taken, *i, at);
                }
            }
        }
        let now = taken.get(at).copied().unwrap_or_default();
        let then = known(at).filter(|s| s.frozen).map_or(0, |s| s.members);
        before += now.max(then);
    }
    steps
}

fn put(steps: &mut [usize], taken: &mut [usize], target: usize, step: usize) {
    if let (Some(slot), Some(count)) = (steps.get_mut(target), taken.get_mut(step)) {
        *slot = step;
        *count += 1;
    }
}

/// The first step whose selector matches the labels of the target's repository.
pub(super) fn selected(rollout: &Rollout, target: &Target<'_>) -> Option<usize> {
    target.place().selected(rollout)
}
