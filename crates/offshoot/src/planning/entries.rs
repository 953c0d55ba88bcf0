//! The changes of a class as lines.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{list, text};
use crate::visible::visible;

/// One change as people read it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The same with inputs named instead of written, by which it is told from changes of other classes.
    pub(crate) bare: (String, String),
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
    let bare = BTreeMap::new();
    let all = list(class, "changes").map(|change| {
        let (place, line) = lines(change, &bare);
        let bare = (place, line);
        entry(change, &known, bare)
    });
    let mut all: Vec<Entry> = all.collect();
    all.sort_by(|a, b| (&a.place, &a.line).cmp(&(&b.place, &b.line)));
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

fn entry(change: &Value, known: &BTreeMap<&str, &str>, bare: (String, String)) -> Entry {
    let (place, line) = lines(change, known);
    let state = ["status", "info.readinessGates"];
    let path = text(change, "path");
    Entry {
        bare,
        bookkeeping: text(change, "file") == "Kptfile" && state.iter().any(|s| path.starts_with(s)),
        place,
        line,
    }
}

/// Where it is, and what changes there.
fn lines(change: &Value, known: &BTreeMap<&str, &str>) -> (String, String) {
    let (file, path) = (filled(text(change, "file"), known), text(change, "path"));
    let resource = filled(text(change, "resource"), known);
    let resource = match resource.rsplit_once('/') {
        Some((kind, name)) => format!("{kind} {name}"),
        None => resource,
    };
    let (before, after) = shown(side(change, "before", known), side(change, "after", known));
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
    let place = format!("{file} {resource}");
    (
        visible(place.trim_end()).into_owned(),
        visible(&line).into_owned(),
    )
}

/// How much of a value a line shows, in characters.
const LONGEST: usize = 60;
/// How much of it before the first difference.
const BEFORE: usize = 20;

/// Two values as a line shows them: of long ones, the part where they differ.
fn shown(before: String, after: String) -> (String, String) {
    let long = |text: &str| text.chars().nth(LONGEST).is_some();
    if !long(&before) && !long(&after) {
        return (before, after);
    }
    let same = before
        .chars()
        .zip(after.chars())
        .take_while(|(a, b)| a == b);
    let skip = same.count().saturating_sub(BEFORE);
    let part = |text: &str| {
        let start = if skip > 0 { "…" } else { "" };
        let mut rest = text.chars().skip(skip);
        let kept: String = rest.by_ref().take(LONGEST).collect();
        let end = if rest.next().is_some() { "…" } else { "" };
        format!("{start}{kept}{end}")
    };
    (part(&before), part(&after))
}

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
    all.replace('\n', "\\n")
}

fn filled(text: &str, known: &BTreeMap<&str, &str>) -> String {
    let mut text = text.to_owned();
    for (input, value) in known {
        text = text.replace(&format!("{{{input}}}"), value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_values_the_part_that_differs_is_shown() {
        let long = |end: &str| format!("{}{end}{}", "x".repeat(100), "y".repeat(100));
        let (before, after) = shown(long("1.4"), long("1.5"));
        assert!(
            before.starts_with("…x") && before.contains("1.4") && before.ends_with("y…"),
            "{before}"
        );
        assert!(
            after.contains("1.5") && after.chars().count() == LONGEST + 2,
            "{after}"
        );
        assert_eq!(
            shown("a".to_owned(), "b".to_owned()),
            ("a".to_owned(), "b".to_owned())
        );
        // Nothing stood there before: it is shown from its beginning.
        let (none, new) = shown(String::new(), long(""));
        assert!(
            none.is_empty() && new.starts_with("xxx") && new.ends_with('…'),
            "{none} {new}"
        );
    }
}
