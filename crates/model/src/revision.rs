//! The record of a package revision: all that is known about it apart from its files.

use std::fmt;

use crate::{
    CommitId, Condition, Conflict, ConflictId, GitLock, Lifecycle, Machine, Namespace, ObjectKey,
    ObjectMeta, PackageName, PackedRenderStatus, Pairs, RepositoryName, Task, TreeId,
    WorkspaceName,
};

/// A revision's number: 0 for what is not published, 1 and up for what is, -1 for a branch head
/// (placeholder) or a tag that is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RevisionNumber(pub i64);

impl RevisionNumber {
    /// Not published.
    pub const NONE: Self = Self(0);
    /// The head of a branch, or a tag without a number.
    pub const UNNUMBERED: Self = Self(-1);

    /// Reads a tag's last segment: `v3` is 3, anything else is unnumbered.
    pub fn of_tag(tag: &str) -> Self {
        tag.strip_prefix('v')
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .filter(|n| *n > 0)
            .map_or(Self::UNNUMBERED, Self)
    }

    /// Whether it is a published number.
    pub fn is_numbered(self) -> bool {
        self.0 > 0
    }
}

impl fmt::Display for RevisionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A condition that must be true before approval.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadinessGate {
    /// The condition's type.
    pub condition_type: String,
}

/// A package revision without its files: the object store's truth about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its namespace and name; the name is composed ([`compose_name`]), never parsed.
    pub key: ObjectKey,
    /// Its metadata.
    pub meta: ObjectMeta,
    /// The repository it is in.
    pub repository: RepositoryName,
    /// Its package.
    pub package: PackageName,
    /// Its workspace.
    pub workspace: WorkspaceName,
    /// Its number.
    pub revision: RevisionNumber,
    /// Where it stands.
    pub lifecycle: Lifecycle,
    /// How it was made; the first task only, as Porch records it.
    pub tasks: Vec<Task>,
    /// Mirrored with the Kptfile's `info.readinessGates`.
    pub readiness_gates: Vec<ReadinessGate>,
    /// Mirrored with the Kptfile's `metadata.labels`.
    pub package_labels: Pairs,
    /// Mirrored with the Kptfile's `metadata.annotations`.
    pub package_annotations: Pairs,
    /// Conflicts that a person acknowledged (V4a).
    pub resolved_conflicts: Vec<ConflictId>,
    /// Mirrored with the Kptfile's `upstreamLock`.
    pub upstream_lock: Option<GitLock>,
    /// Where its own content is.
    pub self_lock: Option<GitLock>,
    /// Mirrored with the Kptfile's `status.conditions`.
    pub conditions: Vec<Condition>,
    /// Whether its repository is a deployment repository.
    pub deployment: bool,
    /// Who approved it; empty unless published.
    pub published_by: String,
    /// When it was approved, RFC 3339; empty unless published.
    pub published_at: String,
    /// What the merge that made it could not decide alone.
    pub conflicts: Vec<Conflict>,
    /// What the last render reported, where it is known (M12).
    pub render_status: Option<PackedRenderStatus>,
    /// The commit that this record describes: where its ref differs, somebody else or a crash
    /// wrote last.
    pub commit: CommitId,
    /// The package's tree at that commit.
    pub tree: TreeId,
    /// What the machine noted in its newest commit of this revision.
    pub machine: Option<Machine>,
    /// The digest of inputs that were seen to change nothing (V17a: no draft was made).
    pub noted_digest: Option<String>,
    /// Whether it is the head of the branch rather than a revision (number -1, workspace = branch).
    pub placeholder: bool,
    /// The version of the last change of content (A6), as `PackageRevisionResources` carry it.
    pub content_version: String,
}

impl Revision {
    /// Its namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.key.namespace
    }

    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }

    /// The types of all readiness gates whose condition is not true, in gate order.
    pub fn open_gates(&self) -> Vec<&str> {
        self.readiness_gates
            .iter()
            .map(|gate| gate.condition_type.as_str())
            .filter(|kind| {
                self.condition(kind)
                    .is_none_or(|c| c.status != crate::Status::True)
            })
            .collect()
    }
}

/// The object name of a revision: `repo.dotted.path.pkg.workspace` (A5).
///
/// Names are composed and never parsed: an index maps name to key.
pub fn compose_name(
    repository: &RepositoryName,
    package: &PackageName,
    workspace: &WorkspaceName,
) -> String {
    format!(
        "{repository}.{}.{workspace}",
        package.as_str().replace('/', ".")
    )
}
