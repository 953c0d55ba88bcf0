//! What the machine notes about the drafts that it makes (V19).

use std::collections::BTreeSet;

use crate::{CommitId, Digest, Namespace, ObjectName, TreeId, Uid, WorkspaceName};

/// Who owns a draft: a variant by namespace, name and uid. Owners are found again by all three (V15): a variant of the
/// same name that was made later is another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DraftOwner {
    /// The variant's namespace.
    pub namespace: Namespace,
    /// The variant's name.
    pub name: ObjectName,
    /// The variant's uid when the draft was made.
    pub uid: Uid,
}

/// The content of a machine commit's `offshoot:` trailer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The variant that asked.
    pub owner: DraftOwner,
    /// Whether the draft was another's before this variant took it over (V9).
    pub adopted: bool,
    /// The draft's workspace.
    pub workspace: WorkspaceName,
    /// The input digest without base and policy: what V21 compares while no draft is open.
    pub digest: Digest,
    /// The input digest with base and conflict policy: the idempotency key, and what is compared
    /// while this draft is open.
    pub full_digest: Digest,
    /// The tree of *M*, the machine's own result for this draft.
    pub m_tree: TreeId,
    /// The tree of *V*, what the machine alone makes of the upstream.
    pub v_tree: TreeId,
    /// The commit of *p*, the published revision that the draft was based on.
    pub base: Option<CommitId>,
    /// The package's tree in *p*.
    pub base_tree: Option<TreeId>,
    /// Readiness gates that we added (V8), to take off again when their point disappears.
    pub gates: Vec<String>,
    /// Context keys that this or an earlier recipe stated: they stay until `removeKeys` names them (V22).
    pub context_keys: BTreeSet<String>,
}
