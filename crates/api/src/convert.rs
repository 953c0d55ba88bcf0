//! `PackageVariantSet` between its versions, without loss (A3).
//!
//! `v1alpha2` is stored. `v1alpha1` comes in two shapes, told apart by the types of their fields: that of the earliest
//! document, which is `v1alpha2`'s own, and the older one of the fan-out controller, which is rewritten. What was
//! rewritten is kept beside it in an annotation, so that whoever reads `v1alpha1` finds what they wrote.

mod old;

use serde_json::{Map, Value};

/// Holds the spec as it was written in `v1alpha1`'s older shape.
pub const V1ALPHA1_SPEC: &str = "offshoot.dev/v1alpha1-spec";

/// Why a set cannot be turned into another version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct ConvertError {
    /// The field's path.
    pub field: String,
    /// What is wrong with it.
    pub what: String,
}

impl ConvertError {
    fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            what: what.into(),
        }
    }
}

/// Turns a set into `api_version` (`group/version`).
///
/// # Errors
/// A field of the older shape has no counterpart, or the shapes are mixed (A3).
pub fn convert_set(mut object: Value, api_version: &str) -> Result<Value, ConvertError> {
    let spec = object.get("spec").cloned().unwrap_or(Value::Null);
    if api_version.ends_with("/v1alpha1") {
        if let Some(written) = written_as(&object, &spec) {
            object["spec"] = written;
        }
        take_note(&mut object);
    } else if old::is_old(&spec)? {
        let text = spec.to_string();
        object["spec"] = old::convert(&spec)?;
        note(&mut object, text);
    }
    if let Some(root) = object.as_object_mut() {
        root.insert("apiVersion".to_owned(), api_version.into());
    }
    Ok(object)
}

/// The spec as it was written in the older shape, if what stands now is still what became of it.
fn written_as(object: &Value, spec: &Value) -> Option<Value> {
    let annotations = object.pointer("/metadata/annotations")?;
    let text = annotations.get(V1ALPHA1_SPEC)?.as_str()?;
    let written: Value = serde_json::from_str(text).ok()?;
    let same = old::convert(&written).ok()? == *spec;
    same.then_some(written)
}

fn note(object: &mut Value, text: String) {
    let Some(root) = object.as_object_mut() else {
        return;
    };
    let empty = || Value::Object(Map::new());
    let metadata = root.entry("metadata").or_insert_with(empty);
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    let annotations = metadata.entry("annotations").or_insert_with(empty);
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(V1ALPHA1_SPEC.to_owned(), text.into());
    }
}

/// Takes the note off again; annotations that were made for it alone go with it.
fn take_note(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    if annotations.remove(V1ALPHA1_SPEC).is_some() && annotations.is_empty() {
        metadata.remove("annotations");
    }
}
