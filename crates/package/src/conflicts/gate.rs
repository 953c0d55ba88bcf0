//! The readiness gate that open conflicts keep closed (V4, V4a).

use model::{Condition, Conflict, ConflictState, Status};

use crate::kptfile::{Edit, EditError, Kptfile};

/// The gate and condition in the Kptfile.
pub const GATE: &str = "offshoot.dev/Conflicts";

/// The condition's reason while somebody has to look.
const REASON_OPEN: &str = "ConflictsOpen";

/// The condition's reason once everything is acknowledged or resolved.
const REASON_SETTLED: &str = "ConflictsSettled";

/// How many conflicts the message names.
const NAMED: usize = 10;

/// The conflicts that somebody still has to look at.
pub fn open(conflicts: &[Conflict]) -> impl Iterator<Item = &Conflict> {
    conflicts.iter().filter(|conflict| conflict.blocks())
}

/// The condition that goes with the gate; `None` where nothing ever gated.
pub fn condition(conflicts: &[Conflict]) -> Option<Condition> {
    let gates = |conflict: &&Conflict| {
        conflict.state != ConflictState::Recorded && conflict.derived_from.is_none()
    };
    let all = conflicts.iter().filter(gates).count();
    if all == 0 {
        return None;
    }
    let open: Vec<&Conflict> = open(conflicts).collect();
    if open.is_empty() {
        let message = format!("{all} of {all} conflicts are acknowledged or resolved");
        return Some(Condition::new(GATE, Status::True, REASON_SETTLED, message));
    }
    let mut named: Vec<String> = open
        .iter()
        .take(NAMED)
        .map(|conflict| place(conflict))
        .collect();
    if open.len() > NAMED {
        named.push(format!("and {} more", open.len() - NAMED));
    }
    let message = format!(
        "{} of {all} conflicts are open; edit the field, or add the id to spec.resolvedConflicts: {}",
        open.len(),
        named.join("; ")
    );
    Some(Condition::new(GATE, Status::False, REASON_OPEN, message))
}

fn place(conflict: &Conflict) -> String {
    let Conflict {
        id,
        file,
        resource,
        path,
        ..
    } = conflict;
    let words = [file.as_str(), resource, path];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    format!("{id} ({})", words.join(" "))
}

/// Writes gate and condition into a Kptfile, or takes both off where nothing gates.
pub fn put_gate(kptfile: &Kptfile, conflicts: &[Conflict]) -> Result<Kptfile, EditError> {
    let edits = match condition(conflicts) {
        Some(condition) => [
            Edit::AddGate(GATE.to_owned()),
            Edit::SetCondition(condition),
        ],
        None => [
            Edit::RemoveGate(GATE.to_owned()),
            Edit::RemoveCondition(GATE.to_owned()),
        ],
    };
    kptfile.edit(&edits)
}
