//! Rules of single built-in kinds, with the texts of `k8s.io/kubernetes/pkg/apis/*/validation`.

use serde_json::Value;

use super::BuiltInKind;
use crate::names;
use crate::schema::{FieldError, Stack, metadata as meta};

/// The largest ConfigMap or Secret, in bytes of its data.
const MAX_DATA: usize = 1024 * 1024;

/// The rules of the kind; metadata is checked by `meta`.
pub(super) fn validate(
    definition: &BuiltInKind,
    object: &Value,
    old: Option<&Value>,
    stack: Stack,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let twice = definition.group == "rbac.authorization.k8s.io" && old.is_some();
    match definition.kind {
        "Namespace" => namespace(object, old.is_some(), &mut errors),
        "ConfigMap" => config_map(object, old, &mut errors),
        "Secret" => secret_rules(object, old, &mut errors),
        "Event" if old.is_none() || definition.group.is_empty() => {
            super::events::check(object, definition.group, &mut errors)
        }
        "Lease" => lease(object, &mut errors),
        "Role" => role(object, true, &mut errors),
        "ClusterRole" => role(object, false, &mut errors),
        "RoleBinding" | "ClusterRoleBinding" => {
            binding(object, old, definition.namespaced, &mut errors)
        }
        "CustomResourceDefinition" => errors.extend(super::crd::validate(object, old, stack)),
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            review(object, definition.kind, &mut errors);
        }
        _ => {}
    }
    if twice {
        // A change is held against the rules of new ones, and those are among the rules of changes; but for the one about changes.
        let change = |e: &FieldError| e.path == "roleRef" && e.detail == "cannot change roleRef";
        let again: Vec<FieldError> = errors.iter().filter(|e| !change(e)).cloned().collect();
        errors.extend(again);
    }
    errors
}

/// The finalizers of a namespace's content, and a phase that its deletion explains.
fn namespace(object: &Value, known: bool, errors: &mut Vec<FieldError>) {
    let finalizers = object.pointer("/spec/finalizers").and_then(Value::as_array);
    let named = serde_json::json!({"finalizers": finalizers});
    // Where finalizers are taken off they are told by their places, where they are first given by the list alone.
    let place = |i: usize| match known {
        true => format!("spec.finalizers[{i}]"),
        false => "spec.finalizers".to_owned(),
    };
    for (i, name) in finalizers.into_iter().flatten().enumerate() {
        for problem in names::qualified_name(name.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(&place(i), name.clone(), problem));
        }
    }
    for mut problem in meta::core_finalizers(&named) {
        problem.path = match known {
            true => problem.path.replacen("metadata.", "spec.", 1),
            false => place(0),
        };
        errors.push(problem);
    }
    let deleted = object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|t| !t.is_null());
    let phase = object
        .pointer("/status/phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (wanted, state) = match deleted {
        true => ("Terminating", "not empty"),
        false => ("Active", "empty"),
    };
    if known && phase != wanted {
        let why = format!("may only be '{wanted}' if `deletionTimestamp` is {state}");
        errors.push(FieldError::invalid("status.Phase", phase, why));
    }
}

fn data_size(object: &Value, name: &str, decode: bool) -> usize {
    let entries = object.get(name).and_then(Value::as_object);
    let length = |v: &Value| {
        v.as_str()
            .map_or(0, |s| if decode { s.len() / 4 * 3 } else { s.len() })
    };
    entries.into_iter().flatten().map(|(_, v)| length(v)).sum()
}

fn immutable(object: &Value, old: Option<&Value>, parts: &[&str], errors: &mut Vec<FieldError>) {
    let set = |value: &Value| value.get("immutable") == Some(&Value::Bool(true));
    let Some(old) = old.filter(|old| set(old)) else {
        return;
    };
    let text = "field is immutable when `immutable` is set";
    if !set(object) {
        errors.push(FieldError::forbidden("immutable", text));
    }
    for part in parts {
        if object.get(*part) != old.get(*part) {
            errors.push(FieldError::forbidden(part, text));
        }
    }
}

