//! Protobuf bodies of built-in kinds: typed clients of the Kubernetes libraries send them and know no other way.
//!
//! A body is the four bytes `k8s\0` and a `runtime.Unknown` around the object. It is turned into the JSON that
//! the same client would have sent; field numbers are those of the published `generated.proto` files
//! ([`tables`]). Answers are JSON: those clients accept it.

mod tables;

use base64::Engine as _;
use serde_json::{Map, Value};

use tables::{Field, Kind, Message};

/// The first bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

/// Deeper messages are refused.
const DEPTH: usize = 32;

/// Turns a body into an object; says what is broken about it.
pub(super) fn object(bytes: &[u8]) -> Result<Value, String> {
    let inner = bytes.strip_prefix(MAGIC).ok_or(
        "provided data does not appear to be a protobuf message, expected prefix 6b387300",
    )?;
    let envelope = message(inner, tables::UNKNOWN, 0)?;
    let text = |pointer: &str| {
        envelope
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (api_version, kind) = (text("/typeMeta/apiVersion"), text("/typeMeta/kind"));
    let raw = base64::engine::general_purpose::STANDARD
        .decode(text("/raw"))
        .map_err(|e| e.to_string())?;
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let table = tables::of(group, &kind)
        .ok_or_else(|| format!("no kind \"{kind}\" is registered for version \"{api_version}\""))?;
    let mut object = message(&raw, table, 0)?;
    if let Some(root) = object.as_object_mut() {
        root.insert("apiVersion".to_owned(), api_version.into());
        root.insert("kind".to_owned(), kind.into());
    }
    Ok(object)
}

/// One field as it stands on the wire.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Skipped,
}

/// Takes a message apart by its table; unknown fields are left out, as Go's decoder does.
fn message(mut bytes: &[u8], table: Message, depth: usize) -> Result<Value, String> {
    if depth > DEPTH {
        return Err("the message is nested too deeply".to_owned());
    }
    let mut out = Map::new();
    while !bytes.is_empty() {
        let (number, wire, rest) = field(bytes)?;
        bytes = rest;
        let Some(Field { name, kind, .. }) = table.iter().find(|f| f.number == number) else {
            continue;
        };
        let value = match (kind, wire) {
            (Kind::Int, Wire::Number(n)) => Value::from(n.cast_signed()),
            (Kind::Bool, Wire::Number(n)) => Value::from(n != 0),
            (kind, Wire::Bytes(bytes)) => delimited(*kind, bytes, depth)?,
            _ => return Err(format!("field {name} has a wrong wire type")),
        };
        place(&mut out, name, *kind, value);
    }
    Ok(out.into())
}

/// Puts a value where it belongs; what Go's types leave out of JSON when it is empty is left out.
fn place(out: &mut Map<String, Value>, name: &str, kind: Kind, value: Value) {
    let empty = match &value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Null => true,
        _ => false,
    };
    match kind {
        Kind::Texts | Kind::Messages(_) => {
            let list = out.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Some(list) = list.as_array_mut() {
                list.push(value);
            }
        }
        Kind::TextMap | Kind::BytesMap => {
            let map = out.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if let (Some(map), Value::Object(entry)) = (map.as_object_mut(), value) {
                map.extend(entry);
            }
        }
        _ if empty => {}
        _ => drop(out.insert(name.to_owned(), value)),
    }
}

fn delimited(kind: Kind, bytes: &[u8], depth: usize) -> Result<Value, String> {
    let text = |bytes: &[u8]| {
        std::str::from_utf8(bytes)
            .map(Value::from)
            .map_err(|_| "a text is not UTF-8".to_owned())
    };
    let base64 =
        |bytes: &[u8]| Value::from(base64::engine::general_purpose::STANDARD.encode(bytes));
    match kind {
        Kind::Text | Kind::Texts => text(bytes),
        Kind::Bytes => Ok(base64(bytes)),
        Kind::Message(table) | Kind::Messages(table) => message(bytes, table, depth + 1),
        Kind::TextMap => entry(bytes, text),
        Kind::BytesMap => entry(bytes, |bytes| Ok(base64(bytes))),
        Kind::Time { micro } => time(bytes, micro),
        Kind::Json => {
            let Value::Object(map) = message(bytes, tables::RAW, depth + 1)? else {
                return Ok(Value::Null);
            };
            let raw = map.get("raw").and_then(Value::as_str).unwrap_or_default();
            let raw = base64::engine::general_purpose::STANDARD
                .decode(raw)
                .map_err(|e| e.to_string())?;
            serde_json::from_slice(&raw).map_err(|e| e.to_string())
        }
        Kind::Int | Kind::Bool => Err("a number has a wrong wire type".to_owned()),
    }
}

/// A map entry: key 1, value 2; both may be missing.
fn entry(
    mut bytes: &[u8],
    value_of: impl Fn(&[u8]) -> Result<Value, String>,
) -> Result<Value, String> {
    let (mut key, mut value) = (String::new(), value_of(&[])?);
    while !bytes.is_empty() {
        let (number, wire, rest) = field(bytes)?;
        bytes = rest;
        match (number, wire) {
            (1, Wire::Bytes(text)) => {
                key = std::str::from_utf8(text)
                    .map_err(|_| "a key is not UTF-8".to_owned())?
                    .to_owned();
            }
            (2, Wire::Bytes(bytes)) => value = value_of(bytes)?,
            _ => {}
        }
    }
    let mut map = Map::new();
    map.insert(key, value);
    Ok(map.into())
}

/// A point in time: seconds 1, nanoseconds 2; none at all is no time.
fn time(bytes: &[u8], micro: bool) -> Result<Value, String> {
    let parts = message(bytes, tables::TIMESTAMP, 0)?;
    let number = |name: &str| parts.get(name).and_then(Value::as_i64).unwrap_or(0);
    let (seconds, nanos) = (number("seconds"), number("nanos"));
    if seconds == 0 && nanos == 0 {
        return Ok(Value::Null);
    }
    let nanos = i32::try_from(nanos).map_err(|e| e.to_string())?;
    let at = jiff::Timestamp::new(seconds, nanos).map_err(|e| e.to_string())?;
    let form = if micro {
        "%Y-%m-%dT%H:%M:%S.%6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    Ok(at.strftime(form).to_string().into())
}

/// Reads one field: its number, its value, and what follows.
fn field(bytes: &[u8]) -> Result<(u64, Wire<'_>, &[u8]), String> {
    const SHORT: &str = "unexpected EOF";
    let (key, rest) = varint(bytes)?;
    let fixed = |len: usize| {
        rest.get(len..)
            .map(|rest| (Wire::Skipped, rest))
            .ok_or(SHORT)
    };
    let (wire, rest) = match key & 7 {
        0 => varint(rest).map(|(n, rest)| (Wire::Number(n), rest))?,
        1 => fixed(8)?,
        5 => fixed(4)?,
        2 => {
            let (len, rest) = varint(rest)?;
            let len = usize::try_from(len).map_err(|_| SHORT)?;
            let (inner, rest) = rest.split_at_checked(len).ok_or(SHORT)?;
            (Wire::Bytes(inner), rest)
        }
        other => return Err(format!("proto: illegal wireType {other}")),
    };
    Ok((key >> 3, wire, rest))
}

fn varint(bytes: &[u8]) -> Result<(u64, &[u8]), String> {
    let mut value = 0_u64;
    for (i, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((value, bytes.get(i + 1..).unwrap_or_default()));
        }
    }
    Err("unexpected EOF".to_owned())
}

#[cfg(test)]
mod tests;
