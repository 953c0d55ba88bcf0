//! One variant's whole life: draft, approval, upgrade, people's edits, injected objects, deletion.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::ports::Gvk;
use model::{
    AdoptionPolicy, ConflictPolicy, DeletionPolicy, Downstream, Injector, Lifecycle,
    PackageContext, PackageName, Pairs, Pipeline, ProposedPolicy, RepositoryName, Status, Strategy,
    Upstream, UpstreamVersion, Variant, VariantSpec,
};
use testkit::twin::key;

use crate::world::{NS, World};

pub(crate) const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\ninfo:\n  description: an app # kept\n";
pub(crate) const CONTEXT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: example\n";
pub(crate) const DEPLOYMENT: &str = "# The app itself.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  replicas: 1 # few\n  paused: false\n  template:\n    spec:\n      containers:\n        - name: app\n          image: example.test/app:v1 # released\n";
pub(crate) const POINT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: endpoint\n  annotations:\n    kpt.dev/config-injection: required\ndata:\n  host: nowhere\n";

pub(crate) fn variant(name: &str, package: &str) -> Variant {
    Variant {
        key: key(NS, name),
        meta: Arc::default(),
        spec: VariantSpec {
            upstream: Upstream {
                repo: RepositoryName::parse("blueprints").expect("a name"),
                package: PackageName::parse("app").expect("a name"),
                version: UpstreamVersion::Revision(1),
                allow_unpublished: false,
                commit: None,
            },
            downstream: Downstream {
                repo: RepositoryName::parse("deploy").expect("a name"),
                package: PackageName::parse(package).expect("a name"),
            },
            adoption: AdoptionPolicy::None,
            deletion: DeletionPolicy::Delete,
            deletion_explicit: false,
            labels: Pairs::new(),
            annotations: Pairs::new(),
            context: PackageContext {
                data: Pairs::from_iter([("region".to_owned(), "eu".to_owned())]),
                remove_keys: BTreeSet::new(),
                create: false,
            },
            pipeline: Pipeline {
                mutators: vec![model::Function {
                    image: Some("gcr.io/kpt-fn/set-labels:v0.1".to_owned()),
                    name: "labels".to_owned(),
                    config_map: vec![("tier".to_owned(), "web".to_owned())],
                    ..model::Function::default()
                }],
                validators: Vec::new(),
            },
            injectors: vec![Injector {
                group: None,
                version: None,
                kind: None,
                name: "endpoint-eu".to_owned(),
            }],
            conflict_policy: ConflictPolicy::Block,
            proposed: ProposedPolicy::Wait,
            strategy: Strategy::ResourceMerge,
            suspend: false,
        },
    }
}

pub(crate) fn package(deployment: &str) -> Vec<(&'static str, String)> {
    vec![
        ("Kptfile", KPTFILE.to_owned()),
        ("package-context.yaml", CONTEXT.to_owned()),
        ("deployment.yaml", deployment.to_owned()),
        ("endpoint.yaml", POINT.to_owned()),
    ]
}

pub(crate) async fn push(world: &World, deployment: &str, tag: &str) {
    let files = package(deployment);
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    world.push("blueprints", "app", &files, Some(tag)).await;
}

pub(crate) fn config_map() -> Gvk {
    Gvk::of("v1", "ConfigMap")
}

pub(crate) fn endpoint(world: &World, host: &str) {
    let data = format!("{{\"host\":\"{host}\"}}");
    world.twin.put_object(
        &config_map(),
        &key(NS, "endpoint-eu"),
        &[],
        Some(&data),
        None,
    );
}

/// Registered repositories, upstream v1, and an endpoint to inject.
pub(crate) async fn ready() -> World {
    let world = World::new().await;
    world.git("blueprints").await;
    push(&world, DEPLOYMENT, "v1").await;
    world.register("blueprints", false).await;
    world.register("deploy", true).await;
    endpoint(&world, "eu.example.test");
    world.rest().await;
    world
}

pub(crate) fn condition(world: &World, variant: &str, kind: &str) -> (Status, String) {
    let stored = world.twin.variant(NS, variant).expect("the variant");
    let found = stored.status.condition(kind);
    let found = found.unwrap_or_else(|| panic!("no {kind} in {:?}", stored.status));
    (found.status, format!("{}: {}", found.reason, found.message))
}

