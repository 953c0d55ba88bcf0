//! Several edits at once: those that do not meet are written together and checked together.
//!
//! Edits mean what they would mean one after the other. Two of them may share a step when neither lies on the
//! other's way, or when both put something into one collection, or both take something out of it; as soon as one does not
//! fit, what is gathered is written and the next step begins on the result.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Edit;
use super::aliases::Aliases;
use super::change::Op;
use super::lower;
use super::lowered::Lowered;
use super::siblings::Siblings;
use super::splice;
use crate::error::{Error, ErrorKind};
use crate::path::Path;
use crate::stream::Stream;
use crate::tree::{Id, NONE};

/// Changes that are gathered for the first step. As long as they go together, each next step takes twice as many, so
/// that a document is written few times; where they do not, half as many are tried, down to one alone.
const FIRST: usize = 64;

/// How many bytes of a document are read and written at most for the edits of one call: each step costs the whole text, and
/// whoever wrote the text must not decide how long we work. What goes together needs few steps.
const MOST_BYTES: usize = 128 * 1024 * 1024;

/// Applies edits in order.
pub(super) fn apply(stream: &Stream, doc: usize, edits: &[Edit]) -> Result<Stream, Error> {
    if doc >= stream.docs().len() {
        let message = format!("there is no document {doc}");
        return Err(Error::at(ErrorKind::Path, stream.text(), 0, message));
    }
    if stream.tree(doc).old_breaks {
        let message = "a line ends with NEL, LS or PS; only LF, CRLF and CR can be written around";
        return Err(stream.error(ErrorKind::Unwritable, doc, 0, message));
    }
    let depth = stream.limits().effective_depth();
    if let Some(edit) = edits
        .iter()
        .find(|edit| edit.value().is_some_and(|value| value.deeper_than(depth)))
    {
        let message = format!("collections are nested deeper than {depth}");
        return Err(stream
            .error(ErrorKind::Limit, doc, 0, message)
            .within(&edit.to_string()));
    }
    let mut stream = stream.clone();
    let mut work: VecDeque<Cow<'_, Edit>> = edits.iter().map(Cow::Borrowed).collect();
    let mut most = FIRST;
    let mut left = MOST_BYTES;
    while !work.is_empty() {
        lower::spend(&stream, doc, &mut left)?;
        let step = gather(&stream, doc, &mut work, most);
        if step.ops.len() > 1 {
            match splice::batch(&stream, doc, &step.ops) {
                Ok(next) => {
                    stream = next;
                    most = most.saturating_mul(2);
                }
                Err(_) => {
                    // One that does not go with the others must not cost each of them a step of its own.
                    most = step.ops.len() / 2;
                    for edit in step.edits.into_iter().rev() {
                        work.push_front(edit);
                    }
                }
            }
            continue;
        }
        // One alone, or what prepares the way for others.
        let mut alone = step.edits;
        if alone.is_empty() {
            alone.extend(work.pop_front());
        }
        for edit in alone {
            stream = lower::apply(&stream, doc, &edit, &mut left)
                .map_err(|error| error.within(&edit.to_string()))?;
        }
        most = most.max(2);
    }
    Ok(stream)
}

/// Edits and what they come down to on the same tree.
#[derive(Default)]
struct BatchStep<'e> {
    edits: Vec<Cow<'e, Edit>>,
    ops: Vec<Op>,
    /// The paths of what changes.
    scopes: BTreeSet<Path>,
    /// What comes into these collections, or goes out of them.
    siblings: BTreeMap<Path, Siblings>,
}

