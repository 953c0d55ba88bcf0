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

/// The element with these keys. A key that the element leaves out has its default, which may be it;
/// an exact match goes first.
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
    let matches = |item: Node<'a>, lenient: bool| {
        keys.iter().all(|(key, wanted)| match keyed(item, key) {
            Some(value) => scalar(value) == Some(wanted),
            None => lenient,
        })
    };
    // An element that names the key itself goes before one that only may have it by default.
    let exact = list.items().find(|item| matches(*item, false));
    exact.or_else(|| list.items().find(|item| matches(*item, true)))
}
