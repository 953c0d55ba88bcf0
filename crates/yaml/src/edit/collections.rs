//! Lowering what adds to collections, takes from them, and names in them.

use super::change::{New, Op};
use super::lowered::{Lowered, create, expand, insertion, widened};
use super::surroundings::is_pair;
use super::walk::Reached;
use super::{CommentPlace, Edit, Fragment, verify};
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::path::{NodeStep, Path};
use crate::scalar::Reader;
use crate::tree::{Id, NONE, NodeKind};
use crate::value::Value;

pub(super) fn insert(
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
    if node.kind() == NodeKind::Alias {
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
        NodeKind::Mapping
    } else {
        NodeKind::Sequence
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
    } else if is_pair(node) {
        Holds::Pair
    } else {
        Holds::Entries
    })
}

pub(super) fn remove(reached: Reached<'_>, path: &Path) -> Result<Lowered, Error> {
    match reached {
        Reached::Alias(node) => expand(node),
        Reached::Missing {
            at: Some(node),
            steps,
        } if steps + 1 == path.steps().len() => match path.last() {
            Some(NodeStep::Key(key))
                if node.kind() == NodeKind::Mapping && node.effective(key).is_some() =>
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
            if is_pair(around) {
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
            if path.last() != Some(&NodeStep::Key(key.clone())) {
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
    let at = node.stream.tree(node.doc).place(node.id)?;
    Some((
        parent.id,
        if parent.kind() == NodeKind::Mapping {
            at / 2
        } else {
            at
        },
    ))
}

pub(super) fn rename(reached: Reached<'_>, path: &Path, to: &str) -> Result<Lowered, Error> {
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
    let place = position(node).filter(|(parent, _)| node.with(*parent).kind() == NodeKind::Mapping);
    let Some((parent, index)) = place else {
        return Err(node.error(ErrorKind::Path, "only entries of mappings have a key"));
    };
    if path.last() == Some(&NodeStep::Key(to.to_owned())) {
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

pub(super) fn set_fragment(
    reached: Reached<'_>,
    path: &Path,
    fragment: &Fragment,
) -> Result<Lowered, Error> {
    match reached {
        Reached::Alias(node) => expand(node),
        Reached::Found(node) if verify::reads_like(fragment, node) => Ok(Lowered::Nothing),
        Reached::Found(node) => Ok(Lowered::Change(Op::Replace {
            node: node.id,
            new: New::Copy(fragment.clone()),
        })),
        Reached::Missing { .. } => match (path.parent(), path.last()) {
            (Some(parent), Some(NodeStep::Key(key))) => {
                Ok(Lowered::Edits(vec![Edit::InsertKeyFragment {
                    path: parent,
                    index: usize::MAX,
                    key: key.clone(),
                    fragment: fragment.clone(),
                }]))
            }
            (Some(parent), Some(NodeStep::Index(index))) => {
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

pub(super) fn insert_fragment(
    reached: Reached<'_>,
    path: &Path,
    index: usize,
    key: Option<&String>,
    fragment: &Fragment,
) -> Result<Lowered, Error> {
    match reached {
        Reached::Alias(node) => return expand(node),
        Reached::Found(node) if node.kind() == NodeKind::Alias => return expand(node),
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
            place: CommentPlace::Line,
            text,
        });
    }
    if !comments.head.is_empty() {
        let text: Vec<&str> = comments.head.iter().map(|comment| comment.text).collect();
        edits.push(Edit::SetComment {
            path: place,
            place: CommentPlace::Head,
            text: text.join("\n"),
        });
    }
    Ok(Lowered::Edits(edits))
}
