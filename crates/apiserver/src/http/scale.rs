//! The scale subresource of custom resources: a `Scale` made from an object, and the wanted count written back into it.
//!
//! Where an object has no wanted count, a read fails, and a patch sees [`UNSET`] in its place: what leaves it so is refused.

use std::sync::Mutex;

use axum::response::Response;
use objects::resource::Scale;
use objects::write::part::Part;
use objects::write::patching::{self, PatchKind};
use objects::write::update::{self, Means};
use objects::write::{FieldValidation, WriteOptions, meta};
use objects::{Failure, Misread, Reason};
use serde_json::{Map, Value, json};

use super::negotiate::Form;
use super::query::Query;
use super::{Asked, Door, body, forms, respond, writes};
use crate::gateway::Verb;
use crate::lock::lock;
use crate::verbs::{RequestTarget, Written};

/// What a patch sees where there is no wanted count.
const UNSET: i64 = -(1 << 31);

/// The version of the `Scale` kind.
const VERSION: &str = "autoscaling/v1";

fn paths(target: &RequestTarget) -> Result<&Scale, Failure> {
    let scale = target.rules()?.version.scale.as_ref();
    scale.ok_or_else(|| target.not_found())
}

/// The Scale of an object that is read.
pub(super) fn shown(target: &RequestTarget, object: &Value) -> Result<Value, Failure> {
    let paths = paths(target)?;
    let (scale, found) =
        of(paths, object).map_err(|why| Failure::new(500, Reason::Unknown, why))?;
    if found {
        return Ok(scale);
    }
    let why = format!(
        "the spec replicas field {:?} does not exist",
        paths.spec_replicas
    );
    let message = format!("Internal error occurred: {why}");
    let failure = Failure::new(500, Reason::InternalError, message);
    Err(failure.with_causes(vec![json!({"message": why})]))
}

/// The Scale of an object, and whether the object has a wanted count.
fn of(paths: &Scale, object: &Value) -> Result<(Value, bool), String> {
    let wanted = paths.wanted(object)?;
    let there = paths.there(object)?.unwrap_or(0);
    let selector = paths.selector(object)?;
    let mut metadata = Map::new();
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = object.pointer(&format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    // Go's type keeps 32 bits, and leaves a zero out of the spec.
    let mut spec = Map::new();
    if let Some(wanted) = wanted.filter(|n| *n != 0) {
        spec.insert("replicas".to_owned(), wrapped(wanted).into());
    }
    let mut status = Map::new();
    status.insert("replicas".to_owned(), wrapped(there).into());
    if let Some(selector) = selector.filter(|s| !s.is_empty()) {
        status.insert("selector".to_owned(), selector.into());
    }
    let scale = json!({"kind": "Scale", "apiVersion": VERSION, "metadata": metadata, "spec": spec, "status": status});
    Ok((scale, wanted.is_some()))
}

#[expect(clippy::cast_possible_truncation, reason = "so does the real server")]
fn wrapped(number: i64) -> i32 {
    number as i32
}

/// What does not fit the type of a Scale, in Go's words.
fn problem(scale: &Value) -> Option<String> {
    let wrong = |field: &str, value: &Value, wanted: &str| {
        let found = match value {
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(n) if n.is_f64() || field.ends_with("replicas") => format!("number {n}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) | Value::Null => "object".to_owned(),
        };
        let text =
            format!("json: cannot unmarshal {found} into Go struct field {field} of type {wanted}");
        Some(text)
    };
    for (field, kind) in [("spec", "v1.ScaleSpec"), ("status", "v1.ScaleStatus")] {
        let owner = if field == "spec" {
            "ScaleSpec"
        } else {
            "ScaleStatus"
        };
        match scale.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                let replicas = map.get("replicas").filter(|r| !r.is_null());
                let fits = |r: &&Value| r.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
                if let Some(replicas) = replicas.filter(|r| !fits(r)) {
                    return wrong(&format!("{owner}.{field}.replicas"), replicas, "int32");
                }
                let selector = map.get("selector").filter(|_| field == "status");
                let odd = |s: &&Value| !s.is_string() && !s.is_null();
                if let Some(selector) = selector.filter(odd) {
                    return wrong("ScaleStatus.status.selector", selector, "string");
                }
            }
            Some(other) => return wrong(&format!("Scale.{field}"), other, kind),
        }
    }
    match scale.get("metadata") {
        None | Some(Value::Null) => None,
        Some(Value::Object(_)) => objects::builtin::metadata_type_error(&scale["metadata"]),
        Some(other) => wrong("Scale.metadata", other, "v1.ObjectMeta"),
    }
}

