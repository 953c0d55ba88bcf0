//! From stored JSON to protobuf, field for field as Go's encoder writes it: in the order of their numbers, and what is no
//! pointer even when it is empty.

use base64::Engine as _;
use serde_json::Value;

use super::table::{Field, FieldKind, Shape, tables};
use super::wire::{put_bytes, put_fixed, put_number};

/// Writes a message.
pub(super) fn message(value: &Value, table: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for field in tables().message(table) {
        let found = value.get(field.name).filter(|v| !v.is_null());
        match field.shape {
            Shape::One => one(&mut out, field, found),
            Shape::Maybe => {
                if let Some(found) = found {
                    put(&mut out, field.number, field.kind, found);
                }
            }
            Shape::List => {
                for item in found.and_then(Value::as_array).into_iter().flatten() {
                    put(&mut out, field.number, field.kind, item);
                }
            }
            Shape::Map => {
                let map = found.and_then(Value::as_object);
                let mut entries: Vec<_> = map.into_iter().flatten().collect();
                entries.sort_unstable_by_key(|(key, _)| key.as_str());
                for (key, item) in entries {
                    let mut entry = Vec::new();
                    put_bytes(&mut entry, 1, key.as_bytes());
                    put(&mut entry, 2, field.kind, item);
                    put_bytes(&mut out, field.number, &entry);
                }
            }
        }
    }
    out
}

/// Writes a field that is there even when it is empty; lists of bytes and of texts may be missing.
fn one(out: &mut Vec<u8>, field: &Field, found: Option<&Value>) {
    let missing_too = !matches!(field.kind, FieldKind::Bytes | FieldKind::Texts);
    match found {
        Some(found) => put(out, field.number, field.kind, found),
        None if missing_too => put(out, field.number, field.kind, &Value::Null),
        None => {}
    }
}

fn put(out: &mut Vec<u8>, number: u64, kind: FieldKind, value: &Value) {
    let text = value.as_str().unwrap_or_default();
    match kind {
        FieldKind::Text => put_bytes(out, number, text.as_bytes()),
        FieldKind::Bytes => put_bytes(out, number, &bytes(text)),
        FieldKind::Int => put_number(
            out,
            number,
            value.as_i64().unwrap_or_default().cast_unsigned(),
        ),
        FieldKind::Bool => put_number(out, number, u64::from(value.as_bool() == Some(true))),
        FieldKind::Double => put_fixed(out, number, value.as_f64().unwrap_or_default().to_bits()),
        FieldKind::Time { micro } => put_bytes(out, number, &time(text, micro)),
        FieldKind::Message(table) => put_bytes(out, number, &message(value, table)),
        FieldKind::Json => {
            let mut inner = Vec::new();
            // Go keeps no text for a null.
            if !value.is_null() {
                put_bytes(&mut inner, 1, value.to_string().as_bytes());
            }
            put_bytes(out, number, &inner);
        }
        FieldKind::Texts => {
            let mut inner = Vec::new();
            for item in value.as_array().into_iter().flatten() {
                put_bytes(&mut inner, 1, item.as_str().unwrap_or_default().as_bytes());
            }
            put_bytes(out, number, &inner);
        }
        FieldKind::OrBool | FieldKind::OrArray | FieldKind::OrTexts => {
            put_bytes(out, number, &either(kind, value));
        }
    }
}

/// A schema, or what may stand in its place.
fn either(kind: FieldKind, value: &Value) -> Vec<u8> {
    let schema = |value| message(value, tables().schema);
    let mut out = Vec::new();
    match (kind, value) {
        (FieldKind::OrBool, Value::Bool(allows)) => put_number(&mut out, 1, u64::from(*allows)),
        (FieldKind::OrBool, value) => {
            put_number(&mut out, 1, 1);
            put_bytes(&mut out, 2, &schema(value));
        }
        (FieldKind::OrArray, Value::Array(items)) => {
            for item in items {
                put_bytes(&mut out, 2, &schema(item));
            }
        }
        (_, Value::Array(items)) => {
            for item in items {
                put_bytes(&mut out, 2, item.as_str().unwrap_or_default().as_bytes());
            }
        }
        (_, value) => put_bytes(&mut out, 1, &schema(value)),
    }
    out
}

fn bytes(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap_or_default()
}

/// A point in time; what is none is nothing.
fn time(text: &str, micro: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        // Before 1970, too, the fraction counts forward.
        const SECOND: i128 = 1_000_000_000;
        let whole = at.as_nanosecond().div_euclid(SECOND);
        let nanos = at.as_nanosecond().rem_euclid(SECOND);
        let nanos = if micro { nanos - nanos % 1000 } else { 0 };
        put_number(
            &mut out,
            1,
            i64::try_from(whole).unwrap_or_default().cast_unsigned(),
        );
        put_number(&mut out, 2, u64::try_from(nanos).unwrap_or_default());
    }
    out
}
