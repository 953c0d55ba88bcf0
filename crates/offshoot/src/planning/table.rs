//! The plan as a page for a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::entries::{Entry, entries};
use super::{inexact, list, number, short, text, who};
use crate::visible::visible;

/// How many names a line lists.
const NAMED: usize = 3;
/// How many conflicts, leaving variants or failures are told one by one.
const TOLD: usize = 20;

/// The page.
pub(crate) fn table(document: &Value, all: bool) -> String {
    let mut out = String::new();
    head(document, &mut out);
    let classes = sorted(document);
    let mut before: Vec<(String, Vec<Entry>)> = Vec::new();
    for (at, class) in classes.iter().enumerate() {
        let mut changes = entries(class);
        changes.retain(|entry| all || !entry.bookkeeping);
        let name = letters(at);
        of_class(document, class, &name, &changes, &before, &mut out);
        before.push((name, changes));
    }
    conflicts(document, &mut out);
    leaving(document, &mut out);
    for failed in list(document, "failed").take(TOLD) {
        let (variant, reason) = (who(failed), text(failed, "reason"));
        _ = writeln!(
            out,
            "x {variant}: {reason}: {}",
            first_line(text(failed, "message"))
        );
    }
    more(list(document, "failed").count(), "failures", &mut out);
    let unknown = list(document, "unknown").count();
    let hidden = if all {
        ""
    } else {
        " · bookkeeping hidden (--all)"
    };
    _ = writeln!(out, "? {unknown} unknown{hidden}");
    for entry in list(document, "unknown").take(TOLD) {
        _ = writeln!(
            out,
            "  {}: {}",
            text(entry, "what"),
            first_line(text(entry, "why"))
        );
    }
    more(unknown, "unknown", &mut out);
    let inexact = inexact(document);
    for (why, count) in inexact.iter().take(TOLD) {
        _ = writeln!(out, "~ {count} not exact: {}", first_line(why));
    }
    more(inexact.len(), "reasons", &mut out);
    out
}

