//! Running KRM functions: the built-in ones in-process, others through runners that are enabled.
//!
//! A function is a pure change of resources by a configuration, with results. This crate never chooses which
//! functions run (the pipeline does, in `package`), never reads files and never prints YAML: resources arrive
//! and leave as parsed documents ([`Item`]), so that a chain of built-ins parses and prints nothing.

mod budget;
mod builtin;
mod config;
mod goquote;
mod here;
mod item;
mod kinds;
mod labels;
mod regexes;
mod registry;
mod report;
mod runner;
pub mod runtime;
mod setters;
mod walk;
pub mod wire;

pub use builtin::kubeconform::{SchemaError, Schemas};
pub use here::BuiltIns;
pub use item::Item;
pub use registry::{BuiltIn, Needs, builtins, find, is_heavy, short_name};
pub use report::{FunctionReport, result};
pub use runner::{FunctionCall, FunctionOutcome, Limits, RunError, Runner};

/// The label that marks resources which are never applied to a cluster.
pub(crate) const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
/// Where a resource of the upstream package came from: `group|kind|namespace|name`.
pub(crate) const UPSTREAM_IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";
