//! The plan as a comment on a pull request: every class, and never more than such a comment holds.

use std::fmt::Write as _;

use serde_json::Value;

use super::classes::{NAMED, members, values, values_listed, who_and_what};
use super::entries::entries;
use super::table::{
    by_key, decide, fates, fuses, letters, parted, place, sides, sorted, stays, steps, upstreams,
};
use super::{absent, inexact, injectors, list, number, short, text, who};
use crate::visible::{counted, visible};

/// The most bytes of a comment.
pub(crate) const LIMIT: usize = 65_536;

/// The most changes of each class: a page that is too long tells less of each.
const CHANGES: [usize; 5] = [usize::MAX, 40, 10, 3, 1];
/// The most changes of a class on a page that has no room for all classes.
const FEW: usize = 3;

/// The page, with as much of each class as a comment holds. It lists every class, also where the changes of some have no room.
pub(crate) fn markdown(document: &Value, all: bool) -> String {
    let classes = sorted(document);
    for most in CHANGES {
        let around = Around::of(document, &classes, most, true);
        let told: String = blocks(&classes, all, most).collect();
        if around.len() + told.len() <= LIMIT {
            return around.with(&told);
        }
    }
    let mut around = Around::of(document, &classes, 1, true);
    if around.len() > LIMIT {
        around = Around::of(document, &classes, 1, false);
    }
    let page = around.with(&first_blocks(&classes, all, around.len()));
    if page.len() <= LIMIT {
        return page;
    }
    // So many classes that not even their ids fit: what fits, and that there are more.
    let note = "\nand more: `offshoot plan -o table` prints all\n";
    let end = page.floor_char_boundary(LIMIT - note.len());
    let kept = page.get(..end).unwrap_or_default();
    let end = kept.rfind(['\n', ' ']).unwrap_or(end);
    kept.get(..end).unwrap_or_default().to_owned() + note
}

/// The changes of as many classes as there is room for beside so many bytes, and of how many there is none.
fn first_blocks(classes: &[&Value], all: bool, beside: usize) -> String {
    let left_out = |count: usize| {
        let many = counted(count, "class", "classes");
        format!("\nThe changes of {many} have no room here: `offshoot plan -o table` prints all\n")
    };
    let room = LIMIT.saturating_sub(beside + left_out(classes.len()).len());
    let (mut told, mut left) = (String::new(), classes.len());
    for block in blocks(classes, all, FEW) {
        if told.len() + block.len() > room {
            break;
        }
        told.push_str(&block);
        left -= 1;
    }
    told + &left_out(left)
}

/// What stands before and behind the changes of the classes.
struct Around {
    before: String,
    behind: String,
}

impl Around {
    /// `names` says whether the targets of classes are named; without, a class is its id and how many it has.
    fn of(document: &Value, classes: &[&Value], most: usize, names: bool) -> Self {
        let mut before = format!("### Plan `{}`\n\n", short(text(document, "plan")));
        sets(document, &mut before);
        list_of(document, classes, names, &mut before);
        let mut behind = String::new();
        conflicts(document, most, &mut behind);
        rest(document, most, &mut behind);
        // Names and messages are other people's, too.
        let [before, behind] = [before, behind].map(|text| visible(&text).into_owned());
        Self { before, behind }
    }

    fn len(&self) -> usize {
        self.before.len() + self.behind.len()
    }

    fn with(&self, told: &str) -> String {
        format!("{}{told}{}", self.before, self.behind)
    }
}

/// The changes of each class.
fn blocks<'a>(classes: &'a [&Value], all: bool, most: usize) -> impl Iterator<Item = String> + 'a {
    classes.iter().enumerate().map(move |(at, class)| {
        let mut out = String::new();
        of_class(class, &letters(at), all, most, &mut out);
        visible(&out).into_owned()
    })
}

/// Somebody else's text, of which nothing is read as markup.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

/// Each set: what it follows, what becomes of its targets, and what the deletion guard says.
fn sets(document: &Value, out: &mut String) {
    for set in list(document, "sets") {
        let counts = set.get("counts").and_then(Value::as_object);
        let said: Vec<String> = counts
            .into_iter()
            .flatten()
            .filter(|(_, count)| count.as_u64() != Some(0))
            .map(|(verdict, count)| format!("{count} {verdict}"))
            .collect();
        let name = text(set, "set");
        let follows = upstreams(document, Some(name));
        _ = writeln!(out, "* set `{name}`: {follows}: {}", said.join(" · "));
        for line in steps(document, set).lines() {
            _ = writeln!(out, "  * {}", line.trim());
        }
        if let Some(warning) = set.get("warning").and_then(Value::as_str) {
            _ = writeln!(out, "  * warning: {}", code(warning));
        }
    }
    let alone = list(document, "targets").filter(|t| text(t, "set").is_empty());
    let count = alone.count();
    if count > 0 {
        let follows = upstreams(document, Some(""));
        _ = writeln!(out, "* {count} of no set: {follows}");
    }
    for line in fuses(document) {
        _ = writeln!(out, "* {line}");
    }
}

