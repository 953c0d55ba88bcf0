//! The structural rules of apiextensions/v1 ("Specifying a structural schema"), with the real server's texts.
//!
//! What is wrong is looked for as the real server does: the structure first, defaults once that is sound, rules of CEL once those
//! are; what every schema is held to (`words`) in any case.

use serde_json::Value;

use super::cel::Stack;
use super::error::FieldError;
use super::node::Node;
use super::render::{child, index, key};
use super::words::{self, flag, text};

/// What is wrong with a schema; `read` was found when it was read.
pub(crate) fn errors(
    schema: &Value,
    root: &Node,
    base: &str,
    read: Vec<FieldError>,
    stack: Stack,
) -> Vec<FieldError> {
    let (patterns, read): (Vec<_>, Vec<_>) =
        read.into_iter().partition(|e| e.path.ends_with(".pattern"));
    let readable = !has_unsupported(schema);
    let mut errors = Vec::new();
    if readable {
        invariants(schema, Level::Root, base, &mut errors);
        complete(schema, schema, (base, base), &mut errors);
        errors.extend(patterns);
        if errors.is_empty() && read.is_empty() {
            super::default::check(root, base, &mut errors);
        }
    }
    let sound = readable && errors.is_empty();
    let mut all = read;
    words::check(schema, base, &mut all);
    if sound {
        let mut rules = Vec::new();
        super::cel::check(root, base, stack, &mut rules);
        // What is wrong at a place or below it keeps its rules from being read.
        rules.retain(|rule| {
            !all.iter()
                .any(|word| within(&word.path, node_of(&rule.path)))
        });
        errors.extend(rules);
    }
    errors.extend(all);
    errors
}

/// The place of the schema that a rule's path speaks of.
fn node_of(path: &str) -> &str {
    path.split(".x-kubernetes-validations")
        .next()
        .unwrap_or_default()
}

fn within(path: &str, place: &str) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a schema, or one within it, has a word that no structural schema can hold.
fn has_unsupported(schema: &Value) -> bool {
    let has = |(word, _): &(&str, &str)| schema.get(word).is_some_and(|v| !v.is_null());
    let list = |word: &str| schema.get(word).and_then(Value::as_array);
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(list);
    let below = schema.get("properties").and_then(Value::as_object);
    let one = ["items", "additionalProperties", "not"].map(|word| schema.get(word));
    words::UNSUPPORTED.iter().any(has)
        || schema.get("items").is_some_and(Value::is_array)
        || below.is_some_and(|all| all.values().any(has_unsupported))
        || lists.flatten().any(has_unsupported)
        || one.into_iter().flatten().any(has_unsupported)
}

/// Where a schema stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

fn parts<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    let list = schema.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let all = schema.get("properties").and_then(Value::as_object);
    all.into_iter().flatten()
}

fn below<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get(name).filter(|found| found.is_object())
}

/// What additional properties are said to be, if anything is.
fn additional(schema: &Value) -> Option<&Value> {
    schema
        .get("additionalProperties")
        .filter(|found| !found.is_null())
}

fn invariants(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    match below(schema, "items") {
        Some(items) => invariants(items, Level::Item, &child(path, "items"), errors),
        None if text(schema, "type") == "array" => {
            errors.push(FieldError::required(
                &child(path, "items"),
                "must be specified",
            ));
        }
        None => {}
    }
    let base = child(path, "properties");
    for (name, property) in properties(schema) {
        invariants(property, Level::Field, &key(&base, name), errors);
    }
    if let Some(found) = additional(schema) {
        let at = child(path, "additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&at, "must not be used at the root"));
        }
        if found.is_object() {
            invariants(found, Level::Field, &at, errors);
        }
    }
    extensions(schema, path, errors);
    logic(schema, patterns_of_int_or_string(schema), path, errors);
    types(schema, level, path, errors);
    metadata(schema, level, path, errors);
}

fn extensions(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for name in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if flag(schema, "x-kubernetes-int-or-string") && flag(schema, name) {
            let why = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(&child(path, name), true, why));
        }
    }
}

fn types(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let (kind, at) = (text(schema, "type"), child(path, "type"));
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let free = flag(schema, "x-kubernetes-int-or-string")
        || flag(schema, "x-kubernetes-preserve-unknown-fields");
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => FieldError::required(&at, why),
            _ => FieldError::invalid(&at, kind, why),
        });
    } else if kind.is_empty() && !free {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&at, why));
    }
    if embedded && additional(schema).is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            &child(path, "additionalProperties"),
            why,
        ));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(&at, kind, "must be object at the root"));
    }
    let preserves = flag(schema, "x-kubernetes-preserve-unknown-fields");
    if embedded && !preserves && properties(schema).next().is_none() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&child(path, "properties"), why));
    }
}

