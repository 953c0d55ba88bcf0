//! Which elements of a list are the same on the three sides: by their identities, else by what they are known by.
//!
//! Nothing is merged here. What a pair becomes is decided where the list merges.

use std::collections::{BTreeMap, BTreeSet};

use yaml::{Kind, Node, Reader, Value};

use super::compare::{canonical, kept};
use super::functions;
use super::list::Slot;
use super::value::Three;
use crate::conflicts::PathStep;
use crate::schema::{Key, List};

/// Pairs the elements of a list by their identities; `None` where one has none, or two have the same.
pub(super) fn slots(three: Three<'_>, list: List<'_>) -> Option<Vec<Slot>> {
    match list {
        List::Atomic | List::Grants => None,
        List::Functions => functions::slots_of(three),
        List::Unstated => inferred(three),
        List::Map(_) => paired(three, list, &[Known::Name, Known::Rest]),
        List::Set | List::Values => paired(three, list, &[]),
    }
}

/// Pairs elements by the first field of these that each of them has and that is unique on every side (M22).
fn inferred(three: Three<'_>) -> Option<Vec<Slot>> {
    let lists = Key::usual().iter().map(|keys| List::Map(keys));
    let mut pairs = lists.map(|list| paired(three, list, &[Known::Rest]));
    pairs.find_map(|pairs| pairs)
}

/// What an element is known by beside its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Its `name`, where a stated key changed that is none (M13b).
    Name,
    /// All that it holds but its key, where the other side left the element that key.
    Rest,
}

/// Of how many scalars most must be left for an element to be known again by them.
const ENOUGH: usize = 3;

/// Pairs elements by their identities, those whose identity changed by what else they are known by; `None` too where both
/// sides gave one element an identity, each its own.
fn paired(three: Three<'_>, list: List<'_>, known: &[Known]) -> Option<Vec<Slot>> {
    let base = Elements::of(three.base, list)?;
    let local = Elements::of(three.local, list)?;
    let upstream = Elements::of(three.upstream, list)?;
    let gone = |step: &PathStep| local.find(step).is_none() || upstream.find(step).is_none();
    let changed = base.steps.iter().any(gone);
    let known = known.iter().filter(|_| changed);
    let marked = known.filter_map(|known| Some((*known, marks(three, list, *known)?)));
    let marked: Vec<Marked> = marked.collect();
    let mut to_local = base.partners(&local, &upstream, &marked, 1);
    let mut to_upstream = base.partners(&upstream, &local, &marked, 2);
    if marked.iter().any(|(known, _)| *known == Known::Rest) {
        let sides = [three.base, three.local];
        base.renamed(&local, &upstream, &mut to_local, sides);
        let sides = [three.base, three.upstream];
        base.renamed(&upstream, &local, &mut to_upstream, sides);
        let sides = [&local, &upstream];
        base.renamed_by_both(sides, [&mut to_local, &mut to_upstream], three)?;
    }
    let pairs = Pairs {
        to_local,
        to_upstream,
        names: marked
            .into_iter()
            .find(|(known, _)| *known == Known::Name)
            .map(|(_, [base, ..])| base),
        base,
        local,
        upstream,
    };
    Some(pairs.slots())
}

/// The elements of one side, by what identifies them.
struct Elements {
    steps: Vec<PathStep>,
    /// Their positions, in the order of their identities.
    sorted: Vec<usize>,
}

impl Elements {
    fn of(node: Option<Node<'_>>, list: List<'_>) -> Option<Self> {
        let items = node.into_iter().flat_map(|node| node.items());
        let steps = items
            .map(|item| identity(item, list))
            .collect::<Option<Vec<_>>>()?;
        let mut sorted: Vec<usize> = (0..steps.len()).collect();
        sorted.sort_by_key(|index| steps.get(*index));
        let twice = |pair: &[usize]| match pair {
            [a, b] => steps.get(*a) == steps.get(*b),
            _ => false,
        };
        let unique = !sorted.windows(2).any(twice);
        unique.then_some(Self { steps, sorted })
    }

