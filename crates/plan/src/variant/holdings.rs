//! What there is of the downstream package, sorted: whose, open or published.

use std::sync::Arc;

use model::{Lifecycle, ObjectKey, Revision, Uid, Variant};

use super::{BaseChoice, Observed, base_of, words};

/// The downstream package's revisions, in an order of their own: the order in which they were
/// observed never matters.
pub(super) struct Holdings {
    /// Open revisions (Draft, Proposed) that the variant owns.
    pub(super) open: Vec<Arc<Revision>>,
    /// Whether the variant owns any revision of the package.
    pub(super) owns: bool,
    /// *p*.
    pub(super) base: Option<BaseChoice>,
    /// Open revisions that it does not own.
    pub(super) foreign_open: Vec<Arc<Revision>>,
    /// The branch's state of the package.
    pub(super) head: Option<Arc<Revision>>,
    /// Whether a published revision is of the commit that the branch's state is of.
    head_is_tagged: bool,
    /// Revisions whose deletion this variant, or one of its name before it, proposed (V10).
    pub(super) leaving: Vec<Arc<Revision>>,
}

impl Holdings {
    pub(super) fn of(o: &Observed, variant: &Variant, uid: &Uid) -> Self {
        let mut all: Vec<Arc<Revision>> = o
            .downstream
            .iter()
            .filter(|r| !r.meta.is_deleting())
            .filter(|r| {
                r.repository == variant.spec.downstream.repo
                    && r.package == variant.spec.downstream.package
            })
            .cloned()
            .collect();
        all.sort_by(|a, b| order(a).cmp(&order(b)));
        let is_open = |r: &Revision| matches!(r.lifecycle, Lifecycle::Draft | Lifecycle::Proposed);
        let owned = |r: &Revision| r.meta.is_owned_by(uid);
        let pick = |mine: bool| {
            all.iter()
                .filter(|r| is_open(r) && owned(r) == mine)
                .cloned()
                .collect()
        };
        let head = all.iter().find(|r| r.placeholder).cloned();
        let of_head = |r: &Arc<Revision>| {
            let published = r.lifecycle.is_published() && !r.placeholder;
            published && head.as_ref().is_some_and(|h| h.commit == r.commit)
        };
        Self {
            head_is_tagged: all.iter().any(of_head),
            open: pick(true),
            foreign_open: pick(false),
            owns: all.iter().any(|r| !r.placeholder && owned(r)),
            base: base_of(&all),
            head,
            leaving: all
                .iter()
                .filter(|r| words::proposed_deletion(&variant.key, r))
                .cloned()
                .collect(),
        }
    }

    /// The branch's state, where it is an approval that no tag publishes any more: a change by hand has no machine behind it.
    pub(super) fn untagged(&self) -> Option<&Revision> {
        let differs = self.base.as_ref().is_some_and(|base| base.from_branch);
        let head = self.head.as_deref().filter(|_| differs)?;
        (head.machine.is_some() && !self.head_is_tagged).then_some(head)
    }

    /// Whether the variant has a downstream: what a retargeting left behind may go now (R31).
    pub(super) fn established(&self) -> bool {
        self.owns
    }
}

/// Numbered workspaces by number, then everything by name.
fn order(revision: &Revision) -> (u64, &str, &str) {
    (
        workspace_number(revision).unwrap_or(0),
        revision.workspace.as_str(),
        revision.key.name.as_str(),
    )
}

/// What a revision in a variant's hands carries that it did not make: its machine noted it, or it is called as no variant's
/// workspaces are (R50, V9).
pub fn adopted_mark(variant: &ObjectKey, revision: &Revision) -> Option<(String, String)> {
    let noted = revision.machine.as_ref().is_some_and(|m| m.adopted);
    let other = noted || workspace_number(revision).is_none();
    other.then(|| (words::ADOPTED_BY.to_owned(), words::mark(variant)))
}

/// `N` of `packagevariant-N`; anything else has none (R50).
pub(super) fn workspace_number(revision: &Revision) -> Option<u64> {
    let digits = revision
        .workspace
        .as_str()
        .strip_prefix(words::WORKSPACE_PREFIX)?;
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| all_digits)
}
