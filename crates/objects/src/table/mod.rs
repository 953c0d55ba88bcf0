//! Server-side tables: columns of kinds and the cells of their objects (meta/v1 `Table`).
//!
//! Ages need the time, which the caller gives; nothing here reads a clock.

mod age;
mod builtin;
mod jsonpath;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(crate) use age::since_text;
pub(crate) use builtin::columns as builtin_columns;
pub use jsonpath::JsonPath;

use crate::schema::go_text;

/// Description of the `Name` column of every kind (from meta/v1).
pub(crate) const NAME_TEXT: &str = "Name must be unique within a namespace. Is required when creating resources, although \
some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily \
intended for creation idempotence and configuration definition. Cannot be updated. More info: \
https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// Description of the `Age` column (from meta/v1).
pub(crate) const AGE_TEXT: &str = "CreationTimestamp is a timestamp representing the server time when this object was \
created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this \
value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// Where a cell comes from.
#[derive(Debug, Clone)]
enum Source {
    /// A path into the object; the cell's form follows the column's type.
    Path(Result<JsonPath, String>),
    /// Code of a built-in kind.
    Code(fn(&Value, Timestamp) -> Value),
}

/// One column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    source: Source,
    /// Whether a number that is absent is shown as zero.
    zero: bool,
}

impl Column {
    /// Reads an `additionalPrinterColumns` entry.
    #[must_use]
    pub fn from_crd(column: &Value) -> Self {
        let text = |name: &str| {
            column
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let path = text("jsonPath");
        let mut description = text("description");
        if description.is_empty() {
            description = format!("Custom resource definition column (in JSONPath format): {path}");
        }
        Self {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description,
            priority: column
                .get("priority")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            source: Source::Path(JsonPath::parse(&path)),
            zero: false,
        }
    }

    /// Shows an absent number as zero, as a server does that prints its cells from Go's types.
    #[must_use]
    pub(crate) fn with_zero(mut self) -> Self {
        self.zero = self.kind == "integer";
        self
    }

    pub(crate) fn code(
        name: &str,
        kind: &str,
        priority: i64,
        description: &str,
        cell: fn(&Value, Timestamp) -> Value,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: if name == "Name" && priority == 0 {
                "name".to_owned()
            } else {
                String::new()
            },
            description: description.to_owned(),
            priority,
            source: Source::Code(cell),
            zero: false,
        }
    }

    fn definition(&self) -> Value {
        json!({
            "name": self.name, "type": self.kind, "format": self.format,
            "description": self.description, "priority": self.priority,
        })
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match &self.source {
            Source::Code(cell) => cell(object, now),
            Source::Path(Err(_)) => Value::Null,
            Source::Path(Ok(path)) => match path.find(object).first() {
                Some(found) => typed(&self.kind, found, now),
                None if self.zero => 0.into(),
                None => Value::Null,
            },
        }
    }
}

/// A found value in the form that a column's type asks for; null where it does not fit.
fn typed(kind: &str, value: &Value, now: Timestamp) -> Value {
    match kind {
        "string" => match value {
            Value::String(_) => value.clone(),
            other => Value::from(go_text(other)),
        },
        "integer" => value
            .as_i64()
            .or_else(|| value.as_f64().map(|f| f as i64))
            .map_or(Value::Null, Value::from),
        "number" => value.as_f64().map_or(Value::Null, |f| {
            if f.fract() == 0.0 && f.abs() < 9e15 {
                Value::from(f as i64)
            } else {
                Value::from(f)
            }
        }),
        "boolean" => value.as_bool().map_or(Value::Null, Value::from),
        "date" => value
            .as_str()
            .map_or(Value::Null, |text| Value::from(since_text(text, now))),
        _ => Value::Null,
    }
}

/// The column `Name`.
fn name() -> Column {
    Column::code("Name", "string", 0, NAME_TEXT, |o, _| {
        Value::from(text(o, "/metadata/name"))
    })
}

/// The column `Age`.
fn age() -> Column {
    Column::code("Age", "string", 0, AGE_TEXT, |o, now| {
        Value::from(since_text(text(o, "/metadata/creationTimestamp"), now))
    })
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The columns of a custom resource: always the name, then its own, or the age where it has none.
#[must_use]
pub(crate) fn custom_columns(own: &[Column]) -> Vec<Column> {
    let mut all = vec![name()];
    if own.is_empty() {
        all.push(Column::from_crd(&json!({
            "name": "Age", "type": "date", "description": AGE_TEXT, "jsonPath": ".metadata.creationTimestamp",
        })));
    } else {
        all.extend(own.iter().cloned());
    }
    all
}

impl Column {
    /// The columns of a Scale.
    #[must_use]
    pub fn of_scale() -> Vec<Self> {
        let column = |name: &str, kind: &str, text: &str, path: &str| {
            let column = serde_json::json!({"name": name, "type": kind, "description": text, "jsonPath": path});
            Self::from_crd(&column)
        };
        vec![
            name(),
            column(
                "Desired",
                "integer",
                "Number of desired replicas",
                ".spec.replicas",
            ),
            column(
                "Available",
                "integer",
                "Number of actual replicas",
                ".status.replicas",
            ),
            column("Age", "date", AGE_TEXT, ".metadata.creationTimestamp"),
        ]
    }
}

/// What a row carries of its object (`includeObject`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// Its metadata.
    Metadata,
    /// All of it.
    Object,
}

impl Include {
    /// Reads `includeObject`; empty means metadata.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// How a table is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Form<'a> {
    /// What rows carry.
    pub include: Include,
    /// `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`.
    pub api_version: &'a str,
    /// False from the second event of a watch on: then `columnDefinitions` is null.
    pub definitions: bool,
    /// The time that ages are counted to.
    pub now: Timestamp,
}

impl Form<'_> {
    /// Builds a `Table`; `metadata` is that of the list, or the object's resourceVersion.
    #[must_use]
    pub fn table<'a>(
        self,
        columns: &[Column],
        objects: impl IntoIterator<Item = &'a Value>,
        metadata: Value,
    ) -> Value {
        let definitions = if self.definitions {
            Value::from(columns.iter().map(Column::definition).collect::<Vec<_>>())
        } else {
            Value::Null
        };
        let rows: Vec<Value> = objects
            .into_iter()
            .map(|object| row(columns, object, self))
            .collect();
        json!({
            "kind": "Table",
            "apiVersion": self.api_version,
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": rows,
        })
    }
}

/// One row of a table.
#[must_use]
pub(crate) fn row(columns: &[Column], object: &Value, form: Form<'_>) -> Value {
    let cells: Vec<Value> = columns
        .iter()
        .map(|column| column.cell(object, form.now))
        .collect();
    let object = match form.include {
        Include::None => Value::Null,
        Include::Metadata => partial_metadata(object, form.api_version),
        Include::Object => object.clone(),
    };
    json!({ "cells": cells, "object": object })
}

/// An object as `PartialObjectMetadata` of that API version.
#[must_use]
pub fn partial_metadata(object: &Value, api_version: &str) -> Value {
    let metadata = object
        .get("metadata")
        .cloned()
        .unwrap_or_else(|| Value::Object(Map::new()));
    json!({ "kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": metadata })
}

#[cfg(test)]
mod tests;