    fn find(&self, step: &PathStep) -> Option<usize> {
        let compare = |index: &usize| self.steps.get(*index).cmp(&Some(step));
        let at = self.sorted.binary_search_by(compare).ok()?;
        self.sorted.get(at).copied()
    }

    /// For each element of this base its partner on a side, which is the one at `at` of the marks.
    fn partners(
        &self,
        side: &Self,
        other: &Self,
        marked: &[Marked],
        at: usize,
    ) -> Vec<Option<usize>> {
        let again = |index: usize, step: &PathStep, (known, marks): &Marked| {
            let mark = marks.first()?.get(index)?.as_ref()?;
            let mut new = marks.get(at)?.iter();
            let index = new.position(|other| other.as_ref() == Some(mark))?;
            let own = side.steps.get(index)?;
            let taken = self.find(own).is_some();
            let left = other.find(step).is_some() && other.find(own).is_none();
            (!taken && (left || *known == Known::Name)).then_some(index)
        };
        let mut seen = BTreeSet::new();
        let mut partner = |(index, step)| {
            let found = side.find(step);
            let found = found.or_else(|| marked.iter().find_map(|by| again(index, step, by)));
            found.filter(|index| seen.insert(*index))
        };
        let steps = self.steps.iter().enumerate();
        steps.map(&mut partner).collect()
    }

    /// Pairs the one element of this base that has no partner on a side with the one there that is new, where most of
    /// it is still the same and the other side left it its identity.
    fn renamed(
        &self,
        side: &Self,
        other: &Self,
        partners: &mut [Option<usize>],
        [old, new]: [Option<Node<'_>>; 2],
    ) {
        let (Some(from), Some(to)) = (left(partners), new_one(side, partners)) else {
            return;
        };
        let (Some(step), Some(own)) = (self.steps.get(from), side.steps.get(to)) else {
            return;
        };
        if other.find(step).is_none() || other.find(own).is_some() {
            return;
        }
        let old = old.and_then(|side| side.at(from));
        let alike = old
            .zip(new.and_then(|side| side.at(to)))
            .and_then(|(old, new)| alike(step, old, new))
            .is_some_and(|(kept, all)| all >= ENOUGH && kept * 3 >= all * 2);
        if let Some(partner) = partners.get_mut(from).filter(|_| alike) {
            *partner = Some(to);
        }
    }

    /// Pairs the elements of this base that are on no side with those that are new on each, where most of one is still the
    /// same on both (M13b); `None` where each side gave one another identity, for it can have one alone.
    fn renamed_by_both(
        &self,
        [local, upstream]: [&Self; 2],
        [to_local, to_upstream]: [&mut [Option<usize>]; 2],
        three: Three<'_>,
    ) -> Option<()> {
        let all = to_local.iter().zip(to_upstream.iter()).zip(0..);
        let gone: Vec<usize> = all
            .filter_map(|((mine, theirs), at)| (mine.is_none() && theirs.is_none()).then_some(at))
            .collect();
        let mut new = [new_ones(local, to_local), new_ones(upstream, to_upstream)];
        let mut two_names = false;
        for from in gone {
            let Some(step) = self.steps.get(from) else {
                continue;
            };
            let likest = |side: Option<Node<'_>>, new: &[usize]| -> Option<usize> {
                likest(step, three.base?.at(from)?, side?, new)
            };
            let mine = likest(three.local, &new[0]);
            let theirs = likest(three.upstream, &new[1]);
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
            new[0].retain(|at| *at != mine);
            new[1].retain(|at| *at != theirs);
            two_names |= local.steps.get(mine) != upstream.steps.get(theirs);
        }
        (!two_names).then_some(())
    }
}

