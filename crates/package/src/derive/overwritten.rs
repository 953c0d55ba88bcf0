//! People's values that the render replaces (V17: what the machine states is recorded, without a gate).
//!
//! A push by git is not rendered, so that a person may publish a value at a field which a function writes. The next
//! draft is rendered, and holds the function's value there: nobody decides that, and nobody shall miss it.

use model::{Conflict, ConflictId, ConflictState, ConflictValue, Decision, Files, PackagePath};

use crate::conflicts::value_at;
use crate::merge::{Difference, diff_where};
use crate::place::identify;

/// What the render changed in files that a person may have touched: only there a person's value can be lost.
pub(super) fn lost_in(
    (merge_base, local): (&Files, &Files),
    (merged, rendered): (&Files, &Files),
) -> Vec<Difference> {
    let touched = |path: &PackagePath| merge_base.get(path) != local.get(path);
    diff_where(merged, rendered, touched)
}

/// What a person said in `local`, kept in a merge, and lost where its render changed it. `merge_base` is the machine's own
/// output that `local` stems from: what differs from it is a person's.
///
/// Records that are there already, of `known`, are not made twice.
pub(super) fn overwritten(
    (merge_base, local): (&Files, &Files),
    changed: Vec<Difference>,
    known: &[Conflict],
) -> Vec<Conflict> {
    // Where nobody touched the file, nothing in it is a person's.
    let touched = |d: &Difference| merge_base.get(&d.file) != local.get(&d.file);
    let records = changed
        .into_iter()
        .filter(|d| !d.is_form() && touched(d))
        .filter_map(|d| {
            let record = record(d, merge_base, local)?;
            let told = known.iter().any(|c| c.place() == record.place());
            (!told).then_some(record)
        });
    records.collect()
}

fn record(difference: Difference, merge_base: &Files, local: &Files) -> Option<Conflict> {
    let Difference {
        file,
        resource,
        path,
        before,
        after,
        ..
    } = difference;
    let mut record = Conflict {
        id: ConflictId(String::new()),
        file,
        resource,
        path,
        base: ConflictValue::Absent,
        local: before,
        upstream: after,
        decision: Decision::Upstream,
        state: ConflictState::Recorded,
        derived_from: None,
    };
    // Hashes compare with hashes alone, as the sides that are known already say.
    let said = value_at(local, &record);
    record.base = value_at(merge_base, &record);
    identify(&mut record);
    let persons = said == record.local && said != record.base;
    persons.then_some(record)
}
