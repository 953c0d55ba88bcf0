//! The plan as a document, and the document as people read it: a table, a page of Markdown, the diff of one class.
//!
//! The document is what the server answers and what `--out` keeps; everything else is printed from it alone. Values of
//! Secrets never get into it.

mod changes;
mod classes;
mod colour;
mod diff;
mod document;
mod entries;
mod markdown;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use changes::{of_changes, of_this_process, shown_text};
pub(crate) use classes::{class_inputs, class_page};
pub(crate) use colour::coloured;
pub(crate) use diff::{diff, unified};
pub(crate) use document::document;
pub(crate) use entries::entries;
pub(crate) use markdown::markdown;
pub(crate) use table::{steps, table};

use std::collections::BTreeMap;

use engine::planned::Verdict;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The id of a plan: over the document without its id, keys in order and nothing between them.
pub(crate) fn id_of(document: &Value) -> String {
    let mut bare = document.clone();
    if let Some(map) = bare.as_object_mut() {
        map.remove("plan");
    }
    let hash = Sha256::digest(canonical(&bare).to_string());
    hash.iter().map(|b| format!("{b:02x}")).collect()
}

/// A value with the keys of its objects in order.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, Value> = map
                .iter()
                .map(|(key, value)| (key, canonical(value)))
                .collect();
            Value::Object(sorted.into_iter().map(|(k, v)| (k.clone(), v)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

/// Whether anything would change, and whether anything would fail or a plan cannot be made of it.
pub(crate) fn outcome(document: &Value) -> (bool, bool) {
    let (mut changes, mut fails) = (false, false);
    for verdict in list(document, "targets").filter_map(verdict) {
        changes |= verdict.changes();
        fails |= verdict == Verdict::Unknown;
    }
    // A set that would be stalled, or selects nobody knows what, has no target to say so.
    fails |= list(document, "sets").any(|set| set.get("unknown") == Some(&Value::Bool(true)));
    fails |= list(document, "failed").next().is_some();
    (changes, fails)
}

/// What comes of a target; `None` where that is nothing that is known here.
fn verdict(target: &Value) -> Option<Verdict> {
    Verdict::parse(text(target, "verdict"))
}

/// The variant or the set that something is told of.
fn who(entry: &Value) -> String {
    match text(entry, "set") {
        "" => text(entry, "variant").to_owned(),
        set => format!("set {set}"),
    }
}

/// What targets would inject and nobody has, how many each, the most first.
fn absent(document: &Value) -> Vec<(&str, usize)> {
    let all = list(document, "targets").flat_map(|target| list(target, "absent"));
    most_first(all.filter_map(Value::as_str))
}

/// Why targets are not exact, and how many each, the most first; what is unknown is told as such.
fn inexact(document: &Value) -> Vec<(&str, usize)> {
    let told = |target: &&Value| verdict(target) != Some(Verdict::Unknown);
    let all = list(document, "targets").filter(told);
    most_first(all.map(|target| text(target, "inexact")))
}

/// How many targets name an object that is not there.
fn injectors(count: usize) -> String {
    let (of, would) = match count {
        1 => ("target", "injects"),
        _ => ("targets", "inject"),
    };
    format!("{count} {of} {would} nothing of it")
}

fn most_first<'a>(all: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in all.filter(|one| !one.is_empty()) {
        *counts.entry(one).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(why, count)| (std::cmp::Reverse(*count), *why));
    counts
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let items = value.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// The first digits of an id: enough within one plan.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
