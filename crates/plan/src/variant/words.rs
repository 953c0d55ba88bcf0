//! The names that variants write into the world: finalizer, marks, conditions and reasons.

pub(crate) use model::marks::{ADOPTED_BY, ORPHANED_BY, PROPOSED_BY, PROPOSED_FOR, REJECTED_BY};
use model::{Lifecycle, ObjectKey, OwnerReference, Revision, Uid};

/// The finalizer of variants, set by the variants controller, or by a set that makes one in the same process (R106, V10).
pub const FINALIZER: &str = "config.porch.kpt.dev/packagevariants";
/// `apiVersion` of variants in owner references (R51).
pub const API_VERSION: &str = "config.porch.kpt.dev/v1alpha1";
/// Kind of variants in owner references.
pub const KIND: &str = "PackageVariant";
/// On a set (`true`): its variants withdraw the deletion proposals that variants of the same name and set left behind,
/// whatever their adoption policy says.
pub const TAKE_BACK: &str = "offshoot.dev/take-back";
/// Kind of sets in owner references.
pub const SET_KIND: &str = "PackageVariantSet";
/// On a variant: take a downstream without a lock as stemming from the wanted upstream (V1).
pub(crate) const RELOCK: &str = "offshoot.dev/relock";
/// On a variant: make this deleted downstream (by revision name) again (V10).
pub(crate) const RECREATE: &str = "offshoot.dev/recreate";
/// On a variant or a set: look now, also at what failed before; any new value asks again.
pub(crate) const RECONCILE: &str = "offshoot.dev/reconcile";
/// On a variant: the rollout that reached it, in which step, and what it had published before (F7). Its set writes it
/// together with the spec.
pub const ROLLOUT: &str = "offshoot.dev/rollout";
/// On a variant of a set: somebody wrote it by hand while it waited for its step, and the set put it back. While it stands,
/// what an open draft states beside its spec is taken from what is published, not from the draft (V22): the set takes it off
/// once no draft is open.
pub const PUT_BACK: &str = "offshoot.dev/put-back";
/// The prefix of gates that are ours and hold everywhere (V3, V12).
pub(crate) const OUR_GATES: &str = "offshoot.dev/";
/// The gate of a draft that nobody rendered, or whose render failed (V14, M12).
pub const RENDERED: &str = "offshoot.dev/Rendered";
/// The gate of a draft with conflicts that nobody answered (V4a).
pub const CONFLICTS: &str = "offshoot.dev/Conflicts";
/// The prefix of workspaces that variants make (R50).
pub(crate) const WORKSPACE_PREFIX: &str = "packagevariant-";

/// Condition: no progress is possible without somebody (R110).
pub const STALLED: &str = "Stalled";
/// Condition: the downstream is as the spec wants it (R111).
pub const READY: &str = "Ready";
/// Condition: another variant wants the same downstream; this one is older and works (V15).
pub(crate) const CONTESTED: &str = "DownstreamContested";
/// Condition: revisions of the downstream package belong to nobody or to somebody else (R101).
pub(crate) const EXISTS_UNOWNED: &str = "DownstreamExistsUnowned";
/// Condition: the downstream starts anew after our last commit (V20).
pub(crate) const DIVERGED: &str = "DownstreamDiverged";
/// Reason: somebody proposed the deletion of the downstream (V10).
pub(crate) const DELETION_PROPOSED: &str = "DownstreamDeletionProposed";
/// Reason: a proposal stands in the way (V3).
pub const WAITING_FOR_APPROVAL: &str = "WaitingForApproval";
/// Reason: another variant has the downstream (V15).
pub const CLAIMED: &str = "DownstreamClaimed";
/// Condition: somebody changed the package on the branch since it was published (V20).
pub(crate) const BRANCH_CHANGED: &str = "BranchChanged";

/// Condition: nobody knows who wrote the variant or set last, so that nothing is read on their behalf (X6).
pub const WRITER_UNKNOWN: &str = "WriterUnknown";

/// That nobody knows who wrote an object, and the one command that makes somebody its writer (X6).
pub(crate) fn writer_unknown(short: &str, key: &ObjectKey) -> String {
    let command = format!(
        "kubectl annotate --overwrite {short} {} -n {} {RECONCILE}=\"$(date +%s)\"",
        key.name, key.namespace
    );
    format!(
        "it is not recorded who wrote {short}/{} last; whoever may read it makes it their own with `{command}`",
        key.name
    )
}

/// The mark of a variant on revisions.
pub(crate) fn mark(key: &ObjectKey) -> String {
    key.to_string()
}

/// Whether a variant of this name proposed the deletion of a revision, and nobody has answered yet (V10).
pub(crate) fn proposed_deletion(key: &ObjectKey, revision: &Revision) -> bool {
    revision.lifecycle == Lifecycle::DeletionProposed
        && !revision.placeholder
        && revision.meta.annotations.get(PROPOSED_BY) == Some(&mark(key))
}

/// Whether a variant of this name and this set proposed the deletion of a revision as it went.
pub(crate) fn left_by_set(key: &ObjectKey, set: &Uid, revision: &Revision) -> bool {
    let annotations = &revision.meta.annotations;
    proposed_deletion(key, revision)
        && annotations.get(PROPOSED_FOR).map(String::as_str) == Some(set.as_str())
}

/// The owner reference of a variant (R51).
pub(crate) fn owner(key: &ObjectKey, uid: &Uid) -> OwnerReference {
    OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: key.name.to_string(),
        uid: uid.clone(),
        controller: true,
        block_owner_deletion: false,
    }
}
