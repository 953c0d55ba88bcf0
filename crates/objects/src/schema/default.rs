//! Defaulting: a missing (or wrongly null) property takes the schema's default.

use serde_json::Value;

use super::error::FieldError;
use super::node::{Additional, Node, Structural};
use super::render::{At, child, key};
use super::validate::Validator;

impl Structural {
    /// Fills in defaults, then drops nulls where null is no value and no default stands.
    ///
    /// Doing it twice changes nothing. What a few megabytes of empty items would become by large defaults is not made:
    /// the object is larger than any store takes long before.
    pub fn default(&self, value: &mut Value) {
        fill(value, self.root(), &mut { MOST_ADDED });
        drop_nulls(value, self.root(), true);
    }

    /// Drops nulls where null is no value and no default can take its place.
    pub(crate) fn drop_nulls(&self, value: &mut Value) {
        drop_nulls(value, self.root(), false);
    }

    /// As [`Structural::default`], but a null that is no value stays where no default takes its place.
    pub fn fill(&self, value: &mut Value) {
        fill(value, self.root(), &mut { MOST_ADDED });
    }
}

fn wrongly_null(value: &Value, node: &Node) -> bool {
    value.is_null() && !node.nullable
}

/// So many bytes of memory the defaults of one object take at most, at a guess.
const MOST_ADDED: usize = 64 << 20;

/// The default, unless there was too much of them.
fn afford(default: &Value, left: &mut usize) -> Option<Value> {
    *left = left.saturating_sub(weight(default));
    (*left > 0).then(|| default.clone())
}

/// About how many bytes of memory a value takes.
fn weight(value: &Value) -> usize {
    64 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(name, item)| name.len() + weight(item))
            .sum(),
        _ => 0,
    }
}

fn fill(value: &mut Value, node: &Node, left: &mut usize) {
    if !node.has().defaults {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, below) in &node.properties {
                if let Some(default) = &below.default
                    && map.get(name).is_none_or(|found| wrongly_null(found, below))
                    && let Some(default) = afford(default, left)
                {
                    map.insert(name.clone(), default);
                }
            }
            // Also in what was just put in: a default may lack fields that have defaults of their own.
            for (name, found) in map.iter_mut() {
                if let Some(below) = node.properties.get(name) {
                    fill(found, below, left);
                } else if let Some(Additional::Schema(below)) = &node.additional {
                    if wrongly_null(found, below)
                        && let Some(default) = &below.default
                        && let Some(default) = afford(default, left)
                    {
                        *found = default;
                    }
                    fill(found, below, left);
                }
            }
        }
        Value::Array(items) => {
            let Some(below) = &node.items else { return };
            for item in items {
                if wrongly_null(item, below)
                    && let Some(default) = &below.default
                    && let Some(default) = afford(default, left)
                {
                    *item = default;
                }
                fill(item, below, left);
            }
        }
        _ => {}
    }
}

/// `all`: also those that a default stands for.
fn drop_nulls(value: &mut Value, node: &Node, all: bool) {
    match value {
        Value::Object(map) => {
            let below = |name: &str| node.property(name);
            let kept =
                |found: &Value, b: &Node| !wrongly_null(found, b) || (!all && b.default.is_some());
            map.retain(|name, found| {
                let below = below(name);
                let stays = below.is_none_or(|b| kept(found, b));
                if stays && let Some(below) = below {
                    drop_nulls(found, below, all);
                }
                stays
            });
        }
        Value::Array(items) => {
            if let Some(below) = &node.items {
                for item in items {
                    drop_nulls(item, below, all);
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
        found.node(&pruned, None, node, At::ROOT);
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