fn config_map(object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    immutable(object, old, &["data", "binaryData"], errors);
    let keys = |name: &str| -> Vec<String> {
        let map = object.get(name).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .map(|(key, _)| key.clone())
            .collect()
    };
    let (texts, bytes) = (keys("data"), keys("binaryData"));
    for key in &texts {
        let at = format!("data[{key}]");
        for problem in names::config_map_key(key) {
            errors.push(FieldError::invalid(&at, key.as_str(), problem));
        }
        if bytes.contains(key) {
            errors.push(FieldError::invalid(
                &at,
                key.as_str(),
                "duplicate of key present in binaryData",
            ));
        }
    }
    for key in &bytes {
        for problem in names::config_map_key(key) {
            errors.push(FieldError::invalid(
                &format!("binaryData[{key}]"),
                key.as_str(),
                problem,
            ));
        }
    }
    if data_size(object, "data", false) + data_size(object, "binaryData", true) > MAX_DATA {
        // The real server names the whole object by an empty path element.
        errors.push(FieldError::too_long("[]", MAX_DATA as u64));
    }
}

fn secret_rules(object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let kind = |value: &Value| {
        value
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    if let Some(old) = old
        && kind(old) != kind(object)
    {
        errors.push(FieldError::invalid(
            "type",
            kind(object),
            "field is immutable",
        ));
    }
    immutable(object, old, &["data"], errors);
    let data = object.get("data").and_then(Value::as_object);
    for (key, _) in data.into_iter().flatten() {
        for problem in names::config_map_key(key) {
            errors.push(FieldError::invalid(
                &format!("data[{key}]"),
                key.as_str(),
                problem,
            ));
        }
    }
    if data_size(object, "data", true) > MAX_DATA {
        errors.push(FieldError::too_long("data", MAX_DATA as u64));
    }
    let has = |key: &str| data.is_some_and(|d| d.contains_key(key));
    let mut need = |key: &str| {
        if !has(key) {
            errors.push(FieldError::required(&format!("data[{key}]"), ""));
        }
    };
    match kind(object).as_str() {
        "kubernetes.io/dockercfg" => need(".dockercfg"),
        "kubernetes.io/dockerconfigjson" => need(".dockerconfigjson"),
        "kubernetes.io/ssh-auth" => need("ssh-privatekey"),
        "kubernetes.io/tls" => {
            need("tls.crt");
            need("tls.key");
        }
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            need("username");
            need("password");
        }
        "kubernetes.io/service-account-token" => {
            let name = object.pointer("/metadata/annotations/kubernetes.io~1service-account.name");
            if name.and_then(Value::as_str).is_none_or(str::is_empty) {
                let at = "metadata.annotations[kubernetes.io/service-account.name]";
                errors.push(FieldError::required(at, ""));
            }
        }
        _ => {}
    }
}

fn lease(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    if let Some(seconds) = spec.get("leaseDurationSeconds").and_then(Value::as_i64)
        && seconds <= 0
    {
        let at = "spec.leaseDurationSeconds";
        errors.push(FieldError::invalid(at, seconds, "must be greater than 0"));
    }
    if let Some(count) = spec.get("leaseTransitions").and_then(Value::as_i64)
        && count < 0
    {
        let at = "spec.leaseTransitions";
        errors.push(FieldError::invalid(
            at,
            count,
            "must be greater than or equal to 0",
        ));
    }
}
fn role(object: &Value, namespaced: bool, errors: &mut Vec<FieldError>) {
    let rules = object.get("rules").and_then(Value::as_array);
    for (i, rule) in rules.into_iter().flatten().enumerate() {
        let at = format!("rules[{i}]");
        let count = |name: &str| rule.get(name).and_then(Value::as_array).map_or(0, Vec::len);
        if count("verbs") == 0 {
            errors.push(FieldError::required(
                &format!("{at}.verbs"),
                "verbs must contain at least one value",
            ));
        }
        if count("nonResourceURLs") > 0 {
            let urls = rule.get("nonResourceURLs").cloned().unwrap_or_default();
            if namespaced {
                let text = "namespaced rules cannot apply to non-resource URLs";
                errors.push(FieldError::invalid(
                    &format!("{at}.nonResourceURLs"),
                    urls.clone(),
                    text,
                ));
            }
            if count("apiGroups") + count("resources") + count("resourceNames") > 0 {
                let text = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(FieldError::invalid(
                    &format!("{at}.nonResourceURLs"),
                    urls,
                    text,
                ));
            }
            continue;
        }
        if count("apiGroups") == 0 {
            let text = "resource rules must supply at least one api group";
            errors.push(FieldError::required(&format!("{at}.apiGroups"), text));
        }
        if count("resources") == 0 {
            let text = "resource rules must supply at least one resource";
            errors.push(FieldError::required(&format!("{at}.resources"), text));
        }
    }
}

