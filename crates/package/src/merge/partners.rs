//! Which items of a merged list come from which of the sides.
//!
//! The result is not asked where it came from: an item is one of a side that is written the same, else one that is known by the
//! same there. Nothing is merged here.

use std::collections::BTreeMap;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use yaml::{Node, Reader, Value};

use super::three::{Slot, Three};
use super::{pairs, sequence};
use crate::place::PathStep;
use crate::schema::ListRule;
use crate::values::{canonical, kept, same};

/// An item of a merged list on each side, and how a record names it.
pub(super) type Partners<'a> = ([Option<Node<'a>>; 3], Option<PathStep>);

/// For each item of a merged list the items that it comes from.
pub(super) fn partners<'a>(
    merged: Node<'a>,
    lists: [Option<Node<'a>>; 3],
    list: ListRule<'_>,
) -> Vec<Partners<'a>> {
    let [base, local, upstream] = lists;
    let three = Three {
        base,
        local,
        upstream,
    };
    let slots = match list {
        ListRule::Atomic => None,
        list => pairs::slots(three, list).or_else(|| {
            let slots = sequence::slots(three, list == ListRule::Grants)?;
            Some(moves_joined(slots, three))
        }),
    };
    let mine = local.map(|side| Likeness::of(merged, side, list));
    let theirs = upstream.map(|side| Likeness::of(merged, side, list));
    let items = lists.map(|side| -> Vec<Node<'a>> {
        let items = side.into_iter().flat_map(|side| side.items());
        items.collect()
    });
    let item = |side: usize, at: Option<usize>| items.get(side)?.get(at?).copied();
    let Some(slots) = slots else {
        // One value: what stands at the same place between equal ones.
        let partners = lists.map(|side| side.map(|side| in_order(merged, side)));
        let of = |index: usize, side: usize| {
            let partners = partners.get(side).and_then(Option::as_ref)?;
            item(side, partners.get(index).copied().flatten())
        };
        let all = 0..merged.items().len();
        return all
            .map(|index| ([0, 1, 2].map(|side| of(index, side)), None))
            .collect();
    };
    let slot = |index: usize| {
        // Equal text is surer than an equal key: of two elements that exchanged their names the key leads to the wrong one.
        [Likeness::written, Likeness::known]
            .into_iter()
            .find_map(|find| {
                let at = |side: Option<&Likeness>| find(side?, index);
                let (mine, theirs) = (at(mine.as_ref()), at(theirs.as_ref()));
                let by_upstream = |slot: &&Slot| theirs.is_some() && slot.upstream == theirs;
                let by_local = |slot: &&Slot| mine.is_some() && slot.local == mine;
                // What nobody touched here was taken from upstream as it stands there.
                let found = slots.iter().find(by_upstream);
                found.or_else(|| slots.iter().find(by_local))
            })
    };
    let partners = (0..merged.items().len()).map(|index| match slot(index) {
        Some(slot) => {
            let sides = [
                item(0, slot.base),
                item(1, slot.local),
                item(2, slot.upstream),
            ];
            (sides, Some(slot.step.clone()))
        }
        None => ([None; 3], None),
    });
    partners.collect()
}

/// In a sequence an item that one side moved went at one place and came at another: its comments are those of one item.
fn moves_joined(mut slots: Vec<Slot>, three: Three<'_>) -> Vec<Slot> {
    let same = |mine: usize, theirs: usize| {
        let mine = three.local.and_then(|side| side.at(mine));
        let theirs = three.upstream.and_then(|side| side.at(theirs));
        mine.zip(theirs).is_some_and(|(a, b)| same(a, b))
    };
    let lone = |slot: &Slot| match (slot.base, slot.local, slot.upstream) {
        (None, Some(mine), None) => Some((Some(mine), None)),
        (None, None, Some(theirs)) => Some((None, Some(theirs))),
        _ => None,
    };
    let mut at = 0;
    while let Some(slot) = slots.get(at).cloned() {
        let went = |(mine, theirs)| match (slot.local, slot.upstream, mine, theirs) {
            (Some(mine), None, None, Some(theirs)) => same(mine, theirs),
            (None, Some(theirs), Some(mine), None) => same(mine, theirs),
            _ => false,
        };
        let came = |other: &Slot| lone(other).is_some_and(went);
        let came = slots.iter().position(came).filter(|_| slot.base.is_some());
        let Some(came) = came else {
            at += 1;
            continue;
        };
        let other = slots.remove(came);
        // What stood before it has gone one place further to the front.
        at = at.saturating_sub(usize::from(came < at));
        if let Some(slot) = slots.get_mut(at) {
            slot.local = slot.local.or(other.local);
            slot.upstream = slot.upstream.or(other.upstream);
        }
        at += 1;
    }
    slots
}

