//! Changes as edits, and whole values as text.

use super::diff::{Change, changes};
use super::{Data, Scalar, Value};
use crate::edit::{Edit, Place};
use crate::error::Error;
use crate::scalar::{self, Reader};
use crate::stream::Stream;
use crate::{Limits, Path, Step, Style};

/// The stream in which some documents say something else; nothing if all say it already.
///
/// Each entry gives a document's number, its value as it was read, and the value wanted.
///
/// # Errors
/// A change that cannot be written so that it reads back.
pub fn rewrite(
    stream: &Stream,
    documents: &[(usize, &Value, &Value)],
) -> Result<Option<Stream>, Error> {
    let mut out: Option<Stream> = None;
    for (document, old, new) in documents {
        let edits = edits(changes(old, new), old);
        if !edits.is_empty() {
            out = Some(out.as_ref().unwrap_or(stream).apply(*document, &edits)?);
        }
    }
    Ok(out)
}

/// A text of one document that says this; comments of new values are left out.
pub fn to_text(value: &Value) -> String {
    let plain = value.to_plain();
    let text =
        Stream::from_value(&plain, &Limits::default()).map(|stream| stream.text().to_owned());
    // What cannot be written as YAML can be written as JSON, which is YAML.
    text.unwrap_or_else(|_| value.to_json().to_string() + "\n")
}

/// Edits to be applied one after the other: what comes later in a document first, so that paths stay true.
fn edits(changes: Vec<Change>, old: &Value) -> Vec<Edit> {
    let mut out = Vec::with_capacity(changes.len());
    for change in changes.into_iter().rev() {
        match change {
            Change::Set(path, value) => out.push(set(path, &value)),
            Change::Remove(path) => out.push(Edit::Remove { path }),
            Change::Add {
                map,
                key,
                value,
                after,
            } => {
                let index = position(old, &map, after.as_deref());
                out.extend(add(map, key, &value, index));
            }
            Change::Insert { seq, at, items } => {
                let empty = items.len();
                for item in items.into_iter().rev() {
                    out.push(Edit::Insert {
                        path: seq.clone(),
                        index: at,
                        value: item.to_plain(),
                    });
                }
                debug_assert!(empty > 0, "an insertion inserts something");
            }
            Change::Comment(path, text) => {
                out.push(Edit::SetComment {
                    path,
                    place: Place::Line,
                    text: text.unwrap_or_default(),
                });
            }
        }
    }
    out
}

fn set(path: Path, value: &Value) -> Edit {
    match value
        .as_scalar()
        .filter(|scalar| scalar.style == Style::Plain && !scalar.is_string())
    {
        Some(scalar) => Edit::ReplaceText {
            path,
            text: scalar.text.to_string(),
        },
        None => Edit::Set {
            path,
            value: value.to_plain(),
        },
    }
}

fn add(map: Path, key: String, value: &Value, index: usize) -> Vec<Edit> {
    let at = map.join(key.as_str());
    let exact = value
        .as_scalar()
        .filter(|scalar| scalar.style == Style::Plain && !scalar.is_string());
    let mut edits = vec![Edit::InsertKey {
        path: map,
        index,
        key,
        value: value.to_plain(),
    }];
    if let Some(scalar) = exact.filter(|scalar| scalar.type_tag() != "!!null") {
        edits.push(Edit::ReplaceText {
            path: at.clone(),
            text: scalar.text.to_string(),
        });
    }
    if let Some(comment) = value.comment() {
        edits.push(Edit::SetComment {
            path: at,
            place: Place::Line,
            text: comment.to_owned(),
        });
    }
    edits
}

/// The position of a new entry in the mapping as it was.
fn position(old: &Value, map: &Path, after: Option<&str>) -> usize {
    let found = map.steps().iter().try_fold(old, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.as_seq()?.items().get(*index),
    });
    let entries = found
        .and_then(Value::as_map)
        .map(|map| map.entries())
        .unwrap_or_default();
    let behind = after.and_then(|after| entries.iter().position(|entry| &*entry.key == after));
    behind.map_or(0, |at| at + 1)
}

impl Value {
    /// The value without style and comments.
    pub fn to_plain(&self) -> crate::Value {
        match self.data() {
            Data::Scalar(scalar) => scalar.to_plain(),
            Data::Seq(seq) => crate::Value::Seq(seq.items.iter().map(Self::to_plain).collect()),
            Data::Map(map) => crate::Value::Map(
                map.entries
                    .iter()
                    .map(|e| (e.key.to_string(), e.value.to_plain()))
                    .collect(),
            ),
            Data::Alias(_) => crate::Value::Null,
        }
    }
}

impl Scalar {
    fn to_plain(&self) -> crate::Value {
        let resolved = scalar::resolve(Reader::V3, self.style, self.tag.as_deref(), &self.text);
        match resolved {
            Ok(scalar::Scalar::Null) => crate::Value::Null,
            Ok(scalar::Scalar::Bool(b)) => crate::Value::Bool(b),
            Ok(scalar::Scalar::Int(i)) => crate::Value::Int(i),
            Ok(scalar::Scalar::UInt(u)) => crate::Value::UInt(u),
            Ok(scalar::Scalar::Float(f)) => crate::Value::Float(f),
            _ => crate::Value::Str(self.text.to_string()),
        }
    }
}