impl BatchStep<'_> {
    /// Whether something that changes lies at a path or above it.
    fn above(&self, path: &Path) -> bool {
        let steps = path.steps();
        (0..=steps.len()).any(|end| {
            let above = steps.get(..end).map(|steps| Path(steps.to_vec()));
            above.is_some_and(|above| self.scopes.contains(&above))
        })
    }

    /// What comes into the collection that an edit is about, or goes out of it.
    fn siblings_of(&mut self, edit: &Edit) -> Option<&mut Siblings> {
        let collection = Siblings::collection(edit)?;
        self.siblings.get_mut(&collection)
    }

    /// Whether something that changes lies at a path or below it.
    fn below(&self, path: &Path) -> bool {
        let mut from = self.scopes.range(path..);
        from.next().is_some_and(|scope| path.contains(scope))
    }
}

/// The change that an edit comes down to beside the others of its collection.
fn joined(stream: &Stream, doc: usize, siblings: &mut Siblings, edit: &Edit) -> Option<Op> {
    let joined = siblings.join(edit)?;
    match lower::lower(stream, doc, &joined).ok()? {
        Lowered::Change(op) if siblings.take(stream.tree(doc), &op) => Some(op),
        _ => None,
    }
}

/// Takes edits from the front as long as they do not meet those taken before.
fn gather<'e>(
    stream: &Stream,
    doc: usize,
    work: &mut VecDeque<Cow<'e, Edit>>,
    most: usize,
) -> BatchStep<'e> {
    let mut step = BatchStep::default();
    if work.len() < 2 && !matches!(work.front().map(Cow::as_ref), Some(Edit::Set { .. })) {
        return step;
    }
    if stream.tree(doc).root == NONE {
        return step;
    }
    let Some(aliases) = Aliases::of(stream, doc) else {
        return step;
    };
    while step.ops.len() < most {
        let Some(edit) = work.pop_front() else { break };
        let path = edit.path();
        // What the first one sees nothing was changed before.
        if !step.ops.is_empty() && aliases.are_seen_by(&edit) {
            work.push_front(edit);
            break;
        }
        if let Some(siblings) = step.siblings_of(&edit) {
            let Some(op) = joined(stream, doc, siblings, &edit) else {
                work.push_front(edit);
                break;
            };
            step.ops.push(op);
            step.edits.push(edit);
            continue;
        }
        let lowered = match step.above(path) || step.below(path) {
            true => None,
            false => lower::lower(stream, doc, &edit).ok(),
        };
        match lowered {
            Some(Lowered::Nothing) => {}
            Some(Lowered::Edits(edits)) => {
                for edit in edits.into_iter().rev() {
                    work.push_front(Cow::Owned(edit));
                }
            }
            Some(Lowered::Change(op)) => match scope(stream, doc, &op, path) {
                Some(scope) if !step.below(&scope) => {
                    if let Some(siblings) = Siblings::first(&edit, &op) {
                        step.siblings.insert(scope.clone(), siblings);
                    }
                    step.scopes.insert(scope);
                    step.ops.push(op);
                    step.edits.push(edit);
                }
                _ => {
                    work.push_front(edit);
                    break;
                }
            },
            Some(Lowered::Prepare(_)) | None => {
                work.push_front(edit);
                break;
            }
        }
    }
    step
}

/// The path of what a change touches: a replaced node, or the collection that gains, loses or renames an entry.
fn scope(stream: &Stream, doc: usize, op: &Op, path: &Path) -> Option<Path> {
    let tree = stream.tree(doc);
    let (node, up) = match op {
        Op::Replace { node, .. } => (*node, 0),
        Op::Insert { parent, .. }
        | Op::Remove { parent, .. }
        | Op::Order { parent, .. }
        | Op::Rename { parent, .. } => (*parent, 0),
        Op::Comment { node, .. } => (*node, 1),
    };
    if node == NONE {
        return None;
    }
    let steps = depth(tree, node).checked_sub(up)?;
    Some(Path(path.steps().get(..steps)?.to_vec()))
}

fn depth(tree: &crate::tree::Tree, mut node: Id) -> usize {
    let mut depth = 0;
    while tree.node(node).parent != NONE {
        node = tree.node(node).parent;
        depth += 1;
    }
    depth
}

#[cfg(test)]
mod tests;
