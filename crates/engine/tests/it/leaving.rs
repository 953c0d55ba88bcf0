//! A namespace that goes: nobody who empties it waits for us (V10).

use std::sync::atomic::Ordering;

use model::{Lifecycle, PackageName, RepositoryName, Target, TargetSelection};
use testkit::twin::key;

use crate::sets::set;
use crate::variants::{quiet, ready, variant};
use crate::world::{NS, World};

const PACKAGES: u64 = 12;

/// Variants whose packages are published but for one, and a set with another.
async fn full() -> World {
    let world = ready().await;
    let target = Target {
        selection: TargetSelection::Repositories(vec![(
            RepositoryName::parse("deploy").expect("a name"),
            vec![PackageName::parse("fan").expect("a name")],
        )]),
        template: None,
    };
    world.twin.put_set(set("fan", vec![target]));
    let names: Vec<String> = (0..PACKAGES).map(|n| format!("site-{n}")).collect();
    for name in &names {
        world.twin.put_variant(variant(name, name));
    }
    world.rest().await;
    for name in names.iter().skip(1) {
        let revision = format!("deploy.{name}.packagevariant-1");
        let published = world.publish(&revision).await;
        assert_eq!(published.lifecycle, Lifecycle::Published);
    }
    world.rest().await;
    world
}

fn held(world: &World) -> usize {
    let variants = world.twin.variants();
    let repositories = ["blueprints", "deploy"].map(|name| world.twin.repository(NS, name));
    let repositories = repositories.iter().flatten().map(|r| &r.meta.finalizers);
    let all = variants
        .iter()
        .map(|v| &v.meta.finalizers)
        .chain(repositories);
    all.filter(|finalizers| !finalizers.is_empty()).count()
}

/// One write for each finalizer, before anybody asks; then everything goes at once, and nobody writes to git or anywhere else.
#[tokio::test(start_paused = true)]
async fn finalizers_go_when_the_namespace_begins_to_go() {
    let world = full().await;
    let (finalizers, records) = (held(&world), world.names().len());
    assert_eq!(finalizers as u64, PACKAGES + 1 + 2);
    let (refs, writes) = (world.refs("deploy"), world.twin.writes());
    let before = world.engine.stats();
    world.twin.leave_namespace(&key(NS, "fan").namespace);
    world.rest().await;
    assert_eq!(held(&world), 0, "whoever empties the namespace would wait");
    assert_eq!(world.twin.writes() - writes, finalizers as u64);
    let after = world.engine.stats();
    let told = (
        after.conflicts - before.conflicts,
        after.events - before.events,
    );
    assert_eq!(told, (0, 0), "nothing is tried twice, and nobody is told");
    quiet(&world).await;

    let (mut asked, writes) = (0, world.twin.writes());
    for one in world.twin.variants() {
        world.twin.delete_variant(NS, one.key.name.as_str());
        asked += 1;
    }
    world.twin.delete_set(NS, "fan");
    for name in ["blueprints", "deploy"] {
        world.twin.delete_repository(NS, name);
    }
    assert_eq!((world.twin.variants().len(), held(&world)), (0, 0));
    world.rest().await;
    assert_eq!(
        world.twin.writes() - writes,
        asked + 3,
        "nobody but who empties it writes"
    );
    assert_eq!(
        world.names().len(),
        records,
        "records are removed by whoever asks for it"
    );
    assert_eq!(world.refs("deploy"), refs);
}

/// A process that starts in the middle of it does the same; a repository that it never looked at holds up nothing.
#[tokio::test(start_paused = true)]
async fn a_new_process_lets_go_what_the_last_one_did_not() {
    let mut world = full().await;
    let refs = world.refs("deploy");
    *world.deaths.named.lock().expect("no panic") = Some("engine BeforeFinalizer");
    world.deaths.spared.store(3, Ordering::SeqCst);
    world.twin.leave_namespace(&key(NS, "fan").namespace);
    world.settle().await;
    assert!(world.deaths.died().is_some() && held(&world) > 0);
    world.revive(|_| true, false).await;
    assert_eq!(held(&world), 0);
    assert_eq!(world.refs("deploy"), refs);
    quiet(&world).await;
}

/// Another namespace of that name is one like any other.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_made_again_is_served() {
    let world = full().await;
    let namespace = key(NS, "fan").namespace;
    world.twin.leave_namespace(&namespace);
    world.rest().await;
    for one in world.twin.variants() {
        world.twin.delete_variant(NS, one.key.name.as_str());
    }
    world.twin.delete_set(NS, "fan");
    world.twin.make_namespace(&namespace);
    world.twin.put_variant(variant("again", "again"));
    world.engine.look_at_everything();
    world.rest().await;
    assert!(
        held(&world) == 3,
        "the variant's and both repositories': {}",
        held(&world)
    );
    assert!(
        world
            .names()
            .contains(&"deploy.again.packagevariant-1".to_owned())
    );
    quiet(&world).await;
}
