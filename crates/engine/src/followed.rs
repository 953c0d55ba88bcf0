//! The kinds of objects that are injected or selected: each is followed from the first time that it matters, also while it
//! is not served yet (V11).

use std::sync::PoisonError;
use std::time::Duration;

use futures::StreamExt as _;

use crate::Engine;
use crate::index::{Wake, World};
use crate::ports::{Delta, Gvk, ObjectSummary};

/// How long to wait before a watch that ended is started again.
const PAUSE: Duration = Duration::from_millis(500);
/// How often it is asked whether a missing kind is served by now.
const KIND_PAUSE: Duration = Duration::from_secs(3);

/// Follows a kind of injected or selected objects from now on.
pub(crate) fn follow(engine: &Engine, kind: &Gvk) {
    let mut kinds = engine
        .inner
        .kinds
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if kinds.contains_key(kind) || engine.alive().is_err() {
        return;
    }
    let engine = engine.clone();
    let followed = kind.clone();
    let task = tokio::spawn(async move { follow_on(&engine, &followed).await });
    kinds.insert(kind.clone(), task.abort_handle());
}

async fn follow_on(engine: &Engine, kind: &Gvk) {
    while engine.alive().is_ok() {
        match engine.ports().cluster.objects(kind).await {
            Ok(Some(mut feed)) => {
                while let Some(delta) = feed.next().await {
                    engine.learn(|world| objects(world, kind, delta));
                }
                // Most likely the kind is no longer served: those who select it are to know soon.
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Ok(None) => {
                let served = engine.world(|w| w.objects.kind(kind).is_some());
                if served {
                    engine.learn(|world| {
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

/// Follows none of them any more.
pub(crate) fn stop(engine: &Engine) {
    let mut kinds = engine
        .inner
        .kinds
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    for task in std::mem::take(&mut *kinds).into_values() {
        task.abort();
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
    let mut wake = Wake::all(world, &changes, |wake, world, change| {
        wake.object(world, kind, change);
    });
    if whole {
        // Also where nothing is there: whoever waited to know knows now.
        wake.kind(world, kind);
    }
    wake
}
