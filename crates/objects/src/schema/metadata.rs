//! Rules of `metadata` that hold for every kind, with the texts of
//! `k8s.io/apimachinery/pkg/api/validation`.
//!
//! Works on values whose types were checked before (see `builtin::metadata_type_error`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::MAX_ERRORS;
use super::error::{BadValue, ErrorKind, FieldError};
use super::meta::object_meta;
use crate::names::{self, NameRule};

/// All annotations of an object together, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// Brings metadata into its written form: what is empty or null is left out, what is unknown dropped.
///
/// Holds for every kind, custom resources included, since metadata is always typed.
pub(crate) fn normalize(metadata: &mut Value) {
    let known = &object_meta().properties;
    if let Some(map) = metadata.as_object_mut() {
        map.retain(|name, value| {
            let empty = match value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(map) => map.is_empty(),
                Value::Number(number) => {
                    number.as_i64() == Some(0) && name != "deletionGracePeriodSeconds"
                }
                Value::Bool(_) => false,
            };
            !empty && known.contains_key(name)
        });
    }
}

/// Checks the metadata of a new object.
///
/// `namespaced` demands a namespace (the caller filled it in from the path).
#[must_use]
pub(crate) fn validate(metadata: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    check(metadata, namespaced, rule, "metadata")
}

fn check(metadata: &Value, namespaced: bool, rule: NameRule, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |name: &str| format!("{path}.{name}");
    let generate = text(metadata, "generateName");
    if !generate.is_empty() {
        for problem in rule.check(generate, true) {
            errors.push(FieldError::invalid(&at("generateName"), generate, problem));
        }
    }
    let name = text(metadata, "name");
    if name.is_empty() {
        errors.push(FieldError::required(
            &at("name"),
            "name or generateName is required",
        ));
    }
    for problem in if name.is_empty() {
        Vec::new()
    } else {
        rule.check(name, false)
    } {
        errors.push(FieldError::invalid(&at("name"), name, problem));
    }
    let namespace = text(metadata, "namespace");
    if namespaced {
        if namespace.is_empty() {
            errors.push(FieldError::required(&at("namespace"), ""));
        }
        for problem in if namespace.is_empty() {
            Vec::new()
        } else {
            names::dns1123_label(namespace)
        } {
            errors.push(FieldError::invalid(&at("namespace"), namespace, problem));
        }
    } else if !namespace.is_empty() {
        errors.push(FieldError::forbidden(
            &at("namespace"),
            "not allowed on this type",
        ));
    }
    shared(metadata, path, &mut errors);
    finalizers(metadata.get("finalizers"), &at("finalizers"), &mut errors);
    errors
}

fn shared(metadata: &Value, path: &str, errors: &mut Vec<FieldError>) {
    labels(metadata.get("labels"), &format!("{path}.labels"), errors);
    annotations(
        metadata.get("annotations"),
        &format!("{path}.annotations"),
        errors,
    );
    owners(
        metadata.get("ownerReferences"),
        &format!("{path}.ownerReferences"),
        errors,
    );
}

/// Checks the metadata of an embedded resource, where name and namespace are optional.
pub(crate) fn check_embedded(metadata: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(map) = metadata.as_object() else {
        errors.push(FieldError::invalid(
            path,
            metadata.clone(),
            "must be an object",
        ));
        return;
    };
    let mut named = map.clone();
    if text(metadata, "name").is_empty() {
        named.insert("name".to_owned(), Value::from("fakename"));
    }
    let namespaced = !text(metadata, "namespace").is_empty();
    errors.extend(check(
        &Value::Object(named),
        namespaced,
        NameRule::PathSegment,
        path,
    ));
}

/// Checks what an update does to metadata.
///
/// The caller has carried over what a client left out (`uid`, timestamps).
#[must_use]
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if is_set(old, "deletionTimestamp") {
        new_finalizers(new, old, &mut errors);
    }
    for name in [
        "name",
        "namespace",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if new.get(name).filter(|v| !v.is_null()) != old.get(name).filter(|v| !v.is_null()) {
            let value = new.get(name).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(
                &format!("metadata.{name}"),
                value,
                "field is immutable",
            ));
        }
    }
    shared(new, "metadata", &mut errors);
    errors
}

fn new_finalizers(new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let set = |value: &Value| -> BTreeSet<String> {
        let items = value.get("finalizers").and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .filter_map(|f| f.as_str().map(str::to_owned))
            .collect()
    };
    let former = set(old);
    let added: Vec<String> = set(new)
        .difference(&former)
        .map(|f| format!("{f:?}"))
        .collect();
    if !added.is_empty() {
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        );
        errors.push(FieldError::forbidden("metadata.finalizers", detail));
    }
}

