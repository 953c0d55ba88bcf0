//! Watches feed what is known, and wake whom news touch.

use std::sync::PoisonError;
use std::time::Duration;

use futures::StreamExt as _;
use model::{ObjectKey, Revision};
use tokio::task::JoinSet;

use crate::Engine;
use crate::index::{Changed, Wake, World};
use crate::ports::{Delta, Gvk, Known, ObjectSummary, StoredRepository, StoredSet, StoredVariant};

/// How long to wait before a watch that ended is started again.
const PAUSE: Duration = Duration::from_millis(500);
/// How often it is asked whether a missing kind is served by now.
const KIND_PAUSE: Duration = Duration::from_secs(3);

/// Starts the watches of records and of our own kinds.
pub(super) fn start(engine: &Engine, tasks: &mut JoinSet<()>) {
    macro_rules! follow {
        ($feed:expr, $take:path) => {{
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
    follow!(|e: &Engine| e.ports().records.watch(revision(e)), revisions);
    follow!(|e: &Engine| e.ports().cluster.repositories(), repositories);
    follow!(|e: &Engine| e.ports().cluster.sets(), sets);
    follow!(
        |e: &Engine| e.ports().cluster.variants(variant(e)),
        variants
    );
}

/// What the indexes know.
fn known(engine: &Engine, ask: fn(&World, &ObjectKey, &str) -> bool) -> Known {
    let engine = engine.clone();
    Known::new(move |key, version| engine.world(|w| ask(w, key, version)))
}

fn revisions(world: &mut World, delta: Delta<Revision>) -> Wake {
    let changes = match delta {
        Delta::Snapshot(all) => world.revisions.snapshot(all),
        Delta::Put(one) => world.revisions.put(one).into_iter().collect(),
        Delta::Deleted { key, version } => {
            world.revisions.delete(&key, &version).into_iter().collect()
        }
    };
    wake_all(world, &changes, |wake, world, change| {
        wake.revision(world, change)
    })
}

fn repositories(world: &mut World, delta: Delta<StoredRepository>) -> Wake {
    let mirror = &mut world.repositories;
    let changes: Vec<_> = match delta {
        Delta::Snapshot(all) => mirror.snapshot(all),
        Delta::Put(one) => mirror.put(one).into_iter().collect(),
        Delta::Deleted { key, version } => mirror.delete(&key, &version).into_iter().collect(),
    };
    wake_all(world, &changes, |wake, world, change| {
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
    wake_all(world, &changes, |wake, world, change| {
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
    wake_all(world, &changes, |wake, world, change| {
        wake.variant(world, change);
        wake.told_variant(change);
    })
}

fn wake_all<T>(
    world: &World,
    changes: &[Changed<T>],
    touch: impl Fn(&mut Wake, &World, &Changed<T>),
) -> Wake {
    let mut wake = Wake::default();
    for change in changes {
        touch(&mut wake, world, change);
    }
    wake
}

impl Engine {
    /// Follows a kind of injected or selected objects from now on.
    pub(crate) fn follow(&self, kind: &Gvk) {
        let mut kinds = self
            .inner
            .kinds
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if kinds.contains_key(kind) || self.alive().is_err() {
            return;
        }
        let engine = self.clone();
        let followed = kind.clone();
        let task = tokio::spawn(async move { engine.follow_kind(&followed).await });
        kinds.insert(kind.clone(), task.abort_handle());
    }

    async fn follow_kind(&self, kind: &Gvk) {
        while self.alive().is_ok() {
            match self.ports().cluster.objects(kind).await {
                Ok(Some(mut feed)) => {
                    while let Some(delta) = feed.next().await {
                        self.learn(|world| objects(world, kind, delta));
                    }
                    // Most likely the kind is no longer served: those who select it are to know soon.
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Ok(None) => {
                    let served = self.world(|w| w.objects.kind(kind).is_some());
                    if served {
                        self.learn(|world| {
                            world.objects.forget(kind);
                            let mut wake = Wake::default();
                            wake.kind(world, kind);
                            wake
                        });
                    }
                }
                Err(error) => tracing::warn!(%kind, %error, "a kind cannot be followed"),
            }
            tokio::time::sleep(KIND_PAUSE).await;
        }
    }

    pub(super) fn stop_kinds(&self) {
        let mut kinds = self
            .inner
            .kinds
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for task in std::mem::take(&mut *kinds).into_values() {
            task.abort();
        }
    }
}

fn objects(world: &mut World, kind: &Gvk, delta: Delta<ObjectSummary>) -> Wake {
    let whole = matches!(delta, Delta::Snapshot(_));
    let mirror = world.objects.kind_mut(kind);
    let changes: Vec<_> = match delta {
        Delta::Snapshot(all) => mirror.snapshot(all),
        Delta::Put(one) => mirror.put(one).into_iter().collect(),
        Delta::Deleted { key, version } => mirror.delete(&key, &version).into_iter().collect(),
    };
    let mut wake = wake_all(world, &changes, |wake, world, change| {
        wake.object(world, kind, change);
    });
    if whole {
        // Also where nothing is there: whoever waited to know knows now.
        wake.kind(world, kind);
    }
    wake
}
