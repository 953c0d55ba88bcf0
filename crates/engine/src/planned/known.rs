//! What of the cluster a plan has to know beyond what controllers follow already.

use std::collections::BTreeSet;

use model::Namespace;

use crate::controllers::queue::Key;
use crate::ports::Gvk;
use crate::suppose::Supposed;

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
