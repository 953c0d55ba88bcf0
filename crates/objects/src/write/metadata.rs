//! The metadata of an object: what decoding makes of it, and which of it an update keeps.

use serde_json::{Map, Value};

use super::part::{Means, Part};
use super::{Rules, metadata_mut};
use crate::names::NameRule;
use crate::schema::{FieldError, metadata as meta};
use crate::status::{Failure, Misread};

impl Rules<'_> {
    /// Checks that the members of the metadata have their JSON types; a client's mistake there is a decoding error.
    ///
    /// # Errors
    /// 400 in Go's words.
    pub fn check_types(self, object: &Value) -> Result<(), Failure> {
        let problem = match self.resource.built_in {
            Some(kind) => kind.type_error(object),
            None => type_problem(object),
        };
        let Some(problem) = problem else {
            return Ok(());
        };
        let kind = &self.resource.kind;
        let said = (kind.as_str(), self.version.name.as_str());
        Err(Failure::misread(said, kind, Misread::Type(problem)))
    }
}

/// The first wrong JSON type in the metadata of an object that has no type in Go.
#[must_use]
pub(crate) fn type_problem(object: &Value) -> Option<String> {
    let found = match object.get("metadata")? {
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        other => return crate::builtin::metadata_type_error(other),
    };
    Some(format!(
        "json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"
    ))
}

/// Drops what decoding into Go's types would drop: nulls and empty maps, lists and texts of the metadata.
pub fn tidy(metadata: &mut Map<String, Value>) {
    texts_of_nulls(metadata);
    metadata.retain(|key, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() || key == "name",
        Value::Array(items) => !items.is_empty() || key == "managedFields",
        Value::Object(map) => !map.is_empty(),
        _ => true,
    });
}

/// A null among labels or annotations is an empty text to Go.
pub(crate) fn texts_of_nulls(metadata: &mut Map<String, Value>) {
    for field in ["labels", "annotations"] {
        if let Some(Value::Object(map)) = metadata.get_mut(field) {
            for value in map.values_mut().filter(|v| v.is_null()) {
                *value = Value::String(String::new());
            }
        }
    }
}

/// The labels and annotations that are null, each with the field that it stands in.
pub(crate) fn nulls(object: &Value) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    for field in ["labels", "annotations"] {
        let all = object.get("metadata").and_then(|all| all.get(field));
        let all = all.and_then(Value::as_object).into_iter().flatten();
        let nulls = all.filter(|(_, value)| value.is_null());
        out.extend(nulls.map(|(key, _)| (field, key.clone())));
    }
    out
}

/// Makes labels and annotations null again.
pub(crate) fn put_nulls(object: &mut Value, nulls: &[(&'static str, String)]) {
    for (field, key) in nulls {
        let all = metadata_mut(object).and_then(|all| all.get_mut(*field));
        if let Some(text) = all.and_then(|all| all.get_mut(key)) {
            *text = Value::Null;
        }
    }
}

/// Drops owners that stand twice, and says so.
pub(crate) fn single_owners(object: &mut Value, means: Means) -> Option<String> {
    let owners = object.pointer_mut("/metadata/ownerReferences")?;
    let owners = owners.as_array_mut()?;
    // Told apart by their texts, so that no owner is compared with all others.
    let mut seen = std::collections::BTreeSet::new();
    let mut twice = Vec::new();
    owners.retain(|owner| {
        let fresh = seen.insert(crate::schema::sorted_json(owner));
        if !fresh {
            let uid = owner.get("uid").and_then(Value::as_str);
            twice.push(uid.unwrap_or_default().to_owned());
        }
        fresh
    });
    if twice.is_empty() {
        return None;
    }
    let when = match means {
        Means::Post | Means::Put => "",
        Means::Patch | Means::Apply => " after mutating admission happens",
    };
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such \
         requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        twice.join(", ")
    ))
}

/// The rule that names of the kind follow.
#[must_use]
pub(crate) fn name_rule(rules: Rules<'_>) -> NameRule {
    rules
        .resource
        .built_in
        .map_or(NameRule::Subdomain, |kind| kind.name_rule)
}

