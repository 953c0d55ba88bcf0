//! Targets that move to other packages, since the set says so: they go through the steps, and what they leave stays until all of
//! them are done (F7, F8).

use model::{ObjectName, PackageName, RolloutState, TargetSelection};

use crate::rollouts::{PLACES, annotate, image, publish, published_everywhere, reached, status};
use crate::variants::{push, quiet};
use crate::world::{NS, World};

/// The set puts each of its packages into one of another name: `a` becomes `new-a`.
fn moves(world: &World, from: &str, to: &str) {
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut fan = stored.parsed.expect("a set");
    fan.spec.deletion_guard.enabled = false;
    let TargetSelection::Repositories(places) = &mut fan.spec.targets[0].selection else {
        panic!("a list");
    };
    for package in places.iter_mut().flat_map(|(_, packages)| packages) {
        let name = package.as_str().strip_prefix(from).expect("a name");
        *package = PackageName::parse(&format!("{to}{name}")).expect("a name");
    }
    world.twin.put_set(fan);
}

fn is_there(world: &World, at: usize, prefix: &str) -> bool {
    let (repo, package) = PLACES[at];
    let name = format!("fan-{repo}-{prefix}{package}");
    let name = ObjectName::parse(&name).expect("a name");
    world.twin.variant(NS, name.as_str()).is_some()
}

/// Which members have a variant of this package.
fn there(world: &World, prefix: &str) -> Vec<usize> {
    let all = 0..PLACES.len();
    all.filter(|at| is_there(world, *at, prefix)).collect()
}

async fn publish_new(world: &World, at: usize) {
    let (repo, package) = PLACES[at];
    let name = format!("{repo}.new-{package}.packagevariant-1");
    world.publish(&name).await;
    world.rest().await;
}

const ALL: [usize; 4] = [0, 1, 2, 3];

#[tokio::test(start_paused = true)]
async fn targets_that_move_do_so_in_their_steps_and_what_they_leave_stays_until_all_are_done() {
    let mut world = published_everywhere(0).await;
    let first = status(&world).id;
    moves(&world, "", "new-");
    world.rest().await;
    assert_ne!(status(&world).id, first, "it is a rollout of its own");
    for reached in 1..PLACES.len() {
        let wanted = &ALL[..if reached == 3 { 4 } else { reached }];
        assert_eq!(there(&world, "new-"), wanted);
        assert_eq!(there(&world, ""), ALL);
        assert!(status(&world).moved().is_some());
        world.restart().await;
        assert_eq!(
            (there(&world, "new-").as_slice(), there(&world, "").len()),
            (wanted, 4)
        );
        quiet(&world).await;
        publish_new(&world, reached - 1).await;
    }
    assert_eq!(there(&world, ""), ALL);
    publish_new(&world, 3).await;
    assert_eq!(status(&world).state, RolloutState::Complete);
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (vec![], ALL.to_vec())
    );
    assert_eq!(
        (status(&world).moves, status(&world).moved()),
        (false, None)
    );
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_left_is_there_after_an_undo_and_what_was_made_is_named() {
    let mut world = published_everywhere(0).await;
    moves(&world, "", "new-");
    world.rest().await;
    publish_new(&world, 0).await;
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    world.restart().await;
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (ALL.to_vec(), vec![0, 1])
    );
    assert_eq!(
        status(&world).created,
        ["fan-canary-new-a", "fan-early-new-b"]
    );
    quiet(&world).await;
    // Back to the packages of before: what was made leaves once the rollout goes on, which is done then.
    moves(&world, "new-", "");
    world.rest().await;
    assert_eq!(there(&world, "new-"), [0, 1]);
    annotate(&world, plan::set::UNDO, None);
    world.rest().await;
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (ALL.to_vec(), vec![])
    );
    assert_eq!(status(&world).state, RolloutState::Complete);
    quiet(&world).await;
}

/// Nothing goes forward in an undo, so what a move leaves then is all that there is.
#[tokio::test(start_paused = true)]
async fn what_is_left_while_a_rollout_is_taken_back_stays_until_the_next_one_is_done() {
    let mut world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    moves(&world, "", "new-");
    world.rest().await;
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (ALL.to_vec(), vec![])
    );
    world.restart().await;
    annotate(&world, plan::set::UNDO, None);
    world.rest().await;
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (ALL.to_vec(), vec![0])
    );
    for at in ALL {
        publish_new(&world, at).await;
    }
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (vec![], ALL.to_vec())
    );
    quiet(&world).await;
}

/// The rollout of before was at its second step: what it reached there stays as it is, and the first step is done anew.
#[tokio::test(start_paused = true)]
async fn targets_that_move_amid_a_rollout_begin_at_the_first_step() {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    assert_eq!(reached(&world, 2), [0, 1]);
    moves(&world, "", "new-");
    world.rest().await;
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (ALL.to_vec(), vec![0])
    );
    assert_eq!(reached(&world, 2), [0, 1]);
    // Another upstream meanwhile: what is left goes no earlier.
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (ALL.to_vec(), vec![0])
    );
    publish_new(&world, 0).await;
    assert_eq!(there(&world, "new-"), [0, 1]);
    publish_new(&world, 1).await;
    publish_new(&world, 2).await;
    assert_eq!(there(&world, ""), ALL);
    publish_new(&world, 3).await;
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (vec![], ALL.to_vec())
    );
    quiet(&world).await;
}

/// A step may be done without all of its members: what such a one leaves stays until it has published, too.
#[tokio::test(start_paused = true)]
async fn what_is_left_stays_where_a_step_was_done_without_its_target() {
    let world = published_everywhere(0).await;
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut fan = stored.parsed.expect("a set");
    let rollout = fan.spec.rollout.as_mut().expect("a rollout");
    rollout.open.published = 50;
    world.twin.put_set(fan);
    moves(&world, "", "new-");
    world.rest().await;
    for at in 0..3 {
        publish_new(&world, at).await;
    }
    assert_eq!(status(&world).state, RolloutState::Complete);
    assert_eq!(there(&world, ""), [2, 3], "both are in one repository");
    quiet(&world).await;
    publish_new(&world, 3).await;
    assert_eq!(there(&world, ""), [0_usize; 0]);
    quiet(&world).await;
}

/// The move was a mistake, and the version was none.
#[tokio::test(start_paused = true)]
async fn a_move_that_is_taken_back_with_the_version_kept_goes_through_the_steps() {
    let mut world = published_everywhere(0).await;
    moves(&world, "", "new-");
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    assert_eq!(there(&world, "new-"), [0]);
    let id = status(&world).id;
    moves(&world, "new-", "");
    world.rest().await;
    world.restart().await;
    assert_ne!(status(&world).id, id);
    assert_eq!(status(&world).progress(), "canary 1/3, 0 of 1");
    assert_eq!(reached(&world, 2), [0]);
    publish(&world, 0, 2).await;
    assert_eq!(
        (reached(&world, 2), there(&world, "new-")),
        (vec![0, 1], vec![0])
    );
    publish(&world, 1, 2).await;
    publish(&world, 2, 2).await;
    publish(&world, 3, 2).await;
    assert_eq!(status(&world).state, RolloutState::Complete);
    assert_eq!(
        (there(&world, ""), there(&world, "new-")),
        (ALL.to_vec(), vec![])
    );
    quiet(&world).await;
}
