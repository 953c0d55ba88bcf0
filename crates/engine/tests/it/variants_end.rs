//! Variants that leave, lack something or come back after a restart.

use crate::variants::{DEPLOYMENT, condition, push, quiet, ready, variant};
use crate::world::{NS, World};
use model::{Lifecycle, Status};

/// R10, R103-R106.
#[tokio::test(start_paused = true)]
async fn a_deleted_variant_leaves_as_its_policy_says() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.twin.put_variant(variant("cafe", "cafe"));
    world.rest().await;
    world.publish("deploy.cafe.packagevariant-1").await;
    world.rest().await;
    world.twin.delete_variant(NS, "shop");
    world.twin.delete_variant(NS, "cafe");
    world.rest().await;
    assert!(
        world.twin.variants().is_empty(),
        "{:?}",
        world.twin.variants()
    );
    let cafe = world.revision("deploy.cafe.packagevariant-1");
    assert_eq!(cafe.lifecycle, Lifecycle::DeletionProposed);
    assert!(
        !world
            .names()
            .contains(&"deploy.shop.packagevariant-1".to_owned())
    );
    assert!(
        !world
            .refs("deploy")
            .contains_key("refs/heads/drafts/shop/packagevariant-1")
    );
    quiet(&world).await;
}

/// R8, R113, R120, R121.
#[tokio::test(start_paused = true)]
async fn what_is_missing_is_said_and_found_when_it_appears() {
    let world = World::new().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let (status, message) = condition(&world, "shop", "Stalled");
    assert_eq!(status, Status::True);
    assert!(message.starts_with("UpstreamNotFound"), "{message}");
    world.git("blueprints").await;
    push(&world, DEPLOYMENT, "v1").await;
    world.register("blueprints", false).await;
    world.rest().await;
    let (_, message) = condition(&world, "shop", "Stalled");
    assert!(
        message.starts_with("DownstreamRepositoryNotFound"),
        "{message}"
    );
    world.register("deploy", true).await;
    world.rest().await;
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
}

/// R67, R115, V2.
#[tokio::test(start_paused = true)]
async fn a_failed_render_leaves_no_draft_and_says_so() {
    let world = ready().await;
    let mut broken = variant("shop", "shop");
    broken.spec.pipeline.mutators[0].image = Some("example.test/unknown:v1".to_owned());
    world.twin.put_variant(broken);
    world.rest().await;
    let (status, message) = condition(&world, "shop", "Ready");
    assert_eq!(status, Status::False);
    assert!(message.starts_with("RenderFailed"), "{message}");
    assert!(!world.names().iter().any(|n| n.contains("packagevariant-")));
    assert!(!world.refs("deploy").keys().any(|n| n.contains("drafts")));
    quiet(&world).await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
}

#[tokio::test(start_paused = true)]
async fn a_restart_changes_nothing_and_git_alone_brings_everything_back() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.twin.put_variant(variant("cafe", "cafe"));
    world.rest().await;
    world
        .edit("deploy.cafe.packagevariant-1", "deployment.yaml", |t| {
            t.replace("replicas: 1", "replicas: 5")
        })
        .await;
    world.publish("deploy.cafe.packagevariant-1").await;
    world.rest().await;
    let (writes, refs, before) = (
        world.twin.writes(),
        world.refs("deploy"),
        world.twin.revisions(),
    );
    world.restart().await;
    assert_eq!(
        (world.twin.writes(), world.refs("deploy")),
        (writes, refs.clone()),
        "nothing to do"
    );
    world.rebuild().await;
    assert_eq!(world.refs("deploy"), refs, "git is the truth");
    let after = world.twin.revisions();
    assert_eq!(after.len(), before.len());
    for (b, a) in before.iter().zip(&after) {
        assert_eq!(
            (&b.key, b.commit, b.lifecycle, b.revision),
            (&a.key, a.commit, a.lifecycle, a.revision)
        );
        assert_eq!(
            b.machine.as_ref().map(|m| &m.digest),
            a.machine.as_ref().map(|m| &m.digest),
            "{}",
            b.key
        );
        assert_eq!(
            b.meta.owners.len(),
            a.meta.owners.len(),
            "{}: owners by the trailer",
            b.key
        );
        assert_eq!(b.tasks, a.tasks, "{}", b.key);
        assert_eq!(b.conditions, a.conditions, "{}", b.key);
    }
    quiet(&world).await;
}

/// V10: git knows nothing of the mark that only such a proposal carries.
#[tokio::test(start_paused = true)]
async fn a_deletion_whose_proposal_died_before_its_record_is_still_known_as_ours() {
    let mut world = ready().await;
    world.twin.put_variant(variant("cafe", "cafe"));
    world.rest().await;
    world.publish("deploy.cafe.packagevariant-1").await;
    world.rest().await;
    *world.deaths.named.lock().expect("no panic") = Some("engine Published");
    world.twin.delete_variant(NS, "cafe");
    world.pass(5).await;
    assert_eq!(world.deaths.died().as_deref(), Some("engine Published"));
    world.restart().await;
    let cafe = world.revision("deploy.cafe.packagevariant-1");
    assert_eq!(cafe.lifecycle, Lifecycle::DeletionProposed);
    let mark = cafe.meta.annotations.get(model::marks::PROPOSED_BY);
    assert!(mark.is_some(), "{:?}", cafe.meta);
    // Whoever makes the variant again takes the proposal back.
    let mut again = variant("cafe", "cafe");
    again.spec.adoption = model::AdoptionPolicy::Existing;
    world.twin.put_variant(again);
    world.rest().await;
    let cafe = world.revision("deploy.cafe.packagevariant-1");
    assert_eq!(cafe.lifecycle, Lifecycle::Published);
    quiet(&world).await;
}
