//! A set's life: fan-out over repositories and objects, templates, relabelled targets, deletion last.

use engine::ports::Gvk;
use model::{
    DeletionGuard, InjectorTemplate, Lifecycle, MapExpr, ObjectMeta, ObjectSelector, OnError,
    PackageContextTemplate, PackageName, Pairs, RepositoryName, Status, Target, TargetSelection,
    Template, Upstream, UpstreamSource, UpstreamVersion, VariantSet, VariantSetSpec,
};
use testkit::twin::key;

use crate::variants::{config_map, ready};
use crate::world::{NS, World, repository};

pub(crate) fn set(name: &str, targets: Vec<Target>) -> VariantSet {
    VariantSet {
        key: key(NS, name),
        meta: ObjectMeta::default(),
        spec: VariantSetSpec {
            upstreams: vec![UpstreamSource::Package(Upstream {
                repo: RepositoryName::parse("blueprints").expect("a name"),
                package: PackageName::parse("app").expect("a name"),
                version: UpstreamVersion::Latest,
                allow_unpublished: false,
                commit: None,
            })],
            targets,
            on_error: OnError::Continue,
            deletion_guard: DeletionGuard {
                enabled: false,
                percent: 20,
            },
            max_in_flight: None,
            rollout: None,
            suspend: false,
        },
    }
}

pub(crate) fn site() -> Gvk {
    Gvk::of("example.test/v1", "Site")
}

pub(crate) fn by_site() -> Target {
    Target {
        selection: TargetSelection::ObjectSelector {
            selector: ObjectSelector {
                api_version: "example.test/v1".to_owned(),
                kind: "Site".to_owned(),
                name: None,
                labels: model::LabelSelector {
                    match_labels: Pairs::from_iter([("live".to_owned(), "yes".to_owned())]),
                    requirements: Vec::new(),
                },
            },
            packages: Vec::new(),
        },
        template: Some(Template {
            repo: Some("deploy".to_owned()),
            package_expr: Some("'app-' + target.name".to_owned()),
            context: Some(PackageContextTemplate {
                data_exprs: vec![MapExpr {
                    key: Some("site".to_owned()),
                    value_expr: Some("target.labels['city']".to_owned()),
                    ..MapExpr::default()
                }],
                ..PackageContextTemplate::default()
            }),
            injectors: vec![InjectorTemplate {
                name_expr: Some("'endpoint-' + target.labels['city']".to_owned()),
                ..InjectorTemplate::default()
            }],
            ..Template::default()
        }),
    }
}

pub(crate) fn put_site(world: &World, name: &str, city: &str, live: &str) {
    let labels = [("city", city), ("live", live)];
    world
        .twin
        .put_object(&site(), &key(NS, name), &labels, None, Some("{}"));
}

pub(crate) fn ready_of(world: &World, name: &str, kind: &str) -> (Status, String) {
    let stored = world.twin.set(NS, name).expect("the set");
    let found = stored.status.condition(kind);
    let found = found.unwrap_or_else(|| panic!("no {kind} in {:?}", stored.status));
    (found.status, format!("{}: {}", found.reason, found.message))
}

pub(crate) fn variants(world: &World) -> Vec<String> {
    let all = world.twin.variants();
    all.iter().map(|v| v.key.name.to_string()).collect()
}

