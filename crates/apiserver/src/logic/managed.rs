//! The seam to field ownership: who wrote which field, kept in `metadata.managedFields`.

use serde_json::Value;

use super::update::Part;
use super::{Moment, Rules, WriteOptions, metadata_mut};

/// Records the manager of a new object.
pub fn created(
    _rules: Rules<'_>,
    object: &mut Value,
    given: Option<Value>,
    _options: &WriteOptions,
    _moment: &Moment,
) {
    put(object, given);
}

/// Records the manager of the changed fields.
pub fn updated(
    _rules: Rules<'_>,
    old: &Value,
    new: &mut Value,
    asked: &Value,
    _part: Part,
    _options: &WriteOptions,
    _moment: &Moment,
) {
    let given = asked
        .pointer("/metadata/managedFields")
        .or_else(|| old.pointer("/metadata/managedFields"));
    put(new, given.cloned());
}

/// Takes the managed fields that an apply has computed.
pub fn take(new: &mut Value, applied: &Value) {
    put(new, applied.pointer("/metadata/managedFields").cloned());
}

fn put(object: &mut Value, fields: Option<Value>) {
    let Some(metadata) = metadata_mut(object) else {
        return;
    };
    match fields.filter(|f| f.as_array().is_some_and(|list| !list.is_empty())) {
        Some(fields) => drop(metadata.insert("managedFields".to_owned(), fields)),
        None => drop(metadata.remove("managedFields")),
    }
}

/// Whether two states are equal, the times of their managed fields and their resource versions apart.
#[must_use]
pub fn same(old: &Value, new: &Value) -> bool {
    bare(old) == bare(new)
}

fn bare(object: &Value) -> Value {
    let mut bare = object.clone();
    if let Some(metadata) = metadata_mut(&mut bare) {
        metadata.remove("resourceVersion");
        if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                entry.remove("time");
            }
        }
    }
    bare
}
