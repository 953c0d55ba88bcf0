//! The oracle of the merge: for every edit that one side made, the result holds it, or a record names
//! the place.
//!
//! It knows nothing of the merge but its promise: it compares values before and after, by its own walk.

use std::collections::BTreeSet;

use model::{Conflict, Files, PackagePath};
use package::place::{FieldPath, PathStep};
use serde_json::Value;
use yaml::{Limits, Reader, Stream};

/// One edit of a side: what stands at a place afterwards.
#[derive(Debug, Clone)]
struct Made {
    file: PackagePath,
    document: Option<String>,
    path: Vec<PathStep>,
    after: After,
}

#[derive(Debug, Clone)]
enum After {
    Absent,
    Value(Value),
    /// Of a list without identities: what came and what went.
    List(Vec<Value>, Vec<Value>),
    /// Of a text: the lines that came and those that went.
    Lines(Vec<String>, Vec<String>),
    Bytes(Option<Vec<u8>>),
}

/// The edits between `base` and `side` that neither `result` holds nor `conflicts` name.
pub(super) fn lost(
    base: &Files,
    side: &Files,
    result: &Files,
    conflicts: &[Conflict],
) -> Vec<String> {
    let edits = edits(base, side);
    let lost = edits
        .iter()
        .filter(|made| !holds(result, made) && !recorded(conflicts, made));
    lost.map(|made| format!("{made:?}")).collect()
}

/// How many edits a side made.
pub(super) fn count(base: &Files, side: &Files) -> usize {
    edits(base, side).len()
}

fn edits(base: &Files, side: &Files) -> Vec<Made> {
    let mut all = Vec::new();
    let paths: BTreeSet<&PackagePath> = base.keys().chain(side.keys()).collect();
    for path in paths {
        let (old, new) = (base.get(path), side.get(path));
        if old == new {
            continue;
        }
        let documents = |file: Option<&model::File>| match file {
            Some(file) => documents(file.as_text()?),
            None => Some(Vec::new()),
        };
        let (Some(old), Some(new)) = (documents(old), documents(new)) else {
            let texts = (
                old.and_then(model::File::as_text),
                new.and_then(model::File::as_text),
            );
            let after = match texts {
                (Some(old), Some(new)) => by_lines(old, new),
                _ => After::Bytes(new.map(|file| file.bytes().to_vec())),
            };
            all.push(Made {
                file: path.clone(),
                document: None,
                path: Vec::new(),
                after,
            });
            continue;
        };
        let find = |side: &[(String, Value)], name: &str| {
            side.iter()
                .find(|(other, _)| other == name)
                .map(|(_, value)| value.clone())
        };
        let names: BTreeSet<&String> = old.iter().chain(&new).map(|(name, _)| name).collect();
        for name in names {
            let mut leaves = Vec::new();
            let (mut a, b) = (find(&old, name), find(&new, name));
            if b.is_none() && elsewhere(side, base, path, name).is_some() {
                continue; // It moved: what became of it is asked where it stands now.
            }
            if a.is_none() && elsewhere(side, base, path, name).is_none() {
                a = elsewhere(base, side, path, name);
            }
            diff(&mut Vec::new(), a.as_ref(), b.as_ref(), &mut leaves);
            all.extend(leaves.into_iter().map(|(steps, after)| Made {
                file: path.clone(),
                document: Some(name.clone()),
                path: steps,
                after,
            }));
        }
    }
    all
}

/// A resource that stands in one file alone, another one than this, in which the other package has none of it.
fn elsewhere(files: &Files, other: &Files, at: &PackagePath, name: &str) -> Option<Value> {
    let of = |files: &Files, path: &PackagePath| {
        let all = documents(files.get(path)?.as_text()?)?;
        all.into_iter().find(|(id, _)| id == name)
    };
    if name.rsplit('/').next().unwrap_or_default().is_empty() {
        return None;
    }
    let mut found = files
        .keys()
        .filter(|path| *path != at)
        .filter_map(|path| of(other, path).is_none().then(|| of(files, path)).flatten());
    let one = found.next().filter(|_| found.next().is_none());
    one.map(|(_, value)| value)
}