/// All classes, the largest first.
fn list_of(document: &Value, classes: &[&Value], names: bool, out: &mut String) {
    if classes.is_empty() {
        return;
    }
    if !names {
        let ids = classes.iter().map(|class| {
            let count = number(class, "count");
            format!("`{}` {count}", short(text(class, "id")))
        });
        let ids: Vec<String> = ids.collect();
        let ids = ids.join(", ");
        _ = writeln!(out, "\nClasses, and how many targets each has: {ids}");
        return;
    }
    let members = members(document);
    out.push_str("\n| class | targets | which |\n|---|---|---|\n");
    for (at, class) in classes.iter().enumerate() {
        let mine = members.get(text(class, "id"));
        let (verdicts, names) = who_and_what(mine.map_or(&[][..], Vec::as_slice));
        let (name, id) = (letters(at), short(text(class, "id")));
        let count = number(class, "count");
        _ = writeln!(out, "| {name} `{id}` | {count} {verdicts} | {names} |");
    }
}

fn of_class(class: &Value, name: &str, all: bool, most: usize, out: &mut String) {
    let (changes, noted): (Vec<_>, Vec<_>) = entries(class)
        .into_iter()
        .partition(|entry| all || !entry.bookkeeping);
    _ = writeln!(out, "\n**{name}**\n\n```");
    let mut lines = String::new();
    for entry in changes.iter().take(most) {
        _ = writeln!(lines, "{}: {}", entry.place, entry.line);
    }
    if let Some(more) = changes.len().checked_sub(most).filter(|more| *more > 0) {
        _ = writeln!(lines, "and {more} more");
    }
    if changes.is_empty() && !noted.is_empty() {
        lines.push_str("only what the Kptfile notes: --all shows it\n");
    }
    values(class, values_listed(false), &mut lines);
    // A fence in a value must not end the block.
    out.push_str(&lines.replace("```", "'''"));
    out.push_str("```\n");
}

fn conflicts(document: &Value, most: usize, out: &mut String) {
    let all = by_key(document);
    if all.is_empty() {
        return;
    }
    let count: usize = all.values().map(Vec::len).sum();
    _ = writeln!(out, "\n**Conflicts: {count}**\n");
    for (key, all) in all.iter().take(told(most)) {
        let Some((_, conflict)) = all.first() else {
            continue;
        };
        let line = format!("{}: {}", place(conflict), sides(all)).replace('`', "'");
        let names: Vec<&str> = all.iter().take(NAMED).map(|(name, _)| *name).collect();
        let rest = if all.len() > NAMED { " …" } else { "" };
        let (count, names) = (counted(all.len(), "target", "targets"), names.join(", "));
        let command = decide(key).replace("offshoot", "`offshoot");
        _ = writeln!(
            out,
            "* `{key}`, {count} ({names}{rest}): `{line}`; {command}`"
        );
    }
    more(all.len(), most, out);
}

/// How many of other things a page tells that tells so many changes of each class.
fn told(most: usize) -> usize {
    most.clamp(1, 20)
}

/// How many are not told.
fn more(count: usize, most: usize, out: &mut String) {
    if let Some(more) = count.checked_sub(told(most)).filter(|more| *more > 0) {
        _ = writeln!(out, "* and {more} more");
    }
}

fn rest(document: &Value, most: usize, out: &mut String) {
    let (leave, stay) = parted(document);
    let all = |key| list(document, key).collect::<Vec<_>>();
    let sections = [
        ("leaving", "Leaving", "variant", "why", leave),
        (
            "",
            "Staying, and giving up revisions",
            "variant",
            "why",
            stay,
        ),
        ("failed", "Failed", "variant", "message", all("failed")),
        ("unknown", "Unknown", "what", "why", all("unknown")),
    ];
    for (key, title, what, why, all) in sections {
        let count = all.len();
        if count == 0 {
            continue;
        }
        _ = writeln!(out, "\n**{title}: {count}**\n");
        for one in all.into_iter().take(told(most)) {
            let why = text(one, why).lines().next().unwrap_or_default();
            let what = match key {
                "failed" => who(one),
                _ => text(one, what).to_owned(),
            };
            let (what, why) = (code(&what), code(why));
            _ = writeln!(out, "* {what}: {why}{}", fates(one));
        }
        more(count, most, out);
        if let Some(stays) = stays(document).filter(|_| key == "leaving") {
            _ = writeln!(out, "* {stays}");
        }
    }
    let absent = absent(document);
    if !absent.is_empty() {
        out.push('\n');
    }
    for (what, count) in absent.iter().take(told(most)) {
        let what = code(what);
        _ = writeln!(out, "* {what} is not there: {}", injectors(*count));
    }
    more(absent.len(), most, out);
    let inexact = inexact(document);
    if !inexact.is_empty() {
        out.push('\n');
    }
    for (why, count) in inexact.iter().take(told(most)) {
        let why = why.lines().next().unwrap_or_default();
        _ = writeln!(out, "* {count} not exact: {}", code(why));
    }
    more(inexact.len(), most, out);
}
