//! Checking a value against a schema: the part of JSON Schema that Kubernetes' schemas use, in kubeconform's words.

use regex::RegexBuilder;
use serde_json::{Map, Value as Json};

use super::schemas::Schema;

/// Deeper values are not looked into.
const DEPTH: usize = 200;
/// References that lead to references.
const HOPS: usize = 16;

/// What is wrong, with the path of the field; in the order of the schema's text.
pub(super) fn errors(schema: &Schema, value: &Json, strict: bool) -> Vec<(String, String)> {
    let mut check = Check {
        root: &schema.root,
        strict,
        found: Vec::new(),
        path: Vec::new(),
    };
    if let Some(start) = schema.root.pointer(&schema.at) {
        check.value(start, value, true);
    }
    check.found
}

struct Check<'s> {
    root: &'s Json,
    strict: bool,
    found: Vec<(String, String)>,
    path: Vec<String>,
}

impl<'s> Check<'s> {
    fn report(&mut self, message: String) {
        self.found.push((self.path.join("."), message));
    }

    /// `required`: a null in its place is an error; elsewhere it means that the field is absent.
    fn value(&mut self, schema: &'s Json, value: &Json, required: bool) {
        let Some((schema, quantity)) = self.resolve(schema) else {
            return;
        };
        if self.path.len() > DEPTH || (value.is_null() && (!required || flag(schema, "nullable"))) {
            return;
        }
        let types = types(schema, quantity, required);
        if !types.is_empty() && !types.iter().any(|wanted| is(value, wanted)) {
            return self.report(format!("got {}, want {}", kind(value), types.join(" or ")));
        }
        self.scalar(schema, value);
        match value {
            Json::Object(fields) => self.object(schema, fields),
            Json::Array(items) => self.array(schema, items),
            _ => {}
        }
        for part in list(schema, "allOf") {
            self.value(part, value, required);
        }
        for (key, text) in [("anyOf", "'anyOf' failed"), ("oneOf", "'oneOf' failed")] {
            self.alternatives(schema, key, text, value);
        }
        if let Some(not) = schema.get("not")
            && self.passes(not, value)
        {
            self.report("'not' failed".to_owned());
        }
    }

    fn alternatives(&mut self, schema: &'s Json, key: &str, text: &str, value: &Json) {
        let Some(parts) = schema
            .get(key)
            .and_then(Json::as_array)
            .filter(|parts| !parts.is_empty())
        else {
            return;
        };
        let passing = parts.iter().filter(|part| self.passes(part, value)).count();
        if passing == 0 || (key == "oneOf" && passing > 1) {
            self.report(text.to_owned());
        }
    }

    fn passes(&self, schema: &'s Json, value: &Json) -> bool {
        let mut check = Check {
            root: self.root,
            strict: false,
            found: Vec::new(),
            path: self.path.clone(),
        };
        check.value(schema, value, true);
        check.found.is_empty()
    }

    fn object(&mut self, schema: &'s Json, fields: &Map<String, Json>) {
        let required = list(schema, "required").filter_map(Json::as_str);
        let missing: Vec<String> = required
            .filter(|key| !fields.contains_key(*key))
            .map(|key| format!("'{key}'"))
            .collect();
        if !missing.is_empty() {
            let word = if missing.len() == 1 {
                "property"
            } else {
                "properties"
            };
            self.report(format!("missing {word} {}", missing.join(", ")));
        }
        let known = schema.get("properties").and_then(Json::as_object);
        let extra = schema.get("additionalProperties");
        let open = flag(schema, "x-kubernetes-preserve-unknown-fields");
        let is_required =
            |key: &str| list(schema, "required").any(|name| name.as_str() == Some(key));
        let mut refused = Vec::new();
        for (key, value) in fields {
            let inner = known.and_then(|known| known.get(key));
            let inner = inner.or_else(|| extra.filter(|extra| extra.is_object()));
            match inner {
                Some(inner) => {
                    self.path.push(key.clone());
                    self.value(inner, value, is_required(key));
                    self.path.pop();
                }
                None if extra == Some(&Json::Bool(false)) => refused.push(format!("'{key}'")),
                None if self.strict && known.is_some() && !open && extra.is_none() => {
                    refused.push(format!("'{key}'"));
                }
                None => {}
            }
        }
        if !refused.is_empty() {
            self.report(format!(
                "additional properties {} not allowed",
                refused.join(", ")
            ));
        }
    }

