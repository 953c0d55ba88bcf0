//! Which items of a merged list come from which of the sides.
//!
//! The result is not asked where it came from: an item is one of a side that is written the same, else one that is known by the
//! same there. Nothing is merged here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use similar::{Algorithm, DiffTag, capture_diff_slices};
use yaml::{Node, Reader, Value};

use super::three::{Slot, Three};
use super::{pairs, sequence, work};
use crate::place::PathStep;
use crate::schema::ListRule;
use crate::values::{canonical, kept};

/// How many scalars are compared at most to find the maps of a list that are mostly alike: each may be held against each.
const LIKENESSES: usize = 250_000;

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
    let by = |of: fn(&Slot) -> Option<usize>| -> BTreeMap<usize, &Slot> {
        let slots = slots.iter().rev();
        slots.filter_map(|slot| Some((of(slot)?, slot))).collect()
    };
    let (by_local, by_upstream) = (by(|slot| slot.local), by(|slot| slot.upstream));
    let slot = |index: usize| {
        // Equal text is surer than an equal key: of two elements that exchanged their names the key leads to the wrong one.
        [Likeness::written, Likeness::known]
            .into_iter()
            .find_map(|find| {
                let at = |side: Option<&Likeness>| find(side?, index);
                let (mine, theirs) = (at(mine.as_ref()), at(theirs.as_ref()));
                work::done(1);
                // What nobody touched here was taken from upstream as it stands there.
                let found = theirs.and_then(|theirs| by_upstream.get(&theirs));
                found.or_else(|| by_local.get(&mine?)).copied()
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
    let at = |side: Option<Node<'_>>, at: usize| Some(meaning(side?.at(at)?).0);
    // What came on one side alone, by what it means: on the other side it may have gone from its old place.
    let mut came: [BTreeMap<String, VecDeque<usize>>; 2] = Default::default();
    let [here, there] = &mut came;
    for (index, slot) in slots.iter().enumerate() {
        let (all, text) = match (slot.base, slot.local, slot.upstream) {
            (None, Some(mine), None) => (&mut *here, at(three.local, mine)),
            (None, None, Some(theirs)) => (&mut *there, at(three.upstream, theirs)),
            _ => continue,
        };
        if let Some(text) = text {
            all.entry(text).or_default().push_back(index);
        }
    }
    let mut joined = BTreeSet::new();
    for index in 0..slots.len() {
        let Some(slot) = slots.get(index).filter(|slot| slot.base.is_some()).cloned() else {
            continue;
        };
        let (came, text) = match (slot.local, slot.upstream) {
            (Some(mine), None) => (&mut *there, at(three.local, mine)),
            (None, Some(theirs)) => (&mut *here, at(three.upstream, theirs)),
            _ => continue,
        };
        let came = text.and_then(|text| came.get_mut(&text)?.pop_front());
        let Some((came, other)) = came.and_then(|came| Some((came, slots.get(came).cloned()?)))
        else {
            continue;
        };
        joined.insert(came);
        if let Some(slot) = slots.get_mut(index) {
            slot.local = slot.local.or(other.local);
            slot.upstream = slot.upstream.or(other.upstream);
        }
    }
    let all = slots.into_iter().enumerate();
    let all = all.filter(|(index, _)| !joined.contains(index));
    all.map(|(_, slot)| slot).collect()
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

/// A text that equal values have in common, and the value where it is a map.
fn meaning(item: Node<'_>) -> (String, Option<Value>) {
    let value = item.to_value(Reader::V3).ok();
    let json = value.as_ref().and_then(Value::to_json);
    let text = json.map_or_else(|| item.source().to_owned(), |json| canonical(&json));
    (text, value.filter(|value| value.as_map().is_some()))
}

/// An item that is a map.
fn map(all: &[(String, Option<Value>)], at: usize) -> Option<&Value> {
    all.get(at)?.1.as_ref()
}

/// Pairs the items of lists without keys: equal ones in order; between them maps that are mostly alike, and of the rest as
/// many as there are.
fn in_order(merged: Node<'_>, side: Node<'_>) -> Vec<Option<usize>> {
    let values = |node: Node<'_>| node.items().map(meaning).collect::<Vec<_>>();
    let (here, there) = (values(merged), values(side));
    let mut partners = vec![None; here.len()];
    if here.len() + there.len() > sequence::ELEMENTS {
        return partners;
    }
    let texts = |all: &'_ [(String, Option<Value>)]| -> Vec<String> {
        all.iter().map(|(text, _)| text.clone()).collect()
    };
    let mut left = LIKENESSES;
    let mut alike = |a: usize, b: usize| {
        let (Some(a), Some(b)) = (map(&here, a), map(&there, b)) else {
            return false;
        };
        if left == 0 {
            return false;
        }
        let (kept, all) = kept(b, Some(a));
        work::done(all);
        left = left.saturating_sub(all.max(1));
        kept * 2 > all
    };
    for op in capture_diff_slices(Algorithm::Myers, &texts(&here), &texts(&there)) {
        let (from, to) = (op.old_range(), op.new_range());
        let (equal, as_many) = (op.tag() == DiffTag::Equal, from.len() == to.len());
        let mut free: BTreeSet<usize> = to.clone().collect();
        for at in from.clone() {
            let beside = to.start + at - from.start;
            let partner = match map(&here, at) {
                _ if equal => Some(beside),
                Some(_) => free.iter().copied().find(|to| alike(at, *to)),
                None => Some(beside).filter(|to| as_many && map(&there, *to).is_none()),
            };
            if let Some(partner) = partner {
                free.remove(&partner);
            }
            if let Some(place) = partners.get_mut(at) {
                *place = partner;
            }
        }
    }
    partners
}
