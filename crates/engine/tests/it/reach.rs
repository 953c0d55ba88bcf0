//! How far a variant reaches: its namespace and no further; and what a storm of changes costs.

use model::{Lifecycle, ObjectMeta, Repository, Status};
use testkit::twin::key;

use crate::variants::{config_map, ready, variant};
use crate::world::{NS, repository};

const ELSEWHERE: &str = "elsewhere";

fn in_namespace(namespace: &str, name: &str, deployment: bool) -> Repository {
    Repository {
        key: key(namespace, name),
        meta: ObjectMeta::default(),
        ..repository(name, deployment)
    }
}

/// R17, R90: neither repositories nor objects of another namespace are seen.
#[tokio::test(start_paused = true)]
async fn nothing_of_another_namespace_is_seen() {
    let world = ready().await;
    let data = Some("{\"host\":\"stolen\"}");
    let stranger = key(ELSEWHERE, "endpoint-eu");
    let mut wanted = variant("shop", "shop");
    wanted.key = key(ELSEWHERE, "shop");
    world.twin.put_variant(wanted);
    world
        .twin
        .delete_object(&config_map(), &key(NS, "endpoint-eu"));
    world
        .twin
        .put_object(&config_map(), &stranger, &[], data, None);
    world.twin.put_variant(variant("web", "web"));
    world.rest().await;
    let stored = world.twin.variant(ELSEWHERE, "shop").expect("the variant");
    let ready = stored.status.condition("Ready").expect("a verdict");
    assert_eq!(
        (ready.status, ready.reason.as_str()),
        (Status::False, "UpstreamNotFound")
    );
    let file = world
        .file("deploy.web.packagevariant-1", "endpoint.yaml")
        .await;
    assert!(file.contains("host: nowhere"), "{file}");
}

/// R191, V25: one repository, registered in two namespaces, serves both; each has records of its own.
#[tokio::test(start_paused = true)]
async fn one_upstream_is_registered_in_two_namespaces() {
    let world = ready().await;
    world.git("deploy-b").await;
    for (name, deployment) in [("blueprints", false), ("deploy-b", true)] {
        world
            .twin
            .put_repository(in_namespace(ELSEWHERE, name, deployment));
    }
    world.rest().await;
    let mut there = variant("shop", "shop");
    there.key = key(ELSEWHERE, "shop");
    there.spec.downstream.repo = model::RepositoryName::parse("deploy-b").expect("a name");
    world.twin.put_variant(there);
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    for (namespace, draft) in [
        (NS, "deploy.shop.packagevariant-1"),
        (ELSEWHERE, "deploy-b.shop.packagevariant-1"),
    ] {
        let made = world.twin.revision(namespace, draft).expect("a draft");
        assert_eq!(made.lifecycle, Lifecycle::Draft);
        let upstream = world.twin.revision(namespace, "blueprints.app.v1");
        assert!(upstream.is_some(), "{namespace} has a record of its own");
    }
    // Unregistering one leaves the other alone.
    world.twin.delete_repository(ELSEWHERE, "blueprints");
    world.rest().await;
    assert!(world.twin.revision(NS, "blueprints.app.v1").is_some());
    assert!(
        world
            .twin
            .revision(ELSEWHERE, "blueprints.app.v1")
            .is_none()
    );
}

/// R96, R121, R122: ten thousand changes of injected objects in an instant come to one update of each draft; changes
/// of what is not injected come to none.
#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_is_coalesced() {
    const VARIANTS: usize = 40;
    const ROUNDS: usize = 250;
    let world = ready().await;
    for n in 0..VARIANTS {
        let mut wanted = variant(&format!("v{n:02}"), &format!("p{n:02}"));
        wanted.spec.injectors[0].name = format!("endpoint-{n:02}");
        let data = Some("{\"host\":\"first\"}");
        let object = key(NS, &format!("endpoint-{n:02}"));
        world
            .twin
            .put_object(&config_map(), &object, &[], data, None);
        world.twin.put_variant(wanted);
    }
    world.rest().await;
    let before = world.engine.stats();
    for round in 0..ROUNDS {
        for n in 0..VARIANTS {
            let data = format!("{{\"host\":\"round-{round}\"}}");
            let object = key(NS, &format!("endpoint-{n:02}"));
            world
                .twin
                .put_object(&config_map(), &object, &[], Some(&data), None);
        }
    }
    world.rest().await;
    let after = world.engine.stats();
    let turns = after.variant_reconciles - before.variant_reconciles;
    assert!(
        turns <= 6 * VARIANTS as u64,
        "{turns} turns for {} changes",
        ROUNDS * VARIANTS
    );
    let published = after.published - before.published;
    assert!(published <= 2 * VARIANTS as u64, "{published} submissions");
    let last = world
        .file("deploy.p07.packagevariant-1", "endpoint.yaml")
        .await;
    assert!(
        last.contains(&format!("host: round-{}", ROUNDS - 1)),
        "{last}"
    );
    // Labels are not injected: whatever they become, nothing is written.
    let writes = world.twin.writes();
    for round in 0..ROUNDS {
        for n in 0..VARIANTS {
            let data = format!("{{\"host\":\"round-{}\"}}", ROUNDS - 1);
            let object = key(NS, &format!("endpoint-{n:02}"));
            let label = format!("n{round}");
            let labels = [("round", label.as_str())];
            world
                .twin
                .put_object(&config_map(), &object, &labels, Some(&data), None);
        }
    }
    world.rest().await;
    let own = (ROUNDS * VARIANTS) as u64;
    let more = world.twin.writes() - writes;
    assert_eq!(more, own, "only the objects themselves were written");
}
