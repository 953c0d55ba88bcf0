//! Pruning: what the schema does not name is taken out and reported.

use serde_json::Value;

use super::MAX_ERRORS;
use super::meta::object_meta;
use super::node::{Additional, Node, Structural};
use super::render::At;

/// Fields of an object's root (and of embedded objects) that are never pruned by the kind's schema.
const ROOT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Structural {
    /// Takes out what the schema does not know and returns the paths, `spec.ports[0].extra`.
    ///
    /// The order is the real server's: fields of `metadata`, then the others in order of their paths.
    /// Doing it twice finds nothing the second time.
    pub fn prune(&self, value: &mut Value) -> Vec<String> {
        let mut metadata = Vec::new();
        let mut others = Vec::new();
        if let Some(found) = value.get_mut("metadata") {
            let at = At::Text("metadata");
            walk(found, Some(object_meta()), at, false, &mut metadata);
        }
        walk(value, Some(self.root()), At::ROOT, true, &mut others);
        metadata.sort();
        others.sort();
        metadata.append(&mut others);
        metadata
    }
}

/// Prunes a value that is no whole object; true if something was taken out.
pub(crate) fn below(value: &mut Value, node: &Node) -> bool {
    let mut unknown = Vec::new();
    walk(value, Some(node), At::ROOT, false, &mut unknown);
    !unknown.is_empty()
}

/// `node` is none below a place that the schema leaves open without preserving: everything goes.
fn walk(
    value: &mut Value,
    node: Option<&Node>,
    path: At<'_>,
    object: bool,
    unknown: &mut Vec<String>,
) {
    match value {
        Value::Object(map) => {
            let object = object || node.is_some_and(|n| n.embedded);
            let keep = node.is_some_and(|n| n.preserve_unknown);
            map.retain(|name, found| {
                let at = At::Field(&path, name);
                if object && ROOT_FIELDS.contains(&name.as_str()) {
                    if name == "metadata" && node.is_some_and(|n| n.embedded) {
                        walk(found, Some(object_meta()), at, false, unknown);
                    }
                    return true;
                }
                if let Some(below) = node.and_then(|n| n.properties.get(name)) {
                    walk(found, Some(below), at, false, unknown);
                    return true;
                }
                match node.and_then(|n| n.additional.as_ref()) {
                    Some(Additional::Schema(below)) => walk(found, Some(below), at, false, unknown),
                    Some(Additional::Any) if !keep => walk(found, None, at, false, unknown),
                    Some(Additional::Any) => {}
                    _ if keep => {}
                    _ => {
                        if unknown.len() < MAX_ERRORS {
                            unknown.push(at.path());
                        }
                        return false;
                    }
                }
                true
            });
        }
        Value::Array(items) => {
            if node.is_some_and(|n| n.preserve_unknown && n.items.is_none()) {
                return;
            }
            for (i, item) in items.iter_mut().enumerate() {
                let below = node.and_then(|n| n.items.as_deref());
                walk(item, below, At::Item(&path, i), false, unknown);
            }
        }
        _ => {}
    }
}
