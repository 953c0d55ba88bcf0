//! Conflicts through further merges of the same draft (V18).

use std::collections::{BTreeMap, BTreeSet};

use model::{Conflict, ConflictId, ConflictPolicy, ConflictState, Decision, Files, PackagePath};

use super::place::values_in;
use crate::place::{FieldPath, identify, sort};

/// A draft after a further merge.
#[derive(Clone, Copy)]
pub struct MergedDraft<'a> {
    /// What the machine made anew, that people's edits of the draft were merged into: *M′*.
    pub machine: &'a Files,
    /// What it made of upstream alone: *V′*.
    pub upstream: &'a Files,
    /// What came of it: *tip′*.
    pub tip: &'a Files,
    /// The policy in force.
    pub policy: ConflictPolicy,
    /// The ids that a person acknowledged (`spec.resolvedConflicts`).
    pub acknowledged: &'a [ConflictId],
    /// Whether the place of a conflict is one that the recipe states outright (V17).
    pub is_stated: &'a dyn Fn(&Conflict) -> bool,
    /// Whether a person edited the draft at the place of a conflict, before this merge.
    pub is_edited: &'a dyn Fn(&Conflict) -> bool,
}

/// Where a conflict stands.
type ConflictPlace = (PackagePath, String, String);

/// Lines of a text stand where the text does: a text has one conflict, about all of it or about lines (M21).
fn place(conflict: &Conflict) -> ConflictPlace {
    let (file, resource, path) = conflict.place();
    let path = path.strip_suffix("#lines").unwrap_or(path);
    (file.clone(), resource.to_owned(), path.to_owned())
}

/// Joins the conflicts of a draft's two merges with those that it had.
///
/// `against_base` are those of *M′ = merge(V_p, p, V′)*, `in_draft` those of *tip′ = merge(M, tip, M′)*
/// (empty for a new draft). There is one conflict at each place, and the draft's own merge decides over the
/// one against *p*.
///
/// What nobody answered stays, also where that merge saw none because its base has moved: until both sides agree,
/// upstream is back at the recorded base, or the recipe states the field. What a person said holds while the local
/// and the upstream value are the same; otherwise the conflict is open again, with another id.
pub fn carry(
    old: &[Conflict],
    against_base: Vec<Conflict>,
    in_draft: Vec<Conflict>,
    draft: &MergedDraft<'_>,
) -> Vec<Conflict> {
    // The draft's own merge comes first: what it saw is what stands in the draft, whatever the merge with *p* says of the place.
    let mut all = with_first_base(old, in_draft);
    let seen: BTreeSet<ConflictPlace> = all.iter().map(place).collect();
    let asked: BTreeSet<ConflictPlace> = against_base.iter().map(place).collect();
    let unseen = old.iter().filter(|before| !seen.contains(&place(before)));
    let kept: Vec<Conflict> = unseen
        .filter_map(|before| still(old, before, asked.contains(&place(before)), draft))
        .collect();
    let carried: BTreeSet<ConflictPlace> = kept.iter().map(place).collect();
    all.extend(kept);
    let others = against_base.into_iter();
    let others = others.filter(|c| !seen.contains(&place(c)) && !carried.contains(&place(c)));
    let settled = old.iter().filter(|c| c.is_settled());
    let settled: BTreeMap<ConflictPlace, &Conflict> = settled.map(|c| (place(c), c)).collect();
    all.extend(others.map(|conflict| match settled.get(&place(&conflict)) {
        // It was answered, whatever was published says.
        Some(answer) if answer.upstream == conflict.upstream => (*answer).clone(),
        _ => as_drafted(conflict, draft),
    }));
    // Ids are settled before anything refers to them.
    known_again(old, &mut all);
    derived_again(old, &carried, &mut all);
    // What a person acknowledged is looked for last, under the ids that are shown.
    for conflict in &mut all {
        if conflict.state == ConflictState::Open && draft.acknowledged.contains(&conflict.id) {
            conflict.state = ConflictState::Acknowledged;
        }
    }
    sort(&mut all);
    all
}

/// The conflicts of the draft's own merge. Where nobody had answered an earlier one about the same local value, the
/// base is the one that was there first: upstream may come back to it.
fn with_first_base(old: &[Conflict], in_draft: Vec<Conflict>) -> Vec<Conflict> {
    let at: BTreeMap<ConflictPlace, &Conflict> = old.iter().map(|c| (place(c), c)).collect();
    let first = |mut conflict: Conflict| {
        let before = at.get(&place(&conflict));
        let same = |before: &&&Conflict| is_unanswered(before) && before.local == conflict.local;
        if let Some(before) = before.filter(same) {
            conflict.base = before.base.clone();
            identify(&mut conflict);
        }
        conflict
    };
    let back = |c: &Conflict| c.upstream == c.base && c.decision == Decision::Local;
    in_draft
        .into_iter()
        .map(first)
        .filter(|c| !back(c))
        .collect()
}

/// A conflict of upstream with *p*, where the draft holds what a person put there in place of what the merge with *p* took, such as an
/// answer to an earlier value of upstream: whoever is asked is asked about what the draft holds. Where that is what upstream says by
/// now, it is answered.
fn as_drafted(conflict: Conflict, draft: &MergedDraft<'_>) -> Conflict {
    let (machine, local, file) = values_in(draft.machine, draft.tip, &conflict);
    if conflict.state != ConflictState::Open {
        return conflict;
    }
    let is_persons = local != machine || (draft.is_edited)(&conflict);
    if local == conflict.upstream && is_persons {
        return Conflict {
            state: ConflictState::Resolved,
            ..conflict
        };
    }
    if local == machine || local == conflict.local {
        return conflict;
    }
    let mut conflict = Conflict {
        file,
        local,
        decision: Decision::Local,
        ..conflict
    };
    identify(&mut conflict);
    conflict
}

