//! Open conflicts, equal ones once, with what a decision would make of each draft.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{Conflict, ConflictValue, Lifecycle};

use super::layout::{NOT_ALLOWED, command, entries};
use super::{Context, nothing};
use crate::client::lifecycle;
use crate::commands::board::fleet::{name, tree};
use crate::visible::{counted, visible};

/// How many drafts a conflict names.
const SHOWN: usize = 100;

/// Equal conflicts: one of them, and each draft with its tree and its own value.
struct Group {
    conflict: Conflict,
    drafts: Vec<(String, String, ConflictValue)>,
}

/// The main part of the page.
pub(super) fn main(context: &Context<'_>) -> Markup {
    let groups = groups(context);
    html! {
        div.title { h1 { "Conflicts" } p { (counted(groups.len(), "decision is open", "decisions are open")) } }
        @if groups.is_empty() { (nothing(context, "No conflict is open.")) }
        @for (key, group) in &groups { (card(context, key, group)) }
    }
}

fn groups(context: &Context<'_>) -> BTreeMap<String, Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    context.board.fleet(|fleet| {
        for revision in fleet
            .open()
            .filter(|r| lifecycle(r) == Some(Lifecycle::Draft))
        {
            let all = api::read_conflicts(revision).into_iter();
            for conflict in all.filter(|c| c.blocks() && c.derived_from.is_none()) {
                let local = conflict.local.clone();
                let group = groups.entry(api::conflict_key(&conflict));
                let group = group.or_insert_with(|| Group {
                    conflict,
                    drafts: Vec::new(),
                });
                let draft = (name(revision).to_owned(), tree(revision).to_owned(), local);
                group.drafts.push(draft);
            }
        }
    });
    groups
}

fn value(value: &ConflictValue) -> Markup {
    match value {
        ConflictValue::Absent => html! { span.soft { "nothing" } },
        value @ ConflictValue::Hash(_) => {
            html! { span.soft { (value.abridged().unwrap_or("not shown")) } }
        }
        ConflictValue::Json(text) => html! { code { (visible(text)) } },
    }
}

fn card(context: &Context<'_>, key: &str, group: &Group) -> Markup {
    let conflict = &group.conflict;
    let mut locals: BTreeMap<String, (&ConflictValue, usize)> = BTreeMap::new();
    for (_, _, local) in &group.drafts {
        locals.entry(format!("{local:?}")).or_insert((local, 0)).1 += 1;
    }
    html! {
        section.card.conflict aria-labelledby=(key) {
            div.head {
                h2 id=(key) { (conflict.path) @if conflict.path.is_empty() { "the whole " (if conflict.resource.is_empty() { "file" } else { "resource" }) } " " span.number { (group.drafts.len()) } }
                p.place { (conflict.file) " " (conflict.resource) " " code.id { (key) } }
            }
            table.sides {
                thead { tr { th scope="col" { "Side" } th scope="col" { "holds" } th scope="col" { "Taking it would make of the drafts" } th scope="col" { "Decide" } } }
                tbody {
                    (side(context, key, group, "local", &html! {
                        @for (local, count) in locals.values() { (value(local)) " " span.count { (count) } " " }
                    }, &html! { "each keeps its own value" }))
                    (side(context, key, group, "upstream", &value(&conflict.upstream), &html! { (counted(group.drafts.len(), "holds", "hold")) " " (value(&conflict.upstream)) }))
                    (side(context, key, group, "base", &value(&conflict.base), &html! { (counted(group.drafts.len(), "holds", "hold")) " " (value(&conflict.base)) " again" }))
                }
            }
            @if locals.len() == 1 && !matches!(conflict.local, ConflictValue::Hash(_)) { (literal(context, key, group)) }
            details id=(format!("drafts-{key}")) { summary { "Drafts" } ul.columns {
                @for (name, _, local) in group.drafts.iter().take(SHOWN) { li { a href=(format!("./revision?name={name}")) { (name) } " " (value(local)) } }
                @if group.drafts.len() > SHOWN { li.more { "and " (group.drafts.len() - SHOWN) " more" } }
            } }
            (command(&format!("offshoot resolve {key} --take local|upstream|base{}", context.board.flags)))
        }
    }
}

fn members(group: &Group) -> Vec<(String, String)> {
    let all = group.drafts.iter();
    all.map(|(name, tree, _)| (name.clone(), tree.clone()))
        .collect()
}

fn side(
    context: &Context<'_>,
    key: &str,
    group: &Group,
    side: &str,
    holds: &Markup,
    makes: &Markup,
) -> Markup {
    let allowed = context.rights.resolve;
    let does = format!(
        "offshoot resolve {key} --take {side}{}",
        context.board.flags
    );
    let why = (!allowed).then_some(NOT_ALLOWED);
    html! {
        tr {
            th scope="row" { (side) } td { (holds) } td { (makes) }
            td { button type="button" data-act="resolve" data-key=(key) data-take=(side) data-command=(does)
                data-entries=[allowed.then(|| entries(&members(group)))] disabled[!allowed] title=[why] { "Take " (side) } }
        }
    }
}

/// A value of one's own, where all drafts hold the same.
fn literal(context: &Context<'_>, key: &str, group: &Group) -> Markup {
    let allowed = context.rights.resolve;
    let does = format!(
        "offshoot resolve {key} --value VALUE{}",
        context.board.flags
    );
    let why = (!allowed).then_some(NOT_ALLOWED);
    html! {
        form.inline.value data-key=(key) data-command=(does) data-entries=[allowed.then(|| entries(&members(group)))] {
            label { "or a value of your own" input name="value" autocomplete="off" disabled[!allowed] title=[why]; }
            button type="submit" disabled[!allowed] title=[why] { "Write it" }
        }
    }
}