pub(crate) async fn quiet(world: &World) {
    let before = (world.twin.writes(), world.refs("deploy"));
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!(
        (world.twin.writes(), world.refs("deploy")),
        before,
        "rest is rest"
    );
}

/// R23, R37, R51, R61, R62, R111.
#[tokio::test(start_paused = true)]
async fn a_variant_makes_one_atomic_draft_and_comes_to_rest() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    assert_eq!(
        condition(&world, "shop", "Ready").0,
        Status::True,
        "{:?}",
        world.twin.variant(NS, "shop")
    );
    assert_eq!(condition(&world, "shop", "Stalled").0, Status::False);
    let draft = world.revision("deploy.shop.packagevariant-1");
    assert_eq!(draft.lifecycle, Lifecycle::Draft);
    let machine = draft.machine.expect("a note of the machine");
    assert_eq!(machine.owner.name.as_str(), "shop");
    let refs = world.refs("deploy");
    let tip = refs["refs/heads/drafts/shop/packagevariant-1"];
    let outside = world.outside("deploy");
    let commit = outside.commit(tip).expect("the draft");
    assert_eq!(commit.author.name, "porch-controllers");
    assert_eq!(
        commit.parents[0], refs["refs/heads/main"],
        "one commit on the branch: {}",
        commit.message
    );
    assert!(
        commit
            .message
            .starts_with("Creating new revision by cloning\n\n\nkpt:{\"package\":\"shop\"")
    );
    assert!(
        commit.message.contains("\noffshoot: {\"format\":1,"),
        "{}",
        commit.message
    );
    let name = "deploy.shop.packagevariant-1";
    let context = world.file(name, "package-context.yaml").await;
    assert!(
        context.contains("region: eu") && context.contains("name: shop"),
        "{context}"
    );
    let endpoint = world.file(name, "endpoint.yaml").await;
    assert!(endpoint.contains("host: eu.example.test"), "{endpoint}");
    let deployment = world.file(name, "deployment.yaml").await;
    assert!(
        deployment.contains("tier: web") && deployment.contains("# few"),
        "{deployment}"
    );
    assert!(
        deployment.contains("image: example.test/app:v1 # released"),
        "{deployment}"
    );
    let gate = draft
        .readiness_gates
        .iter()
        .map(|g| g.condition_type.as_str());
    assert!(
        gate.clone()
            .any(|g| g == "config.injection.ConfigMap.endpoint")
    );
    let targets = world
        .twin
        .variant(NS, "shop")
        .expect("it")
        .status
        .downstream_targets;
    assert_eq!(targets.len(), 1);
    quiet(&world).await;
}

/// A variant whose first draft a person changed and published.
async fn published_with_five_replicas(world: &World) {
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let first = "deploy.shop.packagevariant-1";
    world
        .edit(first, "deployment.yaml", |t| {
            t.replace("replicas: 1", "replicas: 5")
        })
        .await;
    world.rest().await;
    assert!(
        world
            .file(first, "deployment.yaml")
            .await
            .contains("replicas: 5 # few")
    );
    let published = world.publish(first).await;
    assert_eq!(published.revision.0, 1);
    world.rest().await;
    assert_eq!(
        world
            .names()
            .iter()
            .filter(|n| n.starts_with("deploy."))
            .count(),
        2
    );
    quiet(world).await;
}

