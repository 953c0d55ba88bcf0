//! Members that leave amid their step (F7): what is left decides, and what was deleted by hand is made anew.

use model::{RolloutState, Standing, TargetSelection};

use crate::rollouts::{
    annotate, has, image, publish, published_everywhere, reached, revision, status,
};
use crate::rollouts_by_hand::variant;
use crate::variants::{condition, push, quiet};
use crate::world::{NS, World};

/// The set selects a package no more.
pub(crate) fn leaves(world: &World, repo: &str, package: &str) {
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut fan = stored.parsed.expect("a set");
    let TargetSelection::Repositories(places) = &mut fan.spec.targets[0].selection else {
        panic!("a list");
    };
    for (place, packages) in places.iter_mut() {
        if place.as_str() == repo {
            packages.retain(|p| p.as_str() != package);
        }
    }
    places.retain(|(_, packages)| !packages.is_empty());
    world.twin.put_set(fan);
}

/// All is published at v1, v2 comes, and the first two steps are done.
pub(crate) async fn in_the_last_step() -> World {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    publish(&world, 1, 2).await;
    assert_eq!(reached(&world, 2), [0, 1, 2, 3]);
    world
}

fn is_there(world: &World, name: &str) -> bool {
    world.twin.variant(NS, name).is_some()
}

#[tokio::test(start_paused = true)]
async fn a_target_that_leaves_amid_its_step_is_not_waited_for() {
    let mut world = in_the_last_step().await;
    leaves(&world, "deploy", "c");
    world.rest().await;
    assert!(!is_there(&world, "fan-deploy-c"));
    assert!(!has(&world, 2, 2), "its draft goes with it");
    let step = status(&world).steps[2].clone();
    assert_eq!((step.members, step.deleted, step.published), (2, 1, 0));
    assert_eq!(status(&world).state, RolloutState::Progressing);
    world.restart().await;
    assert_eq!(status(&world).steps[2], step);
    publish(&world, 3, 2).await;
    assert_eq!(status(&world).state, RolloutState::Complete);
    quiet(&world).await;
}

/// Nobody could say that the step went well: it is said, and no other opens until somebody asks for something else.
#[tokio::test(start_paused = true)]
async fn a_step_whose_only_member_leaves_halts_with_the_reason() {
    let mut world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    assert_eq!(reached(&world, 2), [0]);
    leaves(&world, "canary", "a");
    world.rest().await;
    assert!(!is_there(&world, "fan-canary-a"));
    let wanted = "no member of step 'canary' is left: deleted 1, unreachable 0";
    assert_eq!(
        (status(&world).state, status(&world).message.as_str()),
        (RolloutState::Halted, wanted)
    );
    world.restart().await;
    assert_eq!(status(&world).message, wanted);
    assert_eq!(reached(&world, 2), [0_usize; 0], "its draft went");
    quiet(&world).await;
}

/// Whoever deletes a variant proposes the deletion of what it published. The variant that is made anew does not take that
/// over unasked: it has failed, no step opens, and the remedy is said.
#[tokio::test(start_paused = true)]
async fn a_variant_that_is_deleted_amid_its_step_is_made_anew_and_opens_nothing() {
    let mut world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    let was = variant(&world, "fan-canary-a");
    world.twin.delete_variant(NS, "fan-canary-a");
    world.rest().await;
    let anew = variant(&world, "fan-canary-a");
    assert_ne!(anew.meta.uid, was.meta.uid);
    assert_eq!(anew.spec, was.spec);
    let (_, why) = condition(&world, "fan-canary-a", "Ready");
    assert!(why.contains("offshoot.dev/take-back=true"), "{why}");
    for _ in 0..2 {
        let step = status(&world).steps[0].clone();
        assert_eq!((step.members, step.published, step.failed), (1, 0, 1));
        assert_eq!(status(&world).state, RolloutState::Halted);
        assert_eq!(reached(&world, 2), [0_usize; 0], "its draft went");
        world.restart().await;
    }
    annotate(&world, plan::variant::words::TAKE_BACK, Some("true"));
    world.rest().await;
    assert_eq!(reached(&world, 2), [0], "{:?}", world.names());
    assert_eq!(status(&world).state, RolloutState::Halted);
    publish(&world, 0, 2).await;
    assert_eq!(reached(&world, 2), [0], "a halt stands until somebody asks");
    annotate(&world, plan::set::RETRY, Some("1"));
    world.rest().await;
    assert_eq!(reached(&world, 2), [0, 1]);
    // It goes back to what it had published, too: that is remembered by its name.
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    let text = world.file(&revision(0, 3), "deployment.yaml").await;
    assert!(text.contains("app:v1"), "{text}");
    quiet(&world).await;
}

/// The step was done: what is to go there is published no more, as `status` says it, and no further step opens.
#[tokio::test(start_paused = true)]
async fn a_variant_of_a_done_step_that_is_deleted_by_hand_is_published_no_more() {
    let mut world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    assert_eq!(reached(&world, 2), [0, 1]);
    world.twin.delete_variant(NS, "fan-canary-a");
    world.rest().await;
    for _ in 0..2 {
        let standing = |name: &str| {
            let stored = world.twin.variant(NS, name).expect("the variant");
            Standing::of(&stored.status, stored.meta.generation)
        };
        assert_eq!(standing("fan-canary-a"), Standing::Failed);
        let step = status(&world).steps[0].clone();
        assert_eq!((step.members, step.published, step.failed), (1, 0, 1));
        assert_eq!(status(&world).state, RolloutState::Halted);
        world.restart().await;
    }
    annotate(&world, plan::variant::words::TAKE_BACK, Some("true"));
    world.rest().await;
    assert_eq!(status(&world).steps[0].published, 1);
    annotate(&world, plan::set::RETRY, Some("1"));
    world.rest().await;
    publish(&world, 1, 2).await;
    assert_eq!(reached(&world, 2), [0, 1, 2, 3]);
    quiet(&world).await;
}

/// One of two members of the last step, while the other one is published already; the set takes over what is there.
#[tokio::test(start_paused = true)]
async fn a_variant_that_is_deleted_in_the_last_step_keeps_the_rollout_open() {
    let mut world = in_the_last_step().await;
    annotate(&world, plan::variant::words::TAKE_BACK, Some("true"));
    world.rest().await;
    publish(&world, 3, 2).await;
    world.twin.delete_variant(NS, "fan-deploy-c");
    world.settle().await;
    world.restart().await;
    assert!(has(&world, 2, 2), "{:?}", world.names());
    assert_eq!(status(&world).progress(), "rest 3/3, 1 of 2");
    publish(&world, 2, 2).await;
    assert_eq!(status(&world).state, RolloutState::Complete);
    quiet(&world).await;
}
