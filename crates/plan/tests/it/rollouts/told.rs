//! What is said of a rollout: halts, steps and warnings.

use std::sync::Arc;

use model::{RolloutState, Standing};
use plan::set::{Observed, decide};

use super::{fleet, publish, publish_all, settle, state};
use crate::set::on_large_stack;

/// A halt whose cause is mended says so, and still waits for somebody.
#[test]
fn a_halt_that_is_mended_says_so() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        Arc::make_mut(&mut o.variants[1]).standing = Standing::Conflicts;
        settle(&mut o);
        let message = |o: &Observed| {
            o.status
                .rollout
                .as_ref()
                .expect("a rollout")
                .message
                .clone()
        };
        assert_eq!(message(&o), "1 member with conflicts, more than 0");
        publish(&mut o, 1);
        settle(&mut o);
        let wanted =
            "1 member with conflicts, more than 0; that is mended, and it waits for a retry";
        assert_eq!(
            (message(&o).as_str(), state(&o)),
            (wanted, RolloutState::Halted)
        );
    });
}

/// A step that is called otherwise is the step that it was, and so are its members.
#[test]
fn a_renamed_step_stays_the_step() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        publish(&mut o, 0);
        settle(&mut o);
        let before = o.status.rollout.clone().expect("a rollout");
        let plan::set::Subject::Valid { set, .. } = &mut o.set else {
            panic!("a set");
        };
        let rollout = Arc::make_mut(set).spec.rollout.as_mut().expect("a rollout");
        rollout.steps[0].name = "first".to_owned();
        settle(&mut o);
        let after = o.status.rollout.clone().expect("a rollout");
        assert_eq!((after.id, after.steps.len()), (before.id, 3));
        assert_eq!(after.steps[0].opened, before.steps[0].opened);
        assert_eq!((after.steps[0].members, after.steps[0].frozen), (2, true));
        assert_eq!(after.step.as_deref(), Some("first"));
        let steps = decide(&o).targets;
        assert!(steps.values().all(|step| step != "canary"), "{steps:?}");
        assert_eq!(o.variants.len(), 2);
    });
}

/// Steps that exchange their names, and exchange them back, are the steps that they were: none is done unseen.
#[test]
fn steps_that_exchange_their_names_keep_their_members() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        let steps = |o: &Observed| {
            let rollout = o.status.rollout.clone().expect("a rollout");
            let of = |s: &model::StepStatus| (s.opened, s.frozen, s.members);
            rollout.steps.iter().map(of).collect::<Vec<_>>()
        };
        let before = (steps(&o), o.variants.len());
        for _ in 0..2 {
            let plan::set::Subject::Valid { set, .. } = &mut o.set else {
                panic!("a set");
            };
            let rollout = Arc::make_mut(set).spec.rollout.as_mut().expect("a rollout");
            let (first, others) = rollout.steps.split_at_mut(1);
            std::mem::swap(&mut first[0].name, &mut others[0].name);
            settle(&mut o);
            assert_eq!((steps(&o), o.variants.len()), before);
        }
    });
}

/// After a start, a list may hold what was there long ago: no step is emptied by it, and none passed over.
#[test]
fn a_list_of_long_ago_empties_no_step() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        let (before, there) = (decide(&o).targets, o.variants.len());
        let (repositories, variants) = (o.repositories.clone(), o.variants.clone());
        o.repositories = Arc::default();
        o.variants.clear();
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Halted);
        (o.repositories, o.variants) = (repositories, variants);
        settle(&mut o);
        assert_eq!((decide(&o).targets, o.variants.len()), (before, there));
        for _ in 0..3 {
            publish_all(&mut o);
        }
        let rollout = o.status.rollout.as_ref().expect("a rollout");
        let counts: Vec<usize> = rollout.steps.iter().map(|s| s.members).collect();
        assert_eq!(
            (state(&o), counts),
            (RolloutState::Complete, vec![2, 3, 15])
        );
    });
}

/// Who ends with a step that names a part of the rest is told what comes of it.
#[test]
fn a_last_step_that_names_a_part_is_warned_of() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        let notes = |o: &Observed| format!("{:?}", decide(o).report.notes);
        assert!(!notes(&o).contains("the last step"), "{}", notes(&o));
        let plan::set::Subject::Valid { set, .. } = &mut o.set else {
            panic!("a set");
        };
        let rollout = Arc::make_mut(set).spec.rollout.as_mut().expect("a rollout");
        rollout.steps.pop();
        let wanted = "the last step 'quarter' has percent: 25, and takes every target";
        assert!(notes(&o).contains(wanted), "{}", notes(&o));
    });
}
