//! What an edit or a render did at the places of conflicts (V4, V4a).

use std::collections::BTreeSet;

use model::{Conflict, ConflictId, ConflictState, ConflictValue, Files};
use yaml::{Document, Kind, Limits, Node, Reader, Stream};

use super::{FieldPath, PathStep};
use crate::merge::{
    canonical, comment_texts, file_value, function_runs, hash, hidden, identity, node_value,
    standing,
};

/// What a package holds at the place of a conflict.
pub fn value_at(files: &Files, conflict: &Conflict) -> ConflictValue {
    let file = files.get(&conflict.file);
    let Some(path) = FieldPath::parse(&conflict.path) else {
        return ConflictValue::Absent;
    };
    if conflict.resource.is_empty() && path.0.is_empty() {
        return file_value(file);
    }
    let text = file.and_then(|file| file.as_text());
    let Some(Ok(stream)) = text.map(|text| Stream::parse(text, &Limits::default())) else {
        return ConflictValue::Absent;
    };
    let document = stream
        .documents()
        .find(|document| identity(document.root()).record() == conflict.resource);
    let Some(document) = document else {
        return ConflictValue::Absent;
    };
    if path.0 == [PathStep::Comment] {
        return comments_at(document, conflict);
    }
    let root = document.root();
    let secret = hashed(conflict) && hidden(&path);
    let (steps, comment) = match path.0.split_last() {
        Some((PathStep::Comment, steps)) => (steps, true),
        _ => (path.0.as_slice(), false),
    };
    let node = steps.iter().try_fold(root, |node, step| child(node, step));
    match node {
        Some(node) if comment => {
            let text = comment_texts(node).concat();
            if text.is_empty() {
                return ConflictValue::Absent;
            }
            if secret {
                return hash(text.as_bytes());
            }
            ConflictValue::Json(serde_json::Value::from(text).to_string())
        }
        node => node_value(node, secret),
    }
}

/// Which of the comments that a record of a whole document names stand in it.
fn comments_at(document: Document<'_>, conflict: &Conflict) -> ConflictValue {
    if hashed(conflict) {
        return match standing(document, None).join("\n").as_str() {
            "" => ConflictValue::Absent,
            text => hash(text.as_bytes()),
        };
    }
    let sides = [&conflict.base, &conflict.local, &conflict.upstream];
    let texts = sides.map(|value| match value {
        ConflictValue::Json(json) => serde_json::from_str::<String>(json).unwrap_or_default(),
        ConflictValue::Hash(_) | ConflictValue::Absent => String::new(),
    });
    let named: BTreeSet<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    match standing(document, Some(&named)).join("\n") {
        text if text.is_empty() => ConflictValue::Absent,
        text => ConflictValue::Json(serde_json::Value::from(text).to_string()),
    }
}

/// Whether the record holds hashes: then every value that it is compared with is one.
fn hashed(conflict: &Conflict) -> bool {
    let sides = [&conflict.base, &conflict.local, &conflict.upstream];
    sides
        .into_iter()
        .any(|value| matches!(value, ConflictValue::Hash(_)))
}

fn child<'a>(node: Node<'a>, step: &PathStep) -> Option<Node<'a>> {
    match step {
        PathStep::Field(name) => node.get(name),
        PathStep::Index(index) => node.at(*index),
        PathStep::Item(text) => node.items().find(|item| match item.kind() {
            Kind::Scalar | Kind::Alias => scalar(*item) == Some(text),
            _ => {
                let json = item
                    .to_value(Reader::V3)
                    .ok()
                    .and_then(|value| value.to_json());
                json.is_some_and(|json| canonical(&json) == *text)
            }
        }),
        PathStep::Element(keys) => element(node, keys),
        PathStep::Comment => None,
    }
}

fn scalar<'a>(node: Node<'a>) -> Option<&'a str> {
    node.target().ok()?.scalar()
}

/// The element with these keys. A key that the element leaves out has its default, which may be it;
/// an exact match goes first.
fn element<'a>(list: Node<'a>, keys: &[(String, String)]) -> Option<Node<'a>> {
    if let Some((key, wanted)) = keys.first()
        && key == "runs"
    {
        let nth = keys
            .get(1)
            .and_then(|(_, nth)| nth.parse::<usize>().ok())
            .unwrap_or(1);
        let unnamed = |item: &Node<'a>| {
            item.get("name").is_none() && function_runs(*item).trim_start_matches('/') == wanted
        };
        return list.items().filter(unnamed).nth(nth - 1);
    }
    let matches = |item: Node<'a>, lenient: bool| {
        keys.iter().all(|(key, wanted)| match item.effective(key) {
            Some(value) => scalar(value) == Some(wanted),
            None => lenient,
        })
    };
    let exact = list.items().find(|item| matches(*item, false));
    exact.or_else(|| list.items().find(|item| matches(*item, true)))
}

/// Marks the open conflicts that a person settled by editing the field: the draft's tip holds
/// something else there than the machine left (V4a).
pub fn resolved_by_edit(conflicts: &mut [Conflict], machine: &Files, tip: &Files) {
    for conflict in conflicts
        .iter_mut()
        .filter(|c| c.state == ConflictState::Open)
    {
        if changed(conflict, machine, tip) {
            conflict.state = ConflictState::Resolved;
        }
    }
}

/// Marks the open conflicts that follow from others: the package holds something else at their
/// place once the causes are decided otherwise (V4: `derived`, without a gate of their own).
///
/// `decided` and `otherwise` are renders of the same merge that differ in the causes alone.
pub fn derived_by_render(
    conflicts: &mut [Conflict],
    causes: &[ConflictId],
    decided: &Files,
    otherwise: &Files,
) {
    let Some(cause) = causes.first() else { return };
    for conflict in conflicts.iter_mut() {
        let open = conflict.state == ConflictState::Open && !causes.contains(&conflict.id);
        if open && changed(conflict, decided, otherwise) {
            conflict.derived_from = Some(cause.clone());
        }
    }
}

fn changed(conflict: &Conflict, before: &Files, after: &Files) -> bool {
    let same = before.get(&conflict.file) == after.get(&conflict.file);
    !same && value_at(before, conflict) != value_at(after, conflict)
}
