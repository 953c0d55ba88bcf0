//! Which step of the spec is which of those that are remembered (F7): a step is what it takes, whatever it is called by now.

use std::collections::BTreeMap;

use model::{Rollout, RolloutStatus, StepStatus};

use crate::digest::wanted;

/// Gives each step of the spec what is remembered of it, and what was reached in it the name that it has now. Names that
/// two steps exchange move with what they take: what was reached stays in its step, and the other is not taken for done.
pub(super) fn named(rollout: &Rollout, status: &mut RolloutStatus) {
    let old = std::mem::take(&mut status.steps);
    let mut left: Vec<Option<StepStatus>> = old.into_iter().map(Some).collect();
    let asked = rollout.steps.iter().map(|step| StepStatus {
        name: step.name.clone(),
        takes: wanted::members(&step.members),
        ..StepStatus::default()
    });
    let mut steps: Vec<(StepStatus, bool)> = asked.map(|step| (step, false)).collect();
    let mut names = BTreeMap::new();
    // What is the same in both comes first, then what is called otherwise, then what takes others.
    let same: [fn(&StepStatus, &StepStatus) -> bool; 3] = [
        |new, old| new.name == old.name && new.takes == old.takes,
        |new, old| new.takes == old.takes,
        |new, old| new.name == old.name,
    ];
    for same in same {
        for (step, found) in steps.iter_mut().filter(|(_, found)| !found) {
            let is_it =
                |old: &&mut Option<StepStatus>| old.as_ref().is_some_and(|old| same(step, old));
            let Some(was) = left.iter_mut().find(is_it).and_then(Option::take) else {
                continue;
            };
            names.insert(was.name.clone(), step.name.clone());
            let (name, takes) = (
                std::mem::take(&mut step.name),
                std::mem::take(&mut step.takes),
            );
            (*step, *found) = (StepStatus { name, takes, ..was }, true);
        }
    }
    status.steps = steps.into_iter().map(|(step, _)| step).collect();
    let now = |was: &mut Option<String>| {
        if let Some(name) = was.as_ref().and_then(|was| names.get(was)) {
            *was = Some(name.clone());
        }
    };
    now(&mut status.step);
    for member in status.members.values_mut() {
        now(&mut member.step);
    }
}
