//! Lists whose elements nothing tells apart: as sequences, where the two sides' changes do not touch (M22).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use yaml::{Node, NodeKind, Reader, Value};

use super::three::{Slot, Three};
use crate::place::PathStep;
use crate::values::{canonical, kept};

/// How many elements may differ before a list is not compared element by element any more.
pub(super) const ELEMENTS: usize = 4000;

/// Elements that become others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// Pairs the elements of a list by their values and places; `None` where the sides changed the same ones, or put in or
/// took away the same value at different places. `grants` says that two fields of an element mean more together.
pub(super) fn slots(three: Three<'_>, grants: bool) -> Option<Vec<Slot>> {
    // One numbering for all sides: what follows compares elements many times, and texts of maps are long.
    let mut known = BTreeMap::new();
    let base = numbers(three.base, &mut known)?;
    let local = numbers(three.local, &mut known)?;
    let upstream = numbers(three.upstream, &mut known)?;
    let (mine, theirs) = (changes(&base, &local)?, changes(&base, &upstream)?);
    // What both did alike is one change and cannot be in its own way.
    let agreed = |a: &Change, b: &Change| {
        a.old == b.old && local.get(a.new.clone()) == upstream.get(b.new.clone())
    };
    let touch = |a: &Change, b: &Change| {
        touch(&a.old, &b.old) && !agreed(a, b) && !in_place(three, [a, b], grants)
    };
    let clash = |a: &Change| theirs.iter().any(|b| touch(a, b));
    if mine.iter().any(clash) {
        return None;
    }
    let alone = |all: &'_ [Change], others: &[Change], swap: bool| -> Vec<Change> {
        let same = |a: &Change, b: &Change| if swap { agreed(b, a) } else { agreed(a, b) };
        let alone = |change: &&Change| !others.iter().any(|other| same(change, other));
        all.iter().filter(alone).cloned().collect()
    };
    let (own, others) = (alone(&mine, &theirs, false), alone(&theirs, &mine, true));
    let alone: Vec<&Change> = own.iter().chain(&others).collect();
    if moved_and_touched(&base, [(&local, &mine), (&upstream, &theirs)], &alone) {
        return None;
    }
    let only = |all: &[Change], others: &[Change]| -> Vec<Change> {
        // Changes at one and the same place were judged together above; what crosses is looked for among the others.
        let both = |change: &&Change| !others.iter().any(|other| other.old == change.old);
        all.iter().filter(both).cloned().collect()
    };
    let apart = [
        (&local, only(&mine, &theirs)),
        (&upstream, only(&theirs, &mine)),
    ];
    if crossing(
        &base,
        apart
            .each_ref()
            .map(|(side, own)| (side.as_slice(), own.as_slice())),
    ) {
        return None;
    }
    Some(paired(
        base.len(),
        &mine,
        &theirs,
        [local.len(), upstream.len()],
    ))
}

/// The elements of a side as numbers: equal values have equal ones.
fn numbers(node: Option<Node<'_>>, known: &mut BTreeMap<String, usize>) -> Option<Vec<usize>> {
    let items = node.into_iter().flat_map(|node| node.items());
    let number = |item: Node<'_>| {
        let value = item.to_value(Reader::V3).ok()?;
        let text = match value.to_json() {
            Some(json) => canonical(&json),
            None => item.source().to_owned(),
        };
        let next = known.len();
        Some(*known.entry(text).or_insert(next))
    };
    items.map(number).collect()
}

/// What differs between two lists; `None` where too much does.
fn changes(old: &[usize], new: &[usize]) -> Option<Vec<Change>> {
    if old.len() + new.len() > ELEMENTS {
        return None;
    }
    let ops = capture_diff_slices(Algorithm::Myers, old, new);
    let changed = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    let mut changes: Vec<Change> = Vec::new();
    for op in changed {
        let (old, new) = (op.old_range(), op.new_range());
        match changes.last_mut() {
            // The comparison tells a replacement as a deletion and an insertion side by side: taken apart, the insertion would
            // touch nothing.
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                last.old.end = old.end;
                last.new.end = new.end;
            }
            _ => changes.push(Change { old, new }),
        }
    }
    Some(changes)
}

