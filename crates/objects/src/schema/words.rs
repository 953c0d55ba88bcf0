//! What every schema of a definition is held to, structural or not, with the real server's texts.

use serde_json::{Value, json};

use super::error::FieldError;
use super::render::{child, index, key};

/// Words that no structural schema can hold, and what is said of each.
pub(super) const UNSUPPORTED: [(&str, &str); 6] = [
    ("$ref", "$ref is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("id", "id is not supported"),
];

/// A text of a schema; empty if it is none.
pub(super) fn text<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a schema says so.
pub(super) fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Checks a whole schema.
pub(super) fn check(schema: &Value, base: &str, errors: &mut Vec<FieldError>) {
    let place = Place {
        root: true,
        defaults: None,
        meta: false,
    };
    walk(schema, base, place, errors);
}

/// What holds at a place of a schema.
#[derive(Debug, Clone, Copy)]
struct Place {
    root: bool,
    /// Why there may be no defaults, if so.
    defaults: Option<Ban>,
    /// Whether it describes the metadata of an object.
    meta: bool,
}

/// Where defaults are forbidden.
#[derive(Debug, Clone, Copy)]
enum Ban {
    Top(&'static str),
    Additional,
}

impl Ban {
    fn why(self) -> String {
        match self {
            Self::Top(field) => format!("must not be set in top-level {field}"),
            Self::Additional => {
                "must not be set inside additionalProperties applying to object metadata".to_owned()
            }
        }
    }
}

fn walk(schema: &Value, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    if !schema.is_object() {
        return;
    }
    own(schema, path, place, errors);
    let inside = Place {
        root: false,
        ..place
    };
    if let Some(found) = schema.get("additionalProperties").filter(|v| v.is_object()) {
        let banned = place.meta.then_some(Ban::Additional).or(place.defaults);
        let inside = Place {
            defaults: banned,
            ..inside
        };
        walk(found, &child(path, "additionalProperties"), inside, errors);
    }
    let base = child(path, "properties");
    let object = place.root || flag(schema, "x-kubernetes-embedded-resource");
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, found) in properties.into_iter().flatten() {
        let field = ["metadata", "kind", "apiVersion"]
            .into_iter()
            .find(|field| object && field == name);
        let inside = Place {
            meta: place.meta || field.is_some(),
            defaults: field
                .filter(|_| place.root)
                .map(Ban::Top)
                .or(place.defaults),
            ..inside
        };
        walk(found, &key(&base, name), inside, errors);
    }
    if let Some(found) = schema.get("not") {
        walk(found, &child(path, "not"), inside, errors);
    }
    for name in ["allOf", "oneOf", "anyOf", "items"] {
        let list = schema.get(name).and_then(Value::as_array);
        for (i, found) in list.into_iter().flatten().enumerate() {
            walk(found, &index(&child(path, name), i), inside, errors);
        }
    }
    for name in ["definitions", "dependencies"] {
        let map = schema.get(name).and_then(Value::as_object);
        for (name_of, found) in map.into_iter().flatten() {
            walk(found, &key(&child(path, name), name_of), inside, errors);
        }
    }
    if let Some(found) = schema.get("items") {
        walk(found, &child(path, "items"), inside, errors);
    }
}

/// What is wrong with one schema, whatever is below it.
fn own(schema: &Value, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    let has = |name: &str| schema.get(name).is_some_and(|v| !v.is_null());
    if let Some(ban) = place.defaults.filter(|_| has("default")) {
        errors.push(FieldError::forbidden(&child(path, "default"), ban.why()));
    }
    let said = UNSUPPORTED.into_iter().filter(|(word, _)| has(word));
    errors.extend(said.map(|(word, why)| FieldError::forbidden(&child(path, word), why)));
    if text(schema, "type") == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(&child(path, "type"), why));
    }
    if place.meta && flag(schema, "x-kubernetes-embedded-resource") {
        let at = child(path, "x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(
            &at,
            "must not be used inside of resource meta",
        ));
    }
    if flag(schema, "uniqueItems") {
        let why =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(&child(path, "uniqueItems"), why));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let closed = schema
        .get("additionalProperties")
        .is_some_and(|v| v.is_object() || *v == false);
    if closed && properties.is_some_and(|p| !p.is_empty()) {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(
            &child(path, "additionalProperties"),
            why,
        ));
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let at = child(path, "x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(&at, false, "must be true or undefined"));
    }
    maps(schema, path, errors);
    lists(schema, path, errors);
    rules(schema, path, errors);
}

/// What has to be of a type since it says how it is merged.
fn typed(schema: &Value, path: &str, wanted: &str, word: &str, errors: &mut Vec<FieldError>) {
    let (kind, at) = (text(schema, "type"), child(path, "type"));
    let why = format!("must be {wanted} if {word} is specified");
    match kind {
        "" => errors.push(FieldError::required(&at, why)),
        kind if kind != wanted => errors.push(FieldError::invalid(&at, kind, why)),
        _ => {}
    }
}

fn maps(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let word = "x-kubernetes-map-type";
    if let Some(found) = schema.get(word).and_then(Value::as_str) {
        typed(schema, path, "object", word, errors);
        let known = ["atomic", "granular"];
        if !known.contains(&found) {
            errors.push(FieldError::not_supported(&child(path, word), found, &known));
        }
    }
}