/// The object with the wanted count and the expectations of a Scale.
fn written(target: &RequestTarget, old: &Value, scale: &Value) -> Result<Value, Failure> {
    let paths = paths(target)?;
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64);
    let replicas = replicas.unwrap_or(0);
    if replicas == UNSET {
        let why = format!(
            "the spec replicas field {:?} cannot be empty",
            paths.spec_replicas
        );
        return Err(Failure::bad_request(why));
    }
    let mut new = old.clone();
    put_at(
        &mut new,
        paths.spec_replicas.trim_start_matches('.'),
        replicas.into(),
    );
    let version = meta(scale, "resourceVersion");
    if !version.is_empty() {
        if version.parse::<u64>().is_err() {
            let why = format!("strconv.ParseUint: parsing \"{version}\": invalid syntax");
            return Err(Failure::new(500, Reason::Unknown, why));
        }
        new["metadata"]["resourceVersion"] = version.into();
    }
    Ok(new)
}

/// Name and namespace of a Scale must be those of the path.
fn identity(target: &RequestTarget, scale: &Value) -> Result<(), Failure> {
    let namespace = meta(scale, "namespace");
    if !namespace.is_empty() && namespace != target.namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    update::check_name(scale, &target.name)
}

impl Door {
    /// Replaces the Scale of an object.
    pub(super) async fn put_scale(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose_of(asked.typed(), writes::shapes)?;
        let options = writes::options(&asked, "UpdateOptions")?;
        let bytes = body::read(asked.body, asked.target.resource.body_limit).await?;
        let decoded = body::object(&bytes, &asked.content_type, body::Wanted::typed("Scale"));
        let unknown = || {
            let why = "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:110\"";
            Failure::bad_request(why)
        };
        let scale = match decoded {
            Err(failure) if failure.code == 400 => return Err(unknown()),
            other => other?.object,
        };
        let said = |field: &str| scale.get(field).and_then(Value::as_str).unwrap_or_default();
        let named = |field: &str, wanted: &str| matches!(said(field), "") || said(field) == wanted;
        let fits = named("kind", "Scale") && named("apiVersion", VERSION);
        let odd = unknown_fields(&scale, false);
        let strict = options.field_validation == FieldValidation::Strict && !odd.is_empty();
        if !fits || strict || problem(&scale).is_some() {
            return Err(unknown());
        }
        let warnings = warned(&odd, &options);
        identity(&asked.target, &scale).map_err(|f| f.with_warnings(warnings.clone()))?;
        let target = &asked.target;
        let uid = meta(&scale, "uid");
        let compute = |old: &Value| {
            let mut new = written(target, old, &scale)?;
            if uid.is_empty() {
                return Ok((new, Means::Patch));
            }
            new["metadata"]["uid"] = uid.into();
            Ok((new, Means::Put))
        };
        let made = self
            .core
            .modify(target, &asked.whose, Verb::Update, &compute, &options)
            .await
            .map_err(|f| f.with_warnings(warnings.clone()))?;
        answer(form, target, &made, [asked.warnings, warnings].concat())
    }

    /// Changes the Scale of an object by a patch.
    pub(super) async fn patch_scale(
        &self,
        asked: Asked,
        form: Form,
        kind: PatchKind,
        patch: &Value,
        options: &WriteOptions,
    ) -> Result<Response, Failure> {
        let target = &asked.target;
        let rules = target.rules()?;
        let moment = self.core.moment();
        let found_odd = Mutex::new(Vec::new());
        let compute = |old: &Value| {
            if kind == PatchKind::Apply {
                let config = config(target, patch)?;
                let part = Part::Scale;
                let new = rules.applied(Some(old), &config, part, options, &moment)?;
                return Ok((new, Means::Apply));
            }
            let paths = paths(target)?;
            let (mut scale, found) =
                of(paths, old).map_err(|why| Failure::new(500, Reason::Unknown, why))?;
            if !found {
                scale["spec"]["replicas"] = UNSET.into();
            }
            let patched = rules.patched(kind, &scale, patch)?;
            let unread = Misread::interpret(&patched).err();
            let unread = unread.or_else(|| problem(&patched));
            if let Some(why) = unread.or_else(|| foreign(&patched)) {
                return Err(patching::misfit(&patched, patch, &why));
            }
            let odd = unknown_fields(&patched, true);
            odd.clone_into(&mut lock(&found_odd));
            if options.field_validation == FieldValidation::Strict && !odd.is_empty() {
                let why = format!("strict decoding error: {}", odd.join(", "));
                return Err(patching::misfit(&patched, patch, &why));
            }
            identity(target, &patched)?;
            Ok((written(target, old, &patched)?, Means::Patch))
        };
        let made = self
            .core
            .modify(target, &asked.whose, Verb::Patch, &compute, options)
            .await;
        let warnings = warned(&lock(&found_odd), options);
        let made = made.map_err(|failure| failure.with_warnings(warnings.clone()))?;
        answer(form, target, &made, [asked.warnings, warnings].concat())
    }
}

