//! What a step does to the record of a revision whose content stays: its lifecycle, owners, labels and annotations.

use model::{Lifecycle, ObjectKey, ObjectMeta};
use plan::variant::{RevisionRef, VariantStep};

/// What of a revision such a step may change.
pub(crate) struct Metadata<'a> {
    /// Where it stands.
    pub(crate) lifecycle: &'a mut Lifecycle,
    /// Owners, labels and annotations.
    pub(crate) meta: &'a mut ObjectMeta,
}

/// Carries out a step on the metadata of the revision that it is about; `None` if it is about something else.
pub(crate) fn metadata<'s>(
    key: &ObjectKey,
    step: &'s VariantStep,
) -> Option<(&'s RevisionRef, impl FnOnce(Metadata<'_>) + use<'s>)> {
    let (VariantStep::RevertToDraft { revision }
    | VariantStep::ProposeDeletion { revision, .. }
    | VariantStep::WithdrawDeletionProposal { revision, .. }
    | VariantStep::Orphan { revision, .. }
    | VariantStep::Adopt { revision, .. }) = step
    else {
        return None;
    };
    let key = key.to_string();
    Some((revision, move |of: Metadata<'_>| change(&key, step, of)))
}

fn change(key: &str, step: &VariantStep, of: Metadata<'_>) {
    let Metadata { lifecycle, meta } = of;
    match step {
        VariantStep::RevertToDraft { .. } => *lifecycle = Lifecycle::Draft,
        VariantStep::ProposeDeletion {
            annotations,
            disown,
            ..
        } => {
            *lifecycle = Lifecycle::DeletionProposed;
            meta.annotations.extend(annotations.clone());
            meta.owners.retain(|o| Some(&o.uid) != disown.as_ref());
        }
        VariantStep::WithdrawDeletionProposal {
            remove_annotations, ..
        } => {
            *lifecycle = Lifecycle::Published;
            for name in remove_annotations {
                meta.annotations.remove(name);
            }
        }
        VariantStep::Orphan { owner, .. } => {
            meta.owners.retain(|o| o.uid != *owner);
            let mark = (model::marks::ORPHANED_BY.to_owned(), key.to_owned());
            meta.annotations.extend([mark]);
            // Whoever proposes its deletion from now on is somebody else (V10).
            unmark(*lifecycle, meta);
        }
        VariantStep::Adopt {
            owner,
            replace,
            labels,
            annotations,
            ..
        } => {
            meta.owners.retain(|o| !replace.contains(&o.uid));
            meta.owners.push(owner.clone());
            meta.annotations.remove(model::marks::ORPHANED_BY);
            // A proposal that was rejected is over: the next one is somebody else's (V10).
            unmark(*lifecycle, meta);
            meta.labels.extend(labels.clone());
            meta.annotations.extend(annotations.clone());
        }
        _ => {}
    }
}

/// Takes the marks of a proposal off that does not stand any more.
fn unmark(lifecycle: Lifecycle, meta: &mut ObjectMeta) {
    if lifecycle == Lifecycle::Published {
        meta.annotations.remove(model::marks::PROPOSED_BY);
        meta.annotations.remove(model::marks::PROPOSED_FOR);
    }
}
