//! The changes of a class as lines.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{list, text};

/// One change as people read it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The file, with the resource where there is one.
    pub(crate) place: String,
    /// What changes there.
    pub(crate) line: String,
    /// Whether it is only what a machine notes for itself.
    pub(crate) bookkeeping: bool,
}

/// A class's changes, in the order of files and fields.
pub(crate) fn entries(class: &Value) -> Vec<Entry> {
    let known = single(class);
    let all = list(class, "changes").map(|change| entry(change, &known));
    let mut all: Vec<Entry> = all.collect();
    all.sort();
    all
}

/// The inputs of which all targets of a class have one value: they read better written out.
fn single(class: &Value) -> BTreeMap<&str, &str> {
    let inputs = list(class, "inputs").filter_map(|input| {
        let mut values = list(input, "values");
        let (one, None) = (values.next()?, values.next()) else {
            return None;
        };
        Some((text(input, "input"), text(one, "value")))
    });
    inputs.collect()
}

fn entry(change: &Value, known: &BTreeMap<&str, &str>) -> Entry {
    let (file, path) = (filled(text(change, "file"), known), text(change, "path"));
    let resource = filled(text(change, "resource"), known);
    let resource = match resource.rsplit_once('/') {
        Some((kind, name)) => format!("{kind} {name}"),
        None => resource,
    };
    let (before, after) = (side(change, "before", known), side(change, "after", known));
    let line = match (text(change, "kind"), path) {
        ("changed", _) => format!("~ {path}  {before} → {after}"),
        ("added", "") => "+ the whole file".to_owned(),
        ("added", _) => format!("+ {path}  {after}"),
        ("removed", "") => "- the whole file".to_owned(),
        ("removed", _) => format!("- {path}  {before}"),
        ("mode", _) => format!("~ mode  {before} → {after}"),
        ("binary", _) => format!("~ binary  {before} → {after}"),
        _ => format!("~ text  {before} → {after}"),
    };
    let state = ["status", "info.readinessGates"];
    Entry {
        bookkeeping: file == "Kptfile" && state.iter().any(|s| path.starts_with(s)),
        place: format!("{file} {resource}").trim_end().to_owned(),
        line,
    }
}

/// How much of a value a line shows, in characters.
const LONGEST: usize = 60;

fn side(change: &Value, which: &str, known: &BTreeMap<&str, &str>) -> String {
    let Some(side) = change.get(which) else {
        return String::new();
    };
    if let Some(hash) = side.get("hash").and_then(Value::as_str) {
        return format!("#{}", super::short(hash));
    }
    let mut all = String::new();
    for part in list(side, "parts") {
        match part.get("input").and_then(Value::as_str) {
            Some(input) => match known.get(input) {
                Some(value) => all.push_str(value),
                None => all.push_str(&format!("{{{input}}}")),
            },
            None => all.push_str(text(part, "literal")),
        }
    }
    let all = all.replace('\n', "\\n");
    match all.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", all.get(..end).unwrap_or_default()),
        None => all,
    }
}

fn filled(text: &str, known: &BTreeMap<&str, &str>) -> String {
    let mut text = text.to_owned();
    for (input, value) in known {
        text = text.replace(&format!("{{{input}}}"), value);
    }
    text
}
