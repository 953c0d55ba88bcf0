//! What a plan says: steps that carry all they need, and what they expect to find.

use std::sync::Arc;

use model::{
    CommitId, Digest, GitLock, Lifecycle, Machine, ObjectKey, OwnerReference, PackageName, Pairs,
    Recipe, RepositoryName, Revision, Task, TreeId, VariantStatus, WorkspaceName,
};

use super::FailedDerivation;
use crate::{Next, Report};

/// What to do about one variant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "apply the plan, or print it"]
pub struct Plan {
    /// In order; a step that finds something else than it expects is a conflict: look again.
    pub steps: Vec<VariantStep>,
    /// Why.
    pub report: Report,
    /// The status once every step has succeeded; [`super::status_after`] says what to write.
    pub status: VariantStatus,
    /// When to look again.
    pub next: Next,
}

/// A revision as it was seen. Applying expects to find it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionRef {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// The record's version.
    pub resource_version: String,
    /// The commit.
    pub commit: CommitId,
    /// Where it stands.
    pub lifecycle: Lifecycle,
}

impl RevisionRef {
    /// The revision as it is now.
    pub fn of(revision: &Revision) -> Self {
        Self {
            key: revision.key.clone(),
            resource_version: revision.meta.resource_version.clone(),
            commit: revision.commit,
            lifecycle: revision.lifecycle,
        }
    }
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariantStep {
    /// Add a finalizer to the variant, expected at this resource version (R106).
    AddFinalizer {
        /// The finalizer.
        finalizer: String,
        /// The variant's version.
        resource_version: String,
    },
    /// Take the finalizer off the variant: everything it owned is handled (R106, V10).
    RemoveFinalizer {
        /// The finalizer.
        finalizer: String,
        /// The variant's version.
        resource_version: String,
    },
    /// Make a draft, in one atomic act (V2); expects its workspace absent.
    CreateDraft(Box<CreateDraft>),
    /// Bring an open draft in line with new input (V18).
    UpdateDraft(Box<UpdateDraft>),
    /// Render an open draft that a person pushed without rendering, in a commit of its own (V14).
    RenderDraft {
        /// The draft.
        revision: RevisionRef,
        /// Of what is rendered: the same is not tried twice (V16).
        digest: Digest,
    },
    /// Take a proposed revision back into draft (V3).
    RevertToDraft {
        /// The revision.
        revision: RevisionRef,
    },
    /// Delete a Draft, a Proposed, or (never planned here) a DeletionProposed revision. Commits
    /// that a person made in it stay reachable under a recovery ref (V23).
    DeleteRevision {
        /// The revision.
        revision: RevisionRef,
        /// Why, for the event.
        why: String,
    },
    /// Propose the deletion of a published revision, marked as ours (V10).
    ProposeDeletion {
        /// The revision.
        revision: RevisionRef,
        /// Annotations to set: the mark.
        annotations: Pairs,
        /// Take the owner with this uid off in the same write (R104).
        disown: Option<model::Uid>,
    },
    /// Take back a deletion proposal of ours: the revision is wanted again (R29, V10).
    WithdrawDeletionProposal {
        /// The revision.
        revision: RevisionRef,
        /// Annotations to take off: the mark.
        remove_annotations: Vec<String>,
    },
    /// Take our owner reference off a revision and leave it in place (R104, R105).
    Orphan {
        /// The revision.
        revision: RevisionRef,
        /// The owner's uid to take off.
        owner: model::Uid,
        /// Why, for the event.
        why: String,
    },
    /// Take a revision over (V9, R102).
    Adopt {
        /// The revision.
        revision: RevisionRef,
        /// The owner reference to add.
        owner: OwnerReference,
        /// Owner references to replace (uids of former incarnations of this variant).
        replace: Vec<model::Uid>,
        /// Labels to merge.
        labels: Pairs,
        /// Annotations to merge, the mark of adoption among them.
        annotations: Pairs,
    },
    /// Note on a published revision's record that this input changes nothing (V17a).
    NoteDigest {
        /// The revision.
        revision: RevisionRef,
        /// The input digest.
        digest: Digest,
    },
}

impl VariantStep {
    /// Whether the steps after it need it done. All others stand for themselves: where one fails,
    /// the rest is still carried out (R32), so that one revision that cannot be deleted never
    /// holds up the others.
    pub fn is_prerequisite(&self) -> bool {
        matches!(self, Self::AddFinalizer { .. })
    }
}

/// How to get *V_p*, the machine output that *p* stems from (V17, V19a).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineBase {
    /// There is no *p*: *M = V′*.
    Fresh,
    /// The machine's own tree, named in its trailer.
    Known(Machine),
    /// Derive it anew from what this lock names, with *p*'s own values wherever the recipe states one.
    Anew(GitLock),
    /// Take the raw old upstream: this registered revision, as Porch does.
    Raw(model::ObjectName),
    /// Suppose that *p* stems from the wanted upstream (`offshoot.dev/relock`, V1).
    Wanted,
}

