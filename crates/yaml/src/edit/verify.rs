//! The check behind every edit: the new tree is the old one, but for what was asked.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{New, Op};
use super::fragment::Fragment;
use crate::node::Node;
use crate::scalar::Reader;
use crate::stream::Stream;
use crate::tree::{Id, NONE, NodeKind, Style};
use crate::value::Value;

/// Whether `new` holds what `ops` make of `old`, and nothing else.
pub(super) fn holds(old: &Stream, new: &Stream, doc: usize, ops: &[Op]) -> bool {
    let at = |stream, id| Node { stream, doc, id };
    let (old_root, new_root) = (old.tree(doc).root, new.tree(doc).root);
    if new_root == NONE {
        return old_root == NONE;
    }
    if let [Op::Replace { node, new: wanted }] = ops
        && (*node == NONE || *node == old_root)
    {
        return is(at(new, new_root), wanted);
    }
    if old_root == NONE {
        return false;
    }
    let mut walk = SideBySide::new(ops);
    if !walk.compare(at(old, old_root), at(new, new_root)) {
        return false;
    }
    // Aliases refer to the same nodes as before.
    walk.pairs.iter().all(|(a, b)| {
        let (a, b) = (at(old, *a).data(), at(new, *b).data());
        a.children.start == NONE && b.children.start == NONE
            || walk.twins.get(&a.children.start) == Some(&b.children.start)
    })
}

/// Whether a node has the same content, style and source as a copied text already, the comments inside it included.
pub(super) fn reads_like(fragment: &Fragment, node: Node<'_>) -> bool {
    fragment.node().source() == node.source()
        && same(fragment.node(), node)
        && !node.source().contains(['\n', '\r'])
        && (!fragment.is_block() || fragment.block_text() == Fragment::of(node).block_text())
}

/// Whether two nodes are the same: kinds, values, tags, anchors and children.
pub(super) fn same(a: Node<'_>, b: Node<'_>) -> bool {
    SideBySide::new(&[]).compare(a, b)
}

/// Whether a node is what was to be written.
fn is(node: Node<'_>, wanted: &New) -> bool {
    match wanted {
        New::Value(value) => {
            let reads = |reader| node.to_value(reader).is_ok_and(|own| own == *value);
            reads(Reader::V3) && (reads(Reader::Sigs) || has_float_beyond_json(value))
        }
        New::Copy(fragment) => {
            let source = fragment.node();
            same_but_anchor(source, node)
                && match (source.to_value(Reader::V3), node.to_value(Reader::V3)) {
                    (Ok(a), Ok(b)) => a == b,
                    // What has no single value (keys that stand twice) is compared as a tree only.
                    (Err(_), _) => !has_alias(source),
                    (Ok(_), Err(_)) => false,
                }
        }
    }
}

fn has_float_beyond_json(value: &Value) -> bool {
    value.to_json().is_none()
}

fn has_alias(node: Node<'_>) -> bool {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if node.kind() == NodeKind::Alias {
            return true;
        }
        open.extend(node.children().iter().map(|id| node.with(*id)));
    }
    false
}

/// As [`same`], the anchor of the outermost node left aside.
fn same_but_anchor(a: Node<'_>, b: Node<'_>) -> bool {
    let children = a.children().len() == b.children().len();
    let own = a.kind() == b.kind()
        && a.tag() == b.tag()
        && scalar(a, b)
        && a.alias_name() == b.alias_name();
    own && children
        && a.children()
            .iter()
            .zip(b.children())
            .all(|(x, y)| same(a.with(*x), b.with(*y)))
}

fn scalar(a: Node<'_>, b: Node<'_>) -> bool {
    a.scalar() == b.scalar() && (a.style() == Style::Plain) == (b.style() == Style::Plain)
}

/// What changes among the children of one collection, by old positions: thousands of changes are looked up, not searched.
#[derive(Default)]
struct Changed<'o> {
    /// Before which entry something is put in, in this order, with its key.
    added: BTreeMap<usize, Vec<(Option<&'o str>, &'o New)>>,
    removed: BTreeSet<usize>,
    renamed: BTreeMap<usize, &'o str>,
    /// The items in another order; then nothing else changes.
    order: Option<&'o [usize]>,
}

/// Two trees, walked side by side.
struct SideBySide<'o> {
    /// What takes the place of which node.
    replaced: BTreeMap<Id, &'o New>,
    /// What changes among the children of which collection.
    changed: BTreeMap<Id, Changed<'o>>,
    /// Aliases, old and new.
    pairs: Vec<(Id, Id)>,
    /// New ids of anchored old nodes.
    twins: BTreeMap<Id, Id>,
}

