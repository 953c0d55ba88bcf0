//! How often each comment stands in a document. Where it stands is for others.

use std::collections::BTreeMap;

use yaml::Document;

use super::marks::MERGE_COMMENT;

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
