//! Brings the variants of one `PackageVariantSet` in line with its targets.

use model::ObjectKey;

use super::Turn;
use super::queue::Done;
use crate::{Engine, apply, observe};

/// The key is all we are told; what changed does not matter.
pub(super) async fn reconcile(engine: &Engine, key: &ObjectKey) -> Turn {
    let Some(observed) = observe::set(engine, key).await? else {
        engine.inner.set_failures.clear(key);
        return Ok(Done::Rest);
    };
    // Rendering many templates takes CPU, and expressions want the pool's stack.
    let cpu = engine.inner.options.cpu.clone();
    let decide = move || {
        let plan = plan::set::decide(&observed);
        (observed, plan)
    };
    let (observed, plan) = cpu.run(decide).await?;
    apply::set(engine, &observed, plan).await
}
