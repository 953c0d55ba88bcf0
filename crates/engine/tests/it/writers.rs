//! Without a known writer nothing new is read, and what is there stays (X6).

use model::{Status, UpstreamVersion};
use testkit::twin::key;

use crate::sets::{ready_of, set, variants};
use crate::tenancy::condition;
use crate::variants::{DEPLOYMENT, endpoint, push, quiet, ready, variant};
use crate::world::{NS, World};

const DRAFT: &str = "deploy.shop.packagevariant-1";

async fn host(world: &World, revision: &str) -> String {
    let text = world.file(revision, "endpoint.yaml").await;
    let host = text.lines().find(|line| line.contains("host: "));
    host.unwrap_or_default().trim().to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_was_injected_stays_while_nobody_knows_who_wrote_the_variant() {
    let world = ready().await;
    let mut shop = variant("shop", "shop");
    shop.spec.upstream.version = UpstreamVersion::Latest;
    world.twin.put_variant(shop.clone());
    world.rest().await;
    assert_eq!(host(&world, DRAFT).await, "host: eu.example.test");
    world.publish(DRAFT).await;
    world.rest().await;
    let (refs, count) = (world.refs("deploy"), world.names().len());

    world.twin.know_writer(&key(NS, "shop"), false);
    endpoint(&world, "changed.example.test");
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!((world.refs("deploy"), world.names().len()), (refs, count));
    let (status, said) = condition(&world, NS, "shop", "WriterUnknown");
    assert_eq!(status, Status::True);
    assert!(
        said.contains("kubectl annotate --overwrite pvar shop -n default"),
        "{said}"
    );
    assert_eq!(condition(&world, NS, "shop", "Ready").0, Status::True);
    quiet(&world).await;

    // What does not depend on it goes on.
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    world.rest().await;
    let next = "deploy.shop.packagevariant-2";
    assert_eq!(host(&world, next).await, "host: eu.example.test");
    assert!(world.file(next, "deployment.yaml").await.contains("app:v2"));
    quiet(&world).await;

    world.twin.know_writer(&key(NS, "shop"), true);
    world.twin.put_variant(shop);
    world.rest().await;
    assert_eq!(host(&world, next).await, "host: changed.example.test");
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    assert_eq!(stored.status.condition("WriterUnknown"), None);
}

#[tokio::test(start_paused = true)]
async fn no_draft_is_made_that_would_lack_what_nobody_may_read() {
    let world = ready().await;
    world.twin.know_writer(&key(NS, "shop"), false);
    world.twin.put_variant(variant("shop", "shop"));
    let mut plain = variant("plain", "plain");
    plain.spec.injectors = Vec::new();
    world.twin.know_writer(&key(NS, "plain"), false);
    world.twin.put_variant(plain);
    world.rest().await;
    let (status, said) = condition(&world, NS, "shop", "Stalled");
    assert_eq!(status, Status::True);
    assert!(said.starts_with("WriterUnknown"), "{said}");
    let drafts: Vec<String> = world
        .names()
        .into_iter()
        .filter(|n| n.contains("packagevariant"))
        .collect();
    assert_eq!(
        drafts,
        ["deploy.plain.packagevariant-1"],
        "it reads nothing"
    );
    quiet(&world).await;
    world.twin.know_writer(&key(NS, "shop"), true);
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!(host(&world, DRAFT).await, "host: eu.example.test");
}

#[tokio::test(start_paused = true)]
async fn what_is_selected_stays_while_nobody_knows_who_wrote_the_set() {
    let world = ready().await;
    let site = engine::ports::Gvk::of("example.test/v1", "Site");
    let put = |name: &str| {
        world
            .twin
            .put_object(&site, &key(NS, name), &[("zone", "eu")], None, Some("{}"));
    };
    put("one");
    let selection = model::TargetSelection::ObjectSelector {
        selector: model::ObjectSelector {
            api_version: "example.test/v1".to_owned(),
            kind: "Site".to_owned(),
            name: None,
            labels: model::LabelSelector {
                match_labels: model::Pairs::from_iter([("zone".to_owned(), "eu".to_owned())]),
                requirements: Vec::new(),
            },
        },
        packages: Vec::new(),
    };
    let target = model::Target {
        selection,
        template: Some(model::Template {
            repo: Some("deploy".to_owned()),
            package_expr: Some("target.name".to_owned()),
            ..model::Template::default()
        }),
    };
    world.twin.put_set(set("fan", vec![target]));
    world.rest().await;
    assert_eq!(variants(&world), ["fan-deploy-one"]);
    world.twin.know_writer(&key(NS, "fan"), false);
    put("two");
    world.twin.delete_object(&site, &key(NS, "one"));
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!(variants(&world), ["fan-deploy-one"]);
    let (status, why) = ready_of(&world, "fan", "WriterUnknown");
    assert_eq!(status, Status::True);
    assert!(
        why.contains("kubectl annotate --overwrite pvset fan -n default"),
        "{why}"
    );
    world.twin.know_writer(&key(NS, "fan"), true);
    world.engine.look_at_everything();
    world.rest().await;
    assert!(variants(&world).contains(&"fan-deploy-two".to_owned()));
}
