//! The grid: a cell for each target. The page is a frame; cells come as data, all of them once and then what changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use maud::{Markup, html};
use model::{Lifecycle, Standing};
use serde::Serialize;

use super::layout::{self, key};
use super::{Context, Query};
use crate::client::lifecycle;
use crate::commands::board::Board;
use crate::commands::board::classes::Held;
use crate::commands::board::fleet::{Fleet, Target, tree};

/// All cells, or those that changed since a version. Words that many cells share stand once, and cells name their place:
/// ten thousand cells are read within a second.
#[derive(Serialize)]
struct Cells<'f> {
    version: u64,
    full: bool,
    words: Vec<&'f str>,
    cells: Vec<Cell<'f>>,
    gone: Vec<&'f str>,
    /// The labels of each repository, where any of them changed.
    repositories: Option<BTreeMap<&'f str, BTreeMap<&'f str, &'f str>>>,
    /// The steps of each set, in their order.
    steps: BTreeMap<&'f str, Vec<&'f str>>,
    /// Drafts that cannot be proposed before their conflicts are decided.
    blocked: BTreeSet<&'f str>,
    /// Revisions that a rollout keeps from being approved now.
    early: BTreeSet<&'f str>,
    /// Revisions whose deletion is approved on their own page alone.
    kept: BTreeSet<&'f str>,
}

/// Variant, revision, its tree, and as places of words: set, repository, package, state, lifecycle, class, versions,
/// message and step.
#[derive(Serialize)]
struct Cell<'f>(&'f str, &'f str, &'f str, [usize; 9]);

/// Words, each once.
#[derive(Default)]
struct Words<'f> {
    list: Vec<&'f str>,
    places: HashMap<&'f str, usize>,
}

impl<'f> Words<'f> {
    fn place(&mut self, word: &'f str) -> usize {
        *self.places.entry(word).or_insert_with(|| {
            self.list.push(word);
            self.list.len() - 1
        })
    }
}

/// Cells as JSON, those that changed since a version or all, with the labels of repositories.
pub(in crate::commands::board) fn cells(board: &Board, query: &Query) -> String {
    board.classes.want();
    let since = query.get("since").and_then(|v| v.parse::<u64>().ok());
    board.fleet(|fleet| {
        let gone = since.and_then(|since| fleet.gone_since(since));
        let since = gone.as_ref().and(since);
        let told = fleet.targets.iter();
        let told = told.filter(|(_, t)| since.is_none_or(|s| t.since > s));
        let told: Vec<_> = told.collect();
        let labelled = since.is_none_or(|since| fleet.labelled > since);
        let labels = |name: &'_ String| fleet.labels(name).collect();
        let repositories = fleet.repositories.keys();
        let repositories = repositories.map(|name| (name.as_str(), labels(name)));
        board.classes.held(|held| {
            let mut words = Words::default();
            let cells = told
                .iter()
                .map(|(name, t)| cell(held, fleet, &mut words, name, t));
            let cells: Vec<Cell<'_>> = cells.collect();
            let cells = Cells {
                version: fleet.version,
                full: since.is_none(),
                words: words.list,
                cells,
                gone: gone.unwrap_or_default(),
                repositories: labelled.then(|| repositories.collect()),
                steps: steps(fleet),
                blocked: fleet.all_blocked(),
                early: fleet.all_early(),
                kept: fleet.kept_deletions(),
            };
            // Only maps with keys that are no texts cannot be written.
            serde_json::to_string(&cells).unwrap_or_default()
        })
    })
}

fn cell<'f>(
    classes: &'f Held,
    fleet: &'f Fleet,
    words: &mut Words<'f>,
    name: &'f str,
    target: &'f Target,
) -> Cell<'f> {
    let revision = fleet.revision(&target.revision);
    let tree = revision.map(tree).unwrap_or_default();
    let said = [
        target.set.as_str(),
        &target.repository,
        &target.package,
        key(target.standing),
        revision.and_then(lifecycle).map_or("", Lifecycle::as_str),
        revision.map(|r| classes.class(r)).unwrap_or_default(),
        &target.versions,
        &target.message,
        &target.step,
    ];
    let said = said.map(|word| words.place(word));
    Cell(name, &target.revision, tree, said)
}

/// The steps of each set that rolls out, in their order.
fn steps(fleet: &Fleet) -> BTreeMap<&str, Vec<&str>> {
    let rolling = fleet.sets.iter().filter_map(|(name, set)| {
        let steps = set.rollout.as_ref()?.steps.iter();
        Some((name.as_str(), steps.map(|s| s.name.as_str()).collect()))
    });
    rolling.collect()
}

/// The main part of the page.
pub(super) fn main(context: &Context<'_>) -> Markup {
    let sets = context
        .board
        .fleet(|f| f.sets.keys().cloned().collect::<Vec<_>>());
    let labels = context.board.fleet(|f| {
        let all = f.repositories.keys().flat_map(|name| f.labels(name));
        let keys = all.map(|(key, _)| key.to_owned());
        keys.collect::<BTreeSet<_>>()
    });
    let steps: BTreeSet<String> = context.board.fleet(|f| {
        let all = steps(f).into_values().flatten();
        all.map(str::to_owned).collect()
    });
    let rights = context.rights;
    let yes = |allowed: bool| allowed.then_some("yes");
    let flags = &context.board.flags;
    html! {
        div.title { h1 { "Targets" } p #tally aria-live="polite" {} }
        form #filter role="search" aria-label="Filter targets" {
            label { "Find" input type="search" name="q" placeholder="name, repository, message" value=(context.asked("q")); }
            label { "State" select name="state" {
                option value="" { "all" }
                @for standing in Standing::ALL {
                    option value=(key(standing)) selected[context.asked("state") == key(standing)] { (standing.mark()) " " (standing.words()) }
                }
            } }
            label { "Set" select name="set" {
                option value="" { "all" }
                @for set in &sets { option selected[context.asked("set") == set] { (set) } }
            } }
            label { "Step" select name="step" {
                option value="" { "all" }
                @for step in &steps { option selected[context.asked("step") == step] { (step) } }
            } }
            label { "Labels" input name="label" placeholder="region=eu, ring=1" list="labels" value=(context.asked("label")); }
            datalist #labels { @for key in &labels { option value=(format!("{key}=")) {} } }
            label { "Class" input name="class" placeholder="first digits" size="9" value=(context.asked("class")); }
            label { "Sort" select name="sort" {
                @for (value, word) in [("", "name"), ("state", "state"), ("repository", "repository"), ("set", "set"), ("class", "class"), ("step", "step")] {
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
                div.verbs #selection-verbs data-propose=[yes(rights.propose)] data-approve=[yes(rights.approve)] data-delete=[yes(rights.delete)] data-flags=(flags) {}
                div #about role="group" tabindex="-1" {}
            }
        }
    }
}
