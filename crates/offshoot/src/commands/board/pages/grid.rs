//! The grid: a cell for each target. The page is a frame; cells come as data, all of them once and then what changed.

use maud::{Markup, html};
use model::Standing;
use serde_json::{Map, Value, json};

use super::layout::{self, key, mark};
use super::{Context, Query};
use crate::commands::board::Board;
use crate::commands::board::fleet::{Fleet, Target, lifecycle, tree};

/// Cells, those that changed since a version or all, with the labels of repositories.
pub(in crate::commands::board) fn cells(board: &Board, query: &Query) -> Value {
    board.classes.want();
    let since = query.get("since").and_then(|v| v.parse::<u64>().ok());
    board.fleet(|fleet| {
        let gone = since.and_then(|since| fleet.gone_since(since));
        let since = gone.as_ref().and(since);
        let all = fleet.targets.iter();
        // A revision may change without its variant: those of an open revision are told each time.
        let told = all.filter(|(_, t)| since.is_none_or(|s| t.since > s || is_open(fleet, t)));
        let cells: Vec<Value> = told.map(|(name, t)| cell(board, fleet, name, t)).collect();
        let repositories: Map<String, Value> = match since {
            Some(_) => Map::new(),
            None => fleet
                .repositories
                .keys()
                .map(|name| {
                    let labels = fleet.labels(name);
                    let labels: Map<String, Value> =
                        labels.map(|(k, v)| (k.to_owned(), v.into())).collect();
                    (name.clone(), labels.into())
                })
                .collect(),
        };
        json!({
            "version": fleet.version, "full": since.is_none(), "cells": cells,
            "gone": gone.unwrap_or_default(), "repositories": repositories,
        })
    })
}

fn is_open(fleet: &Fleet, target: &Target) -> bool {
    let revision = fleet.revision(&target.revision);
    revision.is_some_and(|r| lifecycle(r) != "Published")
}

fn cell(board: &Board, fleet: &Fleet, name: &str, target: &Target) -> Value {
    let revision = fleet.revision(&target.revision);
    let tree = revision.map(tree).unwrap_or_default();
    let class = board
        .classes
        .of(&target.revision, tree)
        .and_then(Result::ok);
    json!({
        "v": name, "s": target.set, "r": target.repository, "p": target.package,
        "k": key(target.standing), "d": target.revision, "t": tree,
        "l": revision.map(lifecycle).unwrap_or_default(),
        "c": class.unwrap_or_default(), "u": target.versions, "m": target.message,
    })
}

/// The main part of the page.
pub(super) fn main(context: &Context<'_>) -> Markup {
    let sets = context
        .board
        .fleet(|f| f.sets.keys().cloned().collect::<Vec<_>>());
    let labels = context.board.fleet(|f| {
        let all = f.repositories.keys().flat_map(|name| f.labels(name));
        let keys = all.map(|(key, _)| key.to_owned());
        keys.collect::<std::collections::BTreeSet<_>>()
    });
    let (approve, propose) = (context.rights.approve, context.rights.propose);
    let scope = crate::commands::board::actions::scope(&context.board.client.namespace);
    html! {
        div.title { h1 { "Targets" } p #tally aria-live="polite" {} }
        form #filter role="search" aria-label="Filter targets" {
            label { "Find" input type="search" name="q" placeholder="name, repository, message" value=(context.asked("q")); }
            label { "State" select name="state" {
                option value="" { "all" }
                @for standing in Standing::ALL {
                    option value=(key(standing)) selected[context.asked("state") == key(standing)] { (mark(standing)) " " (standing.words()) }
                }
            } }
            label { "Set" select name="set" {
                option value="" { "all" }
                @for set in &sets { option selected[context.asked("set") == set] { (set) } }
            } }
            label { "Labels" input name="label" placeholder="region=eu, ring=1" list="labels" value=(context.asked("label")); }
            datalist #labels { @for key in &labels { option value=(format!("{key}=")) {} } }
            label { "Class" input name="class" placeholder="first digits" size="9" value=(context.asked("class")); }
            label { "Sort" select name="sort" {
                @for (value, word) in [("", "name"), ("state", "state"), ("repository", "repository"), ("class", "class")] {
                    option value=(value) selected[context.asked("sort") == value] { (word) }
                }
                @for key in &labels {
                    option value=(format!("label:{key}")) selected[context.asked("sort") == format!("label:{key}")] { "label " (key) }
                }
            } }
        }
        div.split {
            section.grid aria-label="Grid" {
                div #grid role="listbox" aria-label="Targets" aria-multiselectable="true" tabindex="0" data-live="grid" {}
                ul.legend aria-label="States" {
                    @for standing in Standing::ALL { li { (layout::badge(standing)) } }
                }
            }
            aside.side aria-label="Selection" {
                h2 { span #chosen { "0" } " selected" }
                p.hint { "Click, Shift-click, or drag over cells. Arrow keys move, Space selects, Ctrl+A selects what is shown, Escape none, Enter opens." }
                div.verbs #selection-verbs data-propose=[propose.then_some("yes")] data-approve=[approve.then_some("yes")] data-scope=(scope) {}
                div #about {}
            }
        }
    }
}
