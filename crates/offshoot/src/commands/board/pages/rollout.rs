//! The rollout of a set: how its steps stand, and the commands that hold it, go on, or take it back. The page writes
//! nothing itself.

use maud::{Markup, html};
use model::{RolloutState, RolloutStatus};

use super::layout::command;

/// The part of a set's card.
pub(super) fn part(set: &str, rollout: &RolloutStatus, scope: &str) -> Markup {
    let open = rollout.current().map(|(at, _)| at);
    let line = |verb: &str| command(&format!("offshoot rollout {verb} {set}{scope}"));
    html! {
        h3 { "Rollout: " (rollout.progress()) }
        @if !rollout.message.is_empty() { p { (rollout.message) } }
        table {
            thead { tr { th scope="col" { "Step" } th scope="col" { "Published" } th scope="col" { "Besides" } } }
            tbody {
                @for (at, step) in rollout.steps.iter().enumerate() {
                    tr aria-current=[(open == Some(at)).then_some("step")] {
                        th scope="row" { (step.name) }
                        td { @if step.opened.is_some() { (step.published) " of " (step.members) } @else { "closed" } }
                        td { (step.besides()) }
                    }
                }
            }
        }
        @for verb in verbs(rollout) { (line(verb)) }
    }
}

/// What can be said to a rollout as it stands.
fn verbs(rollout: &RolloutStatus) -> &'static [&'static str] {
    match rollout.state {
        RolloutState::Progressing | RolloutState::Soaking => &["status", "pause", "undo"],
        RolloutState::Halted => &["status", "retry", "undo"],
        RolloutState::Paused => &["status", "resume", "undo"],
        RolloutState::Undone => &["status", "resume"],
        RolloutState::Complete => &["status", "undo"],
    }
}

#[cfg(test)]
mod tests {
    use model::StepStatus;

    use super::*;

    #[test]
    fn a_halted_rollout_shows_its_steps_and_what_ends_the_halt() {
        let rollout = RolloutStatus {
            id: "2-4f1d0c2a97".to_owned(),
            state: RolloutState::Halted,
            message: "1 member(s) <with> conflicts".to_owned(),
            steps: vec![
                StepStatus {
                    name: "canary".to_owned(),
                    opened: Some(1),
                    members: 2,
                    published: 1,
                    conflicts: 1,
                    ..StepStatus::default()
                },
                StepStatus {
                    name: "rest".to_owned(),
                    ..StepStatus::default()
                },
            ],
            ..RolloutStatus::default()
        };
        let page = part("web", &rollout, " -n shop").into_string();
        for shown in [
            "Rollout: canary 1/2, 1 of 2, halted",
            "&lt;with&gt;",
            "<tr aria-current=\"step\"><th scope=\"row\">canary</th><td>1 of 2</td><td>conflicts 1</td>",
            "<th scope=\"row\">rest</th><td>closed</td>",
            "offshoot rollout retry web -n shop",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(!page.contains("rollout resume"), "{page}");
    }
}
