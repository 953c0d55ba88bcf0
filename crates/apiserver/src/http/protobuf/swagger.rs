//! The OpenAPI v2 document in the protobuf form that clients ask for (`com.github.proto-openapi.spec.v2@v1.0+protobuf`).
//!
//! Field numbers are those of the published `OpenAPIv2.proto`; the document is the one that is served as JSON.

use serde_json::{Map, Value};

use super::wire::{put_bytes, put_fixed, put_number};

/// Methods of a path and their field numbers.
const METHODS: [(&str, u64); 7] = [
    ("get", 2),
    ("put", 3),
    ("post", 4),
    ("delete", 5),
    ("options", 6),
    ("head", 7),
    ("patch", 8),
];

/// Writes the document.
pub(in crate::http) fn document(swagger: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    text(&mut out, 1, swagger.get("swagger"));
    let mut info = Vec::new();
    text(&mut info, 1, swagger.pointer("/info/title"));
    text(&mut info, 2, swagger.pointer("/info/version"));
    put_bytes(&mut out, 2, &info);
    let mut paths = Vec::new();
    named(&mut paths, 2, swagger.get("paths"), path);
    put_bytes(&mut out, 8, &paths);
    let mut definitions = Vec::new();
    named(&mut definitions, 1, swagger.get("definitions"), schema);
    put_bytes(&mut out, 9, &definitions);
    out
}

fn text(out: &mut Vec<u8>, number: u64, value: Option<&Value>) {
    if let Some(text) = value.and_then(Value::as_str) {
        put_bytes(out, number, text.as_bytes());
    }
}

fn texts(out: &mut Vec<u8>, number: u64, value: Option<&Value>) {
    for item in value.and_then(Value::as_array).into_iter().flatten() {
        text(out, number, Some(item));
    }
}

fn flag(out: &mut Vec<u8>, number: u64, value: Option<&Value>) {
    if value.and_then(Value::as_bool) == Some(true) {
        put_number(out, number, 1);
    }
}

/// A map as a list of pairs: name 1, value 2.
fn named(out: &mut Vec<u8>, number: u64, map: Option<&Value>, of: impl Fn(&Value) -> Vec<u8>) {
    for (name, value) in map.and_then(Value::as_object).into_iter().flatten() {
        let mut pair = Vec::new();
        put_bytes(&mut pair, 1, name.as_bytes());
        put_bytes(&mut pair, 2, &of(value));
        put_bytes(out, number, &pair);
    }
}

/// Any value, as YAML text (JSON is YAML).
fn any(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, 2, format!("{value}\n").as_bytes());
    out
}

/// `x-…` members.
fn extensions(out: &mut Vec<u8>, number: u64, of: &Value) {
    let empty = Map::new();
    let members = of.as_object().unwrap_or(&empty).iter();
    for (name, value) in members.filter(|(name, _)| name.starts_with("x-")) {
        let mut pair = Vec::new();
        put_bytes(&mut pair, 1, name.as_bytes());
        put_bytes(&mut pair, 2, &any(value));
        put_bytes(out, number, &pair);
    }
}

fn schema(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let get = |name: &str| value.get(name);
    text(&mut out, 1, get("$ref"));
    text(&mut out, 2, get("format"));
    text(&mut out, 3, get("title"));
    text(&mut out, 4, get("description"));
    if let Some(default) = get("default") {
        put_bytes(&mut out, 5, &any(default));
    }
    for (number, name) in [(6, "multipleOf"), (7, "maximum"), (9, "minimum")] {
        if let Some(found) = get(name).and_then(Value::as_f64) {
            put_fixed(&mut out, number, found.to_bits());
        }
    }
    flag(&mut out, 8, get("exclusiveMaximum"));
    flag(&mut out, 10, get("exclusiveMinimum"));
    let counts = [
        (11, "maxLength"),
        (12, "minLength"),
        (14, "maxItems"),
        (15, "minItems"),
        (17, "maxProperties"),
        (18, "minProperties"),
    ];
    for (number, name) in counts {
        if let Some(found) = get(name).and_then(Value::as_u64) {
            put_number(&mut out, number, found);
        }
    }
    text(&mut out, 13, get("pattern"));
    flag(&mut out, 16, get("uniqueItems"));
    texts(&mut out, 19, get("required"));
    for item in get("enum").and_then(Value::as_array).into_iter().flatten() {
        put_bytes(&mut out, 20, &any(item));
    }
    parts(&mut out, value);
    extensions(&mut out, 31, value);
    out
}

