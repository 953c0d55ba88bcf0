//! The items of a sequence in another order: each keeps its text, its comments and its blank lines inside.

use super::Patch;
use super::change::Op;
use super::geometry::View;
use super::lowered::{Lowered, expand};
use super::walk::Reached;
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::path::Path;
use crate::scalar::Reader;
use crate::stream::Stream;
use crate::tree::{Id, NodeKind, Style};
use crate::value::Value;

/// Looks at an order: it names every item once.
pub(super) fn order(reached: Reached<'_>, path: &Path, order: &[usize]) -> Result<Lowered, Error> {
    let node = match reached {
        Reached::Alias(node) => return expand(node),
        Reached::Found(node) if node.kind() == NodeKind::Alias => return expand(node),
        Reached::Found(node) if node.kind() == NodeKind::Sequence => node,
        Reached::Found(node) => {
            return Err(node.error(ErrorKind::Path, format!("{path} is no sequence")));
        }
        Reached::Missing { .. } => {
            let message = format!("there is no {path}");
            return Err(Error::at(ErrorKind::Path, "", 0, message));
        }
    };
    let mut named = order.to_vec();
    named.sort_unstable();
    if !named.into_iter().eq(0..node.items().len()) {
        return Err(node.error(ErrorKind::Path, "the order does not name every item once"));
    }
    Ok(if order.is_sorted() {
        Lowered::Nothing
    } else {
        Lowered::Change(Op::Order {
            parent: node.id,
            order: order.to_vec(),
        })
    })
}

/// Writes the items in an order; what stands between two of them (blank lines, commas) keeps its place.
pub(super) fn patches(view: View<'_>, parent: Id, order: &[usize]) -> Result<Vec<Patch>, Error> {
    let places = if view.node(parent).style == Style::Flow {
        in_brackets(view, parent)
    } else {
        in_lines(view, parent)
    };
    let places = places.ok_or_else(|| {
        let message = "the items do not stand on lines of their own";
        Error::at(ErrorKind::Unwritable, view.text, 0, message)
    })?;
    let moved = places.iter().zip(order).enumerate();
    let moved = moved.filter(|(at, (_, from))| at != *from);
    let patch = |(_, (place, from)): (usize, (&std::ops::Range<usize>, &usize))| {
        let text = places
            .get(*from)
            .map_or("", |from| &view.text[from.clone()]);
        Patch::new(place.clone(), text)
    };
    Ok(moved.map(patch).collect())
}

/// The items in an order as a value, where their text cannot be moved.
pub(super) fn value(stream: &Stream, doc: usize, id: Id, order: &[usize]) -> Result<Value, Error> {
    let node = Node { stream, doc, id };
    let items: Vec<Node<'_>> = node.items().collect();
    let moved = order.iter().filter_map(|from| items.get(*from));
    let moved: Result<_, Error> = moved.map(|item| item.to_value(Reader::V3)).collect();
    moved.map(Value::Seq)
}

/// Where the items of a block sequence stand, line breaks at their ends excluded: with the comments that stand
/// between an item and the one before it, without the blank lines before those.
fn in_lines(view: View<'_>, parent: Id) -> Option<Vec<std::ops::Range<usize>>> {
    let mut places = Vec::with_capacity(view.slots(parent));
    let mut floor = None;
    for index in 0..view.slots(parent) {
        let slot = view.slot(parent, index);
        if !view.first_on_line(slot.start) {
            return None;
        }
        let head = view.head(parent, index).start;
        let start = match floor {
            None => head,
            Some(floor) => {
                let between = view.tree.comments_in(floor as u32..head as u32);
                let first = between.first().map(|comment| comment.start as usize);
                first.map_or(head, |first| view.line_start(first))
            }
        };
        let end = view.extent(&slot);
        places.push(start..end);
        floor = Some(end);
    }
    Some(places)
}

/// Where the items of a sequence in brackets stand; nothing where comments stand among them.
fn in_brackets(view: View<'_>, parent: Id) -> Option<Vec<std::ops::Range<usize>>> {
    let node = view.node(parent);
    if !view.tree.comments_in(node.start..node.end).is_empty() {
        return None;
    }
    let slots = (0..view.slots(parent)).map(|index| view.slot(parent, index));
    Some(slots.map(|slot| slot.start..slot.end).collect())
}
