//! Classes on the page, each told by an earlier one where little differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::entries::{Entry, entries};
use super::{list, number, short, text};

/// How many names a line lists.
pub(super) const NAMED: usize = 3;

/// How many values of an input a page lists, where not all are asked for.
pub(super) fn values_listed(all: bool) -> usize {
    if all { usize::MAX } else { NAMED * 2 }
}

/// The targets of each class.
pub(super) fn members(document: &Value) -> BTreeMap<&str, Vec<&Value>> {
    let mut members: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for target in list(document, "targets") {
        members
            .entry(text(target, "class"))
            .or_default()
            .push(target);
    }
    members
}

/// A class as it was told.
pub(super) struct Told {
    pub(super) name: String,
    /// What its targets are to follow: no class is like one of another upstream.
    pub(super) upstream: String,
    pub(super) changes: Vec<Entry>,
    /// What only is noted in the Kptfile, and not shown.
    pub(super) noted: Vec<Entry>,
}

/// The upstream package and version that a target is to follow.
pub(super) fn wanted(target: &Value) -> String {
    let upstream = target.get("upstream").unwrap_or(&Value::Null);
    let to = upstream.get("to").unwrap_or(&Value::Null);
    let place = [text(upstream, "repository"), text(upstream, "package")];
    [place, [text(to, "revision"), text(to, "commit")]]
        .concat()
        .join(" ")
}

/// The verdicts of targets, and the first of their names.
pub(super) fn who_and_what(mine: &[&Value]) -> (String, String) {
    let verdicts: BTreeSet<&str> = mine.iter().map(|t| text(t, "verdict")).collect();
    let verdicts: Vec<&str> = verdicts.into_iter().collect();
    let names: Vec<&str> = mine.iter().map(|t| text(t, "variant")).collect();
    let rest = if names.len() > NAMED { " …" } else { "" };
    let names = names.get(..names.len().min(NAMED)).unwrap_or_default();
    (verdicts.join(", "), names.join(", ") + rest)
}

/// A class: its name, its targets, and what changes, by what an earlier one has where that is less.
pub(super) fn of_class(
    class: &Value,
    told: &Told,
    mine: &[&Value],
    before: &[Told],
    most_values: usize,
    out: &mut String,
) {
    let (name, id, count) = (&told.name, short(text(class, "id")), mine.len());
    let (verdicts, names) = who_and_what(mine);
    _ = writeln!(out, "{name} {id}  {count} {verdicts}  {names}");
    match like(told, before) {
        Some(like) => as_another(told, &like, out),
        None => {
            let mut place = "";
            for entry in &told.changes {
                if entry.place != place {
                    _ = writeln!(out, "  {}", entry.place);
                    place = &entry.place;
                }
                _ = writeln!(out, "  {}", entry.line);
            }
            if told.changes.is_empty() && !told.noted.is_empty() {
                _ = writeln!(out, "  only what the Kptfile notes: --all shows it");
            }
        }
    }
    values(class, most_values, out);
    out.push('\n');
}

/// A class that is told alone, with its targets: nothing of it is hidden.
pub(crate) fn class_page(class: &Value, targets: &[Value]) -> String {
    let told = Told {
        name: "class".to_owned(),
        upstream: String::new(),
        changes: entries(class),
        noted: Vec::new(),
    };
    let mut out = String::new();
    let targets: Vec<&Value> = targets.iter().collect();
    of_class(class, &told, &targets, &[], usize::MAX, &mut out);
    out
}

/// The values of a class's inputs, where its targets differ in them: all of them, since whoever approves the class approves each.
pub(crate) fn class_inputs(class: &Value) -> String {
    let mut out = String::new();
    values(class, usize::MAX, &mut out);
    out
}

/// What replaced values are, where they differ between the targets; of each at most so many.
pub(super) fn values(class: &Value, most: usize, out: &mut String) {
    for input in list(class, "inputs") {
        let values: Vec<&Value> = list(input, "values").collect();
        if values.len() < 2 {
            continue;
        }
        let shown = values.iter().take(most);
        let shown: Vec<String> = shown
            .map(|v| format!("{} {}", text(v, "value"), number(v, "count")))
            .collect();
        let rest = match values.len().checked_sub(most) {
            Some(more @ 1..) => format!(", and {more} more values: --all lists them"),
            _ => String::new(),
        };
        _ = writeln!(
            out,
            "  {{{}}}: {}{rest}",
            text(input, "input"),
            shown.join(", ")
        );
    }
}

/// A class by what it has otherwise than another one.
fn as_another(told: &Told, like: &Like<'_>, out: &mut String) {
    let Like { other, more, less } = like;
    let reads = |a: &&Entry, b: &&Entry| (&a.place, &a.line) == (&b.place, &b.line);
    // What reads alike and is not: of a Secret, or of a long text.
    let (alike, more): (Vec<&Entry>, Vec<&Entry>) = more
        .iter()
        .partition(|entry| less.iter().any(|l| reads(l, entry)));
    let noted =
        |told: &Told| -> Vec<String> { told.noted.iter().map(|e| e.change.clone()).collect() };
    let equal = alike.is_empty() && more.is_empty() && less.is_empty();
    let name = &other.name;
    let rest = match equal {
        false => "",
        true if noted(told) != noted(other) => {
            ", and otherwise in what the Kptfile notes: --all shows it"
        }
        true => ", and otherwise in what no page shows: -o diff, -o json",
    };
    _ = writeln!(out, "  as {name}{rest}");
    for entry in &more {
        _ = writeln!(out, "  and {}: {}", entry.place, entry.line);
    }
    for entry in &alike {
        _ = writeln!(out, "  otherwise {}: {}", entry.place, entry.line);
    }
    for entry in less.iter().filter(|l| !alike.iter().any(|e| reads(e, l))) {
        _ = writeln!(out, "  without {}: {}", entry.place, entry.line);
    }
}

/// An earlier class that is much like another.
struct Like<'a> {
    other: &'a Told,
    /// What the later has besides.
    more: Vec<&'a Entry>,
    /// What it lacks.
    less: Vec<&'a Entry>,
}

/// An earlier class of the same upstream that differs in a few changes only.
fn like<'a>(told: &'a Told, before: &'a [Told]) -> Option<Like<'a>> {
    let changes = &told.changes;
    let same = before.iter().filter(|b| b.upstream == told.upstream);
    let close = same.filter_map(|other| {
        let has = |all: &[Entry], entry: &Entry| all.iter().any(|e| e.change == entry.change);
        let more: Vec<&Entry> = changes.iter().filter(|e| !has(&other.changes, e)).collect();
        let less: Vec<&Entry> = other.changes.iter().filter(|e| !has(changes, e)).collect();
        let differ = more.len() + less.len();
        let shared = changes.len() - more.len();
        (shared > 0 && differ <= 3 && differ < changes.len() + 1).then_some(Like {
            other,
            more,
            less,
        })
    });
    close.min_by_key(|like| like.more.len() + like.less.len())
}
