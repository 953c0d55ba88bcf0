//! Writing one change into a document's text.

use super::change::{New, Op};
use super::fragment::Fragment;
use super::geometry::View;
use super::{Patch, comment, entries, flow, order, patched, replace, verify};
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::stream::Stream;
use crate::tree::{Id, NONE, NodeKind, Style, Tree};
use crate::value::Value;

/// What became of a change.
pub(super) enum Spliced {
    Done(Stream),
    /// The change would have taken away anchors that are still referred to; the aliases were written out first, and
    /// the change is still to be made.
    Detached(Stream),
}

/// Makes a change: writes it, parses the result, and compares it with what was wanted.
pub(super) fn perform(stream: &Stream, doc: usize, op: &Op) -> Result<Spliced, Error> {
    let copies = dangling(stream.tree(doc), op).into_iter().map(|alias| {
        let node = Node {
            stream,
            doc,
            id: alias,
        };
        let new = New::Copy(Fragment::of(node.target()?));
        Ok(Op::Replace { node: alias, new })
    });
    let copies: Vec<Op> = copies.collect::<Result<_, Error>>()?;
    if let [first, rest @ ..] = copies.as_slice() {
        // All at once, where they can be written together: each write costs the whole text.
        let all = (!rest.is_empty()).then(|| batch(stream, doc, &copies));
        let written = match all {
            Some(Ok(written)) => written,
            _ => written(stream, doc, first)?,
        };
        return Ok(Spliced::Detached(written));
    }
    written(stream, doc, op).map(Spliced::Done)
}

/// The patches of a change that can be made together with others; nothing where it takes anchors away.
pub(super) fn written_apart(stream: &Stream, doc: usize, op: &Op) -> Option<Vec<Patch>> {
    if !dangling(stream.tree(doc), op).is_empty() {
        return None;
    }
    patches(stream.view(doc), op).ok()
}

fn written(stream: &Stream, doc: usize, op: &Op) -> Result<Stream, Error> {
    // The text that keeps most is tried first; whether it is right, the check decides, not the one who wrote it.
    let first = attempt(stream, doc, op, true);
    let Err(error) = &first else { return first };
    // A copied text that does not fit its new surroundings is written as its value, so are items that cannot be moved as
    // they stand, and a block scalar that would take in what follows it is written in quotes.
    let plainer = plainer(stream, doc, op).and_then(Result::ok);
    let tries = [
        plainer.as_ref().map(|op| (op, true)),
        plainer.as_ref().map(|op| (op, false)),
        Some((op, false)),
    ];
    tries
        .into_iter()
        .flatten()
        .find_map(|(op, blocks)| attempt(stream, doc, op, blocks).ok())
        .ok_or_else(|| error.clone())
}

/// The same change with a value in the place of a copied text.
fn plainer(stream: &Stream, doc: usize, op: &Op) -> Option<Result<Op, Error>> {
    let value = |fragment: &Fragment| fragment.value().map(New::Value);
    match op {
        Op::Replace {
            node,
            new: New::Copy(fragment),
        } => Some(value(fragment).map(|new| Op::Replace { node: *node, new })),
        Op::Insert {
            parent,
            index,
            key,
            new: New::Copy(fragment),
        } => {
            let (parent, index, key) = (*parent, *index, key.clone());
            Some(value(fragment).map(|new| Op::Insert {
                parent,
                index,
                key,
                new,
            }))
        }
        Op::Order { parent, order } => Some(order::value(stream, doc, *parent, order).map(|new| {
            let (node, new) = (*parent, New::Value(new));
            Op::Replace { node, new }
        })),
        _ => None,
    }
}

fn attempt(stream: &Stream, doc: usize, op: &Op, blocks: bool) -> Result<Stream, Error> {
    together(stream, doc, std::slice::from_ref(op), blocks)
}

/// Makes changes of different parts of a document at once: one text, one check.
///
/// # Errors
/// They are in each other's way, or the result would not read back.
pub(super) fn batch(stream: &Stream, doc: usize, ops: &[Op]) -> Result<Stream, Error> {
    together(stream, doc, ops, true)
}

