//! What an edit or a render did at the places of conflicts (V4, V4a).

use model::{Conflict, ConflictId, ConflictState, Files};

use super::place::{edited, values_in};

/// Marks the open conflicts that a person settled by editing the field: the draft's tip holds
/// something else there than the machine left (V4a).
pub fn resolved_by_edit(conflicts: &mut [Conflict], machine: &Files, tip: &Files) {
    for conflict in conflicts
        .iter_mut()
        .filter(|c| c.state == ConflictState::Open)
    {
        if machine != tip && edited(machine, tip, conflict) {
            conflict.state = ConflictState::Resolved;
        }
    }
}

/// Marks the open conflicts that follow from others: the package holds something else at their
/// place once the causes are decided otherwise (V4: `derived`, without a gate of their own).
///
/// `decided` and `otherwise` are renders of the same merge that differ in the causes alone.
pub(crate) fn derived_by_render(
    conflicts: &mut [Conflict],
    causes: &[ConflictId],
    decided: &Files,
    otherwise: &Files,
) {
    let Some(cause) = causes.first() else { return };
    for conflict in conflicts.iter_mut() {
        let open = conflict.state == ConflictState::Open && !causes.contains(&conflict.id);
        if open && changed(conflict, decided, otherwise) {
            conflict.derived_from = Some(cause.clone());
        }
    }
}

fn changed(conflict: &Conflict, before: &Files, after: &Files) -> bool {
    if before == after {
        return false;
    }
    let (was, is, _) = values_in(before, after, conflict);
    was != is
}
