//! What an update makes of an object: a PUT, a computed patch or an apply, on the object or its status.

use serde_json::{Map, Value, json};

pub use super::part::Means;
use super::part::Part;
use super::{
    FieldValidation, Moment, Prepared, Rules, WriteOptions, convert, managed, meta, metadata,
    metadata_mut, mistyped_refusal, other_type, patching, rv_of,
};
use crate::printed::go_value;
use crate::resource::Backing;
use crate::schema::FieldError;
use crate::status::{Failure, Misread};

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

impl Rules<'_> {
    /// Computes an update.
    ///
    /// # Errors
    /// The refusals of the real server.
    pub fn update(
        self,
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
        // What an apply makes of a kind without a type in Go is read as Go reads it once it is stored.
        let nulls = match means == Means::Apply && self.resource.custom() {
            true => metadata::nulls(&new),
            false => Vec::new(),
        };
        let mut warnings = read(self, (old, &mut new), means, (name, namespace), options)?;
        let link = new.pointer("/metadata/selfLink").cloned();
        let mut new = with_the_rest(self, (old, new), part, means, |asked| {
            self.updated(old, asked, part, options, moment);
        });
        if let (Some(link), Some(metadata)) =
            (link.filter(|_| options.dry_run), metadata_mut(&mut new))
        {
            // The store takes it off, which is not asked.
            metadata.insert("selfLink".to_owned(), link);
        }
        let mut errors = metadata::validate_update(self, part, old, &new);
        let mistyped = other_type(self, &new);
        if !mistyped.is_empty() {
            errors.extend(mistyped);
            return Err(mistyped_refusal(self, &new, Some(old), errors).with_warnings(warnings));
        }
        let early = warnings.clone();
        warnings.extend(metadata::warnings(self, Some(old), &new));
        if part == Part::Main {
            warnings.extend(convert::review(self, &new));
        }
        errors.extend(self.check(part, &new, Some(old), &errors));
        if !errors.is_empty() {
            return Err(self.invalid(name, &errors).with_warnings(early));
        }
        generation(self, old, &mut new);
        if unheld(self, part, old, &new) {
            metadata::put_nulls(&mut new, &nulls);
            return Ok(Updated::Removed(Prepared {
                object: new,
                warnings,
            }));
        }
        // What goes is told as it was computed, what stays as it is read again.
        if let Some(kind) = self.resource.built_in {
            kind.settle(&mut new);
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
}

/// Whether nothing holds a deleted object any more, so that it goes with whatever is written to it. A namespace is held by its content,
/// too; what others keep goes when they say so.
fn unheld(rules: Rules<'_>, part: Part, old: &Value, new: &Value) -> bool {
    if meta(new, "deletionTimestamp").is_empty() || !finalizers(new).is_empty() {
        return false;
    }
    if rules.is_namespace() {
        let content = new.pointer("/spec/finalizers").and_then(Value::as_array);
        return content.is_none_or(Vec::is_empty);
    }
    if rules.resource.backing != Backing::Stored {
        return part != Part::Status && !finalizers(old).is_empty();
    }
    // Whoever made it so by a PUT may have given it time.
    let seconds = old.pointer("/metadata/deletionGracePeriodSeconds");
    !meta(old, "deletionTimestamp").is_empty() && seconds.is_none_or(|s| s.as_i64() == Some(0))
}

/// Reads the wanted object: what it says it is, what it asks of the stored one, what the schema knows of it. Answers the warnings.
fn read(
    rules: Rules<'_>,
    (old, new): (&Value, &mut Value),
    means: Means,
    (name, namespace): (&str, &str),
    options: &WriteOptions,
) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    if means == Means::Patch && rules.resource.built_in.is_some() && patching::versionless(new) {
        return Err(nothing_known(rules, new, name, options));
    }
    rules.check_types(new)?;
    let identified = rules
        .check_identity(new, namespace, means)
        .and_then(|()| check_name(new, name))
        .and_then(|()| versioned(rules, new, means))
        .and_then(|()| preconditions(rules, old, new, means, options.dry_run));
    if let Err(refused) = identified {
        // What a patch made was read before anybody looked what it is.
        return Err(match means {
            Means::Patch => match rules.read_strictly(new, options) {
                Ok(warnings) => refused.with_warnings(warnings),
                Err(strict) => strictly_patched(strict, Some(new.clone()), options),
            },
            Means::Post | Means::Put | Means::Apply => refused,
        });
    }
    metadata_mut(new).map(metadata::texts_of_nulls);
    let strict = options.field_validation == FieldValidation::Strict;
    let whole = (means == Means::Patch && strict).then(|| new.clone());
    // What says that it is of another version is held against that one's schema.
    let other = means == Means::Patch && !other_type(rules, new).is_empty();
    let said = other.then(|| rules.read_strictly(new, options));
    let unknown = match means {
        Means::Apply => convert::admit_applied(rules, new),
        Means::Post | Means::Put | Means::Patch => rules.admit(new),
    };
    let reported = match said {
        Some(said) => said.map(|said| warnings.extend(said)),
        None => rules.report_unknown(&unknown, options, &mut warnings),
    };
    reported.map_err(|refused| strictly_patched(refused, whole, options))?;
    warnings.extend(metadata::single_owners(new, means));
    Ok(warnings)
}

