//! A small, faithful Kubernetes API server as a library.
//!
//! It keeps objects durably, serves custom resource definitions, list and watch, patches, server-side apply,
//! tables and discovery the way unmodified clients expect. It never knows what a package is: whatever is
//! special about a resource is the embedding program's gateway.

pub mod apply;
pub mod builtin;
pub mod clock;
pub mod openapi;
pub mod patch;
pub mod schema;
pub mod storage;
pub mod table;
