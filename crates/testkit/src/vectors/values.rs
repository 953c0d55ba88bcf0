//! Comparing files by what they mean: YAML by values, everything else by bytes.

use std::collections::BTreeMap;

use serde_json::Value;
use yaml::{Limits, Reader, Stream};

/// How two contents of one file differ; nothing if they mean the same.
pub(super) fn contents_differ(path: &str, theirs: &str, ours: &str) -> Option<String> {
    if theirs == ours {
        return None;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_yaml = name == "Kptfile" || name.ends_with(".yaml") || name.ends_with(".yml");
    let values = |text: &str| documents(text, name == "Kptfile");
    let (a, b) = (values(theirs), values(ours));
    if is_yaml && a.is_some() && a == b {
        return None;
    }
    let show = |values: Option<Vec<Value>>, text: &str| {
        values.map_or_else(|| text.to_owned(), |values| lines(&values))
    };
    let (a, b) = if is_yaml {
        (show(a, theirs), show(b, ours))
    } else {
        (theirs.into(), ours.into())
    };
    let mut text = String::new();
    for change in similar::TextDiff::from_lines(&a, &b).iter_all_changes() {
        match change.tag() {
            similar::ChangeTag::Delete => {
                text.push_str(&format!("\n  peer {}", change.value().trim_end()))
            }
            similar::ChangeTag::Insert => {
                text.push_str(&format!("\n  ours {}", change.value().trim_end()))
            }
            similar::ChangeTag::Equal => {}
        }
    }
    Some(text)
}

/// Each value of each document on a line of its own, with its path.
pub(super) fn lines(values: &[Value]) -> String {
    fn walk(path: &str, value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                let sorted: BTreeMap<&String, &Value> = map.iter().collect();
                for (key, value) in sorted {
                    walk(&format!("{path}.{key}"), value, out);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (at, item) in items.iter().enumerate() {
                    walk(&format!("{path}[{at}]"), item, out);
                }
            }
            leaf => out.push(format!("{path} = {leaf}")),
        }
    }
    let mut out = Vec::new();
    for (at, value) in values.iter().enumerate() {
        walk(&format!("#{at}"), value, &mut out);
    }
    out.join("\n") + "\n"
}

/// The documents that are not empty, as JSON with sorted keys.
pub(super) fn documents(text: &str, kptfile: bool) -> Option<Vec<Value>> {
    let stream = Stream::parse(text, &Limits::default()).ok()?;
    let documents = stream.documents().filter(|document| !document.is_empty());
    let json = |document: yaml::Document<'_>| {
        if kptfile {
            return Some(said(document.root()));
        }
        // Infinite numbers have no JSON; of keys that stand twice the last one counts.
        let value = document.to_value(Reader::V3).map(|value| plain(&value));
        value
            .ok()
            .or_else(|| document.to_json(Reader::V3).ok().map(sorted))
    };
    documents.map(json).collect()
}

fn plain(value: &yaml::Value) -> Value {
    match value {
        yaml::Value::Map(fields) => {
            let fields: BTreeMap<String, Value> = fields
                .iter()
                .map(|(key, value)| (key.clone(), plain(value)))
                .collect();
            Value::Object(fields.into_iter().collect())
        }
        yaml::Value::Seq(items) => Value::Array(items.iter().map(plain).collect()),
        scalar => scalar
            .to_json()
            .unwrap_or_else(|| format!("{scalar:?}").into()),
    }
}

fn sorted(value: Value) -> Value {
    plain(&value.into())
}

/// What a Kptfile says: scalars as texts, nothing that is empty.
fn said(node: yaml::Node<'_>) -> Value {
    let node = node.target().unwrap_or(node);
    match node.kind() {
        yaml::NodeKind::Mapping => {
            let fields = node
                .entries()
                .filter_map(|entry| Some((entry.key.key_text()?.to_owned(), said(entry.value))));
            let fields: BTreeMap<String, Value> =
                fields.filter(|(_, value)| !empty(value)).collect();
            Value::Object(fields.into_iter().collect())
        }
        yaml::NodeKind::Sequence => {
            Value::Array(node.items().map(said).filter(|item| !empty(item)).collect())
        }
        _ if node.is_null() => Value::Null,
        _ => node.scalar().unwrap_or_default().into(),
    }
}

fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}