/// What to do when the machine's result equals *p* byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnEqual {
    /// There is no *p* to be equal to.
    Never,
    /// Make nothing; note the digest on this record: *p*'s (V17a), or the draft's that another server made (A5).
    NoteDigest(RevisionRef),
    /// Delete the draft, unless a person committed to it, and note the digest on *p*'s record
    /// (V20).
    DeleteDraft(RevisionRef),
}

/// A published state that a draft is based on: *p*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseRef {
    /// The latest published revision, expected still to be it.
    pub revision: RevisionRef,
    /// The commit that holds the content: the revision's, or the branch's where somebody changed
    /// the branch since (V20).
    pub commit: CommitId,
    /// The package's tree in that commit: what approval expects on the branch.
    pub tree: TreeId,
    /// How to get *V_p*.
    pub machine: MachineBase,
}

/// Makes a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDraft {
    /// The draft's namespace and composed object name.
    pub key: ObjectKey,
    /// The repository it goes into.
    pub repository: RepositoryName,
    /// Its package.
    pub package: PackageName,
    /// Its workspace, expected to be absent.
    pub workspace: WorkspaceName,
    /// Its task: clone, upgrade or edit (R23–R25).
    pub task: Task,
    /// *u′*, the upstream revision to follow.
    pub upstream: Arc<Revision>,
    /// *p*; `None` for a first draft.
    pub base: Option<BaseRef>,
    /// The package's tree on the branch, which approval expects there (V20); without *p* it is
    /// what an earlier life of the package left.
    pub directory: Option<TreeId>,
    /// *r′*.
    pub recipe: Recipe,
    /// The input digest without base and policies (V21).
    pub digest: Digest,
    /// The input digest with them: the idempotency key.
    pub full_digest: Digest,
    /// Its owner.
    pub owner: OwnerReference,
    /// Its labels (R52).
    pub labels: Pairs,
    /// Its annotations (R52).
    pub annotations: Pairs,
    /// What to do when the result equals *p*.
    pub on_equal: OnEqual,
}

/// Brings a draft in line with new input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateDraft {
    /// The draft, as it is expected.
    pub draft: RevisionRef,
    /// Its workspace.
    pub workspace: WorkspaceName,
    /// What the machine noted in it last: its newest *M*. `None` for an adopted draft, whose own
    /// machine output is found as *p*'s would be.
    pub machine: Option<Machine>,
    /// How to get the machine output of an adopted draft.
    pub draft_base: MachineBase,
    /// *u′*.
    pub upstream: Arc<Revision>,
    /// *p*; `None` if nothing was published yet.
    pub base: Option<BaseRef>,
    /// *r′*.
    pub recipe: Recipe,
    /// The input digest without base and policies.
    pub digest: Digest,
    /// The input digest with them.
    pub full_digest: Digest,
    /// What to do when the result equals *p*.
    pub on_equal: OnEqual,
    /// What changed, for the commit message and the event.
    pub why: Vec<String>,
}

/// What became of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariantOutcome {
    /// Done.
    Done,
    /// A draft was made or updated: its record.
    Draft(Arc<Revision>),
    /// The result equals *p*: no draft (V17a, V20).
    Unchanged,
    /// Something else was found than expected: look again, silently.
    Conflict,
    /// It could not be done.
    Failed(FailedDerivation),
    /// Not attempted: a step that it needs failed, or what was seen is no longer so.
    Skipped,
}
