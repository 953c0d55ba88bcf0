//! What people do by hand to variants and drafts of a set that rolls out (F7): nothing of it goes ahead of a step.

use std::sync::Arc;

use model::{CommitId, Lifecycle, RolloutState, Variant, VariantSpec};
use testkit::twin::key;

use crate::rollouts::{
    annotate, has, image, publish, published_everywhere, reached, revision, status,
};
use crate::variants::{push, quiet};
use crate::world::{NS, World, alice};

/// The variant of a member of the last step.
const LATE: &str = "fan-deploy-d";

pub(crate) fn variant(world: &World, name: &str) -> Variant {
    let stored = world.twin.variant(NS, name).expect("the variant");
    Variant::clone(&stored.parsed.expect("a variant"))
}

fn commit(world: &World, name: &str) -> CommitId {
    variant(world, name).spec.upstream.commit.expect("a commit")
}

/// Everything is at v1, and the canary has a draft of v2.
async fn canary_drafted() -> World {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    assert_eq!(reached(&world, 2), [0]);
    world
}

#[tokio::test(start_paused = true)]
async fn what_is_written_by_hand_to_a_variant_that_waits_leaves_no_draft() {
    let world = canary_drafted().await;
    let (was, wanted) = (commit(&world, LATE), commit(&world, "fan-canary-a"));
    assert_ne!(was, wanted);
    let mut ahead = variant(&world, LATE);
    ahead.spec.upstream.commit = Some(wanted);
    let name = "offshoot.dev/rollout".to_owned();
    let mark = variant(&world, "fan-canary-a")
        .meta
        .annotations
        .get(&name)
        .cloned();
    let annotations = &mut Arc::make_mut(&mut ahead.meta).annotations;
    annotations.insert(name, mark.expect("a mark"));
    world.twin.put_variant(ahead);
    world.rest().await;
    assert_eq!(commit(&world, LATE), was);
    assert_eq!(reached(&world, 2), [0]);
    quiet(&world).await;
}

pub(crate) fn by_hand(world: &World, name: &str, change: impl FnOnce(&mut VariantSpec)) {
    let mut variant = variant(world, name);
    change(&mut variant.spec);
    world.twin.put_variant(variant);
}

/// The same, and a draft of it is made before the set looks.
async fn drafted_by_hand(world: &World, name: &str, change: impl FnOnce(&mut VariantSpec)) {
    suspend_set(world, true);
    by_hand(world, name, change);
    world.rest().await;
    suspend_set(world, false);
    world.rest().await;
}

pub(crate) fn suspend_set(world: &World, suspend: bool) {
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut fan = stored.parsed.expect("a set");
    fan.spec.suspend = suspend;
    world.twin.put_set(fan);
}

fn has_note(world: &World, name: &str) -> bool {
    let annotations = &variant(world, name).meta.annotations;
    annotations.contains_key(plan::variant::words::PUT_BACK)
}

/// A key of the package context stays once a recipe stated it (V22): not one that the set never gave.
#[tokio::test(start_paused = true)]
async fn a_context_key_that_is_written_by_hand_to_a_variant_that_waits_leaves_no_draft() {
    let world = canary_drafted().await;
    drafted_by_hand(&world, LATE, |spec| {
        spec.context.data.insert("by".to_owned(), "hand".to_owned());
    })
    .await;
    assert!(variant(&world, LATE).spec.context.data.is_empty());
    assert_eq!(reached(&world, 2), [0]);
    assert!(!has_note(&world, LATE), "no draft is open: it is settled");
    quiet(&world).await;
}

