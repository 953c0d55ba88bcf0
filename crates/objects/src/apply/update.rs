//! The two writes: [`track`] for create, update and patch, [`apply()`] for server-side apply.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::managers::{Manager, Managers, Owned};
use super::merge::{compare, merge, paths, remove};
use super::path::PathElement;
use super::set::FieldSet;
use super::shape::Shape;
use super::typed;
use crate::schema::{Structural, quote};

/// The annotation in which client-side apply keeps what it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Who writes, through what, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    /// The field manager's name; empty becomes `unknown`.
    pub manager: &'a str,
    /// The version that is written through: `v1`, `shop.example.dev/v1`.
    pub api_version: &'a str,
    /// The subresource that is written through; empty for the object itself.
    pub subresource: &'a str,
    /// The time as it is to stand in the entry (RFC 3339, whole seconds).
    pub now: &'a str,
    /// The schema of that version.
    pub schema: &'a Structural,
    /// Root fields that this endpoint resets (`status`, or `spec` through `/status`): never owned.
    pub reset: &'a [&'a str],
    /// What an object of the kind looks like before anybody wrote it: `{}` for custom resources; typed
    /// kinds have their struct fields in place (`builtin::Definition::blank`).
    pub blank: &'a Value,
    /// Whether an object that names no owners belongs to whoever wrote it before (`before-first-apply`); records of an
    /// embedding program belong to nobody until somebody applies them.
    pub claimed: bool,
}

/// Why an apply could not be done.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ApplyError {
    /// Others own what it wants to change; 409.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The configuration does not fit the schema; 500 on the real server.
    #[error("failed to create typed patch object ({object}): {misfits}")]
    Misfit {
        /// `namespace/name; group/version, Kind=Kind`
        object: String,
        /// Each misfit with its path.
        misfits: String,
    },
}

/// One field that another manager owns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Conflict {
    /// The owner as messages name it: `"one"`, `"three" using v1`, `"ctl" with subresource "status" using v1`.
    pub manager: String,
    /// The field: `.spec.ports[port=80,protocol="TCP"].name`.
    pub path: String,
}

/// The message of a 409: one line for one conflict, a list for several.
#[must_use]
pub(crate) fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            one.manager, one.path
        );
    }
    let mut by_manager: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for conflict in conflicts {
        by_manager
            .entry(&conflict.manager)
            .or_default()
            .push(&conflict.path);
    }
    let parts: Vec<String> = by_manager
        .iter()
        .map(|(manager, paths)| format!("conflicts with {manager}:\n- {}", paths.join("\n- ")))
        .collect();
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        parts.join("\n")
    )
}

/// Records in `new.metadata.managedFields` what a create (`live` none), update or patch changed.
///
/// `new` is the object as it is to be stored, defaults included, but before a status write drops what does not
/// belong to it. An object whose entries were cleared stays untracked.
pub(crate) fn track(live: Option<&Value>, new: &mut Value, writer: Writer<'_>) {
    let mut managers = Managers::start(live, new, !writer.subresource.is_empty());
    clear(new);
    if let Some(metadata) = new.get_mut("metadata") {
        crate::schema::metadata::normalize(metadata);
    }
    if managers.owners.is_empty() && live.is_some() && writer.claimed {
        return;
    }
    let manager = Manager::new(
        writer.manager,
        false,
        writer.api_version,
        writer.subresource,
    );
    let old = live.unwrap_or(writer.blank);
    record(&mut managers, old, new, manager, writer);
    managers.cap();
    managers.write(new);
}

fn record(managers: &mut Managers, old: &Value, new: &Value, manager: Manager, writer: Writer<'_>) {
    let whole = compare(old, new, Shape::root(writer.schema));
    let lost = whole.clone().without(&unseen()).gone();
    let difference = whole.without(&ignored(writer));
    let own = difference.clone().gone();
    let mut changed = difference.added;
    changed.add(difference.modified);
    // Whoever changes a field owns it alone, and nobody owns what is gone. What an endpoint resets it resets in its own version.
    for owned in managers.owners.values_mut() {
        let lost = match owned.version == writer.api_version {
            true => &own,
            false => &lost,
        };
        owned.fields.subtract(lost);
    }
    changed.subtract(&NO_OWNER);
    if !changed.is_empty() {
        let owned = managers.owners.entry(manager).or_default();
        owned.fields.add(changed);
        owned.version = writer.api_version.to_owned();
        owned.time = Some(writer.now.to_owned());
    }
    managers.tidy();
}

