//! A merged pipeline, held against the rules of a Kptfile (M13b).
//!
//! What each side says alone may be refused together: two functions of one name, one that runs two things. And what was narrowed
//! by one side alone, or to nothing by both, acts where neither has it act; so does what one side selects and the other excludes.
//! There the function is one value, or its list.

use std::collections::{BTreeMap, BTreeSet};

use yaml::Node;

use super::functions::{slots_of, text};
use super::three::Three;
use crate::place::{FieldPath, PathStep};
use crate::values::{function_text, same};

/// Fields of which a function has one.
const ALTERNATIVES: [[&str; 2]; 2] = [["image", "exec"], ["configMap", "configPath"]];
/// Fields that narrow what a function acts on.
const NARROWS: [&str; 2] = ["selectors", "exclude"];

/// Where a merged Kptfile holds what no side holds and no rule allows. Each place is a function, and where it is looked for
/// next if it is refused as one value, too: the list that it stands in, which is one value then.
pub(super) fn broken<'a>(merged: Node<'a>, sides: [Option<Node<'a>>; 3]) -> Vec<[FieldPath; 2]> {
    let mut all = Vec::new();
    for key in ["mutators", "validators"] {
        let list = FieldPath::default().field("pipeline").field(key);
        let here = functions(merged, key);
        let there = sides.map(|side| side.map_or_else(Vec::new, |root| functions(root, key)));
        if twice(&here) && !there.iter().any(|side| twice(side)) {
            all.push([list.clone(), list]);
            continue;
        }
        // As one value it is a side's.
        let mixed = mixed(key, sides).into_iter().map(|step| list.join(step));
        all.extend(mixed.map(|function| [function.clone(), function]));
        let known = there.each_ref().map(|side| by_name(side));
        for function in here {
            let name = function_text(function, "name");
            let step = PathStep::Element(vec![("name".to_owned(), name.to_owned())]);
            let alone = match name {
                "" => list.clone(),
                _ => list.join(step),
            };
            let stems = known.each_ref().map(|side| side.get(name).copied());
            // What a side says as it stands is that side's. Few are asked: each is compared with all.
            let said = |side: &Vec<Node<'_>>| side.iter().any(|other| same(*other, function));
            let is_new = || !there.iter().any(said);
            if is_refused(function) && is_new() {
                all.push([alone, list.clone()]);
            } else if narrowed_by_one(stems) || (is_emptied(function, stems) && is_new()) {
                all.push([alone.clone(), alone]);
            }
        }
    }
    all
}

fn functions<'a>(root: Node<'a>, key: &str) -> Vec<Node<'a>> {
    let list = root.get("pipeline").and_then(|pipeline| pipeline.get(key));
    list.into_iter().flat_map(|list| list.items()).collect()
}

/// The functions that have a name; of two that share one the first.
fn by_name<'a>(functions: &[Node<'a>]) -> BTreeMap<&'a str, Node<'a>> {
    let named = functions.iter().rev();
    let named = named.map(|function| (function_text(*function, "name"), *function));
    named.filter(|(name, _)| !name.is_empty()).collect()
}

/// Whether two functions of a list have one name.
fn twice(functions: &[Node<'_>]) -> bool {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for function in functions {
        *counts.entry(function_text(*function, "name")).or_default() += 1;
    }
    counts
        .iter()
        .any(|(name, count)| !name.is_empty() && *count > 1)
}

/// Whether a function says two things of which it may say one.
fn is_refused(function: Node<'_>) -> bool {
    let there = |key: &str| function.get(key).is_some_and(|value| !value.is_null());
    ALTERNATIVES
        .iter()
        .any(|keys| keys.iter().all(|key| there(key)))
}