/// Which items of a merged list are which of a side.
struct Likeness {
    written: Vec<Option<usize>>,
    known: Vec<Option<usize>>,
}

impl Likeness {
    fn of(merged: Node<'_>, side: Node<'_>, list: ListRule<'_>) -> Self {
        let mut there: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, item) in side.items().enumerate() {
            there.entry(item.source()).or_default().push(at);
        }
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let nth = |item: Node<'_>| {
            let count = seen.entry(item.source().to_owned()).or_default();
            *count += 1;
            there.get(item.source())?.get(*count - 1).copied()
        };
        let written: Vec<Option<usize>> = merged.items().map(nth).collect();
        let three = Three {
            base: None,
            local: Some(merged),
            upstream: Some(side),
        };
        let known = match pairs::slots(three, list) {
            Some(slots) => {
                let mut known = vec![None; written.len()];
                for slot in slots {
                    let place = slot.local.and_then(|at| known.get_mut(at));
                    if let Some(place) = place {
                        *place = slot.upstream;
                    }
                }
                known
            }
            None => in_order(merged, side),
        };
        Self { written, known }
    }

    /// The item that is written the same.
    fn written(&self, index: usize) -> Option<usize> {
        self.written.get(index).copied().flatten()
    }

    /// The item that is known by the same.
    fn known(&self, index: usize) -> Option<usize> {
        self.known.get(index).copied().flatten()
    }
}

/// Pairs the items of lists without keys: equal ones in order; between them maps that are mostly alike, and of the rest as
/// many as there are.
fn in_order(merged: Node<'_>, side: Node<'_>) -> Vec<Option<usize>> {
    let values = |node: Node<'_>| -> Vec<(String, Option<Value>)> {
        let value = |item: Node<'_>| {
            let value = item.to_value(Reader::V3).ok();
            let json = value.as_ref().and_then(Value::to_json);
            let text = json.map_or_else(|| item.source().to_owned(), |json| canonical(&json));
            (text, value.filter(|value| value.as_map().is_some()))
        };
        node.items().map(value).collect()
    };
    let (here, there) = (values(merged), values(side));
    let texts = |all: &[(String, Option<Value>)]| -> Vec<String> {
        all.iter().map(|(text, _)| text.clone()).collect()
    };
    let map = |all: &'_ [(String, Option<Value>)], at: usize| all.get(at)?.1.clone();
    let alike = |a: usize, b: usize| {
        let (Some(a), Some(b)) = (map(&here, a), map(&there, b)) else {
            return false;
        };
        let (kept, all) = kept(&b, Some(&a));
        kept * 2 > all
    };
    let mut partners = vec![None; here.len()];
    for op in capture_diff_slices(Algorithm::Myers, &texts(&here), &texts(&there)) {
        let (from, to) = (op.old_range(), op.new_range());
        let (equal, as_many) = (op.tag() == DiffTag::Equal, from.len() == to.len());
        for at in from.clone() {
            let beside = to.start + at - from.start;
            let mut left = to.clone().filter(|to| !partners.contains(&Some(*to)));
            let partner = match map(&here, at) {
                _ if equal => Some(beside),
                Some(_) => left.find(|to| alike(at, *to)),
                None => Some(beside).filter(|to| as_many && map(&there, *to).is_none()),
            };
            if let Some(place) = partners.get_mut(at) {
                *place = partner;
            }
        }
    }
    partners
}
