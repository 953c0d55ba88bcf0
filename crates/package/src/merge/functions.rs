//! A Kptfile's pipeline: functions pair by name, else by what they run and how (M8, M15).

use yaml::Node;

use super::three::{Slot, Three};
use crate::place::PathStep;
use crate::values::{function_runs, function_text, same};

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
    let mut slots = slots(local, upstream, &pair(base, local), &pair(base, upstream));
    name(&mut slots, base, local, upstream);
    slots
}

/// For each function of `a` its partner in `b`: by name, by being equal, by what it runs in order, the same version first.
fn pair(a: &[Node<'_>], b: &[Node<'_>]) -> Vec<Option<usize>> {
    let mut partner = vec![None; a.len()];
    let mut taken = vec![false; b.len()];
    let named = |x: Node<'_>, y: Node<'_>| {
        let name = function_text(x, "name");
        !name.is_empty() && name == function_text(y, "name")
    };
    let alike = |x: Node<'_>, y: Node<'_>| {
        let both_named =
            !function_text(x, "name").is_empty() && !function_text(y, "name").is_empty();
        !both_named && function_runs(x) == function_runs(y)
    };
    let written = |x: Node<'_>, y: Node<'_>| {
        let program = |node| (function_text(node, "image"), function_text(node, "exec"));
        alike(x, y) && program(x) == program(y)
    };
    // All pairs of one rule come before any of the next: a function that merely runs the same image must not be taken for the
    // one of that name.
    for rule in 0..4 {
        let fits = |x: Node<'_>, y: Node<'_>| match rule {
            0 => named(x, y),
            1 => same(x, y),
            2 => written(x, y),
            _ => alike(x, y),
        };
        for (from, partner) in a.iter().zip(&mut partner) {
            if partner.is_some() {
                continue;
            }
            let mut free = b.iter().zip(&mut taken).enumerate();
            if let Some((index, (_, taken))) =
                free.find(|(_, (to, taken))| !**taken && fits(*from, **to))
            {
                *taken = true;
                *partner = Some(index);
            }
        }
    }
    partner
}

fn slots(
    local: &[Node<'_>],
    upstream: &[Node<'_>],
    to_local: &[Option<usize>],
    to_upstream: &[Option<usize>],
) -> Vec<Slot> {
    let find = |partners: &[Option<usize>], index| partners.iter().position(|p| *p == Some(index));
    // What both sides added may still be the same function.
    let free = |len: usize, partners: &[Option<usize>]| -> Vec<usize> {
        (0..len)
            .filter(|index| find(partners, *index).is_none())
            .collect()
    };
    let new_local = free(local.len(), to_local);
    let new_upstream = free(upstream.len(), to_upstream);
    let added = pair(&picked(local, &new_local), &picked(upstream, &new_upstream));
    let both = |index: usize| {
        let at = new_local.iter().position(|new| *new == index)?;
        new_upstream.get((*added.get(at)?)?).copied()
    };
    let step = PathStep::Index(0);
    let mut slots: Vec<Slot> = (0..local.len())
        .map(|index| {
            let from = find(to_local, index);
            let known = from.and_then(|from| to_upstream.get(from).copied().flatten());
            let upstream = known.or_else(|| both(index));
            Slot {
                base: from,
                local: Some(index),
                upstream,
                step: step.clone(),
            }
        })
        .collect();
    for index in 0..upstream.len() {
        if slots.iter().all(|slot| slot.upstream != Some(index)) {
            let from = find(to_upstream, index);
            slots.push(Slot {
                base: from,
                local: None,
                upstream: Some(index),
                step: step.clone(),
            });
        }
    }
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
    let mut seen: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
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
