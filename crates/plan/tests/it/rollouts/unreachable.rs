//! A step whose members are partly out of reach or gone (F7): they count neither way, and the share is of those that are left.

use std::sync::Arc;

use model::{RolloutState, Status, StepStatus};
use plan::set::{Observed, decide};

use super::{commit_of, publish, settle, state, upstream};
use crate::set::{observed, on_large_stack};
use crate::wire::{Json, commit};

/// How many members the first step has; one target is behind it.
const MEMBERS: usize = 100;

/// A set in two steps, the first of a hundred, of which so many per cent are enough; all of them are made.
fn hundred(share: usize) -> Observed {
    let mut repositories = serde_json::Map::new();
    for at in 0..=MEMBERS {
        let ring = if at < MEMBERS { "0" } else { "1" };
        let labels = serde_json::json!({"labels": {"all": "yes", "ring": ring}});
        repositories.insert(format!("edge-{at:03}"), labels);
    }
    let world = serde_json::json!({
        "set": {
            "targets": [{"labels": {"all": "yes"}}],
            "rollout": {"steps": ["most ring=0", "rest"], "share": share.to_string()},
        },
        "repositories": repositories,
    });
    let mut o = observed(&Json(world));
    settle(&mut o);
    assert_eq!(o.variants.len(), MEMBERS);
    o
}

fn says(o: &mut Observed, at: usize, reason: &str) {
    let variant = Arc::make_mut(&mut o.variants[at]);
    variant.ready = (Status::False, reason.to_owned(), "told".to_owned());
}

/// The last members: none of them is published before the others.
fn away(o: &mut Observed, count: usize) {
    for at in MEMBERS - count..MEMBERS {
        says(o, at, "RepositoryNotReady");
    }
}

fn first(o: &Observed) -> StepStatus {
    let rollout = o.status.rollout.as_ref().expect("a rollout");
    rollout.steps[0].clone()
}

fn is_open(o: &Observed) -> bool {
    let rollout = o.status.rollout.as_ref().expect("a rollout");
    rollout.steps[1].opened.is_some()
}

/// How many publications open the next step: each is tried, and none before opens it.
fn needed(share: usize, unreachable: usize) -> usize {
    let mut o = hundred(share);
    away(&mut o, unreachable);
    settle(&mut o);
    for count in 0..=MEMBERS - unreachable {
        if is_open(&o) {
            return count;
        }
        publish(&mut o, count);
        // One look alone.
        o.status = decide(&o).status;
    }
    assert!(is_open(&o), "{share} of {unreachable}: {:?}", first(&o));
    MEMBERS - unreachable
}

/// Five of a hundred that are out of reach do not hold up the other 95, and are not taken for published either.
#[test]
fn five_of_a_hundred_that_are_out_of_reach_do_not_hold_up_the_others() {
    on_large_stack(|| {
        let mut o = hundred(95);
        away(&mut o, 5);
        for at in 0..90 {
            publish(&mut o, at);
        }
        settle(&mut o);
        let step = first(&o);
        assert_eq!(
            (step.members, step.published, step.unreachable),
            (100, 90, 5)
        );
        assert!(!is_open(&o), "90 of 95 are less than 95 of a hundred");
        publish(&mut o, 90);
        settle(&mut o);
        assert!(is_open(&o));
        assert_eq!(state(&o), RolloutState::Progressing);
        // They are back, and 91 of a hundred are too few: what is open stays open, and no other target is written.
        for at in 95..MEMBERS {
            says(&mut o, at, "NoErrors");
        }
        settle(&mut o);
        let step = first(&o);
        assert_eq!(
            (step.published, step.unreachable, step.filled),
            (91, 0, None)
        );
        assert!(is_open(&o));
        for at in 91..95 {
            publish(&mut o, at);
        }
        settle(&mut o);
        assert!(first(&o).filled.is_some(), "95 of a hundred are enough");
    });
}

/// The share is of those that are left, rounded up: never less than asked for.
#[test]
fn a_share_of_those_that_are_left_is_rounded_up() {
    on_large_stack(|| {
        // Share, out of reach, and what is enough.
        let cases = [
            (95, 0, 95),
            (95, 1, 95),  // of 99: 94.05
            (95, 5, 91),  // of 95: 90.25
            (95, 20, 76), // of 80: 76 exactly
            (95, 80, 19), // of 20: 19 exactly
            (95, 81, 19), // of 19: 18.05
            (95, 99, 1),  // of 1: 0.95
            (100, 5, 95),
            (50, 1, 50), // of 99: 49.5
            (1, 0, 1),
            (1, 50, 1), // of 50: 0.5
        ];
        for (share, unreachable, enough) in cases {
            let told = format!("{share} per cent, {unreachable} out of reach");
            assert_eq!(needed(share, unreachable), enough, "{told}");
        }
    });
}

/// Also those whose deletion stands; with none left the rollout halts, and says of how many.
#[test]
fn a_step_of_which_nobody_is_left_halts() {
    on_large_stack(|| {
        let mut o = hundred(95);
        away(&mut o, 60);
        for at in 0..39 {
            says(&mut o, at, "DownstreamDeletionProposed");
        }
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Progressing, "one is left");
        says(&mut o, 39, "DownstreamDeleted");
        settle(&mut o);
        let rollout = o.status.rollout.as_ref().expect("a rollout");
        let wanted = "no member of step 'most' is left: deleted 40, unreachable 60";
        assert_eq!(
            (rollout.state, rollout.message.as_str()),
            (RolloutState::Halted, wanted)
        );
        assert!(!is_open(&o));
        // It goes on by itself once one is back.
        says(&mut o, 0, "NoErrors");
        publish(&mut o, 0);
        settle(&mut o);
        assert!(is_open(&o));
    });
}

/// Another rollout begins while some are out of reach: they are written as all others of their step, and hold nobody up.
#[test]
fn a_rollout_that_begins_while_some_are_out_of_reach_goes_on_without_them() {
    on_large_stack(|| {
        let mut o = hundred(95);
        upstream(&mut o, "one");
        settle(&mut o);
        for at in 0..MEMBERS {
            publish(&mut o, at);
        }
        settle(&mut o);
        publish(&mut o, MEMBERS);
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Complete);
        away(&mut o, 5);
        settle(&mut o);
        assert_eq!(
            state(&o),
            RolloutState::Complete,
            "what was done stays done"
        );
        upstream(&mut o, "two");
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Progressing);
        let at_two = |o: &Observed| {
            let all = (0..=MEMBERS).filter(|at| commit_of(o, *at) == Some(commit("two")));
            all.count()
        };
        assert_eq!(at_two(&o), MEMBERS, "the whole step, the unreachable too");
        away(&mut o, 5);
        for at in 0..90 {
            publish(&mut o, at);
        }
        settle(&mut o);
        let step = first(&o);
        assert_eq!((step.published, step.unreachable), (90, 5));
        assert_eq!(at_two(&o), MEMBERS);
        publish(&mut o, 90);
        settle(&mut o);
        assert_eq!(at_two(&o), MEMBERS + 1);
    });
}
