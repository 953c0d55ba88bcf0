//! What variants and sets say about themselves (V6).

use crate::{
    Condition, GitLock, GuardMemory, Lifecycle, MemberMark, ObjectName, PackedRenderStatus,
    RevisionNumber, RolloutStatus, Status, WorkspaceName,
};

/// The status of a variant. Plain values without times: equal statuses are not written twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VariantStatus {
    /// The generation of the spec that this status speaks of.
    pub observed_generation: i64,
    /// `Stalled` and `Ready` first, then what else holds.
    pub conditions: Vec<Condition>,
    /// The revisions that the variant looks after (R116).
    pub downstream_targets: Vec<DownstreamTarget>,
    /// The upstream revision that is followed now, by object name.
    pub upstream: Option<ObjectName>,
    /// The upstream version that is published downstream, and the one that is wanted, for people: `web/v1 → v2`; one of
    /// them where both are the same.
    pub versions: String,
    /// A published revision whose deletion a person proposed and approved: nothing is made in its
    /// place until told otherwise (V10).
    pub deleted_downstream: Option<ObjectName>,
    /// The request to look now (annotation `offshoot.dev/reconcile`) that was answered last.
    pub handled: Option<String>,
    /// The injection points that hold nothing, or what nothing in the cluster stands for any more: told, and no verdict
    /// about the variant (R88, V22). In the order of their points.
    pub injection: Vec<InjectionNote>,
    /// The generation of the spec of which the published revision is: at `spec.upstream.commit`, with the inputs that
    /// the spec came to then (F7). Only where the spec names a commit.
    pub published_generation: Option<i64>,
    /// What a rollout wrote onto the variant when it reached it (F7).
    pub rollout: Option<MemberMark>,
}

/// What is to be said of one injection point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InjectionNote {
    /// The type of its condition, which names it: `config.injection.{Kind}.{name}`.
    pub point: String,
    /// Why, in one word; `InjectionStale` where what was injected stays (V22).
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

impl VariantStatus {
    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }
}

/// One revision that a variant looks after: its open drafts, else its latest published (R116).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownstreamTarget {
    /// Its object name.
    pub name: ObjectName,
    /// Where it stands.
    pub lifecycle: Lifecycle,
    /// Its number.
    pub revision: RevisionNumber,
    /// Its workspace.
    pub workspace: WorkspaceName,
    /// What upstream content it has.
    pub upstream_lock: Option<GitLock>,
    /// What its last render reported.
    pub render_status: Option<PackedRenderStatus>,
    /// How many conflicts wait for a person.
    pub conflicts: usize,
    /// How many gates that hold here are not true, that of conflicts aside.
    pub gates: usize,
    /// Whether an approver rejected it, and nobody proposed it again (F7).
    pub rejected: bool,
}

/// The status of a set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetStatus {
    /// The generation of the spec that this status speaks of.
    pub observed_generation: i64,
    /// `Stalled`, `Ready` and `VariantsReady` first, then what else holds.
    pub conditions: Vec<Condition>,
    /// The upstream packages that it follows, for people.
    pub upstream: String,
    /// Targets that the selections gave.
    pub targets: usize,
    /// Variants that exist.
    pub variants: usize,
    /// Variants that are ready.
    pub ready: usize,
    /// Variants that are stalled.
    pub stalled: usize,
    /// Variants whose newest revision is a draft.
    pub drafts: usize,
    /// Variants whose newest revision waits for an approval.
    pub proposed: usize,
    /// Variants that are published, with nothing newer under way.
    pub published: usize,
    /// Variants whose published content is what is wanted, with nothing else to do.
    pub up_to_date: usize,
    /// Variants with conflicts that wait for a decision.
    pub conflicted: usize,
    /// Variants with gates that are not true, and no conflicts.
    pub gated: usize,
    /// Variants whose branch holds what was approved, with no tag that publishes it.
    pub untagged: usize,
    /// Variants that cannot go on until somebody mends something.
    pub failing: usize,
    /// Targets that cannot be rendered or written.
    pub failed: usize,
    /// What the deletion guard remembers (S3).
    pub guard: GuardMemory,
    /// What is remembered of its rollout; `None` without `spec.rollout` (F7).
    pub rollout: Option<RolloutStatus>,
    /// The request to look now (annotation `offshoot.dev/reconcile`) that was answered last.
    pub handled: Option<String>,
}

impl SetStatus {
    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }
}

/// The status of a `Repository`.
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
    /// When a look at all of it last found news, was scheduled, or was asked for, RFC 3339; empty if never.
    pub last_full_sync: String,
    /// When the schedule has it looked at again, RFC 3339; empty without a schedule.
    pub next_full_sync: String,
    /// The `spec.sync.runOnceAt` that was obeyed; empty if none.
    pub observed_run_once_at: String,
}

impl RepositoryStatus {
    /// What it says of whether it can be used; `None` before its first look.
    pub fn ready(&self) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == "Ready")
    }

    /// Whether it can be used.
    pub fn is_ready(&self) -> bool {
        self.ready().is_some_and(|c| c.status == Status::True)
    }
}
