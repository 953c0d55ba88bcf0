//! The structural rules of apiextensions/v1 ("Specifying a structural schema"), with the real server's texts.

use serde_json::Value;

use super::cel::Stack;
use super::error::FieldError;
use super::node::{Additional, ListType, Node, Type};
use super::parse::texts;
use super::render::{child, index, key};

/// The structural rules (apiextensions/v1, "Specifying a structural schema").
pub(crate) fn errors(schema: &Value, root: &Node, base: &str, stack: Stack) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {}
        None | Some("") => {
            errors.push(FieldError::required(
                &child(base, "type"),
                "must not be empty at the root",
            ));
        }
        Some(other) => {
            errors.push(FieldError::invalid(
                &child(base, "type"),
                other,
                "must be object at the root",
            ));
        }
    }
    let place = SchemaPlace {
        path: base.to_owned(),
        root: true,
        typed: false,
        structural: !has_unsupported(schema),
    };
    walk(schema, root, &place, &mut errors);
    super::default::check(root, base, &mut errors);
    super::cel::check(root, base, stack, &mut errors);
    errors
}

struct SchemaPlace {
    path: String,
    root: bool,
    /// Whether a missing type is to be complained about here.
    typed: bool,
    /// Whether the schema as a whole can be read as a structural one; otherwise no rule of those is tried.
    structural: bool,
}

/// Whether a schema, or one within it, has a word that no structural schema can hold.
fn has_unsupported(schema: &Value) -> bool {
    let has = |(word, _): &(&str, &str)| schema.get(word).is_some_and(|v| !v.is_null());
    let list = |word: &str| schema.get(word).and_then(Value::as_array);
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(list);
    let below = schema.get("properties").and_then(Value::as_object);
    let one = ["items", "additionalProperties", "not"].map(|word| schema.get(word));
    UNSUPPORTED.iter().any(has)
        || below.is_some_and(|all| all.values().any(has_unsupported))
        || lists.flatten().any(has_unsupported)
        || one.into_iter().flatten().any(has_unsupported)
}

/// Words that no structural schema can hold, and what is said of each.
const UNSUPPORTED: [(&str, &str); 6] = [
    ("$ref", "$ref is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("id", "id is not supported"),
];

fn walk(schema: &Value, node: &Node, place: &SchemaPlace, errors: &mut Vec<FieldError>) {
    let path = place.path.as_str();
    forbidden_words(schema, path, errors);
    let free = node.int_or_string || node.preserve_unknown;
    if place.typed && place.structural && schema.get("type").is_none_or(|t| t == "") && !free {
        let text = if path.ends_with(".items") {
            "must not be empty for specified array items"
        } else {
            "must not be empty for specified object fields"
        };
        errors.push(FieldError::required(&child(path, "type"), text));
    }
    extension_rules(schema, node, path, errors);
    list_rules(node, schema, path, errors);
    if place.structural && (place.root || node.embedded) {
        metadata_rules(schema, path, errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let items = schema.get(name).and_then(Value::as_array);
        for (i, part) in items.into_iter().flatten().enumerate() {
            if !place.structural {
                break;
            }
            value_part(
                part,
                &index(&child(path, name), i),
                node.int_or_string,
                errors,
            );
        }
    }
    if let Some(part) = schema
        .get("not")
        .filter(|v| v.is_object() && place.structural)
    {
        value_part(part, &child(path, "not"), false, errors);
    }
    descend(schema, node, place, errors);
}

fn descend(schema: &Value, node: &Node, place: &SchemaPlace, errors: &mut Vec<FieldError>) {
    let path = place.path.as_str();
    let step = |path: String| SchemaPlace {
        path,
        root: false,
        typed: true,
        structural: place.structural,
    };
    let base = child(path, "properties");
    for (name, below) in &node.properties {
        if let Some(text) = schema.get("properties").and_then(|p| p.get(name)) {
            walk(text, below, &step(key(&base, name)), errors);
        }
    }
    if let (Some(below), Some(text)) = (&node.items, schema.get("items")) {
        walk(text, below, &step(child(path, "items")), errors);
    }
    if let (Some(Additional::Schema(below)), Some(text)) =
        (&node.additional, schema.get("additionalProperties"))
    {
        walk(
            text,
            below,
            &step(child(path, "additionalProperties")),
            errors,
        );
    }
}

fn forbidden_words(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let has = |name: &str| schema.get(name).is_some_and(|v| !v.is_null());
    let mut forbid = |name: &str, text: &str| {
        if has(name) {
            errors.push(FieldError::forbidden(&child(path, name), text));
        }
    };
    for (word, text) in UNSUPPORTED {
        forbid(word, text);
    }
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
        let text =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(&child(path, "uniqueItems"), text));
    }
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|p| !p.is_empty());
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => {
            let text = "additionalProperties cannot be set to false";
            errors.push(FieldError::forbidden(
                &child(path, "additionalProperties"),
                text,
            ));
        }
        Some(Value::Object(_) | Value::Bool(true)) if properties => {
            let text = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(
                &child(path, "additionalProperties"),
                text,
            ));
        }
        _ => {}
    }
    if schema.get("type").and_then(Value::as_str) == Some("array") && !has("items") {
        errors.push(FieldError::required(
            &child(path, "items"),
            "must be specified",
        ));
    }
}

