//! What tells the elements of a list apart.

use yaml::{Node, NodeKind, Reader};

use crate::place::PathStep;
use crate::schema::{ListKey, ListRule};
use crate::values::{canonical, keyed};

/// How an element is identified; `None` if it has no identity.
pub(super) fn identity(item: Node<'_>, list: ListRule<'_>) -> Option<PathStep> {
    match list {
        ListRule::Map(keys) => {
            if item.kind() != NodeKind::Mapping {
                return None;
            }
            let keys: Option<Vec<(String, String)>> =
                keys.iter().map(|key| key_value(item, key)).collect();
            keys.map(PathStep::Element)
        }
        ListRule::Set => {
            let text = item.target().ok()?.scalar()?;
            Some(PathStep::Item(text.to_owned()))
        }
        ListRule::Values => {
            let json = item.to_value(Reader::V3).ok()?.to_json()?;
            Some(PathStep::Item(canonical(&json)))
        }
        ListRule::Atomic | ListRule::Unstated | ListRule::Grants | ListRule::Functions => None,
    }
}

fn key_value(item: Node<'_>, key: &ListKey) -> Option<(String, String)> {
    let value = keyed(item, &key.name).filter(|value| !value.is_null());
    let text = match value {
        Some(value) => value.target().ok()?.scalar()?.to_owned(),
        None => key.default.as_deref()?.to_owned(),
    };
    Some((key.name.clone().into_owned(), text))
}

/// The elements of one side, by what identifies them.
pub(super) struct Elements {
    pub(super) steps: Vec<PathStep>,
    /// Their positions, in the order of their identities.
    sorted: Vec<usize>,
}

impl Elements {
    pub(super) fn of(node: Option<Node<'_>>, list: ListRule<'_>) -> Option<Self> {
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

    pub(super) fn find(&self, step: &PathStep) -> Option<usize> {
        let compare = |index: &usize| self.steps.get(*index).cmp(&Some(step));
        let at = self.sorted.binary_search_by(compare).ok()?;
        self.sorted.get(at).copied()
    }
}
