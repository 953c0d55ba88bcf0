//! The comments that stand right at a node, as its form.

use yaml::{Comment, Node};

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
