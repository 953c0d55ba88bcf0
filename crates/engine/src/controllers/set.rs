//! Brings the variants of one `PackageVariantSet` in line with its targets.

use model::ObjectKey;
use plan::set::SelectionFailure;

use super::Turn;
use crate::queue::Done;
use crate::{Engine, apply, observe};

/// The key is all we are told; what changed does not matter.
pub(super) async fn reconcile(engine: &Engine, key: &ObjectKey) -> Turn {
    let Some(observed) = observe::set(engine, observe::Sink::of(engine), key).await? else {
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
    let done = apply::set(engine, &observed, plan).await?;
    // Nobody wakes the set once what could not be asked can be asked again.
    let unasked = |s: &Result<_, _>| matches!(s, Err(SelectionFailure::Unavailable(_)));
    match done {
        Done::Rest if observed.selected.values().any(unasked) => Ok(Done::Failed),
        Done::Rest if observed.unread.iter().any(|u| u.passes) => Ok(Done::Failed),
        done => Ok(done),
    }
}
