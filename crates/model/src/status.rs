//! What controllers report about the objects of ours (variant-semantics.md §1.G, decisions.md A8).
//!
//! The same types are read back as what is stored, so that a status that did not change is never
//! written again (V16).

use std::collections::BTreeSet;

use crate::{Condition, GitLock, Lifecycle, ObjectName, RenderStatus, RevisionNumber, Uid};

/// The status of a `PackageVariant`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VariantStatus {
    /// The generation that was looked at.
    pub observed_generation: i64,
    /// `Ready`, `Stalled` and whatever else is worth saying.
    pub conditions: Vec<Condition>,
    /// The revisions that matter: owned drafts and proposals, otherwise the latest published (R116).
    pub downstream_targets: Vec<DownstreamTarget>,
}

/// One entry of `status.downstreamTargets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownstreamTarget {
    /// The revision's object name.
    pub name: ObjectName,
    /// Additive: its workspace.
    pub workspace: String,
    /// Additive: where it stands.
    pub lifecycle: Lifecycle,
    /// Additive: its number.
    pub revision: RevisionNumber,
    /// Additive: what it was made from.
    pub upstream_lock: Option<GitLock>,
    /// What the last render reported.
    pub render_status: Option<RenderStatus>,
}

/// The status of a `PackageVariantSet`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetStatus {
    /// The generation that was looked at.
    pub observed_generation: i64,
    /// `Ready`, `VariantsReady`, `Stalled` and whatever else is worth saying.
    pub conditions: Vec<Condition>,
    /// How many variants there should be.
    pub targets: u32,
    /// How many variants there are.
    pub variants: u32,
    /// How many of them are ready.
    pub ready: u32,
    /// How many of them are stalled.
    pub stalled: u32,
    /// Variants whose deletion was confirmed and is not done yet (S3).
    pub confirmed: BTreeSet<Uid>,
    /// How many variants there were, by time (RFC 3339), within the last hour: the fuse counts
    /// its share against the largest (S3).
    pub history: Vec<(String, u32)>,
}

/// The status of a `Repository` (package-orchestration.md §1.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositoryStatus {
    /// The generation that was looked at.
    pub observed_generation: i64,
    /// `Ready` and whatever else is worth saying.
    pub conditions: Vec<Condition>,
    /// How many package revisions were found.
    pub package_count: u32,
    /// The commit of the branch's head; empty if unknown.
    pub git_commit: String,
    /// When all of it was last looked at, RFC 3339; empty if never.
    pub last_full_sync: String,
    /// When it will be looked at again, RFC 3339; empty if unknown.
    pub next_full_sync: String,
    /// The `spec.sync.runOnceAt` that was obeyed; empty if none.
    pub observed_run_once_at: String,
}
