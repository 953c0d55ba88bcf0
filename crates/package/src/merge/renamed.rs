//! Elements of a list that got another name: known again by most of what they hold (M13b). Nothing is merged here.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use yaml::{Node, Reader, Value};

use super::identify::Elements;
use super::three::Three;
use super::work;
use crate::place::PathStep;
use crate::values::{kept, same};

/// Of how many scalars most must be left for an element to be known again by them.
const ENOUGH: usize = 3;

/// How many scalars are compared at most to find which element became which: each former one is held against each new one. Of
/// lists in which more would have to be, nobody says that they pair.
const MOST: usize = 250_000;

impl Elements {
    /// Pairs the one element of this base that has no partner on a side with the one there that is new, where most of
    /// it is still the same, and the other side left it its identity, or took it away and put nothing in its place.
    pub(super) fn renamed(
        &self,
        (side, partners): (&Self, &mut [Option<usize>]),
        (other, others): (&Self, &[Option<usize>]),
        [old, new]: [Option<Node<'_>>; 2],
    ) {
        let (Some(from), Some(to)) = (left(partners), new_one(side, partners)) else {
            return;
        };
        let (Some(step), Some(own)) = (self.steps.get(from), side.steps.get(to)) else {
            return;
        };
        // The other side may have deleted what was renamed here: then the edit meets a deletion. Anything new over there could
        // be the same element under a third name, so nothing is said then.
        let deleted = is_named(step)
            && others.get(from).is_some_and(Option::is_none)
            && new_ones(other, others).is_empty();
        if other.find(step).is_none() && !deleted || other.find(own).is_some() {
            return;
        }
        let old = old.and_then(|side| side.at(from));
        let alike = old
            .zip(new.and_then(|side| side.at(to)))
            .and_then(|(old, new)| {
                let value = |node: Node<'_>| node.to_value(Reader::V3).ok();
                Some(alike(step, &value(old)?, &value(new)?))
            })
            .is_some_and(|(kept, all)| {
                // What was taken away on the other side is a question, however little it holds.
                all >= ENOUGH && kept * 3 >= all * 2 || deleted && all > 0 && kept == all
            });
        if let Some(partner) = partners.get_mut(from).filter(|_| alike) {
            *partner = Some(to);
        }
    }

    /// Pairs the elements of this base that are on no side with those that are new on each, where most of one is still the
    /// same on both (M13b); `None` where each side gave one another identity, for it can have one alone.
    pub(super) fn renamed_by_both(
        &self,
        [local, upstream]: [&Self; 2],
        [to_local, to_upstream]: [&mut [Option<usize>]; 2],
        three: Three<'_>,
    ) -> Option<()> {
        let all = to_local.iter().zip(to_upstream.iter()).zip(0..);
        let gone: Vec<usize> = all
            .filter_map(|((mine, theirs), at)| (mine.is_none() && theirs.is_none()).then_some(at))
            .filter(|at| self.steps.get(*at).is_some_and(is_named))
            .collect();
        let mut new = [new_ones(local, to_local), new_ones(upstream, to_upstream)];
        if gone.is_empty() || new.iter().any(Vec::is_empty) {
            return Some(());
        }
        let old = Values::of(three.base, &gone);
        if old.scalars() * new.iter().map(Vec::len).sum::<usize>() > MOST {
            // Any of them may be two names of one element: the list is one value.
            return None;
        }
        let values = |side: Option<Node<'_>>, new: &[usize]| Values::of(side, new);
        let (mine, theirs) = (
            values(three.local, &new[0]),
            values(three.upstream, &new[1]),
        );
        let mut two_names = false;
        for from in gone {
            let Some(step) = self.steps.get(from) else {
                continue;
            };
            let Some(old) = old.0.get(&from) else {
                continue;
            };
            let likest = |side: &Values, new: &[usize], half| likest(step, old, side, new, half);
            let (local_values, upstream_values) = (&mine, &theirs);
            let mine = likest(local_values, &new[0], false);
            let theirs = likest(upstream_values, &new[1], false);
            // Of one that is known again on one side, half is enough on the other.
            let half = mine.is_some() || theirs.is_some();
            let mine = mine.or_else(|| likest(local_values, &new[0], half));
            let theirs = theirs.or_else(|| likest(upstream_values, &new[1], half));
            // One name on both sides is one element, even if one of them changed most of it.
            let named = |side: &Self, other: &Self, at: usize, new: &[usize]| {
                let index = other.find(side.steps.get(at)?)?;
                new.contains(&index).then_some(index)
            };
            let pair = match (mine, theirs) {
                (Some(mine), Some(theirs)) => Some((mine, theirs)),
                (Some(mine), None) => named(local, upstream, mine, &new[1]).map(|at| (mine, at)),
                (None, Some(theirs)) => {
                    named(upstream, local, theirs, &new[0]).map(|at| (at, theirs))
                }
                (None, None) => None,
            };
            let Some((mine, theirs)) = pair else { continue };
            for (partners, to) in [(&mut *to_local, mine), (&mut *to_upstream, theirs)] {
                if let Some(partner) = partners.get_mut(from) {
                    *partner = Some(to);
                }
            }
            // One new element is one former one at most.
            new[0].retain(|at| *at != mine);
            new[1].retain(|at| *at != theirs);
            // One pair with two names spoils the list: whichever name wins, the other side's element would stand beside it.
            two_names |= local.steps.get(mine) != upstream.steps.get(theirs);
        }
        (!two_names).then_some(())
    }

    /// `None` where both sides gave one identity to what are two elements of this base: one of them would be lost in the
    /// other (M13b).
    pub(super) fn named_alike_by_both(
        &self,
        [(local, to_local), (upstream, to_upstream)]: [(&Self, &[Option<usize>]); 2],
        three: Three<'_>,
    ) -> Option<()> {
        let gone = |partners: &[Option<usize>]| -> Values {
            let gone = partners.iter().enumerate().filter(|(_, to)| to.is_none());
            let gone: Vec<usize> = gone.map(|(from, _)| from).collect();
            Values::of(three.base, &gone)
        };
        let former = |gone: &Values, side: Option<Node<'_>>, at: usize| {
            let value = Values::of(side, &[at]);
            let mut gone = gone.0.iter();
            let known = |(from, old): &(&usize, &Value)| {
                let step = self.steps.get(**from);
                step.is_some_and(|step| likest(step, old, &value, &[at], false).is_some())
            };
            gone.find(known).map(|(from, _)| *from)
        };
        let gone = LazyCell::new(|| [gone(to_local), gone(to_upstream)]);
        let taken: BTreeSet<usize> = to_upstream.iter().flatten().copied().collect();
        let mut left = MOST;
        for mine in new_ones(local, to_local) {
            let theirs = local.steps.get(mine).and_then(|own| upstream.find(own));
            let Some(theirs) = theirs.filter(|at| !taken.contains(at)) else {
                continue;
            };
            let new = three.local.and_then(|side| side.at(mine));
            // Equal elements are one, wherever each side took its own from.
            let equal = new.zip(three.upstream.and_then(|side| side.at(theirs)));
            if equal.is_some_and(|(mine, theirs)| same(mine, theirs)) {
                continue;
            }
            let [from_local, from_upstream] = &*gone;
            left = left.checked_sub(from_local.scalars() + from_upstream.scalars())?;
            // A new one there and a renamed one here, or two different former ones: merged, one would vanish in the other.
            let was = former(from_local, three.local, mine);
            if was != former(from_upstream, three.upstream, theirs) {
                return None;
            }
        }
        Some(())
    }
}

