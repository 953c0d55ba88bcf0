//! What is counted of members on their way back (F8).

use std::sync::Arc;

use model::{Lifecycle, RolloutState, RolloutStatus, Standing, Status};
use plan::set::{Observed, UNDO};

use super::by_hand::{LATE, waiting};
use super::{annotate, commit_of, fleet, publish, settle, state};
use crate::set::on_large_stack;
use crate::wire::commit;

fn undone(o: &mut Observed) {
    let id = rollout(o).id;
    annotate(o, UNDO, &id);
    settle(o);
    assert_eq!(state(o), RolloutState::Undone);
}

fn rollout(o: &Observed) -> RolloutStatus {
    o.status.rollout.clone().expect("a rollout")
}

fn stands(o: &mut Observed, at: usize, standing: Standing) {
    Arc::make_mut(&mut o.variants[at]).standing = standing;
    settle(o);
}

/// Conflicts, failed and rejected of each step.
fn troubled(o: &Observed) -> Vec<[usize; 3]> {
    let steps = rollout(o).steps;
    let of = |s: &model::StepStatus| [s.conflicts, s.failed, s.rejected];
    steps.iter().map(of).collect()
}

/// What is published is what it was, and the draft with somebody's edits cannot be moved back: that is not done.
#[test]
fn a_member_whose_draft_fails_on_its_way_back_is_counted() {
    on_large_stack(|| {
        let mut o = waiting();
        undone(&mut o);
        for at in 0..2 {
            publish(&mut o, at);
            Arc::make_mut(&mut o.variants[at]).lifecycle = Some(Lifecycle::Draft);
        }
        settle(&mut o);
        let message = rollout(&o).message;
        assert!(message.starts_with("2 of 2 members are"), "{message}");
        assert_eq!(troubled(&o), [[0; 3]; 3]);
        stands(&mut o, 0, Standing::Failed);
        stands(&mut o, 1, Standing::Conflicts);
        assert_eq!(troubled(&o), [[1, 1, 0], [0; 3], [0; 3]]);
        // Neither is done with its way back.
        let message = rollout(&o).message;
        assert!(message.starts_with("2 of 2 members are"), "{message}");
    });
}

/// Whoever was never reached does not go back, and is counted where it fails all the same.
#[test]
fn a_target_that_waits_and_fails_is_counted_during_an_undo() {
    on_large_stack(|| {
        let mut o = waiting();
        stands(&mut o, LATE, Standing::Failed);
        assert_eq!(troubled(&o)[2], [0, 1, 0]);
        undone(&mut o);
        assert_eq!(troubled(&o)[2], [0, 1, 0]);
    });
}

#[test]
fn what_the_rollout_made_and_fails_is_counted_during_an_undo() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        undone(&mut o);
        assert_eq!(rollout(&o).created.len(), 2);
        stands(&mut o, 0, Standing::Failed);
        assert_eq!(troubled(&o), [[0, 1, 0], [0; 3], [0; 3]]);
    });
}

/// What is out of reach or gone cannot go back now: that is said, too.
#[test]
fn members_that_cannot_be_reached_are_counted_during_an_undo() {
    on_large_stack(|| {
        let mut o = waiting();
        undone(&mut o);
        for (at, reason) in [(0, "RepositoryNotReady"), (1, "DownstreamDeleted")] {
            let ready = (Status::False, reason.to_owned(), String::new());
            let variant = Arc::make_mut(&mut o.variants[at]);
            (variant.ready, variant.standing) = (ready, Standing::Waiting);
        }
        settle(&mut o);
        let step = &rollout(&o).steps[0];
        assert_eq!((step.unreachable, step.deleted, step.failed), (1, 1, 0));
    });
}

/// Steps that exchange their names meanwhile count whom they counted.
#[test]
fn steps_that_exchange_their_names_during_an_undo_count_whom_they_counted() {
    on_large_stack(|| {
        let mut o = waiting();
        stands(&mut o, LATE, Standing::Failed);
        undone(&mut o);
        stands(&mut o, 0, Standing::Conflicts);
        let counts = |o: &Observed| -> Vec<_> {
            let steps = rollout(o).steps;
            let of = |s: &model::StepStatus| (s.members, s.conflicts, s.failed);
            steps.iter().map(of).collect()
        };
        let before = counts(&o);
        assert_eq!((before[0].1, before[2].2), (1, 1));
        let plan::set::Subject::Valid { set, .. } = &mut o.set else {
            panic!("a set");
        };
        let rollout = Arc::make_mut(set).spec.rollout.as_mut().expect("a rollout");
        let (first, others) = rollout.steps.split_at_mut(1);
        std::mem::swap(&mut first[0].name, &mut others[0].name);
        settle(&mut o);
        assert_eq!(counts(&o), before);
    });
}

/// Somebody deletes the variant of a member while or before it is taken back: the one that is made anew goes back as well, also
/// where the template is another one by now, so that what else the variant was cannot be told.
#[test]
fn a_member_that_is_made_anew_goes_back_too() {
    on_large_stack(|| {
        for (during, template) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut o = waiting();
            if template {
                another_template(&mut o);
            }
            if during {
                undone(&mut o);
            }
            let gone = o.variants.remove(0);
            o.published.remove(&gone.key.name);
            if !during {
                let id = rollout(&o).id;
                annotate(&mut o, UNDO, &id);
            }
            settle(&mut o);
            let anew = o.variants.iter().position(|v| v.key == gone.key);
            let anew = anew.unwrap_or_else(|| panic!("not made anew: {during} {template}"));
            assert_eq!(commit_of(&o, anew), Some(commit("one")));
            // What is written into it by hand is put back as ever.
            super::by_hand::by_hand(&mut o, anew, |spec| {
                spec.upstream.commit = Some(commit("two"));
            });
            settle(&mut o);
            assert_eq!(commit_of(&o, anew), Some(commit("one")));
        }
    });
}

fn another_template(o: &mut Observed) {
    let plan::set::Subject::Valid { set, templates } = &mut o.set else {
        panic!("a set");
    };
    let template = &mut Arc::make_mut(set).spec.targets[0].template;
    let changed = template.get_or_insert_default();
    changed.labels.insert("new".to_owned(), "yes".to_owned());
    *templates = Arc::new(plan::set::Compiled::of(&set.spec));
}

/// What it went back to was published, and somebody deleted the tag of that in git: it has nothing to do, and is not back.
#[test]
fn a_member_whose_tag_was_deleted_is_named_on_its_way_back() {
    on_large_stack(|| {
        let mut o = waiting();
        undone(&mut o);
        for at in 0..2 {
            publish(&mut o, at);
        }
        settle(&mut o);
        let name = o.variants[0].key.name.clone();
        o.published.remove(&name);
        let variant = Arc::make_mut(&mut o.variants[0]);
        (variant.published, variant.untagged) = (false, true);
        settle(&mut o);
        let message = rollout(&o).message;
        assert!(message.starts_with("1 of 2 members are"), "{message}");
        let wanted = "; 1 whose published revision is gone, since its tag was deleted in git";
        assert!(message.contains(wanted), "{message}");
        assert!(message.ends_with(name.as_str()), "{message}");
    });
}
