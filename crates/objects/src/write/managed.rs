//! The seam to field ownership: who wrote which field, kept in `metadata.managedFields`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::part::Part;
use super::{Moment, Rules, WriteOptions, metadata_mut};
use crate::apply::{self, ApplyError, Writer, same_but_times};
use crate::reason::Reason;
use crate::resource::{Backing, Origin};
use crate::schema::Structural;
use crate::status::Failure;

/// Runs `with` with the writer of a request; kinds without a schema are not tracked.
fn writing<T>(
    rules: Rules<'_>,
    subresource: &str,
    options: &WriteOptions,
    moment: &Moment,
    with: impl FnOnce(Writer<'_>) -> T,
) -> Option<T> {
    let schema = rules.version.schema.as_ref()?;
    let empty = json!({});
    let (blank, reset): (&Value, &[&str]) = match rules.resource.built_in {
        Some(kind) => (kind.blank(), kind.reset(subresource)),
        None if subresource == "scale" => (&empty, &[]),
        None if subresource == "status" => (&empty, &["spec"]),
        None if rules.version.status => (&empty, &["status"]),
        None => (&empty, &[]),
    };
    let api_version = rules.api_version();
    Some(with(Writer {
        manager: &options.field_manager,
        api_version: &api_version,
        subresource,
        now: &moment.now,
        schema,
        reset,
        blank,
        claimed: rules.resource.backing != Backing::WriteThrough,
    }))
}

impl Rules<'_> {
    /// Records the manager of a new object; `given` are the entries that the body carried.
    pub fn created(
        self,
        object: &mut Value,
        given: Option<Value>,
        options: &WriteOptions,
        moment: &Moment,
    ) {
        put(object, given);
        let untracked = named(object) && foreign(self, object);
        writing(self, "", options, moment, |writer| {
            apply::track(None, object, writer)
        });
        if untracked {
            put(object, None);
        }
    }
}

/// Whether entries name a version that is none of a kind without a type in Go: the real server cannot turn the object into it, and gives
/// up the entries.
fn foreign(rules: Rules<'_>, object: &Value) -> bool {
    let resource = rules.resource;
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let known = |entry: &Value| {
        let given = entry
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        resource
            .versions
            .iter()
            .any(|version| resource.api_version(&version.name) == given)
    };
    resource.custom()
        && entries.is_some_and(|entries| !entries.is_empty() && !entries.iter().all(known))
}

impl Rules<'_> {
    /// Records the manager of the changed fields in `asked`, the wanted object before the server keeps what is not
    /// the request's to write (the real server records that too).
    pub fn updated(
        self,
        old: &Value,
        asked: &mut Value,
        part: Part,
        options: &WriteOptions,
        moment: &Moment,
    ) {
        let subresource = part.subresource();
        if self.resource.custom() {
            // Where metadata has no type of its own, an empty list of entries is none.
            let entries = asked.pointer("/metadata/managedFields");
            if entries.and_then(Value::as_array).is_none_or(Vec::is_empty) {
                put(asked, None);
            }
        }
        let entries = if named(asked) { &*asked } else { old };
        let untracked = part == Part::Main && named(asked) && foreign(self, asked)
            || part == Part::Status
                && self.resource.custom()
                && (misfits(self, asked) || !super::other_type(self, asked).is_empty())
            || part == Part::Main && untold(self, old, asked)
            || unreadable(self, entries, &[old, asked]).is_some();
        writing(self, subresource, options, moment, |writer| {
            apply::track(Some(old), asked, writer)
        });
        if untracked {
            put(asked, None);
        }
        if part == Part::Scale {
            timeless(old, asked);
        }
    }
}

/// Whether a request to the object says of the status, which is not its to write, what no status can be.
fn untold(rules: Rules<'_>, old: &Value, asked: &Value) -> bool {
    let status = asked.get("status");
    let said = status.filter(|said| rules.version.status && old.get("status") != Some(*said));
    rules.resource.custom() && said.is_some_and(|said| misfits(rules, &json!({"status": said})))
}

/// Whether all entries of an object say what they are: others are not read.
fn named(object: &Value) -> bool {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let read = |entry: &Value| matches!(entry["operation"].as_str(), Some("Apply" | "Update"));
    entries.is_some_and(|entries| entries.iter().all(read))
}

/// Whether an object cannot be read by the types of its schema: then nobody can tell who owns what of it.
#[must_use]
pub(crate) fn misfits(rules: Rules<'_>, object: &Value) -> bool {
    let schema = rules.version.schema.as_ref();
    schema.is_some_and(|schema| apply::unfit(object, schema).is_some())
}

/// Why an object cannot be read in the version of one of its entries, if so: owners are followed in the version through which
/// each of them wrote, and where that one's schema lacks a field that the object has, nobody can tell who owns what.
fn unreadable(rules: Rules<'_>, entries: &Value, objects: &[&Value]) -> Option<String> {
    let resource = rules.resource;
    if resource.origin != Origin::Crd || resource.converter.is_some() {
        return None;
    }
    let own = rules.api_version();
    let list = entries.pointer("/metadata/managedFields");
    let said = list.and_then(Value::as_array).into_iter().flatten();
    let said = said.filter_map(|entry| entry.get("apiVersion")?.as_str());
    let said: BTreeSet<&str> = said.filter(|said| *said != own).collect();
    let others = said.into_iter().filter_map(|said| said.split_once('/'));
    let named = others.filter(|(group, _)| *group == resource.group);
    let schemas = named.filter_map(|(_, name)| resource.version(name)?.schema.as_ref());
    let fits = |schema: &Structural| {
        objects
            .iter()
            .find_map(|object| apply::unfit(object, schema))
    };
    schemas.into_iter().find_map(|schema| fits(schema))
}

