//! The changes of a class as lines.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{list, text};
use crate::visible::visible;

/// One change as people read it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The change itself, by which it is told from changes of other classes: two that differ may read alike.
    pub(crate) change: String,
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
    let mut all: Vec<Entry> = list(class, "changes").map(|c| entry(c, &known)).collect();
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

fn entry(change: &Value, known: &BTreeMap<&str, &str>) -> Entry {
    let (place, line) = lines(change, known);
    let state = ["status", "info.readinessGates"];
    let path = text(change, "path");
    Entry {
        change: super::canonical(change).to_string(),
        bookkeeping: text(change, "file") == "Kptfile"
            && (state.iter().any(|s| path.starts_with(s)) || is_gates_alone(change)),
        place,
        line,
    }
}

/// Whether it is an `info` that comes or goes with nothing in it but gates.
fn is_gates_alone(change: &Value) -> bool {
    let sides = ["before", "after"].map(|which| change.get(which));
    let mut parts = sides
        .into_iter()
        .flatten()
        .flat_map(|side| list(side, "parts"));
    let (Some(one), None) = (parts.next(), parts.next()) else {
        return false;
    };
    let held = serde_json::from_str::<Value>(text(one, "literal"));
    let held = held.ok().and_then(|held| held.as_object().cloned());
    let alone = held.is_some_and(|held| held.len() == 1 && held.contains_key("readinessGates"));
    alone && text(change, "path") == "info" && text(change, "kind") != "changed"
}

/// Where it is, and what changes there.
fn lines(change: &Value, known: &BTreeMap<&str, &str>) -> (String, String) {
    let [file, resource, path] = ["file", "resource", "path"].map(|key| {
        let parts = change.get(format!("{key}Parts"));
        match parts.and_then(Value::as_array) {
            Some(parts) => joined(parts, known),
            None => filled(text(change, key), known),
        }
    });
    let resource = match resource.rsplit_once('/') {
        Some((kind, name)) => format!("{kind} {name}"),
        None => resource,
    };
    let (before, after) = shown(side(change, "before", known), side(change, "after", known));
    let line = match (text(change, "kind"), path.as_str()) {
        ("changed", _) if is_hidden(change) => format!("~ {path}  changed, not shown"),
        ("changed", _) => format!("~ {path}  {before} → {after}"),
        ("added", "") => whole(change, &after, known),
        ("added", _) => format!("+ {path}  {after}"),
        ("removed", "") => format!("- the whole file  {before}"),
        ("removed", _) => format!("- {path}  {before}"),
        ("mode", _) => format!("~ mode  {before} → {after}"),
        ("binary", _) if is_hidden(change) => "~ binary  changed, not shown".to_owned(),
        ("binary", _) => format!("~ binary  {before} → {after}"),
        _ if is_hidden(change) => "~ text  changed, not shown".to_owned(),
        _ => format!("~ text  {before} → {after}"),
    };
    let place = format!("{file} {resource}");
    (
        visible(place.trim_end()).into_owned(),
        visible(&line).into_owned(),
    )
}

/// Whether nobody is shown what changes: the hash of a Secret says nothing, but for who tries values.
fn is_hidden(change: &Value) -> bool {
    let sides = ["before", "after"].map(|which| change.get(which));
    let hidden = |side: &Value| side.get("hidden") == Some(&Value::Bool(true));
    sides.into_iter().flatten().any(hidden)
}

/// How many fields of an added resource a line tells.
const FIELDS: usize = 3;

/// A file that is added, with some of its fields; by its hash, files with other comments or other fields differ.
fn whole(change: &Value, hash: &str, known: &BTreeMap<&str, &str>) -> String {
    let mut line = match text(change, "mode") {
        "" => "+ the whole file".to_owned(),
        mode => format!("+ the whole file, mode {mode}"),
    };
    let fields: Vec<&Value> = list(change, "fields").collect();
    for field in fields.iter().take(FIELDS) {
        let (value, _) = shown(side(field, "value", known), String::new());
        let path = filled(text(field, "path"), known);
        line.push_str(&format!("  {path}: {value}"));
    }
    let more = fields.len().saturating_sub(FIELDS) as u64 + super::number(change, "more");
    match more {
        0 => {}
        1 => line.push_str("  and 1 more field"),
        _ => line.push_str(&format!("  and {more} more fields")),
    }
    line + "  " + hash
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
    if side.get("hidden") == Some(&Value::Bool(true)) {
        return "not shown".to_owned();
    }
    if let Some(hash) = side.get("hash").and_then(Value::as_str) {
        return format!("#{}", super::short(hash));
    }
    let parts = side.get("parts").and_then(Value::as_array);
    joined(parts.map_or(&[][..], Vec::as_slice), known).replace('\n', "\\n")
}

/// A text with its inputs, by name in braces or written out; a literal that reads like such a name has a `\` before it.
fn joined(parts: &[Value], known: &BTreeMap<&str, &str>) -> String {
    let mut all = String::new();
    for part in parts {
        match part.get("input").and_then(Value::as_str) {
            Some(input) => match known.get(input) {
                Some(value) => all.push_str(value),
                None => all.push_str(&format!("{{{input}}}")),
            },
            None => literal(text(part, "literal"), &mut all),
        }
    }
    all
}

fn literal(text: &str, into: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        into.push_str(before);
        let name = after.find(|c: char| !c.is_ascii_alphanumeric() && !"_.-[]/".contains(c));
        let end = name.unwrap_or(after.len());
        let named = end > 0 && after.get(end..).is_some_and(|rest| rest.starts_with('}'));
        into.push_str(if named { "\\{" } else { "{" });
        rest = after;
    }
    into.push_str(rest);
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
    fn an_info_of_gates_alone_is_what_a_machine_notes() {
        let of = |info: &str| {
            let change = serde_json::json!({
                "kind": "added", "file": "Kptfile", "resource": "kpt.dev/Kptfile/web", "path": "info",
                "before": {"absent": true}, "after": {"parts": [{"literal": info}]},
            });
            entry(&change, &BTreeMap::new()).bookkeeping
        };
        assert!(of(
            r#"{"readinessGates":[{"conditionType":"offshoot.dev/Conflicts"}]}"#
        ));
        assert!(!of(r#"{"readinessGates":[],"description":"ours"}"#));
        assert!(!of("readinessGates"));
    }

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
