//! What of a rollout people are told as an event: that it began anew, a step that opened, and a state that needs somebody
//! or ends it.

use model::{RolloutState, RolloutStatus};

use crate::News;

/// What is news in a rollout that was written; steps and states alone, never counts.
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
    news
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
}