/// Applies what a manager wants to `live` (none: it is created) and returns the object with its entries.
///
/// `config` is the applied configuration with `apiVersion`, `kind` and `metadata.name`; the caller has
/// refused `managedFields` in it. The result still wants defaulting and validation.
///
/// # Errors
/// Conflicts without `force`, or a configuration that does not fit the schema.
pub(crate) fn apply(
    live: Option<&Value>,
    config: &Value,
    writer: Writer<'_>,
    force: bool,
) -> Result<Value, ApplyError> {
    let shape = Shape::root(writer.schema);
    if let Some(misfits) = typed::misfits(config, shape) {
        return Err(ApplyError::Misfit {
            object: describe(config),
            misfits,
        });
    }
    let mut managers = live
        .and_then(|l| Managers::read(l).ok())
        .unwrap_or_default();
    let base = live.map_or_else(|| writer.blank.clone(), bare);
    if managers.owners.is_empty() && live.is_some() && writer.claimed {
        let first = Manager::new(
            "before-first-apply",
            false,
            writer.api_version,
            writer.subresource,
        );
        record(&mut managers, writer.blank, &base, first, writer);
    }
    // What kubectl applied on the client's side, and nobody has changed since, is its own to take over.
    let tolerated = if writer.manager == "kubectl" {
        last_applied(&base, shape)
    } else {
        FieldSet::default()
    };
    let tolerated = (!force).then_some(&tolerated);
    let mut object = applied(&base, config, managers, writer, tolerated)?;
    if writer.manager == "kubectl" && annotation(&object).is_some() {
        set_annotation(&mut object, config);
    }
    Ok(object)
}

/// The object with what is wanted; `tolerated` is what may be taken from its owners unasked, none for everything.
fn applied(
    base: &Value,
    config: &Value,
    mut managers: Managers,
    writer: Writer<'_>,
    tolerated: Option<&FieldSet>,
) -> Result<Value, ApplyError> {
    let shape = Shape::root(writer.schema);
    // The wanted fields are noted before anything is pruned, or they would be pruned with those of the last time.
    let merged = merge(Some(base), Some(config), shape);
    let manager = Manager::new(writer.manager, true, writer.api_version, writer.subresource);
    let last = managers.owners.get(&manager).cloned();
    let fields = paths(config, shape)
        .without(&ignored(writer))
        .difference(&NO_OWNER);
    let time = last.as_ref().and_then(|owned| owned.time.clone());
    let owned = Owned {
        fields,
        version: writer.api_version.to_owned(),
        time,
    };
    managers.owners.insert(manager.clone(), owned);
    let last = last.map(|owned| owned.fields).unwrap_or_default();
    let mut object = prune(&merged, &managers, &last, shape);
    keep_identity(&merged, &mut object);

    let difference = compare(base, &object, shape).without(&ignored(writer));
    let changed = difference.changed();
    let mut conflicts = Vec::new();
    for (other, owned) in managers
        .owners
        .iter_mut()
        .filter(|(other, _)| **other != manager)
    {
        let touched = owned.fields.intersection(&changed);
        if let Some(tolerated) = tolerated {
            // Who writes through a scale sees all owners through it.
            let version = match writer.subresource {
                "scale" => "autoscaling/v1",
                _ => owned.version.as_str(),
            };
            let name = describe_manager(other, version);
            let paths = touched.difference(tolerated).paths();
            conflicts.extend(paths.into_iter().map(|path| Conflict {
                manager: name.clone(),
                path,
            }));
        }
        owned.fields = owned
            .fields
            .difference(&touched)
            .difference(&difference.removed);
    }
    if !conflicts.is_empty() {
        conflicts.sort();
        return Err(ApplyError::Conflicts(conflicts));
    }
    // To the real server a null in place of the entries is a change.
    let cleared = config.pointer("/metadata/managedFields").is_some();
    if (cleared || object != *base)
        && let Some(owned) = managers.owners.get_mut(&manager)
    {
        owned.time = Some(writer.now.to_owned());
    }
    managers.tidy();
    managers.write(&mut object);
    Ok(object)
}

