//! What the three sides hold of one value, and of one element of a list.

use crate::place::PathStep;
use yaml::Node;

/// One value as the three sides hold it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Three<'a> {
    pub(super) base: Option<Node<'a>>,
    pub(super) local: Option<Node<'a>>,
    pub(super) upstream: Option<Node<'a>>,
}

impl<'a> Three<'a> {
    pub(super) fn map(self, pick: impl Fn(Node<'a>) -> Option<Node<'a>>) -> Self {
        Self {
            base: self.base.and_then(&pick),
            local: self.local.and_then(&pick),
            upstream: self.upstream.and_then(&pick),
        }
    }
}

/// One element as the three sides hold it, by its position in each.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) base: Option<usize>,
    pub(super) local: Option<usize>,
    pub(super) upstream: Option<usize>,
    /// How a record names it.
    pub(super) step: PathStep,
}
