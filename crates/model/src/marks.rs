//! What package revisions carry that the server alone writes: whoever could write it as well would say what nobody did.

/// The label of a package's latest published revision.
pub const LATEST: &str = "kpt.dev/latest-revision";
/// On a revision that a variant makes or adopts: the variant's name.
pub const VARIANT: &str = "offshoot.dev/variant";
/// Beside it: the name of the variant's set, if it has one.
pub const SET: &str = "offshoot.dev/set";
/// On a published revision: the variant (`namespace/name`) that proposed its deletion (V10).
pub const PROPOSED_BY: &str = "offshoot.dev/deletion-proposed-by";
/// On a published revision beside that: the uid of the set whose variant it was.
pub const PROPOSED_FOR: &str = "offshoot.dev/deletion-proposed-for-set";
/// On a revision: the variant that took it over (V9).
pub const ADOPTED_BY: &str = "offshoot.dev/adopted-by";
/// On a revision: the variant that left it in place; a variant of that name is another one (V9).
pub const ORPHANED_BY: &str = "offshoot.dev/orphaned-by";
/// On a draft of a variant under a rollout: who rejected its proposal last; gone once it is proposed again (F7).
pub const REJECTED_BY: &str = "offshoot.dev/rejected-by";
/// On the record of a branch: the numbers that somebody approved to delete (V20).
pub const DELETED: &str = "offshoot.dev/deleted-revisions";

/// The annotations among them.
pub const ANNOTATIONS: [&str; 6] = [
    PROPOSED_BY,
    PROPOSED_FOR,
    ADOPTED_BY,
    ORPHANED_BY,
    REJECTED_BY,
    DELETED,
];

/// Whether a label or an annotation is among them.
pub fn is_servers(key: &str) -> bool {
    [LATEST, VARIANT, SET].contains(&key) || ANNOTATIONS.contains(&key)
}