fn extension_rules(schema: &Value, node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    let kind = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if node.int_or_string && !kind.is_empty() {
        let text = "must be empty if x-kubernetes-int-or-string is true";
        errors.push(FieldError::invalid(&child(path, "type"), kind, text));
    }
    if node.embedded && kind != "object" {
        let text = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(FieldError::invalid(&child(path, "type"), kind, text));
    }
    if node.embedded && !node.preserve_unknown && node.properties.is_empty() {
        let text = "must not be empty if x-kubernetes-embedded-resource is true without \
                    x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&child(path, "properties"), text));
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let at = child(path, "x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(&at, false, "must be true or undefined"));
    }
    if let Some(found) = schema.get("x-kubernetes-map-type").and_then(Value::as_str) {
        let at = child(path, "x-kubernetes-map-type");
        if kind != "object" {
            let text = "must be object if x-kubernetes-map-type is specified";
            errors.push(FieldError::invalid(&child(path, "type"), kind, text));
        }
        if !["atomic", "granular"].contains(&found) {
            errors.push(FieldError::not_supported(
                &at,
                found,
                &["atomic", "granular"],
            ));
        }
    }
}

fn list_rules(node: &Node, schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let keys_path = child(path, "x-kubernetes-list-map-keys");
    let keys = texts_of(schema, "x-kubernetes-list-map-keys");
    let Some(found) = schema.get("x-kubernetes-list-type").and_then(Value::as_str) else {
        if !keys.is_empty() {
            let text = "must be map if x-kubernetes-list-map-keys is non-empty";
            errors.push(FieldError::required(
                &child(path, "x-kubernetes-list-type"),
                text,
            ));
        }
        return;
    };
    let kind = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if kind != "array" {
        let text = "must be array if x-kubernetes-list-type is specified";
        errors.push(FieldError::invalid(&child(path, "type"), kind, text));
    }
    if !["atomic", "set", "map"].contains(&found) {
        let at = child(path, "x-kubernetes-list-type");
        errors.push(FieldError::not_supported(
            &at,
            found,
            &["atomic", "map", "set"],
        ));
    }
    if found != "map" {
        if !keys.is_empty() {
            let text = "must be map if x-kubernetes-list-map-keys is non-empty";
            errors.push(FieldError::invalid(
                &child(path, "x-kubernetes-list-type"),
                found,
                text,
            ));
        }
        if found == "set" {
            set_item_rules(node, path, errors);
        }
        return;
    }
    if keys.is_empty() {
        let text = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&keys_path, text));
    }
    map_item_rules(node, &keys, path, errors);
}

fn set_item_rules(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    let Some(items) = &node.items else { return };
    let at = child(path, "items");
    if items.nullable {
        let text = "cannot be nullable when x-kubernetes-list-type is set";
        errors.push(FieldError::forbidden(&child(&at, "nullable"), text));
    }
    match items.types.first() {
        Some(Type::Object) if !items.atomic_map => {
            let text = "must be atomic as item of a list with x-kubernetes-list-type=set";
            let at = child(&at, "x-kubernetes-map-type");
            errors.push(FieldError::invalid(&at, Value::Null, text));
        }
        Some(Type::Array) if items.list_type != ListType::Atomic => {
            let text = "must be atomic as item of a list with x-kubernetes-list-type=set";
            let at = child(&at, "x-kubernetes-list-type");
            errors.push(FieldError::invalid(&at, Value::Null, text));
        }
        _ => {}
    }
}

