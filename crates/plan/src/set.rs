//! A package variant set: which variants there shall be, and what to do about those there are.
//!
//! [`decide`] unrolls the targets, renders every template before anything is written, compares
//! with what exists, and holds back deletions that nobody can have meant (S3).
//! It is linear in targets and variants. Nothing here reads or writes anything.

mod alone;
mod compile;
mod conclude;
mod decide;
mod diff;
mod explain;
mod guard;
mod names;
mod observed;
mod ready;
mod render;
mod rollout;
mod select;
mod status;
mod step;
mod unroll;
mod waits;

pub use crate::early::Early;
pub use alone::evaluate;
pub use compile::Compiled;
pub use decide::{MAX_BYTES, decide};
pub use explain::explain;
pub use guard::uid_mark;
pub use names::{CONFIRM, EXPLICIT, LABEL, WRITTEN_BY, variant_name};
pub use observed::{
    Existing, Followed, Observed, Published, QuietTime, RepositoryObject, SelectedObject,
    SelectionFailure, Subject, Unread,
};
pub use rollout::{MemberPlace, PAUSE, RETRY, UNDO, is_early, step_of, steps, waits_for_step};
pub use select::KindScope;
pub use status::{news, next_after, status_after};
pub use step::{Plan, SetOutcome, SetStep};
pub use unroll::MAX_TARGETS;
pub use waits::{early, waits};
