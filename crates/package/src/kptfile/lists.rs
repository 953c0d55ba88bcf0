//! Edits of a Kptfile's lists by what their items are known by: gates, conditions, functions by their names.
//!
//! Several edits of one kind are written together, and mean what they would mean one after the other.

use std::collections::{BTreeMap, BTreeSet};

use model::Condition;
use yaml::{NodeStep, Path, Value};

use super::write::{Edit, Stream, Written, find, pairs, prune, set};

/// A list, and the field that tells its items apart.
struct List {
    path: [&'static str; 2],
    key: &'static str,
}

const GATES: List = List {
    path: ["info", "readinessGates"],
    key: "conditionType",
};

const CONDITIONS: List = List {
    path: ["status", "conditions"],
    key: "type",
};

/// Whether two edits can be written together.
pub(super) fn alike(one: &Edit, next: &Edit) -> bool {
    matches!(
        (one, next),
        (Edit::AddGate(_), Edit::AddGate(_))
            | (Edit::RemoveGate(_), Edit::RemoveGate(_))
            | (Edit::SetCondition(_), Edit::SetCondition(_))
            | (Edit::RemoveCondition(_), Edit::RemoveCondition(_))
    )
}

/// Applies edits of lists that are [`alike`], or one alone.
pub(super) fn apply(stream: Stream, edits: &[Edit]) -> Written {
    let mut gates = Vec::new();
    let mut conditions = Vec::new();
    let mut gone = BTreeSet::new();
    let mut list = CONDITIONS;
    for edit in edits {
        match edit {
            Edit::AddGate(kind) => gates.push(kind.as_str()),
            Edit::SetCondition(condition) => conditions.push(condition),
            Edit::RemoveCondition(kind) => drop(gone.insert(kind.as_str())),
            Edit::RemoveGate(kind) => {
                list = GATES;
                gone.insert(kind);
            }
            Edit::RemoveFunction(of, name) => {
                list = List {
                    path: ["pipeline", of.key()],
                    key: "name",
                };
                gone.insert(name);
            }
            Edit::SetGates(kinds) => return set_gates(stream, kinds),
            Edit::SetConditions(all) => return set_conditions(stream, all),
            _ => return Ok(stream),
        }
    }
    match edits.first() {
        Some(Edit::AddGate(_)) => add_gates(stream, gates),
        Some(Edit::SetCondition(_)) => put_conditions(stream, conditions),
        _ => list.without(stream, |text| gone.contains(text)),
    }
}

impl List {
    fn path(&self) -> Path {
        Path::keys(self.path)
    }

    /// What each item is known by.
    fn present(&self, stream: &Stream) -> Vec<Option<String>> {
        let items = find(stream, &self.path).into_iter();
        let items = items.flat_map(|list| list.items());
        let text = |item: yaml::Node<'_>| {
            let text = item.get(self.key)?.target().ok()?.scalar()?;
            Some(text.to_owned())
        };
        items.map(text).collect()
    }

    /// The list without some items, and without the collections around it that are left empty.
    fn without(&self, stream: Stream, goes: impl Fn(&str) -> bool) -> Written {
        let present = self.present(&stream).into_iter().enumerate();
        let gone = present.filter(|(_, text)| text.as_deref().is_some_and(&goes));
        let edits = gone.enumerate().map(|(earlier, (index, _))| {
            let step = NodeStep::Index(index - earlier);
            yaml::Edit::remove(self.path().join(step))
        });
        let edits: Vec<yaml::Edit> = edits.collect();
        prune(edited(stream, &edits)?, &self.path)
    }

    /// Appends items to the list, which may be missing.
    fn append(&self, stream: Stream, items: Vec<Value>) -> Written {
        let mut items = items.into_iter();
        let there = find(&stream, &self.path).is_some_and(|list| !list.is_null());
        let stream = match there {
            true => stream,
            false => match items.next() {
                Some(first) => set(stream, &self.path, Value::Seq(vec![first]))?,
                None => stream,
            },
        };
        let edits: Vec<yaml::Edit> = items
            .map(|item| yaml::Edit::append(self.path(), item))
            .collect();
        edited(stream, &edits)
    }
}

fn add_gates<'k>(stream: Stream, kinds: impl IntoIterator<Item = &'k str>) -> Written {
    let present = GATES.present(&stream).into_iter().flatten();
    let mut present: BTreeSet<String> = present.collect();
    let new = kinds.into_iter();
    let new = new.filter(|kind| present.insert((*kind).to_owned()));
    let items: Vec<Value> = new.map(|kind| pairs([("conditionType", kind)])).collect();
    GATES.append(stream, items)
}

fn set_gates(stream: Stream, kinds: &[String]) -> Written {
    let wanted: BTreeSet<&str> = kinds.iter().map(String::as_str).collect();
    let stream = add_gates(stream, kinds.iter().map(String::as_str))?;
    without_others(&GATES, stream, &wanted)
}

fn set_conditions(stream: Stream, conditions: &[Condition]) -> Written {
    let wanted: BTreeSet<&str> = conditions.iter().map(|c| c.kind.as_str()).collect();
    let stream = put_conditions(stream, conditions)?;
    without_others(&CONDITIONS, stream, &wanted)
}

/// A list without what is not wanted; one of which all is wanted stays as it is, even if it is empty.
fn without_others(list: &List, stream: Stream, wanted: &BTreeSet<&str>) -> Written {
    let other = |text: &str| !wanted.contains(text);
    let mut present = list.present(&stream).into_iter().flatten();
    match present.any(|text| other(&text)) {
        true => list.without(stream, other),
        false => Ok(stream),
    }
}

/// Sets the parts of conditions one by one, so that what else stands in them stays; new ones are appended.
fn put_conditions<'c>(
    stream: Stream,
    conditions: impl IntoIterator<Item = &'c Condition>,
) -> Written {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (place, text) in CONDITIONS.present(&stream).into_iter().enumerate() {
        if let Some(text) = text {
            places.entry(text).or_insert(place);
        }
    }
    // Of one that comes twice the last one counts, at the place of the first.
    let mut order = Vec::new();
    let mut last: BTreeMap<&str, &Condition> = BTreeMap::new();
    for condition in conditions {
        if last.insert(&condition.kind, condition).is_none() {
            order.push(condition.kind.as_str());
        }
    }
    let (mut edits, mut new) = (Vec::new(), Vec::new());
    for condition in order.iter().filter_map(|kind| last.get(kind)) {
        match places.get(&condition.kind) {
            Some(index) => edits.extend(parts(condition, *index)),
            None => new.push(pairs([
                ("type", condition.kind.as_str()),
                ("status", condition.status.as_str()),
                ("reason", condition.reason.as_str()),
                ("message", condition.message.as_str()),
            ])),
        }
    }
    CONDITIONS.append(edited(stream, &edits)?, new)
}

/// The text with edits; untouched where there are none.
fn edited(stream: Stream, edits: &[yaml::Edit]) -> Written {
    match edits {
        [] => Ok(stream),
        edits => stream.apply(0, edits),
    }
}

fn parts(condition: &Condition, index: usize) -> Vec<yaml::Edit> {
    let item = CONDITIONS.path().join(NodeStep::Index(index));
    let status = yaml::Edit::set(item.join("status"), condition.status.as_str());
    let mut edits = vec![status];
    for (key, text) in [
        ("reason", &condition.reason),
        ("message", &condition.message),
    ] {
        edits.push(if text.is_empty() {
            yaml::Edit::remove(item.join(key))
        } else {
            yaml::Edit::set(item.join(key), text.as_str())
        });
    }
    edits
}
