//! Wrong JSON types that a strategic patch leaves in a built-in kind, worded as Go's converter tells them: it puts values into fields one
//! by one, and names the types of both.

use base64::Engine as _;
use serde_json::Value;

use super::decode::{base64_problem, form, go_type};
use crate::printed;
use crate::schema::{Additional, Node, Type};

/// The first value below `value` that a field of its Go type cannot take; none if all fit.
pub(super) fn mismatch(value: &Value, node: &Node) -> Option<String> {
    if value.is_null() {
        return None;
    }
    match node.types.first()? {
        Type::String => text(value, node.format.as_deref().unwrap_or_default(), node),
        Type::Boolean => simple(value.is_boolean(), "bool"),
        Type::Integer => number(value, node),
        Type::Number => simple(value.is_number(), "float64"),
        Type::Array => match value {
            Value::Array(items) => {
                let below = node.items.as_deref()?;
                items.iter().find_map(|item| mismatch(item, below))
            }
            other => Some(format!("cannot restore slice from {}", kind(other))),
        },
        Type::Object => object(value, node),
    }
}

/// Makes of a value that fits what is in its field then: whole numbers, and bytes that came one by one.
pub(super) fn put(value: &mut Value, node: &Node) {
    let bytes = node.format.as_deref() == Some("byte");
    match value {
        Value::Array(items) if bytes => {
            let items = items.iter().map(|item| item.as_f64().unwrap_or_default());
            // What is beyond a byte is cut off.
            let all: Vec<u8> = items.map(|item| (item as i64) as u8).collect();
            *value = base64::engine::general_purpose::STANDARD.encode(all).into();
        }
        Value::Array(items) => {
            if let Some(below) = node.items.as_deref() {
                items.iter_mut().for_each(|item| put(item, below));
            }
        }
        Value::Object(map) => {
            let values = match &node.additional {
                Some(Additional::Schema(values)) => Some(&**values),
                _ => None,
            };
            for (name, found) in map {
                if let Some(below) = node.properties.get(name).or(values) {
                    put(found, below);
                }
            }
        }
        Value::Number(number) if number.is_f64() && node.types.first() == Some(&Type::Integer) => {
            *value = (number.as_f64().unwrap_or_default() as i64).into();
        }
        _ => {}
    }
}

fn object(value: &Value, node: &Node) -> Option<String> {
    let values = match &node.additional {
        Some(Additional::Schema(values)) => Some(&**values),
        _ => None,
    };
    match (value, values) {
        (Value::Object(map), _) => {
            // Bytes that are kept as they are.
            let typed = map.iter().filter(|(name, _)| *name != "fieldsV1");
            typed
                .filter_map(|(name, found)| Some((found, node.properties.get(name).or(values)?)))
                .find_map(|(found, below)| mismatch(found, below))
        }
        (other, Some(_)) => Some(format!("cannot restore map from {}", kind(other))),
        (other, None) => Some(format!("cannot restore struct from: {}", kind(other))),
    }
}

/// A text, or what is read from one.
fn text(value: &Value, format: &str, node: &Node) -> Option<String> {
    match (value, format) {
        (Value::String(text), "byte") => {
            base64_problem(text).map(|why| format!("error decoding from json: {why}"))
        }
        (Value::Array(items), "byte") => {
            let odd = items.iter().find(|item| !item.is_i64() && !item.is_u64());
            odd.map(|_| "unrecognized type: uint8".to_owned())
        }
        (other, "byte") => Some(format!("cannot restore slice from {}", kind(other))),
        (Value::String(text), _) => form(text, format),
        (other, "date-time" | "micro-time") => Some(format!(
            "json: cannot unmarshal {} into Go value of type string",
            printed::go_kind(other)
        )),
        // Go would make a letter of a whole number.
        (other, _) if printed::go_type(other) == "int64" => {
            Some(format!("cannot convert int64 to {}", go_type(node)))
        }
        _ => simple(false, "string"),
    }
}

fn number(value: &Value, node: &Node) -> Option<String> {
    let wanted = go_type(node);
    match value.as_f64() {
        Some(fraction) if fraction.fract() != 0.0 => {
            Some(format!("cannot convert float64 to {wanted}"))
        }
        found => simple(found.is_some(), &wanted),
    }
}

fn simple(fits: bool, wanted: &str) -> Option<String> {
    (!fits).then(|| format!("unrecognized type: {wanted}"))
}

/// What kind of value Go holds.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => printed::go_type(other),
    }
}
