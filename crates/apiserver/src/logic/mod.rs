//! The rules of objects, pure: what a create, an update, a patch or a delete makes of an object.
//!
//! Everything here is a function of values that were read before: no store, no clock, no randomness ([`Moment`] brings
//! time and fresh names). It never learns what a kind means beyond its definition.

pub mod convert;
pub mod delete;
pub mod managed;
pub mod metadata;
pub mod part;
pub mod patching;
pub mod scale;
pub mod select;
pub mod update;

mod create;

pub use create::create;

use serde_json::{Map, Value};

use crate::registry::{Resource, Version};
use crate::schema::FieldError;
use crate::status::Failure;

/// Time and fresh names for one request.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Now, as written into objects.
    pub now: String,
    /// A uid that was never used.
    pub uid: String,
    /// Five characters for a generated name.
    pub suffix: String,
}

/// What to do about fields that the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them and warn.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

/// The options that every write shares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Change nothing, answer as if.
    pub dry_run: bool,
    /// The manager of the written fields.
    pub field_manager: String,
    /// What to do about unknown fields.
    pub field_validation: FieldValidation,
    /// Whether an apply takes over fields of others.
    pub force: bool,
    /// What a strict reader refuses about the text of the body.
    pub duplicates: Vec<String>,
}

/// A resource in the version that a request speaks.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The resource.
    pub resource: &'a Resource,
    /// The version of the request.
    pub version: &'a Version,
}

impl Rules<'_> {
    /// `group/version` of the request.
    #[must_use]
    pub fn api_version(&self) -> String {
        self.resource.api_version(&self.version.name)
    }

    /// 422 naming the kind.
    #[must_use]
    pub fn invalid(&self, name: &str, errors: &[FieldError]) -> Failure {
        Failure::invalid(&self.resource.group, &self.resource.kind, name, errors)
    }

    /// Whether these are the rules of namespaces.
    #[must_use]
    pub fn is_namespace(&self) -> bool {
        self.resource
            .built_in
            .is_some_and(|kind| kind.kind == "Namespace")
    }

    /// Whether the kind counts generations: custom resources do, built-in ones say so.
    #[must_use]
    pub fn counts_generations(&self) -> bool {
        self.resource.built_in.is_none_or(|kind| kind.generation)
    }
}

/// A computed write.
#[derive(Debug, Clone)]
#[must_use = "commit it; until then nothing is stored"]
pub struct Prepared {
    /// The object in the version of the request, its resource version apart.
    pub object: Value,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// The metadata of an object, made if it is missing.
pub fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let root = object.as_object_mut()?;
    let metadata = root.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = Map::new().into();
    }
    metadata.as_object_mut()
}

/// A text of the metadata; empty if there is none.
#[must_use]
pub fn meta<'a>(object: &'a Value, key: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|m| m.get(key))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The resource version that an object carries, if it is a number.
#[must_use]
pub fn rv_of(object: &Value) -> Option<u64> {
    meta(object, "resourceVersion").parse().ok()
}