/// Whether both sides added a function of one name, and one alone says what it acts on: to say nothing is to say everything.
fn narrowed_by_one([base, local, upstream]: [Option<Node<'_>>; 3]) -> bool {
    let (None, Some(local), Some(upstream)) = (base, local, upstream) else {
        return false;
    };
    let differ = |key: &str| (count(local, key) == 0) != (count(upstream, key) == 0);
    NARROWS.iter().any(|key| differ(key))
}

/// The functions that both sides have act elsewhere, each otherwise, so that the two together act where no side has it.
fn mixed(key: &str, sides: [Option<Node<'_>>; 3]) -> Vec<PathStep> {
    let [base, local, upstream] = sides;
    let three = Three {
        base,
        local,
        upstream,
    };
    let three = three.map(|root| root.get("pipeline")?.get(key));
    let acts = |list: Option<Node<'_>>| -> Vec<Acts> {
        let items = list.into_iter().flat_map(|list| list.items());
        items.map(Acts::of).collect()
    };
    let [base, local, upstream] = [three.base, three.local, three.upstream].map(acts);
    let slots = slots_of(three).unwrap_or_default().into_iter();
    let mixed = slots.filter(|slot| {
        let base = slot.base.and_then(|at| base.get(at));
        let local = slot.local.and_then(|at| local.get(at));
        let upstream = slot.upstream.and_then(|at| upstream.get(at));
        local
            .zip(upstream)
            .is_some_and(|(local, upstream)| base.is_some_and(|base| base.mixes(local, upstream)))
    });
    mixed.map(|slot| slot.step).collect()
}

/// What a function acts on: what it selects, and what of that it leaves out.
#[derive(PartialEq, Eq)]
struct Acts {
    selects: BTreeSet<String>,
    excludes: BTreeSet<String>,
}

impl Acts {
    fn of(function: Node<'_>) -> Self {
        let [selects, excludes] = NARROWS.map(|key| {
            let items = function.get(key).into_iter().flat_map(|list| list.items());
            items.map(text).collect()
        });
        Self { selects, excludes }
    }

    /// Whether what comes of two changes of this is neither side's, and more than a set with the changes of both: everything is no set
    /// that anything can be added to, what one side merely took away the other may have narrowed, and what is left out belongs to what
    /// is selected.
    fn mixes(&self, local: &Self, upstream: &Self) -> bool {
        if self == local || self == upstream || local == upstream {
            return false;
        }
        let selected = [&self.selects, &local.selects, &upstream.selects];
        let excluded = [&self.excludes, &local.excludes, &upstream.excludes];
        let changed =
            |[base, local, upstream]: [&BTreeSet<String>; 3]| [base != local, base != upstream];
        let (selects, excludes) = (changed(selected), changed(excluded));
        let everything = selected.iter().any(|set| set.is_empty());
        let sides = [&local.selects, &upstream.selects];
        let takes = |side: &BTreeSet<String>| !self.selects.is_subset(side);
        let narrowed = sides.iter().all(|side| takes(side))
            && sides.iter().any(|side| side.is_subset(&self.selects));
        let two_sets = selects == [true, true] && local.selects != upstream.selects;
        let both_fields = selects.contains(&true) && excludes.contains(&true);
        two_sets && (everything || narrowed)
            || both_fields
                && self
                    .joined(local, upstream)
                    .is_none_or(|acts| acts != *local && acts != *upstream)
    }

    /// What comes of both, where each field is one side's; nothing where one is a set of both.
    fn joined(&self, local: &Self, upstream: &Self) -> Option<Self> {
        let one =
            |base: &BTreeSet<String>, local: &BTreeSet<String>, upstream: &BTreeSet<String>| {
                if base == local || local == upstream {
                    return Some(upstream.clone());
                }
                (base == upstream).then(|| local.clone())
            };
        Some(Self {
            selects: one(&self.selects, &local.selects, &upstream.selects)?,
            excludes: one(&self.excludes, &local.excludes, &upstream.excludes)?,
        })
    }
}

/// Whether nothing is left of a selection that all sides have: nothing selected is everything.
fn is_emptied(function: Node<'_>, stems: [Option<Node<'_>>; 3]) -> bool {
    let stems: Vec<Node<'_>> = stems.into_iter().flatten().collect();
    let emptied = |key: &str| {
        let all = !stems.is_empty() && stems.iter().all(|stem| count(*stem, key) > 0);
        all && count(function, key) == 0
    };
    NARROWS.iter().any(|key| emptied(key))
}

fn count(function: Node<'_>, key: &str) -> usize {
    function.get(key).map_or(0, |list| list.items().len())
}
