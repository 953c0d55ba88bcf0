//! `PackageVariantSet`.

use model::{
    DeletionGuard, ObjectKey, ObjectMeta, ObjectSelector, OnError, PackageName, Problem,
    RepositoryName, Target, TargetSelection, VariantSetSpec,
};
use serde_json::{Map, Value};

use crate::fields::{FieldReader, name};
use crate::rollout::read_rollout;
use crate::selector::read_selector;
use crate::shape::{OBJECT_SELECTOR, REPOSITORY_SELECTOR, SET};
use crate::sources::read_sources;
use crate::template::read_template;
use crate::{read_key, read_meta};

/// Reads a set: its key, its metadata, and its spec or everything that is wrong with it, in Porch's order.
/// `None` if it has no readable namespace and name.
pub fn read_set(
    object: &Value,
) -> Option<(ObjectKey, ObjectMeta, Result<VariantSetSpec, Vec<Problem>>)> {
    let key = read_key(object)?;
    let empty = Value::Object(Map::new());
    let spec = read_spec(object.get("spec").unwrap_or(&empty));
    Some((key, read_meta(object), spec))
}

fn read_spec(spec: &Value) -> Result<VariantSetSpec, Vec<Problem>> {
    let mut problems = Vec::new();
    let fields = FieldReader::new(spec, "spec");
    let upstreams = read_sources(&fields, &mut problems);
    let targets = fields.list("targets");
    if targets.is_empty() {
        problems.push(Problem::new(
            "spec.targets",
            "must specify at least one item in spec.targets",
        ));
    }
    let targets: Vec<_> = targets
        .iter()
        .map(|t| read_target(t, &mut problems))
        .collect();
    let on_error = read_on_error(&fields, &mut problems);
    let deletion_guard = read_guard(&fields, &mut problems);
    let max_in_flight = read_max_in_flight(&fields, &mut problems);
    let rollout = read_rollout(&fields, &mut problems);
    fields.no_others(SET, &mut problems);
    let targets: Option<Vec<_>> = targets.into_iter().collect();
    match (upstreams, targets) {
        (Some(upstreams), Some(targets)) if problems.is_empty() => Ok(VariantSetSpec {
            upstreams,
            targets,
            on_error,
            deletion_guard,
            max_in_flight,
            rollout,
            suspend: fields.flag("suspend"),
        }),
        _ => Err(problems),
    }
}

fn read_guard(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> DeletionGuard {
    let default = DeletionGuard::default();
    let Some(guard) = fields.child("deletionGuard") else {
        return default;
    };
    let percent = match guard.raw("percent") {
        None => default.percent,
        Some(_) => {
            let given = guard.int("percent").and_then(|p| u8::try_from(p).ok());
            given.filter(|p| *p <= 100).unwrap_or_else(|| {
                let field = guard.field("percent");
                let what = format!("{field} must be at least 0 and at most 100");
                problems.push(Problem::new(&field, what));
                default.percent
            })
        }
    };
    DeletionGuard {
        enabled: guard
            .raw("enabled")
            .and_then(Value::as_bool)
            .unwrap_or(default.enabled),
        percent,
    }
}

fn read_max_in_flight(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<usize> {
    fields.raw("maxInFlight")?;
    let most = fields
        .int("maxInFlight")
        .and_then(|n| usize::try_from(n).ok());
    let most = most.filter(|n| *n > 0);
    if most.is_none() {
        let what = "spec.maxInFlight must be at least 1";
        problems.push(Problem::new("spec.maxInFlight", what));
    }
    most
}

fn read_on_error(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> OnError {
    match fields.text("onError") {
        None | Some("Continue") => OnError::Continue,
        Some("Stop") => OnError::Stop,
        Some(_) => {
            let what = "spec.onError can only be \"Continue\" or \"Stop\"";
            problems.push(Problem::new("spec.onError", what));
            OnError::Continue
        }
    }
}

fn read_target(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<Target> {
    let path = fields.path().to_owned();
    let before = problems.len();
    let repositories = read_repositories(fields, problems);
    for (key, shape) in [
        ("repositorySelector", REPOSITORY_SELECTOR),
        ("objectSelector", OBJECT_SELECTOR),
    ] {
        if !fields.has_shape(key, shape, problems) {
            return None;
        }
    }
    let repository_selector = fields.child("repositorySelector");
    let object_selector = fields.child("objectSelector");
    let beside = read_packages(fields, problems);
    let given = usize::from(fields.raw("repositories").is_some())
        + usize::from(repository_selector.is_some())
        + usize::from(object_selector.is_some());
    if let Some(object) = &object_selector {
        // Porch writes this field in lower case.
        for key in ["apiVersion", "kind"] {
            if object.text(key).is_none() {
                let what = format!("{path}.objectselector.{key} cannot be empty");
                problems.push(Problem::new(object.field(key), what));
            }
        }
    }
    if given != 1 {
        problems.push(Problem::new(
            &path,
            format!("{path} must specify one of `repositories`, `repositorySelector`, or `objectSelector`"),
        ));
    }
    let template = fields
        .child("template")
        .map(|t| read_template(&t, problems));
    if problems.len() > before {
        return None;
    }
    let selection = match (repositories, repository_selector, object_selector) {
        (Some(list), _, _) => TargetSelection::Repositories(list),
        (_, Some(selector), _) => TargetSelection::RepositorySelector {
            packages: inside_or_beside(&selector, beside, problems),
            selector: read_selector(&selector, problems),
        },
        (_, _, Some(selector)) => TargetSelection::ObjectSelector {
            packages: inside_or_beside(&selector, beside, problems),
            selector: ObjectSelector {
                api_version: selector.owned("apiVersion")?,
                kind: selector.owned("kind")?,
                name: selector.owned("name"),
                labels: read_selector(&selector, problems),
            },
        },
        (None, None, None) => return None,
    };
    Some(Target {
        selection,
        template,
    })
}

fn read_repositories(
    fields: &FieldReader<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Vec<(RepositoryName, Vec<PackageName>)>> {
    let raw = fields.raw("repositories")?;
    let field = fields.field("repositories");
    if raw.as_array().is_some_and(Vec::is_empty) {
        let what = format!("{field} must not be an empty list if specified");
        problems.push(Problem::new(&field, what));
    }
    let mut out = Vec::new();
    for entry in fields.list("repositories") {
        let path = entry.field("name");
        let repo = match entry.text("name") {
            Some(text) => name(problems, &path, text, RepositoryName::parse),
            None => {
                problems.push(Problem::new(&path, format!("{path} cannot be empty")));
                None
            }
        };
        let packages = read_packages(&entry, problems);
        out.extend(repo.map(|repo| (repo, packages)));
    }
    Some(out)
}

fn read_packages(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Vec<PackageName> {
    let mut out = Vec::new();
    for (i, text) in fields.texts("packageNames").iter().enumerate() {
        let path = format!("{}[{i}]", fields.field("packageNames"));
        if text.is_empty() {
            problems.push(Problem::new(&path, format!("{path} cannot be empty")));
        } else {
            out.extend(name(problems, &path, text, PackageName::parse));
        }
    }
    out
}

/// An example of the documents puts `packageNames` inside the selector, their prose beside it (A3).
fn inside_or_beside(
    selector: &FieldReader<'_>,
    beside: Vec<PackageName>,
    problems: &mut Vec<Problem>,
) -> Vec<PackageName> {
    let mut packages = read_packages(selector, problems);
    packages.extend(beside);
    packages
}
