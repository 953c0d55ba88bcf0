//! The merge of one value: what becomes of a local node, of its fields and of its elements (M1–M4).
//!
//! Values hold values, so what decides them is one recursion, and all of it is here. What asks nothing of what is in a value
//! is the walk's (`walk`); how the elements of a list pair and what becomes of their order is `list`'s.
//! In a map local order stays, and new fields go where upstream has them.

use std::collections::BTreeSet;

use model::Decision;
use yaml::{Entry, Node, NodeKind, NodeStep};

use super::apply::{New, Op};
use super::known::Known;
use super::lines;
use super::list::{self, Fates};
use super::three::{Slot, Three};
use super::walk::{DocumentMerge, ValuePlace, Verdict};
use super::whole::{apart, is_empty, stand_alone};
use crate::schema::{ListRule, Schema};
use crate::values::{same, same_form, same_opt};

/// Merges the root of a document that all sides hold (the base may not).
pub(super) fn document<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    three: Three<'a>,
    schema: Schema<'_>,
) {
    let place = ValuePlace::root();
    let verdict = node(walk, &place, three, Known::of(schema));
    if let Verdict::Take(new) = verdict {
        walk.ops.push(Op::Replace {
            at: place.path,
            with: new,
        });
    }
}

/// Decides one value.
fn node<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    three: Three<'a>,
    known: Known<'_>,
) -> Verdict<'a> {
    let Three {
        base,
        local,
        upstream,
    } = three;
    match (local, upstream) {
        (None, None) => Verdict::Keep,
        (None, Some(upstream)) => walk.without_local(at, base, upstream, known),
        (Some(local), None) => without_upstream(walk, at, base, local, known),
        (Some(local), Some(upstream)) => both(walk, at, base, local, upstream, known),
    }
}

/// Deleted upstream, or new locally.
fn without_upstream<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    base: Option<Node<'a>>,
    local: Node<'a>,
    known: Known<'_>,
) -> Verdict<'a> {
    let Some(base) = base else {
        return Verdict::Keep;
    };
    if same(base, local) {
        return Verdict::Remove;
    }
    let lists = base.kind() == NodeKind::Sequence && local.kind() == NodeKind::Sequence;
    if lists && known.list == ListRule::Functions {
        // A step is something for itself: what people added stays, what upstream knew goes (M15).
        let three = Three {
            base: Some(base),
            local: Some(local),
            upstream: None,
        };
        match list(walk, at, three, known) {
            Some(Verdict::Keep) => return Verdict::Keep,
            Some(_) => return Verdict::Remove,
            None => {}
        }
    }
    if base.kind() == NodeKind::Mapping && local.kind() == NodeKind::Mapping {
        // Local additions stay, what upstream knew goes; nothing is left of a map without additions.
        let added = local.entries().any(|entry| {
            let key = entry.key.key_text();
            key.is_some_and(|key| base.get(key).is_none())
        });
        let three = Three {
            base: Some(base),
            local: Some(local),
            upstream: None,
        };
        let steps = |entry: Entry<'_>| {
            let key = entry.key.key_text();
            key.is_some_and(|key| known.field(key).list == ListRule::Functions)
        };
        let alone = stand_alone(base, known.entries) || base.entries().all(steps);
        if added && !alone {
            // What was added to a whole of several parts means nothing without them: a probe, a source of a volume.
            return match walk.record.field(&at.field, Some(base), Some(local), None) {
                Decision::Local => Verdict::Keep,
                Decision::Upstream => Verdict::Remove,
            };
        }
        // Whether anything of the map is left is known only behind its fields: where it goes whole, edits inside find no path.
        let before = walk.ops.len();
        let kept = fields(walk, at, three, known);
        if (added || kept) && alone {
            return Verdict::Keep;
        }
        // Of a whole no part stays without the others (M4).
        walk.ops.truncate(before);
        return if kept { Verdict::Keep } else { Verdict::Remove };
    }
    match walk.record.field(&at.field, Some(base), Some(local), None) {
        Decision::Local => Verdict::Keep,
        Decision::Upstream => Verdict::Remove,
    }
}

