//! CustomResourceDefinitions: what one says, its defaults, its conditions; `check` is its law.

mod check;
mod formats;
mod forms;
mod parts;
mod types;
mod webhook;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

pub(crate) use check::validate;
pub(crate) use formats::warnings;
pub(crate) use types::mismatch;

use crate::schema::At;
use crate::schema::props::{self, Part};

/// Takes out of the schemas of all versions what Go's type of schemas has not, and what a subresource without fields says; tells where.
pub(crate) fn prune(crd: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let versions = crd.pointer_mut("/spec/versions");
    let versions = versions.and_then(Value::as_array_mut);
    for (i, version) in versions.into_iter().flatten().enumerate() {
        let at = format!("spec.versions[{i}]");
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            let at = format!("{at}.schema.openAPIV3Schema");
            props::prune(schema, Part::Schema, At::Text(&at), &mut unknown);
        }
        if let Some(Value::Object(status)) = version.pointer_mut("/subresources/status") {
            let at = format!("{at}.subresources.status");
            unknown.extend(status.keys().map(|name| format!("{at}.{name}")));
            status.clear();
        }
    }
    unknown
}

/// Fills in what apiextensions/v1 defaults: singular, listKind, conversion, webhook port.
pub(crate) fn default(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !kind.is_empty() {
            fill(names, "singular", kind.to_lowercase());
            fill(names, "listKind", format!("{kind}List"));
        }
        names.retain(|_, value| *value != json!([]));
    }
    // Whoever says something about conversion says how.
    spec.entry("conversion")
        .or_insert_with(|| json!({"strategy": "None"}));
    let versions = spec.get_mut("versions").and_then(Value::as_array_mut);
    for version in versions
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        for flag in ["served", "storage"] {
            version.entry(flag).or_insert(Value::Bool(false));
        }
        forms::version(version);
    }
    if let Some(service) = spec
        .get_mut("conversion")
        .and_then(|c| c.pointer_mut("/webhook/clientConfig/service"))
        .and_then(Value::as_object_mut)
    {
        service.entry("port").or_insert_with(|| json!(443));
    }
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
}

fn fill(map: &mut Map<String, Value>, name: &str, value: String) {
    if map
        .get(name)
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
        && !value.is_empty()
    {
        map.insert(name.to_owned(), Value::from(value));
    }
}

/// Gives a new CRD its first status: no conditions, no names accepted, the storage version as stored.
pub(crate) fn start_status(crd: &mut Value) {
    let stored = storage_versions(crd);
    if let Some(map) = crd.as_object_mut() {
        let status = json!({
            "conditions": null,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored,
        });
        map.insert("status".to_owned(), status);
    }
}

/// Adds a storage version that an update chose to `status.storedVersions`.
pub fn track_storage(crd: &mut Value) {
    let now = storage_versions(crd);
    let Some(status) = crd.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(stored) = stored.as_array_mut() {
        for version in now {
            if !stored.contains(&version) {
                stored.push(version);
            }
        }
    }
}

fn storage_versions(crd: &Value) -> Vec<Value> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let storage = versions
        .into_iter()
        .flatten()
        .filter(|v| v.get("storage") == Some(&Value::Bool(true)));
    let mut names: Vec<Value> = Vec::new();
    for name in storage.map(|version| Value::from(text(version, "name"))) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Names of other CRDs of the same group that a CRD may not take.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// Plurals, singulars and short names.
    pub resources: BTreeSet<String>,
    /// Kinds and list kinds.
    pub kinds: BTreeSet<String>,
}

impl Taken {
    /// Adds the accepted names of another CRD.
    pub fn add(&mut self, crd: &Value) {
        let names = crd.pointer("/status/acceptedNames").unwrap_or(&Value::Null);
        let resources = [text(names, "plural"), text(names, "singular")].into_iter();
        let all = resources
            .chain(texts(names, "shortNames"))
            .filter(|n| !n.is_empty());
        self.resources.extend(all);
        self.kinds.extend(
            [text(names, "kind"), text(names, "listKind")]
                .into_iter()
                .filter(|n| !n.is_empty()),
        );
    }
}