/// The documents of a text by kind and name; `None` where it is no YAML.
fn documents(text: &str) -> Option<Vec<(String, Value)>> {
    let stream = Stream::parse(text, &Limits::default()).ok()?;
    let named = stream.documents().map(|document| {
        let id = package::values::identity(document.root()).record();
        document
            .to_value(Reader::V3)
            .ok()
            .map(|value| (id, plain(&value)))
    });
    named.collect()
}

/// As JSON; infinite numbers as text.
fn plain(value: &yaml::Value) -> Value {
    match value {
        yaml::Value::Map(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), plain(value)))
                .collect(),
        ),
        yaml::Value::Seq(items) => Value::Array(items.iter().map(plain).collect()),
        scalar => scalar
            .to_json()
            .unwrap_or_else(|| format!("{scalar:?}").into()),
    }
}

type Leaves = Vec<(Vec<PathStep>, After)>;

fn diff(at: &mut Vec<PathStep>, old: Option<&Value>, new: Option<&Value>, out: &mut Leaves) {
    if old == new {
        return;
    }
    let empty = Value::Object(serde_json::Map::new());
    match (old, new) {
        (old, Some(Value::Object(new_map))) if !matches!(old, Some(Value::Array(_))) => {
            let old_map = match old {
                Some(Value::Object(map)) => map.clone(),
                _ => serde_json::Map::new(),
            };
            if new_map.is_empty() && old_map.is_empty() {
                out.push((at.clone(), After::Value(empty)));
            }
            let keys: BTreeSet<&String> = old_map.keys().chain(new_map.keys()).collect();
            for key in keys {
                at.push(PathStep::Field(key.clone()));
                diff(at, old_map.get(key), new_map.get(key), out);
                at.pop();
            }
        }
        // A map goes when its fields go; what the other side adds to it may keep it there.
        (Some(Value::Object(old)), None) if !old.is_empty() => {
            for (key, value) in old {
                at.push(PathStep::Field(key.clone()));
                diff(at, Some(value), None, out);
                at.pop();
            }
        }
        (old, Some(Value::Array(new_items))) if !matches!(old, Some(Value::Object(_))) => {
            let old_items = match old {
                Some(Value::Array(items)) => items.clone(),
                _ => Vec::new(),
            };
            lists(at, &old_items, new_items, out);
        }
        (Some(Value::String(old)), Some(Value::String(new))) if old.lines().count() > 1 => {
            out.push((at.clone(), by_lines(old, new)));
        }
        (_, Some(value)) => out.push((at.clone(), After::Value(value.clone()))),
        (_, None) => out.push((at.clone(), After::Absent)),
    }
}

/// Which lines a side wrote, and which of a text it left none of.
fn by_lines(old: &str, new: &str) -> After {
    let count = |text: &str, line: &str| text.lines().filter(|other| *other == line).count();
    let came = new
        .lines()
        .filter(|line| count(new, line) > count(old, line));
    let went = old.lines().filter(|line| count(new, line) == 0);
    After::Lines(
        came.map(str::to_owned).collect(),
        went.map(str::to_owned).collect(),
    )
}

fn holds_lines(text: &str, came: &[String], went: &[String]) -> bool {
    let there = |line: &String| text.lines().any(|other| other == line);
    came.iter().all(there) && !went.iter().any(there)
}

/// What an element holds but its host.
fn rest(item: &Value) -> Option<serde_json::Map<String, Value>> {
    let mut rest = item.as_object()?.clone();
    rest.remove("host")?;
    Some(rest)
}

/// What an element is called: its name, its host, that of a resource, or the image that it runs.
fn name(item: &Value) -> Option<&str> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    text("name")
        .or_else(|| text("host"))
        .or_else(|| item.pointer("/metadata/name")?.as_str())
        .or_else(|| text("image").map(|image| image.rsplit_once(':').map_or(image, |i| i.0)))
}

