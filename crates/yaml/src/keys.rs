//! Entries by their keys: from the beginning of a small mapping, by a sorted list of a large one.
//!
//! The list of a document's large mappings is made when it is first needed, and belongs to the tree: edits of
//! thousands of entries of one mapping look each of them up in a few steps.

use std::collections::BTreeMap;

use crate::node::{Entry, Node};
use crate::tree::{Id, NodeKind};

/// Mappings up to this many entries are searched from their beginning.
const FEW: usize = 32;

impl<'a> Node<'a> {
    /// The value under a key that the mapping itself holds, the first one if there are several.
    ///
    /// Merge keys are not followed; see [`Node::effective`].
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Self> {
        self.entry(key).map(|entry| entry.value)
    }

    /// The entry under a key that the mapping itself holds.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<Entry<'a>> {
        let node = self.through();
        if node.is_large() {
            return named(node, key).0;
        }
        // Whether the key stands twice is not asked: the first one ends the search.
        node.entries().find(|entry| is(entry, key))
    }

    /// Whether it is a mapping whose entries are found by a list.
    fn is_large(&self) -> bool {
        self.kind() == NodeKind::Mapping && self.children().len() > 2 * FEW
    }
}

/// The first and the second entry with a key that a mapping itself holds; nothing for other nodes.
pub(crate) fn named<'a>(node: Node<'a>, key: &str) -> (Option<Entry<'a>>, Option<Entry<'a>>) {
    if node.kind() != NodeKind::Mapping {
        return (None, None);
    }
    if !node.is_large() {
        let mut found = node.entries().filter(|entry| is(entry, key));
        return (found.next(), found.next());
    }
    let children = node.children();
    let tree = node.stream.tree(node.doc);
    let sorted = tree.keys.get_or_init(|| sorted(node));
    let Some(places) = sorted.get(&node.id) else {
        return (None, None);
    };
    let entry = |place: u32| {
        let at = 2 * place as usize;
        let pair = children.get(at..at + 2)?;
        Some(Entry {
            key: node.with(pair[0]),
            value: node.with(pair[1]),
        })
    };
    let from = places.partition_point(|place| {
        step();
        entry(*place).and_then(|entry| entry.key.key_text()) < Some(key)
    });
    let mut found = places.get(from..).unwrap_or_default().iter();
    let mut next = || found.next().and_then(|place| entry(*place));
    let first = next().filter(|entry| is(entry, key));
    let second = next().filter(|entry| first.is_some() && is(entry, key));
    (first, second)
}

fn is(entry: &Entry<'_>, key: &str) -> bool {
    step();
    entry.key.key_text() == Some(key)
}

/// The entries of every large mapping of a node's document, by key and then by place.
fn sorted(any: Node<'_>) -> BTreeMap<Id, Vec<u32>> {
    let tree = any.stream.tree(any.doc);
    let mut all = BTreeMap::new();
    for (id, data) in (0..).zip(&tree.nodes) {
        if data.kind != NodeKind::Mapping || data.children.len() <= 2 * FEW {
            continue;
        }
        let entries = any.with(id).entries().map(|entry| entry.key.key_text());
        let mut places: Vec<(Option<&str>, u32)> = entries.zip(0..).collect();
        places.sort_unstable();
        all.insert(id, places.into_iter().map(|(_, place)| place).collect());
    }
    all
}

/// One entry is looked at; counted in tests.
#[inline]
fn step() {
    #[cfg(test)]
    tests::STEPS.with(|steps| steps.set(steps.get() + 1));
}

#[cfg(test)]
mod tests;
