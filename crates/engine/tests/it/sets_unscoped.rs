//! What lies in no namespace: selected where the namespace says so, and injected nowhere.

use model::{Injector, Status};
use testkit::twin::key;

use crate::sets::{by_site, put_site, ready_of, set, site, variants};
use crate::variants::{ready, variant};
use crate::world::{NS, World};

const MARK: &str = "offshoot.dev/cluster-targets";

async fn mark(world: &World, value: Option<&str>) {
    let namespace = key(NS, "any").namespace;
    world.twin.label_namespace(&namespace, MARK, value);
    // Nobody is told of a namespace: the next look at everything finds out.
    world.engine.look_at_everything();
    world.rest().await;
}

/// S5, S2: without the mark of the namespace nothing is made of what lies in none, and what was made stays.
#[tokio::test(start_paused = true)]
async fn a_kind_without_namespaces_is_selected_while_the_namespace_says_so() {
    let world = ready().await;
    world.twin.serve_at_cluster_scope(&site());
    put_site(&world, "one", "eu", "yes");
    world.twin.put_set(set("fan", vec![by_site()]));
    world.rest().await;
    assert_eq!(variants(&world), [""; 0]);
    let (status, why) = ready_of(&world, "fan", "Ready");
    assert_eq!(status, Status::False);
    let wanted = "example.test/v1/Site is cluster-scoped: namespace default must carry offshoot.dev/cluster-targets: \"true\"";
    assert!(why.contains(wanted), "{why}");

    mark(&world, Some("true")).await;
    assert_eq!(variants(&world), ["fan-deploy-app-one"]);
    assert_eq!(ready_of(&world, "fan", "Ready").0, Status::True);

    mark(&world, None).await;
    put_site(&world, "two", "eu", "yes");
    put_site(&world, "one", "eu", "no");
    world.rest().await;
    assert_eq!(variants(&world), ["fan-deploy-app-one"]);

    mark(&world, Some("true")).await;
    assert_eq!(variants(&world), ["fan-deploy-app-two"]);
}

#[tokio::test(start_paused = true)]
async fn what_lies_in_no_namespace_is_not_injected() {
    let world = ready().await;
    world.twin.serve_at_cluster_scope(&site());
    put_site(&world, "one", "eu", "yes");
    let mut wants = variant("shop", "shop");
    wants.spec.injectors = vec![Injector {
        group: Some(site().group),
        version: Some(site().version),
        kind: Some(site().kind),
        name: "one".to_owned(),
    }];
    world.twin.put_variant(wants);
    world.rest().await;
    let why = world.engine.why_variant(&key(NS, "shop")).await;
    let why = why.expect("an answer").expect("a variant");
    let wanted = "example.test/v1/Site is cluster-scoped and cannot be injected";
    assert!(why.contains(wanted), "{why}");
}
