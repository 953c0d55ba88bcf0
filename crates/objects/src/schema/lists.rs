//! Lists of type set and map hold each element once.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::MAX_ERRORS;
use super::error::FieldError;
use super::node::{Additional, ListType, Node};
use super::render::{At, sorted_json};

/// Reports each second and later element of sets and list maps.
pub(crate) fn duplicates(value: &Value, node: &Node, at: At<'_>, errors: &mut Vec<FieldError>) {
    if errors.len() > MAX_ERRORS || !node.has().sets {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, found) in map {
                let below = node.properties.get(name).or(match &node.additional {
                    Some(Additional::Schema(below)) => Some(below),
                    _ => None,
                });
                if let Some(below) = below {
                    duplicates(found, below, At::Field(&at, name), errors);
                }
            }
        }
        Value::Array(items) => {
            let mut seen = BTreeMap::new();
            let keyed = matches!(node.list_type, ListType::Map(_));
            let odd = |item: &Value| !item.is_object() && !item.is_null();
            let stray = items.iter().position(odd).filter(|_| keyed);
            if let Some(i) = stray {
                let why = "must be an object for an array of list-type map";
                let at = At::Item(&at, i).path();
                errors.push(FieldError::invalid(&at, items[i].clone(), why));
            }
            let known = if stray.is_some() {
                &[][..]
            } else {
                items.as_slice()
            };
            for (i, item) in known.iter().enumerate() {
                let shown = match &node.list_type {
                    ListType::Atomic => break,
                    ListType::Set => item.clone(),
                    ListType::Map(keys) => item_key(item, keys),
                };
                let times = seen.entry(sorted_json(&shown)).or_insert(0_usize);
                *times += 1;
                if *times == 2 && errors.len() <= MAX_ERRORS {
                    errors.push(FieldError::duplicate(&At::Item(&at, i).path(), shown));
                }
            }
            if let Some(below) = &node.items {
                for (i, item) in items.iter().enumerate() {
                    duplicates(item, below, At::Item(&at, i), errors);
                }
            }
        }
        _ => {}
    }
}

/// The former items of a list by their keys, so that no item is looked for among all others; only list maps have them.
#[derive(Debug)]
pub(crate) struct Former<'a> {
    keys: &'a [String],
    items: BTreeMap<String, &'a Value>,
}

impl<'a> Former<'a> {
    /// The items of a former value, if it was a list at all.
    pub(crate) fn of(old: Option<&'a Value>, kind: &'a ListType) -> Self {
        let (keys, items): (&[String], &[Value]) = match (kind, old.and_then(Value::as_array)) {
            (ListType::Map(keys), Some(items)) => (keys, items),
            _ => (&[], &[]),
        };
        let named = |item: &'a Value| (sorted_json(&item_key(item, keys)), item);
        // Of several with one key the first counts.
        let items = items.iter().rev().map(named).collect();
        Self { keys, items }
    }

    /// The former self of an item.
    pub(crate) fn find(&self, item: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        let name = sorted_json(&item_key(item, self.keys));
        self.items.get(&name).copied()
    }
}

fn item_key(item: &Value, keys: &[String]) -> Value {
    let mut found = Map::new();
    for name in keys {
        if let Some(value) = item.get(name) {
            found.insert(name.clone(), value.clone());
        }
    }
    Value::Object(found)
}
