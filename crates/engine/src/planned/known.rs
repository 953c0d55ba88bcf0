//! What of the cluster a plan has to know beyond what controllers follow already.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{Namespace, Status};

use crate::Engine;
use crate::ports::{Gvk, StoredRepository};
use crate::queue::Key;
use crate::suppose::Supposed;

/// How long a plan waits for a repository that somebody asked to be read anew.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks whether that was done.
const GLANCE: Duration = Duration::from_millis(25);

/// Waits until every repository that somebody asked to be read anew was read: `repo sync` comes back before that. What is
/// not read in time is unknown.
pub(super) async fn asked_for(
    engine: &Engine,
    namespace: &Namespace,
    unknown: &mut Vec<(String, String)>,
) {
    let mut waited = Duration::ZERO;
    loop {
        // Not the world that the controllers know: news of what was just asked for may be on their way to it.
        let Ok(all) = engine.ports().repositories.now(namespace).await else {
            return;
        };
        let now = model::utc(engine.now());
        let open: Vec<StoredRepository> = all.into_iter().filter(|r| is_awaited(r, &now)).collect();
        // One that cannot be read may be so for long.
        let reads = |r: &&StoredRepository| !is_unread(r);
        if waited < PATIENCE && open.iter().any(|r| reads(&r)) {
            tokio::time::sleep(GLANCE).await;
            waited += GLANCE;
            continue;
        }
        unknown.extend(open.iter().map(|r| {
            let why = "somebody asked for it to be read anew, and it was not yet";
            (
                format!("what is new in repository {}", r.key),
                why.to_owned(),
            )
        }));
        return;
    }
}

/// Whether it was asked for by now, and was not done.
fn is_awaited(stored: &StoredRepository, now: &str) -> bool {
    let Ok(repository) = &stored.parsed else {
        return false;
    };
    let once = &repository.run_once_at;
    let asked = !once.is_empty() && once.as_str() <= now;
    asked && *once != stored.status.observed_run_once_at && !stored.meta.is_deleting()
}

fn is_unread(stored: &StoredRepository) -> bool {
    let said = stored.status.ready();
    said.is_some_and(|c| c.status == Status::False)
}

/// Takes the objects of a kind by the cluster's word; one that cannot be listed is unknown.
pub(super) async fn take(
    world: &Supposed,
    namespace: &Namespace,
    kind: &Gvk,
    unknown: &mut Vec<(String, String)>,
) {
    let cluster = &world.engine.ports().cluster;
    match cluster.objects_now(kind, namespace).await {
        Ok(Some(all)) => world.take_objects(kind, all),
        // Whoever selects it says so.
        Ok(None) => {}
        Err(error) => unknown.push((kind.to_string(), error.to_string())),
    }
}

/// Every set and variant of a namespace.
pub(super) fn all(world: &Supposed, namespace: &Namespace) -> BTreeSet<Key> {
    world.engine.world(|w| {
        let sets = w.sets.iter().map(|s| Key::Set(s.key.clone()));
        let variants = w.variants().map(|v| Key::Variant(v.key.clone()));
        let here = |key: &Key| match key {
            Key::Set(key) | Key::Variant(key) | Key::Repository(key) => key.namespace == *namespace,
        };
        sets.chain(variants).filter(here).collect()
    })
}