/// The draft of a variant that waits again is as the set wanted it, with what a person edited in it.
#[tokio::test(start_paused = true)]
async fn what_is_written_by_hand_goes_from_a_draft_and_a_persons_edit_stays() {
    let world = canary_drafted().await;
    publish(&world, 0, 2).await;
    let (name, draft) = ("fan-early-b", revision(1, 2));
    let paused = |text: &str| text.replace("paused: false", "paused: true");
    world.edit(&draft, "deployment.yaml", paused).await;
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    let before = world.file(&draft, "package-context.yaml").await;
    drafted_by_hand(&world, name, |spec| {
        spec.context.data.insert("by".to_owned(), "hand".to_owned());
        spec.injectors.clear();
    })
    .await;
    assert!(has_note(&world, name), "until no draft of it is open");
    let after = world.file(&draft, "package-context.yaml").await;
    assert_eq!(after, before);
    let text = world.file(&draft, "deployment.yaml").await;
    assert!(text.contains("paused: true"), "{text}");
    assert!(text.contains("app:v2"), "{text}");
    quiet(&world).await;
    // Its step opens, and nothing of it comes back.
    publish(&world, 0, 3).await;
    publish(&world, 1, 2).await;
    let after = world.file(&draft, "package-context.yaml").await;
    assert_eq!(after, before);
    assert!(!has_note(&world, name), "it is published");
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_is_deleted_by_hand_while_it_waits_is_made_anew() {
    let world = canary_drafted().await;
    let was = variant(&world, LATE);
    world.twin.delete_variant(NS, LATE);
    world.rest().await;
    let anew = variant(&world, LATE);
    assert_ne!(anew.meta.uid, was.meta.uid);
    assert_eq!(anew.spec, was.spec);
    assert_eq!(reached(&world, 2), [0]);
    quiet(&world).await;
}

async fn moves(world: &World, name: &str, door: model::Door, to: Lifecycle) {
    let at = key(NS, name);
    let moved = world.engine.move_to(&alice(), &at, door, to).await;
    moved.expect("moved");
}

async fn propose_and_reject(world: &World, name: &str) {
    moves(world, name, model::Door::Main, Lifecycle::Proposed).await;
    moves(world, name, model::Door::Approval, Lifecycle::Draft).await;
    world.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_rejection_of_an_old_version_does_not_halt_the_rollout_of_the_next() {
    let world = canary_drafted().await;
    let draft = revision(0, 2);
    propose_and_reject(&world, &draft).await;
    assert_eq!(status(&world).state, RolloutState::Halted);
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    assert_eq!(status(&world).state, RolloutState::Progressing);
    let annotations = world.revision(&draft).meta.annotations;
    assert!(!annotations.contains_key("offshoot.dev/rejected-by"));
    // A rejection of what is wanted now halts.
    propose_and_reject(&world, &draft).await;
    assert_eq!(status(&world).state, RolloutState::Halted);
    quiet(&world).await;
}

/// A proposal stands; whoever takes a rollout back is told where one is in the way.
#[tokio::test(start_paused = true)]
async fn an_undo_names_the_members_whose_proposal_stands_in_its_way() {
    let world = canary_drafted().await;
    publish(&world, 0, 2).await;
    let draft = revision(1, 2);
    moves(&world, &draft, model::Door::Main, Lifecycle::Proposed).await;
    world.rest().await;
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    let told = status(&world);
    let wanted = "1 keeps a proposal until somebody rejects or approves it: fan-early-b";
    assert!(told.message.contains(wanted), "{}", told.message);
    assert!(
        told.message.starts_with("1 of 2 members"),
        "{}",
        told.message
    );
    publish(&world, 0, 3).await;
    let told = status(&world);
    assert!(
        told.message.starts_with("2 of 2 members"),
        "{}",
        told.message
    );
    // The table says the same.
    let published: Vec<usize> = told.steps.iter().map(|s| s.published).collect();
    assert_eq!(published, [1, 1, 0]);
    moves(&world, &draft, model::Door::Approval, Lifecycle::Draft).await;
    world.rest().await;
    assert!(!has(&world, 1, 2), "nobody edited it: it goes");
    assert!(
        status(&world)
            .message
            .starts_with("2 of 2 members are published as they were before")
    );
    quiet(&world).await;
}

/// A draft of a rollout that another upstream replaced stays until its step opens, and whoever asks is told.
#[tokio::test(start_paused = true)]
async fn drafts_of_a_replaced_rollout_are_named() {
    let world = canary_drafted().await;
    publish(&world, 0, 2).await;
    assert_eq!(reached(&world, 2), [0, 1]);
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    let why = world.engine.why_set(&key(NS, "fan")).await;
    let why = why.expect("an answer").expect("a set");
    let named =
        "1 target whose step is closed has an open revision that is not of what is wanted now";
    assert!(why.contains(named), "{why}");
    let held = "- 1 with an open revision whose step of the rollout is closed: fan-early-b\n";
    assert!(why.contains(held), "{why}");
    let asked = "hint: offshoot rpkg propose -l 'offshoot.dev/variant in (fan-canary-a)'\n";
    assert!(why.contains(asked), "{why}");
    let asked = async |name: &str| {
        let why = world.engine.why_variant(&key(NS, name)).await;
        why.expect("an answer").expect("a variant")
    };
    let early = "is not to be approved now: its step 'early' of the rollout is closed\n";
    let why = asked("fan-early-b").await;
    assert!(why.starts_with(early), "{why}");
    let why = asked("fan-canary-a").await;
    assert!(!why.contains("not to be approved"), "{why}");
    // Whoever approves it all the same is heard of at once.
    world.pass(2).await;
    publish(&world, 1, 2).await;
    assert_eq!(status(&world).diverged, ["fan-early-b"]);
    let told = world.twin.events();
    let told = told.iter().filter(|e| e.reason == "RolloutDiverged");
    assert_eq!(told.count(), 1);
    quiet(&world).await;
}

/// A proposal of what is wanted that outlived an undo is that after the resume, too, and is told as what it is.
#[tokio::test(start_paused = true)]
async fn a_proposal_that_an_undo_left_is_of_what_is_wanted_once_somebody_resumes() {
    let world = canary_drafted().await;
    publish(&world, 0, 2).await;
    moves(
        &world,
        &revision(1, 2),
        model::Door::Main,
        Lifecycle::Proposed,
    )
    .await;
    world.rest().await;
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    publish(&world, 0, 3).await;
    annotate(&world, plan::set::UNDO, None);
    world.rest().await;
    assert_eq!(status(&world).progress(), "canary 1/3, 0 of 1");
    let why = world.engine.why_set(&key(NS, "fan")).await;
    let why = why.expect("an answer").expect("a set");
    assert!(!why.contains("not of what is wanted now"), "{why}");
    let named = "1 target whose step is closed has an open revision of what is wanted: approved now, it goes ahead of the step: fan-early-b";
    assert!(why.contains(named), "{why}");
    quiet(&world).await;
}
