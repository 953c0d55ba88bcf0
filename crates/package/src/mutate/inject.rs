//! Configuration from the cluster, written over the content of injection points.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Condition, Files, Injection, InjectionOutcome, Status};
use yaml::owned::Value;

use super::open::OpenFiles;
use super::points::{self, INJECTED, INJECTED_NAME, InjectionPoint};
use super::{MutateError, kptfile};
use crate::documents::Parsed;

/// What a point holds from an earlier injection: an object's name, and its content as JSON text (V22).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Previous {
    /// The name of the object in the cluster.
    pub name: String,
    /// The injected field.
    pub content: String,
}

/// How one injection point fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// The point.
    pub point: InjectionPoint,
    /// Its condition, as it stands in the Kptfile.
    pub condition: Condition,
    /// The object whose content stands at the point, fresh or stale.
    pub object: Option<String>,
}

/// What the points of a package hold from earlier injections, by condition type.
///
/// # Errors
/// As [`points::injection_points`].
pub fn previous(files: &Files) -> Result<BTreeMap<String, Previous>, MutateError> {
    points_and_previous(files).map(|(_, previous)| previous)
}

/// The injection points of a package, and what they hold, in one look.
///
/// # Errors
/// As [`points::injection_points`].
pub fn points_and_previous(
    files: &Files,
) -> Result<(Vec<InjectionPoint>, BTreeMap<String, Previous>), MutateError> {
    held(files, &Parsed::default())
}

/// The same of a package of which something was parsed already.
pub(crate) fn held(
    files: &Files,
    parsed: &Parsed,
) -> Result<(Vec<InjectionPoint>, BTreeMap<String, Previous>), MutateError> {
    let mut opened = OpenFiles::new(files, parsed);
    let mut found = BTreeMap::new();
    let points = points::find(&mut opened)?;
    for point in &points {
        let Some(value) = opened.documents(&point.file)?.get(point.index) else {
            continue;
        };
        let annotation = |key| {
            value
                .lookup(&["metadata", "annotations", key])
                .and_then(Value::text)
        };
        let Some(name) = annotation(INJECTED_NAME).or_else(|| annotation(INJECTED)) else {
            continue;
        };
        let Some(content) = value.get(point.field()) else {
            continue;
        };
        let content = content.to_json().to_string();
        found.insert(
            point.condition_type(),
            Previous {
                name: name.to_owned(),
                content,
            },
        );
    }
    Ok((points, found))
}

/// What is to stand at a point, and what its condition says.
struct Verdict {
    content: Option<(String, Value)>,
    status: Status,
    reason: &'static str,
    message: String,
}

pub(super) fn apply(
    opened: &mut OpenFiles<'_>,
    injections: &[Injection],
    previous: &BTreeMap<String, Previous>,
) -> Result<(Vec<Injected>, Vec<String>), MutateError> {
    let (mut outcomes, mut gates) = (Vec::new(), Vec::new());
    for point in points::find(opened)? {
        let kind = point.condition_type();
        let verdict = judge(&point, injections, previous.get(&kind));
        let object = verdict.content.as_ref().map(|(name, _)| name.clone());
        if let Some((name, content)) = &verdict.content {
            write(opened, &point, name, content)?;
        }
        let condition = Condition::new(&kind, verdict.status, verdict.reason, verdict.message);
        let shape = || MutateError::Shape {
            file: "Kptfile".to_owned(),
            field: "info or status",
            wanted: "mapping",
        };
        let root = Arc::make_mut(opened.kptfile()?);
        kptfile::set_condition(root, &condition).ok_or_else(shape)?;
        if point.required && kptfile::add_gate(root, &kind).ok_or_else(shape)? {
            gates.push(kind);
        }
        outcomes.push(Injected {
            point,
            condition,
            object,
        });
    }
    Ok((outcomes, gates))
}

fn fits(injection: &Injection, point: &InjectionPoint) -> bool {
    let same =
        |wanted: &Option<String>, have: &str| wanted.as_deref().is_none_or(|wanted| wanted == have);
    same(&injection.group, &point.group)
        && same(&injection.version, &point.version)
        && same(&injection.kind, &point.kind)
}

