//! Approving: gates, the number, and what the branch must still hold (V20).

use std::sync::Arc;

use model::{Class, Door, Lifecycle, Revision, RevisionNumber, TreeId, transition};

use super::many::is_as_seen;
use super::update::gates;
use super::{Rejected, RejectionReason};
use crate::OffBranch;
use crate::conflicts;
use crate::variant::RevisionRef;

/// On an approval: the tree of the package that was seen; another one is refused.
pub const EXPECTED_TREE: &str = "offshoot.dev/expected-tree";

/// On an approval: the class of changes that was seen and what the target states for its inputs, as
/// `{"id": …, "inputs": {…}}`; the approval's commit keeps it (F1).
pub const APPROVED_CLASS: &str = "offshoot.dev/approved-class";

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApproveObserved {
    /// The revision to approve.
    pub revision: Arc<Revision>,
    /// All revisions of its package.
    pub siblings: Vec<Arc<Revision>>,
    /// The highest number that any tag, trailer or deleted record of the package ever had.
    pub highest: i64,
    /// Whether its repository is a deployment repository (V12).
    pub deployment: bool,
    /// Whether that repository ignores the author's gates (V12).
    pub ignore_author_gates: bool,
    /// The name of its branch, for messages.
    pub branch: String,
    /// The package's tree on the branch now; `None` if the directory is not there.
    pub on_branch: Option<TreeId>,
    /// The package's tree on the branch when the draft was made or re-based last.
    pub based_on: Option<TreeId>,
    /// Why what the branch holds in the package's place does not stem from what was published; where that is a package of its own,
    /// it is asked only where those two differ.
    pub off_branch: Option<OffBranch>,
    /// The tree that the approver says to have seen (`offshoot.dev/expected-tree`); `None` if nothing was said.
    pub seen: Option<String>,
}

/// What to publish. Its content is the draft's, byte for byte (V14).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "carry the publication out"]
pub struct Publish {
    /// The revision, as it was seen.
    pub revision: RevisionRef,
    /// Its number.
    pub number: RevisionNumber,
    /// The last segment of its tag, `v<N>`.
    pub tag: String,
    /// The package's tree to put on the branch.
    pub tree: TreeId,
    /// The package's tree that the branch must still hold.
    pub expect: Option<TreeId>,
}

/// Whether the revision can be approved, and what to publish.
///
/// # Errors
/// The lifecycle table's message; open gates; a base that is out of date (`Conflict`).
pub fn approve(o: &ApproveObserved) -> Result<Publish, Rejected> {
    let revision = &o.revision;
    if revision.meta.is_deleting() {
        let why = "it is being deleted, and goes with its last finalizer";
        return Err(Rejected::new(Class::Conflict, why));
    }
    transition(revision.lifecycle, Lifecycle::Published, Door::Approval)
        .map_err(|r| Rejected::lifecycle(&r))?;
    let author_gates = o.deployment && !o.ignore_author_gates;
    let open = match author_gates {
        true => conflicts::open_gates(revision),
        false => conflicts::our_open_gates(revision),
    };
    gates(revision, Lifecycle::Proposed, &open)?;
    seen(o)?;
    base(o)?;
    let number = next_number(&o.siblings, o.highest);
    Ok(Publish {
        revision: RevisionRef::of(revision),
        number,
        tag: format!("v{number}"),
        tree: revision.tree,
        expect: o.on_branch,
    })
}

/// The revision must hold what the approver has seen (V20, F3).
fn seen(o: &ApproveObserved) -> Result<(), Rejected> {
    let (revision, tree) = (&o.revision, o.revision.tree);
    let name = &revision.key.name;
    is_as_seen(revision, o.seen.as_deref()).map_err(|rejected| {
        rejected.hint(format!(
            "look at it again (`offshoot rpkg pull {name}`), and approve it with {EXPECTED_TREE}: {tree}, its status.offshoot.tree"
        ))
    })
}

/// The branch must hold what the draft was based on (V20).
fn base(o: &ApproveObserved) -> Result<(), Rejected> {
    let not_merged = matches!(o.off_branch, Some(OffBranch::NotMerged(_)));
    if o.on_branch == o.based_on && !not_merged {
        return Ok(());
    }
    let name = &o.revision.key.name;
    let outdated = |message: String, hint: String| {
        let reason = RejectionReason::OutdatedBase;
        let rejected = Rejected::new(Class::Conflict, message).because(reason);
        Err(rejected.hint(hint))
    };
    if let Some(off) = &o.off_branch {
        let published = o
            .siblings
            .iter()
            .filter(|s| s.lifecycle.is_published() && s.revision.is_numbered() && !s.placeholder);
        let published = published.max_by_key(|s| s.revision);
        // The whole package was deleted: there is nothing that could be taken back, and this publishes it again.
        if *off == OffBranch::Gone && published.is_none() {
            return Ok(());
        }
        let message = format!(
            "BranchDiverged: {}",
            off.what(&o.revision.package, &o.branch)
        );
        let hint = match published {
            Some(published) => off.way_out(published),
            None => "put back, in git, what the draft is based on".to_owned(),
        };
        return outdated(message, hint);
    }
    let published = o.siblings.iter();
    let published = published.filter(|s| s.lifecycle.is_published() && s.revision.is_numbered());
    let latest = published.clone().max_by_key(|s| s.revision);
    let held = published
        .filter(|s| Some(s.tree) == o.on_branch)
        .max_by_key(|s| s.revision);
    let hint = "reject it and annotate it with offshoot.dev/rebase=true (a variant re-bases its own drafts by itself)";
    let message = match (held, latest) {
        // Somebody set the branch back: nothing came that the draft could be brought onto.
        (Some(held), Some(latest)) if held.revision < latest.revision => {
            let message = format!(
                "BranchDiverged: branch '{}' holds what '{}' published, and no more what '{}' did",
                o.branch, held.key.name, latest.key.name
            );
            let off = OffBranch::NotMerged(latest.key.name.clone());
            return outdated(message, off.way_out(latest));
        }
        (Some(newer), _) => format!(
            "'{name}' is based on an outdated state: '{}' was published since",
            newer.key.name
        ),
        (None, _) => format!(
            "BranchDiverged: package '{}' was changed on branch '{}' since '{name}' was made",
            o.revision.package, o.branch
        ),
    };
    outdated(message, hint.to_owned())
}

/// The next number of a package: beyond every one that was ever given, gaps allowed (X5).
fn next_number(siblings: &[Arc<Revision>], highest: i64) -> RevisionNumber {
    let known = siblings.iter().map(|s| s.revision.0).max().unwrap_or(0);
    RevisionNumber(known.max(highest).max(0).saturating_add(1))
}