/// What was written through a scale keeps the time of its entry, and a new entry has none: so does the real server.
fn timeless(old: &Value, new: &mut Value) {
    const ENTRIES: &str = "/metadata/managedFields";
    let named = |entry: &Value| {
        ["manager", "operation", "apiVersion", "subresource"].map(|key| entry.get(key).cloned())
    };
    let old: Vec<Value> = old
        .pointer(ENTRIES)
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let entries = new.pointer_mut(ENTRIES).and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        let before = old.iter().find(|other| named(other) == named(entry));
        let time = before.and_then(|other| other.get("time")).cloned();
        let Some(entry) = entry.as_object_mut() else {
            continue;
        };
        match time {
            Some(time) => drop(entry.insert("time".to_owned(), time)),
            None => drop(entry.shift_remove("time")),
        }
    }
}

/// Takes the managed fields that an apply has computed.
pub fn take(new: &mut Value, applied: &Value) {
    put(new, applied.pointer("/metadata/managedFields").cloned());
}

/// The same from an object that nobody needs any more.
pub fn take_from(new: &mut Value, mut asked: Value) {
    let entries = asked.pointer_mut("/metadata/managedFields");
    put(new, entries.map(Value::take));
}

impl Rules<'_> {
    /// Merges an applied configuration into `old` (none: a new object), entries included.
    ///
    /// # Errors
    /// 409 with the owners of what it would change, or 500 for a configuration that the schema does not know.
    pub fn applied(
        self,
        old: Option<&Value>,
        config: &Value,
        part: Part,
        options: &WriteOptions,
        moment: &Moment,
    ) -> Result<Value, Failure> {
        let subresource = part.subresource();
        let result = writing(self, subresource, options, moment, |writer| {
            apply::apply(old, config, writer, options.force)
        });
        let fits = !matches!(result, Some(Err(ApplyError::Misfit { .. })));
        let lost = old
            .filter(|_| fits)
            .and_then(|old| unreadable(self, old, &[old]));
        if let Some(why) = lost {
            return Err(Failure::new(500, Reason::Unknown, why));
        }
        match result {
            None => Err(Failure::new(
                415,
                Reason::UnsupportedMediaType,
                "apply is not supported for this kind",
            )),
            Some(Ok(mut object)) => {
                if let Some(old) = old.filter(|_| part == Part::Scale) {
                    timeless(old, &mut object);
                }
                fitted(self, config, &mut object)?;
                Ok(object)
            }
            Some(Err(ApplyError::Conflicts(mut conflicts))) => {
                if part == Part::Scale {
                    // Of the object a Scale has this one field, and whoever applied it knows it by the Scale's own name.
                    for conflict in &mut conflicts {
                        ".spec.replicas".clone_into(&mut conflict.path);
                    }
                }
                let message = apply::conflict_message(&conflicts);
                let causes = conflicts.iter().map(|c| {
                    json!({"reason": "FieldManagerConflict", "message": format!("conflict with {}", c.manager), "field": c.path})
                });
                Err(Failure::new(409, Reason::Conflict, message).with_causes(causes.collect()))
            }
            Some(Err(error @ ApplyError::Misfit { .. })) => {
                Err(Failure::new(500, Reason::Unknown, error.to_string()))
            }
        }
    }
}

/// Puts what an apply made into the fields of its type in Go, if it has one; of what has none, a time that is none is as if nobody had
/// said it, where no other version is made of it to be kept.
fn fitted(rules: Rules<'_>, config: &Value, object: &mut Value) -> Result<(), Failure> {
    let Some(kind) = rules.resource.built_in else {
        let mut found = None;
        if let Some(metadata) = metadata_mut(object) {
            metadata.retain(|field, value| {
                let time = matches!(field.as_str(), "creationTimestamp" | "deletionTimestamp");
                let why = crate::builtin::metadata_type_error(&json!({field: value}));
                let odd = why.filter(|_| time);
                let fits = odd.is_none();
                found = found.take().or(odd);
                fits
            });
        }
        let kept_so = rules.version.name == rules.resource.storage_version;
        return match found.filter(|_| !kept_so && rules.resource.custom()) {
            Some(why) => Err(Failure::new(500, Reason::Unknown, why)),
            None => Ok(()),
        };
    };
    kind.put_into_fields(object).map_err(|why| {
        let told = apply::describe(config);
        let type_ = told.split_once("; ").map_or("", |(_, type_)| type_);
        let why = format!(
            "failed to convert new object ({told}) to proper version: unable to convert unstructured object to {type_}: {why}"
        );
        Failure::new(500, Reason::Unknown, why)
    })
}

pub(super) fn put(object: &mut Value, fields: Option<Value>) {
    let Some(metadata) = metadata_mut(object) else {
        return;
    };
    match fields.filter(|f| f.as_array().is_some_and(|list| !list.is_empty())) {
        Some(fields) => drop(metadata.insert("managedFields".to_owned(), fields)),
        None => drop(metadata.shift_remove("managedFields")),
    }
}

/// Whether two states are equal, the times of their managed fields and their resource versions apart.
#[must_use]
pub fn same(old: &Value, new: &Value) -> bool {
    same_but_times(old, new)
}
