//! The metadata of an object: what decoding makes of it, and which of it an update keeps.

use serde_json::{Map, Value};

use super::{Rules, metadata_mut};
use crate::builtin::meta;
use crate::builtin::names::NameRule;
use crate::schema::FieldError;
use crate::status::Failure;

/// Checks that the members of the metadata have their JSON types; a client's mistake there is a decoding error.
///
/// # Errors
/// 400 in Go's words.
pub fn check_types(rules: Rules<'_>, object: &Value) -> Result<(), Failure> {
    let problem = match rules.resource.built_in {
        Some(kind) => kind.type_error(object),
        None => type_problem(object),
    };
    let Some(problem) = problem else {
        return Ok(());
    };
    let kind = &rules.resource.kind;
    let version = &rules.version.name;
    Err(Failure::bad_request(format!(
        "{kind} in version \"{version}\" cannot be handled as a {kind}: {problem}"
    )))
}

/// The first wrong JSON type in the metadata of an object that has no type in Go.
#[must_use]
pub fn type_problem(object: &Value) -> Option<String> {
    let found = match object.get("metadata")? {
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        other => return meta::type_error(other),
    };
    Some(format!(
        "json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"
    ))
}

/// Drops what decoding into Go's types would drop: nulls and empty maps, lists and texts of the metadata.
pub fn tidy(metadata: &mut Map<String, Value>) {
    texts_of_nulls(metadata);
    metadata.retain(|key, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() || key == "name",
        Value::Array(items) => !items.is_empty() || key == "managedFields",
        Value::Object(map) => !map.is_empty(),
        _ => true,
    });
}

/// A null among labels or annotations is an empty text to Go.
pub fn texts_of_nulls(metadata: &mut Map<String, Value>) {
    for field in ["labels", "annotations"] {
        if let Some(Value::Object(map)) = metadata.get_mut(field) {
            for value in map.values_mut().filter(|v| v.is_null()) {
                *value = Value::String(String::new());
            }
        }
    }
}

/// The rule that names of the kind follow.
#[must_use]
pub fn name_rule(rules: Rules<'_>) -> NameRule {
    rules
        .resource
        .built_in
        .map_or(NameRule::Subdomain, |kind| kind.name_rule)
}

/// The problems of a new object's metadata.
#[must_use]
pub fn validate(rules: Rules<'_>, object: &Value) -> Vec<FieldError> {
    let empty = Value::Object(Map::new());
    meta::validate(
        object.get("metadata").unwrap_or(&empty),
        rules.resource.namespaced,
        name_rule(rules),
    )
}

/// The problems of a changed object's metadata; custom resources report each twice (the real server checks twice).
#[must_use]
pub fn validate_update(rules: Rules<'_>, old: &Value, new: &Value) -> Vec<FieldError> {
    let (Some(old), Some(new)) = (old.get("metadata"), new.get("metadata")) else {
        return Vec::new();
    };
    let mut errors = meta::validate_update(new, old);
    let twice = rules.resource.custom() || rules.resource.group == "rbac.authorization.k8s.io";
    if twice {
        errors.extend(errors.clone());
    }
    errors
}

/// What to warn about in the finalizers of a new or changed object.
#[must_use]
pub fn warnings(old: Option<&Value>, new: &Value) -> Vec<String> {
    let old = old.and_then(|o| o.get("metadata"));
    new.get("metadata")
        .map_or_else(Vec::new, |new| meta::finalizer_warnings(new, old))
}

/// Fills in what a client may leave out of an update, and resets what it may not set.
pub fn keep(old: &Value, new: &mut Value) {
    let Some(metadata) = metadata_mut(new) else {
        return;
    };
    tidy(metadata);
    metadata.remove("selfLink");
    let before = |field: &str| old.get("metadata").and_then(|m| m.get(field)).cloned();
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let (false, Some(kept)) = (metadata.contains_key(field), before(field)) {
            metadata.insert(field.to_owned(), kept);
        }
    }
    for field in ["creationTimestamp", "generation", "resourceVersion"] {
        match before(field) {
            Some(kept) => drop(metadata.insert(field.to_owned(), kept)),
            None => drop(metadata.remove(field)),
        }
    }
}