    fn array(&mut self, schema: &'s Json, items: &[Json]) {
        let count = items.len() as u64;
        let bound = |key: &str| schema.get(key).and_then(Json::as_u64);
        if let Some(least) = bound("minItems").filter(|least| count < *least) {
            self.report(format!("minItems: got {count}, want {least}"));
        }
        if let Some(most) = bound("maxItems").filter(|most| count > *most) {
            self.report(format!("maxItems: got {count}, want {most}"));
        }
        let Some(inner) = schema.get("items") else {
            return;
        };
        for (at, item) in items.iter().enumerate() {
            self.path.push(at.to_string());
            self.value(inner, item, true);
            self.path.pop();
        }
    }

    fn scalar(&mut self, schema: &'s Json, value: &Json) {
        let choices: Vec<&Json> = list(schema, "enum").collect();
        if !choices.is_empty() && !choices.contains(&value) {
            let names: Vec<String> = choices
                .iter()
                .map(|choice| {
                    choice
                        .as_str()
                        .map_or_else(|| choice.to_string(), |text| format!("'{text}'"))
                })
                .collect();
            self.report(format!("value must be one of {}", names.join(", ")));
        }
        if let Some(number) = value.as_f64() {
            let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
            if let Some(least) = bound("minimum").filter(|least| number < *least) {
                self.report(format!("minimum: got {number}, want {least}"));
            }
            if let Some(most) = bound("maximum").filter(|most| number > *most) {
                self.report(format!("maximum: got {number}, want {most}"));
            }
        }
        if let Some(text) = value.as_str() {
            self.text(schema, text);
        }
    }

    fn text(&mut self, schema: &'s Json, text: &str) {
        let count = text.chars().count() as u64;
        let bound = |key: &str| schema.get(key).and_then(Json::as_u64);
        if let Some(least) = bound("minLength").filter(|least| count < *least) {
            self.report(format!("minLength: got {count}, want {least}"));
        }
        if let Some(most) = bound("maxLength").filter(|most| count > *most) {
            self.report(format!("maxLength: got {count}, want {most}"));
        }
        let pattern = schema.get("pattern").and_then(Json::as_str);
        // A pattern that our engine cannot read says nothing about the value.
        let compiled =
            pattern.and_then(|pattern| RegexBuilder::new(pattern).size_limit(1 << 20).build().ok());
        if let (Some(pattern), Some(compiled)) = (pattern, compiled)
            && !compiled.is_match(text)
        {
            self.report(format!("'{text}' does not match pattern '{pattern}'"));
        }
    }

    /// The schema that a reference leads to, and whether it is a quantity: those are numbers, too.
    fn resolve(&self, schema: &'s Json) -> Option<(&'s Json, bool)> {
        let mut at = schema;
        let mut quantity = false;
        for _ in 0..HOPS {
            let Some(reference) = at.get("$ref").and_then(Json::as_str) else {
                return Some((at, quantity));
            };
            quantity |= reference.ends_with(".api.resource.Quantity");
            at = self.root.pointer(reference.strip_prefix('#')?)?;
        }
        None
    }
}

fn flag(schema: &Json, key: &str) -> bool {
    schema.get(key).and_then(Json::as_bool).unwrap_or_default()
}

fn list<'s>(schema: &'s Json, key: &str) -> impl Iterator<Item = &'s Json> {
    schema
        .get(key)
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
}

/// The types that a value may have, in kubeconform's order; any if empty.
fn types(schema: &Json, quantity: bool, required: bool) -> Vec<&str> {
    let either = flag(schema, "x-kubernetes-int-or-string")
        || schema.get("format").and_then(Json::as_str) == Some("int-or-string");
    let mut types: Vec<&str> = match schema.get("type") {
        _ if either => vec!["integer", "string"],
        _ if quantity => vec!["number", "string"],
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !required && !types.contains(&"null") {
        types.push("null");
    }
    let order = [
        "null", "boolean", "integer", "number", "string", "object", "array",
    ];
    types.sort_by_key(|name| order.iter().position(|other| other == name));
    types
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn is(value: &Json, wanted: &str) -> bool {
    match wanted {
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        wanted => kind(value) == wanted,
    }
}
