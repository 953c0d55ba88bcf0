//! Protobuf of built-in kinds: typed clients of the Kubernetes libraries read and write them so.
//!
//! A body is the four bytes `k8s\0` and a `runtime.Unknown` around the object. It is turned into the JSON that
//! the same client would have sent, and what is answered is made from the JSON that would be answered; field numbers are
//! those of the published types ([`table`]). Custom resources have no such form.

mod read;
mod swagger;
mod table;
mod wire;
mod write;

use serde_json::Value;

pub(super) use swagger::document as openapi_document;
use table::tables;
use wire::{Wire, field, put_bytes};

/// The first bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

/// The media type.
pub(super) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

/// Turns a body into an object; says what is broken about it.
pub(super) fn object(bytes: &[u8]) -> Result<Value, String> {
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(
        "provided data does not appear to be a protobuf message, expected prefix 6b387300",
    )?;
    let (mut types, mut raw): (&[u8], &[u8]) = (&[], &[]);
    while !rest.is_empty() {
        let (number, wire, after) = field(rest)?;
        rest = after;
        match (number, wire) {
            (1, Wire::Bytes(inner)) => types = inner,
            (2, Wire::Bytes(inner)) => raw = inner,
            _ => {}
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    while !types.is_empty() {
        let (number, wire, after) = field(types)?;
        types = after;
        let Wire::Bytes(text) = wire else { continue };
        let text = std::str::from_utf8(text).map_err(|_| "a text is not UTF-8".to_owned())?;
        match number {
            1 => text.clone_into(&mut api_version),
            2 => text.clone_into(&mut kind),
            _ => {}
        }
    }
    let table = tables()
        .of(group_of(&api_version), &kind)
        .ok_or_else(|| format!("no kind \"{kind}\" is registered for version \"{api_version}\""))?;
    let mut object = read::message(raw, table, 0)?;
    if let Some(root) = object.as_object_mut() {
        root.insert("apiVersion".to_owned(), api_version.into());
        root.insert("kind".to_owned(), kind.into());
    }
    Ok(object)
}

/// Turns an object into a body; `None` for what has no protobuf form.
pub(super) fn body(object: &Value) -> Option<Vec<u8>> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let table = tables().of(group_of(api_version), kind)?;
    let mut types = Vec::new();
    put_bytes(&mut types, 1, api_version.as_bytes());
    put_bytes(&mut types, 2, kind.as_bytes());
    let mut out = MAGIC.to_vec();
    put_bytes(&mut out, 1, &types);
    put_bytes(&mut out, 2, &write::message(object, table));
    put_bytes(&mut out, 3, b"");
    put_bytes(&mut out, 4, b"");
    Some(out)
}

/// Whether a built-in kind has a protobuf form here.
pub(super) fn knows(group: &str, kind: &str) -> bool {
    tables().of(group, kind).is_some()
}

/// One event of a watch: its length in four bytes, and a `WatchEvent` around a whole body.
pub(super) fn frame(word: &str, object: &Value) -> Option<Vec<u8>> {
    let mut raw = Vec::new();
    put_bytes(&mut raw, 1, &body(object)?);
    let mut event = Vec::new();
    put_bytes(&mut event, 1, word.as_bytes());
    put_bytes(&mut event, 2, &raw);
    let length = u32::try_from(event.len()).ok()?;
    let mut out = length.to_be_bytes().to_vec();
    out.extend_from_slice(&event);
    Some(out)
}

fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests;
