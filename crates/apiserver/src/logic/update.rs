//! What an update makes of an object: a PUT, a computed patch or an apply, on the object or its status.

use serde_json::Value;

use super::part::Part;
use super::{
    Moment, Prepared, Rules, WriteOptions, check_identity, convert, managed, meta, metadata,
    metadata_mut, report_unknown, rv_of,
};
use crate::schema::FieldError;
use crate::status::Failure;

/// How the new state came about; decides a few wordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// A whole object was sent.
    Put,
    /// A patch was computed.
    Patch,
    /// An apply was computed; it has taken care of managed fields.
    Apply,
}

/// What came out of an update.
#[derive(Debug)]
#[must_use = "commit it; until then nothing is stored"]
pub enum Updated {
    /// Nothing changes.
    Unchanged(Prepared),
    /// The object changes.
    Changed(Prepared),
    /// The last finalizer is gone: the object is to be removed.
    Removed(Prepared),
}

/// An update to compute.
#[derive(Debug)]
pub struct Update<'a> {
    /// The stored object, in the version of the request.
    pub old: &'a Value,
    /// The wanted object.
    pub new: Value,
    /// What is written.
    pub part: Part,
    /// How it came about.
    pub means: Means,
    /// The name in the path.
    pub name: &'a str,
    /// The namespace in the path.
    pub namespace: &'a str,
}

/// Computes an update.
///
/// # Errors
/// The refusals of the real server.
pub fn update(
    rules: Rules<'_>,
    update: Update<'_>,
    options: &WriteOptions,
    moment: &Moment,
) -> Result<Updated, Failure> {
    let Update {
        old,
        mut new,
        part,
        means,
        name,
        namespace,
    } = update;
    let mut warnings = Vec::new();
    metadata::check_types(rules, &new)?;
    patched_version(rules, &new, means)?;
    check_identity(rules, &mut new, namespace)?;
    check_name(&new, name)?;
    preconditions(rules, old, &new, means)?;
    metadata_mut(&mut new).map(metadata::texts_of_nulls);
    let unknown = convert::admit(rules, &mut new);
    report_unknown(rules, &unknown, options, &mut warnings)?;
    if part == Part::Status {
        let mut asked = new;
        if means != Means::Apply {
            managed::updated(rules, old, &mut asked, part, options, moment);
        }
        new = with_status(rules, old, &mut asked);
        managed::take(&mut new, &asked);
    } else {
        let mut asked = new.clone();
        take_over(rules, old, &mut new);
        if rules.is_namespace() && part == Part::Main {
            // Only the subresource `finalize` takes off what keeps a namespace until its content is gone.
            keep_at(old, &mut new, "spec");
        }
        if means != Means::Apply {
            managed::updated(rules, old, &mut asked, part, options, moment);
        }
        managed::take(&mut new, &asked);
    }
    if rules.resource.built_in.map(|kind| kind.kind) == Some("CustomResourceDefinition") {
        crate::builtin::crd::track_storage(&mut new);
    }
    let mut errors = metadata::validate_update(rules, old, &new);
    let early = warnings.clone();
    warnings.extend(metadata::warnings(Some(old), &new));
    if part == Part::Main {
        warnings.extend(convert::review(rules, &new));
    }
    errors.extend(convert::check(rules, &new, Some(old), &errors));
    if !errors.is_empty() {
        return Err(rules.invalid(name, &errors).with_warnings(early));
    }
    generation(rules, old, &mut new);
    if !meta(&new, "deletionTimestamp").is_empty()
        && finalizers(&new).is_empty()
        && part != Part::Status
        && !finalizers(old).is_empty()
    {
        return Ok(Updated::Removed(Prepared {
            object: new,
            warnings,
        }));
    }
    if managed::same(old, &new) {
        return Ok(Updated::Unchanged(Prepared {
            object: old.clone(),
            warnings,
        }));
    }
    Ok(Updated::Changed(Prepared {
        object: new,
        warnings,
    }))
}

/// A patch may not make another version of an object that has no type in Go.
fn patched_version(rules: Rules<'_>, new: &Value, means: Means) -> Result<(), Failure> {
    let text = |field: &str| new.get(field).and_then(Value::as_str).unwrap_or_default();
    let (given, wanted) = (text("apiVersion"), rules.api_version());
    if means != Means::Patch || !rules.resource.custom() || given.is_empty() || given == wanted {
        return Ok(());
    }
    let group = given.split_once('/').map_or("", |(group, _)| group);
    let error = FieldError::invalid("apiVersion", given, format!("must be {wanted}"));
    Err(Failure::invalid(
        group,
        text("kind"),
        meta(new, "name"),
        &[error],
    ))
}

