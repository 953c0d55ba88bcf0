//! Puts the changes of a class into a package: what the law of classes says of it is tested with this (F1).

use std::collections::BTreeMap;

use model::{File, Files, PackagePath};
use yaml::{Edit, Limits, Node, NodeStep, Path, Stream};

use super::fields::{FieldChange, resource_name};
use super::inputs::Inputs;
use super::{Body, Changes, ContentChange, FileChange, hunks};
use crate::place::{FieldPath, PathStep};

/// A package after these changes, with a target's inputs put in; `None` where the package is not one of the class.
pub fn apply(package: &Files, changes: &Changes, inputs: &Inputs) -> Option<Files> {
    let mut files = package.clone();
    for change in &changes.files {
        one(&mut files, change, inputs)?;
    }
    Some(files)
}

fn one(files: &mut Files, change: &FileChange, inputs: &Inputs) -> Option<()> {
    let path = PackagePath::parse(&change.file.fill(inputs)?).ok()?;
    match &change.content {
        ContentChange::Added { body, mode, .. } => {
            let bytes = filled(body, inputs)?;
            let file = File::New {
                mode: *mode,
                bytes: bytes.into(),
            };
            return files.insert(path, file).is_none().then_some(());
        }
        ContentChange::Removed { body, .. } => {
            let gone = files.remove(&path)?;
            return (gone.bytes()[..] == filled(body, inputs)?[..]).then_some(());
        }
        _ => {}
    }
    let old = files.get(&path)?;
    let bytes: Vec<u8> = match &change.content {
        ContentChange::Fields(changes) => fields(old.as_text()?, changes, inputs)?.into_bytes(),
        ContentChange::Text { hunks, .. } => {
            hunks::apply(old.as_text()?, hunks, inputs)?.into_bytes()
        }
        ContentChange::Binary { before, after } => {
            if old.bytes() != before {
                return None;
            }
            after.to_vec()
        }
        _ => old.bytes().to_vec(),
    };
    let mode = match change.mode {
        Some((from, _)) if from != old.mode() => return None,
        Some((_, to)) => to,
        None => old.mode(),
    };
    let file = File::New {
        mode,
        bytes: bytes.into(),
    };
    files.insert(path, file);
    Some(())
}

fn filled(body: &Body, inputs: &Inputs) -> Option<Vec<u8>> {
    match body {
        Body::Text(text) => text.fill(inputs).map(String::into_bytes),
        Body::Binary(bytes) => Some(bytes.to_vec()),
    }
}

/// A text after changes of its fields.
fn fields(text: &str, changes: &[FieldChange], inputs: &Inputs) -> Option<String> {
    let stream = Stream::parse(text, &Limits::default()).ok()?;
    let stream = fields_of(stream, changes, inputs)?;
    Some(stream.text().to_owned())
}

/// The same of a text that is parsed.
pub(super) fn fields_of(
    mut stream: Stream,
    changes: &[FieldChange],
    inputs: &Inputs,
) -> Option<Stream> {
    if changes.is_empty() {
        return None;
    }
    if let Some(stream) = all_set(&stream, changes, inputs) {
        return Some(stream);
    }
    for change in changes {
        let (at, edit) = edit(&stream, change, inputs)?;
        stream = stream.apply(at, &[edit]).ok()?;
    }
    Some(stream)
}

/// A text in which all changes set values, written once: no item moves, so that each path leads where it leads after the
/// changes before it.
fn all_set(stream: &Stream, changes: &[FieldChange], inputs: &Inputs) -> Option<Stream> {
    let mut edits: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
    for change in changes {
        change.after.as_ref()?;
        let (at, edit) = edit(stream, change, inputs)?;
        edits.entry(at).or_default().push(edit);
    }
    let mut stream = stream.clone();
    for (at, edits) in edits {
        stream = stream.apply(at, &edits).ok()?;
    }
    Some(stream)
}

/// A change as an edit of one of the documents.
fn edit(stream: &Stream, change: &FieldChange, inputs: &Inputs) -> Option<(usize, Edit)> {
    let resource = change.resource.fill(inputs)?;
    let mut same = (0..stream.len()).filter(|at| {
        let document = stream.document(*at);
        document.is_some_and(|d| resource_name(&d.root()) == resource)
    });
    let (at, None) = (same.next()?, same.next()) else {
        return None;
    };
    let path = FieldPath::parse(&change.path.fill(inputs)?)?;
    let path = place(&stream.document(at)?.root(), &path)?;
    let value = |held: &super::Held| held.value(inputs);
    let edit = match (&change.before, &change.after) {
        (_, Some(after)) => Edit::set(path, value(after)?),
        (Some(_), None) => Edit::remove(path),
        (None, None) => return None,
    };
    Some((at, edit))
}

/// Where a path leads in this document; the last field need not be there.
fn place(root: &Node<'_>, path: &FieldPath) -> Option<Path> {
    let mut steps = Vec::new();
    let mut at = Some(*root);
    for step in &path.0 {
        match step {
            PathStep::Field(name) => {
                at = at.and_then(|node| node.get(name));
                steps.push(NodeStep::Key(name.clone()));
            }
            PathStep::Element(keys) => {
                let list = at?;
                let fits = |item: &Node<'_>| {
                    keys.iter().all(|(key, value)| {
                        item.get(key).and_then(|n| n.as_str()) == Some(value.as_str())
                    })
                };
                let index = list.items().position(|item| fits(&item))?;
                at = list.at(index);
                steps.push(NodeStep::Index(index));
            }
            _ => return None,
        }
    }
    Some(Path(steps))
}
