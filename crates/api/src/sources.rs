//! Upstream packages of sets: one, several, those of a `PackageRevisionSet`, those with labels (R184–R186).

use model::{ObjectName, Problem, RepositoryName, UpstreamSource};
use serde_json::{Map, Value};

use crate::fields::{FieldReader, name};
use crate::selector::read_selector;
use crate::shape::{REVISION_SELECTOR, REVISION_SET};
use crate::upstream::{Asker, read_at, read_for};

/// What an entry may be, each with the fields that it may have.
const FORMS: [(&str, &[&str]); 2] = [
    ("revisionSet", &["revisionSet"]),
    ("selector", &["selector", "repo"]),
];

/// `spec.upstream`, or `spec.upstreams` instead.
pub(crate) fn read_sources(
    spec: &FieldReader<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Vec<UpstreamSource>> {
    if spec.raw("upstreams").is_none() {
        let upstream = read_for(spec, Asker::Set, problems)?;
        return Some(vec![UpstreamSource::Package(upstream)]);
    }
    if spec.raw("upstream").is_some() {
        let what = "spec must specify only one of `upstream` and `upstreams`";
        problems.push(Problem::new("spec.upstreams", what));
    }
    read_list(spec, true, problems)
}

/// Reads a `PackageRevisionSet`: what it selects.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read_revision_set(object: &Value) -> Result<Vec<UpstreamSource>, Vec<Problem>> {
    let empty = Value::Object(Map::new());
    let mut problems = Vec::new();
    let spec = FieldReader::new(object.get("spec").unwrap_or(&empty), "spec");
    let list = read_list(&spec, false, &mut problems);
    spec.no_others(REVISION_SET, &mut problems);
    match list {
        Some(list) if problems.is_empty() => Ok(list),
        _ => Err(problems),
    }
}

fn read_list(
    spec: &FieldReader<'_>,
    sets: bool,
    problems: &mut Vec<Problem>,
) -> Option<Vec<UpstreamSource>> {
    let entries = spec.list("upstreams");
    if entries.is_empty() {
        let what = "spec.upstreams must have at least one entry";
        problems.push(Problem::new("spec.upstreams", what));
    }
    let read = entries.iter().map(|e| read_source(e, sets, problems));
    let read: Vec<_> = read.collect();
    read.into_iter().collect()
}

fn read_source(
    entry: &FieldReader<'_>,
    sets: bool,
    problems: &mut Vec<Problem>,
) -> Option<UpstreamSource> {
    let path = entry.path();
    let mut refuse = |what: String| problems.push(Problem::new(path, what));
    if entry.raw("revisionSet").is_some() && !sets {
        refuse(format!(
            "{path}: a PackageRevisionSet cannot take another one"
        ));
        return None;
    }
    let given = FORMS.iter().find(|(form, _)| entry.raw(form).is_some());
    if given.is_none() && entry.keys().next().is_none() {
        refuse(format!(
            "{path} must specify {}",
            match sets {
                true => "one of `package`, `revisionSet`, or `selector`",
                false => "one of `package` and `selector`",
            }
        ));
        return None;
    }
    if let Some((form, fields)) = given {
        let others: Vec<String> = entry
            .keys()
            .filter(|key| !fields.contains(&key.as_str()))
            .map(|key| format!("`{key}`"))
            .collect();
        if !others.is_empty() {
            refuse(format!(
                "{path}: `{form}` cannot be combined with {}",
                others.join(" and ")
            ));
            return None;
        }
    }
    match given.map(|(form, _)| *form) {
        Some("revisionSet") => read_set(entry, problems),
        Some(_) => read_labels(entry, problems),
        None => read_at(entry, Asker::Set, problems).map(UpstreamSource::Package),
    }
}

fn read_set(entry: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<UpstreamSource> {
    let field = entry.field("revisionSet");
    let text = entry.text("revisionSet").unwrap_or_default();
    name(problems, &field, text, ObjectName::parse).map(UpstreamSource::Set)
}

fn read_labels(entry: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<UpstreamSource> {
    if !entry.has_shape("selector", REVISION_SELECTOR, problems) {
        return None;
    }
    let repo = match entry.raw("repo") {
        None => None,
        Some(_) => {
            let (field, text) = (entry.field("repo"), entry.text("repo").unwrap_or_default());
            Some(name(problems, &field, text, RepositoryName::parse)?)
        }
    };
    let fields = entry.child("selector")?;
    let known = ["matchLabels", "matchExpressions"];
    for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
        let field = fields.field(&key);
        let what = format!("{field}: a selector of package revisions has no such field");
        problems.push(Problem::new(&field, what));
    }
    let selector = read_selector(&fields, problems);
    if selector.match_labels.is_empty() && selector.requirements.is_empty() {
        let field = entry.field("selector");
        let what = format!("{field} must name at least one label");
        problems.push(Problem::new(&field, what));
    }
    Some(UpstreamSource::Labels { repo, selector })
}
