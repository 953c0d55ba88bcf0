//! The fewest changes that turn a document into what an owned value says.

use super::{Data, Map, NEW, Seq, Value};
use crate::Path;

/// One change of a document, at a path that is meant in the document as it was.
#[derive(Debug, Clone)]
pub enum Change {
    /// The scalar, or whatever stands there, becomes this value; comments around it stay.
    Set(Path, Value),
    /// A key and its value are added to a mapping, behind the named key or at its head.
    Add {
        /// The mapping.
        map: Path,
        /// The key.
        key: String,
        /// The value.
        value: Value,
        /// The key that it follows.
        after: Option<String>,
    },
    /// A key or an item goes.
    Remove(Path),
    /// Items are inserted into a sequence before this position of the sequence as it was.
    Insert {
        /// The sequence.
        seq: Path,
        /// The position.
        at: usize,
        /// The items.
        items: Vec<Value>,
    },
    /// The line comment becomes this, or goes.
    Comment(Path, Option<String>),
}

/// What turns `old` (as it was read) into `new` (a changed copy of it).
///
/// Parts are told apart by where they came from, so that an item inserted at a list's head moves no comment.
pub fn changes(old: &Value, new: &Value) -> Vec<Change> {
    let mut out = Vec::new();
    value(old, new, &Path::root(), &mut out);
    out
}

fn value(old: &Value, new: &Value, path: &Path, out: &mut Vec<Change>) {
    match (&old.data, &new.data) {
        (Data::Alias(_), Data::Alias(_)) if old.origin == new.origin => {}
        (Data::Alias(_), _) | (_, Data::Alias(_)) => {
            if !old.same(new) {
                out.push(Change::Set(path.clone(), new.clone()));
            }
        }
        (Data::Scalar(a), Data::Scalar(b)) => {
            if !a.same(b) {
                out.push(Change::Set(path.clone(), new.clone()));
            }
        }
        (Data::Map(a), Data::Map(b)) if names(a) => map(a, b, path, out),
        (Data::Seq(a), Data::Seq(b)) => seq(a, b, path, new, out),
        _ => {
            if !old.same(new) {
                out.push(Change::Set(path.clone(), new.clone()));
            }
        }
    }
    if old.comment != new.comment && !matches!(out.last(), Some(Change::Set(at, _)) if at == path) {
        out.push(Change::Comment(
            path.clone(),
            new.comment.as_deref().map(str::to_owned),
        ));
    }
}

/// Whether every key can be named by a path.
fn names(map: &Map) -> bool {
    map.entries.iter().all(|entry| entry.plain_key)
}

fn map(old: &Map, new: &Map, path: &Path, out: &mut Vec<Change>) {
    let unchanged = old.entries.len() == new.entries.len()
        && old
            .entries
            .iter()
            .zip(&new.entries)
            .all(|(a, b)| a.key == b.key);
    if unchanged {
        for (a, b) in old.entries.iter().zip(&new.entries) {
            child(old, &a.key, &a.value, &b.value, path, out);
        }
        return;
    }
    for entry in &old.entries {
        match new.get(&entry.key) {
            Some(value) => child(old, &entry.key, &entry.value, value, path, out),
            None => out.push(Change::Remove(path.join(&*entry.key))),
        }
    }
    let mut after: Option<&str> = None;
    for entry in &new.entries {
        if old.get(&entry.key).is_none() {
            out.push(Change::Add {
                map: path.clone(),
                key: entry.key.to_string(),
                value: entry.value.clone(),
                after: after.map(str::to_owned),
            });
        } else {
            after = Some(&entry.key);
        }
    }
}

/// A key that stands twice cannot be named: only its first value is compared (Y3).
fn child(all: &Map, key: &str, old: &Value, new: &Value, path: &Path, out: &mut Vec<Change>) {
    let first = all.get(key).is_some_and(|value| std::ptr::eq(value, old));
    if first {
        value(old, new, &path.join(key), out);
    }
}

fn seq(old: &Seq, new: &Seq, path: &Path, whole: &Value, out: &mut Vec<Change>) {
    let Some(pairs) = align(old, new) else {
        out.push(Change::Set(path.clone(), whole.clone()));
        return;
    };
    let kept: Vec<usize> = pairs.iter().filter_map(|pair| *pair).collect();
    if kept.is_empty() && (old.items.is_empty() || new.items.is_empty()) {
        if !(old.items.is_empty() && new.items.is_empty()) {
            out.push(Change::Set(path.clone(), whole.clone()));
        }
        return;
    }
    let mut next = 0;
    let mut pending = Vec::new();
    for (pair, item) in pairs.iter().zip(&new.items) {
        let Some(at) = *pair else {
            pending.push(item.clone());
            continue;
        };
        insert(&mut pending, path, next, out);
        for gone in next..at {
            out.push(Change::Remove(path.join(gone)));
        }
        value(&old.items[at], item, &path.join(at), out);
        next = at + 1;
    }
    insert(&mut pending, path, next, out);
    for gone in next..old.items.len() {
        out.push(Change::Remove(path.join(gone)));
    }
}

fn insert(pending: &mut Vec<Value>, path: &Path, at: usize, out: &mut Vec<Change>) {
    if !pending.is_empty() {
        out.push(Change::Insert {
            seq: path.clone(),
            at,
            items: std::mem::take(pending),
        });
    }
}

/// For each new item the old one that it is: by origin, else by equal value; `None` if items changed places.
fn align(old: &Seq, new: &Seq) -> Option<Vec<Option<usize>>> {
    let same_place = |(a, b): (&Value, &Value)| a.origin == b.origin && a.origin != NEW;
    if old.items.len() == new.items.len() && old.items.iter().zip(&new.items).all(same_place) {
        return Some((0..old.items.len()).map(Some).collect());
    }
    let mut pairs: Vec<Option<usize>> = new
        .items
        .iter()
        .map(|item| {
            let known = item.origin != NEW;
            known
                .then(|| old.items.iter().position(|o| o.origin == item.origin))
                .flatten()
        })
        .collect();
    let taken: Vec<usize> = pairs.iter().filter_map(|pair| *pair).collect();
    if !taken.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let mut from = 0;
    for at in 0..pairs.len() {
        if let Some(known) = pairs[at] {
            from = known + 1;
            continue;
        }
        let until = pairs[at..]
            .iter()
            .find_map(|pair| *pair)
            .unwrap_or(old.items.len());
        let equal =
            |index: &usize| !taken.contains(index) && old.items[*index].same(&new.items[at]);
        if let Some(found) = (from..until).find(equal) {
            pairs[at] = Some(found);
            from = found + 1;
        }
    }
    Some(pairs)
}
