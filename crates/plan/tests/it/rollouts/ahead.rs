//! What people do ahead of a step or in its way, and what is offered to them meanwhile (F7, F8).

use std::sync::Arc;

use model::{Lifecycle, RolloutState, RolloutStatus, SetStatus, Standing};
use plan::set::{Observed, Published, UNDO, decide, news, waits};

use super::by_hand::{LATE, by_hand, waiting};
use super::{FLEET, annotate, carry_out, fleet, publish, publish_all, settle, state, upstream};
use crate::set::on_large_stack;
use crate::wire::commit;

fn status(o: &Observed) -> RolloutStatus {
    o.status.rollout.clone().expect("a rollout")
}

/// An open revision of a variant, of this upstream commit.
fn open(o: &mut Observed, at: usize, lifecycle: Lifecycle, of: &str) {
    let variant = Arc::make_mut(&mut o.variants[at]);
    variant.lifecycle = Some(lifecycle);
    variant.holds = Some(commit(of));
    variant.standing = match lifecycle {
        Lifecycle::Proposed => Standing::Proposed,
        _ => Standing::Draft,
    };
}

/// Somebody approves a draft, whatever the rollout says.
fn approve(o: &mut Observed, at: usize, of: &str, then: &str) {
    let variant = Arc::make_mut(&mut o.variants[at]);
    variant.lifecycle = Some(Lifecycle::Published);
    variant.standing = Standing::UpToDate;
    let published = Published {
        commit: commit(of),
        at: Some(o.now),
        then: Some(commit(then)),
        earlier: None,
    };
    o.published.insert(variant.key.name.clone(), published);
}

fn name(o: &Observed, at: usize) -> String {
    o.variants[at].key.name.to_string()
}

fn asked(o: &Observed) -> String {
    waits(o, &decide(o))
}

/// The reasons of what is told of a set whose status was this.
fn told(before: &SetStatus, o: &mut Observed) -> Vec<(String, String)> {
    let after = o.status.clone();
    o.status = before.clone();
    let plan = decide(o);
    o.status = after.clone();
    let all = news(before, &after, &plan, &[]);
    all.into_iter().map(|n| (n.reason, n.message)).collect()
}

/// It is told at once, also while the step is closed, and what was published before the rollout began is nobody's doing.
#[test]
fn what_is_published_ahead_of_a_step_is_told_at_once() {
    on_large_stack(|| {
        let mut o = waiting();
        assert_eq!(status(&o).diverged(), None);
        // The same commit again, of other inputs, is not ahead of anything.
        o.now += 10;
        approve(&mut o, LATE - 1, "one", "one");
        settle(&mut o);
        assert_eq!(status(&o).diverged(), None);
        let before = o.status.clone();
        approve(&mut o, LATE, "two", "one");
        settle(&mut o);
        let rollout = status(&o);
        assert_eq!(rollout.diverged, [name(&o, LATE)]);
        assert_eq!(rollout.steps[2].diverged, 1);
        assert!(
            rollout.steps[2].opened.is_some_and(|at| at < rollout.began)
                || rollout.steps[2].opened.is_none()
        );
        let events = told(&before, &mut o);
        let wanted = format!(
            "published what the rollout did not bring: {}",
            name(&o, LATE)
        );
        let event = events
            .iter()
            .find(|(reason, _)| reason == "RolloutDiverged");
        assert!(
            event.is_some_and(|(_, m)| m.contains(&wanted)),
            "{events:?}"
        );
        assert!(told(&o.status.clone(), &mut o).is_empty(), "told once");
        // Nor does it go back with the others.
        let id = status(&o).id;
        annotate(&mut o, UNDO, &id);
        settle(&mut o);
        assert_eq!(status(&o).diverged, [name(&o, LATE)]);
        assert_eq!(status(&o).steps[2].diverged, 1);
    });
}

/// A clock was an hour ahead while the first upstream was published, and is right again.
#[test]
fn what_was_published_before_a_rollout_is_no_divergence_whatever_the_clock_said() {
    on_large_stack(|| {
        let mut o = fleet("");
        upstream(&mut o, "one");
        settle(&mut o);
        for _ in 0..4 {
            publish_all(&mut o);
        }
        o.variants.sort_by(|a, b| a.key.name.cmp(&b.key.name));
        for published in o.published.values_mut() {
            published.at = published.at.map(|at| at + 3_600);
        }
        upstream(&mut o, "two");
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Progressing);
        assert_eq!(status(&o).diverged(), None);
        assert!(status(&o).steps.iter().all(|step| step.diverged == 0));
        // What follows is told once the clock has caught up.
        o.now += 7_200;
        approve(&mut o, LATE, "other", "one");
        settle(&mut o);
        assert_eq!(status(&o).diverged, [name(&o, LATE)]);
    });
}

