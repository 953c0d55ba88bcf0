//! The fewest changes that turn a document into what an owned value says.

use std::collections::BTreeMap;

use super::{Data, Map, NEW, Seq, Value};
use crate::{NodeStep, Path};

/// Mappings up to this size are searched from their beginning.
const FEW: usize = 16;

/// One change of a document, at a path that is meant in the document as it was.
#[derive(Debug, Clone)]
pub enum Change {
    /// The scalar, or whatever stands there, becomes this value; comments around it stay.
    Set(Path, Value),
    /// A key and its value are added to a mapping.
    Add {
        /// The mapping.
        map: Path,
        /// The key.
        key: String,
        /// The value.
        value: Value,
        /// Its position in the mapping as it was.
        index: usize,
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
    value(old, new, At::Root, &mut out);
    out
}

/// A place on the way down; it becomes a path only where something changed.
#[derive(Clone, Copy)]
enum At<'a> {
    Root,
    Key(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl At<'_> {
    fn path(&self) -> Path {
        let mut steps = Vec::new();
        let mut at = self;
        loop {
            at = match at {
                At::Root => break,
                At::Key(above, key) => {
                    steps.push(NodeStep::Key((*key).to_owned()));
                    above
                }
                At::Item(above, index) => {
                    steps.push(NodeStep::Index(*index));
                    above
                }
            };
        }
        steps.reverse();
        Path(steps)
    }
}

/// Where the keys of a mapping stand first.
struct Index<'m> {
    map: &'m Map,
    sorted: Option<BTreeMap<&'m str, usize>>,
}

impl<'m> Index<'m> {
    fn of(map: &'m Map) -> Self {
        let sorted = (map.entries.len() > FEW).then(|| {
            let mut sorted = BTreeMap::new();
            for (at, entry) in map.entries.iter().enumerate() {
                sorted.entry(&*entry.key).or_insert(at);
            }
            sorted
        });
        Self { map, sorted }
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.sorted {
            Some(sorted) => sorted.get(key).copied(),
            None => self.map.entries.iter().position(|entry| &*entry.key == key),
        }
    }

    fn get(&self, key: &str) -> Option<&'m Value> {
        let at = self.position(key)?;
        self.map.entries.get(at).map(|entry| &entry.value)
    }
}

fn value(old: &Value, new: &Value, at: At<'_>, out: &mut Vec<Change>) {
    match (&old.data, &new.data) {
        (Data::Alias(_), Data::Alias(_)) if old.origin == new.origin => {}
        (Data::Alias(_), _) | (_, Data::Alias(_)) => {
            if !old.same(new) {
                out.push(Change::Set(at.path(), new.clone()));
            }
        }
        (Data::Scalar(a), Data::Scalar(b)) => {
            if !a.same(b) {
                out.push(Change::Set(at.path(), new.clone()));
            }
        }
        (Data::Map(a), Data::Map(b)) if names(a) => map(a, b, at, out),
        (Data::Seq(a), Data::Seq(b)) => seq(a, b, at, new, out),
        _ => {
            if !old.same(new) {
                out.push(Change::Set(at.path(), new.clone()));
            }
        }
    }
    if old.comment != new.comment
        && !matches!(out.last(), Some(Change::Set(set, _)) if *set == at.path())
    {
        out.push(Change::Comment(
            at.path(),
            new.comment.as_deref().map(str::to_owned),
        ));
    }
}

/// Whether every key can be named by a path.
fn names(map: &Map) -> bool {
    map.entries.iter().all(|entry| entry.plain_key)
}

fn map(old: &Map, new: &Map, at: At<'_>, out: &mut Vec<Change>) {
    let unchanged = old.entries.len() == new.entries.len()
        && old
            .entries
            .iter()
            .zip(&new.entries)
            .all(|(a, b)| a.key == b.key);
    // A key that stands twice cannot be named: only its first value is compared (Y3).
    let known = Index::of(old);
    if unchanged {
        for (place, (a, b)) in old.entries.iter().zip(&new.entries).enumerate() {
            if known.position(&a.key) == Some(place) {
                value(&a.value, &b.value, At::Key(&at, &a.key), out);
            }
        }
        return;
    }
    let wanted = Index::of(new);
    for (place, entry) in old.entries.iter().enumerate() {
        let below = At::Key(&at, &entry.key);
        match wanted.get(&entry.key) {
            Some(new) if known.position(&entry.key) == Some(place) => {
                value(&entry.value, new, below, out);
            }
            Some(_) => {}
            None => out.push(Change::Remove(below.path())),
        }
    }
    let mut index = 0;
    for entry in &new.entries {
        if let Some(place) = known.position(&entry.key) {
            index = place + 1;
        } else {
            out.push(Change::Add {
                map: at.path(),
                key: entry.key.to_string(),
                value: entry.value.clone(),
                index,
            });
        }
    }
}

fn seq(old: &Seq, new: &Seq, at: At<'_>, whole: &Value, out: &mut Vec<Change>) {
    let Some(pairs) = align(old, new) else {
        out.push(Change::Set(at.path(), whole.clone()));
        return;
    };
    let kept: Vec<usize> = pairs.iter().filter_map(|pair| *pair).collect();
    if kept.is_empty() && (old.items.is_empty() || new.items.is_empty()) {
        if !(old.items.is_empty() && new.items.is_empty()) {
            out.push(Change::Set(at.path(), whole.clone()));
        }
        return;
    }
    let mut next = 0;
    let mut pending = Vec::new();
    for (pair, item) in pairs.iter().zip(&new.items) {
        let Some(place) = *pair else {
            pending.push(item.clone());
            continue;
        };
        insert(&mut pending, at, next, out);
        for gone in next..place {
            out.push(Change::Remove(At::Item(&at, gone).path()));
        }
        value(&old.items[place], item, At::Item(&at, place), out);
        next = place + 1;
    }
    insert(&mut pending, at, next, out);
    for gone in next..old.items.len() {
        out.push(Change::Remove(At::Item(&at, gone).path()));
    }
}

fn insert(pending: &mut Vec<Value>, at: At<'_>, before: usize, out: &mut Vec<Change>) {
    if !pending.is_empty() {
        out.push(Change::Insert {
            seq: at.path(),
            at: before,
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
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    for (place, item) in old.items.iter().enumerate() {
        places.entry(item.origin).or_insert(place);
    }
    let mut pairs: Vec<Option<usize>> = new
        .items
        .iter()
        .map(|item| {
            let known = item.origin != NEW;
            known.then(|| places.get(&item.origin).copied()).flatten()
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