/// The problems of a new object's metadata.
#[must_use]
pub(crate) fn validate(rules: Rules<'_>, object: &Value) -> Vec<FieldError> {
    let empty = Value::Object(Map::new());
    let metadata = object.get("metadata").unwrap_or(&empty);
    let mut errors = meta::validate(metadata, rules.resource.namespaced, name_rule(rules));
    if core(rules) {
        errors.extend(meta::core_finalizers(metadata));
    }
    errors
}

/// Whether the finalizers of a kind follow the rule of the core group.
fn core(rules: Rules<'_>) -> bool {
    let resource = rules.resource;
    resource
        .built_in
        .is_some_and(|kind| (kind.group.is_empty() && kind.kind != "Event") || kind.group == RBAC)
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// How often the rules of a kind hold a changed object's metadata against those of new ones, and against those of changes: the real server
/// does both once for every kind, and tells each cause as often as it finds it.
fn again(rules: Rules<'_>, part: Part) -> (usize, usize) {
    match rules.resource.built_in.map(|kind| (kind.group, kind.kind)) {
        Some(("", "ConfigMap" | "Secret" | "ServiceAccount")) => (1, 1),
        Some(("", "Namespace")) => (usize::from(part == Part::Main), 1),
        Some(("", "Event")) => (0, 0),
        Some((RBAC, _)) => (2, 1),
        _ => (0, 1),
    }
}

/// The problems of a changed object's metadata, each as often as the real server finds it.
#[must_use]
pub(crate) fn validate_update(
    rules: Rules<'_>,
    part: Part,
    old: &Value,
    new: &Value,
) -> Vec<FieldError> {
    let (Some(old), Some(new)) = (old.get("metadata"), new.get("metadata")) else {
        return Vec::new();
    };
    let namespaced = rules.resource.namespaced;
    let mut errors = meta::validate(new, namespaced, NameRule::PathSegment);
    let change = meta::validate_update(new, old);
    errors.extend(change.iter().cloned());
    let finalizers = match core(rules) {
        true => meta::core_finalizers(new),
        false => Vec::new(),
    };
    let (wholes, changes) = again(rules, part);
    let whole = match wholes {
        0 => Vec::new(),
        _ => meta::validate(new, namespaced, name_rule(rules)),
    };
    let own = std::iter::repeat_n(&whole, wholes).chain(std::iter::repeat_n(&change, changes));
    for found in own {
        errors.extend(found.iter().chain(&finalizers).cloned());
    }
    errors
}

/// What to warn about in the finalizers of a new or changed object, where built-in kinds refuse them or let them be, and in definitions.
#[must_use]
pub(crate) fn warnings(rules: Rules<'_>, old: Option<&Value>, new: &Value) -> Vec<String> {
    if rules.resource.built_in.map(|kind| kind.kind) == Some("CustomResourceDefinition") {
        return crate::builtin::crd::warnings(old, new);
    }
    if !rules.resource.custom() {
        return Vec::new();
    }
    let old = old.and_then(|o| o.get("metadata"));
    new.get("metadata")
        .map_or_else(Vec::new, |new| meta::finalizer_warnings(new, old))
}

/// Fills in what a client may leave out of an update, and resets what it may not set.
pub(crate) fn keep(old: &Value, new: &mut Value) {
    let Some(metadata) = metadata_mut(new) else {
        return;
    };
    tidy(metadata);
    metadata.remove("selfLink");
    let before = |field: &str| old.get("metadata").and_then(|m| m.get(field)).cloned();
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if let (false, Some(kept)) = (metadata.contains_key(field), before(field)) {
            metadata.insert(field.to_owned(), kept);
        }
    }
    if let Some(kept) = before("deletionTimestamp") {
        metadata.insert("deletionTimestamp".to_owned(), kept);
    }
    for field in ["creationTimestamp", "generation", "resourceVersion"] {
        match before(field) {
            Some(kept) => drop(metadata.insert(field.to_owned(), kept)),
            None => drop(metadata.remove(field)),
        }
    }
}
