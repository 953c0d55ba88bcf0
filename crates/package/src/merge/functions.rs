//! A Kptfile's pipeline: functions pair by name, else by what they run and how (M8, M15).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use yaml::{Node, Reader};

use super::three::{Slot, Three};
use super::work;
use crate::place::PathStep;
use crate::values::{canonical, function_runs, function_text, same};

/// The functions of each side; `None` where one of them is no map.
fn items<'a>(three: Three<'a>) -> Option<[Vec<Node<'a>>; 3]> {
    let sides = [three.base, three.local, three.upstream];
    let sides = sides
        .map(|node| -> Vec<Node<'a>> { node.into_iter().flat_map(|node| node.items()).collect() });
    let maps = sides
        .iter()
        .flatten()
        .all(|node| node.kind() == yaml::NodeKind::Mapping);
    maps.then_some(sides)
}

/// Pairs the functions of the sides; `None` where one of them is no map.
pub(super) fn slots_of(three: Three<'_>) -> Option<Vec<Slot>> {
    let [base, local, upstream] = items(three)?;
    Some(named_slots(&base, &local, &upstream))
}

fn named_slots(base: &[Node<'_>], local: &[Node<'_>], upstream: &[Node<'_>]) -> Vec<Slot> {
    let mut slots = slots(
        local,
        upstream,
        &pair(base, local, &RULES),
        &pair(base, upstream, &RULES),
    );
    name(&mut slots, base, local, upstream);
    slots
}

/// What a rule asks of a function; `None` where it says nothing of this one.
type Rule = fn(Node<'_>) -> Option<String>;

/// What functions are paired by, the surest first: all pairs of one rule come before any of the next, so that a function that
/// merely runs the same image is not taken for the one of that name.
const RULES: [Rule; 6] = [
    NAME,
    EQUAL,
    |node| Some(stated(node, true)),
    |node| Some(stated(node, false)),
    |node| {
        let program = [function_text(node, "image"), function_text(node, "exec")];
        Some(format!("{}\n{}", program.join("\n"), function_runs(node)))
    },
    |node| Some(function_runs(node)),
];

/// What functions that both sides added are paired by: two of one image that say different things are two, and nobody wrote what would
/// come of them as one. Where they say the same with other values, that is a conflict.
const ADDED: [Rule; 3] = [NAME, EQUAL, |node| {
    let unnamed = function_text(node, "name").is_empty();
    unnamed.then(|| stated(node, false))
}];

const NAME: Rule =
    |node| Some(function_text(node, "name").to_owned()).filter(|name| !name.is_empty());

const EQUAL: Rule = |node| Some(text(node));

/// What a function runs, whatever version, and states beside its name: all of its fields, of its `configMap` the keys alone or the
/// values, too.
fn stated(node: Node<'_>, values: bool) -> String {
    let json = node.to_value(Reader::V3).ok();
    let Some(Json::Object(mut fields)) = json.and_then(|value| value.to_json()) else {
        return node.source().to_owned();
    };
    fields.retain(|key, _| !["image", "exec", "name"].contains(&key.as_str()));
    if let Some(Json::Object(config)) = fields.get_mut("configMap").filter(|_| !values) {
        config.values_mut().for_each(|value| *value = Json::Null);
    }
    format!(
        "{}\n{}",
        function_runs(node),
        canonical(&Json::Object(fields))
    )
}

/// How many of the rules look at what a function is and not at what it runs.
const SURE: usize = 2;

/// A text that equal values have in common.
pub(super) fn text(node: Node<'_>) -> String {
    let json = node.to_value(Reader::V3).ok();
    let json = json.and_then(|value| value.to_json());
    json.map_or_else(|| node.source().to_owned(), |json| canonical(&json))
}

/// Functions that have no partner yet, by what one rule asks of them: the named and the others, each in their order.
type Free = BTreeMap<String, [BTreeSet<usize>; 2]>;

/// For each function of `a` its partner in `b`, by these rules, in order.
fn pair(a: &[Node<'_>], b: &[Node<'_>], rules: &[Rule]) -> Vec<Option<usize>> {
    let mut partner = vec![None; a.len()];
    let mut taken = vec![false; b.len()];
    let named = |node: Node<'_>| !function_text(node, "name").is_empty();
    for (rule, key) in rules.iter().enumerate() {
        let mut free = Free::new();
        for (index, node) in b.iter().enumerate() {
            work::done(1);
            if taken.get(index) == Some(&false)
                && let Some(key) = key(*node)
            {
                let [with_name, without] = free.entry(key).or_default();
                let all = if named(*node) { with_name } else { without };
                all.insert(index);
            }
        }
        for (from, partner) in a.iter().zip(&mut partner) {
            work::done(1);
            if partner.is_some() {
                continue;
            }
            let Some([with_name, without]) = key(*from).and_then(|key| free.get_mut(&key)) else {
                continue;
            };
            // Two of different names are two, whatever they run.
            let others = (rule < SURE || !named(*from)).then(|| with_name.first());
            let first = others.flatten().into_iter().chain(without.first()).min();
            let first = first.copied().filter(|index| {
                let to = b.get(*index);
                rule != 1 || to.is_some_and(|to| same(*from, *to))
            });
            if let Some(index) = first {
                with_name.remove(&index);
                without.remove(&index);
                if let Some(taken) = taken.get_mut(index) {
                    *taken = true;
                }
                *partner = Some(index);
            }
        }
    }
    partner
}

/// Whose partners the functions of a side of so many are.
fn inverse(partners: &[Option<usize>], len: usize) -> Vec<Option<usize>> {
    let mut inverse = vec![None; len];
    for (from, to) in partners.iter().enumerate() {
        if let Some(place) = to.and_then(|to| inverse.get_mut(to)) {
            *place = Some(from);
        }
    }
    inverse
}

fn slots(
    local: &[Node<'_>],
    upstream: &[Node<'_>],
    to_local: &[Option<usize>],
    to_upstream: &[Option<usize>],
) -> Vec<Slot> {
    let from_local = inverse(to_local, local.len());
    let from_upstream = inverse(to_upstream, upstream.len());
    // What both sides added may still be the same function.
    let free = |from: &[Option<usize>]| -> Vec<usize> {
        let new = from.iter().enumerate().filter(|(_, from)| from.is_none());
        new.map(|(index, _)| index).collect()
    };
    let (new_local, new_upstream) = (free(&from_local), free(&from_upstream));
    let added = pair(
        &picked(local, &new_local),
        &picked(upstream, &new_upstream),
        &ADDED,
    );
    let both: BTreeMap<usize, usize> = new_local
        .iter()
        .zip(&added)
        .filter_map(|(mine, theirs)| Some((*mine, *new_upstream.get((*theirs)?)?)))
        .collect();
    let step = PathStep::Index(0);
    let mut known = vec![false; upstream.len()];
    let mut slots = Vec::with_capacity(local.len());
    for (index, from) in from_local.iter().enumerate() {
        let upstream = from.and_then(|from| to_upstream.get(from).copied().flatten());
        let upstream = upstream.or_else(|| both.get(&index).copied());
        if let Some(known) = upstream.and_then(|at| known.get_mut(at)) {
            *known = true;
        }
        slots.push(Slot {
            base: *from,
            local: Some(index),
            upstream,
            step: step.clone(),
        });
    }
    let new = from_upstream.iter().zip(&known).enumerate();
    let new = new.filter(|(_, (_, known))| !**known);
    slots.extend(new.map(|(index, (from, _))| Slot {
        base: *from,
        local: None,
        upstream: Some(index),
        step: step.clone(),
    }));
    slots
}

fn picked<'a>(side: &[Node<'a>], of: &[usize]) -> Vec<Node<'a>> {
    of.iter()
        .filter_map(|index| side.get(*index).copied())
        .collect()
}

/// Names each slot for records: by its name, else by what it runs, with a count where that is not
/// enough.
fn name(slots: &mut [Slot], base: &[Node<'_>], local: &[Node<'_>], upstream: &[Node<'_>]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for slot in slots {
        let sides = [
            (base, slot.base),
            (upstream, slot.upstream),
            (local, slot.local),
        ];
        let mut nodes = sides
            .iter()
            .filter_map(|(side, index)| side.get((*index)?).copied());
        let Some(first) = nodes.clone().next() else {
            continue;
        };
        let named = nodes.find(|node| !function_text(*node, "name").is_empty());
        slot.step = if let Some(node) = named {
            PathStep::Element(vec![(
                "name".to_owned(),
                function_text(node, "name").to_owned(),
            )])
        } else {
            let runs = function_runs(first).trim_start_matches('/').to_owned();
            let count = seen.entry(runs.clone()).or_insert(0);
            *count += 1;
            let mut keys = vec![("runs".to_owned(), runs)];
            if *count > 1 {
                keys.push(("nth".to_owned(), count.to_string()));
            }
            PathStep::Element(keys)
        };
    }
}
