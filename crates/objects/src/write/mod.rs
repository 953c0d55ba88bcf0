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
mod scale;
pub mod update;

mod create;

use serde_json::{Map, Value};

use update::Means;

use crate::reason::Reason;
use crate::resource::{Resource, Version};
use crate::schema::{FieldError, Stack, quote};
use crate::status::{Failure, Misread};

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
    /// What a strict reader refuses about the text of the body: fields that stand twice, and those that its type in Go has not.
    pub duplicates: Vec<String>,
    /// A strategic patch, which is told instead of what it makes where that is refused.
    pub strategic: Option<Value>,
}

/// A resource in the version that a request speaks.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The resource.
    pub resource: &'a Resource,
    /// The version of the request.
    pub version: &'a Version,
    /// Where rules of schemas are evaluated.
    pub stack: Stack,
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
    pub(crate) fn is_namespace(&self) -> bool {
        self.resource
            .built_in
            .is_some_and(|kind| kind.kind == "Namespace")
    }

    /// Whether the kind counts generations: custom resources do, built-in ones say so.
    #[must_use]
    pub(crate) fn counts_generations(&self) -> bool {
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

/// The resource version that an object carries; zero for none.
///
/// # Errors
/// 500 for what is no number, in Go's words.
pub fn version_of(object: &Value) -> Result<u64, Failure> {
    let text = meta(object, "resourceVersion");
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let problem = match (digits, text.parse::<u64>()) {
        (true, Ok(version)) => return Ok(version),
        (true, Err(_)) => "value out of range",
        (false, _) => "invalid syntax",
    };
    let why = format!("strconv.ParseUint: parsing {text:?}: {problem}");
    Err(Failure::new(500, Reason::Unknown, why))
}

/// What is wrong with the type that an object says it has: kinds without a type in Go find out late.
#[must_use]
pub(crate) fn other_type(rules: Rules<'_>, object: &Value) -> Vec<FieldError> {
    if !rules.resource.custom() {
        return Vec::new();
    }
    let text = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let wanted = [
        ("kind", rules.resource.kind.clone()),
        ("apiVersion", rules.api_version()),
    ];
    let odd = wanted
        .into_iter()
        .filter(|(field, wanted)| text(field) != wanted);
    odd.map(|(field, wanted)| {
        let said = text(field).trim_start_matches('/');
        FieldError::invalid(field, said, format!("must be {wanted}"))
    })
    .collect()
}

/// 422 of an object that says it is of another type: it is told by what it says, and with what is found in it all the same.
#[must_use]
pub(crate) fn mistyped_refusal(
    rules: Rules<'_>,
    object: &Value,
    old: Option<&Value>,
    mut errors: Vec<FieldError>,
) -> Failure {
    errors.extend(rules.check_contents(object, old, &errors));
    let text = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let group = text("apiVersion")
        .split_once('/')
        .map_or("", |(group, _)| group);
    Failure::invalid(group, text("kind"), meta(object, "name"), &errors)
}

impl Rules<'_> {
    /// Checks kind, apiVersion and namespace of a body against the path, and fills in what may be left out.
    ///
    /// # Errors
    /// 400 or 422 in the words of the real server.
    pub fn check_identity(
        self,
        object: &mut Value,
        namespace: &str,
        means: Means,
    ) -> Result<(), Failure> {
        let wanted = self.api_version();
        let resource = self.resource;
        let text = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (given, kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
        if !object.is_object() {
            return Err(Failure::bad_request("the body is not an object"));
        }
        if let Some(why) = foreign_type(self, object) {
            let version = match given.is_empty() {
                true => self.version.name.as_str(),
                false => given.rsplit('/').next().unwrap_or_default(),
            };
            let said = match kind.is_empty() {
                true => resource.kind.as_str(),
                false => kind.as_str(),
            };
            let why = Misread::Type(why);
            return Err(Failure::misread((said, version), &resource.kind, why));
        }
        if resource.custom() {
            let given = given.trim_start_matches('/');
            // What a patch made of an object is told by `other_type`, later.
            if given != wanted && matches!(means, Means::Post | Means::Put) {
                return Err(Failure::bad_request(format!(
                    "the API version in the data ({given}) does not match the expected API version ({wanted})"
                )));
            }
        } else if let Some(root) = object.as_object_mut() {
            root.insert("apiVersion".to_owned(), wanted.into());
            root.insert("kind".to_owned(), resource.kind.clone().into());
        }
        namespace_of(resource, object, namespace)
    }
}

/// Why Go's types cannot take an object for one of a built-in kind: it says that it is something else.
#[must_use]
pub(crate) fn foreign_type(rules: Rules<'_>, object: &Value) -> Option<String> {
    let resource = rules.resource;
    let text = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (given, kind, wanted) = (text("apiVersion"), text("kind"), rules.api_version());
    if resource.custom() {
        return None;
    }
    let kind = if kind.is_empty() {
        resource.kind.as_str()
    } else {
        kind
    };
    let given = given.trim_start_matches('/');
    if !given.is_empty() && given != wanted && !shared_scheme(given, kind) {
        return Some(format!(
            "no kind \"{kind}\" is registered for version {} in scheme \"pkg/runtime/scheme.go:110\"",
            quote(given)
        ));
    }
    let other = !given.is_empty() && given != wanted;
    if kind == resource.kind && !other {
        return None;
    }
    if !other && !registered(&resource.group, kind) {
        return Some(format!(
            "no kind \"{kind}\" is registered for version \"{wanted}\" in scheme \"pkg/runtime/scheme.go:110\""
        ));
    }
    let package = match resource.group.split('.').next() {
        None | Some("") => "core",
        Some(package) => package,
    };
    let version = match other {
        true => given.rsplit('/').next().unwrap_or_default(),
        false => rules.version.name.as_str(),
    };
    Some(format!(
        "converting ({version}.{kind}) to ({package}.{}): unknown conversion",
        resource.kind
    ))
}

/// Whether Go's types know a kind of another group or version: those of definitions are apart.
fn shared_scheme(given: &str, kind: &str) -> bool {
    let (group, version) = given.rsplit_once('/').unwrap_or(("", given));
    let apart = matches!(group, "apiextensions.k8s.io" | "apiregistration.k8s.io");
    let mut all = crate::builtin::definitions().iter();
    let known = all.any(|d| d.group == group && d.version == version);
    !apart && known && registered(group, kind) && (kind != "Status" || group.is_empty())
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

impl Rules<'_> {
    /// What a strict reader finds in a body that is not looked at further.
    ///
    /// # Errors
    /// As [`Rules::report_unknown`].
    pub fn read_strictly(
        self,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Vec<String>, Failure> {
        let mut warnings = Vec::new();
        if options.field_validation == FieldValidation::Ignore {
            return Ok(warnings);
        }
        let unknown = unknown_to(self, body);
        let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
        // It is told by the version that it says it is in, and by its kind where that has no type in Go.
        let said = text("apiVersion").rsplit('/').next().unwrap_or_default();
        let shown = format!("{said:?}");
        let inside = shown.strip_prefix('"').and_then(|s| s.strip_suffix('"'));
        let version = match said {
            "" => self.version.name.as_str(),
            _ => inside.unwrap_or(said),
        };
        let kind = match text("kind") {
            said if self.resource.custom() && !said.is_empty() => said,
            _ => self.resource.kind.as_str(),
        };
        report((kind, version), &unknown, options, &mut warnings)?;
        Ok(warnings)
    }
}

/// The unknown fields of a body, under the schema of the version that it says it is in: one that is not there knows nothing.
fn unknown_to(rules: Rules<'_>, body: &Value) -> Vec<String> {
    let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
    let resource = rules.resource;
    let own = || match (&rules.version.schema, resource.built_in) {
        (Some(_), Some(kind)) => kind.prune(&mut body.clone()),
        (Some(schema), None) => schema.prune(&mut body.clone()),
        (None, _) => Vec::new(),
    };
    if !resource.custom() {
        return own();
    }
    let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
    if group != resource.group || text("kind") != resource.kind {
        // What is of another kind has metadata like all.
        let mut all = own();
        all.retain(|path| path.starts_with("metadata."));
        return all;
    }
    if version == rules.version.name {
        return own();
    }
    match resource.version(version).and_then(|v| v.schema.as_ref()) {
        Some(schema) => schema.prune(&mut body.clone()),
        None => {
            let fields = body.as_object().into_iter().flatten().map(|(name, _)| name);
            let mut all: Vec<String> = fields
                .filter(|name| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
                .cloned()
                .collect();
            all.sort_unstable();
            all
        }
    }
}

impl Rules<'_> {
    /// Refuses or warns about duplicate and unknown fields, as the request asked.
    ///
    /// # Errors
    /// 400 naming all of them, under `Strict`.
    pub fn report_unknown(
        self,
        unknown: &[String],
        options: &WriteOptions,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let own = (self.resource.kind.as_str(), self.version.name.as_str());
        report(own, unknown, options, warnings)
    }
}

/// The same of a body that is told by this kind and version.
fn report(
    (kind, version): (&str, &str),
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
            let why = Misread::Strict(all.join(", "));
            Err(Failure::misread((kind, version), kind, why))
        }
    }
}
