//! The plan as a comment on a pull request: every class, and never more than such a comment holds.

use std::fmt::Write as _;

use serde_json::Value;

use super::entries::entries;
use super::table::{by_key, letters, place, sides, sorted};
use super::{inexact, list, number, short, text, who};

/// The most bytes of a comment.
pub(crate) const LIMIT: usize = 65_536;

/// The page: with all changes if they fit, else with as many of each class as do, else with the classes alone.
pub(crate) fn markdown(document: &Value, all: bool) -> String {
    for most in [usize::MAX, 40, 10, 3, 1, 0] {
        let page = page(document, all, most);
        if page.len() <= LIMIT {
            return page;
        }
    }
    // So many classes that not even their names fit: what fits, and how many there are besides.
    let page = page(document, all, 0);
    let note = "\nand more: `offshoot plan -o table` prints all\n";
    let end = page.floor_char_boundary(LIMIT - note.len());
    let end = page
        .get(..end)
        .and_then(|kept| kept.rfind('\n'))
        .unwrap_or(end);
    page.get(..end).unwrap_or_default().to_owned() + note
}

fn page(document: &Value, all: bool, most: usize) -> String {
    let mut out = format!("### Plan `{}`\n\n", short(text(document, "plan")));
    for set in list(document, "sets") {
        let counts = set.get("counts").and_then(Value::as_object);
        let said: Vec<String> = counts
            .into_iter()
            .flatten()
            .filter(|(_, count)| count.as_u64() != Some(0))
            .map(|(verdict, count)| format!("{count} {verdict}"))
            .collect();
        _ = writeln!(out, "* set `{}`: {}", text(set, "set"), said.join(" · "));
        if let Some(warning) = set.get("warning").and_then(Value::as_str) {
            _ = writeln!(out, "  * warning: {warning}");
        }
    }
    out.push_str("\n| class | targets | first |\n|---|---|---|\n");
    for (at, class) in sorted(document).iter().enumerate() {
        _ = writeln!(
            out,
            "| {} `{}` | {} | `{}` |",
            letters(at),
            short(text(class, "id")),
            number(class, "count"),
            text(class, "first")
        );
    }
    for (at, class) in sorted(document).iter().enumerate() {
        if most == 0 {
            break;
        }
        let mut changes = entries(class);
        changes.retain(|entry| all || !entry.bookkeeping);
        _ = writeln!(out, "\n**{}**\n\n```", letters(at));
        for entry in changes.iter().take(most) {
            // A fence in a value must not end the block.
            let line = format!("{}: {}", entry.place, entry.line).replace("```", "'''");
            _ = writeln!(out, "{line}");
        }
        if let Some(more) = changes.len().checked_sub(most).filter(|more| *more > 0) {
            _ = writeln!(out, "and {more} more");
        }
        out.push_str("```\n");
    }
    conflicts(document, most, &mut out);
    rest(document, most, &mut out);
    out
}

fn conflicts(document: &Value, most: usize, out: &mut String) {
    let all = by_key(document);
    if all.is_empty() {
        return;
    }
    let count: usize = all.values().map(Vec::len).sum();
    _ = writeln!(out, "\n**Conflicts: {count}**\n");
    for (key, all) in all.iter().take(most.clamp(1, 20)) {
        let Some((_, conflict)) = all.first() else {
            continue;
        };
        let line = format!("{}: {}", place(conflict), sides(all)).replace('`', "'");
        _ = writeln!(out, "* `{key}`, {} targets: `{line}`", all.len());
    }
}

fn rest(document: &Value, most: usize, out: &mut String) {
    let sections = [
        ("leaving", "Leaving", "variant", "why"),
        ("failed", "Failed", "variant", "message"),
        ("unknown", "Unknown", "what", "why"),
    ];
    for (key, title, what, why) in sections {
        let count = list(document, key).count();
        if count == 0 {
            continue;
        }
        _ = writeln!(out, "\n**{title}: {count}**\n");
        for one in list(document, key).take(most.clamp(1, 20)) {
            let why = text(one, why).lines().next().unwrap_or_default();
            _ = writeln!(
                out,
                "* `{}`: {}",
                if key == "failed" {
                    who(one)
                } else {
                    text(one, what).to_owned()
                },
                why.replace("```", "'''")
            );
        }
    }
    let inexact = inexact(document);
    if !inexact.is_empty() {
        out.push('\n');
    }
    for (why, count) in inexact.iter().take(most.clamp(1, 20)) {
        let why = why.lines().next().unwrap_or_default();
        _ = writeln!(out, "* {count} not exact: {}", why.replace('`', "'"));
    }
}
