//! Sets: what each wants, and how far its variants are.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{RolloutStatus, Standing};

use super::rollout::{self, Part};
use super::waiting::bar;
use super::{Context, layout, nothing};
use crate::commands::rollout::trouble;

/// One set of the page.
struct Row {
    name: String,
    upstream: (String, String, String),
    counts: BTreeMap<Standing, usize>,
    said: Vec<String>,
    rollout: Option<RolloutStatus>,
    /// What keeps it from being decided.
    trouble: Option<String>,
    /// What can be said to the rollout.
    verbs: Vec<&'static str>,
    seen: String,
    version: String,
}

/// The main part of the page.
pub(super) fn main(context: &Context<'_>) -> Markup {
    let rows = rows(context);
    let flags = &context.board.flags;
    html! {
        div.title { h1 { "Sets" } }
        @if rows.is_empty() { (nothing(context, "There is no set in this namespace.")) }
        div.cards {
            @for row in &rows { (card(context, row, flags)) }
        }
    }
}

fn rows(context: &Context<'_>) -> Vec<Row> {
    context.board.fleet(|fleet| {
        let mut counts: BTreeMap<&str, BTreeMap<Standing, usize>> = BTreeMap::new();
        for target in fleet.targets.values() {
            *counts
                .entry(&target.set)
                .or_default()
                .entry(target.standing)
                .or_default() += 1;
        }
        let sets = fleet.sets.iter().map(|(name, set)| Row {
            name: name.clone(),
            upstream: set.upstream.clone(),
            counts: counts.remove(name.as_str()).unwrap_or_default(),
            said: set
                .status
                .conditions
                .iter()
                .filter(|c| !c.message.is_empty())
                .map(|c| format!("{}: {}", c.kind, c.message))
                .collect(),
            rollout: set.status.rollout.clone(),
            trouble: trouble(&set.status),
            verbs: set.verbs.clone(),
            seen: set.seen.clone(),
            version: set.version_seen.clone(),
        });
        let mut rows: Vec<Row> = sets.collect();
        let lone = counts.remove("").unwrap_or_default();
        if !lone.is_empty() {
            rows.push(Row {
                name: String::new(),
                upstream: Default::default(),
                counts: lone,
                said: Vec::new(),
                rollout: None,
                trouble: None,
                verbs: Vec::new(),
                seen: String::new(),
                version: String::new(),
            });
        }
        rows
    })
}

fn card(context: &Context<'_>, row: &Row, flags: &str) -> Markup {
    let total: usize = row.counts.values().sum();
    let (repository, package, revision) = &row.upstream;
    let title = if row.name.is_empty() {
        "Variants of no set"
    } else {
        &row.name
    };
    html! {
        section.card.set {
            div.head {
                h2 { (title) " " span.number { (total) } }
                a href=(format!("./targets?set={}", row.name)) { "In the grid" }
                @if !row.name.is_empty() { a href=(format!("./plan?set={}", row.name)) { "Plan another upstream" } }
            }
            @if !row.name.is_empty() {
                p.upstream { "wants " code { (repository) "/" (package) "@" (if revision.is_empty() { "latest" } else { revision }) } }
            }
            (bar(&row.counts))
            ul.counts {
                @for (standing, count) in &row.counts {
                    li { a href=(format!("./targets?set={}&state={}", row.name, layout::key(*standing))) { (layout::badge(*standing)) " " span.number { (count) } } }
                }
            }
            @if row.rollout.is_some() || !row.verbs.is_empty() {
                (rollout::part(&Part {
                    set: &row.name,
                    rollout: row.rollout.as_ref(),
                    trouble: row.trouble.as_deref(),
                    verbs: &row.verbs,
                    seen: &row.seen,
                    version: &row.version,
                    allowed: context.rights.rollout,
                    flags,
                }))
            }
            @if !row.said.is_empty() { details id=(format!("conditions-{}", row.name)) { summary { "Conditions" } ul { @for line in &row.said { li { (line) } } } } }
        }
    }
}
