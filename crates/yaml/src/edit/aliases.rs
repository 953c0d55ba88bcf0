//! Which edits look at what an alias stands for: that may be what another edit of the same step changes.

use super::Edit;
use super::siblings::Siblings;
use super::walk::{Reached, walk};
use crate::node::Node;
use crate::path::Path;
use crate::stream::Stream;
use crate::tree::{Id, NodeKind};

/// The aliases of a document, in the order of the text.
pub(super) struct Aliases<'a> {
    stream: &'a Stream,
    doc: usize,
    ids: Vec<Id>,
}

impl<'a> Aliases<'a> {
    /// `None` where an alias is a key: then every edit of its mapping may look at it.
    pub(super) fn of(stream: &'a Stream, doc: usize) -> Option<Self> {
        let tree = stream.tree(doc);
        let mut ids = Vec::new();
        if !tree.aliases {
            return Some(Self { stream, doc, ids });
        }
        for (id, data) in (0..).zip(&tree.nodes) {
            if data.kind == NodeKind::Alias {
                ids.push(id);
            }
            if data.kind == NodeKind::Mapping {
                let mut keys = Node { stream, doc, id }.entries().map(|entry| entry.key);
                if keys.any(|key| key.kind() == NodeKind::Alias) {
                    return None;
                }
            }
        }
        Some(Self { stream, doc, ids })
    }

    /// Whether an edit looks at any: it compares what stands there with what is wanted, or leads through one.
    pub(super) fn are_seen_by(&self, edit: &Edit) -> bool {
        if self.ids.is_empty() {
            return false;
        }
        let compares = matches!(
            edit,
            Edit::Set { .. } | Edit::SetFragment { .. } | Edit::ReplaceText { .. }
        );
        match self.at(edit.path()) {
            Some(Reached::Found(node)) if compares => self.below(node),
            Some(Reached::Found(node)) => Siblings::adds(edit) && node.kind() == NodeKind::Alias,
            // What is missing may be merged in.
            Some(Reached::Missing { at, .. }) => at.is_some_and(|node| self.below(node)),
            Some(Reached::Alias(_)) | None => true,
        }
    }

    fn at(&self, path: &Path) -> Option<Reached<'a>> {
        walk(self.stream, self.doc, path).ok()
    }

    /// Whether a node is an alias or holds one: ids follow the text.
    fn below(&self, node: Node<'a>) -> bool {
        let tree = self.stream.tree(self.doc);
        let mut end = node.id;
        while let Some(last) = tree.children(end).last() {
            end = *last;
        }
        let from = self.ids.partition_point(|id| *id < node.id);
        self.ids.get(from).is_some_and(|id| *id <= end)
    }
}
