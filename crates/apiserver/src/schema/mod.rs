//! Structural schemas: what a custom resource (or a built-in kind) may hold.
//!
//! A schema text (`openAPIV3Schema`, apiextensions/v1) goes in and becomes a [`Structural`]; objects as
//! `serde_json::Value` are then defaulted, pruned and validated by it, with the texts of a real
//! kube-apiserver (`observed/kube-apiserver.md`, "Validation of custom resources").
//! Nothing here reads a clock, does IO or knows where objects are stored.

mod default;
mod embedded;
mod error;
mod formats;
mod lists;
mod node;
mod parse;
mod prune;
mod render;
mod rules;
mod structural;
mod validate;

pub use error::{BadValue, ErrorKind, FieldError, aggregate, invalid_message, skipped_rules};
pub use node::{Additional, Limits, ListType, Logic, Node, Structural, Type, object_meta};
pub use rules::Rule;
