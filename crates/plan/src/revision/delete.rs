//! Deleting a package revision.

use std::sync::Arc;

use model::{Class, Lifecycle, Revision, Task};

use super::{Rejected, RejectionReason};
use crate::variant::RevisionRef;

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteObserved {
    /// The revision to delete.
    pub revision: Arc<Revision>,
    /// The revisions that were made from it, as far as [`follows`] tells.
    pub followers: Vec<Follower>,
}

/// A revision that was made from the one to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    /// It.
    pub revision: Arc<Revision>,
    /// Whether its content stems from a machine commit of ours: what its upstream was is in git then, and nobody asks
    /// the upstream for it any more (V19).
    pub traced: bool,
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
/// Porch's two refusals (403): published, or held as upstream.
pub fn delete(o: &DeleteObserved) -> Result<DeletePlan, Rejected> {
    let revision = &o.revision;
    if revision.lifecycle == Lifecycle::Published {
        return Err(Rejected::new(
            Class::Denied,
            "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion",
        )
        .because(RejectionReason::DeletionNotProposed));
    }
    let holding = o.followers.iter().filter(|f| holds(f, revision));
    let mut names: Vec<&str> = holding.map(|f| f.revision.key.name.as_str()).collect();
    if revision.lifecycle.is_published() && !names.is_empty() {
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

/// Whether a follower still needs its upstream (V19): a draft or proposal needs what it was cloned from or is upgraded
/// to, a published revision what its lock names, unless it stems from a commit of ours.
fn holds(follower: &Follower, upstream: &Revision) -> bool {
    let revision = &follower.revision;
    if revision.lifecycle.is_published() {
        return !follower.traced && locked_to(revision, upstream);
    }
    made_from(revision, upstream)
}

/// Whether a revision says that it was made from another one: by its task while it is open, by its lock.
pub fn follows(revision: &Revision, upstream: &Revision) -> bool {
    let other = revision.key != upstream.key && !revision.placeholder;
    other && (made_from(revision, upstream) || locked_to(revision, upstream))
}

fn made_from(revision: &Revision, upstream: &Revision) -> bool {
    let name = &upstream.key.name;
    revision.tasks.iter().any(|task| match task {
        Task::Clone { upstream } => upstream == name,
        Task::Upgrade { new_upstream, .. } => new_upstream == name,
        Task::Init { .. } | Task::CloneGit(_) | Task::Edit { .. } => false,
    })
}

fn locked_to(revision: &Revision, upstream: &Revision) -> bool {
    let locks = revision
        .upstream_lock
        .as_ref()
        .zip(upstream.self_lock.as_ref());
    locks.is_some_and(|(lock, own)| {
        lock.same_content(own) || (lock.place() == own.place() && lock.git_ref == own.git_ref)
    })
}
