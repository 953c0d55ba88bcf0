//! What a delete makes of an object: gone, or marked and waiting for its finalizers.

use serde_json::Value;

use super::{Moment, Rules, meta, metadata_mut, rv_of, update::finalizers};
use crate::printed::go_kind;
use crate::reason::Reason;
use crate::schema::FieldError;
use crate::status::Failure;

/// The options of a delete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Change nothing, answer as if.
    pub dry_run: bool,
    /// `Background`, `Foreground` or `Orphan`.
    pub propagation: Option<String>,
    /// The uid that is expected.
    pub uid: Option<String>,
    /// The version that is expected.
    pub resource_version: Option<String>,
    /// Whether it was asked in the old words that dependents go, too: then a deletion that waits is answered as accepted.
    pub cascades: bool,
}

/// The first value that Go's type of these options cannot take.
fn misfit(body: &Value) -> Option<String> {
    let told = |field: &str, value: &Value, wanted: &str| {
        if value.is_null() {
            return None;
        }
        let found = go_kind(value);
        Some(format!(
            "json: cannot unmarshal {found} into Go struct field {field} of type {wanted}"
        ))
    };
    let fields = body.as_object().into_iter().flatten();
    fields.into_iter().find_map(|(name, value)| {
        let (fits, wanted) = match name.as_str() {
            "gracePeriodSeconds" => (value.is_i64(), "int64"),
            "orphanDependents" => (value.is_boolean(), "bool"),
            "propagationPolicy" => (value.is_string(), "v1.DeletionPropagation"),
            "dryRun" => match value.as_array() {
                Some(all) => {
                    let odd = all.iter().find(|item| !item.is_string());
                    return odd.and_then(|item| told("DeleteOptions.dryRun", item, "string"));
                }
                None => (false, "[]string"),
            },
            "preconditions" => match value.as_object() {
                Some(map) => {
                    return map.iter().find_map(|(name, value)| match name.as_str() {
                        "uid" if !value.is_string() => {
                            told("Preconditions.preconditions.uid", value, "types.UID")
                        }
                        "resourceVersion" if !value.is_string() => told(
                            "Preconditions.preconditions.resourceVersion",
                            value,
                            "string",
                        ),
                        _ => None,
                    });
                }
                None => (false, "v1.Preconditions"),
            },
            _ => (true, ""),
        };
        match fits {
            true => None,
            false => told(&format!("DeleteOptions.{name}"), value, wanted),
        }
    })
}

impl DeleteOptions {
    /// Checks the options as the real server does.
    ///
    /// # Errors
    /// 500 for values of other types, in Go's words; 422 naming `propagationPolicy`.
    pub fn parse(body: &Value) -> Result<Self, Failure> {
        if let Some(why) = misfit(body) {
            return Err(Failure::new(500, Reason::Unknown, why));
        }
        let text = |pointer: &str| {
            body.pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let orphan = body.get("orphanDependents").and_then(Value::as_bool);
        let policy = text("/propagationPolicy");
        let refuse = |error: FieldError| {
            Err(Failure::invalid(
                "meta.k8s.io",
                "DeleteOptions",
                "",
                &[error],
            ))
        };
        if let (Some(policy), Some(_)) = (&policy, orphan) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            return refuse(FieldError::invalid(
                "propagationPolicy",
                policy.as_str(),
                detail,
            ));
        }
        let known = ["Foreground", "Background", "Orphan"];
        if let Some(policy) = policy.as_deref().filter(|p| !known.contains(p)) {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            return refuse(FieldError::not_supported(
                "propagationPolicy",
                policy,
                &supported,
            ));
        }
        let dry = body
            .get("dryRun")
            .and_then(Value::as_array)
            .filter(|list| !list.is_empty());
        if let Some(list) = dry.filter(|list| list.iter().any(|v| v != "All")) {
            return refuse(FieldError::not_supported(
                "dryRun",
                Value::Array(list.clone()),
                &["All"],
            ));
        }
        Ok(Self {
            dry_run: dry.is_some_and(|list| list.iter().any(|v| v == "All")),
            propagation: policy
                .or_else(|| orphan.map(|o| if o { "Orphan" } else { "Background" }.to_owned())),
            cascades: orphan == Some(false),
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
        })
    }
}

