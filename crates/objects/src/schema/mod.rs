//! Structural schemas: what a custom resource (or a built-in kind) may hold.
//!
//! A schema text (`openAPIV3Schema`, apiextensions/v1) goes in and becomes a [`Structural`]; objects as
//! `serde_json::Value` are then defaulted, pruned and validated by it, with the texts of a real
//! kube-apiserver, as recorded.
//! Nothing here reads a clock, does IO or knows where objects are stored.

mod cel;
mod compile;
mod default;
mod embedded;
mod error;
mod formats;
mod lists;
mod meta;
pub(crate) mod metadata;
mod node;
mod parse;
pub(crate) mod props;
mod prune;
mod reading;
mod render;
pub(crate) mod route;
mod rules;
mod structural;
mod validate;
mod words;

pub use cel::Stack;
pub use error::FieldError;
pub(crate) use error::{aggregate, invalid_message, skipped_rules};
pub(crate) use meta::object_meta;
pub(crate) use meta::object_meta_json;
pub use node::Structural;
pub(crate) use node::{Additional, ListType, Node, Type};
pub use reading::Reading;
pub(crate) use render::{At, quote, sorted_json, step};

/// Enough: a hostile object must not make an answer of megabytes.
pub(crate) const MAX_ERRORS: usize = 1_000;

/// A value as Go prints it into text: a string plainly, the rest as JSON.
pub(crate) fn go_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => render::go_number(number),
        other => render::sorted_json(other),
    }
}

#[cfg(test)]
mod tests;