#[test]
fn a_last_step_that_is_open_is_not_up_to_date() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        while o.variants.len() < FLEET {
            publish_all(&mut o);
        }
        assert_eq!(state(&o), RolloutState::Progressing);
        let plan = decide(&o);
        assert_eq!(plan.report.state, "rolling out");
        assert_eq!(plan.status.words(), "rolling out");
        publish_all(&mut o);
        assert_eq!(decide(&o).report.state, "up to date");
    });
}

/// A spec that changes amid a rollout closes a step again: its drafts are of this very rollout.
#[test]
fn nothing_of_a_closed_step_is_offered_for_approval() {
    on_large_stack(|| {
        let mut o = waiting();
        for at in 0..2 {
            publish(&mut o, at);
        }
        settle(&mut o);
        let second = (0..FLEET).filter(|at| super::commit_of(&o, *at) == Some(commit("two")));
        let second: Vec<usize> = second.filter(|at| *at >= 2).collect();
        assert_eq!(second.len(), 3);
        for at in &second {
            open(&mut o, *at, Lifecycle::Draft, "two");
        }
        settle(&mut o);
        let set = "hint: offshoot rpkg propose -l offshoot.dev/set=fan\n";
        assert!(asked(&o).contains(set), "{}", asked(&o));
        // Somebody publishes something else of a canary: the second step is closed again.
        let other = Published {
            commit: commit("other"),
            at: Some(1),
            then: None,
            earlier: None,
        };
        let canary = o.variants[0].key.name.clone();
        o.published.insert(canary, other);
        open(&mut o, 0, Lifecycle::Draft, "two");
        settle(&mut o);
        let text = asked(&o);
        let first = name(&o, 0);
        let only = format!("hint: offshoot rpkg propose -l 'offshoot.dev/variant in ({first})'");
        assert!(text.contains(&only), "{text}");
        let closed = "- 3 with an open revision whose step of the rollout is closed: ";
        assert!(text.contains(closed), "{text}");
        let notes = format!("{:?}", decide(&o).report.notes);
        assert!(!notes.contains("earlier rollout"), "{notes}");
        assert!(
            notes.contains("approved now, it goes ahead of the step"),
            "{notes}"
        );
    });
}

/// A proposed deletion of a package that the rollout still has is in no command for all.
#[test]
fn a_deletion_of_what_the_rollout_still_has_is_offered_by_itself() {
    on_large_stack(|| {
        let mut o = waiting();
        let id = status(&o).id;
        annotate(&mut o, UNDO, &id);
        settle(&mut o);
        for at in [0, LATE] {
            let variant = Arc::make_mut(&mut o.variants[at]);
            variant.lifecycle = Some(Lifecycle::DeletionProposed);
            variant.standing = Standing::DeletionProposed;
        }
        let text = asked(&o);
        let kept = format!(
            "- 2 with a deletion to approve of what the rollout still has; `offshoot why pvar/NAME` has the way out of each: {}, {}",
            name(&o, 0),
            name(&o, LATE)
        );
        assert!(text.contains(&kept) && !text.contains("rpkg del"), "{text}");
        // What is on its way out is decided with the others.
        let meta = &mut Arc::make_mut(&mut o.variants[LATE]).meta;
        Arc::make_mut(meta).deleted = Some("2026-01-31T12:00:00Z".to_owned());
        let text = asked(&o);
        let only = format!("rpkg del -l 'offshoot.dev/variant in ({})'", name(&o, LATE));
        assert!(text.contains(&only), "{text}");
        // One that was made anew, and has not found its package yet, is not taken along by the command for the other.
        Arc::make_mut(&mut o.variants[0]).standing = Standing::Unknown;
        let text = asked(&o);
        assert!(text.contains(&only), "{text}");
    });
}

