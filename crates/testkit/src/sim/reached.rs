//! What is remembered of the rollouts of a set, so that what is written can be held against it.

use std::collections::{BTreeMap, BTreeSet};

use model::{CommitId, ObjectKey, Upstream};
use tokio::time::Instant;

/// What is remembered of rollouts.
#[derive(Debug, Default)]
pub(super) struct Rolled {
    /// The variants that were there when a rollout first reached one.
    pub(super) began: BTreeMap<String, BTreeSet<ObjectKey>>,
    /// The upstream commits of what a variant had published when a rollout first reached it, the last two.
    pub(super) before: BTreeMap<(String, ObjectKey), Vec<CommitId>>,
    /// When a variant last was out of reach or gone.
    pub(super) absent: BTreeMap<ObjectKey, Instant>,
    /// When an undo was last asked for, or ended.
    pub(super) undone: Option<Instant>,
    /// The upstreams that sets ever gave a variant.
    pub(super) given: BTreeMap<ObjectKey, Vec<Upstream>>,
    /// Whether the rival set was there already.
    pub(super) rivalled: bool,
}
