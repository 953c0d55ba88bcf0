//! Open conflicts as people are told of them: which they are, and the command that decides them (V4a).

use model::{Conflict, ConflictId, ConflictState, Revision};

use crate::variant::words;

/// How many are named.
const NAMED: usize = 10;

/// The gates of a revision that are not true. Whether conflicts hold it is what its record says of them: the gate in the
/// Kptfile is their picture, and whoever edits that file decides no conflict (V4a).
pub(crate) fn open_gates(revision: &Revision) -> Vec<&str> {
    let mut open = revision.open_gates();
    let waits =
        !revision.lifecycle.is_published() && revision.conflicts.iter().any(Conflict::blocks);
    if waits && !open.contains(&words::CONFLICTS) {
        open.push(words::CONFLICTS);
    }
    open
}

/// Those of them that are ours: nobody goes past them, whatever the repository says of the author's (V12).
pub(crate) fn our_open_gates(revision: &Revision) -> Vec<&str> {
    let mut open = open_gates(revision);
    open.retain(|gate| gate.starts_with(words::OUR_GATES));
    open
}

/// The open conflicts of a revision, by id, place and values; `None` if none is.
pub(crate) fn listed(revision: &Revision) -> Option<String> {
    let open: Vec<&Conflict> = revision.conflicts.iter().filter(|c| c.blocks()).collect();
    let mut named: Vec<String> = open.iter().take(NAMED).map(ToString::to_string).collect();
    if let Some(more) = open.len().checked_sub(NAMED).filter(|more| *more > 0) {
        named.push(format!("and {more} more"));
    }
    (!named.is_empty()).then(|| named.join("; "))
}

/// How [`way_out`] begins.
pub(crate) const EDIT: &str = "edit the fields in the draft";

/// How a person decides them. The command says what is accepted already, too: the list is the whole of it.
pub(crate) fn way_out(revision: &Revision) -> String {
    let name = &revision.key.name;
    let said = |c: &&Conflict| c.state == ConflictState::Acknowledged;
    let open = revision.conflicts.iter().filter(|c| c.blocks()).take(NAMED);
    let ids: Vec<String> = revision
        .conflicts
        .iter()
        .filter(said)
        .chain(open)
        .map(|c| format!("\"{}\"", c.id))
        .collect();
    format!(
        "{EDIT} (`offshoot rpkg pull {name}` and `push`), or accept what it holds: `kubectl patch packagerevision {name} -n {} --type merge -p '{{\"spec\":{{\"resolvedConflicts\":[{}]}}}}'`; `offshoot why pkgrev/{name}` lists them all",
        revision.key.namespace,
        ids.join(",")
    )
}

/// What to say about acknowledged ids that name no conflict of the draft.
pub(crate) fn unknown(record: &Revision) -> Option<String> {
    let is_known = |id: &ConflictId| record.conflicts.iter().any(|c| c.id == *id);
    let ids = &record.resolved_conflicts;
    let mut named: Vec<&str> = ids
        .iter()
        .filter(|id| !is_known(id))
        .map(|id| id.0.as_str())
        .collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!named.is_empty()).then(|| {
        format!(
            "spec.resolvedConflicts: no conflict has the id {}{more}; a conflict that opens again with other values has another id, status.conflicts lists them",
            named.join(", ")
        )
    })
}