/// The condition sums up what variants say, and these do not know of steps.
#[test]
fn the_condition_offers_nothing_whose_step_is_closed() {
    on_large_stack(|| {
        let mut o = waiting();
        let says = |o: &Observed| {
            let condition = o.status.condition("VariantsReady").expect("a condition");
            condition.message.clone()
        };
        let hint = |at: usize| {
            format!("waits, but; `offshoot rpkg approve draft-{at}` publishes it as it is")
        };
        for at in [0, LATE] {
            open(&mut o, at, Lifecycle::Proposed, "two");
            let variant = Arc::make_mut(&mut o.variants[at]);
            variant.ready = (
                model::Status::False,
                "WaitingForApproval".to_owned(),
                hint(at),
            );
        }
        settle(&mut o);
        let early = |why: &str, at: usize| {
            format!(
                "'{}': WaitingForApproval: not to be approved now: {why}",
                name(&o, at)
            )
        };
        let closed = early("its step of the rollout is closed", LATE);
        let other = early("it is of another version than the rollout wants", 0);
        let told = says(&o);
        assert!(told.contains(&hint(0)), "{told}");
        assert!(
            told.contains(&closed) && !told.contains(&hint(LATE)),
            "{told}"
        );
        // Also where the set is suspended, and where nothing can be told of its steps.
        let plan::set::Subject::Valid { set, templates } = &mut o.set else {
            panic!("a set");
        };
        Arc::make_mut(set).spec.suspend = true;
        let good = Arc::clone(templates);
        settle(&mut o);
        assert!(says(&o).contains(&closed), "{}", says(&o));
        let plan::set::Subject::Valid { set, templates } = &mut o.set else {
            panic!("a set");
        };
        Arc::make_mut(set).spec.suspend = false;
        *templates = Arc::new(Err(Vec::new()));
        o.status = decide(&o).status;
        assert!(!says(&o).contains("rpkg approve"), "{}", says(&o));
        let plan::set::Subject::Valid { templates, .. } = &mut o.set else {
            panic!("a set");
        };
        *templates = good;
        let id = status(&o).id;
        annotate(&mut o, UNDO, &id);
        // What was written lately keeps its proposal.
        carry_out(&mut o);
        carry_out(&mut o);
        open(&mut o, 0, Lifecycle::Proposed, "two");
        let ready = (
            model::Status::False,
            "WaitingForApproval".to_owned(),
            hint(0),
        );
        Arc::make_mut(&mut o.variants[0]).ready = ready;
        settle(&mut o);
        assert!(
            says(&o).contains(&other) && !says(&o).contains("rpkg approve"),
            "{}",
            says(&o)
        );
    });
}

/// During an undo, what is taken back is offered to nobody; what takes it back is.
#[test]
fn an_undo_offers_what_goes_back_alone() {
    on_large_stack(|| {
        let mut o = waiting();
        open(&mut o, 0, Lifecycle::Proposed, "two");
        open(&mut o, 1, Lifecycle::Proposed, "two");
        settle(&mut o);
        assert!(asked(&o).contains("rpkg approve -l offshoot.dev/set=fan\n"));
        let id = status(&o).id;
        annotate(&mut o, UNDO, &id);
        // What was written lately keeps its proposal.
        carry_out(&mut o);
        carry_out(&mut o);
        open(&mut o, 0, Lifecycle::Proposed, "two");
        open(&mut o, 1, Lifecycle::Proposed, "one");
        settle(&mut o);
        let text = asked(&o);
        let back = format!(
            "rpkg approve -l 'offshoot.dev/variant in ({})'",
            name(&o, 1)
        );
        assert!(text.contains(&back), "{text}");
        assert!(text.contains("- 1 with a proposal to approve: "), "{text}");
        let other = format!("and they are brought to it: {}", name(&o, 0));
        assert!(text.contains(&other), "{text}");
        let message = status(&o).message;
        let kept = format!(
            "1 keeps a proposal until somebody rejects or approves it: {}",
            name(&o, 0)
        );
        assert!(message.contains(&kept), "{message}");
        // Resumed: what was to go back is in a closed step.
        annotate(&mut o, UNDO, "");
        open(&mut o, LATE, Lifecycle::Draft, "two");
        settle(&mut o);
        let text = asked(&o);
        let closed = format!("whose step of the rollout is closed: {}", name(&o, LATE));
        assert!(text.contains(&closed), "{text}");
        assert!(!text.contains("rpkg propose"), "{text}");
    });
}

#[test]
fn a_variant_under_the_name_of_one_that_is_not_made_is_named_before_the_step_opens() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        let before = o.status.clone();
        let mut theirs = (*o.variants[0]).clone();
        let name = crate::wire::name("fan-edge-19-nginx");
        theirs.key.name = name.clone();
        Arc::make_mut(&mut theirs.meta).owners.clear();
        o.variants.push(Arc::new(theirs));
        settle(&mut o);
        let text =
            "1 not made yet, and a variant that is not the set's has the name: fan-edge-19-nginx";
        assert_eq!(status(&o).taken().as_deref(), Some(text));
        let notes = format!("{:?}", decide(&o).report.notes);
        assert!(notes.contains(text), "{notes}");
        let events = told(&before, &mut o);
        assert!(
            events
                .iter()
                .any(|(r, m)| r == "RolloutNameTaken" && m.contains(text)),
            "{events:?}"
        );
        o.variants.retain(|v| v.key.name != name);
        settle(&mut o);
        assert_eq!(status(&o).taken(), None);
    });
}

