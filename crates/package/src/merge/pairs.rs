//! Which elements of a list are the same on the three sides: by their identities, else by what they are known by.
//!
//! Nothing is merged here. What a pair becomes is decided where the list merges.

use std::collections::{BTreeMap, BTreeSet};

use yaml::{Node, Reader, Value};

use super::functions;
use super::identify::Elements;
use super::three::{Slot, Three};
use crate::place::PathStep;
use crate::schema::{ListKey, ListRule};
use crate::values::canonical;

/// Pairs the elements of a list by their identities; `None` where one has none, or two have the same.
pub(super) fn slots(three: Three<'_>, list: ListRule<'_>) -> Option<Vec<Slot>> {
    match list {
        ListRule::Atomic | ListRule::Grants => None,
        ListRule::Functions => functions::slots_of(three),
        ListRule::Unstated => inferred(three),
        ListRule::Map(_) => paired(three, list, &[KnownBy::Name, KnownBy::Rest]),
        ListRule::Set | ListRule::Values => paired(three, list, &[]),
    }
}

/// Pairs elements by the first field of these that each of them has and that is unique on every side (M22).
fn inferred(three: Three<'_>) -> Option<Vec<Slot>> {
    let lists = ListKey::usual().iter().map(|keys| ListRule::Map(keys));
    let mut pairs = lists.map(|list| paired(three, list, &[KnownBy::Rest]));
    pairs.find_map(|pairs| pairs)
}

/// What an element is known by beside its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownBy {
    /// Its `name`, where a stated key changed that is none (M13b).
    Name,
    /// All that it holds but its key, where the other side left the element that key.
    Rest,
}

/// Pairs elements by their identities, those whose identity changed by what else they are known by; `None` too where both
/// sides gave one element an identity, each its own.
fn paired(three: Three<'_>, list: ListRule<'_>, known: &[KnownBy]) -> Option<Vec<Slot>> {
    let base = Elements::of(three.base, list)?;
    let local = Elements::of(three.local, list)?;
    let upstream = Elements::of(three.upstream, list)?;
    // Marks cost a canonical text of every element. They are made only where an identity of base is missing on a side:
    // elsewhere nothing can have been renamed.
    let gone = |step: &PathStep| local.find(step).is_none() || upstream.find(step).is_none();
    let changed = base.steps.iter().any(gone);
    let known = known.iter().filter(|_| changed);
    let marked = known.filter_map(|known| Some((*known, marks(three, list, *known)?)));
    let marked: Vec<Marked> = marked.collect();
    let mut to_local = base.partners(&local, &upstream, &marked, 1);
    let mut to_upstream = base.partners(&upstream, &local, &marked, 2);
    // What both sides renamed is paired first: taken one side at a time it would count as deleted by the other. The check for
    // one name given to two elements comes last, when all that can be paired is.
    if marked.iter().any(|(known, _)| *known == KnownBy::Rest) {
        let sides = [&local, &upstream];
        base.renamed_by_both(sides, [&mut to_local, &mut to_upstream], three)?;
        let sides = [three.base, three.local];
        base.renamed((&local, &mut to_local), (&upstream, &to_upstream), sides);
        let sides = [three.base, three.upstream];
        base.renamed((&upstream, &mut to_upstream), (&local, &to_local), sides);
        let both = [
            (&local, to_local.as_slice()),
            (&upstream, to_upstream.as_slice()),
        ];
        base.named_alike_by_both(both, three)?;
    }
    let pairs = Pairs {
        to_local,
        to_upstream,
        names: marked
            .into_iter()
            .find(|(known, _)| *known == KnownBy::Name)
            .map(|(_, [base, ..])| base),
        base,
        local,
        upstream,
    };
    Some(pairs.slots())
}

impl Elements {
    /// For each element of this base its partner on a side, which is the one at `at` of the marks.
    fn partners(
        &self,
        side: &Self,
        other: &Self,
        marked: &[Marked],
        at: usize,
    ) -> Vec<Option<usize>> {
        let places = |(_, marks): &Marked| -> BTreeMap<String, usize> {
            let marks = marks.get(at).into_iter().flatten().zip(0..);
            let marks = marks.filter_map(|(mark, index)| Some((mark.clone()?, index)));
            marks.collect()
        };
        let marked: Vec<_> = marked.iter().map(|by| (by, places(by))).collect();
        let again =
            |index: usize,
             step: &PathStep,
             ((known, marks), places): &(&Marked, BTreeMap<String, usize>)| {
                let mark = marks.first()?.get(index)?.as_ref()?;
                let index = *places.get(mark)?;
                let own = side.steps.get(index)?;
                // An element whose key another element of base has is that other one, whatever it holds.
                let taken = self.find(own).is_some();
                // The other side must know it by the old key, and nothing by the new one: else the pair would be two elements there.
                let left = other.find(step).is_some() && other.find(own).is_none();
                (!taken && (left || *known == KnownBy::Name)).then_some(index)
            };
        let mut seen = BTreeSet::new();
        let mut partner = |(index, step)| {
            let found = side.find(step);
            let found = found.or_else(|| marked.iter().find_map(|by| again(index, step, by)));
            // Two former elements cannot both have become the same one.
            found.filter(|index| seen.insert(*index))
        };
        let steps = self.steps.iter().enumerate();
        steps.map(&mut partner).collect()
    }
}