/// R123, R135, R150-R152, R163.
#[tokio::test(start_paused = true)]
async fn a_set_fans_out_over_objects_and_follows_their_labels() {
    let world = ready().await;
    for n in 0..20 {
        put_site(
            &world,
            &format!("site-{n:02}"),
            if n % 2 == 0 { "eu" } else { "us" },
            "yes",
        );
    }
    world.twin.put_object(
        &config_map(),
        &key(NS, "endpoint-us"),
        &[],
        Some("{\"host\":\"us\"}"),
        None,
    );
    world.twin.put_set(set("fan", vec![by_site()]));
    world.rest().await;
    assert_eq!(
        variants(&world).len(),
        20,
        "{:?}",
        world.twin.set(NS, "fan")
    );
    assert_eq!(ready_of(&world, "fan", "VariantsReady").0, Status::True);
    let draft = "deploy.app-site-01.packagevariant-1";
    assert!(
        world
            .file(draft, "package-context.yaml")
            .await
            .contains("site: us")
    );
    assert!(
        world
            .file(draft, "endpoint.yaml")
            .await
            .contains("host: us")
    );
    let before = world.twin.writes();
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!(world.twin.writes(), before, "rest is rest");

    put_site(&world, "site-01", "eu", "yes");
    world.rest().await;
    assert!(
        world
            .file(draft, "package-context.yaml")
            .await
            .contains("site: eu")
    );
    assert!(
        world
            .file(draft, "endpoint.yaml")
            .await
            .contains("host: eu.example.test")
    );
    put_site(&world, "site-02", "eu", "no");
    world.rest().await;
    assert_eq!(variants(&world).len(), 19);
    assert!(!world.names().iter().any(|n| n.contains("app-site-02")));
}

/// R123, R133, R134, R136.
#[tokio::test(start_paused = true)]
async fn repositories_are_selected_by_name_and_by_label() {
    let world = ready().await;
    world.git("north").await;
    world.git("south").await;
    let labelled = |name: &str, zone: &str| {
        let mut r = repository(name, false);
        r.meta.labels.insert("zone".to_owned(), zone.to_owned());
        r
    };
    world.twin.put_repository(labelled("north", "cold"));
    world.twin.put_repository(labelled("south", "warm"));
    let by_name = Target {
        selection: TargetSelection::Repositories(vec![(
            RepositoryName::parse("deploy").expect("a name"),
            vec![
                PackageName::parse("one").expect("a name"),
                PackageName::parse("two").expect("a name"),
            ],
        )]),
        template: None,
    };
    let by_label = Target {
        selection: TargetSelection::RepositorySelector {
            selector: model::LabelSelector {
                match_labels: Pairs::from_iter([("zone".to_owned(), "cold".to_owned())]),
                requirements: Vec::new(),
            },
            packages: vec![PackageName::parse("three").expect("a name")],
        },
        template: None,
    };
    world.twin.put_set(set("mix", vec![by_name, by_label]));
    world.rest().await;
    assert_eq!(
        variants(&world),
        ["mix-deploy-one", "mix-deploy-two", "mix-north-three"]
    );
    world.twin.put_repository(labelled("south", "cold"));
    world.rest().await;
    assert_eq!(variants(&world).len(), 4);
    world.twin.put_repository(labelled("north", "warm"));
    world.rest().await;
    assert_eq!(
        variants(&world),
        ["mix-deploy-one", "mix-deploy-two", "mix-south-three"]
    );
    world.publish("south.three.packagevariant-1").await;
    world.rest().await;
    world.twin.delete_set(NS, "mix");
    world.rest().await;
    assert!(variants(&world).is_empty());
    let left = world.revision("south.three.packagevariant-1");
    assert_eq!(left.lifecycle, Lifecycle::DeletionProposed);
}

/// A namespace that goes takes its variants along: its set makes none of them anew, and is told of no refusal.
#[tokio::test(start_paused = true)]
async fn a_set_makes_nothing_in_a_namespace_that_goes() {
    let world = ready().await;
    let target = Target {
        selection: TargetSelection::Repositories(vec![(
            RepositoryName::parse("deploy").expect("a name"),
            vec![PackageName::parse("one").expect("a name")],
        )]),
        template: None,
    };
    world.twin.put_set(set("mix", vec![target]));
    world.rest().await;
    assert_eq!(variants(&world), ["mix-deploy-one"]);
    let namespace = key(NS, "mix").namespace;
    world.twin.leave_namespace(&namespace);
    world.twin.delete_variant(NS, "mix-deploy-one");
    world.rest().await;
    assert!(variants(&world).is_empty(), "{:?}", variants(&world));
}

