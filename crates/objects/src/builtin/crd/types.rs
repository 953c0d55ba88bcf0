//! Wrong JSON types in the schemas of a definition, worded as Go's `encoding/json` does.

use serde_json::Value;

use crate::printed::go_kind;

/// The first value in a definition's schemas that Go's type of schemas cannot take.
pub(crate) fn mismatch(crd: &Value) -> Option<String> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let schemas = versions.into_iter().flatten();
    let mut schemas = schemas.filter_map(|version| version.pointer("/schema/openAPIV3Schema"));
    schemas.find_map(|schema| {
        let owner = "CustomResourceValidation";
        whole(schema, owner, "spec.versions.schema.openAPIV3Schema")
    })
}

/// A schema that a field of `owner` holds.
fn whole(schema: &Value, owner: &str, path: &str) -> Option<String> {
    match schema {
        Value::Null => None,
        Value::Object(map) => map
            .iter()
            .find_map(|(name, value)| field(name, value, &below(path, name))),
        other => told(other, owner, path, "v1.JSONSchemaProps"),
    }
}

fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

const OWNER: &str = "JSONSchemaProps";

fn field(name: &str, value: &Value, path: &str) -> Option<String> {
    let unless = |fits: bool, wanted: &str| match fits || value.is_null() {
        true => None,
        false => told(value, OWNER, path, wanted),
    };
    match name {
        "id"
        | "$schema"
        | "$ref"
        | "description"
        | "type"
        | "format"
        | "title"
        | "pattern"
        | "x-kubernetes-list-type"
        | "x-kubernetes-map-type" => unless(value.is_string(), "string"),
        "exclusiveMaximum"
        | "exclusiveMinimum"
        | "uniqueItems"
        | "nullable"
        | "x-kubernetes-embedded-resource"
        | "x-kubernetes-int-or-string"
        | "x-kubernetes-preserve-unknown-fields" => unless(value.is_boolean(), "bool"),
        "maximum" | "minimum" | "multipleOf" => unless(value.is_number(), "float64"),
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            unless(value.is_i64(), "int64")
        }
        "enum" => unless(value.is_array(), "[]v1.JSON"),
        "required" | "x-kubernetes-list-map-keys" => match value.as_array() {
            Some(all) => {
                let odd = all.iter().find(|item| !item.is_string() && !item.is_null());
                odd.and_then(|item| told(item, OWNER, path, "string"))
            }
            None => unless(false, "[]string"),
        },
        "allOf" | "anyOf" | "oneOf" => match value.as_array() {
            Some(all) => all.iter().find_map(|schema| whole(schema, OWNER, path)),
            None => unless(false, "[]v1.JSONSchemaProps"),
        },
        "properties" | "patternProperties" | "definitions" => match value.as_object() {
            Some(all) => all.values().find_map(|schema| whole(schema, OWNER, path)),
            None => unless(false, "map[string]v1.JSONSchemaProps"),
        },
        "not" => whole(value, OWNER, path),
        // These are read by themselves: what is in them is told from there on.
        "items" => match value {
            Value::Array(all) => all.iter().find_map(|schema| whole(schema, "", "")),
            _ => value.as_object().and_then(|_| whole(value, "", "")),
        },
        "additionalProperties" => value.as_object().and_then(|_| whole(value, "", "")),
        _ => None,
    }
}

fn told(value: &Value, owner: &str, path: &str, wanted: &str) -> Option<String> {
    if value.is_null() {
        return None;
    }
    let found = go_kind(value);
    Some(match path {
        "" => format!("json: cannot unmarshal {found} into Go value of type {wanted}"),
        _ => format!(
            "json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}"
        ),
    })
}
