//! Watches feed what is known, and wake whom news touch.

use std::time::Duration;

use futures::StreamExt as _;
use model::{Namespace, ObjectKey, Revision};
use tokio::task::JoinSet;

use crate::Engine;
use crate::index::{Wake, World};
use crate::ports::{Delta, Known, StoredRepository, StoredSet, StoredVariant};

/// How long to wait before a watch that ended is started again.
const PAUSE: Duration = Duration::from_millis(500);

/// Starts the watches of records and of our own kinds.
pub(super) fn start(engine: &Engine, tasks: &mut JoinSet<()>) {
    macro_rules! follow {
        ($feed:expr, $take:expr) => {{
            let engine = engine.clone();
            tasks.spawn(async move {
                while engine.alive().is_ok() {
                    let mut feed = $feed(&engine);
                    while let Some(delta) = feed.next().await {
                        engine.learn(|world| $take(world, delta));
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }};
    }
    let revision = |e: &Engine| known(e, |w, key, at| w.revisions.knows(key, at));
    let variant = |e: &Engine| known(e, |w, key, at| w.knows_variant(key, at));
    let took = engine.clone();
    let records = move |world: &mut World, delta| revisions(&took, world, delta);
    follow!(|e: &Engine| e.ports().records.watch(revision(e)), records);
    follow!(
        |e: &Engine| e.ports().repositories.feed(Known::nothing()),
        repositories
    );
    follow!(|e: &Engine| e.ports().sets.feed(Known::nothing()), sets);
    follow!(|e: &Engine| e.ports().variants.feed(variant(e)), variants);
    follow!(|e: &Engine| e.ports().cluster.leaving(), namespace);
}

/// What the indexes know.
fn known(engine: &Engine, ask: fn(&World, &ObjectKey, &str) -> bool) -> Known {
    let engine = engine.clone();
    Known::new(move |key, version| engine.world(|w| ask(w, key, version)))
}

/// A namespace begins to go.
fn namespace(world: &mut World, namespace: Namespace) -> Wake {
    let mut wake = Wake::default();
    wake.namespace(world, &namespace);
    world.leaving.insert(namespace);
    wake
}

/// What goes here went by another's hand, or is told late of a list from the past; what this process takes away is not known any
/// more when a watch tells of it. Its ref may stand, and is as it was seen last: only a look into its package records it anew.
fn revisions(engine: &Engine, world: &mut World, delta: Delta<Revision>) -> Wake {
    let changes = match delta {
        Delta::Snapshot(all) => world.revisions.snapshot(all),
        Delta::Put(one) => world.revisions.put(one).into_iter().collect(),
        Delta::Deleted { key, version } => {
            world.revisions.delete(&key, &version).into_iter().collect()
        }
    };
    let gone = changes.iter().filter(|change| change.new.is_none());
    let gone: Vec<_> = gone.filter_map(|change| change.old.as_ref()).collect();
    let mut wake = Wake::all(world, &changes, |wake, world, change| {
        wake.revision(world, change)
    });
    for record in gone {
        if let Some(stored) = world.repository(&record.key.namespace, &record.repository) {
            engine.inner.repos.renew(&stored.key, &record.package);
            wake.repositories.insert(stored.key.clone());
        }
    }
    wake
}

fn repositories(world: &mut World, delta: Delta<StoredRepository>) -> Wake {
    let changes: Vec<_> = match delta {
        Delta::Snapshot(all) => world.snapshot_repositories(all),
        Delta::Put(one) => world.put_repository(one).into_iter().collect(),
        Delta::Deleted { key, version } => {
            let changed = world.delete_repository(&key, &version);
            changed.into_iter().collect()
        }
    };
    Wake::all(world, &changes, |wake, world, change| {
        wake.repository(world, change)
    })
}

fn sets(world: &mut World, delta: Delta<StoredSet>) -> Wake {
    let mirror = &mut world.sets;
    let changes: Vec<_> = match delta {
        Delta::Snapshot(all) => mirror.snapshot(all),
        Delta::Put(one) => mirror.put(one).into_iter().collect(),
        Delta::Deleted { key, version } => mirror.delete(&key, &version).into_iter().collect(),
    };
    Wake::all(world, &changes, |wake, world, change| {
        wake.set(world, change);
        wake.told_set(change);
    })
}

fn variants(world: &mut World, delta: Delta<StoredVariant>) -> Wake {
    let changes: Vec<_> = match delta {
        Delta::Snapshot(all) => world.snapshot_variants(all),
        Delta::Put(one) => world.put_variant(one).into_iter().collect(),
        Delta::Deleted { key, version } => {
            world.delete_variant(&key, &version).into_iter().collect()
        }
    };
    Wake::all(world, &changes, |wake, world, change| {
        wake.variant(world, change);
        wake.told_variant(change);
    })
}