/// Whether two changes concern the same elements, or neighbours.
fn touch(a: &Range<usize>, b: &Range<usize>) -> bool {
    // Neighbours touch: whoever puts an element between two others relies on what they are.
    a.start <= b.end && b.start <= a.end
}

/// Whether two changes concern maps and do not meet in truth: one changes some in their places, the other one changes
/// others, puts some in or takes others away, and what both change stayed the same. A scalar may mean nothing without
/// the one beside it (`--port`, `80`).
fn in_place(three: Three<'_>, [mine, theirs]: [&Change; 2], grants: bool) -> bool {
    let stays = |change: &Change| change.old.len() == change.new.len();
    let plain = |change: &Change| stays(change) || change.old.is_empty() || change.new.is_empty();
    let maps = |side: Option<Node<'_>>, range: &Range<usize>| {
        let mut all = range.clone().map(|index| side?.at(index));
        all.all(|item| item.is_some_and(|item| item.kind() == NodeKind::Mapping))
    };
    let known = maps(three.base, &mine.old)
        && maps(three.local, &mine.new)
        && maps(three.base, &theirs.old)
        && maps(three.upstream, &theirs.new);
    if !known || !plain(mine) || !plain(theirs) || !(stays(mine) || stays(theirs)) {
        return false;
    }
    let mut both = mine.old.start.max(theirs.old.start)..mine.old.end.min(theirs.old.end);
    if !stays(mine) || !stays(theirs) {
        return both.is_empty();
    }
    both.all(|index| {
        let at = |change: &Change| change.new.start + index - change.old.start;
        let value = |side: Option<Node<'_>>, at: usize| side?.at(at)?.to_value(Reader::V3).ok();
        let base = value(three.base, index);
        let local = value(three.local, at(mine));
        let upstream = value(three.upstream, at(theirs));
        match (base, local, upstream) {
            (Some(base), Some(local), Some(upstream)) if grants => {
                one_field(&base, [&local, &upstream])
            }
            (Some(base), Some(local), Some(upstream)) => {
                let mostly = |side: &Value| {
                    let (kept, all) = kept(&base, Some(side));
                    kept * 2 > all
                };
                mostly(&local) && mostly(&upstream)
            }
            _ => false,
        }
    })
}

/// Whether both sides changed one and the same field of an element.
fn one_field(base: &Value, sides: [&Value; 2]) -> bool {
    let fields = sides.into_iter().chain([base]);
    let fields = fields.flat_map(|side| side.as_map().unwrap_or_default());
    let names: BTreeSet<&str> = fields.map(|(name, _)| name.as_str()).collect();
    let changed = |name: &&&str| sides.iter().any(|side| side.get(name) != base.get(name));
    names.iter().filter(changed).count() == 1
}

/// Whether one side puts in a value that the other puts in or takes away altogether elsewhere: nobody can say whether
/// that is one element or two.
fn crossing(base: &[usize], sides: [(&[usize], &[Change]); 2]) -> bool {
    let [mine, theirs] = sides.map(|(side, changes)| {
        let put = |value: &usize| {
            let count = |all: &[usize]| all.iter().filter(|other| *other == value).count();
            count(side) > count(base)
        };
        let inside = |range: &Range<usize>| side.get(range.clone()).unwrap_or_default().to_vec();
        let new = changes.iter().flat_map(|change| inside(&change.new));
        let new: BTreeSet<usize> = new.filter(put).collect();
        let old = changes
            .iter()
            .filter_map(|change| base.get(change.old.clone()));
        let gone = old.flatten().filter(|value| !side.contains(value));
        (new, gone.copied().collect::<BTreeSet<usize>>())
    });
    let meet = |a: &BTreeSet<usize>, b: &BTreeSet<usize>| !a.is_disjoint(b);
    meet(&mine.0, &theirs.0) || meet(&mine.0, &theirs.1) || meet(&mine.1, &theirs.0)
}