/// R25, R27, R39, R188.
#[tokio::test(start_paused = true)]
async fn upgrades_keep_what_people_changed_in_published_revisions_and_in_drafts() {
    let world = ready().await;
    published_with_five_replicas(&world).await;
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Latest;
    world.twin.put_variant(wanted.clone());
    world.rest().await;
    let second = "deploy.shop.packagevariant-2";
    let upgraded = world.file(second, "deployment.yaml").await;
    assert!(upgraded.contains("replicas: 5 # few"), "{upgraded}");
    assert!(upgraded.contains("app:v2 # released"), "{upgraded}");
    assert!(
        world.revision(second).conflicts.is_empty(),
        "{:?}",
        world.revision(second).conflicts
    );
    let task = world.revision(second).tasks;
    assert_eq!(task[0].kind(), "upgrade");
    quiet(&world).await;

    // In the open draft a person edits once more; then everything else changes under it.
    world
        .edit(second, "deployment.yaml", |t| {
            t.replace("paused: false", "paused: true")
        })
        .await;
    world.rest().await;
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v3"), "v3").await;
    world.rest().await;
    let text = world.file(second, "deployment.yaml").await;
    assert!(
        text.contains("paused: true") && text.contains("app:v3"),
        "{text}"
    );
    wanted
        .spec
        .context
        .data
        .insert("region".to_owned(), "us".to_owned());
    world.twin.put_variant(wanted);
    world.rest().await;
    endpoint(&world, "us.example.test");
    world.rest().await;
    assert!(
        world
            .file(second, "package-context.yaml")
            .await
            .contains("region: us")
    );
    assert!(
        world
            .file(second, "endpoint.yaml")
            .await
            .contains("us.example.test")
    );
    let text = world.file(second, "deployment.yaml").await;
    assert!(
        text.contains("paused: true") && text.contains("replicas: 5"),
        "{text}"
    );
    assert_eq!(
        world
            .names()
            .iter()
            .filter(|n| n.contains("packagevariant-"))
            .count(),
        2,
        "one open draft: {:?}",
        world.names()
    );
    quiet(&world).await;
    assert_eq!(world.publish(second).await.revision.0, 2);
    world.rest().await;
    quiet(&world).await;
}

/// R39, R188.
#[tokio::test(start_paused = true)]
async fn a_person_publishes_alone_and_the_next_upgrade_keeps_that_too() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    world.rest().await;
    let task = model::Task::Edit {
        source: key(NS, "deploy.shop.packagevariant-1").name,
    };
    let namespace = key(NS, "x").namespace;
    world
        .engine
        .create(
            &crate::world::alice(),
            &namespace,
            crate::world::input("deploy", "shop", "mine", task),
        )
        .await
        .expect("copied");
    world
        .edit("deploy.shop.mine", "deployment.yaml", |t| {
            t.replace("replicas: 1", "replicas: 7")
        })
        .await;
    world.publish("deploy.shop.mine").await;
    world.rest().await;
    quiet(&world).await;
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Revision(2);
    world.twin.put_variant(wanted);
    world.rest().await;
    let text = world
        .file("deploy.shop.packagevariant-2", "deployment.yaml")
        .await;
    assert!(
        text.contains("replicas: 7") && text.contains("app:v2"),
        "{text}"
    );
    quiet(&world).await;
}

/// R83, R87, R88, R90, R96, R122.
#[tokio::test(start_paused = true)]
async fn gates_hold_on_approval_until_the_object_appears() {
    let world = ready().await;
    world
        .twin
        .delete_object(&config_map(), &key(NS, "endpoint-eu"));
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    // The draft says what is missing; the variant did what it could.
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
    let draft = world.revision("deploy.shop.packagevariant-1");
    let point = "config.injection.ConfigMap.endpoint";
    let said = draft.conditions.iter().find(|c| c.kind == point);
    assert_eq!(said.map(|c| c.status), Some(Status::False));
    let name = key(NS, "deploy.shop.packagevariant-1");
    let by = crate::world::alice();
    let engine = &world.engine;
    engine
        .move_to(&by, &name, model::Door::Main, Lifecycle::Proposed)
        .await
        .expect("the author's gates hold on approval only");
    let refused = engine
        .move_to(&by, &name, model::Door::Approval, Lifecycle::Published)
        .await
        .expect_err("a gate is open");
    assert!(
        refused
            .to_string()
            .contains("config.injection.ConfigMap.endpoint"),
        "{refused}"
    );
    engine
        .move_to(&by, &name, model::Door::Approval, Lifecycle::Draft)
        .await
        .expect("rejected");
    endpoint(&world, "late.example.test");
    world.rest().await;
    assert!(
        world
            .file("deploy.shop.packagevariant-1", "endpoint.yaml")
            .await
            .contains("late.example.test")
    );
    world.publish("deploy.shop.packagevariant-1").await;
    world.rest().await;
    quiet(&world).await;
}
