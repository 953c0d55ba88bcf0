//! The four operations on values: which paths it has, how two differ, one merged into the other, paths
//! taken out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::path::PathElement;
use super::set::FieldSet;
use super::shape::{MergeKind, Shape, fields};

/// The paths that a wanted configuration names.
pub(crate) fn paths(value: &Value, shape: Shape<'_>) -> FieldSet {
    let mut out = FieldSet::default();
    match (shape.kind(value), value) {
        (MergeKind::Map, Value::Object(map)) => {
            for (name, found) in map {
                let empty = found.is_null() || fields(found).is_some_and(Map::is_empty);
                let always = empty || !shape.declares(name);
                add(
                    &mut out,
                    PathElement::field(name),
                    found,
                    shape.field(name),
                    always,
                );
            }
        }
        (kind @ (MergeKind::Set | MergeKind::List(_)), Value::Array(list)) => {
            for (element, item) in shape.items(list, kind) {
                add(&mut out, element, item, shape.item(), true);
            }
        }
        _ => {}
    }
    out
}

fn add(out: &mut FieldSet, element: PathElement, value: &Value, shape: Shape<'_>, always: bool) {
    if always || shape.kind(value) == MergeKind::Leaf {
        out.members.insert(element.clone());
    }
    if shape.kind(value) != MergeKind::Leaf {
        out.put_below(element, paths(value, shape));
    }
}

/// How two values differ.
#[derive(Debug, Default, Clone)]
pub(crate) struct Difference {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Difference {
    /// Added or modified.
    pub(crate) fn changed(&self) -> FieldSet {
        self.added.union(&self.modified)
    }

    /// Everything that differs.
    pub(crate) fn gone(self) -> FieldSet {
        let mut all = self.added;
        all.add(self.modified);
        all.add(self.removed);
        all
    }

    /// Leaves out what lies at or below the given paths.
    pub(crate) fn without(mut self, ignored: &FieldSet) -> Self {
        for paths in [&mut self.added, &mut self.modified, &mut self.removed] {
            paths.leave_out(ignored);
        }
        self
    }

    fn put(&mut self, element: &PathElement, below: Self) {
        self.added.put_below(element.clone(), below.added);
        self.modified.put_below(element.clone(), below.modified);
        self.removed.put_below(element.clone(), below.removed);
    }
}

/// Compares what stands with what is to stand.
pub(crate) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Difference {
    let mut out = Difference::default();
    if let (Some(olds), Some(news)) = (map(old, shape), map(new, shape)) {
        maps(&mut out, (olds, news), shape);
        return out;
    }
    let (olds, news) = (children(old, shape), children(new, shape));
    let keys: std::collections::BTreeSet<&PathElement> = olds.keys().chain(news.keys()).collect();
    for element in keys {
        let below = shape.below(element);
        match (olds.get(element), news.get(element)) {
            (Some(old), Some(new)) => both(&mut out, element, old, new, below),
            (None, Some(new)) => {
                out.added.members.insert(element.clone());
                out.put(element, compare(&Value::Null, new, below));
            }
            (Some(old), None) => {
                out.removed.members.insert(element.clone());
                out.put(element, compare(old, &Value::Null, below));
            }
            (None, None) => {}
        }
    }
    out
}

/// The fields of a value that is merged by them, or has none at all; nothing of a list that is merged by its items.
fn map<'v>(value: &'v Value, shape: Shape<'_>) -> Option<&'v Map<String, Value>> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    match (shape.kind(value), value) {
        (MergeKind::Map, Value::Object(map)) => Some(map),
        (MergeKind::Set | MergeKind::List(_), _) => None,
        _ => Some(&NONE),
    }
}

/// Compares two maps: what is the same in both, which is most of an object, gets no path.
fn maps(
    out: &mut Difference,
    (olds, news): (&Map<String, Value>, &Map<String, Value>),
    shape: Shape<'_>,
) {
    for (name, old) in olds {
        let below = shape.field(name);
        match news.get(name) {
            Some(new) if same(old, new) => {}
            Some(new) => differ(out, &PathElement::field(name), old, new, below),
            None => {
                let element = PathElement::field(name);
                out.put(&element, compare(old, &Value::Null, below));
                out.removed.members.insert(element);
            }
        }
    }
    for (name, new) in news.iter().filter(|(name, _)| !olds.contains_key(*name)) {
        let element = PathElement::field(name);
        out.put(&element, compare(&Value::Null, new, shape.field(name)));
        out.added.members.insert(element);
    }
}

fn both(out: &mut Difference, element: &PathElement, old: &Value, new: &Value, shape: Shape<'_>) {
    if !same(old, new) {
        differ(out, element, old, new, shape);
    }
}

fn differ(out: &mut Difference, element: &PathElement, old: &Value, new: &Value, shape: Shape<'_>) {
    let leaf = |value: &Value| !value.is_null() && shape.kind(value) == MergeKind::Leaf;
    if leaf(old) || leaf(new) {
        out.modified.members.insert(element.clone());
    }
    out.put(element, compare(old, new, shape));
}

