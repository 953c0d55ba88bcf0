//! What a package holds at the place of a conflict.

use std::collections::BTreeSet;

use model::{Conflict, ConflictValue, File, Files, PackagePath};
use yaml::{Document, Node};

use super::lines::Lines;
use super::node::{document, find, parsed};
use crate::kptfile;
use crate::place::{FieldPath, PathStep, as_in, inside, is_collection};
use crate::values::{comment_texts, file_value, hash, hidden, node_value, standing, tree_value};

/// What a package holds at the place of a conflict.
pub fn value_at(files: &Files, conflict: &Conflict) -> ConflictValue {
    value_in(files, &conflict.file, conflict)
}

/// The node of a resource that a path leads to, as the records of conflicts and differences write paths.
pub fn node_at<'a>(root: Node<'a>, path: &str) -> Option<Node<'a>> {
    find(root, &FieldPath::parse(path)?.0)
}

/// What two packages hold at the place of a conflict, and the file that it stands in in the second one. A resource that
/// stands in one file alone in both of them, but not in the same, was moved: it is the same resource.
pub(super) fn values_in(
    first: &Files,
    second: &Files,
    conflict: &Conflict,
) -> (ConflictValue, ConflictValue, PackagePath) {
    let (one, other) = places_in(first, second, conflict);
    let values = (
        value_in(first, one, conflict),
        value_in(second, other, conflict),
    );
    (values.0, values.1, other.clone())
}

/// The files of two packages in which a conflict stands.
fn places_in<'p>(
    first: &'p Files,
    second: &'p Files,
    conflict: &'p Conflict,
) -> (&'p PackagePath, &'p PackagePath) {
    let here = &conflict.file;
    let moved = [first, second]
        .iter()
        .any(|f| !holds(f.get(here), conflict));
    let homes = (moved && !conflict.resource.is_empty())
        .then(|| (home(first, conflict), home(second, conflict)));
    match homes {
        Some((Some(one), Some(other))) => (one, other),
        _ => (here, here),
    }
}

/// Whether somebody edited what stands at the place of a conflict.
pub(super) fn edited(before: &Files, after: &Files, conflict: &Conflict) -> bool {
    if let Some(lines) = Lines::of(conflict) {
        let (one, other) = places_in(before, after, conflict);
        return lines.edited(conflict, [(before, one), (after, other)]);
    }
    let (was, is, _) = values_in(before, after, conflict);
    was != is
}

/// What a package holds in a file, elsewhere than the conflict says.
fn value_in(files: &Files, at: &PackagePath, conflict: &Conflict) -> ConflictValue {
    as_in(conflict, whole_value_in(files, at, conflict))
}

