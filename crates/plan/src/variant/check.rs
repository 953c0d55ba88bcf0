//! What no plan may do, whatever led to it: looked at before any step runs.

use model::{Lifecycle, ObjectKey, ProposedPolicy, Revision};

use super::{Observed, Plan, RevisionRef, Subject, VariantStep, words};

/// A plan that breaks an invariant: a bug of ours, never carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the plan would {step}, but {why}")]
pub struct Violation {
    /// The step.
    pub step: String,
    /// The invariant that it breaks.
    pub why: &'static str,
}

/// Looks at every step of a plan.
///
/// # Errors
/// The first step that breaks an invariant.
pub fn check(plan: &Plan, o: &Observed) -> Result<(), Violation> {
    let mut creates = 0;
    for step in &plan.steps {
        let verdict = match step {
            VariantStep::CreateDraft(_) if creates > 0 => Some("one draft is enough"),
            VariantStep::CreateDraft(_) if has_open(o) => Some("a draft of ours is open already"),
            VariantStep::CreateDraft(draft) if taken(o, &draft.key) => Some("the name is taken"),
            VariantStep::RemoveFinalizer { .. } if !o.is_leaving() => {
                Some("nobody asked to delete the variant")
            }
            VariantStep::CreateDraft(_)
            | VariantStep::RemoveFinalizer { .. }
            | VariantStep::AddFinalizer { .. } => None,
            VariantStep::UpdateDraft(update) => touches(o, &update.draft, &[Lifecycle::Draft]),
            VariantStep::RenderDraft { revision, .. } => touches(o, revision, &[Lifecycle::Draft]),
            VariantStep::RevertToDraft { revision } => {
                touches(o, revision, &[Lifecycle::Proposed]).or_else(|| reverts(o))
            }
            VariantStep::DeleteRevision { revision, .. } => {
                touches(o, revision, &[Lifecycle::Draft, Lifecycle::Proposed])
            }
            VariantStep::ProposeDeletion { revision, .. } => {
                touches(o, revision, &[Lifecycle::Published])
            }
            VariantStep::WithdrawDeletionProposal { revision, .. } => withdraws(o, revision),
            VariantStep::Orphan { revision, .. } => touches(o, revision, &Lifecycle::ALL),
            VariantStep::Adopt { revision, .. } => adopts(o, revision),
            VariantStep::NoteDigest { revision, .. } => seen(o, revision).err(),
        };
        if matches!(step, VariantStep::CreateDraft(_)) {
            creates += 1;
        }
        let suspended = o.is_suspended()
            && !o.is_leaving()
            && !matches!(step, VariantStep::AddFinalizer { .. });
        if let Some(why) = verdict.or_else(|| suspended.then_some("the variant is suspended")) {
            return Err(Violation {
                step: step.summary(),
                why,
            });
        }
    }
    Ok(())
}

fn has_open(o: &Observed) -> bool {
    o.downstream
        .iter()
        .any(|r| !r.lifecycle.is_published() && !r.meta.is_deleting() && owned(o, r))
}

fn taken(o: &Observed, key: &ObjectKey) -> bool {
    o.downstream.iter().any(|r| r.key == *key)
}

fn owned(o: &Observed, revision: &Revision) -> bool {
    let uid = o.variant.meta().uid.as_ref();
    uid.is_some_and(|uid| revision.meta.is_owned_by(uid))
}

/// The revision as it was observed, if the step expects just that.
fn seen<'a>(o: &'a Observed, expected: &RevisionRef) -> Result<&'a Revision, &'static str> {
    o.downstream
        .iter()
        .chain(&o.elsewhere)
        .find(|r| r.key == expected.key)
        .filter(|r| RevisionRef::of(r) == *expected)
        .map(std::convert::AsRef::as_ref)
        .ok_or("it expects what was not seen")
}

fn touches(o: &Observed, expected: &RevisionRef, lifecycles: &[Lifecycle]) -> Option<&'static str> {
    let revision = match seen(o, expected) {
        Ok(revision) => revision,
        Err(why) => return Some(why),
    };
    if !owned(o, revision) {
        return Some("the variant does not own it");
    }
    if revision.placeholder {
        return Some("a branch's head is nobody's");
    }
    (!lifecycles.contains(&revision.lifecycle)).then_some("its lifecycle forbids it")
}

/// Only what is marked as ours is withdrawn, and only in the package that is the downstream now (V10).
fn withdraws(o: &Observed, expected: &RevisionRef) -> Option<&'static str> {
    let revision = match seen(o, expected) {
        Ok(revision) => revision,
        Err(why) => return Some(why),
    };
    if !words::proposed_deletion(o.variant.key(), revision) {
        return Some("the variant did not propose its deletion");
    }
    let here = o.downstream.iter().any(|r| r.key == expected.key);
    (!here).then_some("it is not in the downstream package")
}

fn reverts(o: &Observed) -> Option<&'static str> {
    let wanted = matches!(
        &o.variant,
        Subject::Valid(v) if v.spec.proposed == ProposedPolicy::RevertToDraft
    );
    (!wanted).then_some("nobody asked to take proposals back")
}

fn adopts(o: &Observed, expected: &RevisionRef) -> Option<&'static str> {
    match seen(o, expected) {
        Err(why) => Some(why),
        Ok(r) if r.placeholder => Some("a branch's head is nobody's"),
        Ok(r) => {
            let name = o.variant.key().name.as_str();
            r.meta
                .controller()
                .is_some_and(|c| c.name != name)
                .then_some("somebody else controls it")
        }
    }
}
