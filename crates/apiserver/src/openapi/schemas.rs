//! Components: the schemas of kinds, of their lists and of what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::Kind;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const BASE: &str = "#/components/schemas/";

/// What all kinds share: metadata, options, statuses.
static SHARED: LazyLock<BTreeMap<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("meta.json")).unwrap_or_default());

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this \
from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA: &str = "Standard list metadata. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const EMBEDDED_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// The name of a kind's component.
pub(super) fn component(group: &str, version: &str, kind: &str, custom: bool) -> String {
    if custom {
        let reversed: Vec<&str> = group.split('.').rev().collect();
        return format!("{}.{version}.{kind}", reversed.join("."));
    }
    let package = match group {
        "" => "io.k8s.api.core".to_owned(),
        "apiextensions.k8s.io" => {
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions".to_owned()
        }
        "apiregistration.k8s.io" => "io.k8s.kube-aggregator.pkg.apis.apiregistration".to_owned(),
        other => format!("io.k8s.api.{}", other.split('.').next().unwrap_or_default()),
    };
    format!("{package}.{version}.{kind}")
}

/// A reference to a component.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("{BASE}{name}")})
}

/// A reference to a component of meta/v1.
pub(super) fn shared(name: &str) -> Value {
    reference(&format!("{META}{name}"))
}

fn described(description: &str, name: &str) -> Value {
    json!({"description": description, "allOf": [shared(name)]})
}

/// The components of a kind: itself, its list, and the named parts of a built-in one.
pub(super) fn of(kind: &Kind) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    let mut schema = if kind.custom {
        let mut schema = kind.schema.clone();
        custom(&mut schema);
        schema
    } else {
        let mut schema = kind.schema.clone();
        if let Some(map) = schema.as_object_mut() {
            map.remove("x-name");
        }
        builtin(schema, &mut out)
    };
    let gvk = |name: &str| json!([{"group": kind.group, "kind": name, "version": kind.version}]);
    let selectable: Vec<Value> = kind
        .selectable
        .iter()
        .map(|path| json!({"fieldPath": path}))
        .collect();
    let mark = |schema: &mut Value, name: &str| {
        if let Some(map) = schema.as_object_mut() {
            map.insert("x-kubernetes-group-version-kind".to_owned(), gvk(name));
            if !selectable.is_empty() {
                map.insert(
                    "x-kubernetes-selectable-fields".to_owned(),
                    json!(selectable),
                );
            }
        }
    };
    if let Some(map) = schema.as_object_mut() {
        map.entry("type").or_insert_with(|| json!("object"));
        let properties = map.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(
                "apiVersion".to_owned(),
                json!({"description": API_VERSION, "type": "string"}),
            );
            properties.insert(
                "kind".to_owned(),
                json!({"description": KIND, "type": "string"}),
            );
            properties.insert("metadata".to_owned(), described(METADATA, "ObjectMeta"));
        }
    }
    mark(&mut schema, &kind.kind);
    out.insert(kind.component(), schema);
    if kind.verbs.contains("list") {
        let mut list = list(kind);
        mark(&mut list, &kind.list_kind);
        out.insert(
            component(&kind.group, &kind.version, &kind.list_kind, kind.custom),
            list,
        );
    }
    out
}

fn list(kind: &Kind) -> Value {
    let items = format!(
        "List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
        kind.plural
    );
    json!({
        "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": API_VERSION, "type": "string"},
            "items": {"description": items, "type": "array", "items": reference(&kind.component())},
            "kind": {"description": KIND, "type": "string"},
            "metadata": described(LIST_METADATA, "ListMeta"),
        },
    })
}

