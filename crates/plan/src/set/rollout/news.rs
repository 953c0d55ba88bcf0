//! What of a rollout people are told as an event: that it began anew, a step that opened, and a state that needs somebody
//! or ends it, and what somebody did ahead of it or in its way.

use model::{RolloutState, RolloutStatus};

use crate::News;

/// What is news in a rollout that was written; steps, states and names, never counts alone.
pub(in super::super) fn news(
    before: Option<&RolloutStatus>,
    after: Option<&RolloutStatus>,
) -> Vec<News> {
    let Some(after) = after else {
        return Vec::new();
    };
    let mut news = Vec::new();
    let mut tell = |warning, reason: &str, message: String| {
        news.push(News {
            warning,
            reason: reason.to_owned(),
            message: format!("rollout {}: {message}", after.id),
        });
    };
    let going = before.filter(|b| b.id != after.id && !b.complete && !b.steps.is_empty());
    if let Some(old) = going {
        let message = format!(
            "it takes the place of rollout {}, which was not complete",
            old.id
        );
        tell(false, "RolloutRestarted", message);
    }
    let same = before.filter(|b| b.id == after.id);
    for step in after.steps.iter().filter(|s| s.opened.is_some()) {
        let known = |b: &&RolloutStatus| {
            let opened = |old: &model::StepStatus| old.name == step.name && old.opened.is_some();
            b.steps.iter().any(opened)
        };
        if same.filter(known).is_none() {
            let message = format!("step '{}' is open, members {}", step.name, step.members);
            tell(false, "RolloutStepOpened", message);
        }
    }
    let was = same.map(|b| (b.state, b.halted.as_ref()));
    if was != Some((after.state, after.halted.as_ref())) {
        match after.state {
            RolloutState::Halted => tell(true, "RolloutHalted", after.message.clone()),
            RolloutState::Undone => tell(true, "RolloutUndone", after.message.clone()),
            RolloutState::Complete => {
                tell(false, "RolloutComplete", "every step is done".to_owned())
            }
            RolloutState::Progressing | RolloutState::Soaking | RolloutState::Paused => {}
        }
    }
    if let Some(message) = newly(same, after, RolloutStatus::diverged, |s| &s.diverged) {
        tell(true, "RolloutDiverged", message);
    }
    if let Some(message) = newly(same, after, RolloutStatus::taken, |s| &s.taken) {
        tell(true, "RolloutNameTaken", message);
    }
    news
}

/// What is told of members, where a name came to those that were told of before.
fn newly(
    before: Option<&RolloutStatus>,
    after: &RolloutStatus,
    told: fn(&RolloutStatus) -> Option<String>,
    names: fn(&RolloutStatus) -> &Vec<String>,
) -> Option<String> {
    let known = |name: &&String| before.is_some_and(|b| names(b).contains(*name));
    let is_new = names(after).iter().any(|name| !known(&name));
    told(after).filter(|_| is_new)
}

#[cfg(test)]
mod tests {
    use model::StepStatus;

    use super::*;

    fn status(id: &str, state: RolloutState, open: usize) -> RolloutStatus {
        let step = |at: usize| StepStatus {
            name: format!("step-{at}"),
            opened: (at < open).then_some(7),
            ..StepStatus::default()
        };
        RolloutStatus {
            id: id.to_owned(),
            state,
            steps: (0..3).map(step).collect(),
            message: "why".to_owned(),
            ..RolloutStatus::default()
        }
    }

    fn reasons(before: &RolloutStatus, after: &RolloutStatus) -> Vec<String> {
        let told = news(Some(before), Some(after)).into_iter();
        told.map(|n| n.reason).collect()
    }

    #[test]
    fn a_step_that_opens_a_halt_and_an_end_are_told_once() {
        use RolloutState::{Complete, Halted, Progressing, Soaking};
        let first = status("a", Progressing, 1);
        assert_eq!(news(None, Some(&first)).len(), 1);
        assert!(reasons(&first, &first).is_empty());
        assert!(reasons(&first, &status("a", Soaking, 1)).is_empty());
        let second = status("a", Progressing, 2);
        assert_eq!(reasons(&first, &second), ["RolloutStepOpened"]);
        let halted = status("a", Halted, 2);
        assert_eq!(reasons(&second, &halted), ["RolloutHalted"]);
        assert!(reasons(&halted, &halted).is_empty());
        let other = ["RolloutRestarted", "RolloutStepOpened"];
        assert_eq!(reasons(&halted, &status("b", Progressing, 1)), other);
        let done = status("a", Complete, 2);
        assert_eq!(reasons(&second, &done), ["RolloutComplete"]);
        assert!(news(Some(&done), None).is_empty());
    }

    /// However many members are back by now; a name is news where it was not told of before.
    #[test]
    fn an_undo_and_each_name_that_another_variant_has_are_told_once() {
        use RolloutState::{Progressing, Undone};
        let going = status("a", Progressing, 2);
        let undone = status("a", Undone, 2);
        let told = news(Some(&going), Some(&undone));
        let told = told.first().map(|n| (n.warning, n.message.as_str()));
        assert_eq!(told, Some((true, "rollout a: why")));
        assert_eq!(reasons(&going, &undone), ["RolloutUndone"]);
        let mut further = undone.clone();
        further.message = "2 of 2 members are published as they were before".to_owned();
        assert!(reasons(&undone, &further).is_empty());
        // Resumed and taken back again: somebody did something.
        assert_eq!(reasons(&going, &further), ["RolloutUndone"]);
        let taken = |names: &[&str]| RolloutStatus {
            taken: names.iter().map(ToString::to_string).collect(),
            ..going.clone()
        };
        let (one, two) = (taken(&["x"]), taken(&["x", "y"]));
        assert_eq!(reasons(&going, &one), ["RolloutNameTaken"]);
        assert!(reasons(&one, &one).is_empty());
        assert_eq!(reasons(&one, &two), ["RolloutNameTaken"]);
        assert!(reasons(&two, &one).is_empty());
    }
}
