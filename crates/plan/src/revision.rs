//! What people ask of package revisions: may it be, and what follows.
//!
//! Create, update, save, propose, approve and delete: what was observed in, what follows or a [`Rejected`] out. The lifecycle's
//! table is `model::transition`; here stands everything else that a verb needs to be looked at.
//! Nothing here reads a repository or an object.

mod approve;
mod create;
mod delete;
mod many;
mod reason;
mod rebase;
mod update;

use std::fmt;

use model::{Class, Door, Lifecycle, TransitionRefusal};

pub use approve::{APPROVED_CLASS, ApproveObserved, EXPECTED_TREE, Publish, approve};
pub use create::{ContentSource, CreateObserved, CreatePlan, Creation, create};
pub use delete::{DeleteObserved, DeletePlan, Follower, delete, follows};
pub use many::{Fit, RevisionVerb, fit, is_as_seen, meant};
pub use reason::RejectionReason;
pub use rebase::REBASE;
pub use update::{Action, Update, UpdateObserved, propose, save, update};

/// A verb that is refused, in Porch's words where it has some.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Rejected {
    /// Tells the doors which answer to give: `Invalid` 422, `Denied` 403, `Conflict` 409,
    /// `NotFound` 404.
    pub class: Class,
    /// Why, for programs, where they do something about it.
    pub reason: Option<RejectionReason>,
    /// The field that is wrong, such as `spec.lifecycle`.
    pub field: Option<&'static str>,
    /// The field's refused value.
    pub value: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Rejected {
    fn new(class: Class, message: impl Into<String>) -> Self {
        Self {
            class,
            reason: None,
            field: None,
            value: None,
            message: message.into(),
            hint: None,
        }
    }

    fn invalid(field: &'static str, value: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            field: Some(field),
            value: Some(value.to_string()),
            ..Self::new(Class::Invalid, message)
        }
    }

    fn lifecycle(refusal: &TransitionRefusal) -> Self {
        Self::invalid("spec.lifecycle", refusal.value, refusal.message.clone())
            .because(RejectionReason::UnfitLifecycle)
    }

    /// What is refused at the object itself may be what its subresource is for.
    fn at_door(refusal: &TransitionRefusal, door: Door, to: Lifecycle) -> Self {
        let rejected = Self::lifecycle(refusal);
        match (door, refusal.value, to) {
            (Door::Main, Lifecycle::Draft, Lifecycle::Published) => rejected.hint(
                "propose it first (`offshoot rpkg propose`), then approve it through the subresource `approval`, as \
                 `offshoot rpkg approve` does",
            ),
            (Door::Main, Lifecycle::Proposed, Lifecycle::Published) => rejected.hint(
                "approve it through the subresource `approval`, as `offshoot rpkg approve` does",
            ),
            _ => rejected,
        }
    }

    fn because(mut self, reason: RejectionReason) -> Self {
        self.reason = Some(reason);
        self
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
