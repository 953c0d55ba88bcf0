//! The check behind every edit: the new tree is the old one, but for what was asked.

use std::collections::BTreeMap;

use super::splice::{New, Op};
use crate::node::Node;
use crate::scalar::Reader;
use crate::stream::Stream;
use crate::tree::{Id, Kind, NONE, Style};
use crate::value::Value;

/// Whether `new` holds what `op` makes of `old`, and nothing else.
pub(super) fn holds(old: &Stream, new: &Stream, doc: usize, op: &Op) -> bool {
    let at = |stream, id| Node { stream, doc, id };
    let (old_root, new_root) = (old.tree(doc).root, new.tree(doc).root);
    if new_root == NONE {
        return old_root == NONE;
    }
    if let Op::Replace { node, new: wanted } = op
        && (*node == NONE || *node == old_root)
    {
        return is(at(new, new_root), wanted);
    }
    if old_root == NONE {
        return false;
    }
    let mut walk = Walk {
        op,
        pairs: Vec::new(),
        twins: BTreeMap::new(),
    };
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

/// Whether two nodes are the same: kinds, values, tags, anchors and children.
pub(super) fn same(a: Node<'_>, b: Node<'_>) -> bool {
    let nothing = Op::Rename {
        parent: NONE,
        index: 0,
        to: String::new(),
    };
    let mut walk = Walk {
        op: &nothing,
        pairs: Vec::new(),
        twins: BTreeMap::new(),
    };
    walk.compare(a, b)
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
        if node.kind() == Kind::Alias {
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

struct Walk<'o> {
    op: &'o Op,
    /// Aliases, old and new.
    pairs: Vec<(Id, Id)>,
    /// New ids of anchored old nodes.
    twins: BTreeMap<Id, Id>,
}

impl Walk<'_> {
    fn compare(&mut self, a: Node<'_>, b: Node<'_>) -> bool {
        let mut open = vec![(a, b)];
        while let Some((a, b)) = open.pop() {
            if a.anchor() != b.anchor()
                && !matches!(self.op, Op::Replace { node, .. } if *node == a.id)
            {
                return false;
            }
            if a.anchor().is_some() {
                self.twins.insert(a.id, b.id);
            }
            if let Op::Replace { node, new } = self.op
                && *node == a.id
            {
                if !is(b, new) {
                    return false;
                }
                continue;
            }
            if let Op::Remove { parent, index } = self.op {
                let pair = a.kind() == Kind::Mapping;
                if *parent == a.id
                    && a.children().len() == (*index + 1) * if pair { 2 } else { 1 }
                    && *index == 0
                {
                    // The last one is gone: `{}` or `[]`.
                    if b.kind() != a.kind() || !b.children().is_empty() {
                        return false;
                    }
                    continue;
                }
            }
            let own = a.kind() == b.kind() && a.tag() == b.tag() && scalar(a, b);
            if !own || a.alias_name() != b.alias_name() {
                return false;
            }
            if a.kind() == Kind::Alias {
                self.pairs.push((a.id, b.id));
                continue;
            }
            if !self.children(a, b, &mut open) {
                return false;
            }
        }
        true
    }

    /// Pairs the children of two collections, the change of this collection taken into account.
    fn children<'a>(
        &mut self,
        a: Node<'a>,
        b: Node<'a>,
        open: &mut Vec<(Node<'a>, Node<'a>)>,
    ) -> bool {
        let width = if a.kind() == Kind::Mapping { 2 } else { 1 };
        let (mut old, mut new) = (a.children().to_vec(), b.children().to_vec());
        match self.op {
            Op::Insert {
                parent,
                index,
                key,
                new: wanted,
            } if *parent == a.id => {
                if new.len() != old.len() + width {
                    return false;
                }
                let added: Vec<Node<'_>> = new
                    .drain(index * width..(index + 1) * width)
                    .map(|id| b.with(id))
                    .collect();
                let named = key.as_deref().is_none_or(|key| reads(added[0], key));
                if !named || !added.last().is_some_and(|value| is(*value, wanted)) {
                    return false;
                }
            }
            Op::Remove { parent, index } if *parent == a.id => {
                old.drain(index * width..(index + 1) * width);
            }
            Op::Rename { parent, index, to } if *parent == a.id => {
                let at = index * width;
                if new.len() != old.len() || !reads(b.with(new[at]), to) {
                    return false;
                }
                let (key, renamed) = (old.remove(at), new.remove(at));
                if a.with(key).anchor() != b.with(renamed).anchor() {
                    return false;
                }
                self.twins.insert(key, renamed);
            }
            _ => {}
        }
        open.extend(old.iter().zip(&new).map(|(x, y)| (a.with(*x), b.with(*y))));
        old.len() == new.len()
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
