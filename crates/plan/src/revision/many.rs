//! One verb for many package revisions: what it means for each of them as it stands (F3).
//!
//! A selection holds more than a verb is for. What a verb does not fit is skipped with the reason, and what is not as it
//! was seen is refused; whether the change itself may be is judged where one revision alone is changed.

use model::{Class, Door, Lifecycle, Revision};

use super::{Rejected, RejectionReason};
use crate::conflicts;

/// The right to approve.
const APPROVAL: (&str, &str) = ("update", "approval");

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RevisionVerb {
    /// A draft waits for approval.
    Propose,
    /// A proposal is published.
    Approve,
    /// A proposal becomes a draft again, and a revision whose deletion was proposed stays.
    Reject,
    /// A published revision waits to be deleted.
    ProposeDeletion,
    /// A draft or a proposal goes, and what was proposed for deletion.
    Delete,
}

impl RevisionVerb {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Propose,
        Self::Approve,
        Self::Reject,
        Self::ProposeDeletion,
        Self::Delete,
    ];

    /// The word that requests use, as in `offshoot rpkg WORD`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::ProposeDeletion => "propose-delete",
            Self::Delete => "delete",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text)
    }

    /// The rights that it takes of a revision in this lifecycle, if that is known: each a verb and a subresource of package
    /// revisions, which is empty for themselves.
    pub fn takes(self, now: Option<Lifecycle>) -> &'static [(&'static str, &'static str)] {
        match (self, now) {
            (Self::Propose | Self::ProposeDeletion, _) => &[("update", "")],
            (Self::Approve | Self::Reject, _) => &[APPROVAL],
            // To delete what was published is to approve the proposal of its deletion: whoever may only make and propose
            // drafts may not.
            (Self::Delete, Some(Lifecycle::DeletionProposed)) => &[("delete", ""), APPROVAL],
            (Self::Delete, _) => &[("delete", "")],
        }
    }
}

/// What a verb means for one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "carry it out, or say why not"]
pub enum Fit {
    /// Its lifecycle changes, through this door.
    Move(Door, Lifecycle),
    /// It is deleted; whether that takes the right to approve.
    Delete {
        /// What was published is deleted by whoever may approve.
        approves: bool,
    },
    /// It is so already.
    Already,
    /// The verb is not for the revision as it stands; why, and in words.
    Skipped(RejectionReason, String),
}

/// What a verb means for a revision, of which the caller saw this tree (if any was stated).
///
/// # Errors
/// `Conflict` where the revision holds another tree.
pub fn fit(revision: &Revision, verb: RevisionVerb, seen: Option<&str>) -> Result<Fit, Rejected> {
    is_as_seen(revision, seen)?;
    if verb == RevisionVerb::Delete && revision.meta.is_deleting() {
        return Ok(Fit::Already);
    }
    let meant = meant(revision.key.name.as_str(), revision.lifecycle, verb);
    let decided = |verb| !matches!(verb, RevisionVerb::Propose | RevisionVerb::Approve);
    if decided(verb) || meant == Fit::Already || revision.lifecycle.is_published() {
        return Ok(meant);
    }
    let Some(why) = in_conflict(revision) else {
        return Ok(meant);
    };
    // A draft that is to be approved is none of the verb's, whatever waits in it.
    let (reason, what) = match meant {
        Fit::Skipped(reason, _) => (reason, "it is a draft with conflicts to decide"),
        _ => (RejectionReason::OpenConflicts, "it has conflicts to decide"),
    };
    Ok(Fit::Skipped(reason, format!("{what}; {why}")))
}

/// What somebody has to decide before a draft can be proposed or approved: of many, those that are ready go on without it.
fn in_conflict(revision: &Revision) -> Option<String> {
    let listed = conflicts::listed(revision)?;
    let name = &revision.key.name;
    Some(format!(
        "{listed}; `offshoot why pkgrev/{name}` names the commands that decide them"
    ))
}

/// What a verb means for a revision of this name in this lifecycle.
pub fn meant(name: &str, now: Lifecycle, verb: RevisionVerb) -> Fit {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    let unfit = |why: String| Fit::Skipped(RejectionReason::UnfitLifecycle, why);
    match (verb, now) {
        (RevisionVerb::Propose, Draft) => Fit::Move(Door::Main, Proposed),
        (RevisionVerb::Propose, Proposed)
        | (RevisionVerb::Approve, Published)
        | (RevisionVerb::ProposeDeletion, DeletionProposed) => Fit::Already,
        (RevisionVerb::Propose, _) => unfit(format!("cannot propose {now} package")),
        (RevisionVerb::Approve, Proposed) => Fit::Move(Door::Approval, Published),
        (RevisionVerb::Approve, _) => {
            unfit(format!("cannot change approval from {now} to Published"))
        }
        (RevisionVerb::Reject, Proposed) => Fit::Move(Door::Approval, Draft),
        (RevisionVerb::Reject, DeletionProposed) => Fit::Move(Door::Approval, Published),
        (RevisionVerb::Reject, _) => unfit(format!("cannot reject {name} with lifecycle '{now}'")),
        (RevisionVerb::ProposeDeletion, Published) => Fit::Move(Door::Main, DeletionProposed),
        (RevisionVerb::ProposeDeletion, _) => unfit(format!(
            "can only propose published packages for deletion; package {name} is not published"
        )),
        (RevisionVerb::Delete, Published) => Fit::Skipped(
            RejectionReason::DeletionNotProposed,
            "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion"
                .to_owned(),
        ),
        (RevisionVerb::Delete, _) => Fit::Delete {
            approves: verb.takes(Some(now)).contains(&APPROVAL),
        },
    }
}

/// Whether a revision holds what the caller saw.
///
/// # Errors
/// `Conflict`, with both trees.
pub fn is_as_seen(revision: &Revision, seen: Option<&str>) -> Result<(), Rejected> {
    let tree = revision.tree.to_string();
    let Some(seen) = seen.filter(|seen| *seen != tree) else {
        return Ok(());
    };
    let name = &revision.key.name;
    Err(Rejected::new(
        Class::Conflict,
        format!("'{name}' holds tree {tree}, not {seen}, which was seen"),
    )
    .because(RejectionReason::ChangedSinceSeen)
    .hint(format!(
        "look at it again: `offshoot rpkg pull {name}`; its tree is status.offshoot.tree"
    )))
}
