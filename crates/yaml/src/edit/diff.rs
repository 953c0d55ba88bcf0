//! From "this collection shall be that one" to the edits that change only what differs.

use std::collections::{BTreeMap, BTreeSet};

use super::Edit;
use crate::node::Node;
use crate::path::{NodeStep, Path};
use crate::value::Value;

/// Sequences up to this product of lengths are compared item by item with each other.
const MOST_PAIRS: usize = 250_000;

/// Edits that make a mapping hold these entries: new keys at their places, changed values, then what goes.
pub(super) fn mapping(node: Node<'_>, path: &Path, entries: &[(String, Value)]) -> Vec<Edit> {
    let mut keys: Vec<String> = node
        .entries()
        .filter_map(|entry| entry.key.key_text())
        .map(str::to_owned)
        .collect();
    let old: BTreeMap<&str, Node<'_>> = node
        .entries()
        .filter_map(|entry| Some((entry.key.key_text()?, entry.value)))
        .collect();
    let new: BTreeSet<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    let mut edits = Vec::new();
    let mut before: Option<&str> = None;
    for (key, value) in entries {
        if let Some(own) = old.get(key.as_str()) {
            before = Some(key);
            if own.equals(value) {
                continue;
            }
            edits.push(Edit::Set {
                path: path.join(key.as_str()),
                value: value.clone(),
            });
        } else {
            let at = before.and_then(|before| keys.iter().position(|key| key == before));
            // Without a neighbour that stays, a new key goes to the end.
            let index = at.map_or(keys.len(), |at| at + 1);
            keys.insert(index, key.clone());
            edits.push(Edit::InsertKey {
                path: path.clone(),
                index,
                key: key.clone(),
                value: value.clone(),
            });
        }
        before = Some(key);
    }
    let gone = old.keys().filter(|key| !new.contains(*key));
    edits.extend(gone.map(|key| Edit::Remove {
        path: path.join(*key),
    }));
    edits
}

/// Edits that make a sequence hold these items, from its end to its beginning so that positions stay right.
pub(super) fn sequence(node: Node<'_>, path: &Path, items: &[Value]) -> Vec<Edit> {
    let old: Vec<Node<'_>> = node.items().collect();
    let pairs = pair(&old, items);
    let mut edits = Vec::new();
    let (mut old_end, mut new_end) = (old.len(), items.len());
    for (a, b) in pairs.into_iter().rev().chain([(usize::MAX, usize::MAX)]) {
        let (old_from, new_from) = if a == usize::MAX {
            (0, 0)
        } else {
            (a + 1, b + 1)
        };
        gap(
            path,
            &mut edits,
            (old_from, old_end),
            (new_from, new_end),
            items,
        );
        if a != usize::MAX {
            if !old[a].equals(&items[b]) {
                edits.push(Edit::Set {
                    path: path.join(NodeStep::Index(a)),
                    value: items[b].clone(),
                });
            }
            (old_end, new_end) = (a, b);
        }
    }
    edits
}

/// Changes between two pairs: items are changed one by one as far as both sides have some.
fn gap(
    path: &Path,
    edits: &mut Vec<Edit>,
    (old_from, old_end): (usize, usize),
    (new_from, new_end): (usize, usize),
    items: &[Value],
) {
    let both = (old_end - old_from).min(new_end - new_from);
    for value in items[new_from + both..new_end].iter().rev() {
        edits.push(Edit::Insert {
            path: path.clone(),
            index: old_from + both,
            value: value.clone(),
        });
    }
    for index in (old_from + both..old_end).rev() {
        edits.push(Edit::Remove {
            path: path.join(index),
        });
    }
    for at in (0..both).rev() {
        let value = items[new_from + at].clone();
        edits.push(Edit::Set {
            path: path.join(old_from + at),
            value,
        });
    }
}

/// Pairs of items that are the same thing, in order: equal, or mappings with the same name.
fn pair(old: &[Node<'_>], new: &[Value]) -> Vec<(usize, usize)> {
    let alike = |a: usize, b: usize| {
        let name = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let named = name(new[b].get("name"));
        (named.is_some()
            && old[a]
                .get("name")
                .and_then(|node| node.as_str())
                .map(str::to_owned)
                == named)
            || old[a].equals(&new[b])
    };
    let start = (0..old.len().min(new.len()))
        .take_while(|at| alike(*at, *at))
        .count();
    let most = old.len().min(new.len()) - start;
    let end = (1..=most)
        .take_while(|at| alike(old.len() - at, new.len() - at))
        .count();
    let (rows, columns) = (old.len() - start - end, new.len() - start - end);
    let mut pairs: Vec<(usize, usize)> = (0..start).map(|at| (at, at)).collect();
    if rows * columns <= MOST_PAIRS {
        pairs.extend(
            longest(rows, columns, |a, b| alike(start + a, start + b))
                .into_iter()
                .map(|(a, b)| (start + a, start + b)),
        );
    }
    pairs.extend(
        (0..end)
            .rev()
            .map(|at| (old.len() - 1 - at, new.len() - 1 - at)),
    );
    pairs
}

/// The longest common subsequence.
fn longest(
    rows: usize,
    columns: usize,
    alike: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let width = columns + 1;
    let mut table = vec![0u32; (rows + 1) * width];
    let mut same = vec![false; rows * columns];
    for a in (0..rows).rev() {
        for b in (0..columns).rev() {
            same[a * columns + b] = alike(a, b);
            table[a * width + b] = if same[a * columns + b] {
                table[(a + 1) * width + b + 1] + 1
            } else {
                table[(a + 1) * width + b].max(table[a * width + b + 1])
            };
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < rows && b < columns {
        if same[a * columns + b] {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if table[(a + 1) * width + b] >= table[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}