impl Taken {
    /// Writes accepted names and the conditions `NamesAccepted` and `Established`; true if the status changed.
    ///
    /// `now` is RFC 3339 in whole seconds; it is written only where a condition's status changes.
    pub fn accept(&self, crd: &mut Value, now: &str) -> bool {
        let wanted = crd.pointer("/spec/names").cloned().unwrap_or_default();
        let before = crd.get("status").cloned().unwrap_or_default();
        let mut accepted = before
            .get("acceptedNames")
            .cloned()
            .unwrap_or_else(|| json!({}));
        let (conflict, names) = resolve(&wanted, &accepted, self);
        accepted = names;
        let accepted_condition = match &conflict {
            None => ("True", "NoConflicts", "no conflicts found".to_owned()),
            Some((reason, message)) => ("False", reason.as_str(), message.clone()),
        };
        let was_established = condition_true(&before, "Established");
        let established = match (&conflict, was_established) {
            (None, _) => (
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
            (Some(_), true) => (
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
            (Some(_), false) => ("False", "NotAccepted", "not all names are accepted"),
        };
        let mut status = before.as_object().cloned().unwrap_or_default();
        status.insert("acceptedNames".to_owned(), accepted);
        let conditions = [
            (
                "NamesAccepted",
                accepted_condition.0,
                accepted_condition.1,
                accepted_condition.2.as_str(),
            ),
            ("Established", established.0, established.1, established.2),
        ];
        for (kind, value, reason, message) in conditions {
            set_condition(&mut status, kind, value, reason, message, now);
        }
        let status = Value::Object(status);
        let changed = status != before;
        if let Some(map) = crd.as_object_mut() {
            map.insert("status".to_owned(), status);
        }
        changed
    }
}

fn resolve(wanted: &Value, accepted: &Value, taken: &Taken) -> (Option<(String, String)>, Value) {
    let mut names = accepted.as_object().cloned().unwrap_or_default();
    // Of several conflicts the last is told, in the order in which the real server looks.
    let mut conflict = None;
    let used = |name: &str| format!("{} is already in use", json!(name));
    for (field, reason, set) in [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ] {
        if field == "shortNames" {
            let short = texts(wanted, field);
            let theirs = short.iter().filter(|name| taken.resources.contains(*name));
            let all: Vec<String> = theirs.map(|name| used(name)).collect();
            match all.as_slice() {
                [] => set_list(&mut names, field, short),
                [one] => conflict = Some((reason.to_owned(), one.clone())),
                many => conflict = Some((reason.to_owned(), format!("[{}]", many.join(", ")))),
            }
            continue;
        }
        let value = text(wanted, field);
        if set.contains(&value) {
            conflict = Some((reason.to_owned(), used(&value)));
        } else if !value.is_empty() {
            names.insert(field.to_owned(), Value::from(value));
        }
    }
    set_list(&mut names, "categories", texts(wanted, "categories"));
    (conflict, Value::Object(names))
}

fn set_list(names: &mut Map<String, Value>, field: &str, list: Vec<String>) {
    if list.is_empty() {
        names.remove(field);
    } else {
        names.insert(field.to_owned(), json!(list));
    }
}

fn condition_true(status: &Value, kind: &str) -> bool {
    let conditions = status.get("conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|c| text(c, "type") == kind && text(c, "status") == "True")
}

/// Whether the resource is served: its names were accepted once and it is not going away.
#[must_use]
pub fn is_established(crd: &Value) -> bool {
    condition_true(crd.get("status").unwrap_or(&Value::Null), "Established")
}

/// Whether names that it wants are those of another one.
#[must_use]
pub fn is_in_conflict(crd: &Value) -> bool {
    !condition_true(crd.get("status").unwrap_or(&Value::Null), "NamesAccepted")
}

/// Writes one condition; its time moves only with its status.
pub fn set_condition(
    status: &mut Map<String, Value>,
    kind: &str,
    value: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if conditions.is_null() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else {
        return;
    };
    let found = list.iter_mut().find(|c| text(c, "type") == kind);
    let time = found
        .as_ref()
        .filter(|c| text(c, "status") == value)
        .map_or_else(|| now.to_owned(), |c| text(c, "lastTransitionTime"));
    let condition = json!({
        "type": kind, "status": value, "lastTransitionTime": time, "reason": reason, "message": message,
    });
    match found {
        Some(place) => *place = condition,
        None => list.push(condition),
    }
}

pub(crate) fn text(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

pub(crate) fn texts(value: &Value, name: &str) -> Vec<String> {
    let items = value.get(name).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(|v| v.as_str().map(str::to_owned))
        .collect()
}
