//! Which target belongs to which step (F7).

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{MemberMark, ObjectName, Pairs, Rollout, RolloutStatus, StepMembers, Uid, VariantSpec};

use super::super::guard::uid_mark;
use super::super::observed::Existing;
use crate::digest::wanted;
use crate::variant::pinned;

/// A target that a set wants.
pub(super) struct Target<'a> {
    pub(super) name: &'a ObjectName,
    pub(super) wanted: &'a VariantSpec,
    /// Its variant, if the set has it.
    pub(super) variant: Option<&'a Arc<Existing>>,
    /// What a rollout wrote onto it.
    pub(super) mark: Option<MemberMark>,
    /// Whether its variant is as the set wants it.
    pub(super) is_written: bool,
    /// The labels of its repository.
    pub(super) labels: Option<&'a Pairs>,
}

impl Target<'_> {
    /// The mark of this rollout.
    pub(super) fn reached(&self, id: &str) -> Option<&MemberMark> {
        self.mark.as_ref().filter(|mark| mark.rollout == id)
    }

    fn place(&self) -> Place<'_> {
        Place {
            name: self.name.as_str(),
            uid: self
                .variant
                .map(|v| v.meta.uid.as_ref().map_or(self.name.as_str(), Uid::as_str)),
            mark: self.mark.as_ref(),
            is_written: self.is_written,
            labels: self.labels,
        }
    }
}

/// What decides on the step of a target.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The name of its variant.
    pub name: &'a str,
    /// The uid of its variant; `None` before that is made.
    pub uid: Option<&'a str>,
    /// What a rollout wrote onto the variant.
    pub mark: Option<&'a MemberMark>,
    /// Whether the variant is as the set wants it.
    pub is_written: bool,
    /// The labels of its repository, where that is known.
    pub labels: Option<&'a Pairs>,
}

impl<'a> Place<'a> {
    fn reached(&self, id: &str) -> Option<&'a MemberMark> {
        self.mark.filter(|mark| mark.rollout == id)
    }

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
        self.uid.is_none() && !status.awaited.contains(&uid_mark(self.name))
    }
}

/// The step of each variant of a set (F7), for whoever shows a rollout as the set's status has it. `None` where it is not
/// settled: a share is of targets that have no variant yet, too.
pub fn steps<'r>(
    rollout: &'r Rollout,
    status: &RolloutStatus,
    variants: &[Place<'_>],
) -> Vec<Option<&'r str>> {
    let shares = |step: &model::RolloutStep| matches!(step.members, StepMembers::Percent(_));
    let open = !status.awaited.is_empty() && rollout.steps.iter().any(shares);
    let found = place(rollout, status, variants.iter().copied());
    let both = variants.iter().zip(found);
    both.map(|(variant, step)| {
        let sure = variant.reached(&status.id).is_some() || variant.selected(rollout).is_some();
        let step = rollout.steps.get(step).filter(|_| sure || !open)?;
        Some(step.name.as_str())
    })
    .collect()
}

/// What a rollout wrote onto a variant.
pub(super) fn mark(variant: &Existing) -> Option<MemberMark> {
    pinned::mark(&variant.meta)
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
    targets: impl ExactSizeIterator<Item = Place<'a>>,
) -> Vec<usize> {
    let last = rollout.steps.len().saturating_sub(1);
    let known = |at: usize| status.steps.get(at);
    let frozen = |at: usize| known(at).is_some_and(|s| s.frozen);
    let mut steps = vec![last; targets.len()];
    let mut taken = vec![0_usize; rollout.steps.len()];
    let mut pool = Vec::new();
    for (i, target) in targets.enumerate() {
        let named = target.reached(&status.id).map(|mark| &mark.step);
        let at = named.and_then(|name| rollout.steps.iter().position(|s| s.name == *name));
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
