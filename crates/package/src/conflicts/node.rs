//! The node that a conflict speaks of, in a file as it is now.

use crate::place::PathStep;
use crate::values::{canonical, function_runs, identity, keyed};
use model::{Conflict, File};
use yaml::{Document, Limits, Node, NodeKind, Reader, Stream};

pub(super) fn parsed(file: &File) -> Option<Stream> {
    Stream::parse(file.as_text()?, &Limits::default()).ok()
}

/// The resource of a conflict in a file.
pub(crate) fn document<'s>(stream: &'s Stream, conflict: &Conflict) -> Option<Document<'s>> {
    stream
        .documents()
        .find(|document| identity(document.root()).record() == conflict.resource)
}

/// The node at a path.
pub(super) fn find<'a>(root: Node<'a>, steps: &[PathStep]) -> Option<Node<'a>> {
    steps.iter().try_fold(root, |node, step| child(node, step))
}

fn child<'a>(node: Node<'a>, step: &PathStep) -> Option<Node<'a>> {
    match step {
        PathStep::Field(name) => node.get(name),
        PathStep::Index(index) => node.at(*index),
        PathStep::Item(text) => node.items().find(|item| match item.kind() {
            NodeKind::Scalar | NodeKind::Alias => scalar(*item) == Some(text),
            _ => {
                let json = item
                    .to_value(Reader::V3)
                    .ok()
                    .and_then(|value| value.to_json());
                json.is_some_and(|json| canonical(&json) == *text)
            }
        }),
        PathStep::Element(keys) => element(node, keys),
        PathStep::Comment | PathStep::Order | PathStep::Lines | PathStep::File => None,
    }
}

fn scalar<'a>(node: Node<'a>) -> Option<&'a str> {
    node.target().ok()?.scalar()
}

/// The element with these keys. A key that the element leaves out beside others has its default, which may be it; an exact match goes
/// first. One that has none of them is another: of functions without a name any might be meant.
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
        // They are counted from one; a record in somebody's commit may say anything.
        return list.items().filter(unnamed).nth(nth.checked_sub(1)?);
    }
    // How many of the keys it says; nothing where it says another.
    let said = |item: Node<'a>| {
        keys.iter()
            .try_fold(0, |said, (key, wanted)| match keyed(item, key) {
                Some(value) => (scalar(value) == Some(wanted)).then_some(said + 1),
                None => Some(said),
            })
    };
    let exact = list.items().find(|item| said(*item) == Some(keys.len()));
    exact.or_else(|| {
        let some = |item: &Node<'a>| said(*item).is_some_and(|said| said > 0);
        list.items().find(some)
    })
}
