//! ResourceLists as text: what functions outside this process read and write
//! (packages-and-functions.md §3.6).

use std::sync::Arc;

use model::{FunctionResultItem, ResourceRef, Severity};
use yaml::owned::Value;
use yaml::{Limits, Stream};

use crate::Item;

/// Annotations that carry a resource's place; only on the wire.
const PATHS: [&str; 2] = [
    "internal.config.kubernetes.io/path",
    "config.kubernetes.io/path",
];
const INDEXES: [&str; 2] = [
    "internal.config.kubernetes.io/index",
    "config.kubernetes.io/index",
];
const ID: &str = "internal.config.kubernetes.io/kpt-resource-id";

/// A ResourceList, read.
#[derive(Debug, Clone, Default)]
pub struct ResourceList {
    /// Its items, without the annotations that said where they are kept.
    pub items: Vec<Item>,
    /// Its function configuration.
    pub config: Option<Arc<Value>>,
    /// Results that are there already.
    pub results: Vec<FunctionResultItem>,
}

/// Why a text is no ResourceList.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Not YAML.
    #[error("failed to parse ResourceList: {0}")]
    Parse(#[source] yaml::Error),
    /// Something else.
    #[error("input was of unexpected kind {0:?}; expected ResourceList")]
    Kind(String),
}

impl ResourceList {
    /// Reads a ResourceList; an empty text is an empty list.
    ///
    /// # Errors
    /// A text that is not YAML or holds something else.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let stream = Stream::parse(text, &Limits::default()).map_err(ReadError::Parse)?;
        let Some(document) = stream.documents().find(|document| !document.is_empty()) else {
            return Ok(Self::default());
        };
        let list = Value::read(&document).map_err(ReadError::Parse)?;
        let kind = list.get("kind").and_then(Value::text).unwrap_or_default();
        if kind != "ResourceList" {
            return Err(ReadError::Kind(kind.to_owned()));
        }
        let items = list
            .get("items")
            .and_then(Value::as_seq)
            .map(|seq| seq.items())
            .unwrap_or_default();
        let config = list
            .get("functionConfig")
            .filter(|config| !config.is_null())
            .cloned();
        let results = list.get("results").map(read_results).unwrap_or_default();
        Ok(Self {
            items: items.iter().cloned().map(item).collect(),
            config: config.map(|config| item(config).value),
            results,
        })
    }
}

/// One value of a text, without its place in the text.
pub(crate) fn parse_value(text: &str) -> Option<Value> {
    let stream = Stream::parse(text, &Limits::default()).ok()?;
    let document = stream.documents().find(|document| !document.is_empty())?;
    Value::read(&document).ok()
}

/// Takes the bookkeeping annotations off a resource and reads them.
fn item(mut value: Value) -> Item {
    let (mut path, mut index, mut id) = (None, None, None);
    let annotations = value
        .lookup_mut(&["metadata", "annotations"])
        .and_then(Value::as_map_mut);
    if let Some(annotations) = annotations {
        let mut take = |key: &str| {
            annotations
                .remove(key)
                .and_then(|value| value.text().map(str::to_owned))
        };
        for key in PATHS {
            // Both are taken off, whichever counts.
            let found = take(key);
            path = path.or(found);
        }
        for key in INDEXES {
            let found = take(key).and_then(|text| text.parse().ok());
            index = index.or(found);
        }
        id = take(ID).and_then(|text| text.parse().ok());
        let empty = annotations.is_empty();
        if empty && let Some(metadata) = value.get_mut("metadata").and_then(Value::as_map_mut) {
            metadata.remove("annotations");
        }
    }
    Item {
        id,
        value: Arc::new(value),
        path,
        index,
    }
}

/// Results as a list, or in the older `{name, items}` form.
fn read_results(value: &Value) -> Vec<FunctionResultItem> {
    let items = value.get("items").unwrap_or(value);
    items
        .as_seq()
        .map(|seq| seq.items().iter().map(read_result).collect())
        .unwrap_or_default()
}

fn read_result(value: &Value) -> FunctionResultItem {
    let text = |path: &[&str]| value.lookup(path).and_then(Value::text).map(str::to_owned);
    let json = |path: &[&str]| value.lookup(path).map(|value| value.to_json().to_string());
    let severity = match text(&["severity"]).as_deref() {
        Some("error") => Severity::Error,
        Some("warning") => Severity::Warning,
        _ => Severity::Info,
    };
    let reference = value.get("resourceRef").map(|reference| {
        let at = |path: &[&str]| {
            reference
                .lookup(path)
                .and_then(Value::text)
                .unwrap_or_default()
                .to_owned()
        };
        let either = |short: &str| {
            Some(at(&[short]))
                .filter(|t| !t.is_empty())
                .unwrap_or_else(|| at(&["metadata", short]))
        };
        ResourceRef {
            api_version: at(&["apiVersion"]),
            kind: at(&["kind"]),
            namespace: either("namespace"),
            name: either("name"),
        }
    });
    let index = text(&["file", "index"]).and_then(|text| text.parse().ok());
    FunctionResultItem {
        message: text(&["message"]).unwrap_or_default(),
        severity,
        resource: reference,
        field: text(&["field", "path"]),
        current: json(&["field", "currentValue"]),
        proposed: json(&["field", "proposedValue"]).or_else(|| json(&["field", "suggestedValue"])),
        file: text(&["file", "path"]).map(|path| (path, index)),
        tags: value
            .get("tags")
            .and_then(Value::as_map)
            .map(|map| {
                map.iter()
                    .filter_map(|(k, v)| Some((k.to_owned(), v.text()?.to_owned())))
                    .collect()
            })
            .unwrap_or_default(),
    }
}
