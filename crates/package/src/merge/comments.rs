//! The comments that stand right at a node, as its form, and how often each stands in a document.

use std::collections::BTreeMap;

use yaml::{Comment, Document, Node};

use super::marks::MERGE_COMMENT;

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

/// How often each comment stands in a document.
pub(super) type Counts<'a> = BTreeMap<&'a str, usize>;

/// Identity is the downstream's own and does not count.
pub(super) fn counts<'a>(document: Document<'a>) -> Counts<'a> {
    let mut counts = Counts::new();
    for comment in document.comments() {
        if !comment.text.contains(MERGE_COMMENT) {
            *counts.entry(comment.text.trim_end()).or_default() += 1;
        }
    }
    counts
}
