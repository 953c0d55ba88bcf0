//! What an edit comes down to, and how what is missing is made.

use super::change::{New, Op};
use super::surroundings::is_pair;
use super::{Edit, Fragment};
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::path::{NodeStep, Path};
use crate::scalar::Reader;
use crate::tree::{NONE, NodeKind};
use crate::value::Value;

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

/// Replaces an alias by what it stands for (M1).
pub(super) fn expand(alias: Node<'_>) -> Result<Lowered, Error> {
    // An endless value is refused here.
    alias.to_value(Reader::V3)?;
    let fragment = Fragment::of(alias.target()?);
    Ok(Lowered::Prepare(Op::Replace {
        node: alias.id,
        new: New::Copy(fragment),
    }))
}

/// Wraps a value into the mappings that the rest of a path asks for.
fn nested(steps: &[NodeStep], value: Value, at: impl Fn(String) -> Error) -> Result<Value, Error> {
    steps
        .iter()
        .rev()
        .try_fold(value, |value, step| match step {
            NodeStep::Key(key) => Ok(Value::Map(vec![(key.clone(), value)])),
            NodeStep::Index(0) => Ok(Value::Seq(vec![value])),
            NodeStep::Index(index) => Err(at(format!("a new sequence has no item {index}"))),
        })
}

/// Creates what is missing on a path.
pub(super) fn create(
    at: Option<Node<'_>>,
    path: &Path,
    done: usize,
    value: Value,
) -> Result<Lowered, Error> {
    let Some(node) = at else {
        let message = |text| Error::at(ErrorKind::Path, "", 0, text);
        let new = New::Value(nested(path.steps(), value, message)?);
        return Ok(Lowered::Change(Op::Replace { node: NONE, new }));
    };
    let message = |text| node.error(ErrorKind::Path, text);
    let rest = &path.steps()[done..];
    if node.kind() == NodeKind::Scalar || node.children().is_empty() {
        let new = New::Value(nested(rest, value, message)?);
        return Ok(Lowered::Change(Op::Replace { node: node.id, new }));
    }
    let Some((step, below)) = rest.split_first() else {
        return Ok(Lowered::Nothing);
    };
    let key = match step {
        NodeStep::Key(key) => Some(key),
        NodeStep::Index(_) => None,
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
    if let (true, Some(key)) = (is_pair(node), key) {
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

pub(super) fn insertion(node: Node<'_>, index: usize, key: Option<String>, new: New) -> Op {
    let slots = node.children().len()
        / if node.kind() == NodeKind::Mapping {
            2
        } else {
            1
        };
    Op::Insert {
        parent: node.id,
        index: index.min(slots),
        key,
        new,
    }
}

/// A pair inside a flow sequence that gets another entry: it is written anew, with brackets.
pub(super) fn widened(
    node: Node<'_>,
    index: usize,
    key: &str,
    value: &Value,
) -> Result<Lowered, Error> {
    let mut whole = node.to_value(Reader::V3)?;
    if let Value::Map(entries) = &mut whole {
        entries.insert(index.min(entries.len()), (key.to_owned(), value.clone()));
    }
    Ok(Lowered::Change(Op::Replace {
        node: node.id,
        new: New::Value(whole),
    }))
}
