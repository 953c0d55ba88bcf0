//! What halts a rollout does so in the look that first sees it: nothing else is written then (F7).

use std::sync::Arc;

use model::{RolloutState, Standing, Status};
use plan::set::{Existing, Observed, PAUSE, Plan, decide};

use super::{annotate, fleet, publish, settle, upstream};
use crate::set::on_large_stack;

/// What may befall a member, and what is said of it.
type Cause = (&'static str, fn(&mut Existing));

const CAUSES: [Cause; 3] = [
    ("with conflicts", |v| {
        v.standing = Standing::Conflicts;
        v.ready = (Status::False, "Conflicts".to_owned(), "2".to_owned());
    }),
    ("failed", |v| {
        v.standing = Standing::Failed;
        v.ready = (Status::False, "RenderFailed".to_owned(), "no".to_owned());
    }),
    ("rejected", |v| v.rejected = true),
];

fn befall(o: &mut Observed, at: usize, cause: fn(&mut Existing)) {
    let variant = Arc::make_mut(&mut o.variants[at]);
    variant.published = false;
    o.published.remove(&variant.key.name);
    cause(variant);
}

fn told(plan: &Plan) -> (RolloutState, String, Vec<bool>) {
    let rollout = plan.status.rollout.as_ref().expect("a rollout");
    let open = rollout.steps.iter().map(|s| s.opened.is_some());
    (rollout.state, rollout.message.clone(), open.collect())
}

/// One look at a step of which one member is in trouble.
#[test]
fn a_conflict_a_failure_and_a_rejection_halt_in_the_look_that_sees_them() {
    on_large_stack(|| {
        for (what, cause) in CAUSES {
            let mut o = fleet("");
            settle(&mut o);
            publish(&mut o, 0);
            befall(&mut o, 1, cause);
            let plan = decide(&o);
            let message = format!("1 member {what}, more than 0");
            let wanted = (RolloutState::Halted, message, vec![true, false, false]);
            assert_eq!(told(&plan), wanted);
            assert!(plan.steps.is_empty(), "{what}: {:?}", plan.steps);
            let condition = plan.status.condition("RolledOut").expect("a condition");
            let said = (condition.status, condition.reason.as_str());
            assert_eq!(said, (Status::False, "Halted"), "{what}");
        }
    });
}

/// The look sees at once that the step is filled and that a member of it is in trouble: a share that is enough opens nothing then.
#[test]
fn a_step_that_is_filled_by_its_share_halts_all_the_same_in_that_look() {
    on_large_stack(|| {
        for (what, cause) in CAUSES {
            let mut o = fleet(", \"share\": \"50\"");
            settle(&mut o);
            publish(&mut o, 0);
            befall(&mut o, 1, cause);
            let plan = decide(&o);
            assert_eq!(told(&plan).0, RolloutState::Halted, "{what}");
            assert_eq!(told(&plan).2, [true, false, false], "{what}");
            assert!(plan.steps.is_empty(), "{what}: {:?}", plan.steps);
        }
    });
}

/// Trouble of an earlier step halts while a later one is open, and each kind is counted for itself.
#[test]
fn trouble_in_an_earlier_step_halts_in_the_look_that_sees_it_unless_it_is_borne() {
    on_large_stack(|| {
        for (at, (what, cause)) in CAUSES.into_iter().enumerate() {
            let words = ["conflicts", "failed", "rejected"];
            for borne in [false, true] {
                let extra = format!(", \"{}\": \"{}\"", words[at], usize::from(borne));
                let mut o = fleet(&format!("{extra}, \"share\": \"50\""));
                settle(&mut o);
                publish(&mut o, 0);
                publish(&mut o, 1);
                settle(&mut o);
                assert_eq!(o.variants.len(), 5, "{what}");
                befall(&mut o, 1, cause);
                for at in 2..5 {
                    publish(&mut o, at);
                }
                let plan = decide(&o);
                let open = [true, true, borne];
                assert_eq!(told(&plan).2, open, "{what}, borne: {borne}");
                let halted = told(&plan).0 == RolloutState::Halted;
                assert_eq!(halted, !borne, "{what}");
            }
        }
    });
}

/// What was in trouble with the former version halts the next one neither: a rejection or a conflict is of one version.
#[test]
fn a_member_that_the_next_version_did_not_reach_halts_nothing() {
    on_large_stack(|| {
        let mut o = fleet("");
        for _ in 0..4 {
            for at in 0..o.variants.len() {
                publish(&mut o, at);
            }
            settle(&mut o);
        }
        upstream(&mut o, "two");
        settle(&mut o);
        // Of the last step, which is closed.
        for (_, cause) in CAUSES {
            let last = o.variants.len() - 1;
            befall(&mut o, last, cause);
            let plan = decide(&o);
            assert_eq!(told(&plan).0, RolloutState::Progressing);
        }
    });
}

/// Where something else is wanted amid a rollout, the steps that were open are walked once more: a pause and a halt hold the
/// next one as they would have held it the first time.
#[test]
fn a_step_that_was_open_before_is_held_like_any_other() {
    on_large_stack(|| {
        let reopened = |held: fn(&mut Observed)| {
            let mut o = fleet("");
            settle(&mut o);
            publish(&mut o, 0);
            publish(&mut o, 1);
            settle(&mut o);
            assert_eq!(o.variants.len(), 5, "the second step is open");
            // What is wanted changed: nothing of it is published in the first step.
            for at in 0..2 {
                Arc::make_mut(&mut o.variants[at]).published = false;
            }
            settle(&mut o);
            held(&mut o);
            settle(&mut o);
            for at in 0..2 {
                publish(&mut o, at);
            }
            settle(&mut o);
            let rollout = o.status.rollout.as_ref().expect("a rollout");
            (rollout.step.clone(), rollout.state)
        };
        let step = |name: &str| Some(name.to_owned());
        let free = reopened(|_| {});
        assert_eq!(free, (step("quarter"), RolloutState::Progressing));
        let paused = reopened(|o| annotate(o, PAUSE, "yes"));
        assert_eq!(paused, (step("canary"), RolloutState::Paused));
        let halted = reopened(|o| {
            befall(o, 0, |v| v.rejected = true);
            settle(o);
            befall(o, 0, |v| v.rejected = false);
        });
        assert_eq!(halted, (step("canary"), RolloutState::Halted));
    });
}

/// The set asks for another version and for the first one again while a member of that is in trouble: the rollout is another
/// one, and what is still so halts it before another step opens, also where a share is enough.
#[test]
fn a_way_there_and_back_ends_no_halt_whose_cause_is_still_there() {
    on_large_stack(|| {
        for (what, cause) in CAUSES {
            there_and_back(false, what, cause);
            there_and_back(true, what, cause);
        }
    });
}

/// Where others are in flight, nothing of the version between is remembered.
fn there_and_back(paced: bool, what: &str, cause: fn(&mut Existing)) {
    let mut o = fleet(", \"share\": \"50\"");
    upstream(&mut o, "one");
    settle(&mut o);
    publish(&mut o, 0);
    befall(&mut o, 1, cause);
    settle(&mut o);
    let id = |o: &Observed| o.status.rollout.as_ref().expect("a rollout").id.clone();
    let before = id(&o);
    if paced {
        let plan::set::Subject::Valid { set, .. } = &mut o.set else {
            panic!("a set");
        };
        Arc::make_mut(set).spec.max_in_flight = Some(1);
        Arc::make_mut(&mut o.variants[0]).ready.0 = Status::Unknown;
    }
    upstream(&mut o, "two");
    o.status = decide(&o).status;
    assert_ne!(id(&o), before);
    upstream(&mut o, "one");
    for look in 0..4 {
        let plan = decide(&o);
        assert_eq!(told(&plan).2, [true, false, false], "{what}, look {look}");
        // Where another version is remembered, this one is remembered first.
        if paced || look > 0 {
            assert_eq!(told(&plan).0, RolloutState::Halted, "{what}, look {look}");
        }
        o.status = plan.status;
    }
    assert_ne!(id(&o), before);
}

/// What was in trouble with the former version is written first: only what is in trouble then halts.
#[test]
fn trouble_with_the_former_version_does_not_halt_the_step_that_ends_it() {
    on_large_stack(|| {
        let mut o = fleet("");
        upstream(&mut o, "one");
        settle(&mut o);
        publish(&mut o, 0);
        befall(&mut o, 1, CAUSES[0].1);
        settle(&mut o);
        assert_eq!(told(&decide(&o)).0, RolloutState::Halted);
        upstream(&mut o, "two");
        settle(&mut o);
        let plan = decide(&o);
        assert_eq!(
            told(&plan).0,
            RolloutState::Progressing,
            "{:?}",
            told(&plan)
        );
    });
}

/// A share that is published ends the last step, and no halt: somebody asks for another try first.
#[test]
fn what_halts_in_the_last_step_is_not_rolled_out_before_a_retry() {
    on_large_stack(|| {
        for (what, cause) in CAUSES {
            let mut o = fleet(", \"share\": \"50\"");
            settle(&mut o);
            for upto in [2, 5, 19] {
                (0..upto).for_each(|at| publish(&mut o, at));
                if upto < 19 {
                    settle(&mut o);
                }
            }
            assert_eq!(o.variants.len(), 20, "the last step is open");
            befall(&mut o, 19, cause);
            settle(&mut o);
            assert_eq!(told(&decide(&o)).0, RolloutState::Halted, "{what}");
            Arc::make_mut(&mut o.variants[19]).rejected = false;
            publish(&mut o, 19);
            settle(&mut o);
            let (state, message, _) = told(&decide(&o));
            assert_eq!(state, RolloutState::Halted, "{what}");
            assert!(message.contains("waits for a retry"), "{message}");
            annotate(&mut o, plan::set::RETRY, "1");
            settle(&mut o);
            assert_eq!(told(&decide(&o)).0, RolloutState::Complete, "{what}");
        }
    });
}
