//! What open revisions change, equal changes once: a list of classes, and one class with its diff and its inputs.

use maud::{Markup, html};
use model::Lifecycle;
use serde_json::Value;

use super::layout::{command, stage};
use super::{Context, nothing, verbs};
use crate::client::lifecycle;
use crate::commands::board::actions;
use crate::commands::board::classes::Grouped;
use crate::commands::board::fleet::Revision;
use crate::planning;
use crate::visible::counted;

/// How many members and values a page shows.
const SHOWN: usize = 200;
/// How many lines of a change the list shows.
const LINES: usize = 8;
/// The longest diff that is shown, in lines.
const LONGEST: usize = 2_000;

/// The main part of the page.
pub(super) fn main(context: &Context<'_>) -> Markup {
    context.board.classes.want();
    let wanted = context.asked("stage");
    let stage = Lifecycle::parse(wanted);
    let (groups, pending, failed) = context.board.fleet(|fleet| {
        let shown = |r: &&Revision| wanted.is_empty() || lifecycle(r) == stage;
        context.board.classes.grouped(fleet.open().filter(shown))
    });
    let class = context.asked("class");
    if !class.is_empty() {
        return match groups.iter().find(|g| g.id.starts_with(class)) {
            Some(group) => one(context, group, pending),
            None => html! {
                p { a href="./changes" { "All changes" } }
                @if pending > 0 || !context.is_read() { h1 aria-busy="true" { "Comparing …" } }
                @else { h1 { "No open revision is of this class any more" } (nothing(context, "They were decided, or hold something else now.")) }
            },
        };
    }
    let total: usize = groups.iter().map(|g| g.members.len()).sum();
    html! {
        div.title {
            h1 { "Changes" }
            p { (counted(total, "open revision", "open revisions")) " in " (counted(groups.len(), "class", "classes")) " of equal changes"
                @if pending > 0 { span.soft { " · comparing " (pending) " more" } } }
        }
        nav.tabs aria-label="Stage" {
            @for (value, word) in [("", "All"), ("Draft", "Drafts"), ("Proposed", "Proposed"), ("DeletionProposed", "Deletions")] {
                a href=(format!("./changes?stage={value}")) aria-current=[(value == wanted).then_some("true")] { (word) }
            }
        }
        @if groups.is_empty() && pending == 0 { (nothing(context, "No revision is open.")) }
        @for group in &groups { (card(context, group)) }
        @if !failed.is_empty() {
            section.card { h2 { "Not compared" } ul { @for (name, why) in failed.iter().take(SHOWN) { li { a href=(format!("./revision?name={name}")) { (name) } ": " (why) } } } }
        }
    }
}

fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

fn card(context: &Context<'_>, group: &Grouped) -> Markup {
    let document = context.board.classes.document(&group.id, &group.members);
    let link = format!("./changes?class={}", group.id);
    html! {
        section.card.class aria-label=(format!("Class {}", short(&group.id))) {
            div.head {
                h2 { a href=(link) { code.id { (short(&group.id)) } } " " span.number { (group.members.len()) } }
                (stages(context, group))
                (verbs::of_several(context, &group.members))
            }
            @if let Some(document) = &document { (fields(document, LINES)) }
        }
    }
}

fn stages(context: &Context<'_>, group: &Grouped) -> Markup {
    let mut counts = std::collections::BTreeMap::new();
    context.board.fleet(|fleet| {
        for (name, _) in &group.members {
            let now = fleet.revision(name).and_then(lifecycle);
            *counts.entry(now).or_insert(0_usize) += 1;
        }
    });
    html! { span.stages { @for (now, count) in counts { (stage(now)) " " (count) " " } } }
}

/// The fields that change, by file and resource.
pub(super) fn fields(class: &Value, limit: usize) -> Markup {
    let entries = planning::entries(class);
    let (kept, noted): (Vec<_>, Vec<_>) = entries.iter().partition(|e| !e.bookkeeping);
    let mut last = "";
    html! {
        div.fields {
            @if kept.is_empty() { p.soft { "Only what the Kptfile keeps about the package" } }
            @for entry in kept.iter().take(limit) {
                @if entry.place != last { p.place { (entry.place) } }
                (line(&entry.line))
                @let () = last = &entry.place;
            }
            @if kept.len() > limit { p.more { "and " (counted(kept.len() - limit, "more field", "more fields")) } }
            @if !noted.is_empty() && limit > LINES {
                details id=(format!("noted-{}", text(class, "id"))) { summary { (counted(noted.len(), "entry", "entries")) " that the machine notes for itself" } @for entry in noted { (line(&entry.line)) } }
            }
        }
    }
}