/// Refuses what a patch made of an object without a type in Go where it took the version away.
fn versioned(rules: Rules<'_>, new: &Value, means: Means) -> Result<(), Failure> {
    if means != Means::Patch || !rules.resource.custom() || !patching::versionless(new) {
        return Ok(());
    }
    let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
    let failure = Failure::internal(format!("Internal error occurred: {why}"));
    Err(failure.with_causes(vec![json!({"message": why})]))
}

/// The refusal of an object whose version a patch took away: no field of it is known, not even its name.
fn nothing_known(rules: Rules<'_>, new: &Value, name: &str, options: &WriteOptions) -> Failure {
    let fields = new
        .as_object()
        .into_iter()
        .flatten()
        .map(|(field, _)| field);
    let fields = fields.filter(|field| !matches!(field.as_str(), "apiVersion" | "kind"));
    let mut unknown: Vec<String> = fields.cloned().collect();
    unknown.sort_unstable();
    let mut warnings = Vec::new();
    if let Err(refused) = rules.report_unknown(&unknown, options, &mut warnings) {
        return strictly_patched(refused, Some(new.clone()), options);
    }
    match check_name(&Value::Null, name) {
        Err(nameless) => nameless.with_warnings(warnings),
        Ok(()) => Failure::bad_request("name must be provided"),
    }
}

/// The wanted object with what the request may not write as it was, and its managers as `track` tells them.
fn with_the_rest(
    rules: Rules<'_>,
    (old, mut new): (&Value, Value),
    part: Part,
    means: Means,
    track: impl Fn(&mut Value),
) -> Value {
    if part == Part::Status {
        let mut asked = new;
        if means != Means::Apply {
            track(&mut asked);
        }
        new = with_status(rules, old, &mut asked);
        managed::take_from(&mut new, asked);
    } else {
        // Whoever looks at who wrote what puts the metadata in order; the rest of the object is only looked at.
        let metadata = new.get("metadata").map(without_entries);
        if means != Means::Apply {
            track(&mut new);
        }
        let entries = new.pointer_mut(ENTRIES).map(Value::take);
        match (new.as_object_mut(), metadata) {
            (Some(root), Some(metadata)) => drop(root.insert("metadata".to_owned(), metadata)),
            (Some(root), None) => drop(root.shift_remove("metadata")),
            (None, _) => {}
        }
        take_over(rules, old, &mut new);
        if rules.is_namespace() && part == Part::Main {
            // Only the subresource `finalize` takes off what keeps a namespace until its content is gone.
            keep_at(old, &mut new, "spec");
        }
        managed::put(&mut new, entries);
    }
    if rules.resource.built_in.map(|kind| kind.kind) == Some("CustomResourceDefinition") {
        crate::builtin::crd::track_storage(&mut new);
    }
    new
}

/// Where an object says who wrote which field.
const ENTRIES: &str = "/metadata/managedFields";

/// Metadata without the entries that say who wrote which field: by far the largest part of it, and told anew.
fn without_entries(metadata: &Value) -> Value {
    let Some(fields) = metadata.as_object() else {
        return metadata.clone();
    };
    let others = fields.iter().filter(|(name, _)| *name != "managedFields");
    Value::Object(others.map(|(n, v)| (n.clone(), v.clone())).collect())
}