fn lists(at: &mut Vec<PathStep>, old: &[Value], new: &[Value], out: &mut Leaves) {
    let names = |items: &[Value]| -> Option<BTreeSet<String>> {
        let names: Option<BTreeSet<String>> = items
            .iter()
            .map(|item| name(item).map(str::to_owned))
            .collect();
        names.filter(|names| names.len() == items.len())
    };
    let (Some(a), Some(b)) = (names(old), names(new)) else {
        let came = new
            .iter()
            .filter(|item| !old.contains(item))
            .cloned()
            .collect();
        let went = old
            .iter()
            .filter(|item| !new.contains(item))
            .cloned()
            .collect();
        out.push((at.clone(), After::List(came, went)));
        return;
    };
    let find = |items: &[Value], wanted: &str| {
        items
            .iter()
            .find(|item| name(item) == Some(wanted))
            .cloned()
    };
    for wanted in a.union(&b) {
        // What differs in nothing but its name was renamed: that name is the edit.
        let renamed = |item: &Value| {
            let came = |other: &&Value| name(other).is_some_and(|name| !a.contains(name));
            new.iter()
                .filter(came)
                .any(|other| rest(other) == rest(item))
        };
        let gone = |item: &Value| old.iter().any(|other| rest(other) == rest(item));
        let at_new = find(new, wanted).filter(|item| !a.contains(wanted) && gone(item));
        if let Some(item) = at_new {
            let mut path = at.clone();
            path.push(PathStep::Element(vec![("name".to_owned(), wanted.clone())]));
            path.push(PathStep::Field("host".to_owned()));
            out.extend(
                item.get("host")
                    .map(|host| (path, After::Value(host.clone()))),
            );
            continue;
        }
        if find(old, wanted).is_some_and(|item| !b.contains(wanted) && renamed(&item)) {
            continue;
        }
        at.push(PathStep::Element(vec![("name".to_owned(), wanted.clone())]));
        diff(
            at,
            find(old, wanted).as_ref(),
            find(new, wanted).as_ref(),
            out,
        );
        at.pop();
    }
}

fn holds(result: &Files, made: &Made) -> bool {
    let file = result.get(&made.file);
    if let After::Bytes(bytes) = &made.after {
        return file.map(|file| file.bytes().to_vec()) == *bytes;
    }
    if let (After::Lines(came, went), None) = (&made.after, &made.document) {
        let text = file.and_then(model::File::as_text);
        return text.is_some_and(|text| holds_lines(text, came, went));
    }
    let documents = file
        .and_then(|file| documents(file.as_text()?))
        .unwrap_or_default();
    let root = documents
        .iter()
        .find(|(name, _)| Some(name) == made.document.as_ref());
    let root = root.map(|(_, value)| value.clone()).or_else(|| {
        let name = made.document.as_ref()?;
        elsewhere(result, &Files::new(), &made.file, name)
    });
    let found = root.and_then(|root| made.path.iter().try_fold(root, step));
    match &made.after {
        After::Absent => found.is_none_or(|value| value.is_null()),
        After::Value(value) => found.as_ref() == Some(value),
        After::List(came, went) => {
            let items = found
                .as_ref()
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            came.iter().all(|item| items.contains(item))
                && !went.iter().any(|item| items.contains(item))
        }
        After::Lines(came, went) => {
            let text = found.as_ref().and_then(Value::as_str);
            text.is_some_and(|text| holds_lines(text, came, went))
        }
        After::Bytes(_) => false,
    }
}

fn step(value: Value, step: &PathStep) -> Option<Value> {
    match step {
        PathStep::Field(key) => value.get(key).cloned(),
        PathStep::Element(keys) => {
            let wanted = &keys.first()?.1;
            value
                .as_array()?
                .iter()
                .find(|item| name(item) == Some(wanted))
                .cloned()
        }
        _ => None,
    }
}

/// Whether a record names the place of an edit, something around it, or something in it.
fn recorded(conflicts: &[Conflict], made: &Made) -> bool {
    conflicts
        .iter()
        .filter(|conflict| {
            let same = made.document.as_ref() == Some(&conflict.resource);
            conflict.file == made.file || (same && !conflict.resource.is_empty())
        })
        .any(|conflict| {
            let about = made.document.is_none()
                || conflict.resource.is_empty()
                || made
                    .document
                    .as_ref()
                    .is_some_and(|name| *name == conflict.resource);
            let Some(FieldPath(path)) = FieldPath::parse(&conflict.path) else {
                return false;
            };
            about && path.iter().zip(&made.path).all(|(a, b)| alike(a, b))
        })
}

/// Elements may be named by other keys than the oracle's.
fn alike(a: &PathStep, b: &PathStep) -> bool {
    match (a, b) {
        (PathStep::Element(a), PathStep::Element(b)) => {
            a == b || a.first().map(|key| &key.0) != b.first().map(|key| &key.0)
        }
        (PathStep::Element(_) | PathStep::Item(_), _) => true,
        (a, b) => a == b,
    }
}
