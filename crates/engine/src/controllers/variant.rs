//! Brings one `PackageVariant`'s downstream in line with its upstream.

use model::ObjectKey;

use super::Turn;
use crate::queue::Done;
use crate::{Engine, apply, observe};

/// The key is all we are told; what changed does not matter.
pub(super) async fn reconcile(engine: &Engine, key: &ObjectKey) -> Turn {
    let Some(observed) = observe::variant(engine, observe::Sink::of(engine), key).await? else {
        engine.inner.failures.clear(key);
        return Ok(Done::Rest);
    };
    let plan = plan::variant::decide(&observed);
    apply::variant(engine, &observed, &plan).await
}
