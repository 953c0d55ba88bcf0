//! What members go back to that somebody published by hand before their step was open (F8).

use std::sync::Arc;

use model::{CommitId, RolloutState, UpstreamVersion, Variant};

use crate::rollouts::{
    annotate, fleet, has, image, publish, published_everywhere, put_fan, reached, revision,
    rollout, status,
};
use crate::rollouts_by_hand::{by_hand, suspend_set, variant};
use crate::rollouts_undone::told as events;
use crate::variants::{push, quiet};
use crate::world::World;

async fn undo(world: &World) {
    annotate(world, plan::set::UNDO, Some(&status(world).id));
    world.rest().await;
    assert_eq!(status(world).state, RolloutState::Undone);
}

/// Somebody makes the variant of the second step by hand, of v1 alone, before the set does.
fn put_theirs(world: &World) {
    let mut theirs = variant(world, "fan-canary-a");
    let early = "fan-early-b";
    theirs.key.name = model::ObjectName::parse(early).expect("a name");
    theirs.meta = Arc::default();
    theirs.spec.downstream.repo = model::RepositoryName::parse("early").expect("a name");
    theirs.spec.downstream.package = model::PackageName::parse("b").expect("a name");
    theirs.spec.upstream.version = UpstreamVersion::Revision(1);
    theirs.spec.upstream.commit = None;
    world.twin.put_variant(Variant::clone(&theirs));
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_is_taken_over_goes_back_to_what_it_had_published() {
    for by_hand_ahead in [false, true] {
        let world = fleet(0).await;
        put_theirs(&world);
        world.rest().await;
        publish(&world, 1, 1).await;
        world.pass(2).await;
        push(&world, &image("v2"), "v2").await;
        world.rest().await;
        if by_hand_ahead {
            world.pass(2).await;
            by_hand(&world, "fan-early-b", |spec| {
                spec.upstream.version = UpstreamVersion::Revision(2);
            });
            world.rest().await;
            publish(&world, 1, 2).await;
        }
        assert!(variant(&world, "fan-early-b").meta.owners.is_empty());
        publish(&world, 0, 1).await;
        assert_eq!(variant(&world, "fan-early-b").meta.owners.len(), 1);
        if !by_hand_ahead {
            publish(&world, 1, 2).await;
        }
        assert_eq!(status(&world).steps[1].published, 1);
        assert!(has(&world, 2, 1), "the last step is open");
        undo(&world).await;
        let text = world.file(&revision(1, 3), "deployment.yaml").await;
        assert!(text.contains("app:v1"), "{text}");
        // What the rollout made stays, and is named; this it did not make.
        assert!(!status(&world).created.contains(&"fan-early-b".to_owned()));
        publish(&world, 1, 3).await;
        let message = status(&world).message;
        assert!(message.starts_with("1 of 1 member is"), "{message}");
        quiet(&world).await;
    }
}

/// The commit that is wanted, written into a member that waits while nobody puts it back, and published.
#[tokio::test(start_paused = true)]
async fn a_member_that_was_published_ahead_goes_back_behind_the_rollout() {
    let world = published_everywhere(0).await;
    let first = commit(&world, "fan-early-b");
    world.pass(2).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    let wanted = commit(&world, "fan-canary-a");
    suspend_set(&world, true);
    by_hand(&world, "fan-early-b", |spec| spec.upstream.commit = wanted);
    world.pass(2).await;
    publish(&world, 1, 2).await;
    publish(&world, 0, 2).await;
    suspend_set(&world, false);
    world.rest().await;
    assert_eq!(status(&world).steps[1].published, 1, "{:?}", status(&world));
    undo(&world).await;
    assert_eq!(commit(&world, "fan-early-b"), first);
    let text = world.file(&revision(1, 3), "deployment.yaml").await;
    assert!(text.contains("app:v1"), "{text}");
    quiet(&world).await;
}

fn commit(world: &World, name: &str) -> Option<CommitId> {
    variant(world, name).spec.upstream.commit
}

/// A variant that somebody made under the name of a target, for another package: it is not taken over, and the rollout halts at
/// once with the reason.
#[tokio::test(start_paused = true)]
async fn a_target_whose_name_is_taken_halts_its_step_with_the_reason() {
    let world = fleet(0).await;
    put_theirs(&world);
    by_hand(&world, "fan-early-b", |spec| {
        spec.downstream.package = model::PackageName::parse("other").expect("a name");
    });
    world.rest().await;
    let why = "packagevariant 'fan-early-b' exists already and has another downstream";
    let named = |told: &model::RolloutStatus| -> Vec<String> {
        told.unmade.iter().map(ToString::to_string).collect()
    };
    let told = status(&world);
    assert_eq!(named(&told), [format!("fan-early-b (early): {why}")]);
    assert_eq!(told.state, RolloutState::Progressing, "its step is closed");
    let said = events(&world, "RolloutNameTaken");
    let taken = "1 not made yet, and a variant that is not the set's has the name: fan-early-b";
    assert_eq!(said, [format!("rollout {}: {taken}", told.id)]);
    publish(&world, 0, 1).await;
    let told = status(&world);
    assert_eq!(
        (told.state, told.steps[1].failed),
        (RolloutState::Halted, 1)
    );
    quiet(&world).await;
    assert_eq!(events(&world, "RolloutNameTaken"), said, "it is told once");
    world.twin.delete_variant(crate::world::NS, "fan-early-b");
    world.rest().await;
    let told = status(&world);
    assert_eq!(named(&told), [""; 0]);
    assert!(
        told.message.ends_with("it waits for a retry"),
        "{}",
        told.message
    );
    annotate(&world, plan::set::RETRY, Some("1"));
    world.rest().await;
    publish(&world, 1, 1).await;
    assert!(has(&world, 2, 1));
}

/// A key of the package context that somebody gave by hand and published is a person's word, whether it was written into the
/// file or into the variant (V17, V22): an undo takes back the upstream, and keeps it.
#[tokio::test(start_paused = true)]
async fn a_context_key_that_was_published_by_hand_stays_behind_an_undo() {
    for in_the_file in [true, false] {
        let world = published_everywhere(0).await;
        push(&world, &image("v2"), "v2").await;
        world.rest().await;
        let (draft, context) = (revision(0, 2), "package-context.yaml");
        if in_the_file {
            let keyed = |text: &str| format!("{}\n  by: hand\n", text.trim_end());
            world.edit(&draft, context, keyed).await;
        } else {
            suspend_set(&world, true);
            by_hand(&world, "fan-canary-a", |spec| {
                spec.context.data.insert("by".to_owned(), "hand".to_owned());
            });
        }
        world.rest().await;
        publish(&world, 0, 2).await;
        suspend_set(&world, false);
        world.rest().await;
        assert!(variant(&world, "fan-canary-a").spec.context.data.is_empty());
        undo(&world).await;
        let back = revision(0, 3);
        let text = world.file(&back, "deployment.yaml").await;
        assert!(text.contains("app:v1"), "{text}");
        let text = world.file(&back, context).await;
        assert!(text.contains("by: hand"), "{text}");
        publish(&world, 0, 3).await;
        let message = status(&world).message;
        // The early member was reached, and never published v2.
        assert!(message.starts_with("2 of 2 members are"), "{message}");
        quiet(&world).await;
    }
}

/// A rollout is added to a set whose variants follow the latest tag. Before its steps have pinned them, another tag is made: what
/// waits keeps what it has, also while the rollout is taken back.
#[tokio::test(start_paused = true)]
async fn what_waits_behind_a_rollout_that_was_added_follows_no_later_tag() {
    let world = published_everywhere(0).await;
    put_fan(&world, None, UpstreamVersion::Latest);
    world.rest().await;
    let follows = |name| variant(&world, name).spec.upstream.commit;
    assert_eq!(follows("fan-deploy-c"), None);
    put_fan(&world, Some(rollout(3_600)), UpstreamVersion::Latest);
    world.rest().await;
    assert_eq!(status(&world).state, RolloutState::Soaking);
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    assert_eq!(reached(&world, 2), [0]);
    undo(&world).await;
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    assert_eq!(status(&world).state, RolloutState::Undone);
    for at in 1..4 {
        assert!(!has(&world, at, 2), "{}", revision(at, 2));
    }
    quiet(&world).await;
}