/// What else than its identity an element is known by, where that is unique.
type Marks = Vec<Option<String>>;

/// The marks of one kind, of all sides.
type Marked = (KnownBy, [Marks; 3]);

/// The mark of each element, where it is unique on every side.
fn marks(three: Three<'_>, list: ListRule<'_>, known: KnownBy) -> Option<[Marks; 3]> {
    let ListRule::Map(keys) = list else {
        return None;
    };
    let unfit = |key: &ListKey| match known {
        KnownBy::Name => key.name == "name",
        KnownBy::Rest => key.name.contains('.'),
    };
    if keys.iter().any(unfit) {
        return None;
    }
    let mark = |item: Node<'_>| match known {
        KnownBy::Name => {
            let name = item.effective("name")?.target().ok()?.scalar()?;
            (!name.is_empty()).then(|| name.to_owned())
        }
        KnownBy::Rest => {
            let Value::Map(mut entries) = item.to_value(Reader::V3).ok()? else {
                return None;
            };
            entries.retain(|(field, _)| keys.iter().all(|key| key.name != *field));
            let rest = (!entries.is_empty()).then_some(Value::Map(entries));
            Some(canonical(&rest?.to_json()?))
        }
    };
    let of = |node: Option<Node<'_>>| -> Marks {
        let items = node.into_iter().flat_map(|node| node.items());
        items.map(mark).collect()
    };
    let mut sides = [three.base, three.local, three.upstream].map(of);
    let mut twice: BTreeSet<String> = BTreeSet::new();
    // A pair is looked up on every side: what stands twice on any of them leads to nobody for certain.
    for side in &sides {
        let mut seen = BTreeSet::new();
        let again = side.iter().flatten().filter(|mark| !seen.insert(*mark));
        twice.extend(again.cloned());
    }
    for mark in sides.iter_mut().flatten() {
        *mark = mark.take().filter(|mark| !twice.contains(mark));
    }
    Some(sides)
}

/// The elements of three sides and which of them belong together.
struct Pairs {
    base: Elements,
    local: Elements,
    upstream: Elements,
    to_local: Vec<Option<usize>>,
    to_upstream: Vec<Option<usize>>,
    /// The names of the base's elements, where those lead to them whatever their keys are.
    names: Option<Marks>,
}

impl Pairs {
    fn slots(&self) -> Vec<Slot> {
        let (from_local, from_upstream) = (back(&self.to_local), back(&self.to_upstream));
        // Local elements come first and in their order: theirs is the result's unless upstream alone changed it.
        let mut slots: Vec<Slot> = Vec::new();
        for (index, own) in self.local.steps.iter().enumerate() {
            let from = from_local.get(&index).copied();
            // One identity added by both sides is one element, unless upstream's is a former one under that name.
            let added = || {
                let added = self.upstream.find(own);
                added.filter(|index| !from_upstream.contains_key(index))
            };
            let to = match from {
                Some(from) => self.to_upstream.get(from).copied().flatten(),
                None => added(),
            };
            slots.extend(self.slot(from, Some(index), to));
        }
        let taken: BTreeSet<usize> = slots.iter().filter_map(|slot| slot.upstream).collect();
        for index in (0..self.upstream.steps.len()).filter(|index| !taken.contains(index)) {
            let from = from_upstream.get(&index).copied();
            slots.extend(self.slot(from, None, Some(index)));
        }
        slots
    }

    /// One element; where a key changed a record names it by its name, else by the key that it has in the result.
    fn slot(
        &self,
        base: Option<usize>,
        local: Option<usize>,
        upstream: Option<usize>,
    ) -> Option<Slot> {
        let step = |side: &'_ Elements, at: Option<usize>| side.steps.get(at?).cloned();
        let own = step(&self.base, base);
        let sides = [step(&self.local, local), step(&self.upstream, upstream)];
        let changed = own.is_some()
            && sides
                .iter()
                .flatten()
                .any(|step| Some(step) != own.as_ref());
        let name = || {
            let name = self.names.as_ref()?.get(base?)?.clone()?;
            Some(PathStep::Element(vec![("name".to_owned(), name)]))
        };
        let name = changed.then(name).flatten();
        let [mine, theirs] = sides;
        let (mine, theirs) = (mine.filter(|step| Some(step) != own.as_ref()), theirs);
        let renamed = mine.or_else(|| theirs.filter(|step| Some(step) != own.as_ref()));
        let step = name.or(renamed).or(own)?;
        Some(Slot {
            base,
            local,
            upstream,
            step,
        })
    }
}

fn back(partners: &[Option<usize>]) -> BTreeMap<usize, usize> {
    let known = partners.iter().zip(0..);
    let known = known.filter_map(|(to, from)| Some(((*to)?, from)));
    known.collect()
}
