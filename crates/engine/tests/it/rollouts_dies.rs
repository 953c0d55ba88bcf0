//! Deaths and restarts in any step of a rollout, wherever it stands (F7, F8): nothing opens early, nothing is forgotten.

use std::sync::atomic::Ordering;

use model::{Lifecycle, RolloutState, RolloutStatus};
use testkit::twin::key;

use crate::rollouts::{
    annotate, has, image, publish, published_everywhere, reached, revision, status,
};
use crate::rollouts_by_hand::suspend_set;
use crate::rollouts_leave::{in_the_last_step, leaves};
use crate::variants::{push, quiet};
use crate::world::{NS, World, alice};

/// A point of the engine, and which time it is passed.
type Point = (&'static str, u64);

/// Where a process may die while a member is drafted, published, and counted. Statuses are those of repositories, of variants
/// and of the set.
const POINTS: [Point; 12] = [
    ("engine Derived", 1),
    ("engine Published", 1),
    ("engine Recorded", 1),
    ("engine Settled", 1),
    ("engine BeforeVariant", 1),
    ("engine BeforeVariant", 2),
    ("engine BeforeStatus", 1),
    ("engine BeforeStatus", 2),
    ("engine BeforeStatus", 3),
    ("engine BeforeStatus", 4),
    ("engine BeforeStatus", 5),
    ("engine BeforeStatus", 6),
];
const STATUS: Point = ("engine BeforeStatus", 1);

fn dies_at(world: &World, (name, time): Point) {
    let deaths = &world.deaths;
    deaths.spared.store(time - 1, Ordering::SeqCst);
    *deaths.named.lock().expect("no panic") = Some(name);
}

/// It dies of what happens next, and starts anew. The first time that a point is passed always comes.
async fn dies(world: &mut World, point: Point) {
    world.settle().await;
    *world.deaths.named.lock().expect("no panic") = None;
    let died = world.deaths.died().is_some();
    assert!(died || point.1 > 1, "nothing passed {point:?}");
    world.revive(|_| true, false).await;
    world.rest().await;
}

async fn moves(world: &World, name: &str, door: model::Door, to: Lifecycle) {
    let moved = world
        .engine
        .move_to(&alice(), &key(NS, name), door, to)
        .await;
    moved.expect("moved");
}

/// Approves a proposal; whether that was answered before the process died.
async fn approves(world: &World, name: &str) -> bool {
    let (caller, at) = (alice(), key(NS, name));
    let engine = &world.engine;
    let moved = engine.move_to(&caller, &at, model::Door::Approval, Lifecycle::Published);
    moved.await.is_ok()
}

/// What a rollout is said to be, without what is counted by the second.
fn stands(status: &RolloutStatus) -> (String, RolloutState, String, Vec<(String, bool)>) {
    let steps = status.steps.iter();
    let steps = steps.map(|s| (s.name.clone(), s.opened.is_some()));
    let (id, message) = (status.id.clone(), status.message.clone());
    (id, status.state, message, steps.collect())
}

/// Wherever a process dies while the first step is drafted.
#[tokio::test(start_paused = true)]
async fn a_death_while_a_step_is_drafted_opens_no_other() {
    for point in POINTS {
        let mut world = published_everywhere(0).await;
        push(&world, &image("v2"), "v2").await;
        dies_at(&world, point);
        dies(&mut world, point).await;
        assert_eq!(reached(&world, 2), [0], "{point:?}");
        assert_eq!(status(&world).progress(), "canary 1/3, 0 of 1", "{point:?}");
        publish(&world, 0, 2).await;
        assert_eq!(reached(&world, 2), [0, 1], "{point:?}");
        quiet(&world).await;
    }
}

/// Wherever a process dies while a publication fills the step, and the next one opens: that opens once, and no other does.
#[tokio::test(start_paused = true)]
async fn a_death_while_a_step_is_filled_opens_the_next_one_alone() {
    for point in POINTS {
        let mut world = published_everywhere(0).await;
        push(&world, &image("v2"), "v2").await;
        world.rest().await;
        let draft = revision(0, 2);
        moves(&world, &draft, model::Door::Main, Lifecycle::Proposed).await;
        world.rest().await;
        dies_at(&world, point);
        let answered = approves(&world, &draft).await;
        dies(&mut world, point).await;
        if world.revision(&draft).lifecycle != Lifecycle::Published {
            assert!(!answered, "{point:?}: what was answered is lost");
            publish_proposed(&world, &draft).await;
        }
        assert_eq!(reached(&world, 2), [0, 1], "{point:?}");
        assert_eq!(status(&world).progress(), "early 2/3, 0 of 1", "{point:?}");
        quiet(&world).await;
    }
}

async fn publish_proposed(world: &World, name: &str) {
    moves(world, name, model::Door::Approval, Lifecycle::Published).await;
    world.rest().await;
}

/// In the last step, of which one member is published and the other one is not.
#[tokio::test(start_paused = true)]
async fn a_death_in_the_last_step_ends_nothing_early() {
    for point in POINTS {
        let mut world = published_everywhere(0).await;
        push(&world, &image("v2"), "v2").await;
        world.rest().await;
        publish(&world, 0, 2).await;
        let early = revision(1, 2);
        moves(&world, &early, model::Door::Main, Lifecycle::Proposed).await;
        world.rest().await;
        dies_at(&world, point);
        approves(&world, &early).await;
        dies(&mut world, point).await;
        if world.revision(&early).lifecycle != Lifecycle::Published {
            publish_proposed(&world, &early).await;
        }
        assert_eq!(reached(&world, 2), [0, 1, 2, 3], "{point:?}");
        publish(&world, 2, 2).await;
        world.restart().await;
        assert_eq!(status(&world).progress(), "rest 3/3, 1 of 2", "{point:?}");
        publish(&world, 3, 2).await;
        assert_eq!(status(&world).state, RolloutState::Complete, "{point:?}");
        world.restart().await;
        assert_eq!(status(&world).state, RolloutState::Complete, "{point:?}");
        quiet(&world).await;
    }
}

/// The halt itself is what the process dies of, or what people do by hand while it stands: it stays until somebody asks.
#[tokio::test(start_paused = true)]
async fn a_death_while_a_rollout_is_halted_does_not_mend_it() {
    for point in POINTS {
        let mut world = published_everywhere(0).await;
        push(&world, &image("v2"), "v2").await;
        world.rest().await;
        dies_at(&world, STATUS);
        let draft = revision(0, 2);
        moves(&world, &draft, model::Door::Main, Lifecycle::Proposed).await;
        dies(&mut world, STATUS).await;
        moves(&world, &draft, model::Door::Approval, Lifecycle::Draft).await;
        world.rest().await;
        assert_eq!(status(&world).state, RolloutState::Halted, "{point:?}");
        let before = stands(&status(&world));
        world.restart().await;
        assert_eq!(stands(&status(&world)), before, "{point:?}");
        // The member is published by hand: it fills the step, and the halt stands.
        moves(&world, &draft, model::Door::Main, Lifecycle::Proposed).await;
        world.rest().await;
        if point.0 != "engine BeforeVariant" {
            dies_at(&world, point);
        }
        approves(&world, &draft).await;
        if point.0 != "engine BeforeVariant" {
            dies(&mut world, point).await;
        }
        if world.revision(&draft).lifecycle != Lifecycle::Published {
            publish_proposed(&world, &draft).await;
        }
        world.rest().await;
        assert_eq!(status(&world).state, RolloutState::Halted, "{point:?}");
        assert_eq!(reached(&world, 2), [0], "{point:?}");
        dies_at(&world, point);
        annotate(&world, plan::set::RETRY, Some("1"));
        dies(&mut world, point).await;
        assert_eq!(reached(&world, 2), [0, 1], "{point:?}");
        assert_eq!(status(&world).state, RolloutState::Progressing, "{point:?}");
        quiet(&world).await;
    }
}

/// As halted, so paused; and an undo is carried out, whatever the process dies of.
#[tokio::test(start_paused = true)]
async fn a_death_while_a_rollout_is_paused_opens_nothing_and_forgets_no_way_back() {
    for point in POINTS {
        let mut world = published_everywhere(0).await;
        push(&world, &image("v2"), "v2").await;
        world.rest().await;
        dies_at(&world, STATUS);
        annotate(&world, plan::set::PAUSE, Some("true"));
        publish_by(&world, &revision(0, 2)).await;
        dies(&mut world, STATUS).await;
        publish_by(&world, &revision(0, 2)).await;
        world.rest().await;
        assert_eq!(status(&world).state, RolloutState::Paused, "{point:?}");
        let before = stands(&status(&world));
        world.restart().await;
        assert_eq!(stands(&status(&world)), before, "{point:?}");
        assert_eq!(reached(&world, 2), [0], "{point:?}");
        dies_at(&world, point);
        annotate(&world, plan::set::PAUSE, None);
        dies(&mut world, point).await;
        assert_eq!(reached(&world, 2), [0, 1], "{point:?}");
        // The same with the way back: the second member's draft goes, the first one gets what it had.
        dies_at(&world, point);
        annotate(&world, plan::set::UNDO, Some(&status(&world).id));
        dies(&mut world, point).await;
        assert_eq!(status(&world).state, RolloutState::Undone, "{point:?}");
        assert!(!has(&world, 1, 2), "{point:?}");
        let text = world.file(&revision(0, 3), "deployment.yaml").await;
        assert!(text.contains("app:v1"), "{point:?}: {text}");
        quiet(&world).await;
    }
}

/// Proposes and approves as far as it is not done, and as far as the process lives.
async fn publish_by(world: &World, name: &str) {
    let at = key(NS, name);
    let engine = &world.engine;
    if world.revision(name).lifecycle == Lifecycle::Draft {
        let door = model::Door::Main;
        drop(
            engine
                .move_to(&alice(), &at, door, Lifecycle::Proposed)
                .await,
        );
    }
    if world.revision(name).lifecycle == Lifecycle::Proposed {
        approves(world, name).await;
    }
}

/// A set that is suspended amid a step is at rest over restarts, and its soak is not begun anew.
#[tokio::test(start_paused = true)]
async fn a_restart_of_a_suspended_or_soaking_rollout_changes_nothing() {
    let mut world = published_everywhere(60).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    world.pass(20).await;
    suspend_set(&world, true);
    world.rest().await;
    let before = stands(&status(&world));
    world.restart().await;
    assert_eq!(stands(&status(&world)), before);
    world.pass(60).await;
    assert_eq!(reached(&world, 2), [0], "it is suspended");
    suspend_set(&world, false);
    world.rest().await;
    assert_eq!(reached(&world, 2), [0, 1], "it soaked meanwhile");
    publish(&world, 1, 2).await;
    let filled = status(&world).steps[1].filled;
    world.pass(10).await;
    world.restart().await;
    assert_eq!(status(&world).steps[1].filled, filled);
    assert_eq!(reached(&world, 2), [0, 1]);
    world.pass(55).await;
    assert_eq!(reached(&world, 2), [0, 1, 2, 3]);
}

/// As a target leaves amid the last step, with its draft and with its published package proposed for deletion.
#[tokio::test(start_paused = true)]
async fn a_death_as_a_member_leaves_neither_ends_nor_holds_the_rollout() {
    let points = [
        ("engine BeforeVariant", 1),
        ("engine Published", 1),
        ("engine Recorded", 1),
        ("engine Recorded", 2),
        ("engine Settled", 1),
        ("engine BeforeFinalizer", 1),
        ("engine BeforeStatus", 1),
        ("engine BeforeStatus", 2),
    ];
    for point in points {
        let mut world = in_the_last_step().await;
        dies_at(&world, point);
        leaves(&world, "deploy", "c");
        dies(&mut world, point).await;
        assert!(
            world.twin.variant(NS, "fan-deploy-c").is_none(),
            "{point:?}"
        );
        assert!(!has(&world, 2, 2), "{point:?}");
        let step = status(&world).steps[2].clone();
        let counted = (step.members, step.deleted, step.published);
        assert_eq!(counted, (2, 1, 0), "{point:?}");
        assert_eq!(status(&world).state, RolloutState::Progressing, "{point:?}");
        publish(&world, 3, 2).await;
        assert_eq!(status(&world).state, RolloutState::Complete, "{point:?}");
        quiet(&world).await;
    }
}
