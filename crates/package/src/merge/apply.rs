//! From operations on a local document to edits, in an order in which no position goes stale.
//!
//! Thousands of operations on one document are written together: one after the other, each would read and write all of it.

use std::collections::{BTreeMap, VecDeque};

use yaml::{Edit, ErrorKind, Node, NodeKind, NodeStep, Path, Stream, Value};

use super::insertions::{self, Insertion};
use super::work;
use crate::values::value;

/// How many bytes of a document are written, each time all of it, before it counts as one that cannot be merged: somebody's
/// file must not hold up the merges of everybody else.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// What stands there afterwards.
#[derive(Debug, Clone)]
pub(super) enum New<'a> {
    /// A copy of a node of upstream, with its comments and its style.
    Node(Node<'a>),
    /// A value without a text.
    Value(Value),
}

impl New<'_> {
    /// The edit that copies the node, or else the one that writes its value.
    fn edit(
        self,
        copy: impl FnOnce(yaml::Fragment) -> Edit,
        write: impl FnOnce(Value) -> Edit,
    ) -> Written {
        let node = match self {
            Self::Value(value) => return Written::plain(write(value)),
            Self::Node(node) => node,
        };
        // An alias means nothing without its anchor (M1).
        if let Some(value) = has_alias(node).then(|| value(node)).flatten() {
            return Written::plain(write(value));
        }
        let fragment = node.lift();
        let plainer = value(fragment.node()).map(write);
        let edit = copy(fragment);
        Written { edit, plainer }
    }
}

/// One edit, and what is written where a copied text does not fit: its form is lost, the edit is not.
struct Written {
    edit: Edit,
    plainer: Option<Edit>,
}

impl Written {
    fn plain(edit: Edit) -> Self {
        let plainer = None;
        Self { edit, plainer }
    }
}

fn has_alias(node: Node<'_>) -> bool {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match node.kind() {
            NodeKind::Alias => return true,
            NodeKind::Mapping => open.extend(node.entries().map(|entry| entry.value)),
            NodeKind::Sequence => open.extend(node.items()),
            NodeKind::Scalar => {}
        }
    }
    false
}

/// One operation on the local document; paths and positions are those before any operation.
#[derive(Debug, Clone)]
pub(super) enum Op<'a> {
    /// The node at a path becomes something else.
    Replace {
        /// Where.
        at: Path,
        /// What.
        with: New<'a>,
    },
    /// A new entry of a mapping, after or else before one that is there.
    Insert {
        /// The mapping.
        map: Path,
        /// The key.
        key: Node<'a>,
        /// The key that it follows.
        after: Option<String>,
        /// The key that it precedes.
        before: Option<String>,
        /// The value.
        with: New<'a>,
    },
    /// A new item of a list, before the local item at a position.
    Item {
        /// The list.
        list: Path,
        /// The position.
        before: usize,
        /// The item.
        with: New<'a>,
    },
    /// The items of a list, after everything else has been done to it, stand in another order.
    Order {
        /// The list.
        list: Path,
        /// Their positions before, in the order in which they shall stand.
        order: Vec<usize>,
    },
    /// An entry or item goes.
    Remove {
        /// Which.
        at: Path,
    },
}

/// Applies operations to one document: all of them, or none. Nothing where they cannot be written.
pub(super) fn apply(stream: &Stream, document: usize, ops: Vec<Op<'_>>) -> Option<Stream> {
    let mut writer = Writer {
        stream: stream.clone(),
        document,
        left: MOST_BYTES,
    };
    let mut replaced = Vec::new();
    let mut inserted: BTreeMap<ByDepth, Vec<Insertion<New<'_>>>> = BTreeMap::new();
    let mut removed = Vec::new();
    let mut lists: BTreeMap<ByDepth, ListChange<'_>> = BTreeMap::new();
    for op in ops {
        match op {
            Op::Replace { at, with } => replaced.push(replace(at, with)),
            Op::Insert {
                map,
                key,
                after,
                before,
                with,
            } => {
                let of_map = inserted.entry(by_depth(map)).or_default();
                of_map.push(Insertion {
                    key: key.key_text().unwrap_or_default().to_owned(),
                    after,
                    before,
                    with,
                });
            }
            Op::Item { list, before, with } => {
                let list = lists.entry(by_depth(list)).or_default();
                list.added.push((before, with));
            }
            Op::Order { list, order } => {
                lists.entry(by_depth(list)).or_default().order = Some(order);
            }
            Op::Remove { at } => match (at.parent(), at.last()) {
                (Some(list), Some(NodeStep::Index(index))) => {
                    let list = lists.entry(by_depth(list)).or_default();
                    list.removed.push(*index);
                }
                _ => removed.push(Written::plain(Edit::Remove { path: at })),
            },
        }
    }
    // What leaves every position as it is comes first.
    writer.write(replaced)?;
    // Maps of one depth do not meet: they are written together.
    let mut by_depth: BTreeMap<usize, Vec<Written>> = BTreeMap::new();
    for ((depth, map), new) in inserted {
        let edits = writer.insertions(&map, new);
        by_depth.entry(depth).or_default().extend(edits);
    }
    for edits in by_depth.into_values() {
        writer.write(edits)?;
    }
    writer.write(removed)?;
    // Inner lists before outer ones: the positions on the way to them are those before.
    writer.lists(lists)?;
    Some(writer.stream)
}

