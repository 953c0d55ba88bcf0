//! The written form of a definition's versions: what Go's types leave out is not kept.

use serde_json::{Map, Value};

/// A value that Go leaves out where its field says so.
fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
    }
}

/// Brings a version into the form in which it is read again.
pub(super) fn version(version: &mut Map<String, Value>) {
    version.retain(|name, value| match name.as_str() {
        "deprecated" | "additionalPrinterColumns" | "selectableFields" => !empty(value),
        "deprecationWarning" | "schema" | "subresources" => !value.is_null(),
        _ => true,
    });
    let columns = version.get_mut("additionalPrinterColumns");
    let columns = columns.and_then(Value::as_array_mut).into_iter().flatten();
    for column in columns.filter_map(Value::as_object_mut) {
        column.retain(|name, value| match name.as_str() {
            "format" | "description" | "priority" => !empty(value),
            _ => true,
        });
    }
    if let Some(Value::Object(holder)) = version.get_mut("schema") {
        holder.retain(|_, value| !value.is_null());
        holder.values_mut().for_each(schema);
    }
}

/// Fields that are pointers: what is in them is kept.
const KEPT: [&str; 18] = [
    "$ref",
    "additionalProperties",
    "default",
    "example",
    "items",
    "maximum",
    "minimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "not",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];

/// As [`version`], of a schema and all that is within.
fn schema(value: &mut Value) {
    let Some(map) = value.as_object_mut() else {
        return;
    };
    map.retain(|name, value| match KEPT.contains(&name.as_str()) {
        true => !value.is_null(),
        false => !empty(value),
    });
    for (name, value) in map.iter_mut() {
        match name.as_str() {
            "properties" | "patternProperties" | "definitions" => {
                let all = value.as_object_mut().into_iter().flatten();
                all.for_each(|(_, below)| schema(below));
            }
            "allOf" | "anyOf" | "oneOf" => {
                let all = value.as_array_mut().into_iter().flatten();
                all.for_each(schema);
            }
            "not" | "additionalProperties" | "items" => schema(value),
            "x-kubernetes-validations" => {
                let rules = value.as_array_mut().into_iter().flatten();
                for rule in rules.filter_map(Value::as_object_mut) {
                    rule.retain(|name, value| match name.as_str() {
                        "message" | "messageExpression" | "fieldPath" => !empty(value),
                        _ => !value.is_null(),
                    });
                }
            }
            _ => {}
        }
    }
}