fn whole_value_in(files: &Files, at: &PackagePath, conflict: &Conflict) -> ConflictValue {
    let Some(path) = FieldPath::parse(&conflict.path) else {
        return ConflictValue::Absent;
    };
    if let Some(lines) = Lines::of(conflict) {
        return lines.value(files, at, conflict);
    }
    if path.0 == [PathStep::File] {
        return standing_in(files, conflict);
    }
    if is_file(conflict) {
        return match subpackage(conflict) {
            Some(dir) => tree_value(files.iter().filter(|(path, _)| inside(path, dir))),
            None => file_value(files.get(at)),
        };
    }
    let Some(stream) = files.get(at).and_then(parsed) else {
        return ConflictValue::Absent;
    };
    let Some(document) = document(&stream, conflict) else {
        return ConflictValue::Absent;
    };
    if path.0 == [PathStep::Comment] {
        return comments_at(document, conflict);
    }
    if let Some((PathStep::Order, steps)) = path.0.split_last() {
        return find(document.root(), steps)
            .and_then(|list| order_of(list, conflict))
            .unwrap_or(ConflictValue::Absent);
    }
    let secret = hashed(conflict) && hidden(&path);
    let (steps, comment) = match path.0.split_last() {
        Some((PathStep::Comment, steps)) => (steps, true),
        _ => (path.0.as_slice(), false),
    };
    match find(document.root(), steps) {
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

/// The file in which something stands that both sides moved (M23).
fn standing_in(files: &Files, conflict: &Conflict) -> ConflictValue {
    let sides = [&conflict.local, &conflict.upstream, &conflict.base];
    let told = |value: &&ConflictValue| match value {
        ConflictValue::Json(json) => {
            let place = serde_json::from_str::<String>(json).ok()?;
            PackagePath::parse(&place).ok()
        }
        ConflictValue::Hash(_) | ConflictValue::Absent => None,
    };
    let place = match conflict.resource.is_empty() {
        true => sides
            .iter()
            .filter_map(told)
            .find(|place| files.contains_key(place)),
        false => home(files, conflict).cloned(),
    };
    place.map_or(ConflictValue::Absent, |place| {
        ConflictValue::Json(serde_json::Value::from(place.as_str()).to_string())
    })
}

/// Whether a conflict is about a whole file, or a whole subpackage. A document that is no resource has no name either: of
/// it the record holds a map or a list, of a file its text.
pub(super) fn is_file(conflict: &Conflict) -> bool {
    let sides = [&conflict.base, &conflict.local, &conflict.upstream];
    let nameless = conflict.resource.is_empty() && conflict.path.is_empty();
    nameless && !sides.into_iter().any(is_collection)
}

/// The directory of the subpackage that a conflict is about: it stands at the Kptfile, and its values are hashes of
/// all files.
pub(super) fn subpackage(conflict: &Conflict) -> Option<&str> {
    let dir = conflict.file.dir();
    let whole = is_file(conflict) && !dir.is_empty();
    let text = [&conflict.base, &conflict.local, &conflict.upstream]
        .into_iter()
        .any(|value| matches!(value, ConflictValue::Json(_)) || value.abridged().is_some());
    (whole && conflict.file.file_name() == kptfile::FILE_NAME && !text).then_some(dir)
}

/// The only file that holds the resource of a conflict.
fn home<'f>(files: &'f Files, conflict: &Conflict) -> Option<&'f PackagePath> {
    let name = conflict.resource.rsplit('/').next().unwrap_or_default();
    if name.is_empty() || conflict.file.file_name() == kptfile::FILE_NAME {
        return None;
    }
    // Of hundreds of files hardly one holds the name: the others are not parsed.
    let named = |file: &File| file.as_text().is_some_and(|text| text.contains(name));
    let mut homes = files
        .iter()
        .filter(|(path, file)| is_yaml(path) && named(file) && holds(Some(file), conflict));
    match (homes.next(), homes.next()) {
        (Some((path, _)), None) => Some(path),
        _ => None,
    }
}

fn holds(file: Option<&File>, conflict: &Conflict) -> bool {
    let stream = file.and_then(parsed);
    stream.is_some_and(|stream| document(&stream, conflict).is_some())
}

fn is_yaml(path: &PackagePath) -> bool {
    let name = path.file_name();
    (name.ends_with(".yaml") || name.ends_with(".yml")) && name != kptfile::FILE_NAME
}

/// The elements of a list that a record names, in the order in which they stand.
fn order_of(list: Node<'_>, conflict: &Conflict) -> Option<ConflictValue> {
    let ConflictValue::Json(names) = &conflict.local else {
        return None;
    };
    let names: Vec<String> = serde_json::from_str(names).ok()?;
    let place = |name: &String| {
        let step = FieldPath::parse(name)?;
        let span = find(list, &step.0)?.span();
        list.items().position(|item| item.span() == span)
    };
    let mut placed: Vec<(Option<usize>, String)> =
        names.into_iter().map(|name| (place(&name), name)).collect();
    placed.retain(|(place, _)| place.is_some());
    placed.sort();
    let names: Vec<String> = placed.into_iter().map(|(_, name)| name).collect();
    Some(ConflictValue::Json(
        serde_json::Value::from(names).to_string(),
    ))
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

/// Whether the record hides its values: then every value that it is compared with is a hash.
fn hashed(conflict: &Conflict) -> bool {
    let sides = [&conflict.base, &conflict.local, &conflict.upstream];
    sides
        .into_iter()
        .any(|value| matches!(value, ConflictValue::Hash(_)) && value.abridged().is_none())
}