/// Whether one side moved a value that the other one moved elsewhere, took away or put in: taken away at its old place by
/// both, it would come back at the new one, or stand at both new ones. What both moved alike is one move.
fn moved_and_touched(base: &[usize], sides: [(&[usize], &[Change]); 2], apart: &[&Change]) -> bool {
    let values = |all: &[usize], range: &Range<usize>| -> Vec<usize> {
        all.get(range.clone()).unwrap_or_default().to_vec()
    };
    let [mine, theirs] = sides.map(|(side, changes)| {
        let of = |change: &Change| (values(base, &change.old), values(side, &change.new));
        let all: Vec<_> = changes.iter().map(of).collect();
        let old = all.iter().flat_map(|(old, _)| old.iter().copied());
        let new = all.iter().flat_map(|(_, new)| new.iter().copied());
        let (old, new): (BTreeSet<usize>, BTreeSet<usize>) = (old.collect(), new.collect());
        let alone = changes.iter().filter(|change| apart.contains(change));
        let alone: BTreeSet<usize> = alone
            .flat_map(|change| [values(base, &change.old), values(side, &change.new)].concat())
            .collect();
        (old, new, alone)
    });
    let (touched_by_me, touched_by_them) = (&mine.0 | &mine.1, &theirs.0 | &theirs.1);
    let alone = &mine.2 | &theirs.2;
    let moved = |(old, new): (&BTreeSet<usize>, &BTreeSet<usize>), touched: &BTreeSet<usize>| {
        let mut both = old.intersection(new);
        both.any(|value| touched.contains(value) && alone.contains(value))
    };
    moved((&mine.0, &mine.1), &touched_by_them) || moved((&theirs.0, &theirs.1), &touched_by_me)
}

/// Where each element of the base stands on a side: unchanged ones, and those of changes of as many into as many.
fn partners(base: usize, changes: &[Change]) -> Vec<Option<usize>> {
    let mut partners = vec![None; base];
    let (mut old, mut new) = (0, 0);
    for change in changes {
        pair(&mut partners, old..change.old.start, new);
        // As many for as many: each became the one in its place. With other numbers nobody knows which became which.
        if change.old.len() == change.new.len() {
            pair(&mut partners, change.old.clone(), change.new.start);
        }
        (old, new) = (change.old.end, change.new.end);
    }
    pair(&mut partners, old..base, new);
    partners
}

fn pair(partners: &mut [Option<usize>], range: Range<usize>, new: usize) {
    for (partner, index) in partners.get_mut(range).into_iter().flatten().zip(new..) {
        *partner = Some(index);
    }
}

fn paired(
    base: usize,
    mine: &[Change],
    theirs: &[Change],
    [local, upstream]: [usize; 2],
) -> Vec<Slot> {
    let (to_local, to_upstream) = (partners(base, mine), partners(base, theirs));
    let back = |partners: &[Option<usize>]| -> BTreeMap<usize, usize> {
        let known = partners.iter().zip(0..);
        known
            .filter_map(|(to, from)| Some(((*to)?, from)))
            .collect()
    };
    let (from_local, from_upstream) = (back(&to_local), back(&to_upstream));
    // What both put in at one place is the same.
    let mut both = BTreeMap::new();
    for (a, b) in mine.iter().flat_map(|a| theirs.iter().map(move |b| (a, b))) {
        if a.old == b.old && a.new.len() == b.new.len() {
            both.extend(a.new.clone().zip(b.new.clone()));
        }
    }
    let mut slots: Vec<Slot> = Vec::new();
    for index in 0..local {
        let from = from_local.get(&index).copied();
        let known = from.and_then(|from| to_upstream.get(from).copied().flatten());
        slots.push(Slot {
            base: from,
            local: Some(index),
            upstream: known.or_else(|| both.get(&index).copied()),
            step: PathStep::Index(index),
        });
    }
    let taken: BTreeSet<usize> = slots.iter().filter_map(|slot| slot.upstream).collect();
    let new = (0..upstream).filter(|index| !taken.contains(index));
    slots.extend(new.map(|index| Slot {
        base: from_upstream.get(&index).copied(),
        local: None,
        upstream: Some(index),
        step: PathStep::Index(index),
    }));
    slots
}
