//! What looks like a fault and is none, each with its reason. Losses are never excused here.

use std::collections::BTreeSet;

use model::{Conflict, ConflictState, ConflictValue};

use super::reading::Remark;
use super::side::{Side, generic};

/// The places (`Kind/name.field.field`) that open records ask about as a whole, because one side has nothing there or it is
/// a list or a map that is one value: the policy decides what stands there, whole, and the record shows the rest.
pub(super) fn asked(conflicts: &[Conflict]) -> Vec<String> {
    let whole = |value: &ConflictValue| match value {
        ConflictValue::Absent => true,
        ConflictValue::Json(json) => json.starts_with(['[', '{']),
        ConflictValue::Hash(_) => false,
    };
    let open = conflicts.iter().filter(|conflict| {
        let field = !conflict.path.is_empty() && !conflict.path.contains('#');
        let one_value = whole(&conflict.local) || whole(&conflict.upstream);
        field && one_value && conflict.state == ConflictState::Open
    });
    let place = |conflict: &Conflict| {
        let mut parts = conflict.resource.split('/');
        let (_, kind, _, name) = (parts.next(), parts.next(), parts.next(), parts.next());
        let resource = format!("{}/{}", kind.unwrap_or_default(), name.unwrap_or_default());
        format!("{resource}.{}", generic(&conflict.path))
    };
    open.map(place).collect()
}

/// Whether a place lies in one that a record asks about as a whole.
pub(super) fn within(asked: &[String], place: &str) -> bool {
    asked.iter().any(|asked| {
        let rest = place.strip_prefix(asked.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Whether each of these comments lies in a place that a record asks about as a whole.
pub(super) fn all_asked(asked: &[String], found: &[Remark]) -> bool {
    found
        .iter()
        .all(|remark| within(asked, &place(&remark.node)))
}

/// The way to a node (`kind: Pool/name: pool spec: rules: - when: day`) as a place (`Pool/pool.spec.rules`).
fn place(node: &str) -> String {
    let (resource, way) = split(node);
    let mut out = resource.replace("kind: ", "").replace("name: ", "");
    let mut words = way.split(' ');
    while let Some(word) = words.next() {
        match word.strip_suffix(':') {
            Some(key) => out += &format!(".{key}"),
            // The first key of an item is what it is called by.
            None if word == "-" => drop(words.next()),
            None => {}
        }
    }
    out
}

/// The resource of a way, and the rest.
fn split(node: &str) -> (&str, &str) {
    let words = if node.starts_with("kind: ") { 3 } else { 1 };
    let end = node.match_indices(' ').nth(words - 1);
    let end = end.map_or(node.len(), |(at, _)| at);
    let (resource, way) = node.split_at(end);
    (resource, way.trim_start())
}

/// Whether a comment stands in resources of which each is new on one side: both sides gave a resource another name, each its
/// own. A name is what a resource is known by, so these are two (M16).
pub(super) fn resources(found: &[Remark], sides: &[Side; 3]) -> bool {
    let names: BTreeSet<&str> = found.iter().map(|remark| split(&remark.node).0).collect();
    let [base, local, upstream] = sides;
    let there = |side: &Side, name: &str| side.has_resource(&format!("{name} "));
    names.len() == found.len()
        && names
            .iter()
            .all(|name| !there(base, name) && there(local, name) != there(upstream, name))
}

/// Whether a comment stands at elements of which each side alone has its own: both took one along that they called otherwise.
pub(super) fn elements(found: &[Remark], [base, local, upstream]: &[Side; 3]) -> bool {
    let names: BTreeSet<&str> = found.iter().map(|remark| remark.node.as_str()).collect();
    let own = |name: &&str| !base.has(name) && local.has(name) != upstream.has(name);
    names.len() == found.len() && names.iter().all(own)
}

/// Whether a comment stands above a scalar of the list in which a side has it, above one that is there no more: the
/// scalar became this one.
pub(super) fn same_list(sides: [Option<&Remark>; 2], now: &Remark, after: &Side) -> bool {
    let scalar = |line: &str| line.starts_with("- ") && !line.contains(": ");
    let mut sides = sides.into_iter().flatten();
    let became = |side: &Remark| scalar(&side.next) && !after.has(&side.node);
    scalar(&now.next) && sides.any(|side| became(side) && side.holder == now.holder)
}

/// Whether nothing is left in a map or list because each side took another part of it away: it is empty and stays, since no
/// side took it away itself.
pub(super) fn emptied((at, value): &(String, String), sides: &[Side; 3]) -> bool {
    let inside = |side: &Side| {
        let mut below = side.values.keys();
        below.any(|(other, _)| {
            let rest = other.strip_prefix(at.as_str());
            rest.is_some_and(|rest| rest.starts_with(['.', '[']))
        })
    };
    matches!(value.as_str(), "{}" | "[]") && sides.iter().all(inside)
}

/// Whether a place lies in an element that both sides added, in different words and different places, to a list of which
/// no schema says what its elements are known by (`when` is no such field, M22): nobody can say that they are one.
pub(super) fn added_apart(at: &str, [base, local, upstream]: &[Side; 3]) -> bool {
    let Some((list, element)) = at.rsplit_once("[when=") else {
        return false;
    };
    let name = element.split(']').next().unwrap_or_default();
    let element = format!("{list}[when={name}]");
    let inside = |side: &Side| -> Vec<(String, String)> {
        let all = side.values.keys();
        all.filter(|(at, _)| at.starts_with(&element))
            .cloned()
            .collect()
    };
    let (old, mine, theirs) = (inside(base), inside(local), inside(upstream));
    old.is_empty() && !mine.is_empty() && !theirs.is_empty() && mine != theirs
}

/// Whether a comment stands above an element to which the side that did not write it gave another name.
pub(super) fn renamed(sides: [Option<&Remark>; 2], now: &Remark, all: &[Side; 3]) -> bool {
    let [base, local, upstream] = all;
    let key = |line: &str| {
        let item = line.strip_prefix("- ")?;
        item.split_once(": ").map(|(key, _)| key.to_owned())
    };
    let known = |remark: &Remark, other: &Side| {
        let named = key(&remark.next).is_some_and(|name| key(&now.next) == Some(name));
        named && remark.own && base.has(&remark.node) && !other.has(&remark.node)
    };
    let [mine, theirs] = sides;
    mine.is_some_and(|mine| known(mine, upstream))
        || theirs.is_some_and(|theirs| known(theirs, local))
}
