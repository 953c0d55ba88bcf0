//! Who last wrote an object, recorded by the server where the embedding program asks for it.
//!
//! What an object makes the program read on its behalf is authorised as that user. The record is an
//! annotation that only the server writes: what a client sends under its name counts for nothing. A write
//! that changes nothing that a user asks for (a status, a finalizer, an owner that goes) leaves it as it is. Who
//! becomes its controlling owner decides on whose behalf it is there: that is a wish like any other. The program
//! itself says whose the objects are that it writes for somebody.

use std::collections::BTreeMap;

use objects::write::metadata_mut;
use objectstore::Object;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::User;

/// Which objects say who wrote them last.
#[derive(Debug, Clone)]
pub struct Writers {
    /// The annotation.
    pub annotation: &'static str,
    /// Group and plural of each resource.
    pub resources: Vec<(String, String)>,
    /// The name of the program's own user.
    pub own: String,
}

/// What is recorded of a user.
pub(super) fn record_of(user: &User) -> Value {
    let User { name, groups, .. } = user;
    Value::String(json!({ "username": name, "groups": groups }).to_string())
}

/// The user of a record, as far as it can be read.
pub(super) fn user_of(record: &Value) -> Option<User> {
    let record: Value = serde_json::from_str(record.as_str()?).ok()?;
    let groups = record["groups"].as_array().into_iter().flatten();
    let groups: Vec<&str> = groups.filter_map(Value::as_str).collect();
    Some(User::new(record["username"].as_str()?, &groups))
}

impl Writers {
    /// Puts the record into an object that `user` is about to have stored, whatever stands there. With `own` it is the
    /// program that writes, which says itself on whose behalf.
    pub fn sign(&self, user: &User, own: bool, old: Option<&Value>, new: &mut Value) {
        let same = old.is_some_and(|old| self.same_wish(old, new));
        let record = if own {
            self.recorded(new).cloned()
        } else if same {
            old.and_then(|old| self.recorded(old)).cloned()
        } else {
            Some(record_of(user))
        };
        write(new, self.annotation, record);
    }

    /// Who last wrote an object, as far as it was recorded.
    #[must_use]
    pub fn writer(&self, object: &Value) -> Option<User> {
        user_of(self.recorded(object)?)
    }

    /// The same of a stored object, of which no more is parsed than says it.
    pub(crate) fn writer_of(&self, object: &Object) -> Option<User> {
        let text = object.bytes();
        // What names no writer needs no parsing.
        memchr::memmem::find(&text, self.annotation.as_bytes())?;
        let signed: Signed = serde_json::from_slice(&text).ok()?;
        let annotations = signed.metadata.annotations?;
        user_of(annotations.get(self.annotation)?)
    }

    fn recorded<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        object
            .get("metadata")?
            .get("annotations")?
            .get(self.annotation)
    }

    /// Whether a user asks for the same in both, the record apart.
    fn same_wish(&self, old: &Value, new: &Value) -> bool {
        let controlled = controller(new);
        old["spec"] == new["spec"]
            && old["metadata"]["labels"] == new["metadata"]["labels"]
            && self.notes(old) == self.notes(new)
            && (controlled.is_none() || controlled == controller(old))
    }

    /// The annotations, the record apart, in the order of their names.
    fn notes<'a>(&self, object: &'a Value) -> BTreeMap<&'a str, &'a Value> {
        let annotations = object["metadata"]["annotations"].as_object();
        let all = annotations.into_iter().flatten();
        let others = all.filter(|(name, _)| *name != self.annotation);
        others.map(|(name, value)| (name.as_str(), value)).collect()
    }
}

/// What identifies the owner that controls an object.
fn controller(object: &Value) -> Option<[&Value; 4]> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    let of = owners.find(|owner| owner["controller"] == true)?;
    Some(["apiVersion", "kind", "name", "uid"].map(|field| &of[field]))
}

/// As much of a stored object as says who wrote it.
#[derive(Deserialize)]
struct Signed {
    metadata: Notes,
}

#[derive(Deserialize)]
struct Notes {
    annotations: Option<BTreeMap<String, Value>>,
}

/// Puts a record into an annotation, or takes it out.
pub(super) fn write(object: &mut Value, annotation: &str, record: Option<Value>) {
    let Some(metadata) = metadata_mut(object) else {
        return;
    };
    match record {
        Some(record) => {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if !annotations.is_object() {
                *annotations = json!({});
            }
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(annotation.to_owned(), record);
            }
        }
        None => {
            let annotations = metadata
                .get_mut("annotations")
                .and_then(Value::as_object_mut);
            let empty = annotations.is_some_and(|annotations| {
                annotations.remove(annotation).is_some() && annotations.is_empty()
            });
            if empty {
                metadata.remove("annotations");
            }
        }
    }
}