/// What is left of a conflict that the draft's own merge did not see; `asked` says whether the one against *p* did.
fn still(
    old: &[Conflict],
    before: &Conflict,
    asked: bool,
    draft: &MergedDraft<'_>,
) -> Option<Conflict> {
    // Where the merge with *p* asks, what was published may stand in *M′*: upstream says something else.
    let from = if asked { draft.upstream } else { draft.machine };
    let (upstream, local, file) = values_in(from, draft.tip, before);
    // However it came to that: there is nothing left to decide.
    if local == upstream {
        return None;
    }
    if before.is_settled() {
        // The draft's answer to this value of upstream is an answer to p's question, too.
        return (asked && upstream == before.upstream).then(|| before.clone());
    }
    let answered = |cause: &ConflictId| old.iter().any(|c| c.id == *cause && c.is_settled());
    let ends = upstream == before.base
        || (draft.is_stated)(before)
        || before.derived_from.as_ref().is_some_and(answered);
    if ends || !is_unanswered(before) {
        return None;
    }
    let mut conflict = Conflict {
        file,
        local,
        upstream,
        decision: Decision::Local,
        state: match draft.policy {
            ConflictPolicy::Block => ConflictState::Open,
            ConflictPolicy::Upstream | ConflictPolicy::Local => ConflictState::Recorded,
        },
        ..before.clone()
    };
    if !conflict.same_values(before) {
        identify(&mut conflict);
    }
    Some(conflict)
}

/// Whether nobody has decided about a conflict yet: it is open, or a policy alone kept the local value.
pub(crate) fn is_unanswered(conflict: &Conflict) -> bool {
    match conflict.state {
        ConflictState::Open => true,
        ConflictState::Recorded => {
            let form = conflict.path.ends_with("#comment") || conflict.path.ends_with("#order");
            conflict.decision == Decision::Local && conflict.local != conflict.base && !form
        }
        ConflictState::Acknowledged | ConflictState::Resolved => false,
    }
}

/// A conflict about the same values as before keeps its id and what was said about it, also where its resource was
/// moved to another file.
fn known_again(old: &[Conflict], all: &mut [Conflict]) {
    let mut renamed: BTreeMap<ConflictId, ConflictId> = BTreeMap::new();
    for conflict in all.iter_mut() {
        // At its own place before elsewhere: a resource of that name in another file may be another one.
        let here = |c: &&Conflict| c.place() == conflict.place();
        let moved = |c: &&Conflict| {
            let place = (&c.resource, &c.path);
            !c.resource.is_empty() && place == (&conflict.resource, &conflict.path)
        };
        let same = |c: &&Conflict| c.same_values(conflict);
        let before = old.iter().filter(same).find(here);
        let Some(before) = before.or_else(|| old.iter().filter(same).find(moved)) else {
            continue;
        };
        if conflict.id != before.id {
            renamed.insert(conflict.id.clone(), before.id.clone());
            conflict.id = before.id.clone();
        }
        if conflict.state == ConflictState::Open && before.is_settled() {
            conflict.state = before.state;
        }
    }
    for cause in all.iter_mut().filter_map(|c| c.derived_from.as_mut()) {
        if let Some(id) = renamed.get(cause) {
            *cause = id.clone();
        }
    }
}

/// Says anew what the carried conflicts follow from: from what they did while that is not answered, else from the
/// conflict about something that holds them.
fn derived_again(old: &[Conflict], carried: &BTreeSet<ConflictPlace>, all: &mut [Conflict]) {
    let whole: Vec<Conflict> = all.to_vec();
    let now = |cause: &ConflictId| {
        let before = old.iter().find(|c| c.id == *cause)?;
        whole.iter().find(|c| c.place() == before.place())
    };
    for conflict in all.iter_mut().filter(|c| carried.contains(&place(c))) {
        if conflict.is_settled() {
            continue;
        }
        let cause = conflict.derived_from.as_ref().and_then(now);
        let cause = cause.or_else(|| whole.iter().find(|c| covers(c, conflict)));
        conflict.derived_from = cause.map(|c| c.id.clone());
    }
}

/// Whether one conflict is about something that the place of another one lies in.
fn covers(outer: &Conflict, inner: &Conflict) -> bool {
    let steps = |c: &Conflict| FieldPath::parse(&c.path).map(|path| path.0);
    let (Some(around), Some(within)) = (steps(outer), steps(inner)) else {
        return false;
    };
    let file = outer.resource.is_empty() && around.is_empty();
    outer.file == inner.file
        && outer.place() != inner.place()
        && (file || (outer.resource == inner.resource && within.starts_with(&around)))
}

/// Takes the ids that a person acknowledges (`spec.resolvedConflicts`): an open conflict that is named is
/// acknowledged, and one that is not named any more is open again. Returns the ids that name no conflict.
pub fn acknowledge(conflicts: &mut [Conflict], ids: &[ConflictId]) -> Vec<ConflictId> {
    for conflict in conflicts.iter_mut() {
        match (conflict.state, ids.contains(&conflict.id)) {
            (ConflictState::Open, true) => conflict.state = ConflictState::Acknowledged,
            (ConflictState::Acknowledged, false) => conflict.state = ConflictState::Open,
            _ => {}
        }
    }
    let known = |id: &&ConflictId| conflicts.iter().any(|c| c.id == **id);
    ids.iter().filter(|id| !known(id)).cloned().collect()
}
