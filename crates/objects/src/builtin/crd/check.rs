//! The law of CustomResourceDefinitions, with the texts of apiextensions' validation.
//!
//! What all versions have alike is complained about once, at the top of `spec`, as the real server's inner
//! form does (`spec.validation.openAPIV3Schema…`).

use serde_json::Value;

use super::parts::{columns, scale, selectable};
use super::webhook::conversion;
use super::{is_established, text, texts};
use crate::names;
use crate::schema::{FieldError, Stack, Structural};

/// Checks a CRD (`old` none: a new one), its name included.
#[must_use]
pub(crate) fn validate(crd: &Value, old: Option<&Value>, stack: Stack) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    let names = spec.get("names").unwrap_or(&Value::Null);
    let name = crd
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let fresh = old.is_none();
    if fresh
        && !name.is_empty()
        && name != format!("{}.{}", text(names, "plural"), text(spec, "group"))
    {
        let detail = r#"must be spec.names.plural+"."+spec.group"#;
        errors.push(FieldError::invalid("metadata.name", name, detail));
    }
    group_and_scope(spec, &mut errors);
    versions(spec, stack, &mut errors);
    names_rules(names, &mut errors);
    conversion(spec, &mut errors);
    stored(crd, spec, &mut errors);
    approval(crd, spec, old, &mut errors);
    let preserves = |crd: &Value| crd.pointer("/spec/preserveUnknownFields") == Some(&true.into());
    if preserves(crd) {
        unpruned(spec, &mut errors);
    }
    if preserves(crd) && !old.is_some_and(preserves) {
        let text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                    spec.versions[*].schema instead";
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            text,
        ));
    }
    if let Some(old) = old {
        immutable(crd, old, &mut errors);
    }
    errors
}

/// What needs objects without unknown fields.
fn unpruned(spec: &Value, errors: &mut Vec<FieldError>) {
    fn defaults(schema: &Value) -> bool {
        match schema {
            Value::Object(map) => {
                map.get("default").is_some_and(|d| !d.is_null()) || map.values().any(defaults)
            }
            Value::Array(items) => items.iter().any(defaults),
            _ => false,
        }
    }
    let versions = spec.get("versions").and_then(Value::as_array);
    let schemas = versions
        .into_iter()
        .flatten()
        .filter_map(|v| v.get("schema"));
    if schemas.into_iter().any(defaults) {
        let why = "must be false in order to use defaults in the schema";
        let at = "spec.preserveUnknownFields";
        errors.push(FieldError::invalid(at, true, why));
    }
    let strategy = spec.get("conversion").map(|c| text(c, "strategy"));
    if let Some(strategy) = strategy.filter(|strategy| strategy != "None") {
        let why = "must be None if spec.preserveUnknownFields is true";
        let at = "spec.conversion.strategy";
        errors.push(FieldError::invalid(at, strategy, why));
    }
}

fn join(problems: &[String]) -> String {
    problems.join(",")
}