/// Takes out what the manager applied before and wants no longer, unless somebody else owns it.
fn prune(merged: &Value, managers: &Managers, last: &FieldSet, shape: Shape<'_>) -> Value {
    if last.is_empty() {
        return merged.clone();
    }
    let named = |set: &FieldSet| set.with_named_parents(shape);
    let without = |paths: &FieldSet| {
        let left = remove(merged, paths, shape);
        if left.is_null() { json!({}) } else { left }
    };
    let all = paths(merged, shape);
    let pruned = without(&named(last));
    let owned = managers
        .owners
        .values()
        .fold(FieldSet::default(), |set, o| set.union(&o.fields));
    // In two steps, as structured-merge-diff does: taking out a parent takes along what others own below it. That is put back,
    // and only what was this manager's alone goes in the end.
    let keep = named(&paths(&pruned, shape)).union(&named(&owned));
    let pruned = without(&named(&all).difference(&keep));
    let gone = named(&all)
        .difference(&named(&paths(&pruned, shape)))
        .intersection(&named(last));
    without(&gone)
}

/// Pruning sees `metadata` as one of the manager's parents; what nobody owns there stays.
fn keep_identity(merged: &Value, object: &mut Value) {
    let Some(map) = object.as_object_mut() else {
        return;
    };
    for name in ["apiVersion", "kind"] {
        if let (None, Some(value)) = (map.get(name), merged.get(name)) {
            map.insert(name.to_owned(), value.clone());
        }
    }
    let Some(old) = merged.get("metadata").and_then(Value::as_object) else {
        return;
    };
    let metadata = map.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    let others = [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generateName",
    ];
    for name in UNOWNED.iter().chain(&others) {
        if let (None, Some(value)) = (metadata.get(*name), old.get(*name)) {
            metadata.insert((*name).to_owned(), value.clone());
        }
    }
}

/// Fields that client-side apply wrote and that still stand as it wrote them.
fn last_applied(live: &Value, shape: Shape<'_>) -> FieldSet {
    let Some(config) = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok())
    else {
        return FieldSet::default();
    };
    let difference = compare(live, &config, shape);
    paths(&config, shape)
        .difference(&difference.modified)
        .difference(&difference.added)
        .difference(&difference.removed)
}

fn annotation(object: &Value) -> Option<&str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(LAST_APPLIED)?
        .as_str()
}

fn set_annotation(object: &mut Value, config: &Value) {
    let mut config = config.clone();
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.remove(LAST_APPLIED);
        }
    }
    let text = format!("{}\n", crate::schema::sorted_json(&config));
    if let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.insert(LAST_APPLIED.to_owned(), Value::from(text));
    }
}

/// The object without its entries.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    clear(&mut object);
    object
}

fn clear(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Fields of metadata that nobody owns: identity and what the server writes.
const UNOWNED: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// The paths that nobody owns.
static NO_OWNER: LazyLock<FieldSet> = LazyLock::new(|| {
    let mut set = FieldSet::default();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[PathElement::field(name)]);
    }
    for name in UNOWNED {
        set.insert(&[PathElement::field("metadata"), PathElement::field(name)]);
    }
    set
});

/// What counts in no comparison: what this endpoint resets, and the entries themselves, which only one side may have.
/// What no write changes: the entries themselves.
fn unseen() -> FieldSet {
    let mut set = FieldSet::default();
    let entries = ["metadata", "managedFields"].map(PathElement::field);
    set.insert(&entries);
    set
}

fn ignored(writer: Writer<'_>) -> FieldSet {
    let mut set = unseen();
    for name in writer.reset {
        set.insert(&[PathElement::field(name)]);
    }
    set
}

fn describe_manager(manager: &Manager, version: &str) -> String {
    let mut text = quote(&manager.name);
    if !manager.subresource.is_empty() {
        text.push_str(&format!(
            " with subresource {}",
            quote(&manager.subresource)
        ));
    }
    if !manager.applies {
        text.push_str(&format!(" using {version}"));
    }
    text
}

/// An object as messages name it: `namespace/name; group/version, Kind=Kind`.
pub(crate) fn describe(config: &Value) -> String {
    let text = |pointer: &str| {
        config
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let version = text("/apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!(
        "{}/{}; {slash}{version}, Kind={}",
        text("/metadata/namespace"),
        text("/metadata/name"),
        text("/kind")
    )
}
