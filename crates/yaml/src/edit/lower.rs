//! From an edit, which speaks of paths, to changes of single nodes of the tree.

use std::borrow::Cow;

use super::splice::{New, Op};
use super::{Edit, Fragment, Place, splice};
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::path::{Path, Step};
use crate::scalar::Reader;
use crate::stream::Stream;
use crate::tree::{Id, Kind, NONE};
use crate::value::Value;

/// Steps that one edit may take, far more than any document has nodes for; stops a mistake of ours from looping.
const MOST_STEPS: usize = 1_000_000;

/// What an edit comes down to on the document as it is.
pub(super) enum Lowered {
    Nothing,
    /// One change, and the edit is done.
    Change(Op),
    /// One change that prepares the way; the edit has to be looked at again.
    Prepare(Op),
    /// Simpler edits, in order.
    Edits(Vec<Edit>),
}

/// Applies one edit to a document.
pub(super) fn apply(stream: &Stream, doc: usize, edit: &Edit) -> Result<Stream, Error> {
    if doc >= stream.docs().len() {
        return Err(Error::at(
            ErrorKind::Path,
            stream.text(),
            0,
            format!("there is no document {doc}"),
        ));
    }
    let mut stream = stream.clone();
    let mut work = vec![Cow::Borrowed(edit)];
    for _ in 0..MOST_STEPS {
        let Some(edit) = work.pop() else {
            return Ok(stream);
        };
        let next = match lower(&stream, doc, &edit)? {
            Lowered::Nothing => None,
            Lowered::Change(op) => match splice::perform(&stream, doc, &op)? {
                splice::Outcome::Done(next) => Some(next),
                splice::Outcome::Detached(next) => {
                    work.push(edit.clone());
                    Some(next)
                }
            },
            Lowered::Prepare(op) => match splice::perform(&stream, doc, &op)? {
                splice::Outcome::Done(next) | splice::Outcome::Detached(next) => {
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

/// Where a path leads.
enum Reached<'a> {
    Found(Node<'a>),
    /// An alias stands in the way, with steps left below it.
    Alias(Node<'a>),
    /// The path ends early: at a node without children (or at nothing), or at a collection without that child.
    Missing {
        at: Option<Node<'a>>,
        steps: usize,
    },
}

fn walk<'a>(stream: &'a Stream, doc: usize, path: &Path) -> Result<Reached<'a>, Error> {
    if stream.tree(doc).root == NONE {
        return Ok(Reached::Missing { at: None, steps: 0 });
    }
    let mut node = Node {
        stream,
        doc,
        id: stream.tree(doc).root,
    };
    for (done, step) in path.steps().iter().enumerate() {
        let here = Path(path.steps()[..done].to_vec());
        let place = || {
            if done == 0 {
                "the document".to_owned()
            } else {
                here.to_string()
            }
        };
        let child = match (node.kind(), step) {
            (Kind::Alias, _) => return Ok(Reached::Alias(node)),
            (Kind::Scalar, _) if node.is_null() => {
                return Ok(Reached::Missing {
                    at: Some(node),
                    steps: done,
                });
            }
            (Kind::Mapping, Step::Key(key)) => {
                let mut found = node
                    .entries()
                    .filter(|entry| entry.key.key_text() == Some(key));
                let first = found.next();
                if let Some(second) = found.next() {
                    let message = format!("key {key:?} stands twice in {}", place());
                    return Err(second.key.error(ErrorKind::DuplicateKey, message));
                }
                first.map(|entry| entry.value)
            }
            (Kind::Sequence, Step::Index(index)) => {
                let length = node.items().len();
                if *index > length {
                    let message =
                        format!("{} has {length} items, there is no item {index}", place());
                    return Err(node.error(ErrorKind::Path, message));
                }
                node.at(*index)
            }
            (kind, step) => {
                let wanted = if matches!(step, Step::Key(_)) {
                    "mapping"
                } else {
                    "sequence"
                };
                let kind = match kind {
                    Kind::Mapping => "mapping",
                    Kind::Sequence => "sequence",
                    _ => "scalar",
                };
                let message = format!("{} is a {kind}, not a {wanted}", place());
                return Err(node.error(ErrorKind::Path, message));
            }
        };
        match child {
            Some(child) => node = child,
            None => {
                return Ok(Reached::Missing {
                    at: Some(node),
                    steps: done,
                });
            }
        }
    }
    Ok(Reached::Found(node))
}

/// Looks at one edit.
fn lower(stream: &Stream, doc: usize, edit: &Edit) -> Result<Lowered, Error> {
    let path = edit.path();
    let reached = match walk(stream, doc, path)? {
        Reached::Alias(node) => return expand(node),
        reached => reached,
    };
    match edit {
        Edit::Set { value, .. } => set(reached, path, value),
        Edit::Append { value, .. } => insert(reached, path, usize::MAX, None, value),
        Edit::Insert { index, value, .. } => insert(reached, path, *index, None, value),
        Edit::InsertKey {
            index, key, value, ..
        } => insert(reached, path, *index, Some(key), value),
        Edit::Remove { .. } => remove(reached, path),
        Edit::Rename { to, .. } => rename(reached, path, to),
        Edit::ReplaceText { text, .. } => {
            let fragment = Fragment::parse(text, stream.limits())?;
            Ok(Lowered::Edits(vec![Edit::SetFragment {
                path: path.clone(),
                fragment,
            }]))
        }
        Edit::SetFragment { fragment, .. } => set_fragment(reached, path, fragment),
        Edit::InsertFragment {
            index, fragment, ..
        } => insert_fragment(reached, path, *index, None, fragment),
        Edit::InsertKeyFragment {
            index,
            key,
            fragment,
            ..
        } => insert_fragment(reached, path, *index, Some(key), fragment),
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

/// Replaces an alias by what it stands for (M1).
fn expand(alias: Node<'_>) -> Result<Lowered, Error> {
    // An endless value is refused here.
    alias.to_value(Reader::V3)?;
    let fragment = Fragment::of(alias.target()?);
    Ok(Lowered::Prepare(Op::Replace {
        node: alias.id,
        new: New::Copy(fragment),
    }))
}

/// Wraps a value into the mappings that the rest of a path asks for.
fn nested(steps: &[Step], value: Value, at: impl Fn(String) -> Error) -> Result<Value, Error> {
    steps
        .iter()
        .rev()
        .try_fold(value, |value, step| match step {
            Step::Key(key) => Ok(Value::Map(vec![(key.clone(), value)])),
            Step::Index(0) => Ok(Value::Seq(vec![value])),
            Step::Index(index) => Err(at(format!("a new sequence has no item {index}"))),
        })
}

fn set(reached: Reached<'_>, path: &Path, value: &Value) -> Result<Lowered, Error> {
    match reached {
        Reached::Found(node) => set_found(node, path, value),
        Reached::Missing { at, steps } => create(at, path, steps, value.clone()),
        Reached::Alias(node) => expand(node),
    }
}

/// Creates what is missing on a path.
fn create(at: Option<Node<'_>>, path: &Path, done: usize, value: Value) -> Result<Lowered, Error> {
    let Some(node) = at else {
        let message = |text| Error::at(ErrorKind::Path, "", 0, text);
        let new = New::Value(nested(path.steps(), value, message)?);
        return Ok(Lowered::Change(Op::Replace { node: NONE, new }));
    };
    let message = |text| node.error(ErrorKind::Path, text);
    let rest = &path.steps()[done..];
    if node.kind() == Kind::Scalar || node.children().is_empty() {
        let new = New::Value(nested(rest, value, message)?);
        return Ok(Lowered::Change(Op::Replace { node: node.id, new }));
    }
    let Some((step, below)) = rest.split_first() else {
        return Ok(Lowered::Nothing);
    };
    let key = match step {
        Step::Key(key) => Some(key),
        Step::Index(_) => None,
    };
    // A value below a merged one overrides a copy of it.
    let merged = key
        .and_then(|key| node.effective(key))
        .filter(|_| !below.is_empty());
    if let (Some(merged), Some(key)) = (merged, key) {
        let parent = Path(path.steps()[..done].to_vec());
        let copied = merged.to_value(Reader::V3)?;
        return Ok(Lowered::Edits(vec![
            Edit::InsertKey {
                path: parent,
                index: usize::MAX,
                key: key.clone(),
                value: copied,
            },
            Edit::Set {
                path: path.clone(),
                value,
            },
        ]));
    }
    let value = nested(below, value, message)?;
    if let (true, Some(key)) = (splice::is_pair(node), key) {
        return widened(node, usize::MAX, key, &value);
    }
    let new = New::Value(value);
    Ok(Lowered::Change(insertion(
        node,
        usize::MAX,
        key.cloned(),
        new,
    )))
}

fn insertion(node: Node<'_>, index: usize, key: Option<String>, new: New) -> Op {
    let slots = node.children().len() / if node.kind() == Kind::Mapping { 2 } else { 1 };
    Op::Insert {
        parent: node.id,
        index: index.min(slots),
        key,
        new,
    }
}

fn set_found(node: Node<'_>, path: &Path, value: &Value) -> Result<Lowered, Error> {
    if node.equals(value) {
        return Ok(Lowered::Nothing);
    }
    let simple = node.kind() != Kind::Alias
        && node.duplicate_keys().is_empty()
        && node
            .entries()
            .all(|entry| !entry.is_merge() && entry.key.as_str().is_some());
    let edits = match (node.kind(), value) {
        (Kind::Mapping, Value::Map(entries))
            if simple && !entries.is_empty() && node.entries().len() > 0 =>
        {
            super::diff::mapping(node, path, entries)
        }
        (Kind::Sequence, Value::Seq(items)) if !items.is_empty() && node.items().len() > 0 => {
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

fn insert(
    reached: Reached<'_>,
    path: &Path,
    index: usize,
    key: Option<&String>,
    value: &Value,
) -> Result<Lowered, Error> {
    let single = || match key {
        Some(key) => Value::Map(vec![(key.clone(), value.clone())]),
        None => Value::Seq(vec![value.clone()]),
    };
    let node = match reached {
        Reached::Missing { at, steps } => return create(at, path, steps, single()),
        Reached::Alias(node) => return expand(node),
        Reached::Found(node) => node,
    };
    if node.kind() == Kind::Alias {
        return expand(node);
    }
    match check_collection(node, index, key)? {
        Holds::Nothing => Ok(Lowered::Change(Op::Replace {
            node: node.id,
            new: New::Value(single()),
        })),
        Holds::Pair => match key {
            Some(key) => widened(node, index, key, value),
            None => Ok(Lowered::Nothing),
        },
        Holds::Entries => Ok(Lowered::Change(insertion(
            node,
            index,
            key.cloned(),
            New::Value(value.clone()),
        ))),
    }
}

/// A pair inside a flow sequence that gets another entry: it is written anew, with brackets.
fn widened(node: Node<'_>, index: usize, key: &str, value: &Value) -> Result<Lowered, Error> {
    let mut whole = node.to_value(Reader::V3)?;
    if let Value::Map(entries) = &mut whole {
        entries.insert(index.min(entries.len()), (key.to_owned(), value.clone()));
    }
    Ok(Lowered::Change(Op::Replace {
        node: node.id,
        new: New::Value(whole),
    }))
}

/// What a collection holds that something shall be added to.
enum Holds {
    /// Nothing, or it is null: it is written anew.
    Nothing,
    /// A single pair inside a flow sequence: it has no brackets to add to.
    Pair,
    Entries,
}

fn check_collection(node: Node<'_>, index: usize, key: Option<&String>) -> Result<Holds, Error> {
    let kind = if key.is_some() {
        Kind::Mapping
    } else {
        Kind::Sequence
    };
    if node.is_null() {
        return Ok(Holds::Nothing);
    }
    if node.kind() != kind {
        let wanted = if key.is_some() { "mapping" } else { "sequence" };
        return Err(node.error(ErrorKind::Path, format!("{} is no {wanted}", node.path())));
    }
    if let Some(key) = key {
        if node.get(key).is_some() {
            return Err(node.error(ErrorKind::Path, format!("key {key:?} is there already")));
        }
    } else if index != usize::MAX && index > node.items().len() {
        let length = node.items().len();
        return Err(node.error(
            ErrorKind::Path,
            format!("there are {length} items, no place {index}"),
        ));
    }
    Ok(if node.children().is_empty() {
        Holds::Nothing
    } else if splice::is_pair(node) {
        Holds::Pair
    } else {
        Holds::Entries
    })
}

fn remove(reached: Reached<'_>, path: &Path) -> Result<Lowered, Error> {
    match reached {
        Reached::Alias(node) => expand(node),
        Reached::Missing {
            at: Some(node),
            steps,
        } if steps + 1 == path.steps().len() => match path.last() {
            Some(Step::Key(key))
                if node.kind() == Kind::Mapping && node.effective(key).is_some() =>
            {
                unmerge(node, path)
            }
            _ => Ok(Lowered::Nothing),
        },
        Reached::Missing { .. } => Ok(Lowered::Nothing),
        Reached::Found(node) => {
            let Some((parent, index)) = position(node) else {
                return Err(node.error(ErrorKind::Path, "the root of a document cannot be removed"));
            };
            let around = node.with(parent);
            if splice::is_pair(around) {
                let new = New::Value(Value::map());
                return Ok(Lowered::Change(Op::Replace { node: parent, new }));
            }
            Ok(Lowered::Change(Op::Remove { parent, index }))
        }
    }
}

/// Writes out what a merge key brings in, so that one of it can be removed.
fn unmerge(node: Node<'_>, path: &Path) -> Result<Lowered, Error> {
    let parent = path.parent().unwrap_or_default();
    let mut edits = Vec::new();
    let at = node
        .entries()
        .position(|entry| entry.is_merge())
        .unwrap_or_default();
    if let Value::Map(entries) = node.to_value(Reader::V3)? {
        for (key, value) in entries
            .into_iter()
            .filter(|(key, _)| node.get(key).is_none())
        {
            if path.last() != Some(&Step::Key(key.clone())) {
                let index = at + 1 + edits.len();
                edits.push(Edit::InsertKey {
                    path: parent.clone(),
                    index,
                    key,
                    value,
                });
            }
        }
    }
    edits.push(Edit::Remove {
        path: parent.join("<<"),
    });
    Ok(Lowered::Edits(edits))
}

/// The collection that holds a node, and the position in it.
fn position(node: Node<'_>) -> Option<(Id, usize)> {
    let parent = node.parent()?;
    let at = parent.children().iter().position(|id| *id == node.id)?;
    Some((
        parent.id,
        if parent.kind() == Kind::Mapping {
            at / 2
        } else {
            at
        },
    ))
}

fn rename(reached: Reached<'_>, path: &Path, to: &str) -> Result<Lowered, Error> {
    let node = match reached {
        Reached::Alias(node) => return expand(node),
        Reached::Found(node) => node,
        Reached::Missing { at, .. } => {
            let message = format!("there is no {path}");
            return Err(match at {
                Some(node) => node.error(ErrorKind::Path, message),
                None => Error::at(ErrorKind::Path, "", 0, message),
            });
        }
    };
    let place = position(node).filter(|(parent, _)| node.with(*parent).kind() == Kind::Mapping);
    let Some((parent, index)) = place else {
        return Err(node.error(ErrorKind::Path, "only entries of mappings have a key"));
    };
    if path.last() == Some(&Step::Key(to.to_owned())) {
        return Ok(Lowered::Nothing);
    }
    if node.with(parent).get(to).is_some() {
        return Err(node.error(ErrorKind::Path, format!("key {to:?} is there already")));
    }
    Ok(Lowered::Change(Op::Rename {
        parent,
        index,
        to: to.to_owned(),
    }))
}

fn set_fragment(reached: Reached<'_>, path: &Path, fragment: &Fragment) -> Result<Lowered, Error> {
    match reached {
        Reached::Alias(node) => expand(node),
        Reached::Found(node) if fragment.reads_like(node) => Ok(Lowered::Nothing),
        Reached::Found(node) => Ok(Lowered::Change(Op::Replace {
            node: node.id,
            new: New::Copy(fragment.clone()),
        })),
        Reached::Missing { .. } => match (path.parent(), path.last()) {
            (Some(parent), Some(Step::Key(key))) => {
                Ok(Lowered::Edits(vec![Edit::InsertKeyFragment {
                    path: parent,
                    index: usize::MAX,
                    key: key.clone(),
                    fragment: fragment.clone(),
                }]))
            }
            (Some(parent), Some(Step::Index(index))) => {
                Ok(Lowered::Edits(vec![Edit::InsertFragment {
                    path: parent,
                    index: *index,
                    fragment: fragment.clone(),
                }]))
            }
            _ => Ok(Lowered::Change(Op::Replace {
                node: NONE,
                new: New::Copy(fragment.clone()),
            })),
        },
    }
}

fn insert_fragment(
    reached: Reached<'_>,
    path: &Path,
    index: usize,
    key: Option<&String>,
    fragment: &Fragment,
) -> Result<Lowered, Error> {
    match reached {
        Reached::Alias(node) => return expand(node),
        Reached::Found(node) if node.kind() == Kind::Alias => return expand(node),
        Reached::Found(node) => {
            if matches!(check_collection(node, index, key)?, Holds::Entries) {
                let new = New::Copy(fragment.clone());
                return Ok(Lowered::Change(insertion(node, index, key.cloned(), new)));
            }
        }
        Reached::Missing { .. } => {}
    }
    // There is nothing to insert into: a placeholder makes the place, then the fragment takes it.
    let place = match key {
        Some(key) => path.join(key.as_str()),
        None => path.join(0),
    };
    let placeholder = Value::Str("placeholder".to_owned());
    let make = match key {
        Some(key) => Edit::InsertKey {
            path: path.clone(),
            index: 0,
            key: key.clone(),
            value: placeholder,
        },
        None => Edit::Insert {
            path: path.clone(),
            index: 0,
            value: placeholder,
        },
    };
    let mut edits = vec![
        make,
        Edit::SetFragment {
            path: place.clone(),
            fragment: fragment.clone(),
        },
    ];
    let comments = fragment.node().comments();
    if let Some(line) = comments.line {
        let text = line.text.to_owned();
        edits.push(Edit::SetComment {
            path: place.clone(),
            place: Place::Line,
            text,
        });
    }
    if !comments.head.is_empty() {
        let text: Vec<&str> = comments.head.iter().map(|comment| comment.text).collect();
        edits.push(Edit::SetComment {
            path: place,
            place: Place::Head,
            text: text.join("\n"),
        });
    }
    Ok(Lowered::Edits(edits))
}