/// The first injector that fits and has an object decides (R91); one that could not be looked at is told.
fn judge(point: &InjectionPoint, injections: &[Injection], previous: Option<&Previous>) -> Verdict {
    let gvk = point.gvk();
    let mut trouble: Option<(&'static str, String)> = None;
    for injection in injections.iter().filter(|injection| fits(injection, point)) {
        let name = &injection.name;
        match injection.found.get(&gvk) {
            Some(InjectionOutcome::Content(json)) => match serde_json::from_str(json) {
                Ok(content) => {
                    return Verdict {
                        content: Some((name.clone(), Value::from_json(&content))),
                        status: Status::True,
                        reason: "ConfigInjected",
                        message: format!("injected resource {name:?} from cluster"),
                    };
                }
                Err(error) => {
                    let why = format!("content of {name:?} cannot be read: {error}");
                    trouble.get_or_insert(("LoadFailed", why));
                }
            },
            Some(InjectionOutcome::FieldMissing(field)) => {
                let why = format!("field {field:?} not found in resource {name:?}");
                trouble.get_or_insert(("FieldMissing", why));
                break;
            }
            Some(InjectionOutcome::KindMissing) => {
                let why = format!("the cluster does not serve {}", api_kind(point));
                trouble.get_or_insert(("SchemaMissing", why));
            }
            Some(InjectionOutcome::Unreadable(why)) => {
                trouble.get_or_insert_with(|| ("LoadFailed", why.clone()));
            }
            Some(InjectionOutcome::Absent) | None => {}
        }
    }
    let (reason, message) = trouble.unwrap_or_else(|| {
        if injections.is_empty() {
            ("NoInjectors", "no injectors defined".to_owned())
        } else {
            let why = "no resource matched any injection selector for this injection point";
            ("NoResourceSelected", why.to_owned())
        }
    });
    stale(reason, message, previous)
}

/// What was injected before stays when nothing matches any more (R95, V22).
fn stale(reason: &'static str, message: String, previous: Option<&Previous>) -> Verdict {
    let kept = previous.and_then(|p| Some((p, serde_json::from_str(&p.content).ok()?)));
    let Some((previous, content)) = kept else {
        return Verdict {
            content: None,
            status: Status::False,
            reason,
            message,
        };
    };
    let name = &previous.name;
    Verdict {
        content: Some((name.clone(), Value::from_json(&content))),
        status: Status::False,
        reason: "InjectionStale",
        message: format!("{message}; what was injected from {name:?} stays"),
    }
}

fn api_kind(point: &InjectionPoint) -> String {
    if point.group.is_empty() {
        format!("{}.{}", point.version, point.kind)
    } else {
        format!("{}/{}.{}", point.group, point.version, point.kind)
    }
}

fn write(
    opened: &mut OpenFiles<'_>,
    point: &InjectionPoint,
    name: &str,
    content: &Value,
) -> Result<(), MutateError> {
    let Some(document) = opened.documents(&point.file)?.get_mut(point.index) else {
        return Ok(());
    };
    let field = point.field();
    let marked = |key| {
        document
            .lookup(&["metadata", "annotations", key])
            .and_then(Value::text)
            == Some(name)
    };
    let is_done = document.get(field).is_some_and(|old| old.same(content));
    if is_done && marked(INJECTED) && marked(INJECTED_NAME) {
        return Ok(());
    }
    let value = Arc::make_mut(document);
    let shape = || MutateError::Shape {
        file: point.file.to_string(),
        field: "the resource",
        wanted: "mapping",
    };
    let top = value.as_map_mut().ok_or_else(shape)?;
    match top.get_mut(field) {
        Some(old) => old.overwrite(content),
        None => top.push(field, content.clone()),
    }
    let annotations = value
        .ensure_map(&["metadata", "annotations"])
        .ok_or_else(shape)?;
    annotations.set_str(INJECTED_NAME, name);
    annotations.set_str(INJECTED, name);
    Ok(())
}