/// A path behind the number of its steps: what lies at one depth stands together.
type ByDepth = (usize, Path);

fn by_depth(path: Path) -> ByDepth {
    (path.steps().len(), path)
}

fn replace(at: Path, with: New<'_>) -> Written {
    let path = at.clone();
    with.edit(
        |fragment| Edit::SetFragment { path, fragment },
        |value| Edit::Set { path: at, value },
    )
}

/// What becomes of one list, by positions before.
#[derive(Default)]
struct ListChange<'a> {
    added: Vec<(usize, New<'a>)>,
    removed: Vec<usize>,
    order: Option<Vec<usize>>,
}

impl ListChange<'_> {
    /// The edits that put in what is new, and those that take out what goes; a list that loses all that it had is never empty on the way.
    fn edits(mut self, list: &Path) -> (Vec<Written>, Vec<Written>) {
        self.added.sort_by_key(|(before, _)| *before);
        self.removed.sort_unstable();
        let places: Vec<usize> = self.added.iter().map(|(before, _)| *before).collect();
        let added = self.added.into_iter().enumerate();
        let added = added.map(|(earlier, (before, with))| {
            let (path, index) = (list.clone(), before + earlier);
            let (to, at) = (path.clone(), index);
            with.edit(
                |fragment| Edit::InsertFragment {
                    path,
                    index,
                    fragment,
                },
                |value| Edit::Insert {
                    path: to,
                    index: at,
                    value,
                },
            )
        });
        let removed = self.removed.into_iter().enumerate();
        let removed = removed.map(|(earlier, at)| {
            let new = places.partition_point(|place| *place <= at);
            let index = NodeStep::Index(at + new - earlier);
            Written::plain(Edit::Remove {
                path: list.join(index),
            })
        });
        (added.collect(), removed.collect())
    }
}

struct Writer {
    stream: Stream,
    document: usize,
    /// How many bytes may still be written.
    left: usize,
}

impl Writer {
    /// Makes edits in their order: all at once, or, where one of them cannot be written as it stands there, as many as can.
    fn write(&mut self, edits: Vec<Written>) -> Option<()> {
        let mut most = edits.len();
        let mut rest = VecDeque::from(edits);
        while !rest.is_empty() {
            let part = rest.iter().take(most).map(|written| written.edit.clone());
            let part: Vec<Edit> = part.collect();
            if self.put(&part)? {
                rest.drain(..part.len());
                most = most.saturating_mul(2);
                continue;
            }
            // One that is to be written in another way must not cost each of the others a text of its own.
            most = part.len() / 2;
            if most == 0 {
                let plainer = rest.pop_front().and_then(|written| written.plainer)?;
                self.put(&[plainer])?.then_some(())?;
                most = 1;
            }
        }
        Some(())
    }

    /// Makes edits, all or none; says whether it could. Nothing where that took too much already.
    fn put(&mut self, edits: &[Edit]) -> Option<bool> {
        let length = self.stream.text().len();
        self.left = self.left.checked_sub(length)?;
        work::done(length);
        match self.stream.apply(self.document, edits) {
            Ok(stream) => self.stream = stream,
            Err(error) if error.kind() == ErrorKind::Limit => return None,
            Err(_) => return Some(false),
        }
        Some(true)
    }

    /// The edits that put new entries into a mapping.
    fn insertions(&self, map: &Path, new: Vec<Insertion<New<'_>>>) -> Vec<Written> {
        let document = self.stream.document(self.document);
        let node = document.and_then(|document| document.root().find(map));
        let entries = node.into_iter().flat_map(|map| map.entries());
        let keys: Vec<String> = entries
            .map(|entry| entry.key.key_text().unwrap_or_default().to_owned())
            .collect();
        let placed = insertions::placed(&keys, new).into_iter();
        let edits = placed.map(|(index, Insertion { key, with, .. })| {
            let (path, to, name) = (map.clone(), map.clone(), key.clone());
            with.edit(
                |fragment| Edit::InsertKeyFragment {
                    path,
                    index,
                    key,
                    fragment,
                },
                |value| Edit::InsertKey {
                    path: to,
                    index,
                    key: name,
                    value,
                },
            )
        });
        edits.collect()
    }

    /// Changes lists, those of one depth together, the order of each at last.
    fn lists(&mut self, lists: BTreeMap<ByDepth, ListChange<'_>>) -> Option<()> {
        let mut by_depth: BTreeMap<usize, [Vec<Written>; 3]> = BTreeMap::new();
        for ((depth, path), mut change) in lists {
            let [added, removed, ordered] = by_depth.entry(depth).or_default();
            let order = change.order.take();
            let (new, gone) = change.edits(&path);
            added.extend(new);
            removed.extend(gone);
            ordered.extend(order.map(|order| Written::plain(Edit::Order { path, order })));
        }
        for phases in by_depth.into_values().rev() {
            for edits in phases {
                self.write(edits)?;
            }
        }
        Some(())
    }
}
