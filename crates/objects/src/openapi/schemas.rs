//! Components: the schemas of kinds, of their lists and of what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::ServedKind;

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
pub(super) fn of(kind: &ServedKind) -> BTreeMap<String, Value> {
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

fn list(kind: &ServedKind) -> Value {
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

/// The definition of a kind in version 2 whose schema keeps unknown fields at its root, if it does: kubectl would take what is
/// named there for everything that there may be, and refuse the rest of each object.
pub(super) fn bare(kind: &ServedKind) -> Option<Value> {
    let keeps = kind.schema.get(KEEPS) == Some(&Value::Bool(true));
    if !(kind.custom && keeps) {
        return None;
    }
    let whole = of(kind).remove(&kind.component())?;
    let marks = whole.as_object()?.iter();
    let marks = marks.filter(|(name, _)| MARKS.contains(&name.as_str()));
    let mut out = Map::new();
    out.insert("type".to_owned(), json!("object"));
    out.extend(marks.map(|(name, value)| (name.clone(), value.clone())));
    Some(Value::Object(out))
}

const KEEPS: &str = "x-kubernetes-preserve-unknown-fields";

/// What tells of a kind as a whole.
const MARKS: [&str; 2] = [
    "x-kubernetes-group-version-kind",
    "x-kubernetes-selectable-fields",
];

/// A component in version 2's words, as kube-apiserver writes it for kubectl: references to definitions, no combinations, and
/// nothing said of the inside of what may be null or keeps unknown fields.
pub(super) fn old(schema: &Value) -> Value {
    let Some(map) = schema.as_object() else {
        return schema.clone();
    };
    let mut out = Map::new();
    let link = match map
        .get("allOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([link]) if link.get("$ref").is_some() => Some(link),
        _ => None,
    };
    if let Some(link) = link {
        out.extend(old(link).as_object().cloned().unwrap_or_default());
        let described = map.get("description");
        out.extend(described.map(|d| ("description".to_owned(), d.clone())));
        return Value::Object(out);
    }
    let flag = |name: &str| map.get(name) == Some(&Value::Bool(true));
    let (nullable, keeps) = (flag("nullable"), flag(KEEPS));
    let closed = nullable || keeps;
    let of_type = |name: &str| map.get("type").is_some_and(|found| found == name);
    let listless = of_type("array") && (closed || !map.contains_key("items"));
    let typeless = nullable || listless || (keeps && of_type("object"));
    for (name, value) in map {
        let value = match name.as_str() {
            "nullable" | "anyOf" | "oneOf" | "allOf" | "not" => continue,
            "type" if typeless => continue,
            "properties" | "items" if closed => continue,
            "properties" => match value.as_object() {
                Some(below) => below.iter().map(|(k, v)| (k.clone(), old(v))).collect(),
                None => continue,
            },
            "items" | "additionalProperties" => old(value),
            "required" => match required(value, map) {
                Some(names) => names,
                None => continue,
            },
            "$ref" => {
                let link = value.as_str().unwrap_or_default();
                Value::from(link.replace(BASE, "#/definitions/"))
            }
            _ => value.clone(),
        };
        out.insert(name.clone(), value);
    }
    Value::Object(out)
}

/// The fields that must be there, those aside that may be null.
fn required(names: &Value, map: &Map<String, Value>) -> Option<Value> {
    let nullable =
        |schema: Option<&Value>| schema.and_then(|s| s.get("nullable")) == Some(&Value::Bool(true));
    if nullable(map.get("additionalProperties")) {
        return None;
    }
    let properties = map.get("properties");
    let field = |name: &Value| properties.and_then(|p| p.get(name.as_str()?));
    let kept: Vec<Value> = names
        .as_array()?
        .iter()
        .filter(|name| !nullable(field(name)))
        .cloned()
        .collect();
    (!kept.is_empty()).then(|| kept.into())
}
