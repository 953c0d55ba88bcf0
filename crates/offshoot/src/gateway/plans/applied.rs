//! What an object becomes where a manifest is applied: what the manifest says is added, and what was applied before and
//! stands in the manifest no more is taken away, as `kubectl apply` does it. Lists count as a whole.

use serde_json::{Map, Value};

/// Where `kubectl apply` keeps what it was given the last time.
const LAST_APPLIED: &str =
    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
/// The parts of metadata that are somebody's to say.
const SAID: [&str; 2] = ["labels", "annotations"];
/// How many places a sentence names.
const NAMED: usize = 5;

/// What is known of what was applied before.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Before {
    /// The whole manifest, as `kubectl apply` kept it.
    Manifest(Value),
    /// The fields of whoever applies on the server, without those that others wrote, too.
    Fields(Value),
    /// Nothing: what the manifest lacks stays.
    Nothing,
    /// Everything that is there: what the manifest lacks goes.
    Everything,
}

impl Before {
    /// What an object says was applied to it: by the annotation of `kubectl apply`, or else by the fields of this manager,
    /// or of the only one that applies.
    pub(super) fn of(stored: &Value, manager: &str) -> Self {
        let last = stored.pointer(LAST_APPLIED).and_then(Value::as_str);
        if let Some(Ok(Value::Object(last))) = last.map(serde_json::from_str) {
            return Self::Manifest(Value::Object(last));
        }
        let entries = stored.pointer("/metadata/managedFields");
        let entries: Vec<&Value> = entries
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(|entry| text(entry, "subresource").is_empty())
            .collect();
        let applied: Vec<&Value> = entries
            .iter()
            .copied()
            .filter(|entry| text(entry, "operation") == "Apply")
            .collect();
        let mine = applied.iter().find(|e| text(e, "manager") == manager);
        let mine = match (mine, applied.as_slice()) {
            (Some(mine), _) => *mine,
            (None, [only]) => *only,
            _ => return Self::Nothing,
        };
        let mut fields = mine.get("fieldsV1").cloned().unwrap_or_default();
        for other in entries.into_iter().filter(|e| !std::ptr::eq(*e, mine)) {
            if let Some(theirs) = other.get("fieldsV1") {
                without(&mut fields, theirs);
            }
        }
        Self::Fields(fields)
    }
}

/// What an object becomes by a manifest, by what was applied before.
pub(super) fn onto(old: &Value, manifest: &Value, before: &Before) -> Value {
    let mut new = old.clone();
    let (Some(object), Some(said)) = (new.as_object_mut(), manifest.as_object()) else {
        return manifest.clone();
    };
    let is_said = |key: &str| !matches!(key, "metadata" | "status" | "apiVersion" | "kind");
    match before {
        Before::Manifest(last) => {
            for (key, last) in last.as_object().into_iter().flatten() {
                if is_said(key) {
                    take_off(object, key, last, said.get(key));
                }
            }
            for part in SAID {
                let [last, said] =
                    [last, manifest].map(|o| o.pointer(&format!("/metadata/{part}")));
                if let (Some(last), Some(metadata)) = (last, map(object, "metadata")) {
                    take_off(metadata, part, last, said);
                }
            }
        }
        Before::Fields(fields) => {
            for (key, below) in owned(fields) {
                if is_said(key) {
                    give_up(object, key, below, said.get(key));
                }
            }
            for part in SAID {
                let below = fields.pointer(&format!("/f:metadata/f:{part}"));
                let said = manifest.pointer(&format!("/metadata/{part}"));
                if let (Some(below), Some(metadata)) = (below, map(object, "metadata")) {
                    give_up(metadata, part, below, said);
                }
            }
        }
        Before::Nothing => {}
        Before::Everything => {
            object.retain(|key, _| !is_said(key));
            if let Some(metadata) = map(object, "metadata") {
                metadata.shift_remove("labels");
            }
        }
    }
    for (key, value) in said {
        if key == "apiVersion" || key == "kind" {
            object.insert(key.clone(), value.clone());
        } else if is_said(key) {
            put(object, key, value);
        }
    }
    for part in SAID {
        if let Some(said) = manifest.pointer(&format!("/metadata/{part}"))
            && let Some(metadata) = map(object, "metadata")
        {
            put(metadata, part, said);
        }
    }
    new
}

