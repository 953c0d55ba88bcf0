//! What a set's plan says.

use std::collections::BTreeMap;

use model::{ObjectKey, ObjectName, SetStatus, Uid, Variant};

use crate::early::Early;
use crate::variant::FailedDerivation;
use crate::{Next, Report};

/// What to do about one set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "apply the plan, or print it"]
pub struct Plan {
    /// Creations and updates first, deletions last (S2).
    pub steps: Vec<SetStep>,
    /// Why.
    pub report: Report,
    /// The status once every step has succeeded.
    pub status: SetStatus,
    /// The variants whose deletion waits for a confirmation, by name.
    pub held: Vec<ObjectName>,
    /// The step of each target, under a rollout (F7).
    pub targets: BTreeMap<ObjectName, String>,
    /// The variants whose open revision is not to be approved now, under a rollout (F7).
    pub early: BTreeMap<ObjectName, Early>,
    /// When to look again.
    pub next: Next,
}

/// What of a set's variants is not to be approved now, where that is known.
pub(super) type Earliest<'a> = Option<&'a BTreeMap<ObjectName, Early>>;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetStep {
    /// Create a variant; expects its name free.
    Create(Box<Variant>),
    /// Write a variant's spec (its metadata is kept, or taken over where the set adopts it).
    Update {
        /// The whole variant as it shall be.
        variant: Box<Variant>,
        /// The version it is expected at.
        resource_version: String,
        /// Whether it belonged to nobody (S8).
        adopt: bool,
    },
    /// Delete a variant; expects the one with this uid.
    Delete {
        /// Its namespace and name.
        key: ObjectKey,
        /// Its uid.
        uid: Uid,
    },
}

/// What became of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetOutcome {
    /// Done.
    Done,
    /// Something else was found than expected: look again, silently.
    Conflict,
    /// It could not be done.
    Failed(FailedDerivation),
    /// Not attempted.
    Skipped,
}