/// Writes out what the extensions of a CRD's schema mean.
fn custom(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    map.retain(|_, value| !value.is_null());
    let flag = |map: &Map<String, Value>, name: &str| map.get(name) == Some(&Value::Bool(true));
    if flag(map, "x-kubernetes-int-or-string") && !map.contains_key("anyOf") {
        map.insert(
            "anyOf".to_owned(),
            json!([{"type": "integer"}, {"type": "string"}]),
        );
    }
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(custom);
    }
    for word in ["items", "additionalProperties"] {
        if let Some(below) = map.get_mut(word) {
            custom(below);
        }
    }
    if flag(map, "x-kubernetes-embedded-resource") {
        let required = map.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            for name in ["kind", "apiVersion"] {
                if !required.contains(&json!(name)) {
                    required.push(json!(name));
                }
            }
        }
        let properties = map.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            let version = json!({"description": EMBEDDED_VERSION, "type": "string"});
            properties.insert("apiVersion".to_owned(), version);
            properties.insert(
                "kind".to_owned(),
                json!({"description": EMBEDDED_KIND, "type": "string"}),
            );
            properties.insert("metadata".to_owned(), described(METADATA, "ObjectMeta"));
        }
    }
}

/// Moves the named parts of a built-in schema into components of their own.
fn builtin(mut schema: Value, out: &mut BTreeMap<String, Value>) -> Value {
    let Some(map) = schema.as_object_mut() else {
        return schema;
    };
    if map.get("format").and_then(Value::as_str) == Some("micro-time") {
        map.insert("format".to_owned(), json!("date-time"));
    }
    map.remove("nullable");
    let (name, field) = (map.remove("x-name"), map.remove("x-field-description"));
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        for below in properties.values_mut() {
            *below = builtin(std::mem::take(below), out);
        }
    }
    for word in ["items", "additionalProperties"] {
        if let Some(below) = map.get_mut(word) {
            *below = builtin(std::mem::take(below), out);
        }
    }
    let Some(name) = name.as_ref().and_then(Value::as_str) else {
        return schema;
    };
    out.insert(name.to_owned(), schema);
    let mut link = json!({"allOf": [reference(name)], "default": {}});
    if let (Some(field), Some(map)) = (field, link.as_object_mut()) {
        map.insert("description".to_owned(), field);
    }
    link
}

/// The given components and the shared ones that they or the paths lead to.
pub(super) fn reachable(
    paths: &Map<String, Value>,
    own: BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let mut found = own;
    let mut wanted = BTreeSet::new();
    paths
        .values()
        .chain(found.values())
        .for_each(|value| links(value, &mut wanted));
    while let Some(name) = wanted.pop_first() {
        if let (false, Some(schema)) = (found.contains_key(&name), SHARED.get(&name)) {
            links(schema, &mut wanted);
            found.insert(name, schema.clone());
        }
    }
    found
}

fn links(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                found.extend(name.strip_prefix(BASE).map(str::to_owned));
            }
            map.values().for_each(|below| links(below, found));
        }
        Value::Array(items) => items.iter().for_each(|below| links(below, found)),
        _ => {}
    }
}

/// A component in version 2's words: references to definitions, no combinations, no nullable.
pub(super) fn old(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let only = |name: &str| {
                map.get(name)
                    .and_then(Value::as_array)
                    .filter(|l| l.len() == 1)
            };
            let mut out = Map::new();
            if let Some(link) = only("allOf")
                .and_then(|l| l.first())
                .filter(|l| l.get("$ref").is_some())
            {
                out.extend(old(link).as_object().cloned().unwrap_or_default());
                out.extend(
                    map.get("description")
                        .map(|d| ("description".to_owned(), d.clone())),
                );
                return Value::Object(out);
            }
            let nullable = map.get("nullable") == Some(&Value::Bool(true));
            for (name, value) in map {
                match name.as_str() {
                    "nullable" | "anyOf" | "oneOf" | "allOf" | "not" | "default"
                        if !value.is_string() => {}
                    "type" if nullable => {}
                    "$ref" => {
                        let link = value
                            .as_str()
                            .unwrap_or_default()
                            .replace(BASE, "#/definitions/");
                        out.insert(name.clone(), Value::from(link));
                    }
                    "enum" | "required" => {
                        out.insert(name.clone(), value.clone());
                    }
                    _ => {
                        out.insert(name.clone(), old(value));
                    }
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(old).collect()),
        other => other.clone(),
    }
}
