//! From an edit, which speaks of paths, to changes of single nodes of the tree.

use std::borrow::Cow;

use super::change::{New, Op};
use super::collections;
use super::lowered::{Lowered, create, expand};
use super::order;
use super::walk::{Reached, walk};
use super::{Edit, Fragment, splice};
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::path::Path;
use crate::stream::Stream;
use crate::tree::NodeKind;
use crate::value::Value;

/// Steps that one edit may take, far more than any document has nodes for; stops a mistake of ours from looping.
const MOST_STEPS: usize = 1_000_000;

/// Applies one edit to a document, with so many bytes left to read and write.
pub(super) fn apply(
    stream: &Stream,
    doc: usize,
    edit: &Edit,
    left: &mut usize,
) -> Result<Stream, Error> {
    let mut stream = stream.clone();
    let mut work = vec![Cow::Borrowed(edit)];
    for _ in 0..MOST_STEPS {
        let Some(edit) = work.pop() else {
            return Ok(stream);
        };
        spend(&stream, doc, left)?;
        let next = match lower(&stream, doc, &edit)? {
            Lowered::Nothing => None,
            Lowered::Change(op) => match splice::perform(&stream, doc, &op)? {
                splice::Spliced::Done(next) => Some(next),
                splice::Spliced::Detached(next) => {
                    work.push(edit.clone());
                    Some(next)
                }
            },
            Lowered::Prepare(op) => match splice::perform(&stream, doc, &op)? {
                splice::Spliced::Done(next) | splice::Spliced::Detached(next) => {
                    work.push(edit.clone());
                    Some(next)
                }
            },
            Lowered::Edits(edits) => {
                work.extend(edits.into_iter().rev().map(Cow::Owned));
                None
            }
        };
        if let Some(next) = next {
            stream = next;
        }
    }
    Err(Error::at(
        ErrorKind::Unwritable,
        stream.text(),
        0,
        "the edit does not come to an end",
    ))
}

/// Takes the length of a text off what may still be read and written.
pub(super) fn spend(stream: &Stream, doc: usize, left: &mut usize) -> Result<(), Error> {
    let rest = left.checked_sub(stream.doc_text(doc).len());
    *left = rest.ok_or_else(|| {
        let message = "too many edits of a text of this length have to be made one by one";
        stream.error(ErrorKind::Limit, doc, 0, message)
    })?;
    Ok(())
}

/// The changes that an edit comes down to, if each can be made on the document as it is.
pub(super) fn ops(stream: &Stream, doc: usize, edit: &Edit) -> Option<Vec<Op>> {
    match lower(stream, doc, edit).ok()? {
        Lowered::Nothing => Some(Vec::new()),
        Lowered::Change(op) => Some(vec![op]),
        Lowered::Prepare(_) => None,
        Lowered::Edits(edits) => match edits.as_slice() {
            [edit] => ops(stream, doc, edit),
            _ => None,
        },
    }
}

/// Looks at one edit.
pub(super) fn lower(stream: &Stream, doc: usize, edit: &Edit) -> Result<Lowered, Error> {
    let path = edit.path();
    let reached = match walk(stream, doc, path)? {
        Reached::Alias(node) => return expand(node),
        reached => reached,
    };
    match edit {
        Edit::Set { value, .. } => set(reached, path, value),
        Edit::Append { value, .. } => collections::insert(reached, path, usize::MAX, None, value),
        Edit::Insert { index, value, .. } => {
            collections::insert(reached, path, *index, None, value)
        }
        Edit::InsertKey {
            index, key, value, ..
        } => collections::insert(reached, path, *index, Some(key), value),
        Edit::Remove { .. } => collections::remove(reached, path),
        Edit::Order { order, .. } => order::order(reached, path, order),
        Edit::Rename { to, .. } => collections::rename(reached, path, to),
        Edit::ReplaceText { text, .. } => {
            let fragment = Fragment::parse(text, stream.limits())?;
            Ok(Lowered::Edits(vec![Edit::SetFragment {
                path: path.clone(),
                fragment,
            }]))
        }
        Edit::SetFragment { fragment, .. } => collections::set_fragment(reached, path, fragment),
        Edit::InsertFragment {
            index, fragment, ..
        } => collections::insert_fragment(reached, path, *index, None, fragment),
        Edit::InsertKeyFragment {
            index,
            key,
            fragment,
            ..
        } => collections::insert_fragment(reached, path, *index, Some(key), fragment),
        Edit::SetComment { place, text, .. } => match reached {
            Reached::Found(node) => Ok(Lowered::Change(Op::Comment {
                node: node.id,
                place: *place,
                text: text.clone(),
            })),
            _ => Err(nowhere(stream, doc, path)),
        },
    }
}

fn nowhere(stream: &Stream, doc: usize, path: &Path) -> Error {
    stream.error(ErrorKind::Path, doc, 0, format!("there is no {path}"))
}

fn set(reached: Reached<'_>, path: &Path, value: &Value) -> Result<Lowered, Error> {
    match reached {
        Reached::Found(node) => set_found(node, path, value),
        Reached::Missing { at, steps } => create(at, path, steps, value.clone()),
        Reached::Alias(node) => expand(node),
    }
}

fn set_found(node: Node<'_>, path: &Path, value: &Value) -> Result<Lowered, Error> {
    if node.equals(value) {
        return Ok(Lowered::Nothing);
    }
    let simple = node.kind() != NodeKind::Alias
        && node.duplicate_keys().is_empty()
        && node
            .entries()
            .all(|entry| !entry.is_merge() && entry.key.as_str().is_some());
    let edits = match (node.kind(), value) {
        (NodeKind::Mapping, Value::Map(entries))
            if simple && !entries.is_empty() && node.entries().len() > 0 =>
        {
            super::diff::mapping(node, path, entries)
        }
        (NodeKind::Sequence, Value::Seq(items)) if !items.is_empty() && node.items().len() > 0 => {
            super::diff::sequence(node, path, items)
        }
        _ => {
            return Ok(Lowered::Change(Op::Replace {
                node: node.id,
                new: New::Value(value.clone()),
            }));
        }
    };
    Ok(Lowered::Edits(edits))
}
