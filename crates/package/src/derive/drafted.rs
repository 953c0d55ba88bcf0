//! What an open draft holds against the machine, from merge to merge (V18).

use model::{Conflict, ConflictPolicy, ConflictState, Decision, Files, Recipe};

use crate::conflicts::{self, MergedDraft, is_unanswered, take, value_at};

use super::machine::MachineOutput;
use super::{DeriveInput, OpenDraft, stated};
use crate::place::identify;

/// A draft as it is merged with what the machine made anew.
pub(super) struct Ready {
    /// What the draft stems from.
    pub(super) merge_base: Files,
    /// What it holds.
    pub(super) local: Files,
    /// Records of what the policy took from upstream.
    pub(super) taken: Vec<Conflict>,
}

/// Prepares the merge at the places of conflicts. What somebody answered stands while upstream says what it said then, or is back at
/// what it was before, whatever another policy makes of what was published: only the answer differs from the base there.
/// Where nobody answered and upstream is back at what it was, nobody contradicts the edit any more: the base is what it was, too.
/// Where the policy takes upstream's value, there is no edit any more.
pub(super) fn ready(
    draft: &OpenDraft,
    recipe: &Recipe,
    merge_base: &Files,
    (machine, upstream): (&Files, &Files),
) -> Ready {
    let mut ready = Ready {
        merge_base: merge_base.clone(),
        local: draft.tip.clone(),
        taken: Vec::new(),
    };
    for answered in draft.conflicts.iter().filter(|c| c.is_settled()) {
        let says = value_at(upstream, answered);
        if says == answered.upstream || says == answered.base {
            take(&mut ready.merge_base, machine, answered);
        }
    }
    let mut waiting = draft
        .conflicts
        .iter()
        .filter(|c| is_unanswered(c))
        .peekable();
    if waiting.peek().is_none() {
        return ready;
    }
    let places = stated::places(machine, recipe);
    for conflict in waiting.filter(|c| !places.iter().any(|place| place.covers(c))) {
        let mine = value_at(&ready.local, conflict);
        let theirs = value_at(machine, conflict);
        if mine == theirs {
            continue;
        }
        if theirs == conflict.base {
            take(&mut ready.merge_base, machine, conflict);
        } else if recipe.conflict_policy == ConflictPolicy::Upstream
            && take(&mut ready.local, merge_base, conflict)
        {
            let mut record = Conflict {
                local: mine,
                upstream: theirs,
                decision: Decision::Upstream,
                state: ConflictState::Recorded,
                derived_from: None,
                ..conflict.clone()
            };
            identify(&mut record);
            ready.taken.push(record);
        }
    }
    ready
}

/// The conflicts of a draft after its merges.
pub(super) fn carried(
    input: &DeriveInput,
    draft: &OpenDraft,
    (against_base, in_draft): (Vec<Conflict>, Vec<Conflict>),
    merge_base: &Files,
    [upstream, machine, tip]: [&MachineOutput; 3],
) -> Vec<Conflict> {
    let places = stated::places(&tip.files, &input.recipe);
    let is_stated = |conflict: &Conflict| places.iter().any(|place| place.covers(conflict));
    let is_edited = |c: &Conflict| value_at(merge_base, c) != value_at(&draft.tip, c);
    let now = MergedDraft {
        machine: &machine.files,
        upstream: &upstream.files,
        tip: &tip.files,
        policy: input.recipe.conflict_policy,
        acknowledged: &draft.acknowledged,
        is_stated: &is_stated,
        is_edited: &is_edited,
    };
    conflicts::carry(&draft.conflicts, against_base, in_draft, &now)
}
