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
mod authz;
mod clock;
mod connections;
mod escapes;
pub mod gateway;
mod http;
mod limits;
mod lock;
mod metrics;
mod registry;
mod server;
mod verbs;
mod webhook;

pub use aside::aside;
pub use authz::{Setters, Writers};
pub use clock::Clock;
pub use connections::ConnectionNumbers;
pub use gateway::{Call, CallAnswer, Gateway, Refusal, RefusalClass};
pub use limits::Limits;
pub use metrics::RequestKey;
pub use server::{
    Authority, Issued, Running, Server, ServerBuilder, ServingCertificate, StartError, TlsError,
};
pub use verbs::handle::{List, ResourceName, ServerHandle, WatchEvent};
pub use verbs::records::{Record, RecordError};
pub use verbs::write::Compute;
pub use verbs::{RequestTarget, Whose};
