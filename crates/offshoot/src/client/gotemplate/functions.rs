//! The functions of templates: Go's own that make sense for objects, and kubectl's two.

use std::cmp::Ordering;

use base64::Engine as _;
use serde_json::Value;

use super::format::{plain, printf, truth};

/// What a template may call.
pub(super) const KNOWN: [&str; 18] = [
    "and",
    "or",
    "not",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "len",
    "index",
    "slice",
    "print",
    "printf",
    "println",
    "urlquery",
    "exists",
    "base64decode",
];

/// Calls a function; the text of what is wrong.
pub(super) fn call(name: &str, arguments: Vec<Value>) -> Result<Value, String> {
    let least = match name {
        "print" | "println" | "urlquery" => 0,
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => 2,
        _ => 1,
    };
    let most = match name {
        "not" | "len" | "base64decode" => 1,
        "ne" | "lt" | "le" | "gt" | "ge" => 2,
        _ => usize::MAX,
    };
    let count = arguments.len();
    if count < least || count > most {
        return Err(format!("wrong number of arguments for {name}: {count}"));
    }
    match (name, arguments.as_slice()) {
        ("and" | "or", all) => Ok(first_or_last(name == "or", all)),
        ("not", [value]) => Ok((!truth(value)).into()),
        ("eq", [first, rest @ ..]) => {
            let mut found = false;
            for other in rest {
                found = found || equal(first, other)?;
            }
            Ok(found.into())
        }
        ("ne", [a, b]) => Ok((!equal(a, b)?).into()),
        ("lt", [a, b]) => Ok(order(a, b)?.is_lt().into()),
        ("le", [a, b]) => Ok(order(a, b)?.is_le().into()),
        ("gt", [a, b]) => Ok(order(a, b)?.is_gt().into()),
        ("ge", [a, b]) => Ok(order(a, b)?.is_ge().into()),
        ("len", [value]) => length(value),
        ("index", [value, keys @ ..]) => keys
            .iter()
            .try_fold(value.clone(), |value, key| index(&value, key)),
        ("slice", [value, bounds @ ..]) => slice(value, bounds),
        ("exists", [value, keys @ ..]) => Ok(exists(value, keys).into()),
        ("print", all) => Ok(joined(all).into()),
        ("println", all) => {
            let texts: Vec<_> = all.iter().map(plain).collect();
            Ok(format!("{}\n", texts.join(" ")).into())
        }
        ("printf", [format, rest @ ..]) => match format {
            Value::String(format) => printf(format, rest).map(Value::String),
            other => Err(format!("printf: {} is no format", plain(other))),
        },
        ("urlquery", all) => Ok(query(&joined(all)).into()),
        ("base64decode", [value]) => decoded(value),
        _ => Err(format!("{name} cannot be called so")),
    }
}

fn first_or_last(wanted: bool, all: &[Value]) -> Value {
    let found = all.iter().find(|value| truth(value) == wanted);
    found.or_else(|| all.last()).cloned().unwrap_or_default()
}

/// What a value is, in Go's words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "type bool",
        Value::Number(_) => "type number",
        Value::String(_) => "type string",
        Value::Array(_) => "type slice",
        Value::Object(_) => "type map",
    }
}

fn equal(a: &Value, b: &Value) -> Result<bool, String> {
    match (a, b) {
        (Value::Null, other) | (other, Value::Null) => Ok(other.is_null()),
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => {
            Err(format!("cannot compare {} and {}", kind(a), kind(b)))
        }
        (Value::Number(_), Value::Number(_)) => Ok(order(a, b)?.is_eq()),
        (a, b) if kind(a) == kind(b) => Ok(a == b),
        (a, b) => Err(format!(
            "incompatible types for comparison: {} and {}",
            kind(a),
            kind(b)
        )),
    }
}

fn order(a: &Value, b: &Value) -> Result<Ordering, String> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Number(x), Value::Number(y)) => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => Ok(x.cmp(&y)),
            _ => x
                .as_f64()
                .zip(y.as_f64())
                .and_then(|(x, y)| x.partial_cmp(&y))
                .ok_or_else(|| format!("cannot compare {a} and {b}")),
        },
        _ => Err(format!("cannot compare {} and {}", kind(a), kind(b))),
    }
}

fn length(value: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => text.len().into(),
        Value::Array(items) => items.len().into(),
        Value::Object(map) => map.len().into(),
        other => return Err(format!("len of {}", kind(other))),
    })
}

fn index(value: &Value, key: &Value) -> Result<Value, String> {
    match (value, key) {
        (Value::Object(map), Value::String(key)) => Ok(map.get(key).cloned().unwrap_or_default()),
        (Value::Array(items), Value::Number(at)) => {
            let found = at
                .as_u64()
                .and_then(|at| items.get(usize::try_from(at).ok()?));
            found
                .cloned()
                .ok_or_else(|| format!("index out of range: {at}"))
        }
        (Value::Null, _) => Err("index of untyped nil".to_owned()),
        (value, key) => Err(format!("cannot index {} with {}", kind(value), kind(key))),
    }
}

fn exists(value: &Value, keys: &[Value]) -> bool {
    let found = keys
        .iter()
        .try_fold(value.clone(), |value, key| match (&value, key) {
            (Value::Object(map), Value::String(key)) => map.get(key).cloned(),
            (Value::Array(_), _) => index(&value, key).ok(),
            _ => None,
        });
    found.is_some()
}

fn slice(value: &Value, bounds: &[Value]) -> Result<Value, String> {
    let wrong = || "slice: bounds are out of range".to_owned();
    let number = |at: usize, default: usize| match bounds.get(at) {
        None => Ok(default),
        Some(bound) => bound
            .as_u64()
            .and_then(|bound| usize::try_from(bound).ok())
            .ok_or_else(wrong),
    };
    match value {
        Value::String(text) => {
            let part = text.get(number(0, 0)?..number(1, text.len())?);
            part.map(Value::from).ok_or_else(wrong)
        }
        Value::Array(items) => {
            let part = items.get(number(0, 0)?..number(1, items.len())?);
            part.map(|part| part.to_vec().into()).ok_or_else(wrong)
        }
        other => Err(format!("slice of {}", kind(other))),
    }
}

/// Go's `Sprint`: a blank between two operands of which none is a text.
fn joined(all: &[Value]) -> String {
    let mut out = String::new();
    for (i, value) in all.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| all.get(i));
        if before.is_some_and(|b| !b.is_string() && !value.is_string()) {
            out.push(' ');
        }
        out.push_str(&plain(value));
    }
    out
}

fn query(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => out.push(char::from(b)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

fn decoded(value: &Value) -> Result<Value, String> {
    let text = value.as_str().unwrap_or_default();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    let bytes = bytes.map_err(|e| format!("base64 decode failed: {e}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}
