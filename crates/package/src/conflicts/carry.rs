//! Conflicts through further merges of the same draft (decisions.md V18).

use std::collections::BTreeMap;

use model::{Conflict, ConflictId, ConflictState};

/// Joins the conflicts of a draft's two merges and carries what people said about them.
///
/// `against_base` are those of *M′ = merge(V_p, p, V′)*, `in_draft` those of *tip′ = merge(M, tip, M′)*
/// (empty for a new draft). There is one conflict per id, and the draft's own merge decides over the
/// one against *p*. An acknowledgement or resolution in `old` holds while the local and the
/// upstream value are the same; otherwise the conflict is open again. What `old` alone knows is gone.
pub fn carry(
    old: &[Conflict],
    against_base: Vec<Conflict>,
    in_draft: Vec<Conflict>,
) -> Vec<Conflict> {
    let old: BTreeMap<&ConflictId, &Conflict> = old.iter().map(|c| (&c.id, c)).collect();
    let mut joined: BTreeMap<ConflictId, Conflict> = BTreeMap::new();
    for conflict in against_base.into_iter().chain(in_draft) {
        joined.insert(conflict.id.clone(), conflict);
    }
    let mut all: Vec<Conflict> = joined.into_values().collect();
    for conflict in &mut all {
        if let Some(before) = old.get(&conflict.id)
            && conflict.state == ConflictState::Open
            && settled(before.state)
            && before.local == conflict.local
            && before.upstream == conflict.upstream
        {
            conflict.state = before.state;
        }
    }
    sort(&mut all);
    all
}

/// Marks the open conflicts that a person acknowledged (`spec.resolvedConflicts`); returns the ids
/// that name no conflict of this draft.
pub fn acknowledge(conflicts: &mut [Conflict], ids: &[ConflictId]) -> Vec<ConflictId> {
    let mut unknown = Vec::new();
    for id in ids {
        match conflicts.iter_mut().find(|c| c.id == *id) {
            Some(conflict) if conflict.state == ConflictState::Open => {
                conflict.state = ConflictState::Acknowledged;
            }
            Some(_) => {}
            None => unknown.push(id.clone()),
        }
    }
    unknown
}

fn settled(state: ConflictState) -> bool {
    matches!(state, ConflictState::Acknowledged | ConflictState::Resolved)
}

/// The order in which conflicts are listed everywhere (M9): by place.
pub(crate) fn sort(conflicts: &mut [Conflict]) {
    conflicts.sort_by(|a, b| {
        (&a.file, &a.resource, &a.path, &a.id).cmp(&(&b.file, &b.resource, &b.path, &b.id))
    });
}
