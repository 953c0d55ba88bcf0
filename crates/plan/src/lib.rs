//! What is seen → what to do: pure decisions for variants, sets, repositories and package revisions.
//!
//! Variants and sets have one shape: an `Observed` (everything the decision needs, gathered by `engine`),
//! a `decide(&Observed) -> Plan` that cannot fail or wait, and a `Plan` of printable steps, each
//! of which says what it expects to find. A verb on a revision is a function of what was observed, which answers what follows or a
//! refusal; a repository's is its status alone. This crate never sees file contents or git, never reads
//! a clock, and never does what it decides.

mod conflicts;
pub mod digest;
mod early;
mod news;
mod off_branch;
mod report;
pub mod repository;
pub mod revision;
pub mod set;
pub mod variant;

pub use news::News;
pub use off_branch::OffBranch;
pub use report::{Next, Note, Report};
