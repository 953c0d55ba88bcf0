//! Embedded resources must be objects of their own right: apiVersion, kind and sound metadata.

use serde_json::{Map, Value};

use super::MAX_ERRORS;
use super::error::FieldError;
use super::node::{Additional, Node};
use super::render::{At, child};
use crate::names;

/// Checks every embedded resource below.
pub(crate) fn check(value: &Value, node: &Node, at: At<'_>, errors: &mut Vec<FieldError>) {
    if errors.len() > MAX_ERRORS || !node.has().embedded {
        return;
    }
    match value {
        Value::Object(map) => {
            if node.embedded {
                object(map, &at.path(), errors);
            }
            for (name, found) in map {
                let below = node.properties.get(name).or(match &node.additional {
                    Some(Additional::Schema(below)) => Some(below),
                    _ => None,
                });
                if let Some(below) = below {
                    check(found, below, At::Field(&at, name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = &node.items {
                for (i, item) in items.iter().enumerate() {
                    check(item, below, At::Item(&at, i), errors);
                }
            }
        }
        _ => {}
    }
}

fn object(map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let at = child(path, name);
        match map.get(name) {
            None => errors.push(FieldError::required(&at, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&at, "", "must not be empty"));
            }
            Some(Value::String(text)) if name == "apiVersion" && text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                errors.push(FieldError::invalid(&at, text.as_str(), detail));
            }
            Some(Value::String(text)) if name == "kind" => {
                for detail in names::dns1035_label(&text.to_lowercase()) {
                    let detail =
                        format!("may have mixed case, but should otherwise match: {detail}");
                    errors.push(FieldError::invalid(&at, text.as_str(), detail));
                }
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.push(FieldError::invalid(&at, other.clone(), "must be a string")),
        }
    }
    if let Some(metadata) = map.get("metadata") {
        super::metadata::check_embedded(metadata, &child(path, "metadata"), errors);
    }
}
