//! A package variant: one downstream package kept in step with its upstream.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{
    CommitId, ConflictPolicy, ObjectKey, ObjectMeta, PackageName, Pairs, Pipeline, RepositoryName,
    Strategy, WorkspaceName,
};

/// A `PackageVariant` object, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its metadata.
    pub meta: Arc<ObjectMeta>,
    /// What it asks for.
    pub spec: VariantSpec,
}

/// What a package variant asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantSpec {
    /// The upstream package.
    pub upstream: Upstream,
    /// The downstream package.
    pub downstream: Downstream,
    /// Whether existing revisions are taken over.
    pub adoption: AdoptionPolicy,
    /// What happens to the revisions when the variant goes.
    pub deletion: DeletionPolicy,
    /// Whether `deletionPolicy: delete` was written out: only then are adopted revisions deleted
    /// with the variant (V9).
    pub deletion_explicit: bool,
    /// Labels of the revisions that it creates; on creation only (R52).
    pub labels: Pairs,
    /// Annotations of the revisions that it creates; on creation only (R52).
    pub annotations: Pairs,
    /// Changes to the package context.
    pub context: PackageContext,
    /// Functions to prepend.
    pub pipeline: Pipeline,
    /// Configuration to inject, first match first.
    pub injectors: Vec<Injector>,
    /// What to do about conflicts (V4).
    pub conflict_policy: ConflictPolicy,
    /// What to do about a revision that waits for approval (V3).
    pub proposed: ProposedPolicy,
    /// How upgrades merge (R25).
    pub strategy: Strategy,
    /// Whether to leave everything as it is.
    pub suspend: bool,
}

/// The upstream package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The repository it is in.
    pub repo: RepositoryName,
    /// The package.
    pub package: PackageName,
    /// Which revision of it.
    pub version: UpstreamVersion,
    /// Whether a draft will do (V24).
    pub allow_unpublished: bool,
    /// This commit of it, whatever `version` names by now (F7).
    pub commit: Option<CommitId>,
}

/// Which revision of the upstream is wanted (A2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpstreamVersion {
    /// The latest published one.
    Latest,
    /// The published one of this number.
    Revision(i64),
    /// The one of this workspace, or a tag of this name, or (if it is the repository's branch)
    /// the branch's head.
    Named(WorkspaceName),
    /// The one of this workspace, and nothing else (`workspaceName`).
    Workspace(WorkspaceName),
    /// The tag of this name (`tag`), which may move.
    Tag(WorkspaceName),
    /// The head of the repository's branch (`-1`).
    BranchHead,
}

/// The downstream package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Downstream {
    /// The repository it is in.
    pub repo: RepositoryName,
    /// The package.
    pub package: PackageName,
}

/// Whether revisions that exist already are taken over (R9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AdoptionPolicy {
    /// Leave them alone.
    #[default]
    None,
    /// Take them over.
    Existing,
}

/// What happens to the revisions when their variant goes (R10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum DeletionPolicy {
    /// Drafts are deleted, published revisions proposed for deletion.
    #[default]
    Delete,
    /// They stay, without an owner.
    Orphan,
}

/// What to do about a revision that waits for approval while its inputs change (V3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ProposedPolicy {
    /// Wait for the approver.
    #[default]
    Wait,
    /// Take it back into draft.
    RevertToDraft,
}

/// Changes to the ConfigMap `kptfile.kpt.dev` of the package (R12, R63–R68).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackageContext {
    /// Keys to set.
    pub data: Pairs,
    /// Keys to remove; removal wins (R64).
    pub remove_keys: BTreeSet<String>,
    /// Additive: make the ConfigMap if the package has none (V13).
    pub create: bool,
}

/// One cluster object to inject, where it fits (R15, R91).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Injector {
    /// Must equal the injection point's group where given.
    pub group: Option<String>,
    /// Must equal the injection point's version where given.
    pub version: Option<String>,
    /// Must equal the injection point's kind where given.
    pub kind: Option<String>,
    /// The object's name.
    pub name: String,
}