impl<'o> SideBySide<'o> {
    fn new(ops: &'o [Op]) -> Self {
        let mut walk = Self {
            replaced: BTreeMap::new(),
            changed: BTreeMap::new(),
            pairs: Vec::new(),
            twins: BTreeMap::new(),
        };
        for op in ops {
            match op {
                Op::Replace { node, new } => {
                    walk.replaced.insert(*node, new);
                }
                Op::Insert {
                    parent,
                    index,
                    key,
                    new,
                } => {
                    let added = &mut walk.changed.entry(*parent).or_default().added;
                    let here = added.entry(*index).or_default();
                    here.push((key.as_deref(), new));
                }
                Op::Remove { parent, index } => {
                    let changed = walk.changed.entry(*parent).or_default();
                    changed.removed.insert(*index);
                }
                Op::Order { parent, order } => {
                    walk.changed.entry(*parent).or_default().order = Some(order);
                }
                Op::Rename { parent, index, to } => {
                    let changed = walk.changed.entry(*parent).or_default();
                    changed.renamed.insert(*index, to);
                }
                Op::Comment { .. } => {}
            }
        }
        walk
    }

    fn compare(&mut self, a: Node<'_>, b: Node<'_>) -> bool {
        // No recursion: a document is as deep as its parser allows, and this stack is not the caller's.
        let mut open = vec![(a, b)];
        while let Some((a, b)) = open.pop() {
            if a.anchor().is_some() {
                self.twins.insert(a.id, b.id);
            }
            // What was asked for is held against the request, not against what stood there.
            if let Some(wanted) = self.replaced.get(&a.id) {
                if !is(b, wanted) {
                    return false;
                }
                continue;
            }
            let own = a.kind() == b.kind()
                && a.tag() == b.tag()
                && a.anchor() == b.anchor()
                && scalar(a, b)
                && a.alias_name() == b.alias_name();
            if !own {
                return false;
            }
            if a.kind() == NodeKind::Alias {
                self.pairs.push((a.id, b.id));
            } else if !self.children(a, b, &mut open) {
                return false;
            }
        }
        true
    }

    /// Pairs the children of two collections, the changes of this collection taken into account.
    fn children<'a>(
        &mut self,
        a: Node<'a>,
        b: Node<'a>,
        open: &mut Vec<(Node<'a>, Node<'a>)>,
    ) -> bool {
        let (old, new) = (a.children(), b.children());
        let Some(changes) = self.changed.get(&a.id) else {
            open.extend(old.iter().zip(new).map(|(x, y)| (a.with(*x), b.with(*y))));
            return old.len() == new.len();
        };
        if let Some(order) = changes.order {
            let from = order.iter().filter_map(|from| old.get(*from));
            open.extend(from.zip(new).map(|(x, y)| (a.with(*x), b.with(*y))));
            return order.len() == new.len();
        }
        // Both are walked at once: what is inserted stands in the new one alone, what is removed in the old one alone.
        let width = if a.kind() == NodeKind::Mapping { 2 } else { 1 };
        let mut rest = new.chunks_exact(width);
        for at in 0..=old.len() / width {
            for (key, wanted) in changes.added.get(&at).into_iter().flatten() {
                let Some(added) = rest.next() else {
                    return false;
                };
                let named = key.is_none_or(|key| reads(b.with(added[0]), key));
                if !named || !is(b.with(added[width - 1]), wanted) {
                    return false;
                }
            }
            let Some(slot) = old.get(at * width..(at + 1) * width) else {
                break;
            };
            if changes.removed.contains(&at) {
                continue;
            }
            let Some(kept) = rest.next() else {
                return false;
            };
            if let Some(to) = changes.renamed.get(&at) {
                let (key, renamed) = (a.with(slot[0]), b.with(kept[0]));
                if key.anchor() != renamed.anchor() || !reads(renamed, to) {
                    return false;
                }
                self.twins.insert(key.id, renamed.id);
                open.push((a.with(slot[1]), b.with(kept[1])));
            } else {
                open.extend(slot.iter().zip(kept).map(|(x, y)| (a.with(*x), b.with(*y))));
            }
        }
        rest.next().is_none()
    }
}

/// Whether a key is this text for both readers.
fn reads(key: Node<'_>, text: &str) -> bool {
    let own = |reader| {
        key.to_value(reader)
            .is_ok_and(|value| value.as_str() == Some(text))
    };
    own(Reader::V3) && own(Reader::Sigs)
}
