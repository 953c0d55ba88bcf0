//! That the source of what was injected is gone: said on the variant, in an event, and to whoever asks (V22, R88).

use model::{Lifecycle, Status, VariantStatus};
use testkit::twin::key;

use crate::variants::{config_map, endpoint, quiet, ready, variant};
use crate::world::{NS, World};

const DRAFT: &str = "deploy.shop.packagevariant-1";
const POINT: &str = "config.injection.ConfigMap.endpoint";

fn status(world: &World) -> VariantStatus {
    world.twin.variant(NS, "shop").expect("the variant").status
}

/// What is said of the point, as reason and message; the verdict about the variant is untouched by it.
fn said(world: &World) -> Option<String> {
    let status = status(world);
    for (kind, is) in [("Ready", Status::True), ("Stalled", Status::False)] {
        assert_eq!(
            status.condition(kind).map(|c| c.status),
            Some(is),
            "{status:?}"
        );
    }
    let mut notes = status.injection.into_iter();
    let note = notes
        .next()
        .map(|n| format!("{} {}: {}", n.point, n.reason, n.message));
    assert_eq!(notes.next(), None);
    note
}

fn stale_events(world: &World) -> usize {
    let events = world.twin.events();
    events
        .iter()
        .filter(|e| e.reason == "InjectionStale")
        .count()
}

#[tokio::test(start_paused = true)]
async fn that_a_source_is_gone_is_said_of_drafts_and_of_published_revisions() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    assert_eq!(said(&world), None);
    world.publish(DRAFT).await;
    world.rest().await;
    assert_eq!(said(&world), None);
    let gone = || {
        world
            .twin
            .delete_object(&config_map(), &key(NS, "endpoint-eu"))
    };
    gone();
    world.rest().await;
    // A published revision gets no new draft for that alone.
    assert_eq!(world.revision(DRAFT).lifecycle, Lifecycle::Published);
    let told = said(&world).expect("said on the variant");
    assert!(
        told.starts_with(&format!("{POINT} InjectionStale: 'endpoint-eu' is gone;")),
        "{told}"
    );
    assert_eq!(stale_events(&world), 1);
    let why = world.engine.why_variant(&key(NS, "shop")).await;
    let why = why.expect("an answer").expect("a variant");
    assert!(why.contains(&told), "{why}");
    quiet(&world).await;
    assert_eq!(stale_events(&world), 1, "it is told once");
    endpoint(&world, "eu.example.test");
    world.rest().await;
    assert_eq!(said(&world), None);
    // An open draft says it as well, and goes on holding what was injected.
    endpoint(&world, "us.example.test");
    world.rest().await;
    gone();
    world.rest().await;
    let told = said(&world).expect("said on the variant");
    assert!(told.contains("InjectionStale"), "{told}");
    let draft = world
        .file("deploy.shop.packagevariant-2", "endpoint.yaml")
        .await;
    assert!(draft.contains("us.example.test"), "{draft}");
}
