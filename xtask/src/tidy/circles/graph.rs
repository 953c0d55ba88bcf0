//! Circles of a graph: sets of nodes of which each reaches each other.

use std::collections::{BTreeMap, BTreeSet};

/// All circles of more than one node, in the order of their first node.
pub(super) fn circles<T: Ord + Clone>(graph: &BTreeMap<T, BTreeSet<T>>) -> Vec<BTreeSet<T>> {
    let reach: BTreeMap<&T, BTreeSet<&T>> =
        graph.keys().map(|node| (node, from(graph, node))).collect();
    let mut seen: BTreeSet<&T> = BTreeSet::new();
    let mut out = Vec::new();
    for (node, reached) in &reach {
        if seen.contains(*node) || !reached.contains(*node) {
            continue;
        }
        let back = |other: &&&T| reach.get(**other).is_some_and(|r| r.contains(*node));
        let circle: BTreeSet<&T> = reached.iter().filter(back).copied().collect();
        seen.extend(circle.iter().copied());
        if circle.len() > 1 {
            out.push(circle.into_iter().cloned().collect());
        }
    }
    out
}

/// What can be reached from a node by one edge or more.
fn from<'g, T: Ord>(graph: &'g BTreeMap<T, BTreeSet<T>>, node: &T) -> BTreeSet<&'g T> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&T> = graph.get(node).into_iter().flatten().collect();
    while let Some(next) = left.pop() {
        if reached.insert(next) {
            left.extend(graph.get(next).into_iter().flatten());
        }
    }
    reached
}
