//! From protobuf to the JSON that the same client would have sent.

use base64::Engine as _;
use serde_json::{Map, Value};

use super::table::{Field, FieldKind, Shape, tables};
use super::wire::{Wire, field};

/// Deeper messages are refused.
const DEPTH: usize = 64;

/// Takes a message apart by its table; unknown fields are left out, as Go's decoder does.
pub(super) fn message(mut bytes: &[u8], table: usize, depth: usize) -> Result<Value, String> {
    if depth > DEPTH {
        return Err("the message is nested too deeply".to_owned());
    }
    let fields = tables().message(table);
    let mut out = Map::new();
    while !bytes.is_empty() {
        let (number, wire, rest) = field(bytes)?;
        bytes = rest;
        let Some(field) = fields.iter().find(|f| f.number == number) else {
            continue;
        };
        match field.shape {
            Shape::Map => {
                let Wire::Bytes(entry) = wire else {
                    return Err(wrong(field));
                };
                let (key, value) = self::entry(entry, field, depth)?;
                let map = out.entry(field.name).or_insert_with(|| Map::new().into());
                if let Some(map) = map.as_object_mut() {
                    map.insert(key, value);
                }
            }
            Shape::List => {
                let value = value(field, wire, depth)?;
                let list = out
                    .entry(field.name)
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Some(list) = list.as_array_mut() {
                    list.push(value);
                }
            }
            Shape::One | Shape::Maybe => {
                let value = value(field, wire, depth)?;
                let hidden = field.shape == Shape::One && !field.always && empty(&value);
                if hidden || value.is_null() && matches!(field.kind, FieldKind::Time { .. }) {
                    out.shift_remove(field.name);
                } else {
                    out.insert(field.name.to_owned(), value);
                }
            }
        }
    }
    Ok(out.into())
}

/// What Go's types leave out of JSON.
fn empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(_) | Value::Bool(true) => false,
    }
}

fn wrong(field: &Field) -> String {
    format!("proto: wrong wireType for field {}", field.name)
}

fn value(field: &Field, wire: Wire<'_>, depth: usize) -> Result<Value, String> {
    match (field.kind, wire) {
        (FieldKind::Int, Wire::Number(n)) => Ok(Value::from(n.cast_signed())),
        (FieldKind::Bool, Wire::Number(n)) => Ok(Value::from(n != 0)),
        (FieldKind::Double, Wire::Fixed(n)) => Ok(double(f64::from_bits(n))),
        (_, Wire::Bytes(bytes)) => delimited(field, bytes, depth),
        _ => Err(wrong(field)),
    }
}

/// A number as JSON writes it: whole ones without a fraction.
fn double(number: f64) -> Value {
    let whole = format!("{number}").parse::<i64>();
    whole.map_or_else(|_| Value::from(number), Value::from)
}

fn text(bytes: &[u8]) -> Result<Value, String> {
    std::str::from_utf8(bytes)
        .map(Value::from)
        .map_err(|_| "a text is not UTF-8".to_owned())
}

fn delimited(field: &Field, bytes: &[u8], depth: usize) -> Result<Value, String> {
    let schema = |bytes| message(bytes, tables().schema, depth + 1);
    match field.kind {
        FieldKind::Text => text(bytes),
        FieldKind::Bytes => Ok(base64::engine::general_purpose::STANDARD
            .encode(bytes)
            .into()),
        FieldKind::Message(table) => message(bytes, table, depth + 1),
        FieldKind::Time { micro } => time(bytes, micro),
        FieldKind::Json => {
            let raw = parts(bytes)?
                .into_iter()
                .find_map(|(n, raw)| (n == 1).then_some(raw));
            raw.filter(|raw| !raw.is_empty())
                .map_or(Ok(Value::Null), |raw| {
                    serde_json::from_slice(raw).map_err(|e| e.to_string())
                })
        }
        FieldKind::Texts => parts(bytes)?.into_iter().map(|(_, t)| text(t)).collect(),
        FieldKind::OrBool => {
            let found = parts(bytes)?.into_iter().find(|(n, _)| *n == 2);
            match found {
                Some((_, bytes)) => schema(bytes),
                None => Ok(Value::from(first_number(bytes)? != 0)),
            }
        }
        FieldKind::OrArray | FieldKind::OrTexts => {
            let parts = parts(bytes)?;
            let many = parts.iter().filter(|(n, _)| *n == 2).map(|(_, b)| *b);
            match parts.iter().find(|(n, _)| *n == 1) {
                Some((_, one)) => schema(one),
                None if field.kind == FieldKind::OrArray => many.map(schema).collect(),
                None => many.map(text).collect(),
            }
        }
        FieldKind::Int | FieldKind::Bool | FieldKind::Double => Err(wrong(field)),
    }
}

/// The fields of a small message that have lengths.
fn parts(mut bytes: &[u8]) -> Result<Vec<(u64, &[u8])>, String> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let (number, wire, rest) = field(bytes)?;
        bytes = rest;
        if let Wire::Bytes(inner) = wire {
            out.push((number, inner));
        }
    }
    Ok(out)
}

/// The number in field 1 of a small message.
fn first_number(mut bytes: &[u8]) -> Result<u64, String> {
    let mut found = 0;
    while !bytes.is_empty() {
        let (number, wire, rest) = field(bytes)?;
        bytes = rest;
        if let (1, Wire::Number(n)) = (number, wire) {
            found = n;
        }
    }
    Ok(found)
}

/// A map entry: key 1, value 2; both may be missing.
fn entry(mut bytes: &[u8], of: &Field, depth: usize) -> Result<(String, Value), String> {
    let (mut key, mut found) = (String::new(), None);
    while !bytes.is_empty() {
        let (number, wire, rest) = field(bytes)?;
        bytes = rest;
        match (number, wire) {
            (1, Wire::Bytes(text)) => {
                key = std::str::from_utf8(text)
                    .map_err(|_| "a key is not UTF-8".to_owned())?
                    .to_owned();
            }
            (2, wire) => found = Some(value(of, wire, depth)?),
            _ => {}
        }
    }
    let found = match found {
        Some(found) => found,
        None => delimited(of, &[], depth)?,
    };
    Ok((key, found))
}

/// A point in time: seconds 1, nanoseconds 2; nothing at all is no time.
fn time(mut bytes: &[u8], micro: bool) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    while !bytes.is_empty() {
        let (number, wire, rest) = field(bytes)?;
        bytes = rest;
        match (number, wire) {
            (1, Wire::Number(n)) => seconds = n.cast_signed(),
            (2, Wire::Number(n)) => {
                nanos = i32::try_from(n.cast_signed()).map_err(|e| e.to_string())?;
            }
            _ => {}
        }
    }
    let nanos = if micro { nanos } else { 0 };
    let at = jiff::Timestamp::new(seconds, nanos).map_err(|e| e.to_string())?;
    let form = if micro {
        "%Y-%m-%dT%H:%M:%S.%6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    Ok(at.strftime(form).to_string().into())
}
