//! A merged pipeline, held against the rules of a Kptfile (M13b).
//!
//! What each side says alone may be refused together: two functions of one name, one that runs two things. And what was narrowed
//! by one side alone, or to nothing by both, acts where neither has it act. There the function is one value, or its list.

use std::collections::BTreeMap;

use yaml::Node;

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
        for function in here {
            let name = function_text(function, "name");
            let step = PathStep::Element(vec![("name".to_owned(), name.to_owned())]);
            let alone = match name {
                "" => list.clone(),
                _ => list.join(step),
            };
            let stems = there.each_ref().map(|side| named(side, name));
            // What a side says as it stands is that side's.
            let said = |side: &Vec<Node<'_>>| side.iter().any(|other| same(*other, function));
            let is_new = !there.iter().any(said);
            if is_new && is_refused(function) {
                all.push([alone, list.clone()]);
            } else if narrowed_by_one(stems) || (is_new && is_emptied(function, stems)) {
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

fn named<'a>(functions: &[Node<'a>], name: &str) -> Option<Node<'a>> {
    let is_it = |function: &&Node<'a>| function_text(**function, "name") == name;
    functions
        .iter()
        .find(is_it)
        .filter(|_| !name.is_empty())
        .copied()
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