/// Whose name a variant has that is not taken over cannot be made: it fails, halts the rollout, and says why as `why` does.
#[test]
fn a_target_whose_name_is_taken_fails_in_its_step_with_the_reason() {
    on_large_stack(|| {
        let taken = "fan-edge-00-nginx";
        let mut o = fleet("");
        annotate(&mut o, plan::set::PAUSE, "yes");
        settle(&mut o);
        super::upstream(&mut o, "two");
        settle(&mut o);
        // Nobody owns it, and it has the place: it is taken over, and nothing is wrong with it.
        let mut source = fleet("");
        settle(&mut source);
        let mut theirs = (*source.variants[0]).clone();
        assert_eq!(theirs.key.name.as_str(), taken);
        Arc::make_mut(&mut theirs.meta).owners.clear();
        o.variants.push(Arc::new(theirs));
        settle(&mut o);
        let failed = |o: &Observed| {
            let rollout = status(o);
            let steps: Vec<usize> = rollout.steps.iter().map(|s| s.failed).collect();
            let unmade: Vec<String> = rollout.unmade.iter().map(ToString::to_string).collect();
            (steps, unmade)
        };
        assert_eq!(failed(&o), (vec![0, 0, 0], Vec::new()));
        super::by_hand::by_hand(&mut o, 0, |spec| {
            spec.downstream.repo = model::RepositoryName::parse("elsewhere").expect("a name");
        });
        let why = format!("packagevariant '{taken}' exists already and has another downstream");
        let told = (vec![1, 0, 0], vec![format!("{taken} (canary): {why}")]);
        settle(&mut o);
        assert_eq!(failed(&o), told, "its step is closed");
        assert_eq!(state(&o), RolloutState::Paused);
        annotate(&mut o, plan::set::PAUSE, "");
        settle(&mut o);
        assert_eq!(failed(&o), told);
        let rollout = status(&o);
        let halted = "1 member failed, more than 0";
        assert_eq!(
            (rollout.state, rollout.message.as_str()),
            (RolloutState::Halted, halted)
        );
        let notes = format!("{:?}", decide(&o).report.notes);
        assert!(notes.contains(&why), "{notes}");
        // It is no member, and an undo leaves it; it is named all the same.
        annotate(&mut o, UNDO, &rollout.id);
        settle(&mut o);
        assert_eq!(failed(&o), told);
        annotate(&mut o, UNDO, "");
        o.variants.retain(|v| v.key.name.as_str() != taken);
        annotate(&mut o, plan::set::RETRY, "1");
        settle(&mut o);
        assert_eq!(failed(&o), (vec![0, 0, 0], Vec::new()));
        assert_eq!(state(&o), RolloutState::Progressing);
    });
}

/// `spec.suspend` is a person's (R165): it stays, and never holds a step without a name.
#[test]
fn a_member_that_somebody_suspended_is_counted_and_named() {
    on_large_stack(|| {
        let mut o = waiting();
        by_hand(&mut o, 0, |spec| spec.suspend = true);
        by_hand(&mut o, LATE, |spec| spec.suspend = true);
        publish(&mut o, 1);
        settle(&mut o);
        let rollout = status(&o);
        let counts: Vec<usize> = rollout.steps.iter().map(|s| s.suspended).collect();
        assert_eq!(counts, [1, 0, 1]);
        assert_eq!(rollout.steps[0].besides(), "suspended 1");
        let held = format!(
            "step 'canary' waits for 1 member that is suspended by hand: {}",
            name(&o, 0)
        );
        assert_eq!(rollout.message, held);
        assert_eq!(rollout.suspended, [name(&o, 0), name(&o, LATE)]);
        let id = rollout.id;
        annotate(&mut o, UNDO, &id);
        settle(&mut o);
        assert_eq!(
            status(&o).steps[0].suspended,
            1,
            "it does not go back either"
        );
        annotate(&mut o, UNDO, "");
        by_hand(&mut o, 0, |spec| spec.suspend = false);
        settle(&mut o);
        publish(&mut o, 0);
        publish(&mut o, 1);
        settle(&mut o);
        assert_eq!(status(&o).steps[0].suspended, 0);
        assert_eq!(status(&o).progress(), "quarter 2/3, 0 of 3");
    });
}