fn group_and_scope(spec: &Value, errors: &mut Vec<FieldError>) {
    let group = text(spec, "group");
    let problems = names::dns1123_subdomain(&group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !problems.is_empty() {
        errors.push(FieldError::invalid(
            "spec.group",
            group.as_str(),
            join(&problems),
        ));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", group.as_str(), detail));
    }
    match text(spec, "scope").as_str() {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => errors.push(FieldError::not_supported(
            "spec.scope",
            other,
            &["Cluster", "Namespaced"],
        )),
    }
}

/// Whether all versions say the same under `field`.
fn alike(list: &[Value], field: &str) -> bool {
    list.windows(2).all(|pair| match pair {
        [a, b] => a.get(field) == b.get(field),
        _ => true,
    })
}

fn versions(spec: &Value, stack: Stack, errors: &mut Vec<FieldError>) {
    let empty = Vec::new();
    let list = spec
        .get("versions")
        .and_then(Value::as_array)
        .unwrap_or(&empty);
    let mut seen: Vec<String> = Vec::new();
    let mut unique = true;
    for (i, version) in list.iter().enumerate() {
        let name = text(version, "name");
        let problems = names::dns1035_label(&name);
        if !problems.is_empty() {
            let at = format!("spec.versions[{i}].name");
            errors.push(FieldError::invalid(&at, name.as_str(), join(&problems)));
            // The version of v1beta1 is the first one, where that has a name.
            if i == 0 && !name.is_empty() {
                errors.push(FieldError::invalid(
                    "spec.version",
                    name.as_str(),
                    join(&problems),
                ));
            }
        }
        unique &= !seen.contains(&name);
        seen.push(name);
        if version
            .pointer("/schema/openAPIV3Schema")
            .is_none_or(Value::is_null)
        {
            errors.push(FieldError::required(
                &format!("spec.versions[{i}].schema.openAPIV3Schema"),
                "",
            ));
        }
        deprecation(version, &format!("spec.versions[{i}]"), errors);
    }
    let storage = list
        .iter()
        .filter(|v| v.get("storage") == Some(&Value::Bool(true)))
        .count();
    if !unique {
        let detail = "must contain unique version names";
        errors.push(FieldError::invalid_raw("spec.versions", dump(list), detail));
    }
    if storage != 1 {
        let detail = "must have exactly one version marked as storage version";
        let shown = match spec.get("versions") {
            None | Some(Value::Null) => "null".to_owned(),
            _ => dump(list),
        };
        errors.push(FieldError::invalid_raw("spec.versions", shown, detail));
    }
    contents(list, stack, errors);
}

/// The warning of a version that should not be used any more.
fn deprecation(version: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let mut told = |why: String| {
        errors.push(FieldError::invalid(
            &format!("{at}.deprecationWarning"),
            warning,
            why,
        ));
    };
    if version.get("deprecated") != Some(&Value::Bool(true)) {
        told("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > 256 {
        told("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        told("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        told(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}

/// Schemas, subresources, columns and selectable fields of all versions.
fn contents(list: &[Value], stack: Stack, errors: &mut Vec<FieldError>) {
    for (field, top) in [
        ("schema", "spec.validation"),
        ("subresources", "spec.subresources"),
        ("additionalPrinterColumns", "spec.additionalPrinterColumns"),
        ("selectableFields", "spec.selectableFields"),
    ] {
        let shared = alike(list, field);
        // Fields are looked for in the schema of their own level alone.
        let level = shared == alike(list, "schema");
        for (i, version) in list.iter().enumerate() {
            let at = if shared {
                top.to_owned()
            } else {
                format!("spec.versions[{i}].{field}")
            };
            if field == "selectableFields" {
                let schema = version.pointer("/schema/openAPIV3Schema");
                let schema = schema.filter(|schema| level && !schema.is_null());
                selectable(version, schema, &at, errors);
            } else {
                part(version, field, &at, stack, errors);
            }
            if shared {
                break;
            }
        }
    }
}

fn part(version: &Value, field: &str, at: &str, stack: Stack, errors: &mut Vec<FieldError>) {
    match field {
        "schema" => {
            if let Some(schema) = version
                .pointer("/schema/openAPIV3Schema")
                .filter(|s| !s.is_null())
            {
                let at = format!("{at}.openAPIV3Schema");
                if schema.get("nullable") == Some(&Value::Bool(true)) {
                    let why = "nullable cannot be true at the root";
                    errors.push(FieldError::forbidden(&format!("{at}.nullable"), why));
                }
                errors.extend(
                    Structural::from_json_at(schema, &at, stack)
                        .err()
                        .unwrap_or_default(),
                );
            }
        }
        "subresources" => scale(version, at, errors),
        _ => columns(version, at, errors),
    }
}

/// Versions as the real server prints its inner form.
fn dump(list: &[Value]) -> String {
    let alike_all = |field: &str| alike(list, field);
    let shown = |version: &Value, field: &str| {
        let value = version.get(field).filter(|_| !alike_all(field));
        value.map_or_else(|| "null".to_owned(), ToString::to_string)
    };
    let flag =
        |version: &Value, field: &str| version.get(field).and_then(Value::as_bool).unwrap_or(false);
    let parts: Vec<String> = list
        .iter()
        .map(|v| {
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\
                 \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
                Value::from(text(v, "name")),
                flag(v, "served"),
                flag(v, "storage"),
                flag(v, "deprecated"),
                v.get("deprecationWarning").unwrap_or(&Value::Null),
                shown(v, "schema"),
                shown(v, "subresources"),
                shown(v, "additionalPrinterColumns"),
                shown(v, "selectableFields"),
            )
        })
        .collect();
    format!("[{}]", parts.join(","))
}

fn names_rules(found: &Value, errors: &mut Vec<FieldError>) {
    let mut check = |at: String, shown: &str, problems: Vec<String>, prefix: &str| {
        if !problems.is_empty() {
            errors.push(FieldError::invalid(
                &at,
                shown,
                format!("{prefix}{}", join(&problems)),
            ));
        }
    };
    let mixed = "may have mixed case, but should otherwise match: ";
    let (plural, singular) = (text(found, "plural"), text(found, "singular"));
    if !plural.is_empty() {
        check(
            "spec.names.plural".to_owned(),
            &plural,
            names::dns1035_label(&plural),
            "",
        );
    }
    if !singular.is_empty() {
        check(
            "spec.names.singular".to_owned(),
            &singular,
            names::dns1035_label(&singular),
            "",
        );
    }
    let (kind, list_kind) = (text(found, "kind"), text(found, "listKind"));
    if !kind.is_empty() {
        let problems = names::dns1035_label(&kind.to_lowercase());
        check("spec.names.kind".to_owned(), &kind, problems, mixed);
    }
    if !list_kind.is_empty() {
        let problems = names::dns1035_label(&list_kind.to_lowercase());
        check(
            "spec.names.listKind".to_owned(),
            &list_kind,
            problems,
            mixed,
        );
    }
    for field in ["shortNames", "categories"] {
        for (i, name) in texts(found, field).iter().enumerate() {
            check(
                format!("spec.names.{field}[{i}]"),
                name,
                names::dns1035_label(name),
                "",
            );
        }
    }
    // What is not given cannot be made up where the kind is missing, too.
    for (field, name) in [
        ("plural", &plural),
        ("singular", &singular),
        ("kind", &kind),
        ("listKind", &list_kind),
    ] {
        if name.is_empty() {
            errors.push(FieldError::required(&format!("spec.names.{field}"), ""));
        }
    }
    if !kind.is_empty() && kind == list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            "spec.names.listKind",
            list_kind,
            detail,
        ));
    }
}

fn stored(crd: &Value, spec: &Value, errors: &mut Vec<FieldError>) {
    let at = "status.storedVersions";
    let Some(status) = crd.get("status") else {
        return;
    };
    let mut stored = texts(status, "storedVersions");
    if stored.is_empty() {
        errors.push(FieldError::invalid(
            at,
            Value::Null,
            "must have at least one stored version",
        ));
        return;
    }
    let shown = Value::from(stored.clone());
    let list = spec.get("versions").and_then(Value::as_array);
    for version in list.into_iter().flatten() {
        let name = text(version, "name");
        let found = stored.iter().position(|s| *s == name);
        if found.is_none() && version.get("storage") == Some(&Value::Bool(true)) {
            let detail = format!("must have the storage version {name}");
            errors.push(FieldError::invalid(at, shown.clone(), detail));
        }
        stored.retain(|s| *s != name);
    }
    for name in stored {
        let index = texts(status, "storedVersions")
            .iter()
            .position(|s| *s == name)
            .unwrap_or_default();
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in \
             spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
             {name} from status.storedVersions"
        );
        errors.push(FieldError::invalid(&format!("{at}[{index}]"), name, detail));
    }
}

fn approval(crd: &Value, spec: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let group = text(spec, "group");
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|p| {
        group == *p
            || group
                .strip_suffix(p)
                .is_some_and(|start| start.ends_with('.'))
    });
    let missing = |crd: &Value| {
        let annotation = crd.pointer("/metadata/annotations/api-approved.kubernetes.io");
        annotation.and_then(Value::as_str).is_none_or(str::is_empty)
    };
    // Who lacked it before may go on so.
    if protected && missing(crd) && !old.is_some_and(missing) {
        let detail = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
                      https://github.com/kubernetes/enhancements/pull/1111";
        errors.push(FieldError::required(
            "metadata.annotations[api-approved.kubernetes.io]",
            detail,
        ));
    }
}

fn immutable(crd: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let mut fixed = vec!["/spec/group", "/spec/names/plural"];
    if is_established(old) {
        fixed.extend(["/spec/scope", "/spec/names/kind"]);
    }
    for pointer in fixed {
        let (new, former) = (crd.pointer(pointer), old.pointer(pointer));
        if new != former {
            let at = pointer.trim_start_matches('/').replace('/', ".");
            let value = new.cloned().unwrap_or_default();
            errors.push(FieldError::invalid(&at, value, "field is immutable"));
        }
    }
}