/// The labels and fields that are in one object and not in another; the first few where there are more.
pub(super) fn missing(there: &Value, other: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let labels = |object: &Value| {
        object
            .pointer("/metadata/labels")
            .cloned()
            .unwrap_or_default()
    };
    lacks("labels", &labels(there), &labels(other), &mut found);
    for (key, value) in there.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "metadata" | "status" | "apiVersion" | "kind") {
            match other.get(key) {
                Some(other) => lacks(key, value, other, &mut found),
                None => found.push(key.clone()),
            }
        }
    }
    if found.len() > NAMED {
        let more = found.len() - NAMED;
        found.truncate(NAMED);
        found.push(format!("{more} more"));
    }
    found
}

fn lacks(path: &str, there: &Value, other: &Value, found: &mut Vec<String>) {
    for (key, value) in there.as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        match other.get(key) {
            Some(other) => lacks(&path, value, other, found),
            None => found.push(path),
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn map<'v>(object: &'v mut Map<String, Value>, key: &str) -> Option<&'v mut Map<String, Value>> {
    object.get_mut(key).and_then(Value::as_object_mut)
}

/// Writes a value: maps grow by what is said, nothing said takes a key away, all else is replaced.
fn put(object: &mut Map<String, Value>, key: &str, said: &Value) {
    match (said, object.get_mut(key)) {
        (Value::Null, _) => drop(object.shift_remove(key)),
        (Value::Object(said), Some(Value::Object(old))) => {
            for (key, value) in said {
                put(old, key, value);
            }
        }
        _ => drop(object.insert(key.to_owned(), said.clone())),
    }
}

/// Takes away what the last manifest said and the new one does not.
fn take_off(object: &mut Map<String, Value>, key: &str, last: &Value, said: Option<&Value>) {
    match (last, said) {
        (_, None) => drop(object.shift_remove(key)),
        (Value::Object(last), Some(said @ Value::Object(_))) => {
            if let Some(old) = map(object, key) {
                for (key, last) in last {
                    take_off(old, key, last, said.get(key));
                }
            }
        }
        _ => {}
    }
}

/// The fields of a map that a set in the form `fieldsV1` names.
fn owned(fields: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let all = fields.as_object().into_iter().flatten();
    all.filter_map(|(key, below)| Some((key.strip_prefix("f:")?, below)))
}

/// Takes away what was applied and is said no more; a map of which nothing is left goes with it.
fn give_up(object: &mut Map<String, Value>, key: &str, fields: &Value, said: Option<&Value>) {
    let (mut below, named) = (owned(fields).peekable(), said.and_then(Value::as_object));
    if below.peek().is_none() {
        if said.is_none() {
            object.shift_remove(key);
        }
        return;
    }
    if said.is_some() && named.is_none() {
        return;
    }
    let Some(old) = map(object, key) else { return };
    let held = !old.is_empty();
    for (key, fields) in below {
        give_up(old, key, fields, named.and_then(|said| said.get(key)));
    }
    if held && old.is_empty() && said.is_none() {
        object.shift_remove(key);
    }
}

