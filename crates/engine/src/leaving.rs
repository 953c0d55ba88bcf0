//! Namespaces on their way out: nothing of ours holds up what is in them, and nothing is made there (V10).

use model::Namespace;

use crate::index::Wake;
use crate::{Engine, Error, Result};

/// Whether a namespace is on its way out, or gone.
///
/// # Errors
/// It cannot be read now.
pub(crate) async fn leaves(engine: &Engine, namespace: &Namespace) -> Result<bool> {
    let active = engine.ports().cluster.namespace_active(namespace).await;
    Ok(!active.map_err(|source| Error::Port { source })?)
}

/// The same of one that was heard to go; of any other nobody is asked.
///
/// # Errors
/// It cannot be read now.
pub(crate) async fn was_heard_to(engine: &Engine, namespace: &Namespace) -> Result<bool> {
    if !engine.world(|w| w.leaving.contains(namespace)) {
        return Ok(false);
    }
    let leaves = leaves(engine, namespace).await?;
    if !leaves {
        // That was another one of this name.
        engine.learn(|world| {
            world.leaving.remove(namespace);
            Wake::default()
        });
    }
    Ok(leaves)
}