/// Of the new elements of a side the one that holds most of what a former one held, if that is enough to know it again.
fn likest(step: &PathStep, old: Node<'_>, side: Node<'_>, new: &[usize]) -> Option<usize> {
    // Only a name is nothing but a name: a condition's type, or a port, is what it is.
    let named = matches!(step, PathStep::Element(keys)
        if matches!(keys.as_slice(), [(key, _)] if key == "name"));
    if !named {
        return None;
    }
    // Of a few fields all must be left.
    let enough = |(kept, all): (usize, usize)| {
        all >= ENOUGH && kept * 3 >= all * 2 || all > 0 && kept == all
    };
    let mut best = None;
    for at in new {
        let same = side.at(*at).and_then(|item| alike(step, old, item));
        let Some((kept, _)) = same.filter(|same| enough(*same)) else {
            continue;
        };
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
    let all = 0..side.steps.len();
    all.filter(|index| !partners.contains(&Some(*index)))
        .collect()
}

/// The only element of a side that is nobody's partner.
fn new_one(side: &Elements, partners: &[Option<usize>]) -> Option<usize> {
    lone(new_ones(side, partners).into_iter())
}

/// How many scalars of an element, its keys not counted, stand in another one, and how many there are.
fn alike(step: &PathStep, old: Node<'_>, new: Node<'_>) -> Option<(usize, usize)> {
    let keys = match step {
        PathStep::Element(keys) => keys.len(),
        _ => 0,
    };
    let value = |node: Node<'_>| node.to_value(Reader::V3).ok();
    let (kept, all) = kept(&value(old)?, value(new).as_ref());
    Some((kept, all.saturating_sub(keys)))
}

/// What else than its identity an element is known by, where that is unique.
type Marks = Vec<Option<String>>;

/// The marks of one kind, of all sides.
type Marked = (Known, [Marks; 3]);

/// The mark of each element, where it is unique on every side.
fn marks(three: Three<'_>, list: List<'_>, known: Known) -> Option<[Marks; 3]> {
    let List::Map(keys) = list else { return None };
    let unfit = |key: &Key| match known {
        Known::Name => key.name == "name",
        Known::Rest => key.name.contains('.'),
    };
    if keys.iter().any(unfit) {
        return None;
    }
    let mark = |item: Node<'_>| match known {
        Known::Name => {
            let name = item.effective("name")?.target().ok()?.scalar()?;
            (!name.is_empty()).then(|| name.to_owned())
        }
        Known::Rest => {
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
        let mut slots: Vec<Slot> = Vec::new();
        for (index, own) in self.local.steps.iter().enumerate() {
            let from = from_local.get(&index).copied();
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

/// How an element is identified; `None` if it has no identity.
pub(super) fn identity(item: Node<'_>, list: List<'_>) -> Option<PathStep> {
    match list {
        List::Map(keys) => {
            if item.kind() != Kind::Mapping {
                return None;
            }
            let keys: Option<Vec<(String, String)>> =
                keys.iter().map(|key| key_value(item, key)).collect();
            keys.map(PathStep::Element)
        }
        List::Set => {
            let text = item.target().ok()?.scalar()?;
            Some(PathStep::Item(text.to_owned()))
        }
        List::Values => {
            let json = item.to_value(Reader::V3).ok()?.to_json()?;
            Some(PathStep::Item(canonical(&json)))
        }
        List::Atomic | List::Unstated | List::Grants | List::Functions => None,
    }
}

fn key_value(item: Node<'_>, key: &Key) -> Option<(String, String)> {
    let value = keyed(item, &key.name).filter(|value| !value.is_null());
    let text = match value {
        Some(value) => value.target().ok()?.scalar()?.to_owned(),
        None => key.default.as_deref()?.to_owned(),
    };
    Some((key.name.clone().into_owned(), text))
}

/// What an element holds under a key, which may be one of a map in it (`metadata.name`).
pub(crate) fn keyed<'a>(item: Node<'a>, key: &str) -> Option<Node<'a>> {
    item.effective(key).or_else(|| {
        let (outer, inner) = key.split_once('.')?;
        item.effective(outer)?.effective(inner)
    })
}
