//! JSON patch, merge patch and strategic merge patch over plain values.
//!
//! The caller decodes bodies, refuses media types, and compares `metadata.resourceVersion`; nothing here
//! knows versions or owners. Server-side apply is in `apply`.

mod strategic;

use json_patch::PatchOperation;
use serde_json::Value;

pub use strategic::strategic;

/// More operations than this in one JSON patch are refused.
pub const MAX_OPERATIONS: usize = 10_000;

/// Deepest nesting of a document or patch.
const MAX_DEPTH: usize = 128;

/// Why a patch could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
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

/// Applies a JSON patch (RFC 6902).
///
/// # Errors
/// See [`PatchError`]; `doc` is untouched then.
pub fn json_patch(doc: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Some(operations) = patch.as_array() else {
        let found = go_kind(patch);
        let text = format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type []handlers.jsonPatchOp"
        );
        return Err(PatchError::Unreadable(text));
    };
    if operations.len() > MAX_OPERATIONS {
        let count = operations.len();
        let text = format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        );
        return Err(PatchError::TooLarge(text));
    }
    let unfit = |error: String| PatchError::Unfit(error);
    let operations: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|e| unfit(e.to_string()))?;
    let mut out = doc.clone();
    for operation in &operations.0 {
        if !finds_nothing(&out, operation) {
            let one = std::slice::from_ref(operation);
            json_patch::patch(&mut out, one).map_err(|e| unfit(e.to_string()))?;
        }
    }
    if too_deep(&out, 0) {
        return Err(unfit("the result is nested too deeply".to_owned()));
    }
    Ok(out)
}

/// Whether an operation tests for null where a member is missing: the real server's library takes that for equal, and
/// kube-rs counts on it before it adds the first finalizer.
fn finds_nothing(doc: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else {
        return false;
    };
    let path = test.path.as_str();
    let parent = path
        .rsplit_once('/')
        .and_then(|(above, _)| doc.pointer(above));
    test.value.is_null() && doc.pointer(path).is_none() && parent.is_some_and(Value::is_object)
}

/// Applies a merge patch (RFC 7386).
///
/// # Errors
/// A patch that is not an object.
pub fn merge_patch(doc: &Value, patch: &Value) -> Result<Value, PatchError> {
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
    json_patch::merge(&mut out, patch);
    Ok(out)
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