fn lists(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (word, keys_word) = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys");
    let at = child(path, word);
    let keys = schema.get(keys_word).and_then(Value::as_array);
    let keys = keys.map_or(&[][..], Vec::as_slice);
    let found = schema.get(word).and_then(Value::as_str);
    if let Some(found) = found {
        typed(schema, path, "array", word, errors);
        if text(schema, "type") == "array" && found == "set" {
            set_items(schema, path, errors);
        }
        let known = ["atomic", "set", "map"];
        if !known.contains(&found) {
            errors.push(FieldError::not_supported(&at, found, &known));
        }
    }
    let why = "must be map if x-kubernetes-list-map-keys is non-empty";
    match found {
        None if !keys.is_empty() => errors.push(FieldError::required(&at, why)),
        Some(found) if found != "map" && !keys.is_empty() => {
            errors.push(FieldError::invalid(&at, found, why));
        }
        _ => {}
    }
    if found == Some("map") {
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            errors.push(FieldError::required(&child(path, keys_word), why));
        }
        map_items(schema, keys, path, errors);
    }
    let items = schema.get("items").filter(|items| items.is_object());
    if let (Some(found @ ("set" | "map")), Some(items)) = (found, items) {
        if flag(items, "nullable") {
            let why = format!("cannot be nullable when x-kubernetes-list-type is {found}");
            let at = child(&child(path, "items"), "nullable");
            errors.push(FieldError::forbidden(&at, why));
        }
        if found == "map" {
            keys_of_items(items, keys, path, errors);
        }
    }
}

fn set_items(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
        return;
    };
    let said = items.get("x-kubernetes-list-type").cloned();
    let word = match text(items, "type") {
        "array" if said.as_ref().is_some_and(|t| *t != "atomic") => "x-kubernetes-list-type",
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => "x-kubernetes-map-type",
        _ => return,
    };
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let at = child(&child(path, "items"), word);
    errors.push(FieldError::invalid(&at, said.unwrap_or_default(), why));
}

fn map_items(schema: &Value, keys: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let at = child(path, "items");
    let items = match schema.get("items") {
        None | Some(Value::Null) => {
            let why = "must have a schema if x-kubernetes-list-type is map";
            errors.push(FieldError::required(&at, why));
            return;
        }
        Some(items) if items.is_object() => items,
        Some(items) => {
            let why = "must only have a single schema if x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(&at, items.clone(), why));
            return;
        }
    };
    let kind = text(items, "type");
    if kind != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(&child(&at, "type"), kind, why));
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    for name in keys.iter().filter_map(Value::as_str) {
        let told = |why: &str| {
            let at = child(path, "x-kubernetes-list-map-keys");
            FieldError::invalid(&at, json!(keys), why)
        };
        match items.get("properties").and_then(|p| p.get(name)) {
            Some(found) if matches!(text(found, "type"), "array" | "object") => {
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let at = child(&key(&child(&at, "properties"), name), "type");
                errors.push(FieldError::invalid(&at, kind, why));
            }
            Some(_) => {}
            None => errors.push(told("entries must all be names of item properties")),
        }
        if !seen.insert(name) {
            errors.push(told("must not contain duplicate entries"));
        }
    }
}

/// Keys are in every item, by themselves or by a default.
fn keys_of_items(items: &Value, keys: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let required = items.get("required").and_then(Value::as_array);
    let base = child(&child(path, "items"), "properties");
    for name in keys {
        let Some(text) = name.as_str() else { continue };
        let Some(found) = items.get("properties").and_then(|p| p.get(text)) else {
            continue;
        };
        let defaulted = found.get("default").is_some_and(|d| !d.is_null());
        if !defaulted && !required.is_some_and(|all| all.contains(name)) {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            let at = child(&key(&base, text), "default");
            errors.push(FieldError::required(&at, why));
        }
        if flag(found, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            let at = child(&key(&base, text), "nullable");
            errors.push(FieldError::forbidden(&at, why));
        }
    }
}

/// What is wrong with how rules are written down; whether they can be read is looked at later.
fn rules(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let list = schema
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    for (i, rule) in list.into_iter().flatten().enumerate() {
        let at = index(&child(path, "x-kubernetes-validations"), i);
        said(rule, &at, errors);
        let reason = text(rule, "reason");
        let known = [
            "FieldValueDuplicate",
            "FieldValueForbidden",
            "FieldValueInvalid",
            "FieldValueRequired",
        ];
        if rule.get("reason").is_some_and(Value::is_string) && !known.contains(&reason) {
            errors.push(FieldError::not_supported(
                &child(&at, "reason"),
                reason,
                &known,
            ));
        }
        let leads = text(rule, "fieldPath");
        if leads.is_empty() {
            continue;
        }
        let mut told =
            |why: &str| errors.push(FieldError::invalid(&child(&at, "fieldPath"), leads, why));
        if leads.trim().is_empty() {
            told("must be non-empty if specified");
        }
        if leads.contains(['\n', '\r']) {
            told("must not contain line breaks");
        }
        if super::route::find(leads, schema, true).is_err() {
            told("must be a valid path");
        }
    }
}

/// The texts of a rule.
fn said(rule: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let broken = |text: &str| text.contains(['\n', '\r']);
    let (program, message) = (text(rule, "rule").trim(), text(rule, "message"));
    let (place, shown) = (child(at, "message"), message.trim());
    if program.is_empty() {
        errors.push(FieldError::required(
            &child(at, "rule"),
            "rule is not specified",
        ));
    } else if !message.is_empty() && shown.is_empty() {
        errors.push(FieldError::invalid(
            &place,
            message,
            "must be non-empty if specified",
        ));
    } else if broken(shown) {
        errors.push(FieldError::invalid(
            &place,
            message,
            "must not contain line breaks",
        ));
    } else if broken(program) && shown.is_empty() {
        let why = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(&place, why));
    }
    let expression = text(rule, "messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        let why = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(&child(at, "messageExpression"), why));
    }
}
