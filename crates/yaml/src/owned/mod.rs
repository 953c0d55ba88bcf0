//! Owned values: a document taken out of its text to be changed at will, and put back as edits.
//!
//! Functions and mutations want a tree that they can change freely; the text wants the fewest edits. An owned
//! [`Value`] remembers which node of the source each part was read from, so that [`changes`] can tell
//! a moved, changed or removed part from a new one, and everything that nobody changed keeps its bytes, comments included.
//! This module never prints YAML: it speaks in fragments and edits.

mod access;
mod build;
mod diff;
mod together;
mod weight;
mod write;

use std::sync::Arc;

use crate::Style;

pub use diff::{Change, changes};
pub use write::{rewrite, to_text};

/// A number that a part of the source carries through every change; parts that are new carry none.
pub(crate) const NEW: u32 = u32::MAX;

/// A value that can be changed.
///
/// Equality is not derived: [`Value::same`] compares meaning, not style or comments.
#[derive(Debug, Clone)]
pub struct Value {
    pub(crate) data: Data,
    pub(crate) comment: Option<Arc<str>>,
    pub(crate) origin: u32,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum Data {
    /// A scalar of any type and style.
    Scalar(Scalar),
    /// A mapping, in the order written.
    Map(Map),
    /// A sequence.
    Seq(Seq),
    /// A reference to an anchored value; changing anything below it puts a copy in its place (M1).
    Alias(Alias),
}

/// A scalar: its text without quotes, how it is written, and its tag if it has one.
#[derive(Debug, Clone)]
pub struct Scalar {
    /// The text without quotes and escapes.
    pub text: Arc<str>,
    /// How it is written; of a new scalar, what is wanted.
    pub style: Style,
    /// An explicit tag, such as `!!str`.
    pub tag: Option<Arc<str>>,
}

/// A mapping.
#[derive(Debug, Clone, Default)]
pub struct Map {
    pub(crate) entries: Vec<Entry>,
    pub(crate) flow: bool,
}

/// One key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key's text.
    pub key: Arc<str>,
    /// The value.
    pub value: Value,
    /// Whether the key can be named by a path at all: complex keys cannot, and are carried.
    pub(crate) plain_key: bool,
}

/// A sequence.
#[derive(Debug, Clone, Default)]
pub struct Seq {
    pub(crate) items: Vec<Value>,
    pub(crate) flow: bool,
}

/// An alias and what it stands for.
#[derive(Debug, Clone)]
pub struct Alias {
    pub(crate) target: Arc<Value>,
}

#[cfg(test)]
mod tests;
