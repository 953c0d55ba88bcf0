//! Maps of which no part means anything without the others, and those whose entries stand for themselves (M4, M16).

use yaml::{Node, NodeKind, Value};

use super::apply::New;
use super::identify::identity;
use super::known::Known;
use crate::schema::{Entries, ListRule, Schema};
use crate::values::value;

/// What comes back of what was deleted here and changed upstream: of a map whose entries stand for themselves what upstream
/// changed in it, for the rest stays deleted (M4); everything else whole, since a part of it is what nobody has.
pub(super) fn back<'a>(base: Node<'a>, upstream: Node<'a>, entries: Entries) -> New<'a> {
    let maps = [base, upstream].iter().all(|node| {
        node.kind() == NodeKind::Mapping && is_flat(*node) && stand_alone(*node, entries)
    });
    let (Some(old), Some(Value::Map(new)), true) = (value(base), value(upstream), maps) else {
        return New::Node(upstream);
    };
    // What upstream left alone was deleted here knowingly, and no edit of upstream's asks for it.
    let all = new.len();
    let changed = new.into_iter();
    let changed: Vec<_> = changed
        .filter(|(key, value)| old.get(key) != Some(value))
        .collect();
    // Where upstream only took things away, nothing would be left but a skeleton.
    match changed.len() {
        0 => New::Node(upstream),
        some if some == all => New::Node(upstream),
        _ => New::Value(Value::Map(changed)),
    }
}

/// The same of a set, whose items stand for themselves, too.
pub(super) fn back_in_set<'a>(base: Node<'a>, upstream: Node<'a>) -> New<'a> {
    let known: Vec<_> = base
        .items()
        .map(|item| identity(item, ListRule::Set))
        .collect();
    let new = upstream.items();
    let new = new.filter(|item| !known.contains(&identity(*item, ListRule::Set)));
    let new: Vec<Value> = new.filter_map(value).collect();
    match new.len() {
        0 => New::Node(upstream),
        some if some == upstream.items().len() => New::Node(upstream),
        _ => New::Value(Value::Seq(new)),
    }
}

/// Whether each entry of a map stands for itself, as labels do, and none is a part of a whole.
pub(super) fn stand_alone(map: Node<'_>, entries: Entries) -> bool {
    match entries {
        Entries::Free => true,
        Entries::Scalars => is_flat(map),
        Entries::Parts => false,
    }
}

/// Whether what both sides added is no one thing: each has a part that the other lacks, and the schema knows nothing of
/// how they go together. A free map inside is no such part.
pub(super) fn apart(local: Node<'_>, upstream: Node<'_>, known: Known<'_>) -> bool {
    let sides = [local, upstream];
    let known_parts = matches!(known.schema, Schema::Builtin(_));
    if known_parts || sides.iter().all(|map| stand_alone(*map, known.entries)) {
        return false;
    }
    let part = |key: &str, value: Node<'_>| {
        let free =
            value.kind() == NodeKind::Mapping && stand_alone(value, known.field(key).entries);
        !free && !value.is_null()
    };
    let more = |map: Node<'_>, other: Node<'_>| {
        map.entries().any(|entry| {
            let key = entry.key.key_text();
            key.is_some_and(|key| other.get(key).is_none() && part(key, entry.value))
        })
    };
    more(local, upstream) && more(upstream, local)
}

/// Whether all entries of a map are scalars.
fn is_flat(map: Node<'_>) -> bool {
    map.entries()
        .all(|entry| matches!(entry.value.kind(), NodeKind::Scalar | NodeKind::Alias))
}

/// Whether a node holds nothing: null, or a collection without entries.
pub(super) fn is_empty(node: Node<'_>) -> bool {
    match node.kind() {
        NodeKind::Mapping => node.entries().len() == 0,
        NodeKind::Sequence => node.items().len() == 0,
        NodeKind::Scalar | NodeKind::Alias => node.is_null(),
    }
}
