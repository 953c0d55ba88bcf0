//! Whether a wanted configuration fits the schema, in the words of structured-merge-diff.

use std::collections::BTreeSet;

use serde_json::Value;

use super::path::PathElement;
use super::shape::{MergeKind, Shape};
use crate::printed::{go_type, go_value};
use crate::schema::{At, Node, Structural, Type, quote, step};

/// So many misfits are told at most.
const MOST: usize = 1_000;

/// All misfits as one text; none if everything fits.
pub(crate) fn misfits(config: &Value, shape: Shape<'_>) -> Option<String> {
    let mut found = Vec::new();
    check(config, shape, At::ROOT, &mut found);
    told(&found)
}

/// Why an object does not fit a schema, if it does not.
pub(crate) fn unfit(object: &Value, schema: &Structural) -> Option<String> {
    let mut found = Vec::new();
    check(object, Shape::root(schema), At::ROOT, &mut found);
    // What stands twice in a list can be read all the same.
    found.retain(|why| !why.contains(": duplicate entries for key "));
    told(&found)
}

fn told(found: &[String]) -> Option<String> {
    match found {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn check(value: &Value, shape: Shape<'_>, at: At<'_>, found: &mut Vec<String>) {
    if value.is_null() || found.len() > MOST {
        return;
    }
    if let Some(wanted) = shape.node().and_then(|node| wrong(value, node)) {
        let got = match wanted {
            "string" => format!("&value.valueUnstructured{{Value:{}}}", go(value)),
            "numeric (int or float)" => go_type(value).to_owned(),
            _ => format!("&{{{}}}", go_value(value)),
        };
        found.push(format!("{}: expected {wanted}, got {got}", at.path()));
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, below) in map {
                let at = At::Dotted(&at, name);
                if !shape.declares(name) && !shape.open() {
                    found.push(format!("{}: field not declared in schema", at.path()));
                } else {
                    check(below, shape.field(name), at, found);
                }
            }
        }
        Value::Array(list) => items(list, value, shape, at, found),
        _ => {}
    }
}

fn items(list: &[Value], value: &Value, shape: Shape<'_>, at: At<'_>, found: &mut Vec<String>) {
    let kind = shape.kind(value);
    if matches!(kind, MergeKind::Leaf | MergeKind::Map) {
        for (i, item) in list.iter().enumerate() {
            check(item, shape.item(), At::Item(&at, i), found);
        }
        return;
    }
    let path = &at.path();
    let mut seen: BTreeSet<PathElement> = BTreeSet::new();
    for (i, item) in list.iter().enumerate() {
        match shape.element(item, kind) {
            Ok(element) => {
                let at = step(path, [&element.to_string(), "", ""]);
                if seen.contains(&element) {
                    found.push(format!("{path}: duplicate entries for key {element}"));
                } else {
                    seen.insert(element);
                }
                check(item, shape.item(), At::Text(&at), found);
            }
            Err(key) => {
                found.push(format!(
                    "{path}: element {i}: associative list with keys has an element that omits all key fields [{key}] (and \
                     doesn't have default values for any key fields)"
                ));
                check(item, shape.item(), At::Item(&at, i), found);
            }
        }
    }
}

/// What the schema wants instead, in words, if the value is of another type.
fn wrong(value: &Value, node: &Node) -> Option<&'static str> {
    let fits = |wanted: &Type| match wanted {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Integer | Type::Number => value.is_number(),
        Type::Boolean => value.is_boolean(),
    };
    if node.types.is_empty() || node.types.iter().any(fits) {
        return None;
    }
    // Of several types a value may be any scalar.
    if node.types.len() > 1 && !value.is_object() && !value.is_array() {
        return None;
    }
    Some(match node.types.as_slice() {
        [Type::Object] => "map",
        [Type::Array] => "list",
        [Type::String] => "string",
        [Type::Integer | Type::Number] => "numeric (int or float)",
        [Type::Boolean] => "boolean",
        _ => "any scalar",
    })
}

/// A value as Go's `%#v` prints it.
fn go(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(s) => quote(s),
        Value::Array(list) => {
            let parts: Vec<String> = list.iter().map(go).collect();
            format!("[]interface {{}}{{{}}}", parts.join(", "))
        }
        Value::Object(map) => {
            let mut parts: Vec<String> = map
                .iter()
                .map(|(k, v)| format!("{}:{}", quote(k), go(v)))
                .collect();
            parts.sort();
            format!("map[string]interface {{}}{{{}}}", parts.join(", "))
        }
    }
}
