//! Lists whose elements pair: by keys, as sets of scalars, as sets of values (M13, M15), by what they hold (M22).

use model::Decision;
use yaml::{Node, Step, Value};

use super::apply::{New, Op};
use super::compare::same;
use super::order::{Merged, Order};
use super::value::{Known, Place, Three, Verdict, Walk};
use super::{pairs, sequence};
use crate::conflicts::PathStep;
use crate::schema::{List, Schema};

/// One element as the three sides hold it, by its position in each.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) base: Option<usize>,
    pub(super) local: Option<usize>,
    pub(super) upstream: Option<usize>,
    /// How a record names it.
    pub(super) step: PathStep,
}

/// Merges a list by its schema, else by what its elements hold; `None` where it is one value.
pub(super) fn merge<'a>(
    walk: &mut Walk<'a, '_, '_>,
    at: &Place,
    three: Three<'a>,
    list: List<'_>,
    schema: Schema<'_>,
) -> Option<Verdict<'a>> {
    if list == List::Atomic {
        return None;
    }
    let is_set = matches!(list, List::Set | List::Values);
    // Names come first: an element that has one is asked about by it, and is found again wherever it stands later.
    if let Some(slots) = pairs::slots(three, list) {
        return Some(combine(walk, at, three, &slots, (schema, is_set)));
    }
    let slots = sequence::slots(three, list == List::Grants)?;
    let (ops, records) = (walk.ops.len(), walk.record.len());
    let verdict = combine(walk, at, three, &slots, (schema, is_set));
    // A place in a sequence names nothing that a person could be asked about.
    if walk.record.asks(records) {
        walk.ops.truncate(ops);
        walk.record.truncate(records);
        return None;
    }
    Some(verdict)
}

/// Merges paired elements: new ones of upstream go where upstream has them relative to their neighbours, and the
/// order is local unless upstream alone changed it (M13).
fn combine<'a>(
    walk: &mut Walk<'a, '_, '_>,
    at: &Place,
    three: Three<'a>,
    slots: &[Slot],
    (schema, is_set): (Schema<'_>, bool),
) -> Verdict<'a> {
    let start = walk.ops.len();
    let Fates { gone, inserted } = fates(walk, at, three, slots, schema);
    let count = |node: Option<Node<'a>>| node.map_or(0, |node| node.items().len());
    let (left, there) = (
        gone.iter().filter(|gone| !**gone).count(),
        count(three.upstream),
    );
    // Where all go, the list is replaced as a whole: what was to be edited inside its items would not be found any more.
    if left == 0 && inserted.is_empty() && !gone.is_empty() {
        walk.ops.truncate(start);
        return Verdict::Take(match three.upstream {
            Some(node) if there == 0 => New::Node(node),
            _ => New::Value(Value::Seq(Vec::new())),
        });
    }
    // Of what was local nothing is left: upstream's text is taken whole, with the comments between its items.
    if left == 0
        && inserted.len() == there
        && let Some(node) = three.upstream
    {
        walk.ops.truncate(start);
        return Verdict::Take(New::Node(node));
    }
    // Positions are those before any edit: `apply` orders removals and insertions so that none shifts the others.
    for (index, gone) in gone.iter().enumerate() {
        if *gone {
            let at = at.path.join(Step::Index(index));
            walk.ops.push(Op::Remove { at });
        }
    }
    let mut list = Merged::new(slots, &gone);
    for (from, with) in inserted {
        let before = list.insert(from);
        let list = at.path.clone();
        walk.ops.push(Op::Item { list, before, with });
    }
    // An anchor has to stand before its aliases.
    let movable = three
        .local
        .is_none_or(|node| !node.source().contains(['&', '*']));
    match list.order(movable) {
        Order::Stays => {}
        Order::Differs(_) if is_set => {}
        Order::Wanted(order) => walk.ops.push(Op::Order {
            list: at.path.clone(),
            order,
        }),
        Order::Differs(sides) => walk.record.order(&at.field, sides),
    }
    Verdict::Keep
}

/// What becomes of a list's elements.
struct Fates<'a> {
    /// Which local ones go.
    gone: Vec<bool>,
    /// What comes, with its position upstream.
    inserted: Vec<(usize, New<'a>)>,
}

/// Decides each element; what stays may be changed inside.
fn fates<'a>(
    walk: &mut Walk<'a, '_, '_>,
    at: &Place,
    three: Three<'a>,
    slots: &[Slot],
    schema: Schema<'_>,
) -> Fates<'a> {
    let nodes = |node: Option<Node<'a>>| -> Vec<Node<'a>> {
        node.into_iter().flat_map(|node| node.items()).collect()
    };
    let (base, local, upstream) = (nodes(three.base), nodes(three.local), nodes(three.upstream));
    let mut fates = Fates {
        gone: vec![false; local.len()],
        inserted: Vec::new(),
    };
    for slot in slots {
        let pick = |nodes: &[Node<'a>], index: Option<usize>| nodes.get(index?).copied();
        let element = Three {
            base: pick(&base, slot.base),
            local: pick(&local, slot.local),
            upstream: pick(&upstream, slot.upstream),
        };
        let place = Place {
            // A new element has no local place: it is inserted whole, so nothing is ever edited at this path.
            path: at.path.join(Step::Index(slot.local.unwrap_or(0))),
            field: at.field.join(slot.step.clone()),
        };
        let verdict = match element {
            Three {
                base: Some(base),
                local: Some(local),
                upstream: None,
            } => deleted(walk, &place, base, local),
            element => walk.node(&place, element, Known::of(schema)),
        };
        match (verdict, slot.local) {
            (Verdict::Remove, Some(index)) => {
                if let Some(gone) = fates.gone.get_mut(index) {
                    *gone = true;
                }
            }
            (Verdict::Take(with), Some(_)) => {
                let at = place.path.clone();
                walk.ops.push(Op::Replace { at, with });
            }
            // Whole: a part of an element is a skeleton (M4).
            (Verdict::Take(_), None) => {
                let inserted = slot.upstream.zip(element.upstream.map(New::Node));
                fates.inserted.extend(inserted);
            }
            (Verdict::Keep, _) | (Verdict::Remove, None) => {}
        }
    }
    fates
}

/// An element that upstream deleted goes or stays whole: without its keys it would be a skeleton (M4).
fn deleted<'a>(
    walk: &mut Walk<'a, '_, '_>,
    at: &Place,
    base: Node<'a>,
    local: Node<'a>,
) -> Verdict<'a> {
    if same(base, local) {
        return Verdict::Remove;
    }
    match walk.record.field(&at.field, Some(base), Some(local), None) {
        Decision::Local => Verdict::Keep,
        Decision::Upstream => Verdict::Remove,
    }
}
