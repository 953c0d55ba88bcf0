//! From operations on a local document to edits, in an order in which no position goes stale.

use crate::values::value;
use yaml::{Edit, Node, NodeKind, NodeStep, Path, Stream, Value};

/// What stands there afterwards.
#[derive(Debug, Clone)]
pub(super) enum New<'a> {
    /// A copy of a node of upstream, with its comments and its style.
    Node(Node<'a>),
    /// A value without a text.
    Value(Value),
}

impl New<'_> {
    /// The node to copy, or the value to write.
    fn resolve(self) -> Result<yaml::Fragment, Value> {
        let node = match self {
            Self::Value(value) => return Err(value),
            Self::Node(node) => node,
        };
        // An alias means nothing without its anchor (M1).
        match has_alias(node).then(|| value(node)).flatten() {
            Some(value) => Err(value),
            None => Ok(node.lift()),
        }
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

/// Applies operations to one document: all of them, or none.
pub(super) fn apply(
    stream: &Stream,
    document: usize,
    ops: Vec<Op<'_>>,
) -> Result<Stream, yaml::Error> {
    let mut writer = Writer {
        stream: stream.clone(),
        document,
        replaced: Vec::new(),
    };
    let mut lists: Vec<(Path, Option<usize>, Op<'_>)> = Vec::new();
    let mut removed = Vec::new();
    // What leaves every position as it is comes first.
    for op in ops {
        match op {
            Op::Replace { at, with } => writer.replaced.push((at, with)),
            Op::Insert {
                map,
                key,
                after,
                before,
                with,
            } => {
                writer.write_replaced()?;
                writer.insert(&map, key, after.as_deref(), before.as_deref(), with)?;
            }
            Op::Item {
                ref list, before, ..
            } => lists.push((list.clone(), Some(before), op)),
            Op::Order { ref list, .. } => lists.push((list.clone(), None, op)),
            Op::Remove { at } => match (at.parent(), at.last()) {
                (Some(list), Some(NodeStep::Index(index))) => {
                    lists.push((list, Some(*index), Op::Remove { at }));
                }
                _ => removed.push(at),
            },
        }
    }
    writer.write_replaced()?;
    let removed = removed.into_iter().map(|path| Edit::Remove { path });
    let removed: Vec<Edit> = removed.collect();
    if !removed.is_empty() {
        writer.stream = writer.stream.apply(document, &removed)?;
    }
    // Lists: inner ones before outer ones, later positions before earlier ones, the order at last.
    lists.reverse();
    lists.sort_by(|a, b| (b.0.steps().len(), &b.0, b.1).cmp(&(a.0.steps().len(), &a.0, a.1)));
    for (list, position, op) in lists {
        match (op, position) {
            (Op::Item { with, .. }, Some(position)) => writer.item(&list, position, with)?,
            (Op::Order { order, .. }, _) => writer.edit(Edit::Order { path: list, order })?,
            (_, Some(position)) => writer.edit(Edit::Remove {
                path: list.join(NodeStep::Index(position)),
            })?,
            (_, None) => {}
        }
    }
    Ok(writer.stream)
}

struct Writer<'a> {
    stream: Stream,
    document: usize,
    /// What is still to be replaced. Thousands of conflicts in one file are written together: one after the other, each would read
    /// and write the whole document.
    replaced: Vec<(Path, New<'a>)>,
}

impl<'a> Writer<'a> {
    /// Replaces what is still to be replaced, in its order: all at once, or, where one of them does not go so, each by itself.
    fn write_replaced(&mut self) -> Result<(), yaml::Error> {
        let replaced = std::mem::take(&mut self.replaced);
        let edit = |(path, with): &(Path, New<'a>)| {
            let path = path.clone();
            match with.clone().resolve() {
                Err(value) => Edit::Set { path, value },
                Ok(fragment) => Edit::SetFragment { path, fragment },
            }
        };
        if replaced.len() > 1 {
            let edits: Vec<Edit> = replaced.iter().map(edit).collect();
            if let Ok(written) = self.stream.apply(self.document, &edits) {
                self.stream = written;
                return Ok(());
            }
        }
        for (at, with) in replaced {
            self.replace(&at, with)?;
        }
        Ok(())
    }

    fn edit(&mut self, edit: Edit) -> Result<(), yaml::Error> {
        self.stream = self.stream.apply(self.document, &[edit])?;
        Ok(())
    }

    fn replace(&mut self, at: &Path, with: New<'_>) -> Result<(), yaml::Error> {
        let path = at.clone();
        match with.resolve() {
            Err(value) => self.edit(Edit::Set { path, value }),
            Ok(fragment) => {
                let known = value(fragment.node());
                // A text that does not fit where it goes is written as its value: its form is lost, the edit is not.
                let done = self.edit(Edit::SetFragment {
                    path: path.clone(),
                    fragment,
                });
                match (done, known) {
                    (Err(_), Some(value)) => self.edit(Edit::Set { path, value }),
                    (done, _) => done,
                }
            }
        }
    }

    fn insert(
        &mut self,
        map: &Path,
        key: Node<'_>,
        after: Option<&str>,
        before: Option<&str>,
        with: New<'_>,
    ) -> Result<(), yaml::Error> {
        let root = self
            .stream
            .document(self.document)
            .map(|document| document.root());
        let entries = root
            .and_then(|root| root.find(map))
            .map(|map| map.entries());
        let keys: Vec<&str> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.key.key_text())
            .collect();
        // Neighbours are found by name in the text as it is by now: earlier insertions have moved every position.
        let find = |wanted: &str| keys.iter().position(|key| *key == wanted);
        let index = after
            .and_then(find)
            .map(|index| index + 1)
            .or_else(|| before.and_then(find))
            .unwrap_or(keys.len());
        let name = key.key_text().unwrap_or_default().to_owned();
        let insert = |value| Edit::InsertKey {
            path: map.clone(),
            index,
            key: name.clone(),
            value,
        };
        match with.resolve() {
            Err(value) => self.edit(insert(value)),
            Ok(fragment) => {
                let known = value(fragment.node());
                let edit = Edit::InsertKeyFragment {
                    path: map.clone(),
                    index,
                    key: name.clone(),
                    fragment,
                };
                match (self.edit(edit), known) {
                    (Err(_), Some(value)) => self.edit(insert(value)),
                    (done, _) => done,
                }
            }
        }
    }

    fn item(&mut self, list: &Path, index: usize, with: New<'_>) -> Result<(), yaml::Error> {
        let path = list.clone();
        match with.resolve() {
            Err(value) => self.edit(Edit::Insert { path, index, value }),
            Ok(fragment) => {
                let known = value(fragment.node());
                let edit = Edit::InsertFragment {
                    path: path.clone(),
                    index,
                    fragment,
                };
                match (self.edit(edit), known) {
                    (Err(_), Some(value)) => self.edit(Edit::Insert { path, index, value }),
                    (done, _) => done,
                }
            }
        }
    }
}
