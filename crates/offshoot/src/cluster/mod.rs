//! `offshoot serve`: the same engine on a cluster (C1).
//!
//! Variants, sets and repositories are objects of the cluster, package revisions an aggregated API of this process, their
//! records custom resources. One replica holds the Lease and writes; the others forward to it (C2). Everything on this
//! machine's disk can be thrown away.

mod difference;
pub mod door;
mod follow;
mod held;
mod holder;
mod host;
mod import;
mod kinds;
mod lease;
mod namespaces;
mod neighbours;
mod objects;
mod options;
mod records;
mod remote;
mod repeats;
mod replicas;
mod routing;
mod scratch;
mod seen;
mod serve;
mod term;

#[cfg(test)]
mod tests;

use model::ObjectKey;
use serde_json::Value;

pub(crate) use import::Import;
pub(crate) use options::Options;
pub(crate) use records::resource as records;
pub(crate) use remote::Remote;
pub(crate) use serve::run;

/// Under which key the engine knows an object.
type Key = fn(&Value) -> Option<ObjectKey>;