/// Why a text that says it is something else is no Scale.
fn foreign(scale: &Value) -> Option<String> {
    let said = |field: &str| scale.get(field).and_then(Value::as_str).unwrap_or_default();
    let or = |given: &str, usual: &str| match given {
        "" => usual.to_owned(),
        given => given.to_owned(),
    };
    let (kind, version) = (or(said("kind"), "Scale"), or(said("apiVersion"), VERSION));
    (kind != "Scale" || version != VERSION).then(|| {
        format!("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:110\"")
    })
}

/// The fields that a Scale has not, as a strict reader tells them: in the order of the text, which of what was patched is that of
/// the names.
fn unknown_fields(scale: &Value, sorted: bool) -> Vec<String> {
    const ROOT: [&str; 5] = ["kind", "apiVersion", "metadata", "spec", "status"];
    const METADATA: [&str; 15] = [
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
    ];
    let names = |value: &Value| {
        let map = value.as_object().into_iter().flatten();
        let mut names: Vec<String> = map.map(|(name, _)| name.clone()).collect();
        if sorted {
            names.sort_unstable();
        }
        names
    };
    let mut odd = Vec::new();
    for part in names(scale) {
        let known: &[&str] = match part.as_str() {
            "metadata" => &METADATA,
            "spec" => &["replicas"],
            "status" => &["replicas", "selector"],
            _ => {
                if !ROOT.contains(&part.as_str()) {
                    odd.push(format!("unknown field \"{part}\""));
                }
                continue;
            }
        };
        let below = names(scale.get(&part).unwrap_or(&Value::Null));
        let unknown = below.iter().filter(|name| !known.contains(&name.as_str()));
        odd.extend(unknown.map(|name| format!("unknown field \"{part}.{name}\"")));
    }
    odd
}

/// What to warn about in a Scale.
fn warned(odd: &[String], options: &WriteOptions) -> Vec<String> {
    match options.field_validation {
        FieldValidation::Warn => odd.to_vec(),
        FieldValidation::Ignore | FieldValidation::Strict => Vec::new(),
    }
}

/// The table of a Scale.
pub(super) fn table(
    scale: &Value,
    version: &str,
    query: &Query,
    now: jiff::Timestamp,
) -> Result<Value, Failure> {
    let columns = objects::table::Column::of_scale();
    let mut metadata = Map::new();
    if let Some(rv) = scale.pointer("/metadata/resourceVersion") {
        metadata.insert("resourceVersion".to_owned(), rv.clone());
    }
    let objects = std::slice::from_ref(scale);
    forms::table_of(&columns, (objects, metadata), query, (version, true, now))
}

/// What an applied Scale wants of the object.
fn config(target: &RequestTarget, scale: &Value) -> Result<Value, Failure> {
    let said = |field: &str| scale.get(field).and_then(Value::as_str).unwrap_or_default();
    if said("apiVersion") != VERSION || said("kind") != "Scale" {
        let (group, version) = said("apiVersion")
            .rsplit_once('/')
            .unwrap_or_else(|| ("", said("apiVersion")));
        let kind = said("kind");
        let why = format!("invalid object type: {group}/{version}, Kind={kind}");
        return Err(Failure::bad_request(why));
    }
    if let Some(why) = Scale::unfit(scale) {
        return Err(Failure::new(500, Reason::Unknown, why));
    }
    let rules = target.rules()?;
    let mut config = json!({"apiVersion": rules.api_version(), "kind": rules.resource.kind, "metadata": {"name": target.name, "namespace": target.namespace}});
    if let Some(replicas) = scale.pointer("/spec/replicas").filter(|r| !r.is_null()) {
        let path = paths(target)?.spec_replicas.trim_start_matches('.');
        put_at(&mut config, path, replicas.clone());
    }
    Ok(config)
}

fn answer(
    form: Form,
    target: &RequestTarget,
    made: &Written,
    mut warnings: Vec<String>,
) -> Result<Response, Failure> {
    warnings.extend(made.warnings.iter().cloned());
    let (scale, _) = of(paths(target)?, &made.object.value()).map_err(Failure::bad_request)?;
    Ok(respond::value(made.code, form.format, &scale, &warnings))
}

fn put_at(object: &mut Value, path: &str, value: Value) {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(f, r)| (f, Some(r)));
    let Some(map) = object.as_object_mut() else {
        return;
    };
    match rest {
        None => drop(map.insert(first.to_owned(), value)),
        Some(rest) => put_at(map.entry(first).or_insert_with(|| json!({})), rest, value),
    }
}
