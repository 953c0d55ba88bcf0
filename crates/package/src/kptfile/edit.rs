//! Edits of a Kptfile; each changes its own field and keeps every other byte (V5, M19).

use model::{Files, Function, GitLock, GitUpstream, Pairs, Selector};
use yaml::{Path, Value};

use super::write::{Edit, FunctionList, Stream, Written, find, pairs, remove, set};
use super::{Kptfile, ReadError, lists, put, render_status};

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
