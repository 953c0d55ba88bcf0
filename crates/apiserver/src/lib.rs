//! A small, faithful Kubernetes API server as a library.
//!
//! It keeps objects durably, serves custom resource definitions, list and watch, patches, server-side apply,
//! tables and discovery the way unmodified clients expect. It never knows what a package is: whatever is
//! special about a resource is the embedding program's [`gateway`].

mod access;
pub mod aggregated;
mod aside;
pub mod audit;
pub mod authn;
pub mod authz;
pub mod clock;
mod connections;
mod escapes;
pub mod gateway;
pub mod http;
pub mod limits;
mod lock;
pub mod metrics;
pub mod registry;
pub mod server;
pub mod verbs;
pub mod webhook;

pub use aside::aside;
pub use clock::{Clock, SystemClock, Uids};
pub use gateway::{Call, Gateway, Outcome, Refusal, RefusalClass};
pub use server::{Running, Server, ServerBuilder};
pub use verbs::Whose;
pub use verbs::handle::{ResourceName, ServerHandle};
pub use verbs::records::{Record, RecordError};
