//! Wire ↔ model: Porch's texts, every accepted form, and records that come back as written.

#![expect(
    clippy::unwrap_used,
    reason = "a test may end where its world is not as written"
)]

mod definitions;
mod forms;
mod messages;
mod records;
mod rollouts;
mod strict;
mod versions;

use serde_json::{Value, json};

/// A variant with this spec.
pub(crate) fn variant(spec: Value) -> Value {
    json!({ "metadata": { "name": "v", "namespace": "default" }, "spec": spec })
}
