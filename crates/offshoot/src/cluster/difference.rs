//! What changed between two states of an object, as a JSON merge patch (RFC 7396). It writes what is meant and nothing
//! beside it: fields that somebody else wrote meanwhile are not in it.

use serde_json::{Map, Value};

/// The patch that makes `new` of `old`; `None` where nothing changed. A field that is `null` in `new` counts as absent, as
/// a merge patch reads it.
pub(super) fn between(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut patch = Map::new();
    for (key, value) in after {
        match before.get(key) {
            Some(was) => {
                if let Some(change) = between(was, value) {
                    patch.insert(key.clone(), change);
                }
            }
            None if value.is_null() => {}
            None => {
                patch.insert(key.clone(), without_nulls(value));
            }
        }
    }
    for (key, was) in before {
        if !after.contains_key(key) && !was.is_null() {
            patch.insert(key.clone(), Value::Null);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// A value that is new as a whole: a `null` in it would be read as a removal.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(k, v)| (k.clone(), without_nulls(v))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_changed_is_said() {
        let old = json!({"a": 1, "b": {"c": 2, "d": [1, 2]}, "e": "x"});
        assert_eq!(between(&old, &old), None);
        let new = json!({"a": 1, "b": {"c": 3, "d": [1]}, "f": {"g": null, "h": 1}});
        let patch = json!({"b": {"c": 3, "d": [1]}, "f": {"h": 1}, "e": null});
        assert_eq!(between(&old, &new), Some(patch));
    }

    #[test]
    fn the_patch_makes_the_new_state_of_the_old_one() {
        let states = [
            json!({}),
            json!({"a": {"b": {"c": 1}}}),
            json!({"a": {"b": [1, {"x": 1}]}}),
            json!({"a": "text", "z": {"y": true}}),
        ];
        for old in &states {
            for new in &states {
                let patch = between(old, new).unwrap_or_else(|| json!({}));
                let made = objects::write::patching::merge(old, &patch);
                assert_eq!(&made, new, "{old} to {new} by {patch}");
            }
        }
    }
}