/// The schemas in a schema, and its type.
fn parts(out: &mut Vec<u8>, value: &Value) {
    if let Some(more) = value.get("additionalProperties") {
        let mut item = Vec::new();
        match more {
            Value::Bool(allowed) => put_number(&mut item, 2, u64::from(*allowed)),
            more => put_bytes(&mut item, 1, &schema(more)),
        }
        put_bytes(out, 21, &item);
    }
    if let Some(kind) = value.get("type") {
        let mut item = Vec::new();
        text(&mut item, 1, Some(kind));
        texts(&mut item, 1, Some(kind));
        put_bytes(out, 22, &item);
    }
    if let Some(items) = value.get("items") {
        let mut item = Vec::new();
        put_bytes(&mut item, 1, &schema(items));
        put_bytes(out, 23, &item);
    }
    let all = value.get("allOf").and_then(Value::as_array);
    for part in all.into_iter().flatten() {
        put_bytes(out, 24, &schema(part));
    }
    if let Some(properties) = value.get("properties") {
        let mut item = Vec::new();
        named(&mut item, 1, Some(properties), schema);
        put_bytes(out, 25, &item);
    }
}

fn path(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for (method, number) in METHODS {
        if let Some(found) = value.get(method) {
            put_bytes(&mut out, number, &operation(found));
        }
    }
    parameters(&mut out, 9, value);
    extensions(&mut out, 10, value);
    out
}

fn operation(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    texts(&mut out, 1, value.get("tags"));
    text(&mut out, 3, value.get("description"));
    text(&mut out, 5, value.get("operationId"));
    texts(&mut out, 6, value.get("produces"));
    texts(&mut out, 7, value.get("consumes"));
    parameters(&mut out, 8, value);
    let mut responses = Vec::new();
    named(&mut responses, 1, value.get("responses"), response);
    put_bytes(&mut out, 9, &responses);
    extensions(&mut out, 13, value);
    out
}

fn response(value: &Value) -> Vec<u8> {
    let mut response = Vec::new();
    text(&mut response, 1, value.get("description"));
    if let Some(found) = value.get("schema") {
        let mut item = Vec::new();
        put_bytes(&mut item, 1, &schema(found));
        put_bytes(&mut response, 2, &item);
    }
    let mut out = Vec::new();
    put_bytes(&mut out, 1, &response);
    out
}

/// Parameters, each within the two wrappers that say where it stands.
fn parameters(out: &mut Vec<u8>, number: u64, of: &Value) {
    let all = of.get("parameters").and_then(Value::as_array);
    for value in all.into_iter().flatten() {
        let mut inner = Vec::new();
        let place = value.get("in").and_then(Value::as_str).unwrap_or_default();
        let mut parameter = Vec::new();
        if place == "body" {
            text(&mut inner, 1, value.get("description"));
            text(&mut inner, 2, value.get("name"));
            text(&mut inner, 3, value.get("in"));
            flag(&mut inner, 4, value.get("required"));
            let found = value.get("schema").map(schema).unwrap_or_default();
            put_bytes(&mut inner, 5, &found);
            put_bytes(&mut parameter, 1, &inner);
        } else {
            let in_path = place == "path";
            flag(&mut inner, 1, value.get("required"));
            text(&mut inner, 2, value.get("in"));
            text(&mut inner, 3, value.get("description"));
            text(&mut inner, 4, value.get("name"));
            text(&mut inner, if in_path { 5 } else { 6 }, value.get("type"));
            let mut which = Vec::new();
            put_bytes(&mut which, if in_path { 4 } else { 3 }, &inner);
            put_bytes(&mut parameter, 2, &which);
        }
        let mut item = Vec::new();
        put_bytes(&mut item, 1, &parameter);
        put_bytes(out, number, &item);
    }
}