/// What a delete comes to.
#[derive(Debug)]
#[must_use = "commit it; until then nothing is deleted"]
pub enum Deleted {
    /// The object is to be removed.
    Remove,
    /// The object is to be kept, marked, until its finalizers are gone.
    Mark(Value),
    /// It is marked already; nothing changes.
    Already,
}

impl Rules<'_> {
    /// Computes a delete of `old`.
    ///
    /// # Errors
    /// A precondition does not hold.
    pub fn delete(
        self,
        old: &Value,
        options: &DeleteOptions,
        moment: &Moment,
    ) -> Result<Deleted, Failure> {
        preconditions(self, old, options)?;
        let mut wanted: Vec<String> = finalizers(old).into_iter().map(str::to_owned).collect();
        let before = wanted.clone();
        // Events own nothing, so that nothing waits for what they would own.
        let collected = self
            .resource
            .built_in
            .is_none_or(|kind| kind.kind != "Event");
        match options.propagation.as_deref().filter(|_| collected) {
            Some("Foreground") => swap(&mut wanted, "foregroundDeletion", "orphan"),
            Some("Orphan") => swap(&mut wanted, "orphan", "foregroundDeletion"),
            Some("Background") => wanted.retain(|f| f != "orphan" && f != "foregroundDeletion"),
            _ => {}
        }
        let deleting = !meta(old, "deletionTimestamp").is_empty();
        if wanted.is_empty() {
            return Ok(Deleted::Remove);
        }
        if deleting && wanted == before {
            return Ok(Deleted::Already);
        }
        let mut marked = old.clone();
        if let Some(metadata) = metadata_mut(&mut marked) {
            if !deleting {
                metadata.insert("deletionTimestamp".to_owned(), moment.now.clone().into());
                // A namespace is marked by a path of its own, which grants no time.
                if !self.is_namespace() {
                    metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
                }
                if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
                    metadata.insert("generation".to_owned(), (generation + 1).into());
                }
            }
            metadata.insert("finalizers".to_owned(), wanted.into());
        }
        Ok(Deleted::Mark(marked))
    }
}

fn swap(finalizers: &mut Vec<String>, add: &str, drop: &str) {
    finalizers.retain(|f| f != drop);
    if !finalizers.iter().any(|f| f == add) {
        finalizers.push(add.to_owned());
    }
}

/// A namespace is marked by a path of its own, which has words of its own.
fn conditions_of_a_namespace(old: &Value, options: &DeleteOptions) -> Result<(), Failure> {
    let name = meta(old, "name");
    let asked = [
        ("UID", &options.uid, "uid"),
        (
            "ResourceVersion",
            &options.resource_version,
            "resourceVersion",
        ),
    ];
    for (what, asked, field) in asked {
        let found = meta(old, field);
        if let Some(asked) = asked.as_ref().filter(|asked| *asked != found) {
            let why = format!(
                "Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}"
            );
            return Err(Failure::conflict("", "namespaces", name, &why));
        }
    }
    Ok(())
}

fn preconditions(rules: Rules<'_>, old: &Value, options: &DeleteOptions) -> Result<(), Failure> {
    let resource = rules.resource;
    let name = meta(old, "name");
    if rules.is_namespace() {
        return conditions_of_a_namespace(old, options);
    }
    let refuse = |what: &str, asked: &str, found: &str| {
        let why = format!(
            "the {what} in the precondition ({asked}) does not match the {what} in record ({found}). The object might have been deleted and then recreated"
        );
        Err(Failure::conflict(
            &resource.group,
            &resource.kind,
            name,
            &why,
        ))
    };
    if let Some(uid) = &options.uid
        && uid != meta(old, "uid")
    {
        return refuse("UID", uid, meta(old, "uid"));
    }
    if let Some(rv) = &options.resource_version
        && rv.parse().ok() != rv_of(old)
    {
        let why = format!(
            "the ResourceVersion in the precondition ({rv}) does not match the ResourceVersion in record ({}). The object might have been modified",
            meta(old, "resourceVersion")
        );
        return Err(Failure::conflict(
            &resource.group,
            &resource.kind,
            name,
            &why,
        ));
    }
    Ok(())
}
