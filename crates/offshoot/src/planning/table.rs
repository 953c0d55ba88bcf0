//! The plan as a page for a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use engine::planned::Verdict;
use serde_json::Value;

use super::classes::{NAMED, Told, members, of_class, values_listed, wanted};
use super::entries::entries;
use super::{absent, inexact, injectors, list, number, short, text, verdict, who};
use crate::visible::{counted, visible};

/// How many conflicts, leaving variants or failures are told one by one.
const TOLD: usize = 20;

/// The page.
pub(crate) fn table(document: &Value, all: bool) -> String {
    let mut out = String::new();
    head(document, &mut out);
    let classes = sorted(document);
    let members = members(document);
    let mut before: Vec<Told> = Vec::new();
    for (at, class) in classes.iter().enumerate() {
        let mine = members.get(text(class, "id"));
        let mine = mine.map_or(&[][..], Vec::as_slice);
        let (noted, changes) = entries(class)
            .into_iter()
            .partition(|entry| !all && entry.bookkeeping);
        let told = Told {
            name: letters(at),
            upstream: mine.first().map(|t| wanted(t)).unwrap_or_default(),
            changes,
            noted,
        };
        of_class(class, &told, mine, &before, values_listed(all), &mut out);
        before.push(told);
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
    let absent = absent(document);
    for (what, count) in absent.iter().take(TOLD) {
        _ = writeln!(out, "! {what} is not there: {}", injectors(*count));
    }
    more(absent.len(), "objects that are not there", &mut out);
    let inexact = inexact(document);
    for (why, count) in inexact.iter().take(TOLD) {
        _ = writeln!(out, "~ {count} not exact: {}", first_line(why));
    }
    more(inexact.len(), "reasons", &mut out);
    // Names and messages are other people's, too.
    visible(&out).into_owned()
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
    // A set that cannot be planned has no target in which that could be counted.
    let stalled = list(document, "failed").filter(|f| !text(f, "set").is_empty());
    match stalled.count() {
        0 => {}
        1 => said.push("1 set fails".to_owned()),
        count => said.push(format!("{count} sets fail")),
    }
    let unknown = counts.get("unknown").copied().unwrap_or_default();
    if unknown > 0 {
        said.push(format!("{unknown} unknown"));
    }
    let targets = counted(total, "target", "targets");
    _ = writeln!(out, "plan {plan}: {targets}: {}\n", said.join(" · "));
}

/// How many targets of a set change in each step of its rollout; nothing without a rollout.
pub(crate) fn steps(document: &Value, set: &Value) -> String {
    let names: Vec<&str> = list(set, "steps").filter_map(Value::as_str).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for target in list(document, "targets") {
        let changes = !matches!(verdict(target), Some(Verdict::Unchanged | Verdict::Leave));
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
pub(super) fn upstreams(document: &Value, set: Option<&str>) -> String {
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
        let from = Some(end("from")).filter(|from| !from.is_empty() && *from != end("to"));
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
        true => "no upstream moves".to_owned(),
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

/// Equal conflicts together: one decision serves all of a key.
fn conflicts(document: &Value, out: &mut String) {
    let all = by_key(document);
    for (key, all) in all.iter().take(TOLD) {
        let names: Vec<&str> = all.iter().take(NAMED).map(|(name, _)| *name).collect();
        let rest = if all.len() > NAMED { " …" } else { "" };
        _ = writeln!(
            out,
            "! {key}  {}, approval waits  {}{rest}",
            counted(all.len(), "conflict", "conflicts"),
            names.join(", ")
        );
        let Some((_, conflict)) = all.first() else {
            continue;
        };
        _ = writeln!(out, "  {}  {}", place(conflict), sides(all));
        _ = writeln!(out, "  {}", decide(key));
    }
    more(all.len(), "kinds of conflicts", out);
}

/// The command that decides conflicts of a key.
pub(super) fn decide(key: &str) -> String {
    format!("once the drafts are there: offshoot resolve {key} --take local|upstream|base")
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

/// The most characters of a value in a conflict that a page shows.
const SHOWN: usize = 400;

fn beginning(value: String) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => value.get(..end).unwrap_or_default().to_owned() + "…",
        None => value,
    }
}

/// Base and upstream, which are those of all, and the local values that there are.
pub(super) fn sides(all: &[(&str, &Value)]) -> String {
    let side = |conflict: &Value, key: &str| {
        let side = conflict.get(key).unwrap_or(&Value::Null);
        let told = text(side, "abridged");
        match (text(side, "value"), text(side, "hash")) {
            ("", "") if !told.is_empty() => told.to_owned(),
            ("", "") => "nothing".to_owned(),
            ("", _) => "something that is not shown".to_owned(),
            (value, _) => beginning(value.replace('\n', "\\n")),
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

/// What goes: with a variant that leaves, as the head counts them, or of one that stays.
pub(super) fn parted(document: &Value) -> (Vec<&Value>, Vec<&Value>) {
    let stay = list(document, "targets").filter(|t| verdict(t) != Some(Verdict::Leave));
    let stay: BTreeSet<&str> = stay.map(|t| text(t, "variant")).collect();
    list(document, "leaving").partition(|one| !stay.contains(text(one, "variant")))
}

fn leaving(document: &Value, out: &mut String) {
    let (leave, stay) = parted(document);
    let leaves = counted(leave.len(), "leaves", "leave");
    let stays_on = counted(
        stay.len(),
        "stays, and gives up revisions",
        "stay, and give up revisions",
    );
    for (all, said, what) in [
        (&leave, leaves, "that leave"),
        (&stay, stays_on, "that give up revisions"),
    ] {
        if all.is_empty() {
            continue;
        }
        _ = writeln!(out, "- {said}");
        for one in all.iter().take(TOLD) {
            let fates = fates(one);
            _ = writeln!(
                out,
                "  {} ({}){fates}",
                text(one, "variant"),
                text(one, "why")
            );
        }
        more(all.len(), what, out);
    }
    for line in stays(document).into_iter().chain(fuses(document)) {
        _ = writeln!(out, "  {line}");
    }
}

/// What stays of the packages that leave, and how it goes, too: a cluster follows the branch.
pub(super) fn stays(document: &Value) -> Option<String> {
    let all = list(document, "leaving").map(|one| text(one, "branch"));
    let all: Vec<&str> = all.filter(|name| !name.is_empty()).collect();
    let first = all.first()?;
    let more = match all.len() {
        1 => String::new(),
        count => format!(", and so do {} more", count - 1),
    };
    Some(format!(
        "the directory on the branch stays ({first}{more}): offshoot rpkg propose-delete {first}, then offshoot rpkg del {first}"
    ))
}

/// What becomes of a variant's revisions.
pub(super) fn fates(leaving: &Value) -> String {
    let fates = list(leaving, "revisions");
    let fates: Vec<String> = fates
        .map(|r| format!("{} {}", text(r, "name"), text(r, "fate")))
        .collect();
    match fates.is_empty() {
        true => String::new(),
        false => format!(": {}", fates.join(", ")),
    }
}

/// What the deletion guard says of each set that something leaves.
pub(super) fn fuses(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for set in list(document, "sets") {
        let Some(fuse) = set.get("fuse").filter(|fuse| number(fuse, "deleting") > 0) else {
            continue;
        };
        let name = text(set, "set");
        let bare = name.rsplit('/').next().unwrap_or_default();
        let verdict = match (fuse.get("holds"), text(fuse, "confirm")) {
            (Some(Value::Bool(true)), "") => "HOLDS them until somebody confirms".to_owned(),
            (Some(Value::Bool(true)), hash) => format!(
                "HOLDS them until somebody confirms: kubectl annotate pvset {bare} offshoot.dev/confirm-deletion={hash}"
            ),
            _ => "does NOT hold them".to_owned(),
        };
        lines.push(format!(
            "{} of {} of set {name}: the deletion guard {verdict}",
            number(fuse, "deleting"),
            number(fuse, "of"),
        ));
    }
    lines
}
