//! A set that is suspended in mid-rollout: it is counted, and nothing else (F7).

use std::sync::Arc;

use model::{RolloutState, RolloutStatus, Standing, Status};
use plan::set::{Observed, PAUSE, UNDO, decide};

use super::by_hand::waiting;
use super::{FLEET, annotate, carry_out, commit_of, fleet, publish, publish_all, settle, upstream};
use crate::set::on_large_stack;
use crate::wire::commit;

const SAID: &str =
    "the set is suspended (spec.suspend): what is open is counted, and nothing is written";

fn suspend(o: &mut Observed, suspend: bool) {
    let plan::set::Subject::Valid { set, .. } = &mut o.set else {
        panic!("a set");
    };
    Arc::make_mut(set).spec.suspend = suspend;
}

fn rollout(o: &Observed) -> RolloutStatus {
    o.status.rollout.clone().expect("a rollout")
}

#[test]
fn what_is_open_is_counted_and_no_step_opens() {
    on_large_stack(|| {
        let mut o = waiting();
        suspend(&mut o, true);
        for at in 0..2 {
            publish(&mut o, at);
        }
        settle(&mut o);
        let told = rollout(&o);
        assert_eq!((told.steps[0].published, told.steps[1].opened), (2, None));
        assert_eq!(
            (told.message.as_str(), told.state),
            (SAID, RolloutState::Progressing)
        );
        let members = told.members;
        let condition = |o: &Observed| o.status.condition("RolledOut").cloned();
        let rolled = condition(&o).expect("the condition stays");
        assert_eq!(rolled.status, Status::False);
        assert!(rolled.message.contains(SAID), "{}", rolled.message);
        let notes = format!("{:?}", decide(&o).report.notes);
        assert!(notes.contains(SAID), "{notes}");
        // A conflict halts it, as ever.
        let quarter = 3;
        Arc::make_mut(&mut o.variants[0]).published = false;
        Arc::make_mut(&mut o.variants[0]).standing = Standing::Conflicts;
        settle(&mut o);
        let told = rollout(&o);
        let wanted = format!("1 member with conflicts, more than 0; {SAID}");
        assert_eq!((told.state, told.message), (RolloutState::Halted, wanted));
        annotate(&mut o, plan::set::RETRY, "1");
        publish(&mut o, 0);
        settle(&mut o);
        annotate(&mut o, PAUSE, "yes");
        settle(&mut o);
        assert_eq!(rollout(&o).state, RolloutState::Paused);
        annotate(&mut o, PAUSE, "");
        settle(&mut o);
        assert_eq!(rollout(&o).members, members, "nothing is written");
        suspend(&mut o, false);
        settle(&mut o);
        assert_eq!(rollout(&o).steps[1].members, quarter);
        assert!(rollout(&o).steps[1].opened.is_some());
    });
}

/// The soak ends as ever, and opens nothing.
#[test]
fn a_soak_goes_on_while_the_set_is_suspended() {
    on_large_stack(|| {
        let mut o = fleet(", \"soak\": \"100\"");
        settle(&mut o);
        suspend(&mut o, true);
        for at in 0..2 {
            publish(&mut o, at);
        }
        settle(&mut o);
        assert_eq!(rollout(&o).state, RolloutState::Soaking);
        let next = decide(&o).next;
        assert_eq!(next, plan::Next::After(std::time::Duration::from_secs(100)));
        o.now += 100;
        settle(&mut o);
        assert_eq!(
            (rollout(&o).state, o.variants.len()),
            (RolloutState::Progressing, 2)
        );
        suspend(&mut o, false);
        settle(&mut o);
        assert_eq!(o.variants.len(), 5);
    });
}

/// What was rolled out stays what it was: nothing begins anew before it may be written.
#[test]
fn another_upstream_begins_no_rollout_while_the_set_is_suspended() {
    on_large_stack(|| {
        let mut o = waiting();
        let id = rollout(&o).id;
        suspend(&mut o, true);
        upstream(&mut o, "three");
        settle(&mut o);
        let told = rollout(&o);
        assert_eq!(told.id, id);
        let wanted = "the set is suspended (spec.suspend): the counts are of before something else was wanted, and another rollout begins once it goes on";
        assert_eq!(told.message, wanted);
        // As if nothing had been.
        upstream(&mut o, "two");
        suspend(&mut o, false);
        settle(&mut o);
        assert_eq!((rollout(&o).id, rollout(&o).message), (id, String::new()));
    });
}

#[test]
fn an_undo_of_a_suspended_set_says_that_nothing_is_written() {
    on_large_stack(|| {
        let mut o = waiting();
        suspend(&mut o, true);
        let id = rollout(&o).id;
        annotate(&mut o, UNDO, &id);
        assert_eq!(carry_out(&mut o), 0);
        settle(&mut o);
        let told = rollout(&o);
        let wanted = format!("0 of 2 members are published as they were before; {SAID}");
        assert_eq!((told.state, told.message), (RolloutState::Undone, wanted));
        assert_eq!(commit_of(&o, 0), Some(commit("two")));
        suspend(&mut o, false);
        settle(&mut o);
        assert!((0..FLEET).all(|at| commit_of(&o, at) == Some(commit("one"))));
    });
}

/// Targets that come or fail are counted, too.
#[test]
fn the_targets_of_a_suspended_set_are_counted() {
    on_large_stack(|| {
        let mut o = waiting();
        suspend(&mut o, true);
        let mut known = (*o.repositories).clone();
        let (_, last) = known.last_key_value().expect("a repository");
        let new = model::RepositoryName::parse("edge-20").expect("a name");
        known.insert(new, last.clone());
        o.repositories = Arc::new(known);
        settle(&mut o);
        assert_eq!(o.status.targets, FLEET + 1);
    });
}

/// All is done, and something else is wanted by now: whoever waits for the condition waits for that.
#[test]
fn a_set_that_wants_something_else_than_it_rolled_out_is_not_rolled_out() {
    on_large_stack(|| {
        let holds: [fn(&mut Observed, bool); 2] = [suspend, |o, stop| {
            let plan::set::Subject::Valid { set, .. } = &mut o.set else {
                panic!("a set");
            };
            Arc::make_mut(set).spec.on_error = model::OnError::Stop;
            o.unread.clear();
            o.unread.extend(stop.then(super::unread));
        }];
        for (at, hold) in holds.into_iter().enumerate() {
            let mut o = waiting();
            for _ in 0..4 {
                publish_all(&mut o);
            }
            let rolled = |o: &Observed| {
                let condition = o.status.condition("RolledOut").expect("a condition");
                (condition.status, condition.reason.clone())
            };
            let complete = (Status::True, "Complete".to_owned());
            assert_eq!(rolled(&o), complete);
            hold(&mut o, true);
            if at == 0 {
                settle(&mut o);
                assert_eq!(rolled(&o), complete, "nothing else is wanted");
            }
            upstream(&mut o, "three");
            settle(&mut o);
            assert_eq!(rollout(&o).state, RolloutState::Complete, "{at}");
            assert_eq!(rolled(&o), (Status::False, "NotBegun".to_owned()), "{at}");
            hold(&mut o, false);
            settle(&mut o);
            assert_eq!(rolled(&o), (Status::False, "Progressing".to_owned()));
        }
    });
}