fn map_item_rules(node: &Node, keys: &[String], path: &str, errors: &mut Vec<FieldError>) {
    let Some(items) = &node.items else { return };
    let at = child(path, "items");
    if items.types != [Type::Object] {
        let found = items.types.first().map_or("", |t| t.name());
        let text = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(&child(&at, "type"), found, text));
    }
    let mut seen: Vec<&String> = Vec::new();
    for (i, name) in keys.iter().enumerate() {
        let key_path = index(&child(path, "x-kubernetes-list-map-keys"), i);
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&key_path, name.as_str()));
        }
        seen.push(name);
        let below = key(&child(&at, "properties"), name);
        let Some(property) = items.properties.get(name) else {
            let text = "entries must all be names of item properties";
            errors.push(FieldError::invalid(&key_path, name.as_str(), text));
            continue;
        };
        if matches!(property.types.first(), Some(Type::Array | Type::Object)) {
            let found = property.types.first().map_or("", |t| t.name());
            let text = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(&child(&below, "type"), found, text));
        }
        if property.default.is_none() && !items.required.contains(name) {
            let text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                        required property";
            errors.push(FieldError::required(&child(&below, "default"), text));
        }
    }
}

fn metadata_rules(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let base = child(path, "properties");
    for (name, wanted) in [
        ("metadata", "object"),
        ("apiVersion", "string"),
        ("kind", "string"),
    ] {
        let found = properties
            .get(name)
            .and_then(|p| p.get("type"))
            .and_then(Value::as_str);
        if let Some(found) = found.filter(|f| *f != wanted) {
            let text = format!("must be {wanted}");
            errors.push(FieldError::invalid(
                &child(&key(&base, name), "type"),
                found,
                text,
            ));
        }
    }
    let Some(metadata) = properties.get("metadata").and_then(Value::as_object) else {
        return;
    };
    let only_names = metadata.iter().all(|(word, value)| match word.as_str() {
        "type" | "description" => true,
        "properties" => value
            .as_object()
            .is_some_and(|p| p.keys().all(|k| k == "name" || k == "generateName")),
        _ => false,
    });
    if !only_names {
        let text = "must not specify anything other than name and generateName, but metadata is implicitly \
                    specified";
        errors.push(FieldError::forbidden(&key(&base, "metadata"), text));
    }
}

/// Inside allOf, anyOf, oneOf and not: only value validation, nothing structural.
fn value_part(schema: &Value, path: &str, int_or_string: bool, errors: &mut Vec<FieldError>) {
    let has = |name: &str| {
        schema
            .get(name)
            .is_some_and(|v| !v.is_null() && v != "" && v != false)
    };
    for name in [
        "type",
        "default",
        "nullable",
        "additionalProperties",
        "title",
        "description",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "x-kubernetes-validations",
    ] {
        if has(name) && !(name == "type" && int_or_string) {
            let at = child(path, name);
            let text = if name == "x-kubernetes-validations" {
                "must be empty to be structural".to_owned()
            } else if matches!(name, "nullable") || name.starts_with("x-kubernetes-") {
                if name.ends_with("keys") || name.ends_with("-type") {
                    "must be undefined to be structural".to_owned()
                } else {
                    "must be false to be structural".to_owned()
                }
            } else if matches!(name, "default" | "additionalProperties") {
                "must be undefined to be structural".to_owned()
            } else {
                "must be empty to be structural".to_owned()
            };
            errors.push(FieldError::forbidden(&at, text));
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let base = child(path, "properties");
        for (name, part) in properties {
            value_part(part, &key(&base, name), false, errors);
        }
    }
    if let Some(items) = schema.get("items").filter(|v| v.is_object()) {
        value_part(items, &child(path, "items"), false, errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let items = schema.get(name).and_then(Value::as_array);
        for (i, part) in items.into_iter().flatten().enumerate() {
            value_part(part, &index(&child(path, name), i), int_or_string, errors);
        }
    }
    if let Some(part) = schema.get("not").filter(|v| v.is_object()) {
        value_part(part, &child(path, "not"), false, errors);
    }
}

fn texts_of(schema: &Value, name: &str) -> Vec<String> {
    schema
        .as_object()
        .map(|map| texts(map, name))
        .unwrap_or_default()
}