/// Decides a value that both sides have: the table in docs/merge.md, from the cheapest question to the dearest.
///
/// Equal texts are decided without parsing, nulls before kinds are compared, maps and lists by going inside where what they
/// stem from is of their kind; what is left is one value, which the side that changed it decides, its lines, or the policy.
fn both<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    base: Option<Node<'a>>,
    local: Node<'a>,
    upstream: Node<'a>,
    known: Known<'_>,
) -> Verdict<'a> {
    // Equal texts are equal values, and cost no parsing; an alias alone may say something else under the same text.
    let unchanged = |base| same_form(base, upstream) && !follows(base, local, upstream);
    if base.is_some_and(unchanged) || same_form(local, upstream) {
        return Verdict::Keep;
    }
    if base.is_some_and(|base| walk.untouched(at, base, local, upstream)) {
        return Verdict::Take(New::Node(upstream));
    }
    // Nulls are decided before kinds are compared: a null is a scalar, and would replace a map that people filled.
    let was_null = base.is_some_and(|base| base.is_null());
    if upstream.is_null() && base.is_none_or(is_empty) && !same_opt(base, Some(local)) {
        return Verdict::Keep; // A null where there was nothing says nothing (M2).
    }
    if upstream.is_null() && base.is_some() && !was_null && !local.is_null() {
        return walk.null_upstream(at, base, local, upstream);
    }
    if local.is_null() && base.is_some() && !was_null {
        return walk.null_local(at, base, local, upstream);
    }
    let three = Three {
        base,
        local: Some(local),
        upstream: Some(upstream),
    };
    // What a null stood for was nothing. Another kind of value that both sides replaced is no base of what they made of it (M3).
    let old = base.filter(|base| !base.is_null());
    let old = old.map(|base| base.target().unwrap_or(base));
    let like = old.is_none_or(|old| old.kind() == local.kind());
    match (local.kind(), upstream.kind()) {
        _ if !like || walk.whole.binary_search(&at.field).is_ok() => {}
        (NodeKind::Mapping, NodeKind::Mapping)
            if old.is_some() || !apart(local, upstream, known) =>
        {
            fields(walk, at, Three { base: old, ..three }, known);
            return Verdict::Keep;
        }
        (NodeKind::Sequence, NodeKind::Sequence) => {
            if let Some(verdict) = list(walk, at, three, known) {
                return verdict;
            }
        }
        _ => {}
    }
    // From here on it is one value: a scalar, a list whose elements do not pair, or two kinds of value.
    if same(local, upstream) || same_opt(base, Some(upstream)) {
        return Verdict::Keep;
    }
    if same_opt(base, Some(local)) {
        return Verdict::Take(New::Node(upstream));
    }
    if let Some(verdict) = lines::string(walk, at, three) {
        return verdict;
    }
    match walk
        .record
        .field(&at.field, base, Some(local), Some(upstream))
    {
        Decision::Local => Verdict::Keep,
        Decision::Upstream => Verdict::Take(New::Node(upstream)),
    }
}

/// Merges the fields of a local map; says whether any field of the base, or a new one of upstream,
/// is in it afterwards.
fn fields<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    three: Three<'a>,
    known: Known<'_>,
) -> bool {
    let Some(local) = three.local else {
        return false;
    };
    let mut kept = false;
    let mut gone = BTreeSet::new();
    for entry in local.entries() {
        let Some(key) = entry.key.key_text() else {
            continue;
        };
        let place = at.key(key);
        if walk.is_own(&place.path) {
            kept = true;
            continue;
        }
        let field = three.map(|node| node.get(key));
        let known = known.field(key).or_comment(entry.value);
        match node(walk, &place, field, known) {
            Verdict::Keep => kept |= field.base.is_some(),
            Verdict::Remove => {
                // What goes is nobody's neighbour: a new field is put beside what stands there in the end.
                gone.insert(key);
                walk.ops.push(Op::Remove { at: place.path });
                continue;
            }
            Verdict::Take(with) => {
                kept = true;
                let at = place.path.clone();
                walk.ops.push(Op::Replace { at, with });
            }
        }
    }
    match three.upstream {
        Some(upstream) => new_fields(walk, at, three, upstream, &gone, known) || kept,
        None => kept,
    }
}