/// Checks kind, apiVersion and namespace of a body against the path, and fills in what may be left out.
///
/// # Errors
/// 400 or 422 in the words of the real server.
pub fn check_identity(
    rules: Rules<'_>,
    object: &mut Value,
    namespace: &str,
) -> Result<(), Failure> {
    let wanted = rules.api_version();
    let resource = rules.resource;
    let Some(root) = object.as_object_mut() else {
        return Err(Failure::bad_request("the body is not an object"));
    };
    let given = root
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let kind = root
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if given.is_empty() && !resource.custom() {
        root.insert("apiVersion".to_owned(), wanted.clone().into());
    } else if given.trim_start_matches('/') != wanted {
        if !resource.custom() {
            let kind = root.get("kind").and_then(Value::as_str).unwrap_or_default();
            let version = given.rsplit('/').next().unwrap_or_default();
            return Err(Failure::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {}: no kind \"{kind}\" is registered for version \"{given}\" in scheme \"pkg/runtime/scheme.go:110\"",
                resource.kind
            )));
        }
        let given = given.trim_start_matches('/');
        return Err(Failure::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({wanted})"
        )));
    }
    if kind.is_empty() && !resource.custom() {
        root.insert("kind".to_owned(), resource.kind.clone().into());
    } else if kind != resource.kind {
        if resource.custom() {
            let error =
                FieldError::invalid("kind", kind.as_str(), format!("must be {}", resource.kind));
            return Err(Failure::invalid(
                &resource.group,
                &kind,
                meta(object, "name"),
                &[error],
            ));
        }
        let known = registered(&resource.group, &kind);
        if !known {
            return Err(Failure::bad_request(format!(
                "{kind} in version \"{}\" cannot be handled as a {}: no kind \"{kind}\" is registered for version \"{wanted}\" in scheme \"pkg/runtime/scheme.go:110\"",
                rules.version.name, resource.kind
            )));
        }
        return Err(Failure::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: converting ({}.{kind}) to ({}.{}): unknown conversion",
            kind,
            rules.version.name,
            resource.kind,
            rules.version.name,
            if resource.group.is_empty() {
                "core"
            } else {
                resource.group.split('.').next().unwrap_or_default()
            },
            resource.kind
        )));
    }
    namespace_of(resource, object, namespace)
}

/// Whether Go's types of a group know a kind: lists and the kinds of options are in every group.
fn registered(group: &str, kind: &str) -> bool {
    const SHARED: [&str; 8] = [
        "Status",
        "ListOptions",
        "GetOptions",
        "DeleteOptions",
        "CreateOptions",
        "UpdateOptions",
        "PatchOptions",
        "WatchEvent",
    ];
    let single = kind.strip_suffix("List").unwrap_or(kind);
    let mut all = crate::builtin::definitions().iter();
    SHARED.contains(&kind) || all.any(|d| d.group == group && (d.kind == kind || d.kind == single))
}

fn namespace_of(resource: &Resource, object: &mut Value, namespace: &str) -> Result<(), Failure> {
    let given = meta(object, "namespace").to_owned();
    let Some(metadata) = metadata_mut(object) else {
        return Err(Failure::bad_request("metadata is not an object"));
    };
    if !resource.namespaced {
        metadata.remove("namespace");
    } else if given.is_empty() {
        metadata.insert("namespace".to_owned(), namespace.into());
    } else if given != namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// What a strict reader finds in a body that is not looked at further.
///
/// # Errors
/// As [`report_unknown`].
pub fn read_strictly(
    rules: Rules<'_>,
    body: &Value,
    options: &WriteOptions,
) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    if options.field_validation == FieldValidation::Ignore {
        return Ok(warnings);
    }
    let unknown = match &rules.version.schema {
        Some(schema) => schema.prune(&mut body.clone()),
        None => Vec::new(),
    };
    report_unknown(rules, &unknown, options, &mut warnings)?;
    Ok(warnings)
}

/// Refuses or warns about duplicate and unknown fields, as the request asked.
///
/// # Errors
/// 400 naming all of them, under `Strict`.
pub fn report_unknown(
    rules: Rules<'_>,
    unknown: &[String],
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    let unknown = unknown
        .iter()
        .map(|path| format!("unknown field \"{path}\""));
    let all: Vec<String> = options.duplicates.iter().cloned().chain(unknown).collect();
    match options.field_validation {
        _ if all.is_empty() => Ok(()),
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            warnings.extend(all);
            Ok(())
        }
        FieldValidation::Strict => {
            // YAML's own strictness comes as a block of its own.
            let block = |text: &String| {
                if text.starts_with("line ") {
                    format!("yaml: unmarshal errors:\n  {text}")
                } else {
                    text.clone()
                }
            };
            let all: Vec<String> = all.iter().map(block).collect();
            let kind = &rules.resource.kind;
            Err(Failure::bad_request(format!(
                "{kind} in version \"{}\" cannot be handled as a {kind}: strict decoding error: {}",
                rules.version.name,
                all.join(", ")
            )))
        }
    }
}
