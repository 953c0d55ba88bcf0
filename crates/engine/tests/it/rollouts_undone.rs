//! Rollouts that are taken back (F8): every member gets what it had published before, and stays there.

use model::{RolloutState, UpstreamSource, UpstreamVersion};

use crate::rollouts::{
    annotate, has, image, publish, published_everywhere, reached, revision, status,
};
use crate::variants::{push, quiet};
use crate::world::{NS, World};

/// The files of a member's package that an upgrade of this walk touches; `rollouts_bytes` compares all of them.
async fn bytes(world: &World, name: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for file in ["deployment.yaml", "endpoint.yaml", "package-context.yaml"] {
        texts.push(world.file(name, file).await);
    }
    texts
}

/// What people were told of a set, under one reason.
pub(crate) fn told(world: &World, reason: &str) -> Vec<String> {
    let all = world.twin.events().into_iter();
    let named = all.filter(|e| e.reason == reason && e.about.name.as_str() == "fan");
    named.map(|e| e.message).collect()
}

#[tokio::test(start_paused = true)]
async fn an_undo_gives_the_former_bytes_and_stays_until_somebody_resumes() {
    let mut world = published_everywhere(0).await;
    let before = bytes(&world, &revision(0, 1)).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    assert_ne!(bytes(&world, &revision(0, 2)).await, before);
    // The second member's draft is open.
    assert!(has(&world, 1, 2));
    let id = status(&world).id;
    annotate(&world, plan::set::UNDO, Some(&id));
    world.rest().await;
    assert_eq!(status(&world).state, RolloutState::Undone);
    let said = told(&world, "RolloutUndone");
    let wanted = format!("rollout {id}: 0 of 2 members are published as they were before");
    assert_eq!(said, [wanted]);
    assert!(has(&world, 0, 3), "{:?}", world.names());
    assert_eq!(bytes(&world, &revision(0, 3)).await, before);
    assert!(!has(&world, 1, 2), "nobody edited it: it goes");
    publish(&world, 0, 3).await;
    assert!(
        status(&world).message.contains("2 of 2 members"),
        "{:?}",
        status(&world)
    );
    world.restart().await;
    quiet(&world).await;
    assert_eq!(told(&world, "RolloutUndone"), said, "it is told once");
    // A tool writes the manifest again: the same spec.
    annotate(&world, "example.test/applied", Some("again"));
    world.rest().await;
    assert_eq!(status(&world).state, RolloutState::Undone);
    // Another version of it is published: nothing drafts forward.
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    assert_eq!(reached(&world, 4), [0_usize; 0]);
    annotate(&world, plan::set::UNDO, None);
    world.rest().await;
    assert_eq!(reached(&world, 4), [0]);
    let text = world.file(&revision(0, 4), "deployment.yaml").await;
    assert!(text.contains("app:v3"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_undo_keeps_what_a_person_committed_in_a_draft() {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    let draft = revision(0, 2);
    world
        .edit(&draft, "deployment.yaml", |text| {
            text.replace("paused: false", "paused: true")
        })
        .await;
    world.rest().await;
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    let text = world.file(&draft, "deployment.yaml").await;
    assert!(text.contains("app:v1"), "{text}");
    assert!(text.contains("paused: true"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn another_upstream_in_the_spec_ends_an_undo() {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    let id = status(&world).id;
    annotate(&world, plan::set::UNDO, Some(&id));
    world.rest().await;
    publish(&world, 0, 3).await;
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut fan = stored.parsed.expect("a set");
    for source in &mut fan.spec.upstreams {
        if let UpstreamSource::Package(upstream) = source {
            upstream.version = UpstreamVersion::Revision(2);
        }
    }
    world.twin.put_set(fan);
    world.rest().await;
    assert_ne!(status(&world).state, RolloutState::Undone);
    assert_eq!(reached(&world, 4), [0]);
    let text = world.file(&revision(0, 4), "deployment.yaml").await;
    assert!(text.contains("app:v2"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn members_that_had_published_different_commits_each_get_their_own_back() {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    // The canary is at v2, the others at v1, when v3 comes.
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    publish(&world, 0, 3).await;
    // The early member's draft of v2 was brought to v3.
    publish(&world, 1, 2).await;
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    let canary = world.file(&revision(0, 4), "deployment.yaml").await;
    assert!(canary.contains("app:v2"), "{canary}");
    let early = world.file(&revision(1, 3), "deployment.yaml").await;
    assert!(early.contains("app:v1"), "{early}");
}
