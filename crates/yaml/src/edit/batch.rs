//! Several edits at once: those that do not meet are written together and checked together.
//!
//! Edits mean what they would mean one after the other. Two of them may share a step when neither lies on the
//! other's way; as soon as one does not fit, what is gathered is written and the next step begins on the result.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::Edit;
use super::lower::{self, Lowered};
use super::splice::{self, Op};
use crate::error::{Error, ErrorKind};
use crate::path::Path;
use crate::stream::Stream;
use crate::tree::{Id, Kind, NONE};

/// Changes that are gathered for one step; more would make the search for meetings slow.
const MOST: usize = 64;

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
    while !work.is_empty() {
        let step = gather(&stream, doc, &mut work);
        let together = match step.ops.as_slice() {
            [] => None,
            [_] => None,
            ops => splice::batch(&stream, doc, ops).ok(),
        };
        if let Some(next) = together {
            stream = next;
            continue;
        }
        // One alone, or several that do not go together: one after the other.
        let mut alone = step.edits;
        if alone.is_empty() {
            alone.extend(work.pop_front());
        }
        for edit in alone {
            stream = lower::apply(&stream, doc, &edit)
                .map_err(|error| error.within(&edit.to_string()))?;
        }
    }
    Ok(stream)
}

/// Edits and what they come down to on the same tree.
#[derive(Default)]
struct Step<'e> {
    edits: Vec<Cow<'e, Edit>>,
    ops: Vec<Op>,
    /// The paths of what changes.
    scopes: Vec<Path>,
}

/// Takes edits from the front as long as they do not meet those taken before.
fn gather<'e>(stream: &Stream, doc: usize, work: &mut VecDeque<Cow<'e, Edit>>) -> Step<'e> {
    let mut step = Step::default();
    if work.len() < 2 && !matches!(work.front().map(Cow::as_ref), Some(Edit::Set { .. })) {
        return step;
    }
    let tree = stream.tree(doc);
    // A change of an anchored node is seen elsewhere.
    if tree.root == NONE || tree.nodes.iter().any(|node| node.kind == Kind::Alias) {
        return step;
    }
    while step.ops.len() < MOST {
        let Some(edit) = work.pop_front() else { break };
        let path = edit.path();
        let meets = |scope: &Path| scope.contains(path) || path.contains(scope);
        let lowered = match step.scopes.iter().any(meets) {
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
                Some(scope) if !step.scopes.iter().any(|other| scope.contains(other)) => {
                    step.scopes.push(scope);
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
        Op::Insert { parent, .. } | Op::Remove { parent, .. } | Op::Rename { parent, .. } => {
            (*parent, 0)
        }
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
