//! JSON patch, merge patch and strategic merge patch over plain values.
//!
//! The caller decodes bodies, refuses media types, and compares `metadata.resourceVersion`; nothing here
//! knows versions or owners. Server-side apply is in `apply`.

mod json;
mod strategic;

use serde_json::Value;

pub(crate) use json::json_patch;
pub(crate) use strategic::strategic;

/// Deepest nesting of a document or patch.
const MAX_DEPTH: usize = 128;

/// Why a patch could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// The patch cannot be read; 400.
    #[error("{0}")]
    Unreadable(String),
    /// The patch is larger than allowed; 413.
    #[error("{0}")]
    TooLarge(String),
    /// The patch does not fit the object (a failing test, a missing path, an unknown operation); 422
    /// with the general text and empty details.
    #[error("the server rejected our request due to an error in our request")]
    Unfit(String),
}

/// Applies a merge patch (RFC 7386).
///
/// # Errors
/// A patch that is not an object.
pub(crate) fn merge_patch(doc: &Value, patch: &Value) -> Result<Value, PatchError> {
    if patch.is_null() {
        return Err(PatchError::Unreadable("Invalid JSON Patch".to_owned()));
    }
    if !patch.is_object() {
        let found = go_kind(patch);
        let text = format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        );
        return Err(PatchError::Unreadable(text));
    }
    if too_deep(patch, 0) {
        return Err(PatchError::Unreadable(
            "the patch is nested too deeply".to_owned(),
        ));
    }
    let mut out = doc.clone();
    let mut patch = patch.clone();
    prune_lists(&mut patch);
    json_patch::merge(&mut out, &patch);
    Ok(out)
}

/// Takes nulls out of the maps that stand in lists: the real server's library does, beyond what RFC 7386 asks.
fn prune_lists(patch: &mut Value) {
    fn prune(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|_, value| !value.is_null());
                map.values_mut().for_each(prune);
            }
            Value::Array(items) => items.iter_mut().for_each(prune),
            _ => {}
        }
    }
    match patch {
        Value::Object(map) => map.values_mut().for_each(prune_lists),
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn too_deep(value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    match value {
        Value::Array(items) => items.iter().any(|v| too_deep(v, depth + 1)),
        Value::Object(map) => map.values().any(|v| too_deep(v, depth + 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
