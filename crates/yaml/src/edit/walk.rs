//! Following a path through a document.

use crate::error::{Error, ErrorKind};
use crate::keys;
use crate::node::Node;
use crate::path::{NodeStep, Path};
use crate::stream::Stream;
use crate::tree::{NONE, NodeKind};

/// Where a path leads.
pub(super) enum Reached<'a> {
    Found(Node<'a>),
    /// An alias stands in the way, with steps left below it.
    Alias(Node<'a>),
    /// The path ends early: at a node without children (or at nothing), or at a collection without that child.
    Missing {
        at: Option<Node<'a>>,
        steps: usize,
    },
}

pub(super) fn walk<'a>(stream: &'a Stream, doc: usize, path: &Path) -> Result<Reached<'a>, Error> {
    if stream.tree(doc).root == NONE {
        return Ok(Reached::Missing { at: None, steps: 0 });
    }
    let mut node = Node {
        stream,
        doc,
        id: stream.tree(doc).root,
    };
    for (done, step) in path.steps().iter().enumerate() {
        let child = match (node.kind(), step) {
            (NodeKind::Alias, _) => return Ok(Reached::Alias(node)),
            (NodeKind::Scalar, _) if node.is_null() => None,
            (NodeKind::Mapping, NodeStep::Key(key)) => under(node, key)?,
            (NodeKind::Sequence, NodeStep::Index(index)) => item(node, *index)?,
            (kind, step) => return Err(mismatch(node, kind, step)),
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

/// The value under a key, which must not stand twice.
fn under<'a>(node: Node<'a>, key: &str) -> Result<Option<Node<'a>>, Error> {
    match keys::named(node, key) {
        (first, None) => Ok(first.map(|entry| entry.value)),
        (_, Some(second)) => {
            let message = format!("key {key:?} stands twice in {}", named(node));
            Err(second.key.error(ErrorKind::DuplicateKey, message))
        }
    }
}

/// The item at a position; the one behind the last is missing, any further one an error.
fn item(node: Node<'_>, index: usize) -> Result<Option<Node<'_>>, Error> {
    let length = node.items().len();
    if index > length {
        let message = format!(
            "{} has {length} items, there is no item {index}",
            named(node)
        );
        return Err(node.error(ErrorKind::Path, message));
    }
    Ok(node.at(index))
}

fn mismatch(node: Node<'_>, kind: NodeKind, step: &NodeStep) -> Error {
    let wanted = match step {
        NodeStep::Key(_) => "mapping",
        NodeStep::Index(_) => "sequence",
    };
    let kind = match kind {
        NodeKind::Mapping => "mapping",
        NodeKind::Sequence => "sequence",
        NodeKind::Scalar | NodeKind::Alias => "scalar",
    };
    let message = format!("{} is a {kind}, not a {wanted}", named(node));
    node.error(ErrorKind::Path, message)
}

fn named(node: Node<'_>) -> String {
    match node.parent() {
        None => "the document".to_owned(),
        Some(_) => node.path().to_string(),
    }
}
