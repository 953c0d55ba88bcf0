//! A ResourceList that is answered in its own text: whatever a function left alone keeps its bytes.

use std::sync::Arc;

use model::{Function, FunctionResultItem};
use yaml::owned::{Value, rewrite};
use yaml::{Limits, Stream};

use super::{INDEXES, PATHS, ReadError, ResourceList, entries, is_mark};
use crate::{FunctionCall, FunctionOutcome, Item};

/// A change that cannot be written so that it reads back as meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot write the ResourceList: {0}")]
pub struct WriteError(#[source] yaml::Error);

/// A ResourceList with its text.
#[derive(Debug, Clone)]
pub struct ResourceListText {
    stream: Stream,
    at: usize,
    list: Value,
    read: ResourceList,
}

impl ResourceListText {
    /// Reads a ResourceList; an empty text is an empty list.
    ///
    /// # Errors
    /// A text that is not YAML or holds something else.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let empty = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
        let mut stream = Stream::parse(text, &Limits::default()).map_err(ReadError::Parse)?;
        if stream.documents().all(|document| document.is_empty()) {
            stream = Stream::parse(empty, &Limits::default()).map_err(ReadError::Parse)?;
        }
        let Some(document) = stream.documents().find(|document| !document.is_empty()) else {
            return Err(ReadError::Kind(String::new()));
        };
        let (at, list) = (
            document.index(),
            Value::read(&document).map_err(ReadError::Parse)?,
        );
        let read = ResourceList::of(&list)?;
        Ok(Self {
            stream,
            at,
            list,
            read,
        })
    }

    /// The call that it asks for, with a configuration that replaces its own.
    pub fn call(&self, function: Function, config: Option<Arc<Value>>) -> FunctionCall {
        let items = self.read.items.iter().zip(0..);
        FunctionCall {
            function,
            config: config.or_else(|| self.read.config.clone()),
            items: items
                .map(|(item, id)| Item {
                    id: Some(id),
                    ..item.clone()
                })
                .collect(),
            tenant: None,
        }
    }

    /// Its text with what a call of [`ResourceListText::call`] made of it. Results are added to those that are there.
    ///
    /// # Errors
    /// A value that cannot be written in its place.
    pub fn answer(&self, outcome: &FunctionOutcome) -> Result<String, WriteError> {
        let mut list = self.list.clone();
        let items = outcome.items.iter().map(|item| self.item(item)).collect();
        if let Some(seq) = list.get_mut("items").and_then(Value::as_seq_mut) {
            *seq.items_mut() = items;
        } else if !items.is_empty()
            && let Some(map) = list.as_map_mut()
        {
            map.set("items", Value::seq(items));
        }
        if !outcome.results.is_empty()
            && let Some(map) = list.as_map_mut()
        {
            let new = outcome.results.iter().map(result);
            match map.get_mut("results").and_then(Value::as_seq_mut) {
                Some(old) => old.items_mut().extend(new),
                None => map.set("results", Value::seq(new)),
            }
        }
        let written = rewrite(&self.stream, &[(self.at, &self.list, &list)]);
        let written = written.map_err(WriteError)?;
        Ok(written.as_ref().unwrap_or(&self.stream).text().to_owned())
    }

    /// An item as it goes back: with the annotations that say where it is kept.
    fn item(&self, item: &Item) -> Value {
        let at = item.id.and_then(|id| usize::try_from(id).ok());
        let was = at.and_then(|at| Some((entries(&self.list).get(at)?, self.read.items.get(at)?)));
        let Some((before, was)) = was else {
            return placed(item);
        };
        if Arc::ptr_eq(&was.value, &item.value) && was.path == item.path {
            return before.clone();
        }
        let mut value = Value::clone(&item.value);
        let marks: Vec<(usize, &str, Value)> = before
            .lookup(&["metadata", "annotations"])
            .and_then(Value::as_map)
            .into_iter()
            .flat_map(|map| map.iter().enumerate())
            .filter(|(_, (key, _))| is_mark(key) && (item.path.is_some() || !PATHS.contains(key)))
            .map(|(at, (key, value))| (at, key, value.clone()))
            .collect();
        if marks.is_empty() && (was.path == item.path || item.path.is_none()) {
            return value;
        }
        if let Some(map) = value.ensure_map(&["metadata", "annotations"]) {
            for (at, key, mark) in marks {
                map.insert(at.min(map.len()), key, mark);
            }
            if was.path != item.path
                && let Some(path) = &item.path
            {
                let known: Vec<&str> = PATHS
                    .into_iter()
                    .filter(|key| map.get(key).is_some())
                    .collect();
                let keys = if known.is_empty() {
                    vec![PATHS[0]]
                } else {
                    known
                };
                for key in keys {
                    map.set_str(key, path);
                }
            }
        }
        value
    }
}

/// A value with the annotations that say where it is to be kept.
pub(super) fn placed(item: &Item) -> Value {
    let mut value = Value::clone(&item.value);
    let index = item.index.map(|index| index.to_string());
    let marks = [(PATHS, item.path.clone()), (INDEXES, index)];
    for (keys, text) in marks {
        let Some(text) = text else { continue };
        if let Some(map) = value.ensure_map(&["metadata", "annotations"]) {
            for key in keys {
                map.set_str(key, &text);
            }
        }
    }
    value
}

/// A whole list.
pub(super) fn list(items: Vec<Value>, config: Option<&Value>) -> Value {
    let mut list = Value::map([
        ("apiVersion", Value::plain("config.kubernetes.io/v1")),
        ("kind", Value::plain("ResourceList")),
        ("items", Value::seq(items)),
    ]);
    if let (Some(config), Some(map)) = (config, list.as_map_mut()) {
        map.push("functionConfig", config.clone());
    }
    list
}

/// A result as it is written.
fn result(result: &FunctionResultItem) -> Value {
    let json = |text: &Option<String>| {
        let text = text.as_ref()?;
        let json = serde_json::from_str(text).unwrap_or_else(|_| text.clone().into());
        Some(Value::from_json(&json))
    };
    let text = |text: &str| (!text.is_empty()).then(|| Value::string(text));
    let object = |fields: Vec<(&'static str, Option<Value>)>| {
        let fields: Vec<_> = fields
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect();
        (!fields.is_empty()).then(|| Value::map(fields))
    };
    let reference = result.resource.as_ref().and_then(|reference| {
        object(vec![
            ("apiVersion", text(&reference.api_version)),
            ("kind", text(&reference.kind)),
            ("namespace", text(&reference.namespace)),
            ("name", text(&reference.name)),
        ])
    });
    let field = object(vec![
        ("path", result.field.as_deref().and_then(text)),
        ("currentValue", json(&result.current)),
        ("proposedValue", json(&result.proposed)),
    ]);
    let file = result.file.as_ref().and_then(|(path, index)| {
        let index = index.map(|index| Value::plain(index.to_string()));
        object(vec![("path", text(path)), ("index", index)])
    });
    let tags = result
        .tags
        .iter()
        .map(|(key, value)| (key.clone(), Value::string(value.clone())));
    object(vec![
        ("message", Some(Value::string(result.message.clone()))),
        ("severity", Some(Value::string(result.severity.as_str()))),
        ("resourceRef", reference),
        ("field", field),
        ("file", file),
        ("tags", (!result.tags.is_empty()).then(|| Value::map(tags))),
    ])
    .unwrap_or_else(Value::null)
}
