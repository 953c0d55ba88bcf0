//! Edits of a Kptfile as values; each changes its own field and keeps every other byte (V5, M19).

use model::{Condition, Files, Function, GitLock, GitUpstream, Pairs, RenderStatus, Selector};
use yaml::{Node, Path, Value};

use super::{Kptfile, ReadError, lists, put, render_status};

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

/// Why a Kptfile could not be edited; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The change cannot be written into this text.
    #[error("the Kptfile cannot be edited")]
    Write(#[source] yaml::Error),
    /// The result would not be a Kptfile.
    #[error("the edited Kptfile would not be valid")]
    Result(#[source] ReadError),
}

impl EditError {
    /// What kind of failure this is.
    pub fn class(&self) -> model::Class {
        model::Class::Invalid
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

impl Kptfile {
    /// Applies edits in order: all of them, or none.
    pub fn edit(&self, edits: &[Edit]) -> Result<Self, EditError> {
        let stream = self.written(edits)?;
        if stream.text() == self.text() {
            return Ok(self.clone());
        }
        Self::of(stream).map_err(EditError::Result)
    }

    /// The text after edits that take something off, or write a whole field that has a type here: what such edits leave of
    /// a Kptfile is one. Each edit was held against what was asked for when it was written, so that its fields need
    /// not be read once more where nobody asks for them.
    pub(crate) fn edit_text(&self, edits: &[Edit]) -> Result<String, EditError> {
        Ok(self.edit_stream(edits)?.text().to_owned())
    }

    /// The same as it was parsed.
    pub(crate) fn edit_stream(&self, edits: &[Edit]) -> Result<Stream, EditError> {
        let stream = self.written(edits)?;
        debug_assert!(Self::of(stream.clone()).is_ok(), "{}", stream.text());
        Ok(stream)
    }

    /// As [`Kptfile::edit_text`], into a package.
    pub(crate) fn edit_into(&self, edits: &[Edit], files: &mut Files) -> Result<(), EditError> {
        put(&self.edit_text(edits)?, files);
        Ok(())
    }

    fn written(&self, edits: &[Edit]) -> Result<Stream, EditError> {
        let mut stream = self.stream.clone();
        // What is done to one list again and again is done at once: each write costs the whole text.
        for run in edits.chunk_by(lists::alike) {
            stream = match run {
                [edit] => apply(stream, edit),
                run => lists::apply(stream, run),
            }
            .map_err(EditError::Write)?;
        }
        Ok(stream)
    }

    /// The Kptfile without what a render notes in it (M12: no change of the package).
    pub fn without_render(&self) -> Result<Self, EditError> {
        self.edit(&[
            Edit::SetRenderStatus(None),
            Edit::RemoveCondition("Rendered".to_owned()),
        ])
    }
}

pub(super) type Stream = yaml::Stream;
pub(super) type Written = Result<Stream, yaml::Error>;

fn apply(stream: Stream, edit: &Edit) -> Written {
    let text = |text: &str| Value::from(text);
    match edit {
        Edit::SetName(name) => set(stream, &["metadata", "name"], text(name)),
        Edit::SetLabel(key, value) => set(stream, &["metadata", "labels", key], text(value)),
        Edit::RemoveLabel(key) => remove(stream, &["metadata", "labels", key]),
        Edit::SetLabels(labels) => set_texts(stream, "labels", labels),
        Edit::SetAnnotation(key, value) => {
            set(stream, &["metadata", "annotations", key], text(value))
        }
        Edit::RemoveAnnotation(key) => remove(stream, &["metadata", "annotations", key]),
        Edit::SetAnnotations(annotations) => set_texts(stream, "annotations", annotations),
        Edit::SetUpstream(upstream) => set(stream, &["upstream"], upstream_value(upstream)),
        Edit::RemoveUpstream => remove(stream, &["upstream"]),
        Edit::SetLock(lock) => set(stream, &["upstreamLock"], lock_value(lock)),
        Edit::RemoveLock => remove(stream, &["upstreamLock"]),
        Edit::AddGate(_)
        | Edit::RemoveGate(_)
        | Edit::SetGates(_)
        | Edit::SetCondition(_)
        | Edit::RemoveCondition(_)
        | Edit::SetConditions(_)
        | Edit::RemoveFunction(..) => lists::apply(stream, std::slice::from_ref(edit)),
        Edit::SetRenderStatus(Some(status)) => set(
            stream,
            &["status", "renderStatus"],
            render_status::value(status),
        ),
        Edit::SetRenderStatus(None) => remove(stream, &["status", "renderStatus"]),
        Edit::Prepend(list, functions) => prepend(stream, *list, functions),
    }
}

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
fn remove(stream: Stream, keys: &[&str]) -> Written {
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

fn set_texts(stream: Stream, field: &str, texts: &Pairs) -> Written {
    let present = find(&stream, &["metadata", field]);
    let present: Vec<String> = present
        .into_iter()
        .flat_map(|map| map.entries())
        .filter_map(|entry| entry.key.key_text().map(str::to_owned))
        .collect();
    let mut stream = stream;
    for (key, value) in texts {
        stream = set(
            stream,
            &["metadata", field, key],
            Value::from(value.as_str()),
        )?;
    }
    for key in present.iter().filter(|key| !texts.contains_key(*key)) {
        stream = remove(stream, &["metadata", field, key])?;
    }
    Ok(stream)
}

fn prepend(stream: Stream, list: FunctionList, functions: &[Function]) -> Written {
    let keys = ["pipeline", list.key()];
    let values = functions.iter().map(function_value);
    match find(&stream, &keys) {
        Some(node) if !node.is_null() => {
            let insert = |(index, value)| yaml::Edit::Insert {
                path: Path::keys(keys),
                index,
                value,
            };
            let edits: Vec<yaml::Edit> = values.enumerate().map(insert).collect();
            stream.apply(0, &edits)
        }
        _ if functions.is_empty() => Ok(stream),
        _ => set(stream, &keys, Value::Seq(values.collect())),
    }
}

/// A map of the texts that are not empty.
pub(super) fn pairs<'t>(entries: impl IntoIterator<Item = (&'t str, &'t str)>) -> Value {
    entries
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

fn upstream_value(upstream: &GitUpstream) -> Value {
    let git = [
        ("repo", upstream.repo.as_str()),
        ("directory", upstream.directory.as_str()),
        ("ref", upstream.git_ref.as_str()),
    ];
    [("type", Value::from("git")), ("git", pairs(git))]
        .into_iter()
        .collect()
}

fn lock_value(lock: &GitLock) -> Value {
    let commit = lock
        .commit
        .map(|commit| commit.to_string())
        .unwrap_or_default();
    let git = [
        ("repo", lock.repo.as_str()),
        ("directory", lock.directory.as_str()),
        ("ref", lock.git_ref.as_str()),
        ("commit", commit.as_str()),
    ];
    [("type", Value::from("git")), ("git", pairs(git))]
        .into_iter()
        .collect()
}

/// A function as kpt writes it.
pub(super) fn function_value(function: &Function) -> Value {
    let mut map: Vec<(String, Value)> = Vec::new();
    let mut text = |key: &str, text: Option<&str>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            map.push((key.to_owned(), Value::from(text)));
        }
    };
    text("image", function.image.as_deref());
    text("exec", function.exec.as_deref());
    text("configPath", function.config_path.as_deref());
    if !function.config_map.is_empty() {
        let config = function.config_map.iter().cloned().collect();
        map.push(("configMap".to_owned(), config));
    }
    let mut text = |key: &str, text: Option<&str>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            map.push((key.to_owned(), Value::from(text)));
        }
    };
    text("name", Some(&function.name));
    text("tag", function.tag.as_deref());
    for (key, selectors) in [
        ("selectors", &function.selectors),
        ("exclude", &function.exclude),
    ] {
        if !selectors.is_empty() {
            let selectors = selectors.iter().map(selector_value).collect();
            map.push((key.to_owned(), Value::Seq(selectors)));
        }
    }
    Value::Map(map)
}

fn selector_value(selector: &Selector) -> Value {
    let texts = [
        ("apiVersion", &selector.api_version),
        ("kind", &selector.kind),
        ("name", &selector.name),
        ("namespace", &selector.namespace),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| {
        text.as_ref()
            .map(|text| (key.to_owned(), Value::from(text.as_str())))
    });
    let maps = [
        ("labels", &selector.labels),
        ("annotations", &selector.annotations),
    ];
    let maps = maps
        .into_iter()
        .filter(|(_, map)| !map.is_empty())
        .map(|(key, map)| {
            let map = map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            (key.to_owned(), map)
        });
    Value::Map(texts.chain(maps).collect())
}