/// Labels: keys and values.
pub(crate) fn labels(labels: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
    for (key, value) in entries(labels) {
        if errors.len() > MAX_ERRORS {
            return;
        }
        for problem in names::qualified_name(key) {
            errors.push(FieldError::invalid(path, key.as_str(), problem));
        }
        let value = value.as_str().unwrap_or_default();
        for problem in names::label_value(value) {
            errors.push(FieldError::invalid(path, value, problem));
        }
    }
}

fn annotations(annotations: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in entries(annotations) {
        size += key.len() + value.as_str().map_or(0, str::len);
        if errors.len() > MAX_ERRORS {
            continue;
        }
        for problem in names::qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, key.as_str(), problem));
        }
    }
    if size > MAX_ANNOTATIONS {
        errors.push(FieldError::too_long(path, MAX_ANNOTATIONS as u64));
    }
}

fn owners(owners: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
    let owners = owners
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut controller: Option<String> = None;
    let mut told = 0;
    for owner in owners {
        if errors.len() > MAX_ERRORS {
            return;
        }
        let version = text(owner, "apiVersion");
        let (group, version_only) = match version.matches('/').count() {
            // What is no version at all leaves nothing of it.
            2.. => ("", ""),
            _ => version.split_once('/').unwrap_or(("", version)),
        };
        if version_only.is_empty() {
            let at = format!("{path}.apiVersion");
            errors.push(FieldError::invalid(
                &at,
                version,
                "version must not be empty",
            ));
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                let at = format!("{path}.{name}");
                errors.push(FieldError::invalid(&at, "", "must not be empty"));
            }
        }
        let kind = text(owner, "kind");
        if (group.is_empty() || group == "events.k8s.io") && version_only == "v1" && kind == "Event"
        {
            let detail =
                format!("{group}/{version_only}, Kind={kind} is disallowed from being an owner");
            errors.push(FieldError::invalid_raw(path, owner_text(owner), detail));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let named = format!("{kind}/{}", text(owner, "name"));
            if let Some(first) = &controller {
                // Each refusal shows all owners: a few of both are enough.
                told += 1;
                if told > 4 {
                    continue;
                }
                let shown: Vec<String> = owners.iter().take(100).map(owner_text).collect();
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                     and {named}"
                );
                errors.push(FieldError::invalid_raw(
                    path,
                    format!("[{}]", shown.join(",")),
                    detail,
                ));
            } else {
                controller = Some(named);
            }
        }
    }
}

/// An owner reference as Go prints the struct: fields in declaration order.
fn owner_text(owner: &Value) -> String {
    let order = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let parts: Vec<String> = order
        .iter()
        .filter_map(|name| owner.get(name).map(|v| format!("\"{name}\":{v}")))
        .collect();
    format!("{{{}}}", parts.join(","))
}

fn finalizers(finalizers: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
    let names: Vec<&str> = finalizers
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for name in &names {
        if errors.len() > MAX_ERRORS {
            return;
        }
        for problem in names::qualified_name(name) {
            errors.push(FieldError::invalid(path, *name, problem));
        }
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let shown = Value::from(names.iter().map(|n| Value::from(*n)).collect::<Vec<_>>());
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, shown, detail));
    }
}

/// Finalizers of core kinds must be standard or have a domain.
#[must_use]
pub(crate) fn core_finalizers(metadata: &Value) -> Vec<FieldError> {
    let items = metadata.get("finalizers").and_then(Value::as_array);
    let names = items
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .enumerate();
    let standard = ["kubernetes", "orphan", "foregroundDeletion"];
    names
        .filter(|(_, name)| !name.contains('/') && !standard.contains(name))
        .map(|(i, name)| FieldError {
            path: format!("metadata.finalizers[{i}]"),
            kind: ErrorKind::Invalid,
            bad_value: BadValue::Json(Value::from(name)),
            detail: "name is neither a standard finalizer name nor is it fully qualified"
                .to_owned(),
        })
        .collect()
}

/// Warnings about finalizers without a domain that `new` adds to those of `old`.
#[must_use]
pub(crate) fn finalizer_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    fn list(value: Option<&Value>) -> impl Iterator<Item = &str> {
        let items = value
            .and_then(|m| m.get("finalizers"))
            .and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str)
    }
    let former: BTreeSet<&str> = list(old).collect();
    let standard = ["kubernetes", "orphan", "foregroundDeletion"];
    list(Some(new))
        .filter(|f| !f.contains('/') && !former.contains(f) && !standard.contains(f))
        .take(MAX_ERRORS)
        .map(|f| {
            format!(
                "metadata.finalizers: {f:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts \
                 with other finalizer writers"
            )
        })
        .collect()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_set(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|v| !v.is_null())
}

fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}
