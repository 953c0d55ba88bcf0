//! Deleting a package revision (package-orchestration.md §1.1, §2).

use std::sync::Arc;

use model::{Class, Lifecycle, ObjectName, Revision};

use super::Rejected;
use crate::variant::RevisionRef;

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteObserved {
    /// The revision to delete.
    pub revision: Arc<Revision>,
    /// Revisions whose clone or upgrade task names it as upstream.
    pub referenced_by: Vec<ObjectName>,
}

/// What deleting comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "carry the deletion out"]
pub enum DeletePlan {
    /// Drop the draft's or proposal's ref; commits of people stay under a recovery ref (V23).
    DropDraft(RevisionRef),
    /// Drop the tag and the mark of the proposed deletion; the branch keeps the content.
    DropTag(RevisionRef),
    /// Remove the package's directory from the branch, in a commit.
    RemoveDirectory(RevisionRef),
}

/// Whether the revision can be deleted, and how.
///
/// # Errors
/// The peer's two refusals (403): published, or named as upstream.
pub fn delete(o: &DeleteObserved) -> Result<DeletePlan, Rejected> {
    let revision = &o.revision;
    if revision.lifecycle == Lifecycle::Published {
        return Err(Rejected::new(
            Class::Denied,
            "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion",
        ));
    }
    if !o.referenced_by.is_empty() {
        let mut names: Vec<&str> = o.referenced_by.iter().map(ObjectName::as_str).collect();
        names.sort_unstable();
        return Err(Rejected::new(
            Class::Denied,
            format!(
                "cannot delete package revision, it is referenced as upstream by: {}",
                names.join(", ")
            ),
        ));
    }
    let expected = RevisionRef::of(revision);
    Ok(match revision.lifecycle {
        _ if revision.placeholder => DeletePlan::RemoveDirectory(expected),
        Lifecycle::Draft | Lifecycle::Proposed => DeletePlan::DropDraft(expected),
        Lifecycle::Published | Lifecycle::DeletionProposed => DeletePlan::DropTag(expected),
    })
}
