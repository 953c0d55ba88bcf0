//! Deciding a conflict as a person says: by a side, or by a value of their own (F4).
//!
//! A side is taken from a package that holds it, as it is written there, comments included; only where none does, the
//! recorded value is written. A package in which it could not be done is as it was.

use model::{Conflict, ConflictSide, ConflictValue, Files, PackagePath};
use yaml::Edit;

use super::node::{document, find, parsed};
use super::place::{is_file, value_at};
use super::take::take;
use crate::place::{FieldPath, PathStep};
use crate::values::canonical;

/// Whether a package holds a side's value at the place of a conflict.
pub fn holds_side(files: &Files, conflict: &Conflict, side: ConflictSide) -> bool {
    value_at(files, conflict) == *side.of(conflict)
}

/// Takes a side's value from a package that holds it; says whether it does, and could be taken.
pub fn put_side(files: &mut Files, from: &Files, conflict: &Conflict, side: ConflictSide) -> bool {
    holds_side(from, conflict, side) && take(files, from, conflict)
}

/// Writes a side's value as the record has it; says whether it could.
pub fn put_recorded(files: &mut Files, conflict: &Conflict, side: ConflictSide) -> bool {
    match side.of(conflict) {
        ConflictValue::Absent => take(files, &Files::new(), conflict),
        ConflictValue::Json(json) => put_value(files, conflict, json),
        ConflictValue::Hash(_) => false,
    }
}

/// Writes a value (JSON text) at the place of a conflict that is about a field; says whether it could. A Secret takes
/// none.
pub fn put_value(files: &mut Files, conflict: &Conflict, json: &str) -> bool {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(json) else {
        return false;
    };
    // Read back as a record would read it: what cannot be written as it was said is not written at all.
    let wanted = ConflictValue::Json(canonical(&value));
    match with_value(files, conflict, value) {
        Some(written) if value_at(&written, conflict) == wanted => {
            *files = written;
            true
        }
        _ => false,
    }
}

/// Whether a value of one's own can be written at the place of a conflict: it is about a field, and hides nothing.
pub fn takes_values(conflict: &Conflict) -> bool {
    let sides = [&conflict.base, &conflict.local, &conflict.upstream];
    let hidden = |value: &&ConflictValue| matches!(value, ConflictValue::Hash(_));
    let last = FieldPath::parse(&conflict.path).and_then(|path| path.0.last().cloned());
    let field = matches!(
        last,
        Some(PathStep::Field(_) | PathStep::Element(_) | PathStep::Index(_))
    );
    field && !is_file(conflict) && !sides.iter().any(hidden)
}

/// The same value as a record has it.
pub fn as_recorded(json: &str) -> Option<ConflictValue> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    Some(ConflictValue::Json(canonical(&value)))
}

fn with_value(files: &Files, conflict: &Conflict, value: serde_json::Value) -> Option<Files> {
    if !takes_values(conflict) {
        return None;
    }
    let at: &PackagePath = &conflict.file;
    let file = files.get(at)?;
    let stream = parsed(file)?;
    let document = document(&stream, conflict)?;
    let steps = FieldPath::parse(&conflict.path)?.0;
    let path = match find(document.root(), &steps) {
        Some(node) => node.path(),
        None => {
            let (last, parents) = steps.split_last()?;
            let PathStep::Field(key) = last else {
                return None;
            };
            find(document.root(), parents)?.path().join(key.as_str())
        }
    };
    let edit = Edit::set(path, yaml::Value::from(value));
    let edited = stream.apply(document.index(), &[edit]).ok()?;
    let mut files = files.clone();
    files.insert(
        at.clone(),
        file.with_bytes(edited.text().as_bytes().to_vec()),
    );
    Some(files)
}