/// What is said of the fields that every object has.
fn metadata(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    if level != Level::Root && !flag(schema, "x-kubernetes-embedded-resource") {
        return;
    }
    let base = child(path, "properties");
    let wanted = [
        ("kind", "string"),
        ("apiVersion", "string"),
        ("metadata", "object"),
    ];
    for (name, wanted) in wanted {
        let Some(found) = schema.get("properties").and_then(|p| p.get(name)) else {
            continue;
        };
        let kind = text(found, "type");
        if kind != wanted {
            let at = child(&key(&base, name), "type");
            errors.push(FieldError::invalid(&at, kind, format!("must be {wanted}")));
        }
    }
    let metadata = schema.pointer("/properties/metadata");
    if level == Level::Root && metadata.is_some_and(|found| !only_names(found)) {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(&key(&base, "metadata"), why));
    }
}

/// Whether a schema of metadata limits names alone.
fn only_names(metadata: &Value) -> bool {
    let said = metadata.as_object().into_iter().flatten();
    said.filter(|(_, value)| !nothing(value))
        .all(|(word, value)| match word.as_str() {
            "type" | "default" => true,
            "properties" => value
                .as_object()
                .is_some_and(|all| all.keys().all(|k| k == "name" || k == "generateName")),
            _ => false,
        })
}

/// A value that Go leaves out.
fn nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Whether a list is what stands for a number or a text: it may say types where nothing else may.
fn is_int_or_string(any_of: &[Value]) -> bool {
    let alone = |schema: &Value, kind: &str| {
        schema
            .as_object()
            .is_some_and(|map| map.len() == 1 && text(schema, "type") == kind)
    };
    matches!(any_of, [a, b] if alone(a, "integer") && alone(b, "string"))
}

/// Whether `anyOf` is that list, or that of the first part of `allOf`.
fn patterns_of_int_or_string(schema: &Value) -> (bool, bool) {
    let first = parts(schema, "allOf").first();
    (
        is_int_or_string(parts(schema, "anyOf")),
        first.is_some_and(|part| is_int_or_string(parts(part, "anyOf"))),
    )
}

/// The combinations of a schema.
fn logic(
    schema: &Value,
    (skip_any, skip_first): (bool, bool),
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for name in ["anyOf", "allOf", "oneOf"] {
        if name == "anyOf" && skip_any {
            continue;
        }
        for (i, part) in parts(schema, name).iter().enumerate() {
            let skip = name == "allOf" && i == 0 && skip_first;
            nested(part, skip, &index(&child(path, name), i), errors);
        }
    }
    if let Some(part) = below(schema, "not") {
        nested(part, false, &child(path, "not"), errors);
    }
}

/// Inside allOf, anyOf, oneOf and not: only value validation, nothing structural.
fn nested(schema: &Value, skip_any: bool, path: &str, errors: &mut Vec<FieldError>) {
    const FORBIDDEN: [(&str, &str); 12] = [
        ("type", "empty"),
        ("default", "undefined"),
        ("title", "empty"),
        ("description", "empty"),
        ("nullable", "false"),
        ("x-kubernetes-preserve-unknown-fields", "false"),
        ("x-kubernetes-embedded-resource", "false"),
        ("x-kubernetes-int-or-string", "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-map-type", "undefined"),
        ("x-kubernetes-validations", "empty"),
    ];
    logic(schema, (skip_any, false), path, errors);
    if let Some(items) = below(schema, "items") {
        nested(items, false, &child(path, "items"), errors);
    }
    let base = child(path, "properties");
    for (name, part) in properties(schema) {
        nested(part, false, &key(&base, name), errors);
    }
    if additional(schema).is_some_and(|found| *found != false) {
        let why = "must be undefined to be structural";
        errors.push(FieldError::forbidden(
            &child(path, "additionalProperties"),
            why,
        ));
    }
    for (word, wanted) in FORBIDDEN {
        if schema.get(word).is_some_and(|found| !nothing(found)) {
            let why = format!("must be {wanted} to be structural");
            errors.push(FieldError::forbidden(&child(path, word), why));
        }
    }
    if schema.pointer("/properties/metadata").is_some() {
        let why = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(&key(&base, "metadata"), why));
    }
}

/// Whatever a combination names has to be there outside of it, too.
fn complete(part: &Value, schema: &Value, (at, from): (&str, &str), errors: &mut Vec<FieldError>) {
    for name in ["not", "allOf", "anyOf", "oneOf"] {
        if let Some(found) = below(part, name) {
            named(found, schema, (at, &child(from, name)), errors);
        }
        for (i, found) in parts(part, name).iter().enumerate() {
            named(found, schema, (at, &index(&child(from, name), i)), errors);
        }
    }
}

fn named(part: &Value, schema: &Value, (at, from): (&str, &str), errors: &mut Vec<FieldError>) {
    complete(part, schema, (at, from), errors);
    let mut step = |found: &Value, there: Option<&Value>, at: &str, from: &str| match there {
        Some(there) => named(found, there, (at, from), errors),
        None => errors.push(FieldError::required(
            at,
            format!("because it is defined in {from}"),
        )),
    };
    if let Some(items) = below(part, "items") {
        let there = below(schema, "items");
        step(items, there, &child(at, "items"), &child(from, "items"));
    }
    let (base, from) = (child(at, "properties"), child(from, "properties"));
    for (name, found) in properties(part) {
        let there = schema.get("properties").and_then(|p| p.get(name));
        step(found, there, &key(&base, name), &key(&from, name));
    }
}
