//! Defaulting: a missing (or wrongly null) property takes the schema's default.

use serde_json::Value;

use super::error::FieldError;
use super::node::{Additional, Node, Structural};
use super::render::{child, key};
use super::validate::Validator;

impl Structural {
    /// Fills in defaults, then drops nulls where null is no value and no default stands.
    ///
    /// Doing it twice changes nothing.
    pub fn default(&self, value: &mut Value) {
        fill(value, self.root());
        drop_nulls(value, self.root());
    }
}

fn wrongly_null(value: &Value, node: &Node) -> bool {
    value.is_null() && !node.nullable
}

fn fill(value: &mut Value, node: &Node) {
    match value {
        Value::Object(map) => {
            for (name, below) in &node.properties {
                if let Some(default) = &below.default
                    && map.get(name).is_none_or(|found| wrongly_null(found, below))
                {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, found) in map.iter_mut() {
                if let Some(below) = node.properties.get(name) {
                    fill(found, below);
                } else if let Some(Additional::Schema(below)) = &node.additional {
                    if wrongly_null(found, below)
                        && let Some(default) = &below.default
                    {
                        *found = default.clone();
                    }
                    fill(found, below);
                }
            }
        }
        Value::Array(items) => {
            let Some(below) = &node.items else { return };
            for item in items {
                if wrongly_null(item, below)
                    && let Some(default) = &below.default
                {
                    *item = default.clone();
                }
                fill(item, below);
            }
        }
        _ => {}
    }
}

fn drop_nulls(value: &mut Value, node: &Node) {
    match value {
        Value::Object(map) => {
            let below = |name: &str| node.property(name);
            map.retain(|name, found| below(name).is_none_or(|b| !wrongly_null(found, b)));
            for (name, found) in map.iter_mut() {
                if let Some(below) = below(name) {
                    drop_nulls(found, below);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = &node.items {
                for item in items {
                    drop_nulls(item, below);
                }
            }
        }
        _ => {}
    }
}

/// Checks that every default of a schema is valid by that schema and holds nothing unknown.
pub(crate) fn check(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = &node.default {
        let at = child(path, "default");
        let mut pruned = default.clone();
        if super::prune::below(&mut pruned, node) {
            errors.push(FieldError::invalid(
                &at,
                default.clone(),
                "must not have unknown fields",
            ));
        }
        let mut found = Validator::default();
        found.node(&pruned, None, node, "");
        errors.extend(found.errors.into_iter().map(|mut error| {
            error.path = if error.path.is_empty() {
                at.clone()
            } else {
                format!("{at}.{}", error.path)
            };
            error
        }));
    }
    let base = child(path, "properties");
    for (name, below) in &node.properties {
        check(below, &key(&base, name), errors);
    }
    if let Some(below) = &node.items {
        check(below, &child(path, "items"), errors);
    }
    if let Some(Additional::Schema(below)) = &node.additional {
        check(below, &child(path, "additionalProperties"), errors);
    }
}
