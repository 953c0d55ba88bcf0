//! Taking another package's value at the place of a conflict.

use model::{Conflict, File, Files, PackagePath};
use yaml::{Edit, Reader, Stream};

use super::lines::Lines;
use super::node::{document, find, parsed};
use super::place::{is_file, subpackage, value_at};
use crate::place::{FieldPath, PathStep, inside};

/// Puts what `from` holds at the place of a conflict into a package, as it is written there; says whether it could.
///
/// A package in which it could not is as it was.
pub(crate) fn take(files: &mut Files, from: &Files, conflict: &Conflict) -> bool {
    let taken = match Lines::of(conflict) {
        Some(lines) => lines.taken(files, from, conflict),
        None if is_file(conflict) => Some(whole(files, from, conflict)),
        None => part(files, from, conflict),
    };
    match taken {
        // Looked at again: an edit that came to something else there is no decision.
        Some(taken)
            if value_at(&taken, conflict) == value_at(from, conflict)
                && has_place(&taken, &conflict.file) =>
        {
            *files = taken;
            true
        }
        _ => false,
    }
}

/// Whether a file, if it is there, stands neither where a directory does nor below another file.
fn has_place(files: &Files, at: &PackagePath) -> bool {
    let beside = |path: &PackagePath| !inside(path, at.as_str()) && !inside(at, path.as_str());
    !files.contains_key(at) || files.keys().all(beside)
}

/// A file, or the files of a subpackage.
fn whole(files: &Files, from: &Files, conflict: &Conflict) -> Files {
    let inside = |path: &PackagePath| match subpackage(conflict) {
        Some(dir) => path
            .as_str()
            .strip_prefix(dir)
            .is_some_and(|rest| rest.starts_with('/')),
        None => *path == conflict.file,
    };
    let kept = files.iter().filter(|(path, _)| !inside(path));
    let taken = from.iter().filter(|(path, _)| inside(path));
    kept.chain(taken)
        .map(|(path, file)| (path.clone(), file.clone()))
        .collect()
}

/// A resource, or a field of one.
fn part(files: &Files, from: &Files, conflict: &Conflict) -> Option<Files> {
    let at = &conflict.file;
    let theirs = from.get(at).and_then(parsed);
    let theirs = theirs.as_ref().and_then(|t| document(t, conflict));
    let mut taken = files.clone();
    let Some(file) = files.get(at) else {
        let whole = theirs.filter(|_| conflict.path.is_empty())?;
        taken.insert(at.clone(), File::text(whole.text()));
        return Some(taken);
    };
    let ours = parsed(file)?;
    let Some(index) = document(&ours, conflict).map(|d| d.index()) else {
        let whole = theirs.filter(|_| conflict.path.is_empty())?;
        let longer = ours.append_document(whole.text()).ok()?;
        taken.insert(at.clone(), with_text(file, &longer));
        return Some(taken);
    };
    let written = match theirs {
        Some(theirs) if conflict.path.is_empty() => ours.replace_document(index, theirs.text()),
        None if conflict.path.is_empty() && ours.len() == 1 => {
            taken.remove(at);
            return Some(taken);
        }
        None if conflict.path.is_empty() => ours.remove_document(index),
        theirs => {
            let steps = FieldPath::parse(&conflict.path)?.0;
            let theirs = theirs.map(|t| t.root());
            return field(&ours, index, theirs, &steps).map(|stream| {
                taken.insert(at.clone(), with_text(file, &stream));
                taken
            });
        }
    };
    taken.insert(at.clone(), with_text(file, &written.ok()?));
    Some(taken)
}

fn with_text(file: &File, stream: &Stream) -> File {
    file.with_bytes(stream.text().as_bytes().to_vec())
}

/// The document with its field as the other one has it.
fn field(
    ours: &Stream,
    document: usize,
    theirs: Option<yaml::Node<'_>>,
    steps: &[PathStep],
) -> Option<Stream> {
    let root = ours.document(document)?.root();
    let here = find(root, steps);
    let there = theirs.and_then(|root| find(root, steps));
    let edits = match (here, there) {
        (None, None) => return Some(ours.clone()),
        (Some(here), None) => vec![Edit::Remove { path: here.path() }],
        (Some(here), Some(there)) => {
            let (path, fragment) = (here.path(), there.lift());
            let value = there.target().ok()?.to_value(Reader::V3).ok()?;
            let by_value = Edit::Set {
                path: path.clone(),
                value,
            };
            vec![Edit::SetFragment { path, fragment }, by_value]
        }
        (None, Some(there)) => {
            let (last, parents) = steps.split_last()?;
            let path = find(root, parents)?.path();
            let (index, fragment) = (usize::MAX, there.lift());
            vec![match last {
                PathStep::Field(key) => Edit::InsertKeyFragment {
                    path,
                    index,
                    key: key.clone(),
                    fragment,
                },
                PathStep::Comment | PathStep::Order | PathStep::Lines | PathStep::File => {
                    return None;
                }
                _ => Edit::InsertFragment {
                    path,
                    index,
                    fragment,
                },
            }]
        }
    };
    // An alias cannot be lifted without its anchor: its value can.
    edits
        .into_iter()
        .find_map(|edit| ours.apply(document, &[edit]).ok())
}
