//! ResourceLists as text: what functions outside this process read and write.

mod answer;
mod exchange;

use std::sync::Arc;

use model::{FunctionResultItem, ResourceRef, Severity};
use yaml::owned::Value;
use yaml::{Limits, Stream};

use crate::Item;

pub use answer::{ResourceListText, WriteError};
pub(crate) use exchange::{list_of, reply, reply_of, request, results_of};

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
    /// A function moved a resource to two places at once.
    #[error(
        "mismatched legacy and internal path annotations: {0:?} and {1:?}; set only one of them"
    )]
    Places(String, String),
}

impl ReadError {
    /// Where in the text, as far as that is known.
    pub fn snippet(&self) -> Option<&str> {
        match self {
            Self::Parse(error) => Some(error.snippet()),
            Self::Kind(_) | Self::Places(..) => None,
        }
    }
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
        Self::of(&list)
    }

    /// The same of a value that was read.
    fn of(list: &Value) -> Result<Self, ReadError> {
        let kind = list.get("kind").and_then(Value::text).unwrap_or_default();
        if kind != "ResourceList" {
            return Err(ReadError::Kind(kind.to_owned()));
        }
        let items = entries(list);
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

/// The items of a list.
fn entries(list: &Value) -> &[Value] {
    list.get("items")
        .and_then(Value::as_seq)
        .map(|seq| seq.items())
        .unwrap_or_default()
}

/// One value of a text, without its place in the text.
pub(crate) fn parse_value(text: &str) -> Option<Value> {
    let stream = Stream::parse(text, &Limits::default()).ok()?;
    let document = stream.documents().find(|document| !document.is_empty())?;
    Value::read(&document).ok()
}

/// What the annotations of a place say, in the newer form and in the older one.
type Marks = [Option<String>; 2];

/// Takes the bookkeeping annotations off a resource and reads them.
fn item(value: Value) -> Item {
    let (item, _) = marked(value);
    item
}

/// The same with what both forms of its path say.
fn marked(mut value: Value) -> (Item, Marks) {
    let (mut paths, mut indexes, mut id) = (Marks::default(), Marks::default(), None);
    // Only a value that has such annotations is touched: an alias stays one.
    let has = value
        .lookup(&["metadata", "annotations"])
        .and_then(Value::as_map)
        .is_some_and(|map| map.iter().any(|(key, _)| is_mark(key)));
    let annotations = value
        .lookup_mut(&["metadata", "annotations"])
        .filter(|_| has)
        .and_then(Value::as_map_mut);
    if let Some(annotations) = annotations {
        let mut take = |key: &str| {
            annotations
                .remove(key)
                .and_then(|value| value.text().map(str::to_owned))
        };
        paths = PATHS.map(&mut take);
        indexes = INDEXES.map(&mut take);
        id = take(ID).and_then(|text| text.parse().ok());
        let empty = annotations.is_empty();
        if empty && let Some(metadata) = value.get_mut("metadata").and_then(Value::as_map_mut) {
            metadata.remove("annotations");
        }
    }
    let mut indexes = indexes.into_iter().flatten();
    let item = Item {
        id,
        value: Arc::new(value),
        path: paths.iter().flatten().next().cloned(),
        index: indexes.find_map(|text| text.parse().ok()),
    };
    (item, paths)
}

/// Whether an annotation only says where a resource is kept.
fn is_mark(key: &str) -> bool {
    PATHS.contains(&key) || INDEXES.contains(&key) || key == ID
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
