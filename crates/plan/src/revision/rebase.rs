//! Whether a person's draft is to be based on what the branch holds now (V20): the annotation asks for it, and goes once it is
//! done. A variant's drafts are based anew by the variant alone (V18).

use model::{Lifecycle, Revision};

/// The annotation that asks for it.
pub const REBASE: &str = "offshoot.dev/rebase";

/// What whoever asks for it too early is told.
const LATER: &str = "offshoot.dev/rebase: a proposed revision stays as it is; once it is rejected, its draft is based on what the branch holds";

/// Whether a person's draft is to be based anew: it is a draft already, or this very change rejects its proposal.
pub(super) fn is_asked(old: &Revision, new: &Revision) -> bool {
    matches!(old.lifecycle, Lifecycle::Draft | Lifecycle::Proposed)
        && new.lifecycle == Lifecycle::Draft
        && wants(old, new)
}

/// What is said of a wish that must wait until the revision is a draft again.
pub(super) fn too_early(old: &Revision, new: &Revision) -> Option<String> {
    let waits = new.lifecycle == Lifecycle::Proposed && wants(old, new);
    let said = old.meta.annotations.get(REBASE) == new.meta.annotations.get(REBASE);
    (waits && !said).then(|| LATER.to_owned())
}

fn wants(old: &Revision, new: &Revision) -> bool {
    let value = new.meta.annotations.get(REBASE);
    old.machine.is_none() && value.is_some_and(|v| v == "true")
}
