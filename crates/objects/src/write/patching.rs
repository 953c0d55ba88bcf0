//! From a patch body to the wanted object.

use serde_json::{Map, Value};

use super::Rules;
use crate::patch::{self, PatchError};
use crate::printed::go_value;
use crate::reason::Reason;
use crate::schema::{FieldError, sorted_json};
use crate::status::{Failure, Misread};

/// How a patch is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Strategic merge, for built-in kinds.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchKind {
    /// Reads a media type.
    ///
    /// # Errors
    /// 415 naming what the kind supports.
    pub fn of(media: &str, custom: bool) -> Result<Self, Failure> {
        match media {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => {
                let mut known = vec![
                    "application/json-patch+json",
                    "application/merge-patch+json",
                ];
                if !custom {
                    known.push("application/strategic-merge-patch+json");
                }
                known.push("application/apply-patch+yaml");
                Err(Failure::unsupported_media_type(&known))
            }
        }
    }
}

/// RFC 7386: objects merge, null removes, everything else replaces.
#[must_use]
pub fn merge(old: &Value, patch: &Value) -> Value {
    let mut new = old.clone();
    json_patch::merge(&mut new, patch);
    new
}

impl Rules<'_> {
    /// Computes what a patch other than an apply makes of an object.
    ///
    /// # Errors
    /// 400 for a patch of the wrong form, 422 for one that does not fit the object.
    pub fn patched(self, kind: PatchKind, old: &Value, body: &Value) -> Result<Value, Failure> {
        let patched = match (kind, self.resource.built_in) {
            (PatchKind::Json, _) => patch::json_patch(old, body),
            (PatchKind::Strategic, Some(built_in)) => {
                patch::strategic(old, body, built_in.schema_json())
            }
            _ => patch::merge_patch(old, body),
        };
        let patched = patched.map_err(|error| match error {
            PatchError::Unreadable(text) => Failure::bad_request(text),
            PatchError::TooLarge(text) => Failure::new(413, Reason::RequestEntityTooLarge, text),
            PatchError::Unfit(_) => {
                Failure::new(422, Reason::Invalid, error.to_string()).with_details(Map::new())
            }
        })?;
        let mut patched = patched;
        if let (PatchKind::Strategic, Some(root)) = (kind, patched.as_object_mut()) {
            // What this kind of patch makes is of the type that it began with, whatever it says.
            root.insert("apiVersion".to_owned(), self.api_version().into());
            root.insert("kind".to_owned(), self.resource.kind.clone().into());
        }
        if let (PatchKind::Strategic, Some(type_)) = (kind, self.resource.built_in) {
            let put = type_.put_into_fields(&mut patched);
            return put
                .map(|()| patched)
                .map_err(|why| unfit(go_value(body), &why));
        }
        let unread = Misread::interpret(&patched).err();
        let problem = match self.resource.built_in {
            _ if unread.is_some() => unread,
            Some(_) if versionless(&patched) => None,
            Some(type_) => type_
                .type_error(&patched)
                .or_else(|| super::foreign_type(self, &patched)),
            None => super::metadata::type_problem(&patched),
        };
        match problem {
            Some(why) => Err(misfit(&patched, body, &why)),
            None => Ok(patched),
        }
    }

    /// Refuses what a patch made of an object without a type in Go where it says not what it is.
    ///
    /// # Errors
    /// 422 with the whole object.
    pub fn named(self, patched: Value, body: &Value) -> Result<Value, Failure> {
        let given = patched.get("kind").and_then(Value::as_str);
        if !self.resource.custom() {
            return Ok(patched);
        }
        if given.is_some_and(|kind| !kind.is_empty()) {
            return match patched.get("apiVersion") {
                Some(Value::Null) => {
                    let why =
                        ".apiVersion accessor error: <nil> is of the type <nil>, expected string";
                    Err(misfit(&patched, body, why))
                }
                _ => Ok(patched),
            };
        }
        let why = format!("Object 'Kind' is missing in '{}'", sorted_json(&patched));
        Err(misfit(&patched, body, &why))
    }
}

/// Whether a patch took the version away: then Go reads an object of its inner types, whose fields have other names.
pub(super) fn versionless(patched: &Value) -> bool {
    let version = patched.get("apiVersion").and_then(Value::as_str);
    version.is_none_or(str::is_empty)
}

/// 422 for what a patch makes of a built-in kind and its type cannot hold, with the whole object as the real server tells it.
#[must_use]
pub fn misfit(patched: &Value, patch: &Value, why: &str) -> Failure {
    unfit(typed_text(patched, patch), why)
}

/// The same with what the real server tells of it.
pub(super) fn unfit(told: String, why: &str) -> Failure {
    let error = FieldError::invalid("patch", told, why);
    let mut failure = Failure::invalid("", "", "", &[error]);
    // The real server names no kind here.
    if let Some(details) = &mut failure.details {
        for name in ["group", "kind", "name"] {
            details.shift_remove(name);
        }
    }
    failure
}

/// The object as a merge leaves Go's text of it: what the patch touches in order of its keys, the rest as it was.
fn typed_text(object: &Value, patch: &Value) -> String {
    if !object.is_object() {
        return sorted_json(object);
    }
    let mut members = Vec::new();
    let empty = Map::new();
    let mut root: Vec<_> = object.as_object().unwrap_or(&empty).iter().collect();
    root.sort_unstable_by_key(|(name, _)| name.as_str());
    for (name, value) in root {
        let text = if name == "metadata" && patch.get(name).is_none() {
            in_order(value, &METADATA)
        } else {
            sorted_json(value)
        };
        members.push(format!("{}:{text}", Value::from(name.as_str())));
    }
    format!("{{{}}}", members.join(","))
}

/// The order of `ObjectMeta` and of what is in it.
const METADATA: [&str; 25] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
    // Entries of managedFields.
    "manager",
    "operation",
    "apiVersion",
    "time",
    "fieldsType",
    "fieldsV1",
    "subresource",
    // Owners; apiVersion comes first in both.
    "kind",
    "controller",
    "blockOwnerDeletion",
];

fn in_order(value: &Value, order: &[&str]) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|i| in_order(i, order)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let place = |name: &str| order.iter().position(|o| *o == name);
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(name, _)| (place(name).unwrap_or(order.len()), name.as_str()));
            let text = |(name, value): (&String, &Value)| {
                let free = matches!(name.as_str(), "labels" | "annotations" | "fieldsV1");
                let value = if free {
                    sorted_json(value)
                } else {
                    in_order(value, order)
                };
                format!("{}:{value}", Value::from(name.as_str()))
            };
            let members: Vec<_> = members.into_iter().map(text).collect();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}