fn more(count: usize, what: &str, out: &mut String) {
    if let Some(more) = count.checked_sub(TOLD).filter(|more| *more > 0) {
        _ = writeln!(out, "  and {more} more {what}: -o json lists all");
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn head(document: &Value, out: &mut String) {
    let plan = short(text(document, "plan"));
    let counts = counts(document);
    for set in list(document, "sets") {
        let name = text(set, "set");
        _ = writeln!(out, "set {name}: {}", upstreams(document, Some(name)));
        out.push_str(&steps(document, set));
        if let Some(warning) = set.get("warning").and_then(Value::as_str) {
            _ = writeln!(out, "  warning: {warning}");
        }
    }
    let total: usize = counts.values().sum();
    let words = [
        "create",
        "upgrade",
        "edit",
        "conflict",
        "leave",
        "unchanged",
    ];
    let mut said: Vec<String> = words
        .iter()
        .filter_map(|word| counts.get(word).map(|count| format!("{count} {word}")))
        .collect();
    said.push(format!(
        "{} fail",
        counts.get("failed").copied().unwrap_or_default()
    ));
    _ = writeln!(out, "plan {plan}: {total} targets: {}\n", said.join(" · "));
}

/// How many targets of a set change in each step of its rollout; nothing without a rollout.
fn steps(document: &Value, set: &Value) -> String {
    let names: Vec<&str> = list(set, "steps").filter_map(Value::as_str).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for target in list(document, "targets") {
        let changes = !["unchanged", "leave"].contains(&text(target, "verdict"));
        if changes && text(target, "set") == text(set, "set") {
            *counts.entry(text(target, "step")).or_default() += 1;
        }
    }
    let of = |name: &&str| counts.get(name).copied().unwrap_or_default();
    let said: Vec<String> = names.iter().map(|n| format!("{n} {}", of(n))).collect();
    match said.is_empty() {
        true => String::new(),
        false => format!("  in steps: {}\n", said.join(" · ")),
    }
}

fn counts(document: &Value) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for target in list(document, "targets") {
        *counts.entry(text(target, "verdict")).or_default() += 1;
    }
    counts
}

/// What a set's targets follow: `blueprints/web v1 → v2`.
fn upstreams(document: &Value, set: Option<&str>) -> String {
    let mut all = BTreeSet::new();
    for target in list(document, "targets") {
        if set.is_some_and(|set| text(target, "set") != set) {
            continue;
        }
        let Some(upstream) = target.get("upstream").filter(|u| !u.is_null()) else {
            continue;
        };
        let end = |key: &str| {
            let end = upstream.get(key).unwrap_or(&Value::Null);
            text(end, "revision").to_owned()
        };
        let from = Some(end("from")).filter(|from| !from.is_empty());
        let from = from.map_or_else(String::new, |from| format!("{from} → "));
        all.insert(format!(
            "{}/{} {from}{}",
            text(upstream, "repository"),
            text(upstream, "package"),
            end("to")
        ));
    }
    let all: Vec<String> = all.into_iter().collect();
    match all.is_empty() {
        true => "nothing to follow".to_owned(),
        false => all.join(", "),
    }
}

/// The classes, those with the most targets first.
pub(super) fn sorted(document: &Value) -> Vec<&Value> {
    let mut classes: Vec<&Value> = list(document, "classes").collect();
    classes.sort_by_key(|class| {
        (
            std::cmp::Reverse(number(class, "count")),
            text(class, "id").to_owned(),
        )
    });
    classes
}

/// A, B … Z, AA, AB …
pub(super) fn letters(mut at: usize) -> String {
    let mut name = String::new();
    loop {
        let letter = u8::try_from(at % 26).unwrap_or_default();
        name.insert(0, char::from(b'A' + letter));
        if at < 26 {
            return name;
        }
        at = at / 26 - 1;
    }
}

fn of_class(
    document: &Value,
    class: &Value,
    name: &str,
    changes: &[Entry],
    before: &[(String, Vec<Entry>)],
    out: &mut String,
) {
    let id = text(class, "id");
    let mine: Vec<&Value> = list(document, "targets")
        .filter(|target| text(target, "class") == id)
        .collect();
    let verdicts: BTreeSet<&str> = mine.iter().map(|t| text(t, "verdict")).collect();
    let verdicts: Vec<&str> = verdicts.into_iter().collect();
    let names: Vec<&str> = mine.iter().map(|t| text(t, "variant")).collect();
    let count = names.len();
    let rest = if count > NAMED { " …" } else { "" };
    let names = names.get(..count.min(NAMED)).unwrap_or_default().join(", ");
    _ = writeln!(
        out,
        "{name} {}  {count} {}  {names}{rest}",
        short(id),
        verdicts.join(", ")
    );
    match like(changes, before) {
        Some((other, more, less)) => {
            _ = writeln!(out, "  as {other}");
            for entry in more {
                _ = writeln!(out, "  and {}: {}", entry.place, entry.line);
            }
            for entry in less {
                _ = writeln!(out, "  without {}: {}", entry.place, entry.line);
            }
        }
        None => {
            let mut place = "";
            for entry in changes {
                if entry.place != place {
                    _ = writeln!(out, "  {}", entry.place);
                    place = &entry.place;
                }
                _ = writeln!(out, "  {}", entry.line);
            }
        }
    }
    values(class, out);
    out.push('\n');
}

/// What replaced values are, where they differ between the targets.
fn values(class: &Value, out: &mut String) {
    for input in list(class, "inputs") {
        let values: Vec<&Value> = list(input, "values").collect();
        if values.len() < 2 {
            continue;
        }
        let shown = values.iter().take(NAMED * 2);
        let shown: Vec<String> = shown
            .map(|v| format!("{} {}", text(v, "value"), number(v, "count")))
            .collect();
        let rest = match values.len() > NAMED * 2 {
            true => format!(", <{} values>", values.len()),
            false => String::new(),
        };
        _ = writeln!(
            out,
            "  {{{}}}: {}{rest}",
            text(input, "input"),
            shown.join(", ")
        );
    }
}

type Like<'a> = (&'a str, Vec<&'a Entry>, Vec<&'a Entry>);

