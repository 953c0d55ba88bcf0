//! One classification of failures, and problems of input with their field and way out.
//!
//! Every crate's error says its class; only the doors turn a class into an HTTP status, a requeue,
//! a condition or an exit code.

use std::fmt;

/// What kind of failure an error is, whatever crate it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The input is wrong and will stay wrong until somebody changes it.
    Invalid,
    /// Something that was named does not exist (yet).
    NotFound,
    /// What was expected to be found has changed: look again and decide anew.
    Conflict,
    /// The caller may not do this, or credentials were refused.
    Denied,
    /// The other side cannot be reached or asks to come back later.
    Unavailable,
    /// A limit of size, depth, cost or time was exceeded.
    Limit,
    /// An invariant of ours does not hold.
    Bug,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not found",
            Self::Conflict => "conflict",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::Limit => "limit exceeded",
            Self::Bug => "internal error",
        })
    }
}

/// Something wrong with one field of an input, with a way out where there is one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Path of the field, such as `spec.upstream.repo`; empty for the object as a whole.
    pub field: String,
    /// The whole message as Porch words it (A4), the field's path included.
    pub what: String,
    /// What to do about it; shown apart from the message.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem without a hint.
    pub fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            what: what.into(),
            hint: None,
        }
    }

    /// The same problem with a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// All problems as one message, joined by `"; "` (A4, R16).
pub fn join_problems(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|p| p.what.as_str())
        .collect::<Vec<_>>()
        .join("; ")
}
