//! What makes one object of another where they differ in one annotation, as a JSON patch.

use serde_json::{Value, json};

const ALL: &str = "/metadata/annotations";

/// The steps from `before` to `after`; none where they agree.
pub(super) fn of_annotation(before: &Value, after: &Value, annotation: &str) -> Vec<Value> {
    let (old, new) = (before.pointer(ALL), after.pointer(ALL));
    if old == new {
        return Vec::new();
    }
    let Some(new) = new else {
        return vec![json!({"op": "remove", "path": ALL})];
    };
    if !old.is_some_and(Value::is_object) {
        return vec![json!({"op": "add", "path": ALL, "value": new})];
    }
    let escaped = annotation.replace('~', "~0").replace('/', "~1");
    let path = format!("{ALL}/{escaped}");
    vec![match new.get(annotation) {
        Some(value) => json!({"op": "add", "path": path, "value": value}),
        None => json!({"op": "remove", "path": path}),
    }]
}