/// Inserts the fields that are not there locally; says whether there are any.
fn new_fields<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    three: Three<'a>,
    upstream: Node<'a>,
    gone: &BTreeSet<&str>,
    known: Known<'_>,
) -> bool {
    let stays = |key: &str| {
        let there = three.local.is_some_and(|local| local.get(key).is_some());
        there && !gone.contains(key)
    };
    let before = followers(upstream, stays);
    let mut any = false;
    let mut after: Option<String> = None;
    for (entry, before) in upstream.entries().zip(before) {
        let Some(key) = entry.key.key_text() else {
            continue;
        };
        let field = three.map(|node| node.get(key));
        let place = at.key(key);
        if field.local.is_some() || walk.is_own(&place.path) {
            if stays(key) {
                after = Some(key.to_owned());
            }
            continue;
        }
        let Verdict::Take(new) = node(walk, &place, field, known.field(key)) else {
            continue;
        };
        walk.ops.push(Op::Insert {
            map: at.path.clone(),
            key: entry.key,
            after: after.clone(),
            before: before.map(str::to_owned),
            with: new,
        });
        any = true;
        // The next new field follows this one, or several in a row would come out reversed.
        after = Some(key.to_owned());
    }
    any
}

/// For each entry the key of the next one that stays: looked up, since thousands of entries may be new.
fn followers<'a>(upstream: Node<'a>, stays: impl Fn(&str) -> bool) -> Vec<Option<&'a str>> {
    let entries: Vec<Entry<'a>> = upstream.entries().collect();
    let mut next = None;
    let mut all = Vec::with_capacity(entries.len());
    for entry in entries.iter().rev() {
        all.push(next);
        next = entry.key.key_text().filter(|key| stays(key)).or(next);
    }
    all.reverse();
    all
}

/// Merges a list by its schema, else by what its elements hold; `None` where it is one value.
fn list<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    three: Three<'a>,
    known: Known<'_>,
) -> Option<Verdict<'a>> {
    let is_set = matches!(known.list, ListRule::Set | ListRule::Values);
    let (slots, by_place) = list::slots(three, known.list)?;
    let before = (walk.ops.len(), walk.record.len());
    let fates = elements(walk, at, three, &slots, known.schema);
    let verdict = list::combine(walk, at, three, &slots, fates, (is_set, before.0));
    // A place in a sequence names nothing that a person could be asked about.
    if by_place && walk.record.asks(before.1) {
        walk.ops.truncate(before.0);
        walk.record.truncate(before.1);
        return None;
    }
    Some(verdict)
}

/// Decides each element; what stays may be changed inside.
fn elements<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    three: Three<'a>,
    slots: &[Slot],
    schema: Schema<'_>,
) -> Fates<'a> {
    let nodes = |node: Option<Node<'a>>| -> Vec<Node<'a>> {
        node.into_iter().flat_map(|node| node.items()).collect()
    };
    let (base, local, upstream) = (nodes(three.base), nodes(three.local), nodes(three.upstream));
    let mut fates = Fates {
        gone: vec![false; local.len()],
        inserted: Vec::new(),
    };
    for slot in slots {
        let pick = |nodes: &[Node<'a>], index: Option<usize>| nodes.get(index?).copied();
        let element = Three {
            base: pick(&base, slot.base),
            local: pick(&local, slot.local),
            upstream: pick(&upstream, slot.upstream),
        };
        let place = ValuePlace {
            // A new element has no local place: it is inserted whole, so nothing is ever edited at this path.
            path: at.path.join(NodeStep::Index(slot.local.unwrap_or(0))),
            field: at.field.join(slot.step.clone()),
        };
        let verdict = match element {
            Three {
                base: Some(base),
                local: Some(local),
                upstream: None,
            } => walk.deleted(&place, base, local),
            element => node(walk, &place, element, Known::of(schema)),
        };
        match (verdict, slot.local) {
            (Verdict::Remove, Some(index)) => {
                if let Some(gone) = fates.gone.get_mut(index) {
                    *gone = true;
                }
            }
            (Verdict::Take(with), Some(_)) => {
                let at = place.path.clone();
                walk.ops.push(Op::Replace { at, with });
            }
            // Whole: a part of an element is a skeleton (M4).
            (Verdict::Take(_), None) => {
                let inserted = slot.upstream.zip(element.upstream.map(New::Node));
                fates.inserted.extend(inserted);
            }
            (Verdict::Keep, _) | (Verdict::Remove, None) => {}
        }
    }
    fates
}

/// Whether an alias that upstream left as it is stands for another value there, and was replaced here: both changed what
/// it says (M1).
fn follows(base: Node<'_>, local: Node<'_>, upstream: Node<'_>) -> bool {
    let aliases = [base, upstream].iter().all(|n| n.kind() == NodeKind::Alias);
    aliases && !same_form(base, local) && !same(base, upstream)
}