fn together(stream: &Stream, doc: usize, ops: &[Op], blocks: bool) -> Result<Stream, Error> {
    let view = View {
        blocks,
        ..stream.view(doc)
    };
    let mut patches = ops
        .iter()
        .map(|op| patches(view, op))
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    let text = patched(view.text, &mut patches);
    let unwritable = |message: &str| {
        let at = patches.first().map_or(0, |patch| patch.from as u32);
        stream.error(ErrorKind::Unwritable, doc, at, message)
    };
    // Within one change patches may touch; two changes at one place would depend on their order.
    let crossing = |pair: &[Patch]| pair[0].to >= pair[1].from && !go_together(&pair[0], &pair[1]);
    if ops.len() > 1 && patches.windows(2).any(crossing) {
        return Err(unwritable("the changes touch each other"));
    }
    // The next document's `---` would stand on this one's last line.
    if doc + 1 < stream.docs().len() && !text.ends_with(['\n', '\r']) {
        return Err(unwritable("the result would run into the next document"));
    }
    let next = stream.with_doc(doc, &text).map_err(|error| {
        unwritable(&format!(
            "the result would not be valid ({})",
            error.message()
        ))
    })?;
    if verify::holds(stream, &next, doc, ops) {
        Ok(next)
    } else {
        Err(unwritable("the result would not read back as wanted"))
    }
}

/// Whether two patches may touch: neighbours that go, and what is put in at one place, one behind the other, each a line or a part
/// of one. What ends a line at the end of a text would leave an empty one before the next.
fn go_together(one: &Patch, next: &Patch) -> bool {
    let goes = |patch: &Patch| patch.text.is_empty();
    let comes = |patch: &Patch| patch.from == patch.to;
    match (comes(one), comes(next)) {
        (false, false) => one.to == next.from && goes(one) && goes(next),
        (true, true) => {
            let breaks = |text: &str| text.starts_with(['\n', '\r']);
            let ends = |text: &str| text.ends_with(['\n', '\r']);
            one.from == next.from && !(ends(&one.text) && breaks(&next.text))
        }
        _ => false,
    }
}

/// Finds the aliases outside of what goes whose anchors stand inside of it.
fn dangling(tree: &Tree, op: &Op) -> Vec<Id> {
    // Ids follow the text, so that all that goes is one range of them.
    let (from, to) = match op {
        Op::Replace { node, .. } if *node != NONE => {
            // The node's own anchor stays.
            (node + 1, subtree_end(tree, *node))
        }
        Op::Remove { parent, index } => {
            let pair = tree.node(*parent).kind == NodeKind::Mapping;
            let children = tree.children(*parent);
            let first = children[if pair { index * 2 } else { *index }];
            let last = children[if pair { index * 2 + 1 } else { *index }];
            (first, subtree_end(tree, last))
        }
        _ => return Vec::new(),
    };
    if from >= to || !tree.aliases {
        return Vec::new();
    }
    let ids = (0..tree.nodes.len() as Id).filter(|id| !(from..to).contains(id));
    let dangling = ids.filter(|id| {
        let node = tree.node(*id);
        node.kind == NodeKind::Alias && (from..to).contains(&node.children.start)
    });
    dangling.collect()
}

/// The first id behind a node's descendants: ids follow the text.
fn subtree_end(tree: &Tree, mut id: Id) -> Id {
    while let Some(last) = tree.children(id).last() {
        id = *last;
    }
    id + 1
}

fn patches(view: View<'_>, op: &Op) -> Result<Vec<Patch>, Error> {
    match op {
        Op::Replace { node, new } => replace::replace(view, *node, new),
        Op::Insert {
            parent,
            index,
            key,
            new,
        } if view.node(*parent).style == Style::Flow => {
            flow::insert(view, *parent, *index, key.as_deref(), new)
        }
        Op::Insert {
            parent,
            index,
            key,
            new,
        } => entries::insert(view, *parent, *index, key.as_deref(), new),
        Op::Remove { parent, index } if view.slots(*parent) == 1 => {
            let empty = match view.node(*parent).kind {
                NodeKind::Mapping => Value::map(),
                _ => Value::Seq(Vec::new()),
            };
            replace::replace(view, *parent, &New::Value(empty))
        }
        Op::Remove { parent, index } if view.node(*parent).style == Style::Flow => {
            Ok(flow::remove(view, *parent, *index))
        }
        Op::Remove { parent, index } => Ok(entries::remove(view, *parent, *index)),
        Op::Order { parent, order } => order::patches(view, *parent, order),
        Op::Rename { parent, index, to } => Ok(entries::rename(view, *parent, *index, to)),
        Op::Comment { node, place, text } => comment::patches(view, *node, *place, text),
    }
}
