//! What is wanted of a Kptfile, as values, and how one field of it is written: at its place, every other byte kept. This never decides
//! what several edits come to.

use model::{Condition, Function, GitLock, GitUpstream, Pairs, RenderStatus};
use yaml::{Node, Path, Value};

/// One wanted change. A change to an equal value is no change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edit {
    /// `metadata.name`
    SetName(String),
    /// One label.
    SetLabel(String, String),
    /// Takes a label off.
    RemoveLabel(String),
    /// All labels, exactly these.
    SetLabels(Pairs),
    /// One annotation.
    SetAnnotation(String, String),
    /// Takes an annotation off.
    RemoveAnnotation(String),
    /// All annotations, exactly these.
    SetAnnotations(Pairs),
    /// `upstream`, as a whole: what was said about another upstream does not hold for this one.
    SetUpstream(GitUpstream),
    /// Takes `upstream` off.
    RemoveUpstream,
    /// `upstreamLock`, as a whole.
    SetLock(GitLock),
    /// Takes `upstreamLock` off.
    RemoveLock,
    /// A readiness gate at the end of the list, unless it is there (V8: never sorted).
    AddGate(String),
    /// Takes a readiness gate off.
    RemoveGate(String),
    /// All gates as a set: those that stay keep their place, new ones are appended.
    SetGates(Vec<String>),
    /// A condition by its type, in place; a new one is appended.
    SetCondition(Condition),
    /// Takes a condition off.
    RemoveCondition(String),
    /// All conditions as a set, as [`Edit::SetGates`].
    SetConditions(Vec<Condition>),
    /// `status.renderStatus`
    SetRenderStatus(Option<RenderStatus>),
    /// Functions before all others of a list, in this order.
    Prepend(FunctionList, Vec<Function>),
    /// Takes a function off a list, by its name.
    RemoveFunction(FunctionList, String),
}

/// One of a pipeline's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionList {
    /// `mutators`
    Mutators,
    /// `validators`
    Validators,
}

impl FunctionList {
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Mutators => "mutators",
            Self::Validators => "validators",
        }
    }
}

/// The order of a Kptfile's top fields, where a new one finds its place.
pub(crate) const TOP: [&str; 9] = [
    "apiVersion",
    "kind",
    "metadata",
    "upstream",
    "upstreamLock",
    "info",
    "pipeline",
    "inventory",
    "status",
];

pub(super) type Stream = yaml::Stream;
pub(super) type Written = Result<Stream, yaml::Error>;

fn root(stream: &Stream) -> Option<Node<'_>> {
    stream.document(0).map(|document| document.root())
}

pub(super) fn find<'a>(stream: &'a Stream, keys: &[&str]) -> Option<Node<'a>> {
    root(stream)?.find(&Path::keys(keys.iter().copied()))
}

/// Sets a field; a missing top field is made at its place in the field's usual order.
pub(super) fn set(stream: Stream, keys: &[&str], value: Value) -> Written {
    let Some((top, rest)) = keys.split_first() else {
        return Ok(stream);
    };
    if find(&stream, &[top]).is_some() {
        return stream.apply(
            0,
            &[yaml::Edit::set(Path::keys(keys.iter().copied()), value)],
        );
    }
    let value = rest.iter().rev().fold(value, |value, key| {
        [((*key).to_owned(), value)].into_iter().collect()
    });
    let index = place(&stream, top);
    let key = (*top).to_owned();
    stream.apply(
        0,
        &[yaml::Edit::InsertKey {
            path: Path::root(),
            index,
            key,
            value,
        }],
    )
}

/// Where a new top field belongs: behind the last one that comes before it.
fn place(stream: &Stream, top: &str) -> usize {
    let before = TOP.iter().take_while(|key| **key != top);
    let before: Vec<&str> = before.copied().collect();
    let entries = root(stream).into_iter().flat_map(|root| root.entries());
    let keys = entries.map(|entry| entry.key.key_text().unwrap_or_default());
    let last = keys
        .enumerate()
        .filter(|(_, key)| before.contains(key))
        .last();
    last.map_or(0, |(index, _)| index + 1)
}

/// Removes a field, and the collections above it that are left empty.
pub(super) fn remove(stream: Stream, keys: &[&str]) -> Written {
    if find(&stream, keys).is_none() {
        return Ok(stream);
    }
    let stream = stream.apply(0, &[yaml::Edit::remove(Path::keys(keys.iter().copied()))])?;
    prune(stream, keys.split_last().map_or(&[], |(_, above)| above))
}

pub(super) fn prune(stream: Stream, keys: &[&str]) -> Written {
    let empty = find(&stream, keys)
        .is_some_and(|node| node.entries().len() == 0 && node.items().len() == 0);
    if empty && !keys.is_empty() && keys != ["metadata"] {
        remove(stream, keys)
    } else {
        Ok(stream)
    }
}

/// A map of the texts that are not empty.
pub(super) fn pairs<'t>(entries: impl IntoIterator<Item = (&'t str, &'t str)>) -> Value {
    entries
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .collect()
}
