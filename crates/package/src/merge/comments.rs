//! Comments merge by the node that they stand at (M14).
//!
//! An upstream comment arrives when it changed and the local one did not; if both changed, the local
//! one stays and a record says so.

use yaml::{Comment, Node, Place as Which};

use super::apply::Op;
use super::marks::MERGE_COMMENT;
use super::value::{Place, Three, Walk};

/// Merges the comments of an entry that all three maps hold.
pub(super) fn merge<'a>(walk: &mut Walk<'a, '_, '_>, at: &Place, maps: Three<'a>, key: &str) {
    let get = |map: Option<Node<'a>>| map.and_then(|map| map.get(key));
    let entry = Three {
        base: get(maps.base),
        local: get(maps.local),
        upstream: get(maps.upstream),
    };
    merge_item(walk, at, entry);
}

/// Merges the comments of an entry or item that all three sides hold.
pub(super) fn merge_item<'a>(walk: &mut Walk<'a, '_, '_>, at: &Place, three: Three<'a>) {
    let Three {
        base: Some(base),
        local: Some(local),
        upstream: Some(upstream),
    } = three
    else {
        return;
    };
    let [base, local, upstream] = [base, local, upstream].map(texts);
    if base == upstream || local == upstream {
        return;
    }
    for (index, which) in [Which::Head, Which::Line, Which::Foot]
        .into_iter()
        .enumerate()
    {
        let text = |side: &[String; 3]| side.get(index).cloned().unwrap_or_default();
        let (base, local, upstream) = (text(&base), text(&local), text(&upstream));
        if base == upstream || local == upstream {
            continue;
        }
        if [&base, &local, &upstream]
            .into_iter()
            .any(|text| text.contains(MERGE_COMMENT))
        {
            continue; // Identity is the downstream's own.
        }
        if base == local {
            walk.ops.push(Op::Comment {
                at: at.path.clone(),
                place: which,
                text: upstream,
            });
        } else {
            walk.record.comments(&at.field, [&base, &local, &upstream]);
        }
    }
}

/// Head, line and foot comments of a node's entry, each as one text.
pub(crate) fn texts(node: Node<'_>) -> [String; 3] {
    let comments = node.comments();
    let join = |lines: &[Comment<'_>]| {
        let lines: Vec<&str> = lines.iter().map(|comment| comment.text).collect();
        lines.join("\n")
    };
    let line = comments.line.map(|comment| comment.text.to_owned());
    [
        join(&comments.head),
        line.unwrap_or_default(),
        join(&comments.foot),
    ]
}
