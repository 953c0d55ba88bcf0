//! CEL expressions of templates and of validation rules: parsed with bounded nesting, checked against declared variables,
//! bounded in cost before anything runs, and evaluated to a string.
//!
//! The language is what cel-go's template environment offers (cel-go's standard library, no
//! extensions, variables of strings and maps; `vectors/cel`). This crate knows nothing of packages
//! or Kubernetes, never reads anything, and never chooses its own stack: expressions nest up to
//! [`MAX_RECURSION`] levels, so callers run [`Program::compile`] and [`Program::eval`] on a thread
//! with a large one (64 MiB is plenty).

mod bindings;
mod check;
mod cost;
mod error;
mod fold;
mod matches;
mod pattern;
mod program;
mod rule;
mod sorted;
mod types;

pub use bindings::{Bindings, Value};
pub use error::{ExprError, Position, Stage};
pub use matches::MAX_PATTERNS;
pub use pattern::{MAX_PATTERN, Pattern};
pub use program::{Env, MAX_COST, MAX_LENGTH, MAX_NESTING, MAX_RECURSION, Program};
pub use rule::{Datum, MAX_RULE_LENGTH, Rule, Shape, Wanted};
pub use types::Declared;
