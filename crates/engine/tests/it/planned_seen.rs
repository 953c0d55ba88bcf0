//! What a plan is made of: nothing that whoever asks may not see, and everything that was asked to be read before.

use std::sync::Arc;

use engine::Suppositions;
use engine::planned::{FleetPlan, Verdict};
use engine::ports::{Cluster, OurKind};
use model::{Namespace, PackageName, RepositoryName, Target, TargetSelection, UpstreamVersion};
use testkit::twin::key;

use crate::planned::{plan, supposed};
use crate::sets::{by_site, put_site, set, site};
use crate::variants::{DEPLOYMENT, config_map, endpoint, push, ready, variant};
use crate::world::{NS, World, repository};

const WHY: &str = "you may not read ConfigMap default/endpoint-eu";

async fn nothing_supposed(world: &World) -> FleetPlan {
    let cluster = Arc::clone(&world.twin) as Arc<dyn Cluster>;
    let namespace = Namespace::parse(NS).expect("a namespace");
    let planned = world
        .engine
        .plan_fleet(&namespace, Suppositions::default(), cluster);
    planned.await.expect("a plan")
}

/// F2: what is injected for the first time is not known to whoever may not read it, and what was injected before is what
/// the plan is made with.
#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_not_planned_with() {
    let mut world = ready().await;
    world.reconcilers = (false, false);
    world.restart().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    world.twin.tell_nobody(&config_map());
    let foretold = plan(&world, Suppositions::default()).await;
    let target = &foretold.targets[0];
    assert_eq!(
        (target.verdict, target.why.1.as_str()),
        (Verdict::Unknown, WHY),
        "{target:?}"
    );
    assert_eq!(target.inexact.as_deref(), Some(WHY));
    assert!(target.class.is_none() && target.tree.is_none() && foretold.classes.is_empty());
    assert_eq!(
        foretold.unknown,
        [("variant default/shop".to_owned(), WHY.to_owned())]
    );

    world.reconcilers = (true, true);
    world.restart().await;
    world.publish("deploy.shop.packagevariant-1").await;
    world.reconcilers = (false, false);
    world.restart().await;
    endpoint(&world, "hidden.example.test");
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    world.rest().await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Latest;
    world.twin.put_variant(wanted);
    world.rest().await;
    let foretold = plan(&world, Suppositions::default()).await;
    let target = &foretold.targets[0];
    assert_eq!(target.verdict, Verdict::Upgrade, "{target:?}");
    assert_eq!((target.inexact.as_deref(), target.tree), (Some(WHY), None));
    let told = format!("{foretold:?}");
    assert!(
        !told.contains("hidden") && told.contains("app:v2"),
        "{told}"
    );
    // It goes all the same.
    let gone = vec![(OurKind::Variant, key(NS, "shop"))];
    let leaving = plan(
        &world,
        Suppositions {
            deleted: gone,
            ..Suppositions::default()
        },
    )
    .await;
    let target = &leaving.targets[0];
    assert_eq!((target.verdict, &target.inexact), (Verdict::Leave, &None));
}

/// A set that selects what whoever asks may not list: its targets are unknown, and nothing is said to fail.
#[tokio::test(start_paused = true)]
async fn what_may_not_be_listed_is_unknown() {
    let mut world = ready().await;
    put_site(&world, "site-1", "eu", "yes");
    world.reconcilers = (false, false);
    world.restart().await;
    world.twin.put_set(set("fleet", vec![by_site()]));
    world.rest().await;
    world.twin.tell_nobody(&site());
    let foretold = plan(&world, Suppositions::default()).await;
    assert!(foretold.targets.is_empty(), "{:?}", foretold.targets);
    assert!(foretold.stalled.is_empty(), "{:?}", foretold.stalled);
    let (what, why) = &foretold.unknown[0];
    assert_eq!(what, "targets of set default/fleet");
    assert!(
        why.contains(&format!(
            "you may not list {} of namespace default",
            site().kind
        )),
        "{why}"
    );
}

/// A target that cannot be made has no variant: it is a failure of its set, whatever becomes of the others.
#[tokio::test(start_paused = true)]
async fn a_target_in_a_repository_that_is_not_registered_fails() {
    let world = ready().await;
    let named = |name: &str| {
        let package = PackageName::parse("fan").expect("a name");
        (RepositoryName::parse(name).expect("a name"), vec![package])
    };
    let target = Target {
        selection: TargetSelection::Repositories(vec![named("deploy"), named("nowhere")]),
        template: None,
    };
    world.twin.put_set(set("fleet", vec![target]));
    world.rest().await;
    let foretold = nothing_supposed(&world).await;
    assert_eq!(foretold.targets.len(), 1, "{:?}", foretold.targets);
    let [(of, reason, why)] = &*foretold.stalled else {
        panic!("{:?}", foretold.stalled)
    };
    assert_eq!(
        (of, reason.as_str()),
        (&key(NS, "fleet"), "RepositoryNotFound")
    );
    assert!(why.contains("nowhere"), "{why}");
}

/// Which of two new variants comes first is not known before they are there: the first one is planned each time, and is not exact.
#[tokio::test(start_paused = true)]
async fn a_plan_of_two_new_variants_of_one_package_says_the_same_each_time() {
    let world = ready().await;
    let names = ["one", "two", "three", "four"];
    for _ in 0..3 {
        let variants = names.map(|name| supposed(&world, &variant(name, "shop")));
        let suppositions = Suppositions {
            variants: variants.to_vec(),
            ..Suppositions::default()
        };
        let foretold = plan(&world, suppositions).await;
        let made = |name: &str| {
            let target = foretold
                .targets
                .iter()
                .find(|t| t.variant.name.as_str() == name);
            target.expect("a target")
        };
        let first = made("one");
        assert_eq!((first.verdict, first.tree), (Verdict::Create, None));
        let why = first.inexact.as_deref().unwrap_or_default();
        assert!(why.contains("whichever is made first has it"), "{why}");
        assert!(
            names
                .iter()
                .skip(1)
                .all(|n| made(n).verdict == Verdict::Failed)
        );
    }
}

/// A plan right after `repo sync` is made of what the repository holds.
#[tokio::test(start_paused = true)]
async fn what_was_asked_to_be_read_is_read_before() {
    let mut world = ready().await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Latest;
    world.twin.put_variant(wanted);
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    world.reconcilers = (false, false);
    world.restart().await;
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    let mut asked = repository("blueprints", false);
    asked.run_once_at = engine::ports::Clock::rfc3339(&*world.clock);
    world.twin.put_repository(asked);
    let foretold = nothing_supposed(&world).await;
    assert_eq!(
        foretold.targets[0].verdict,
        Verdict::Upgrade,
        "{:?}",
        foretold.targets
    );
    assert!(foretold.unknown.is_empty(), "{:?}", foretold.unknown);

    // One that cannot be read is told, and not waited for.
    let mut nowhere = repository("nowhere", false);
    nowhere.run_once_at = engine::ports::Clock::rfc3339(&*world.clock);
    world.twin.put_repository(nowhere);
    world.rest().await;
    let before = tokio::time::Instant::now();
    let foretold = nothing_supposed(&world).await;
    let (what, why) = &foretold.unknown[0];
    assert_eq!(what, "what is new in repository default/nowhere");
    assert!(why.contains("it was not yet"), "{why}");
    assert!(before.elapsed().as_secs() < 1);
}
