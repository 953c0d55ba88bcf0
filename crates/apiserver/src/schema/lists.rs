//! Lists of type set and map hold each element once.

use serde_json::{Map, Value};

use super::error::FieldError;
use super::node::{Additional, ListType, Node};
use super::render::{child, index, sorted_json};

/// Reports each second and later element of sets and list maps.
pub(crate) fn duplicates(value: &Value, node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(map) => {
            for (name, found) in map {
                let below = node.properties.get(name).or(match &node.additional {
                    Some(Additional::Schema(below)) => Some(below),
                    _ => None,
                });
                if let Some(below) = below {
                    duplicates(found, below, &child(path, name), errors);
                }
            }
        }
        Value::Array(items) => {
            let mut seen = std::collections::BTreeMap::new();
            for (i, item) in items.iter().enumerate() {
                let shown = match &node.list_type {
                    ListType::Atomic => break,
                    ListType::Set => item.clone(),
                    ListType::Map(keys) => item_key(item, keys),
                };
                if let Some(times) = seen.get_mut(&sorted_json(&shown)) {
                    *times += 1;
                    if *times == 2 {
                        errors.push(FieldError::duplicate(&index(path, i), shown));
                    }
                } else {
                    seen.insert(sorted_json(&shown), 1);
                }
            }
            if let Some(below) = &node.items {
                for (i, item) in items.iter().enumerate() {
                    duplicates(item, below, &index(path, i), errors);
                }
            }
        }
        _ => {}
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
