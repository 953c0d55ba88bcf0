//! The order of a merged list (M13): local's, unless upstream alone changed it.
//!
//! Elements are known by their positions on the three sides. What they hold, and whether they stay, is decided before.

use std::collections::BTreeMap;

use super::three::Slot;
use super::work;
use crate::place::FieldPath;

/// What becomes of the order of a list.
pub(super) enum Order {
    /// Elements stand as they should.
    Stays,
    /// They have to stand in another order: old positions, in the order that is wanted.
    Wanted(Vec<usize>),
    /// Both sides changed it, each in its own way: what they share, as base, local and upstream order it.
    Differs([Vec<String>; 3]),
}

/// An element of the merged list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Element {
    Local(usize),
    /// New, by its position upstream.
    New(usize),
}

/// A list while it is merged: which local elements stay, which of upstream's come.
pub(super) struct Merged<'s> {
    slots: &'s [Slot],
    gone: &'s [bool],
    /// Where elements that stay stand upstream, in that order, and where they do here.
    staying: Vec<(usize, usize)>,
    /// What comes, with the position of the local element that it precedes.
    inserted: Vec<(usize, usize)>,
}

impl<'s> Merged<'s> {
    pub(super) fn new(slots: &'s [Slot], gone: &'s [bool]) -> Self {
        let stays = |slot: &Slot| {
            let local = slot.local.filter(|index| gone.get(*index) == Some(&false));
            Some((slot.upstream?, local?))
        };
        let mut staying: Vec<(usize, usize)> = slots.iter().filter_map(stays).collect();
        staying.sort_by_key(|(upstream, _)| *upstream);
        Self {
            slots,
            gone,
            staying,
            inserted: Vec::new(),
        }
    }

    fn stays(&self, index: usize) -> bool {
        self.gone.get(index) == Some(&false)
    }

    /// Puts in an element of upstream: before what follows it there. Says before which local element.
    pub(super) fn insert(&mut self, from: usize) -> usize {
        // By what follows and not by what precedes: an element that was added here stays behind the one that it was added to.
        let next = self.staying.partition_point(|(upstream, _)| {
            work::done(1);
            *upstream <= from
        });
        let next = self.staying.get(next).map(|(_, local)| *local);
        let before = next.unwrap_or(self.gone.len());
        self.inserted.push((before, from));
        before
    }

    /// What becomes of the order; elements that are not `movable` stay where they are.
    pub(super) fn order(&self, movable: bool) -> Order {
        // A side that lacks an element, or has a new one, says nothing about order by it.
        let shared = |slot: &&Slot| {
            let stays = slot.local.is_some_and(|index| self.stays(index));
            stays && slot.base.is_some() && slot.upstream.is_some()
        };
        let mut shared: Vec<&Slot> = self.slots.iter().filter(shared).collect();
        shared.sort_by_key(|slot| slot.base);
        if shared.is_sorted_by_key(|slot| slot.upstream) {
            return Order::Stays;
        }
        if movable && shared.is_sorted_by_key(|slot| slot.local) {
            return self.upstreams();
        }
        let names = |shared: &[&Slot]| -> Vec<String> {
            let step = |slot: &&Slot| FieldPath(vec![slot.step.clone()]).to_string();
            shared.iter().map(step).collect()
        };
        let base = names(&shared);
        shared.sort_by_key(|slot| slot.local);
        // Both moved elements and came to the same order.
        if shared.is_sorted_by_key(|slot| slot.upstream) {
            return Order::Stays;
        }
        let local = names(&shared);
        shared.sort_by_key(|slot| slot.upstream);
        Order::Differs([base, local, names(&shared)])
    }

    /// Upstream's order; what only local has follows what it follows there.
    fn upstreams(&self) -> Order {
        let now = self.now();
        let upstream: BTreeMap<usize, usize> = self
            .slots
            .iter()
            .filter_map(|slot| Some((slot.local?, slot.upstream?)))
            .collect();
        let place = |element: &Element| match element {
            Element::New(from) => Some(*from),
            Element::Local(index) => upstream.get(index).copied(),
        };
        let mut wanted: Vec<Element> = now.iter().filter(|e| place(e).is_some()).copied().collect();
        wanted.sort_by_key(place);
        // What only local has stands behind the element that it follows there, or before all.
        let mut behind: BTreeMap<Option<Element>, Vec<Element>> = BTreeMap::new();
        let mut before = None;
        for index in (0..self.gone.len()).filter(|index| self.stays(*index)) {
            let own = Element::Local(index);
            match place(&own) {
                Some(_) => before = Some(own),
                None => behind.entry(before).or_default().push(own),
            }
        }
        let mut all = behind.remove(&None).unwrap_or_default();
        for element in wanted {
            all.push(element);
            all.extend(behind.remove(&Some(element)).unwrap_or_default());
        }
        let places: BTreeMap<Element, usize> = now.into_iter().zip(0..).collect();
        let order = all.iter().filter_map(|element| places.get(element));
        Order::Wanted(order.copied().collect())
    }

    /// The elements as they stand without a new order.
    fn now(&self) -> Vec<Element> {
        let mut new: BTreeMap<usize, Vec<Element>> = BTreeMap::new();
        for (before, from) in &self.inserted {
            new.entry(*before).or_default().push(Element::New(*from));
        }
        let mut now = Vec::new();
        for index in 0..=self.gone.len() {
            now.extend(new.remove(&index).unwrap_or_default());
            if self.stays(index) {
                now.push(Element::Local(index));
            }
        }
        now
    }
}
