//! Lists whose elements pair: by keys, as sets of scalars, as sets of values (M13, M15), by what they hold (M22).

use yaml::{Node, NodeStep, Value};

use super::apply::{New, Op};
use super::order::{Merged, Order};
use super::three::{Slot, Three};
use super::walk::{DocumentMerge, ValuePlace, Verdict};
use super::{pairs, sequence};
use crate::schema::ListRule;

/// Which elements are the same on the three sides, and whether nothing but their places says so; `None` where the list is one
/// value.
pub(super) fn slots(three: Three<'_>, list: ListRule<'_>) -> Option<(Vec<Slot>, bool)> {
    if list == ListRule::Atomic {
        return None;
    }
    // Names come first: an element that has one is asked about by it, and is found again wherever it stands later.
    match pairs::slots(three, list) {
        Some(slots) => Some((slots, false)),
        None => Some((sequence::slots(three, list == ListRule::Grants)?, true)),
    }
}

/// What becomes of a list's elements.
pub(super) struct Fates<'a> {
    /// Which local ones go.
    pub(super) gone: Vec<bool>,
    /// What comes, with its position upstream.
    pub(super) inserted: Vec<(usize, New<'a>)>,
}

/// Merges paired elements: new ones of upstream go where upstream has them relative to their neighbours, and the
/// order is local unless upstream alone changed it (M13). From `start` on operations are about these elements.
pub(super) fn combine<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    three: Three<'a>,
    slots: &[Slot],
    fates: Fates<'a>,
    (is_set, start): (bool, usize),
) -> Verdict<'a> {
    let Fates { gone, inserted } = fates;
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
            let at = at.path.join(NodeStep::Index(index));
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