/// Takes the fields of others out of a set in the form `fieldsV1`.
fn without(fields: &mut Value, theirs: &Value) {
    let (Some(mine), Some(theirs)) = (fields.as_object_mut(), theirs.as_object()) else {
        return;
    };
    for (key, theirs) in theirs {
        let Some(own) = mine.get_mut(key) else {
            continue;
        };
        let leaf = |value: &Value| value.as_object().is_none_or(Map::is_empty);
        if leaf(own) || key == "." {
            mine.shift_remove(key);
            continue;
        }
        if leaf(theirs) {
            continue;
        }
        without(own, theirs);
        if leaf(own) {
            mine.shift_remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map_of(labels: Value, data: Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": labels}, "data": data,
        })
    }

    fn stored(applied: Option<&Value>, managed: Value) -> Value {
        let mut object = map_of(
            json!({"tier": "edge", "by": "hand"}),
            json!({"a": "1", "b": "2", "c": "3"}),
        );
        object["metadata"]["managedFields"] = managed;
        if let Some(applied) = applied {
            object["metadata"]["annotations"] =
                json!({"kubectl.kubernetes.io/last-applied-configuration": applied.to_string()});
        }
        object
    }

    /// What kubectl was given and is given no more goes, what others put there stays.
    #[test]
    fn what_was_applied_and_is_said_no_more_goes() {
        let last = map_of(json!({"tier": "edge"}), json!({"a": "1", "b": "2"}));
        let old = stored(Some(&last), json!([]));
        let before = Before::of(&old, "offshoot");
        let new = onto(&old, &map_of(json!({}), json!({"b": "9"})), &before);
        assert_eq!(new["metadata"]["labels"], json!({"by": "hand"}));
        assert_eq!(new["data"], json!({"b": "9", "c": "3"}));
        let mut bare = map_of(json!({}), json!({}));
        drop(
            bare["metadata"]
                .as_object_mut()
                .map(|m| m.shift_remove("labels")),
        );
        drop(bare.as_object_mut().map(|m| m.shift_remove("data")));
        let new = onto(&old, &bare, &before);
        assert_eq!(
            (&new["metadata"]["labels"], &new["data"]),
            (&Value::Null, &Value::Null)
        );
    }

    /// The same of who applies on the server; a field that two wrote stays.
    #[test]
    fn fields_of_a_manager_go_when_it_says_them_no_more() {
        let fields = |labels: Value, data: Value| json!({"f:metadata": {"f:labels": labels}, "f:data": data});
        let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        let managed = json!([
            entry(
                "kubectl",
                "Apply",
                fields(
                    json!({".": {}, "f:tier": {}}),
                    json!({"f:a": {}, "f:b": {}})
                )
            ),
            entry(
                "someone",
                "Update",
                fields(json!({"f:by": {}}), json!({"f:b": {}, "f:c": {}}))
            ),
        ]);
        let old = stored(None, managed.clone());
        let before = Before::of(&old, "kubectl");
        assert_eq!(before, Before::of(&old, "another"), "it is the only one");
        let new = onto(&old, &map_of(json!({}), json!({})), &before);
        assert_eq!(new["metadata"]["labels"], json!({"by": "hand"}));
        assert_eq!(new["data"], json!({"b": "2", "c": "3"}));
        // Of two, nobody knows which is meant.
        let mut two = managed;
        two[1]["operation"] = "Apply".into();
        let old = stored(None, two);
        assert_eq!(Before::of(&old, "another"), Before::Nothing);
        assert_ne!(Before::of(&old, "kubectl"), Before::Nothing);
    }

    #[test]
    fn where_nothing_is_known_what_the_manifest_lacks_is_named() {
        let old = stored(None, json!([]));
        assert_eq!(Before::of(&old, "kubectl"), Before::Nothing);
        let manifest = map_of(json!({"by": "hand"}), json!({"a": "1"}));
        let stays = onto(&old, &manifest, &Before::Nothing);
        assert_eq!(stays["data"], json!({"a": "1", "b": "2", "c": "3"}));
        let goes = onto(&old, &manifest, &Before::Everything);
        assert_eq!(goes["data"], json!({"a": "1"}));
        assert_eq!(missing(&stays, &goes), ["labels.tier", "data.b", "data.c"]);
    }
}