/// Whether an element is known by its name alone.
fn is_named(step: &PathStep) -> bool {
    // Only a name is nothing but a name: a condition's type, or a port, is what it is.
    matches!(step, PathStep::Element(keys)
        if matches!(keys.as_slice(), [(key, _)] if key == "name"))
}

/// What some elements of a side mean, read once.
struct Values(BTreeMap<usize, Value>);

impl Values {
    fn of(side: Option<Node<'_>>, elements: &[usize]) -> Self {
        let value = |at: &usize| Some((*at, side?.at(*at)?.to_value(Reader::V3).ok()?));
        Self(elements.iter().filter_map(value).collect())
    }

    fn scalars(&self) -> usize {
        self.0.values().map(|value| kept(value, None).1).sum()
    }
}

/// Of the new elements of a side the one that holds most of what a former one held, if that is enough to know it again.
fn likest(step: &PathStep, old: &Value, side: &Values, new: &[usize], half: bool) -> Option<usize> {
    if !is_named(step) {
        return None;
    }
    // Of a few fields all must be left.
    let enough = |(kept, all): (usize, usize)| {
        let most = kept * 3 >= all * 2 || half && kept * 2 >= all;
        all >= ENOUGH && most || all > 0 && kept == all
    };
    let mut best = None;
    for at in new {
        work::done(1);
        let same = side.0.get(at).map(|item| alike(step, old, item));
        let Some((kept, _)) = same.filter(|same| enough(*same)) else {
            continue;
        };
        // Of two that hold as much the first counts, so that the same sides always pair the same way.
        if best.is_none_or(|(most, _)| kept > most) {
            best = Some((kept, *at));
        }
    }
    best.map(|(_, at)| at)
}

/// The only number, if there is one.
fn lone(mut all: impl Iterator<Item = usize>) -> Option<usize> {
    match (all.next(), all.next()) {
        (Some(index), None) => Some(index),
        _ => None,
    }
}

/// The only element without a partner.
fn left(partners: &[Option<usize>]) -> Option<usize> {
    let unpaired = partners.iter().enumerate();
    lone(unpaired.filter_map(|(index, to)| to.is_none().then_some(index)))
}

/// The elements of a side that are nobody's partners.
fn new_ones(side: &Elements, partners: &[Option<usize>]) -> Vec<usize> {
    let taken: BTreeSet<usize> = partners.iter().flatten().copied().collect();
    let all = 0..side.steps.len();
    all.filter(|index| !taken.contains(index)).collect()
}

/// The only element of a side that is nobody's partner.
fn new_one(side: &Elements, partners: &[Option<usize>]) -> Option<usize> {
    lone(new_ones(side, partners).into_iter())
}

/// How many scalars of an element, its keys not counted, stand in another one, and how many there are.
fn alike(step: &PathStep, old: &Value, new: &Value) -> (usize, usize) {
    let keys = match step {
        PathStep::Element(keys) => keys.len(),
        _ => 0,
    };
    let (kept, all) = kept(old, Some(new));
    (kept, all.saturating_sub(keys))
}
