//! How often each comment stands in a document. Where it stands is for others.

use std::collections::{BTreeMap, BTreeSet};

use yaml::Document;

use super::marks::MERGE_COMMENT;

/// How often each comment stands in a document.
pub(crate) type Counts<'a> = BTreeMap<&'a str, usize>;

/// Identity is the downstream's own and does not count.
pub(crate) fn counts<'a>(document: Document<'a>) -> Counts<'a> {
    let mut counts = Counts::new();
    for comment in document.comments() {
        if !comment.text.contains(MERGE_COMMENT) {
            *counts.entry(comment.text.trim_end()).or_default() += 1;
        }
    }
    counts
}

/// Which of the named comments (without names, which of all) stand in a document: each once, sorted.
pub(crate) fn standing<'a>(document: Document<'a>, named: Option<&BTreeSet<&str>>) -> Vec<&'a str> {
    let texts = counts(document).into_keys();
    texts
        .filter(|text| named.is_none_or(|named| named.contains(text)))
        .collect()
}