fn binding(object: &Value, old: Option<&Value>, namespaced: bool, errors: &mut Vec<FieldError>) {
    let rbac = "rbac.authorization.k8s.io";
    let text = |value: &Value, name: &str| super::crd::text(value, name);
    let role = object.get("roleRef").cloned().unwrap_or_default();
    if text(&role, "apiGroup") != rbac {
        errors.push(FieldError::not_supported(
            "roleRef.apiGroup",
            text(&role, "apiGroup"),
            &[rbac],
        ));
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    if !kinds.contains(&text(&role, "kind").as_str()) {
        errors.push(FieldError::not_supported(
            "roleRef.kind",
            text(&role, "kind"),
            kinds,
        ));
    }
    if text(&role, "name").is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
    if let Some(old) = old
        && old.get("roleRef") != object.get("roleRef")
    {
        // Shown as Go's inner form of it.
        let shown = serde_json::json!({"APIGroup": text(&role, "apiGroup"), "Kind": text(&role, "kind"), "Name": text(&role, "name")});
        errors.push(FieldError::invalid(
            "roleRef",
            shown,
            "cannot change roleRef",
        ));
    }
    subjects(object, namespaced, errors);
}

fn subjects(object: &Value, namespaced: bool, errors: &mut Vec<FieldError>) {
    let rbac = "rbac.authorization.k8s.io";
    let text = |value: &Value, name: &str| super::crd::text(value, name);
    let subjects = object.get("subjects").and_then(Value::as_array);
    for (i, subject) in subjects.into_iter().flatten().enumerate() {
        let at = format!("subjects[{i}]");
        if text(subject, "name").is_empty() {
            errors.push(FieldError::required(&format!("{at}.name"), ""));
        }
        let (kind, group) = (text(subject, "kind"), text(subject, "apiGroup"));
        match kind.as_str() {
            "ServiceAccount" => {
                if !group.is_empty() {
                    errors.push(FieldError::not_supported(
                        &format!("{at}.apiGroup"),
                        group,
                        &[""],
                    ));
                }
                if !namespaced && text(subject, "namespace").is_empty() {
                    errors.push(FieldError::required(&format!("{at}.namespace"), ""));
                }
            }
            "User" | "Group" => {
                if group != rbac {
                    errors.push(FieldError::not_supported(
                        &format!("{at}.apiGroup"),
                        group,
                        &[rbac],
                    ));
                }
            }
            _ => {
                let all = ["ServiceAccount", "User", "Group"];
                errors.push(FieldError::not_supported(&format!("{at}.kind"), kind, &all));
            }
        }
    }
}

fn review(object: &Value, kind: &str, errors: &mut Vec<FieldError>) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let has = |name: &str| spec.get(name).is_some_and(|v| !v.is_null());
    let (resource, path) = (has("resourceAttributes"), has("nonResourceAttributes"));
    if resource && path {
        let text = "cannot be specified in combination with resourceAttributes";
        let value = spec
            .get("nonResourceAttributes")
            .cloned()
            .unwrap_or_default();
        // Shown as Go's inner form of it.
        let part = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let value = serde_json::json!({"Path": part("path"), "Verb": part("verb")});
        errors.push(FieldError::invalid(
            "spec.nonResourceAttributes",
            value,
            text,
        ));
    }
    if !resource && !path {
        let text = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let value = spec.get("resourceAttributes").cloned().unwrap_or_default();
        errors.push(FieldError::invalid("spec.resourceAttributes", value, text));
    }
    if kind != "SelfSubjectAccessReview" && !has("user") && !has("groups") {
        let text = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", "", text));
    }
    if kind == "LocalSubjectAccessReview" {
        let at = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let asked = at("/spec/resourceAttributes/namespace");
        if resource && asked != at("/metadata/namespace") {
            let text = "must match metadata.namespace";
            errors.push(FieldError::invalid(
                "spec.resourceAttributes.namespace",
                asked,
                text,
            ));
        }
        if path {
            let part = |name: &str| at(&format!("/spec/nonResourceAttributes/{name}")).to_owned();
            let value = serde_json::json!({"Path": part("path"), "Verb": part("verb")});
            let text = "disallowed on this kind of request";
            errors.push(FieldError::invalid(
                "spec.nonResourceAttributes",
                value,
                text,
            ));
        }
    }
}
