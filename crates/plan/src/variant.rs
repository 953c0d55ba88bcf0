//! A package variant: what to do to keep its downstream in step with its upstream.
//!
//! [`decide`] reads one [`Observed`] and answers with one [`Plan`]; [`status_after`] folds what
//! applying it brought into the status. The rules are those of
//! docs/decisions.md, "Whose edit is whose". Nothing here reads or writes anything.

mod adopt;
mod base;
mod check;
mod decide;
mod drafts;
mod explain;
mod holdings;
mod injection;
mod inputs;
mod leave;
mod lost;
mod observed;
pub mod origin;
pub(crate) mod pinned;
mod published;
mod recipe;
mod seen;
mod status;
mod step;
mod stop;
mod upstream;
mod validate;
mod versions;
pub mod words;

pub use base::{BaseChoice, base_of, stating};
pub use check::{Violation, check};
pub use decide::decide;
pub use explain::explain;
pub use holdings::adopted_mark;
pub use inputs::digests;
pub use observed::{
    FailedDerivation, Feeder, Lineage, LostTag, Observed, ObservedBase, OldUpstream, Rank,
    RepositorySummary, Rival, Stated, Subject, Writer,
};
pub use seen::seen;
pub(crate) use status::retry;
pub use status::{news, next_after, status_after};
pub use step::{
    BaseRef, CreateDraft, MachineBase, OnEqual, Plan, RevisionRef, UpdateDraft, VariantOutcome,
    VariantStep,
};
pub use upstream::{UpstreamResolution, resolve_upstream};
pub(crate) use upstream::{
    commit_of, display as display_upstream, not_found as upstream_not_found,
};
pub use validate::validate;
