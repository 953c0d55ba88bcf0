//! Proposed revisions, which are the approver's (V3).

use std::sync::Arc;

use model::{Lifecycle, ProposedPolicy, Revision};

use super::super::status::not_ready;
use super::super::{RevisionRef, VariantStep, words};
use super::{BASE_CHANGED, Work, has_lock_of, is_inherited};
use crate::conflicts;
use crate::early::Early;

impl Work<'_> {
    /// A proposed revision is the approver's: it is left alone, or taken back on request (V3). One that came from another
    /// server is as good as what we would have made of the same upstream (A5).
    pub(super) fn proposed(&mut self, revision: &Arc<Revision>, why: &[String]) {
        let name = &revision.key.name;
        if is_inherited(revision) && has_lock_of(revision, self.inputs.upstream) {
            self.report
                .note(format!("Proposed '{name}' stems from the wanted upstream"));
            return;
        }
        "waiting for approval".clone_into(&mut self.report.state);
        if self.inputs.variant.spec.proposed == ProposedPolicy::RevertToDraft {
            self.report
                .note(format!("Proposed '{name}' is behind: {}", why.join(", ")));
            self.steps.push(VariantStep::RevertToDraft {
                revision: RevisionRef::of(revision),
            });
            return;
        }
        let message = format!("'{name}' waits for approval, but {}", why.join(", "));
        let gates = gates_of_approval(revision);
        let is_outdated = why.iter().any(|why| why == BASE_CHANGED);
        let approve = match (gates.is_empty(), self.early(revision)) {
            // Whoever approves must have what was published since (V20).
            (true, _) if is_outdated => {
                "its approval is refused where something was published since".to_owned()
            }
            (true, None) => format!("`offshoot rpkg approve {name}` publishes it as it is"),
            (true, Some(early)) => format!("it is not to be approved now ({})", early.why()),
            (false, _) => format!("it cannot be approved ({} not true)", gates.join(", ")),
        };
        let way_out = format!(
            "{approve}, `offshoot rpkg reject {name}` lets the variant bring it in line, and so does spec.proposedRevisions: revertToDraft"
        );
        self.waiting = Some(not_ready(
            words::WAITING_FOR_APPROVAL,
            &format!("{message}; {way_out}"),
        ));
        self.report.hint(message, way_out);
    }

    /// Why the rollout of its set keeps a proposal from being approved now, as far as the variant can tell: its step is closed,
    /// or it is of another version than the set gave it, as what an undo takes back (F7, F8).
    fn early(&self, revision: &Revision) -> Option<Early> {
        let variant = self.inputs.variant;
        let of_set = variant
            .meta
            .controller()
            .filter(|c| c.kind == words::SET_KIND);
        let wanted = of_set.and(variant.spec.upstream.commit);
        let of = revision.upstream_lock.as_ref().and_then(|lock| lock.commit);
        match self.o.step_closed {
            true => Some(Early::Closed),
            false => (wanted.is_some() && of.is_some() && of != wanted).then_some(Early::Other),
        }
    }

    /// Nothing should have been proposed while a gate of ours is open (V3).
    pub(super) fn gates_of_proposed(&mut self, revision: &Arc<Revision>) {
        if revision.lifecycle != Lifecycle::Proposed {
            return;
        }
        let open = conflicts::our_open_gates(revision);
        if open.is_empty() {
            return;
        }
        let name = &revision.key.name;
        let mut message = format!(
            "'{name}' is proposed, but cannot be approved: {} not true",
            open.join(", ")
        );
        if let Some(listed) = conflicts::listed(revision) {
            message.push_str(&format!(": {listed}"));
        }
        let way_out = format!("take it back into draft with `offshoot rpkg reject {name}`");
        self.waiting = Some(not_ready(
            "ProposedNotApprovable",
            &format!("{message}; {way_out}"),
        ));
        self.report.hint(message, way_out);
    }
}

/// The gates that an approval asks for: those of authors, and of points that must be injected, where the package is deployed from (V12).
fn gates_of_approval(revision: &Revision) -> Vec<&str> {
    match revision.deployment {
        true => conflicts::open_gates(revision),
        false => conflicts::our_open_gates(revision),
    }
}
