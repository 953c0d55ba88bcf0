//! Which target belongs to which step (F7).

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{MemberMark, ObjectName, Pairs, Rollout, RolloutStatus, StepMembers, VariantSpec};

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

    /// Its place among those of a share.
    fn order(&self) -> String {
        let uid = self.variant.and_then(|v| v.meta.uid.as_ref());
        wanted::order(uid.map_or(self.name.as_str(), |uid| uid.as_str()))
    }
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
    let last = rollout.steps.len().saturating_sub(1);
    let known = |at: usize| status.steps.get(at);
    let frozen = |at: usize| known(at).is_some_and(|s| s.frozen);
    let mut steps = vec![last; targets.len()];
    let mut taken = vec![0_usize; rollout.steps.len()];
    let mut pool = Vec::new();
    for (i, target) in targets.iter().enumerate() {
        let named = target.reached(&status.id).map(|mark| &mark.step);
        let at = named.and_then(|name| rollout.steps.iter().position(|s| s.name == *name));
        let step = match (at, selected(rollout, target)) {
            (Some(at), _) => at,
            (None, _) if is_late(status, target) => last,
            (None, Some(at)) if frozen(at) && !target.is_written => last,
            (None, Some(at)) => at,
            (None, None) => {
                pool.push((target.order(), i));
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
            for (_, i) in &pool {
                let fits = !frozen(at) || targets.get(*i).is_some_and(|t| t.is_written);
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
    let labels = target.labels?;
    rollout.steps.iter().position(|step| match &step.members {
        StepMembers::Selector(selector) => selector.matches(labels),
        StepMembers::Percent(_) | StepMembers::Rest => false,
    })
}

/// Whether a target was not there when the rollout began.
fn is_late(status: &RolloutStatus, target: &Target<'_>) -> bool {
    target.variant.is_none() && !status.awaited.contains(&uid_mark(target.name.as_str()))
}