/// The work of a fan-out is counted: one derivation and one publication for each target, few looks.
/// R121, R160, R183.
#[tokio::test(start_paused = true)]
async fn a_fan_out_does_each_thing_once() {
    const TARGETS: u64 = 120;
    let world = ready().await;
    for n in 0..TARGETS {
        put_site(&world, &format!("site-{n:04}"), "eu", "yes");
    }
    world.rest().await;
    let (before, writes) = (world.engine.stats(), world.twin.writes());
    world.twin.put_set(set("fan", vec![by_site()]));
    world.rest().await;
    let after = world.engine.stats();
    // The set itself, and of each target the variant, finalizer included (V10), the record, and what is said of both.
    let statuses = after.statuses - before.statuses;
    assert_eq!(world.twin.writes() - writes, 1 + 2 * TARGETS + statuses);
    assert_eq!(ready_of(&world, "fan", "VariantsReady").0, Status::True);
    assert_eq!(after.derivations - before.derivations, TARGETS);
    assert_eq!(after.published - before.published, TARGETS);
    assert_eq!(after.variants_written - before.variants_written, TARGETS);
    assert!(
        after.statuses - before.statuses <= TARGETS + 10,
        "{after:?}"
    );
    assert!(
        after.variant_reconciles - before.variant_reconciles <= 4 * TARGETS,
        "{after:?}"
    );
    assert!(
        after.set_reconciles - before.set_reconciles <= 10,
        "{after:?}"
    );
    assert_eq!(after.refused, before.refused);
}

/// R165, S8: what somebody stopped is not set going by the set that takes it back.
#[tokio::test(start_paused = true)]
async fn a_variant_that_is_taken_back_stays_suspended() {
    let world = ready().await;
    put_site(&world, "site-1", "eu", "yes");
    let fan = set("fan", vec![by_site()]);
    world.twin.put_set(fan.clone());
    world.rest().await;
    let [name] = &variants(&world)[..] else {
        panic!("{:?}", variants(&world));
    };
    let stored = world.twin.variant(NS, name).expect("a variant");
    let mut variant = model::Variant::clone(&stored.parsed.expect("a spec"));
    std::sync::Arc::make_mut(&mut variant.meta).owners.clear();
    variant.spec.suspend = true;
    world.twin.put_variant(variant);
    world.rest().await;
    let stored = world.twin.variant(NS, name).expect("a variant");
    assert!(!stored.meta.owners.is_empty(), "it is taken back");
    assert!(stored.parsed.expect("a spec").spec.suspend);
}

/// Whoever stops a set because the next version is bad gets no drafts of it, although its variants follow what is published themselves.
#[tokio::test(start_paused = true)]
async fn a_set_that_is_suspended_keeps_its_variants_as_they_are() {
    let world = ready().await;
    put_site(&world, "site-1", "eu", "yes");
    let mut fan = set("fan", vec![by_site()]);
    world.twin.put_set(fan.clone());
    world.rest().await;
    fan.spec.suspend = true;
    world.twin.put_set(fan.clone());
    world.rest().await;
    let before = world.refs("deploy");
    crate::variants::push(&world, crate::variants::DEPLOYMENT, "v2").await;
    world.rest().await;
    assert_eq!(world.refs("deploy"), before);
    let [name] = &variants(&world)[..] else {
        panic!("{:?}", variants(&world));
    };
    let (ready, why) = crate::variants::condition(&world, name, "Ready");
    assert_eq!(ready, Status::False);
    assert!(
        why.contains("suspended with its set; would update draft"),
        "{why}"
    );
    fan.spec.suspend = false;
    world.twin.put_set(fan);
    world.rest().await;
    assert_ne!(world.refs("deploy"), before);
    assert_eq!(
        crate::variants::condition(&world, name, "Ready").0,
        Status::True
    );
}