/// The name in an object must be that of its URL.
///
/// # Errors
/// 400, saying which both are.
pub fn check_name(new: &Value, name: &str) -> Result<(), Failure> {
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

/// 422 instead of 400 where a patch made what a strict reader refuses: it is told with the whole object, or as the patch that it is.
fn strictly_patched(refused: Failure, whole: Option<Value>, options: &WriteOptions) -> Failure {
    match (whole, &refused.misread) {
        (Some(whole), Some(why @ Misread::Strict(_))) => match &options.strategic {
            Some(patch) => patching::unfit(go_value(patch), &why.to_string()),
            None => patching::misfit(&whole, &Value::Null, &why.to_string()),
        },
        _ => refused,
    }
}

/// The version and uid that the new state names must be those of the stored object.
fn preconditions(
    rules: Rules<'_>,
    old: &Value,
    new: &Value,
    means: Means,
    dry_run: bool,
) -> Result<(), Failure> {
    let resource = rules.resource;
    let name = meta(old, "name");
    let (group, plural) = (resource.group.as_str(), resource.plural.as_str());
    let text = meta(new, "resourceVersion");
    if means == Means::Put && !meta(new, "uid").is_empty() && meta(new, "uid") != meta(old, "uid") {
        return Err(rules.other_uid((meta(old, "namespace"), name), new, old, dry_run));
    }
    let asked = super::version_of(new)?;
    if asked == 0 {
        // A patch that takes the version away asks for as much as a body without.
        let needed = (means == Means::Put || !text.is_empty() || rv_of(old).is_some())
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
    if rv_of(old) == Some(asked) {
        Ok(())
    } else {
        Err(Failure::modified(group, plural, name))
    }
}

impl Rules<'_> {
    /// 409: the object has another uid than the one that a PUT names, or none yet.
    #[must_use]
    pub fn other_uid(
        self,
        (namespace, name): (&str, &str),
        new: &Value,
        old: &Value,
        dry_run: bool,
    ) -> Failure {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
            storage_path(self, namespace, name, dry_run),
            meta(new, "uid"),
            meta(old, "uid")
        );
        let resource = self.resource;
        Failure::conflict(&resource.group, &resource.plural, name, &why)
    }
}

/// Where etcd would keep the object: the real server shows it, without the root where nothing is to be written.
fn storage_path(rules: Rules<'_>, namespace: &str, name: &str, dry_run: bool) -> String {
    let group = rules.resource.group.as_str();
    // Built-in kinds are kept by their plural alone, but those of groups that have a store of their own.
    let apart = rules.resource.custom() || group == "apiextensions.k8s.io";
    let prefix = if apart {
        format!("{group}/")
    } else {
        String::new()
    };
    let slash = if namespace.is_empty() { "" } else { "/" };
    let root = if dry_run { "" } else { "/registry" };
    format!(
        "{root}/{prefix}{}/{namespace}{slash}{name}",
        rules.resource.plural
    )
}

/// The finalizers of an object.
#[must_use]
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
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
    match (old.as_object(), status) {
        (Some(root), Some(status)) => with_root(root, "status", status),
        (Some(root), None) => {
            let mut new = root.clone();
            new.remove("status");
            Value::Object(new)
        }
        (None, _) => old.clone(),
    }
}

/// An object with another value in one root field, whose old one is not copied first, and without entries that say who wrote
/// which field.
fn with_root(root: &Map<String, Value>, field: &str, value: Value) -> Value {
    let mut new = Map::with_capacity(root.len() + 1);
    let mut value = Some(value);
    for (key, old) in root {
        let now = match key.as_str() {
            key if key == field => value.take().unwrap_or_default(),
            "metadata" => without_entries(old),
            _ => old.clone(),
        };
        new.insert(key.clone(), now);
    }
    if let Some(value) = value {
        new.insert(field.to_owned(), value);
    }
    Value::Object(new)
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
    let changed = rules.differs(old, new);
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

impl Rules<'_> {
    /// Whether anything but metadata and separately written status differs.
    fn differs(self, old: &Value, new: &Value) -> bool {
        let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
            return true;
        };
        let skip = |key: &str| key == "metadata" || (key == "status" && self.version.status);
        let count = |map: &Map<String, Value>| map.keys().filter(|k| !skip(k)).count();
        count(old) != count(new) || new.iter().any(|(k, v)| !skip(k) && old.get(k) != Some(v))
    }
}
