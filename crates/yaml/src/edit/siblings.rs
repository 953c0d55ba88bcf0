//! Several edits of one collection in one step: what comes in, or what goes out, each where it would if the others were done already.
//! Never both: what comes and what goes at one place would depend on their order.

use std::collections::BTreeSet;

use super::Edit;
use super::change::Op;
use crate::path::{NodeStep, Path};
use crate::tree::{NodeKind, Tree};

/// What a step puts into one collection, or takes out of it.
pub(super) enum Siblings {
    /// Each comes behind those before it.
    Come {
        count: usize,
        /// Where the last one stands, with all before it.
        last: usize,
        keys: BTreeSet<String>,
    },
    /// The old positions of what goes.
    Go(BTreeSet<usize>),
}

impl Siblings {
    /// The collection that an edit puts something into, or takes something out of.
    pub(super) fn collection(edit: &Edit) -> Option<Path> {
        match edit {
            Edit::InsertKey { path, .. }
            | Edit::InsertKeyFragment { path, .. }
            | Edit::Insert { path, .. }
            | Edit::InsertFragment { path, .. }
            | Edit::Append { path, .. } => Some(path.clone()),
            Edit::Remove { path } => path.parent(),
            _ => None,
        }
    }

    /// Whether an edit puts something into a collection.
    pub(super) fn adds(edit: &Edit) -> bool {
        !matches!(edit, Edit::Remove { .. }) && Self::collection(edit).is_some()
    }

    /// The first change of a collection, if others may join it.
    pub(super) fn first(edit: &Edit, op: &Op) -> Option<Self> {
        Self::collection(edit)?;
        match op {
            Op::Insert { index, key, .. } => Some(Self::Come {
                count: 1,
                last: *index,
                keys: key.iter().cloned().collect(),
            }),
            Op::Remove { index, .. } => Some(Self::Go([*index].into())),
            _ => None,
        }
    }

    /// The edit as it has to be said of the collection as it was before the step; nothing where it does not go with the others.
    pub(super) fn join(&self, edit: &Edit) -> Option<Edit> {
        let mut joined = edit.clone();
        match (self, &mut joined) {
            (Self::Come { .. }, Edit::Append { .. }) => {}
            (
                Self::Come { count, last, .. },
                Edit::InsertKey { index, .. }
                | Edit::InsertKeyFragment { index, .. }
                | Edit::Insert { index, .. }
                | Edit::InsertFragment { index, .. },
            ) => {
                if *index <= *last {
                    return None;
                }
                if *index != usize::MAX {
                    *index -= count;
                }
            }
            (Self::Go(gone), Edit::Remove { path }) => match path.last() {
                Some(NodeStep::Key(_)) => {}
                Some(NodeStep::Index(index)) => {
                    let before = gone.len();
                    let behind = gone.last().is_some_and(|last| *index + before > *last);
                    let ahead = gone.first().is_some_and(|first| index < first);
                    let old = match (behind, ahead) {
                        (true, _) => *index + before,
                        (false, true) => *index,
                        (false, false) => return None,
                    };
                    *path = path.parent()?.join(NodeStep::Index(old));
                }
                None => return None,
            },
            _ => return None,
        }
        Some(joined)
    }

    /// Takes a change that [`join`](Self::join) let in, unless it meets one of the others after all.
    pub(super) fn take(&mut self, tree: &Tree, op: &Op) -> bool {
        match (self, op) {
            (Self::Come { count, last, keys }, Op::Insert { index, key, .. }) => {
                if key.iter().any(|key| keys.contains(key)) {
                    return false;
                }
                keys.extend(key.clone());
                *last = *index + *count;
                *count += 1;
                true
            }
            (Self::Go(gone), Op::Remove { parent, index }) => {
                let width = match tree.node(*parent).kind {
                    NodeKind::Mapping => 2,
                    _ => 1,
                };
                // Without its last entry a collection is written as an empty one.
                let all = tree.children(*parent).len() / width;
                gone.len() + 1 < all && gone.insert(*index)
            }
            _ => false,
        }
    }
}
