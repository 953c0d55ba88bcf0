//! What stands around a place decides how new text is written there.

use super::geometry::View;
use crate::node::Node;
use crate::quote::Context;
use crate::scalar::{Reader, Scalar, plain};
use crate::tree::{Content, Id, NONE, NodeData, NodeKind, Style};
use crate::write::Format;

/// How new text looks at a place.
pub(super) fn format(view: View<'_>, at: usize) -> Format {
    Format {
        blocks: view.blocks,
        ..Format::of(view.tree, view.eol(at))
    }
}

/// Whether brackets are around a place, and whether the whole text is JSON.
pub(super) fn context(view: View<'_>, parent: Id) -> Context {
    if view.node(parent).style != Style::Flow {
        return Context::Block;
    }
    let tree = view.tree;
    let json = || {
        let mut nodes = (0..).zip(&tree.nodes);
        tree.node(tree.root).style == Style::Flow && nodes.all(|(id, node)| is_json(view, id, node))
    };
    if *tree.json.get_or_init(json) {
        Context::Json
    } else {
        Context::Flow
    }
}

/// Whether a node could stand in a JSON text as it is written.
fn is_json(view: View<'_>, id: Id, node: &NodeData) -> bool {
    let key = || {
        view.node(node.parent).kind == NodeKind::Mapping
            && view.tree.place(id).is_some_and(|at| at % 2 == 0)
    };
    match (node.style, &node.value) {
        (Style::Flow, _) | (Style::DoubleQuoted, _) => true,
        (Style::Plain, Content::Span(from, to)) => {
            let text = &view.text[*from as usize..*to as usize];
            let literal = !matches!(
                plain(Reader::V3, text, true),
                Scalar::Str(_) | Scalar::Timestamp(_)
            );
            literal && node.tag.is_none() && !(node.parent != NONE && key())
        }
        _ => false,
    }
}

/// Whether a node is a single pair inside a flow sequence, without brackets of its own.
pub(super) fn is_pair(node: Node<'_>) -> bool {
    node.kind() == NodeKind::Mapping && node.style() == Style::Flow && {
        let view = node.stream.view(node.doc);
        let content = node.data().content;
        // The pair's key may itself stand in braces.
        let key = || node.children().first().map(|key| view.node(*key).start);
        !view.text[content as usize..].starts_with('{') || key() == Some(content)
    }
}
