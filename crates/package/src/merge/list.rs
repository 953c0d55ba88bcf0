//! Lists whose elements pair: by keys, as sets of scalars, as sets of values (M13, M15).

use model::Decision;
use yaml::{Kind, Node, Reader, Step, Value};

use super::apply::{New, Op};
use super::comments;
use super::compare::{canonical, same};
use super::value::{Known, Place, Three, Verdict, Walk};
use crate::conflicts::PathStep;
use crate::schema::{Key, List, Schema};

/// One element as the three sides hold it, by its position in each.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) base: Option<usize>,
    pub(super) local: Option<usize>,
    pub(super) upstream: Option<usize>,
    /// How a record names it.
    pub(super) step: PathStep,
}

/// Merges a list by its schema; `None` where it cannot pair and so is one value.
pub(super) fn merge<'a>(
    walk: &mut Walk<'a, '_, '_>,
    at: &Place,
    three: Three<'a>,
    list: List<'_>,
    schema: Schema<'_>,
) -> Option<Verdict<'a>> {
    let slots = slots(three, list)?;
    Some(combine(walk, at, three, &slots, schema))
}

/// Pairs the elements of a list; `None` where one has no identity, or two have the same.
pub(super) fn slots(three: Three<'_>, list: List<'_>) -> Option<Vec<Slot>> {
    let identify = |node: Option<Node<'_>>| -> Option<Vec<PathStep>> {
        let items = node.into_iter().flat_map(|node| node.items());
        let steps: Option<Vec<PathStep>> = items.map(|item| identity(item, list)).collect();
        let steps = steps?;
        let mut sorted: Vec<&PathStep> = steps.iter().collect();
        sorted.sort();
        let twice = sorted.windows(2).any(|pair| pair.first() == pair.last());
        (!twice).then_some(steps)
    };
    let base = identify(three.base)?;
    let local = identify(three.local)?;
    let upstream = identify(three.upstream)?;
    let find = |steps: &[PathStep], step: &PathStep| steps.iter().position(|s| s == step);
    let mut slots: Vec<Slot> = Vec::new();
    for (index, step) in local.iter().enumerate() {
        slots.push(Slot {
            base: find(&base, step),
            local: Some(index),
            upstream: find(&upstream, step),
            step: step.clone(),
        });
    }
    for (index, step) in upstream.iter().enumerate() {
        if find(&local, step).is_none() {
            slots.push(Slot {
                base: find(&base, step),
                local: None,
                upstream: Some(index),
                step: step.clone(),
            });
        }
    }
    Some(slots)
}

/// How an element is identified; `None` if it has no identity.
fn identity(item: Node<'_>, list: List<'_>) -> Option<PathStep> {
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
        List::Atomic | List::Functions => None,
    }
}

fn key_value(item: Node<'_>, key: &Key) -> Option<(String, String)> {
    let value = item.effective(&key.name).filter(|value| !value.is_null());
    let text = match value {
        Some(value) => value.target().ok()?.scalar()?.to_owned(),
        None => key.default.as_deref()?.to_owned(),
    };
    Some((key.name.clone().into_owned(), text))
}

/// Merges paired elements: local ones keep their order, new ones of upstream go where upstream has
/// them relative to their neighbours (M13).
pub(super) fn combine<'a>(
    walk: &mut Walk<'a, '_, '_>,
    at: &Place,
    three: Three<'a>,
    slots: &[Slot],
    schema: Schema<'_>,
) -> Verdict<'a> {
    let start = walk.ops.len();
    let Elements { gone, inserted } = elements(walk, at, three, slots, schema);
    let count = |node: Option<Node<'a>>| node.map_or(0, |node| node.items().len());
    let (left, there) = (
        gone.iter().filter(|gone| !**gone).count(),
        count(three.upstream),
    );
    if left == 0 && inserted.is_empty() && !gone.is_empty() {
        walk.ops.truncate(start);
        return Verdict::Take(match three.upstream {
            Some(node) if there == 0 => New::Node(node),
            _ => New::Value(Value::Seq(Vec::new())),
        });
    }
    if left == 0
        && inserted.len() == there
        && let Some(node) = three.upstream
    {
        walk.ops.truncate(start);
        return Verdict::Take(New::Node(node));
    }
    for (index, gone) in gone.iter().enumerate() {
        if *gone {
            let at = at.path.join(Step::Index(index));
            walk.ops.push(Op::Remove { at });
        }
    }
    for (from, with) in inserted {
        let stays = |slot: &&Slot| {
            slot.local
                .is_some_and(|index| gone.get(index) == Some(&false))
        };
        let following = slots
            .iter()
            .filter(|slot| slot.upstream > from)
            .filter(stays);
        let following = following.min_by_key(|slot| slot.upstream);
        let before = following.and_then(|slot| slot.local).unwrap_or(gone.len());
        let list = at.path.clone();
        walk.ops.push(Op::Item { list, before, with });
    }
    Verdict::Keep
}

/// What becomes of a list's elements.
struct Elements<'a> {
    /// Which local ones go.
    gone: Vec<bool>,
    /// What comes, with its position upstream.
    inserted: Vec<(Option<usize>, New<'a>)>,
}

/// Decides each element; what stays may be changed inside.
fn elements<'a>(
    walk: &mut Walk<'a, '_, '_>,
    at: &Place,
    three: Three<'a>,
    slots: &[Slot],
    schema: Schema<'_>,
) -> Elements<'a> {
    let nodes = |node: Option<Node<'a>>| -> Vec<Node<'a>> {
        node.into_iter().flat_map(|node| node.items()).collect()
    };
    let (base, local, upstream) = (nodes(three.base), nodes(three.local), nodes(three.upstream));
    let mut elements = Elements {
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
            (Verdict::Keep, Some(_)) => comments::merge_item(walk, &place, element),
            (Verdict::Remove, Some(index)) => {
                if let Some(gone) = elements.gone.get_mut(index) {
                    *gone = true;
                }
            }
            (Verdict::Take(with), Some(_)) => {
                let at = place.path.clone();
                walk.ops.push(Op::Replace { at, with });
                comments::merge_item(walk, &place, element);
            }
            (Verdict::Take(new), None) => elements.inserted.push((slot.upstream, new.whole())),
            (Verdict::Keep | Verdict::Remove, None) => {}
        }
    }
    elements
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