/// Equality that does not tell 1 from 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// What lies directly below a value that is merged; nothing below a leaf.
fn children<'v>(value: &'v Value, shape: Shape<'_>) -> BTreeMap<PathElement, &'v Value> {
    match (shape.kind(value), value) {
        (MergeKind::Map, Value::Object(map)) => map
            .iter()
            .map(|(name, found)| (PathElement::field(name), found))
            .collect(),
        (kind @ (MergeKind::Set | MergeKind::List(_)), Value::Array(list)) => {
            let mut out = BTreeMap::new();
            for (element, item) in shape.items(list, kind) {
                out.entry(element).or_insert(item);
            }
            out
        }
        _ => BTreeMap::new(),
    }
}

/// Merges what is wanted into what stands.
pub(crate) fn merge(live: Option<&Value>, wanted: Option<&Value>, shape: Shape<'_>) -> Value {
    let (live, wanted) = match (live, wanted) {
        (Some(live), Some(wanted)) => (live, wanted),
        (only, other) => return only.or(other).cloned().unwrap_or_default(),
    };
    match (live, wanted) {
        (Value::Object(old), Value::Object(new)) if shape.kind(wanted) == MergeKind::Map => {
            let mut out = Map::new();
            for (name, found) in old {
                out.insert(
                    name.clone(),
                    merge(Some(found), new.get(name), shape.field(name)),
                );
            }
            for (name, found) in new {
                if !old.contains_key(name) {
                    out.insert(name.clone(), found.clone());
                }
            }
            Value::Object(out)
        }
        (Value::Array(old), Value::Array(new)) => match shape.kind(wanted) {
            kind @ (MergeKind::Set | MergeKind::List(_)) => {
                Value::Array(lists(old, new, kind, shape))
            }
            _ => wanted.clone(),
        },
        (Value::Object(old), Value::Null)
            if shape.kind(live) == MergeKind::Map && !old.is_empty() =>
        {
            live.clone()
        }
        _ => wanted.clone(),
    }
}

/// Interleaves two lists: the wanted items keep their order, items of the old that are not wanted stay where
/// they stood relative to their neighbours (the order of structured-merge-diff).
fn lists(old: &[Value], new: &[Value], kind: MergeKind<'_>, shape: Shape<'_>) -> Vec<Value> {
    let (left, right) = (shape.items(old, kind), shape.items(new, kind));
    let index = |items: &[(PathElement, &Value)]| {
        items
            .iter()
            .map(|(e, v)| (e.clone(), (*v).clone()))
            .rev()
            .collect::<BTreeMap<_, _>>()
    };
    let (in_left, in_right) = (index(&left), index(&right));
    let mut shared = right
        .iter()
        .map(|(e, _)| e)
        .filter(|e| in_left.contains_key(*e));
    let mut next = shared.next();
    let mut taken = std::collections::BTreeSet::new();
    let mut out = Vec::new();
    let item =
        |element: &PathElement| merge(in_left.get(element), in_right.get(element), shape.item());
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((a, _)), Some((b, _))) = (left.get(l), right.get(r)) {
            if a == b {
                taken.insert(a.clone());
                out.push(item(a));
                (l, r) = (l + 1, r + 1);
                next = shared.next();
                continue;
            }
            // It is wanted at a later place, and comes with that.
            if in_right.contains_key(a) && next.is_some_and(|n| n != a) {
                l += 1;
                continue;
            }
        }
        if let Some((a, value)) = left.get(l) {
            if !in_right.contains_key(a) {
                out.push((*value).clone());
                l += 1;
                continue;
            }
            if taken.contains(a) {
                l += 1;
            }
        }
        if let Some((b, _)) = right.get(r) {
            taken.insert(b.clone());
            out.push(item(b));
            r += 1;
            if next == Some(b) {
                next = shared.next();
            }
        }
    }
    out
}

/// Takes the paths out of a value; null if nothing is left of a map or list.
pub(crate) fn remove(value: &Value, paths: &FieldSet, shape: Shape<'_>) -> Value {
    match (shape.kind(value), value) {
        (MergeKind::Map, Value::Object(map)) if !map.is_empty() => {
            let mut out = Map::new();
            for (name, found) in map {
                let element = PathElement::field(name);
                if paths.members.contains(&element) {
                    continue;
                }
                let below = paths.children.get(&element);
                let kept =
                    below.map_or_else(|| found.clone(), |b| remove(found, b, shape.field(name)));
                out.insert(name.clone(), kept);
            }
            if out.is_empty() {
                Value::Null
            } else {
                Value::Object(out)
            }
        }
        (kind @ (MergeKind::Set | MergeKind::List(_)), Value::Array(list)) if !list.is_empty() => {
            let mut out = Vec::new();
            for (element, item) in shape.items(list, kind) {
                if paths.members.contains(&element) {
                    continue;
                }
                let below = paths.children.get(&element);
                out.push(below.map_or_else(|| item.clone(), |b| remove(item, b, shape.item())));
            }
            if out.is_empty() {
                Value::Null
            } else {
                Value::Array(out)
            }
        }
        _ => value.clone(),
    }
}