fn line(text: &str) -> Markup {
    let class = match text.get(..1) {
        Some("+") => "plus",
        Some("-") => "minus",
        _ => "tilde",
    };
    html! { p class=(format!("field {class}")) { (text) } }
}

/// A diff in its lines, coloured and marked.
pub(super) fn text_diff(text: &str) -> Markup {
    let lines: Vec<&str> = text.lines().take(LONGEST + 1).collect();
    html! {
        pre.diff tabindex="0" aria-label="Diff" {
            @for line in lines.iter().take(LONGEST) {
                @let class = match line.as_bytes() {
                    [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "file",
                    [b'@', ..] => "hunk",
                    [b'+', ..] => "plus",
                    [b'-', ..] => "minus",
                    _ => "",
                };
                span class=(class) { (line) "\n" }
            }
            @if lines.len() > LONGEST { span.hunk { "… the rest is not shown here\n" } }
        }
    }
}

fn one(context: &Context<'_>, group: &Grouped, pending: usize) -> Markup {
    let document = context
        .board
        .classes
        .document(&group.id, &group.members)
        .unwrap_or_default();
    let all = serde_json::json!({ "classes": [document] });
    let diff = planning::diff(&all, &group.id).unwrap_or_default();
    // What is to be deleted differs from what is published by all that it holds.
    let seen = if group.deletion { "get" } else { "diff" };
    let show = actions::listed(&context.board.flags, seen, &group.members);
    html! {
        p { a href="./changes" { "All changes" } }
        div.title {
            h1 { "Class " code.id title=(group.id) { (short(&group.id)) } " " span.number { (group.members.len()) } }
            (stages(context, group))
            (verbs::of_several(context, &group.members))
        }
        @if pending > 0 {
            p.soft aria-busy="true" { (counted(pending, "open revision is", "open revisions are")) " still being compared: more may be of this class" }
        }
        @if group.deletion { p { "Approving this deletes the revisions: what stands below goes." } }
        (command(&show))
        section.card aria-label="Fields" { h2 { "Fields" } (fields(&document, SHOWN)) }
        section.card aria-label="Text" { h2 { "Text " span.soft { "of " (document.get("first").and_then(Value::as_str).unwrap_or_default()) } } (text_diff(&diff)) }
        (inputs(&document))
        (members(context, group, &document))
    }
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Each input that a class names, with all its values.
pub(super) fn inputs(class: &Value) -> Markup {
    let all: Vec<&Value> = list(class, "inputs").collect();
    html! {
        @if !all.is_empty() {
            section.card aria-label="Inputs" {
                h2 { "Inputs " span.soft { "what each target states, and the class names" } }
                dl.inputs {
                    @for input in all {
                        dt { code { "{" (text(input, "input")) "}" } }
                        dd { @for value in list(input, "values").take(SHOWN) {
                            span.said { (text(value, "value")) " " span.count { (value.get("count").and_then(Value::as_u64).unwrap_or_default()) } } " "
                        } }
                    }
                }
            }
        }
    }
}

fn members(context: &Context<'_>, group: &Grouped, document: &Value) -> Markup {
    let named: Vec<&str> = list(document, "inputs").map(|i| text(i, "input")).collect();
    let stages: Vec<Option<Lifecycle>> = context.board.fleet(|fleet| {
        let all = group.members.iter().map(|(name, _)| fleet.revision(name));
        all.map(|r| r.and_then(lifecycle)).collect()
    });
    html! {
        section.card aria-label="Revisions" {
            h2 { "Revisions" }
            div.wide tabindex="0" role="region" aria-label="Revisions of the class" { table {
                thead { tr { th scope="col" { "Revision" } th scope="col" { "Stage" } @for input in &named { th scope="col" { (input) } } th scope="col" { "Tree that is shown" } } }
                tbody {
                    @for ((name, tree), now) in group.members.iter().zip(&stages).take(SHOWN) {
                        tr {
                            td { a href=(format!("./revision?name={name}")) { (name) } }
                            td { (stage(*now)) }
                            @for input in &named { td { (context.board.classes.input(name, input)) } }
                            td { code.soft { (short(tree)) } }
                        }
                    }
                }
            } }
            @if group.members.len() > SHOWN { p.more { "and " (group.members.len() - SHOWN) " more" } }
        }
    }
}
