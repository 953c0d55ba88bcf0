//! A small, faithful Kubernetes API server as a library.
//!
//! It keeps objects durably, serves custom resource definitions, list and watch, patches, server-side apply,
//! tables and discovery the way unmodified clients expect. It never knows what a package is: whatever is
//! special about a resource is the embedding program's [`gateway`].

mod access;
pub mod aggregated;
pub mod apply;
mod aside;
pub mod audit;
pub mod authn;
pub mod authz;
pub mod builtin;
pub mod clock;
mod connections;
pub mod files;
pub mod gateway;
pub mod http;
pub mod limits;
pub mod logic;
pub mod metrics;
pub mod openapi;
pub mod patch;
mod printed;
mod reason;
pub mod registry;
pub mod schema;
pub mod server;
pub mod status;
pub mod storage;
pub mod table;
pub mod verbs;
pub mod webhook;

pub use aside::aside;
pub use clock::{Clock, SystemClock, Uids};
pub use gateway::{Call, Gateway, Outcome, Refusal, RefusalClass};
pub use reason::Reason;
pub use registry::{Backing, Resource};
pub use server::{Running, Server, ServerBuilder};
pub use status::Failure;
pub use verbs::Whose;
pub use verbs::handle::{ResourceName, ServerHandle};
pub use verbs::records::{Record, RecordError};

#[cfg(test)]
mod replay;