/// An earlier class that differs in a few changes only.
fn like<'a>(changes: &'a [Entry], before: &'a [(String, Vec<Entry>)]) -> Option<Like<'a>> {
    let close = before.iter().filter_map(|(name, other)| {
        // As they read without the values of inputs: what only replaces one is no difference.
        let has = |all: &[Entry], entry: &Entry| all.iter().any(|e| e.bare == entry.bare);
        let more: Vec<&Entry> = changes.iter().filter(|e| !has(other, e)).collect();
        let less: Vec<&Entry> = other.iter().filter(|e| !has(changes, e)).collect();
        let differ = more.len() + less.len();
        let shared = changes.len() - more.len();
        (shared > 0 && differ <= 3 && differ < changes.len() + 1).then_some((
            name.as_str(),
            more,
            less,
        ))
    });
    close.min_by_key(|(_, more, less)| more.len() + less.len())
}

/// Equal conflicts together: one decision serves all of a key.
fn conflicts(document: &Value, out: &mut String) {
    let all = by_key(document);
    for (key, all) in all.iter().take(TOLD) {
        let names: Vec<&str> = all.iter().take(NAMED).map(|(name, _)| *name).collect();
        let rest = if all.len() > NAMED { " …" } else { "" };
        _ = writeln!(
            out,
            "! {key}  {} conflict(s), approval waits  {}{rest}",
            all.len(),
            names.join(", ")
        );
        let Some((_, conflict)) = all.first() else {
            continue;
        };
        _ = writeln!(out, "  {}  {}", place(conflict), sides(all));
        _ = writeln!(
            out,
            "  once the drafts are there: offshoot resolve {key} --take local|upstream|base"
        );
    }
    more(all.len(), "kinds of conflicts", out);
}

/// The conflicts with their targets, by key.
pub(super) fn by_key(document: &Value) -> BTreeMap<&str, Vec<(&str, &Value)>> {
    let mut keys: BTreeMap<&str, Vec<(&str, &Value)>> = BTreeMap::new();
    for target in list(document, "targets") {
        for conflict in list(target, "conflicts") {
            let entry = keys.entry(text(conflict, "key")).or_default();
            entry.push((text(target, "variant"), conflict));
        }
    }
    keys
}

pub(super) fn place(conflict: &Value) -> String {
    let place = ["file", "resource", "path"].map(|key| text(conflict, key));
    place.join(" ").trim().to_owned()
}

/// Base and upstream, which are those of all, and the local values that there are.
pub(super) fn sides(all: &[(&str, &Value)]) -> String {
    let side = |conflict: &Value, key: &str| {
        let side = conflict.get(key).unwrap_or(&Value::Null);
        match (text(side, "value"), text(side, "hash")) {
            ("", "") => "nothing".to_owned(),
            ("", _) => "something that is not shown".to_owned(),
            (value, _) => value.replace('\n', "\\n"),
        }
    };
    let of = |key: &str| {
        let values: BTreeSet<String> = all.iter().map(|(_, c)| side(c, key)).collect();
        let rest = values.len().saturating_sub(NAMED);
        let mut shown: Vec<String> = values.into_iter().take(NAMED).collect();
        if rest > 0 {
            shown.push(format!("{rest} more"));
        }
        visible(&shown.join(" | ")).into_owned()
    };
    format!(
        "base {}, upstream {}, local {}",
        of("base"),
        of("upstream"),
        of("local")
    )
}

fn leaving(document: &Value, out: &mut String) {
    let all: Vec<&Value> = list(document, "leaving").collect();
    if all.is_empty() {
        return;
    }
    _ = writeln!(out, "- {} leave", all.len());
    for one in all.iter().take(TOLD) {
        let fates =
            list(one, "revisions").map(|r| format!("{} {}", text(r, "name"), text(r, "fate")));
        let fates: Vec<String> = fates.collect();
        let fates = match fates.is_empty() {
            true => String::new(),
            false => format!(": {}", fates.join(", ")),
        };
        _ = writeln!(
            out,
            "  {} ({}){fates}",
            text(one, "variant"),
            text(one, "why")
        );
    }
    more(all.len(), "that leave", out);
    for set in list(document, "sets") {
        let Some(fuse) = set.get("fuse").filter(|fuse| number(fuse, "deleting") > 0) else {
            continue;
        };
        let holds = fuse
            .get("holds")
            .and_then(Value::as_bool)
            .unwrap_or_default();
        let verdict = if holds {
            "HOLDS them until somebody confirms"
        } else {
            "does NOT hold them"
        };
        _ = writeln!(
            out,
            "  {} of {} of set {}: the deletion guard {verdict}",
            number(fuse, "deleting"),
            number(fuse, "of"),
            text(set, "set")
        );
    }
}