pub(crate) fn check_name(new: &Value, name: &str) -> Result<(), Failure> {
    match meta(new, "name") {
        "" => Err(Failure::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        given if given != name => Err(Failure::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        ))),
        _ => Ok(()),
    }
}

/// The version and uid that the new state names must be those of the stored object.
fn preconditions(rules: Rules<'_>, old: &Value, new: &Value, means: Means) -> Result<(), Failure> {
    let resource = rules.resource;
    let name = meta(old, "name");
    let (group, plural) = (resource.group.as_str(), resource.plural.as_str());
    let text = meta(new, "resourceVersion");
    if means == Means::Put && !meta(new, "uid").is_empty() && meta(new, "uid") != meta(old, "uid") {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
            storage_path(rules, old),
            meta(new, "uid"),
            meta(old, "uid")
        );
        return Err(Failure::conflict(group, plural, name, &why));
    }
    if text.is_empty() || text == "0" {
        let needed = (means == Means::Put || text == "0")
            && resource.built_in.is_none_or(|kind| kind.versioned_updates);
        if needed {
            let error = FieldError::invalid_raw(
                "metadata.resourceVersion",
                "0",
                "must be specified for an update",
            );
            return Err(Failure::invalid(group, plural, name, &[error]));
        }
        return Ok(());
    }
    let Ok(asked) = text.parse::<u64>() else {
        let error = FieldError::invalid(
            "metadata.resourceVersion",
            text,
            format!("strconv.ParseUint: parsing \"{text}\": invalid syntax"),
        );
        return Err(Failure::invalid(group, plural, name, &[error]));
    };
    if rv_of(old) == Some(asked) {
        Ok(())
    } else {
        Err(Failure::modified(group, plural, name))
    }
}

/// Where etcd would keep the object: the real server shows it.
fn storage_path(rules: Rules<'_>, old: &Value) -> String {
    let prefix = if rules.resource.group.is_empty() {
        String::new()
    } else {
        format!("{}/", rules.resource.group)
    };
    let namespace = meta(old, "namespace");
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!(
        "/registry/{prefix}{}/{namespace}{slash}{}",
        rules.resource.plural,
        meta(old, "name")
    )
}

/// The finalizers of an object.
#[must_use]
pub fn finalizers(object: &Value) -> Vec<&str> {
    let list = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The old state with the status of what was asked, which is all that a request to the status writes.
fn with_status(rules: Rules<'_>, old: &Value, asked: &mut Value) -> Value {
    if rules.is_namespace() {
        // Of a namespace it writes the metadata, too.
        let mut new = asked.clone();
        keep_at(old, &mut new, "spec");
        metadata::keep(old, &mut new);
        return new;
    }
    let status = asked.get_mut("status").map(Value::take);
    let mut new = old.clone();
    if let Some(root) = new.as_object_mut() {
        match status {
            Some(status) => drop(root.insert("status".to_owned(), status)),
            None => drop(root.remove("status")),
        }
    }
    new
}

/// Keeps a root field as it was.
fn keep_at(old: &Value, new: &mut Value, field: &str) {
    let Some(root) = new.as_object_mut() else {
        return;
    };
    match old.get(field) {
        Some(kept) => drop(root.insert(field.to_owned(), kept.clone())),
        None => drop(root.shift_remove(field)),
    }
}

/// Keeps of the old state what the request may not write.
fn take_over(rules: Rules<'_>, old: &Value, new: &mut Value) {
    if rules.version.status
        && let Some(root) = new.as_object_mut()
    {
        match old.get("status") {
            Some(status) => drop(root.insert("status".to_owned(), status.clone())),
            None => drop(root.remove("status")),
        }
    }
    metadata::keep(old, new);
}

/// Counts a generation where anything but metadata and (written apart) status changed.
fn generation(rules: Rules<'_>, old: &Value, new: &mut Value) {
    if !rules.counts_generations() {
        return;
    }
    let changed = differs(rules, old, new);
    let before = old
        .pointer("/metadata/generation")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    if let Some(metadata) = metadata_mut(new) {
        metadata.insert(
            "generation".to_owned(),
            (before + i64::from(changed)).into(),
        );
    }
}

/// Whether anything but metadata and separately written status differs.
#[must_use]
pub fn differs(rules: Rules<'_>, old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return true;
    };
    let skip = |key: &str| key == "metadata" || (key == "status" && rules.version.status);
    let count = |map: &serde_json::Map<String, Value>| map.keys().filter(|k| !skip(k)).count();
    count(old) != count(new) || new.iter().any(|(k, v)| !skip(k) && old.get(k) != Some(v))
}
