//! The written form of built-in kinds: defaults, struct fields that are always there, nothing empty.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::BuiltInKind;

/// A null among texts or bytes is an empty one to Go.
pub(super) fn texts_of_nulls(object: &mut Value) {
    for field in ["data", "stringData", "binaryData"] {
        if let Some(Value::Object(map)) = object.get_mut(field) {
            for value in map.values_mut().filter(|v| v.is_null()) {
                *value = "".into();
            }
        }
    }
    let rules = object.get_mut("rules").and_then(Value::as_array_mut);
    let rules = rules.into_iter().flatten().filter_map(Value::as_object_mut);
    for list in rules.flat_map(Map::values_mut) {
        let items = list.as_array_mut().into_iter().flatten();
        for item in items.filter(|item| item.is_null()) {
            *item = "".into();
        }
    }
}

/// Brings an object of the kind into the form that is stored.
pub(super) fn prepare(definition: &BuiltInKind, object: &mut Value) {
    let Some(map) = object.as_object_mut() else {
        return;
    };
    match definition.kind {
        "Secret" => secret(map),
        "Namespace" => {
            if let Some(Value::Object(spec)) = map.get_mut("spec")
                && spec.get("finalizers") == Some(&json!([]))
            {
                spec.shift_remove("finalizers");
            }
            if let Some(name) = map.get("metadata").and_then(|m| m.get("name")).cloned()
                && let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut)
                && name.as_str().is_some_and(|n| !n.is_empty())
            {
                let labels = metadata.entry("labels").or_insert_with(|| json!({}));
                if let Some(labels) = labels.as_object_mut() {
                    labels.insert("kubernetes.io/metadata.name".to_owned(), name);
                }
            }
            let status = map.entry("status").or_insert_with(|| json!({}));
            if let Some(status) = status.as_object_mut()
                && status
                    .get("phase")
                    .and_then(Value::as_str)
                    .is_none_or(str::is_empty)
            {
                status.insert("phase".to_owned(), "Active".into());
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => bindings(map),
        "Event" if definition.group.is_empty() => unsaid(map),
        "CustomResourceDefinition" => super::crd::default(object),
        _ => {}
    }
    if let Some(map) = object.as_object_mut() {
        let blank = blank(definition.key);
        drop_empty(map, blank);
        fill(map, blank);
    }
}

/// Brings an object into the form in which it is read again: the real server's store does not tell an empty list from none, which
/// whoever wrote it owns all the same.
pub(super) fn settle(definition: &BuiltInKind, object: &mut Value) {
    if definition.kind == "ServiceAccount" {
        let secrets = object.get_mut("secrets").and_then(Value::as_array_mut);
        let secrets = secrets.into_iter().flatten();
        // Of each secret the name alone is kept.
        for secret in secrets.filter_map(Value::as_object_mut) {
            secret.retain(|field, _| field == "name");
        }
    }
    let roles = matches!(definition.kind, "Role" | "ClusterRole");
    if let Some(rules) = object
        .get_mut("rules")
        .filter(|rules| roles && **rules == json!([]))
    {
        *rules = Value::Null;
    }
}

/// Typed kinds cannot hold null, and leave out empty maps and lists at the root.
fn drop_empty(map: &mut Map<String, Value>, blank: &Value) {
    map.retain(|name, value| {
        let empty = match value {
            Value::Null => true,
            Value::Object(inner) => inner.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        !empty || name == "metadata" || blank.get(name).is_some()
    });
}

/// Puts in the struct fields that a typed object always shows.
fn fill(map: &mut Map<String, Value>, blank: &Value) {
    for (name, value) in blank.as_object().into_iter().flatten() {
        match map.get_mut(name) {
            None => {
                map.insert(name.clone(), value.clone());
            }
            Some(Value::Object(inner)) => fill(inner, value),
            Some(_) => {}
        }
    }
}

/// Struct fields without `omitempty`, by key of the schema.
pub(super) fn blank(key: &str) -> &'static Value {
    static BLANKS: LazyLock<Value> = LazyLock::new(|| {
        let times = json!({"firstTimestamp": null, "lastTimestamp": null});
        let old_times = json!({"deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null});
        let mut all = json!({
            "": {},
            "Namespace": {"spec": {}, "status": {}},
            "Lease": {"spec": {}},
            "Event": {
                "involvedObject": {}, "source": {}, "eventTime": null,
                "reportingComponent": "", "reportingInstance": "",
            },
            "Event.events.k8s.io": {"eventTime": null, "regarding": {}, "deprecatedSource": {}},
            "Role": {"rules": null},
            "ClusterRole": {"rules": null},
            "RoleBinding": {"roleRef": {"apiGroup": "", "kind": "", "name": ""}},
            "ClusterRoleBinding": {"roleRef": {"apiGroup": "", "kind": "", "name": ""}},
            "CustomResourceDefinition": {
                "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": null},
                "status": {
                    "conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null,
                },
            },
            "APIService": {"spec": {"groupPriorityMinimum": 0, "versionPriority": 0}, "status": {}},
            "SelfSubjectAccessReview": {"spec": {}, "status": {"allowed": false}},
            "SubjectAccessReview": {"spec": {}, "status": {"allowed": false}},
            "LocalSubjectAccessReview": {"spec": {}, "status": {"allowed": false}},
            "SelfSubjectRulesReview": {
                "spec": {}, "status": {"resourceRules": [], "nonResourceRules": [], "incomplete": false},
            },
            "SelfSubjectReview": {"status": {"userInfo": {}}},
            "TokenReview": {"spec": {}, "status": {"user": {}}},
            "TokenRequest": {"spec": {"audiences": null}, "status": {"token": "", "expirationTimestamp": null}},
        });
        for (event, more) in [("Event", times), ("Event.events.k8s.io", old_times)] {
            if let (Some(Value::Object(event)), Value::Object(more)) = (all.get_mut(event), more) {
                event.extend(more);
            }
        }
        all
    });
    BLANKS
        .get(key)
        .or_else(|| BLANKS.get(""))
        .unwrap_or(&Value::Null)
}

/// What an event of the older form leaves out where it is empty.
fn unsaid(map: &mut Map<String, Value>) {
    fn drop_blank(map: &mut Map<String, Value>, kept: &[&str]) {
        map.retain(|name, value| kept.contains(&name.as_str()) || !(*value == "" || *value == 0));
    }
    for part in ["involvedObject", "source", "related"] {
        if let Some(Value::Object(part)) = map.get_mut(part) {
            drop_blank(part, &[]);
        }
    }
    drop_blank(
        map,
        &[
            "reportingComponent",
            "reportingInstance",
            "kind",
            "apiVersion",
        ],
    );
}

fn secret(map: &mut Map<String, Value>) {
    use base64::Engine as _;
    if let Some(Value::Object(texts)) = map.remove("stringData") {
        let data = map.entry("data").or_insert_with(|| json!({}));
        if let Some(data) = data.as_object_mut() {
            for (key, text) in texts {
                let text = text.as_str().unwrap_or_default();
                let encoded = base64::engine::general_purpose::STANDARD.encode(text);
                data.insert(key, Value::from(encoded));
            }
        }
    }
    if map
        .get("type")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        map.insert("type".to_owned(), Value::from("Opaque"));
    }
}

fn bindings(map: &mut Map<String, Value>) {
    let rbac = "rbac.authorization.k8s.io";
    let empty = |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
    if let Value::Object(role) = map.entry("roleRef").or_insert_with(|| json!({}))
        && empty(role.get("apiGroup"))
    {
        role.insert("apiGroup".to_owned(), Value::from(rbac));
    }
    let subjects = map.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        let person = matches!(
            subject.get("kind").and_then(Value::as_str),
            Some("User" | "Group")
        );
        if person && empty(subject.get("apiGroup")) {
            subject.insert("apiGroup".to_owned(), Value::from(rbac));
        }
    }
}
