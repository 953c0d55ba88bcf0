//! Changes as edits, and whole values as text.

use super::diff::{Change, changes};
use super::together::at_once;
use super::{Data, Scalar, Value};
use crate::edit::{CommentPlace, Edit, patches_of};
use crate::error::Error;
use crate::node::Node;
use crate::scalar::{self, Reader};
use crate::stream::Stream;
use crate::{Limits, NodeKind, Path, Style};

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
        let changes = changes(old, new);
        if changes.is_empty() {
            continue;
        }
        let from = out.as_ref().unwrap_or(stream);
        let holds = |stream: &Stream| {
            stream
                .document(*document)
                .is_some_and(|document| says(document.root(), new))
        };
        let short = together(&changes).and_then(|edits| at_once(from, *document, &edits, holds));
        out = Some(match short {
            Some(stream) => stream,
            None => from.apply(*document, &in_turn(changes))?,
        });
    }
    Ok(out)
}

/// Whether a node reads back as a value, without taking it out of its text.
fn says(node: Node<'_>, value: &Value) -> bool {
    let Ok(node) = node.target() else {
        return false;
    };
    match value.data() {
        Data::Scalar(scalar) => scalar.says(node),
        Data::Seq(seq) => {
            let items = node.items();
            node.kind() == NodeKind::Sequence
                && items.len() == seq.items.len()
                && items.zip(&seq.items).all(|(node, value)| says(node, value))
        }
        Data::Map(map) => {
            let entries = node.entries();
            if node.kind() != NodeKind::Mapping || entries.len() != map.entries.len() {
                return false;
            }
            let named = |(entry, wanted): (crate::node::Entry<'_>, &super::Entry)| {
                wanted.plain_key && entry.key.key_text() == Some(&wanted.key)
            };
            let mut pairs = node.entries().zip(&map.entries);
            if pairs.all(named) {
                let mut pairs = entries.zip(&map.entries);
                return pairs.all(|(entry, wanted)| says(entry.value, &wanted.value));
            }
            map.entries.iter().all(|entry| {
                // Complex keys were not touched: the entries around them are enough.
                !entry.plain_key
                    || node.get(&entry.key).is_some_and(|node| {
                        let first = map.get(&entry.key);
                        first.is_some_and(|value| says(node, value))
                    })
            })
        }
        Data::Alias(_) => false,
    }
}

/// A text of one document that says this, with the comments behind its values: functions of the field read what they set from
/// them.
pub fn to_text(value: &Value) -> String {
    let plain = value.to_plain();
    let Ok(stream) = Stream::from_value(&plain, &Limits::default()) else {
        // What cannot be written as YAML can be written as JSON, which is YAML.
        return value.to_json().to_string() + "\n";
    };
    let mut comments = Vec::new();
    said_behind(value, &Path::root(), &mut comments);
    // One that has no place in the text, as behind a flow collection of several lines, is left out.
    comments.retain(|edit| patches_of(&stream, 0, edit).is_some());
    let holds = |with: &Stream| {
        let read = with.document(0).and_then(|d| d.to_value(Reader::V3).ok());
        read.as_ref() == Some(&plain)
    };
    let commented = match comments.is_empty() {
        true => None,
        false => at_once(&stream, 0, &comments, holds),
    };
    commented.unwrap_or(stream).text().to_owned()
}

/// The edits that put the comments behind the values below a path.
fn said_behind(value: &Value, at: &Path, edits: &mut Vec<Edit>) {
    if let Some(text) = value.comment() {
        edits.push(Edit::SetComment {
            path: at.clone(),
            place: CommentPlace::Line,
            text: text.to_owned(),
        });
    }
    match value.data() {
        Data::Map(map) => {
            let plain = map.entries.iter().filter(|entry| entry.plain_key);
            plain.for_each(|entry| said_behind(&entry.value, &at.join(&*entry.key), edits));
        }
        Data::Seq(seq) => {
            let items = seq.items.iter().enumerate();
            items.for_each(|(i, item)| said_behind(item, &at.join(i), edits));
        }
        Data::Scalar(_) | Data::Alias(_) => {}
    }
}

/// Edits to be applied one after the other: what comes later in a document first, so that paths stay true.
pub(super) fn in_turn(changes: Vec<Change>) -> Vec<Edit> {
    changes.into_iter().rev().flat_map(edits).collect()
}

/// Edits to be applied all at once, each path meant in the document as it was; nothing where one needs another.
pub(super) fn together(changes: &[Change]) -> Option<Vec<Edit>> {
    let mut out = Vec::with_capacity(changes.len());
    for change in changes {
        let mut edits = edits(change.clone());
        if edits.len() > 1 {
            match change {
                // Items inserted at one place are listed last first.
                Change::Insert { .. } => edits.reverse(),
                _ => return None,
            }
        }
        out.append(&mut edits);
    }
    Some(out)
}

fn edits(change: Change) -> Vec<Edit> {
    match change {
        Change::Set(path, value) => vec![set(path, &value)],
        Change::Remove(path) => vec![Edit::Remove { path }],
        Change::Add {
            map,
            key,
            value,
            index,
        } => add(map, key, &value, index),
        Change::Insert { seq, at, items } => {
            let insert = |item: Value| Edit::Insert {
                path: seq.clone(),
                index: at,
                value: item.to_plain(),
            };
            items.into_iter().rev().map(insert).collect()
        }
        Change::Comment(path, text) => vec![Edit::SetComment {
            path,
            place: CommentPlace::Line,
            text: text.unwrap_or_default(),
        }],
    }
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
    let exact = value.as_scalar().filter(|scalar| {
        scalar.style == Style::Plain && !scalar.is_string() && !scalar.text.is_empty()
    });
    let fragment = exact.and_then(|scalar| {
        let stream = Stream::parse(&*scalar.text, &Limits::default()).ok()?;
        let fragment = stream.document(0)?.root().lift();
        Some(fragment)
    });
    let mut edits = vec![match fragment {
        Some(fragment) => Edit::InsertKeyFragment {
            path: map,
            index,
            key,
            fragment,
        },
        None => Edit::InsertKey {
            path: map,
            index,
            key,
            value: value.to_plain(),
        },
    }];
    if let Some(comment) = value.comment() {
        let text = comment.to_owned();
        edits.push(Edit::SetComment {
            path: at,
            place: CommentPlace::Line,
            text,
        });
    }
    edits
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
    /// Whether a node is this scalar, for the package tools.
    fn says(&self, node: Node<'_>) -> bool {
        if node.kind() != NodeKind::Scalar {
            return false;
        }
        let untouched = node.style() == self.style
            && node.scalar() == Some(&*self.text)
            && node.tag() == self.tag.as_deref();
        untouched || self.same(&super::build::scalar_of(node))
    }

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
