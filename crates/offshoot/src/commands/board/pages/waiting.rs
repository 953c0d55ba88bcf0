//! What waits for the user, given what they may do; and what stands still.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{Lifecycle, Standing};

use super::layout::{self, badge, command};
use super::{Context, nothing, verbs};
use crate::client::lifecycle;
use crate::commands::board::fleet::{name, tree};
use crate::shell::quoted;

/// How many lines a section shows.
const SHOWN: usize = 12;

/// A line of a table.
struct Line {
    variant: String,
    revision: String,
    /// Upstream versions.
    versions: String,
    /// What is said of it.
    said: String,
    /// The command that tells all of it, where it cannot go on by itself or no revision leads any further.
    why: Option<String>,
}

/// The last column.
const SAID: &str = "What is said";
/// A column of a table, and what a line has there.
type Column = (&'static str, fn(&Line) -> &str);
/// The columns of a table.
const COLUMNS: [Column; 4] = [
    ("Revision", |line| &line.revision),
    ("Variant", |line| &line.variant),
    ("Upstream", |line| &line.versions),
    (SAID, |line| &line.said),
];

/// The main part of the page.
pub(super) fn main(context: &Context<'_>) -> Markup {
    let Waiting { by, early, kept } = lines(context);
    let rights = context.rights;
    let mine = |standing: Standing| match standing {
        Standing::Proposed => rights.approve,
        Standing::DeletionProposed => rights.delete,
        Standing::Draft => rights.propose,
        Standing::Conflicts => rights.resolve,
        _ => true,
    };
    let order = [
        Standing::Failed,
        Standing::Conflicts,
        Standing::Proposed,
        Standing::DeletionProposed,
        Standing::Gates,
        Standing::Untagged,
        Standing::Draft,
    ];
    let (yours, others): (Vec<Standing>, Vec<Standing>) = order
        .into_iter()
        .filter(|s| by.contains_key(s))
        .partition(|s| mine(*s));
    html! {
        div.title { h1 { "Waiting for you" } (tally(context)) }
        @if yours.is_empty() { (nothing(context, "Nothing waits for you. What is published is what is wanted, or others are to decide.")) }
        @for standing in yours { (section(context, standing, &by)) }
        @if !others.is_empty() {
            h2.rule { "For others to decide" }
            @for standing in others { (section(context, standing, &by)) }
        }
        @if !early.is_empty() {
            section.card aria-labelledby="w-early" {
                div.head { h2 id="w-early" { "Not to be approved now: the step is closed, or another version is wanted " span.number { (early.len()) } } }
                (table(&early))
            }
        }
        @if !kept.is_empty() {
            section.card aria-labelledby="w-kept" {
                div.head { h2 id="w-kept" { "Deletions of what a rollout still has: decide each by itself " span.number { (kept.len()) } } }
                (table(&kept))
            }
        }
    }
}

/// What waits for a person, and what is open too early.
struct Waiting {
    by: BTreeMap<Standing, Vec<Line>>,
    /// Open revisions whose step of a rollout is closed, or of another version than is wanted: nobody is asked to approve them
    /// (F7, F8).
    early: Vec<Line>,
    /// Proposed deletions of targets that a rollout still has: no button takes them all.
    kept: Vec<Line>,
}

fn lines(context: &Context<'_>) -> Waiting {
    let mut by: BTreeMap<Standing, Vec<Line>> = BTreeMap::new();
    let (mut early, mut kept) = (Vec::new(), Vec::new());
    context.board.fleet(|fleet| {
        let deletions = fleet.kept_deletions();
        for (variant, target) in &fleet.targets {
            let mut said = target.message.clone();
            let why = fleet
                .revision(&target.revision)
                .and_then(|r| fleet.early(r));
            let lines = match (target.standing, why) {
                (Standing::Draft | Standing::Proposed, Some(why)) => {
                    // What the variant says tells how to approve it: it knows nothing of steps.
                    said = why;
                    &mut early
                }
                (Standing::DeletionProposed, _) if fleet.is_kept(target) => &mut kept,
                (standing, _) => by.entry(standing).or_default(),
            };
            let is_stuck = matches!(target.standing, Standing::Failed | Standing::Untagged)
                || target.revision.is_empty();
            lines.push(Line {
                variant: variant.clone(),
                revision: target.revision.clone(),
                versions: target.versions.clone(),
                said,
                why: is_stuck.then(|| why_command(variant, &context.board.flags)),
            });
        }
        // What no variant looks after waits as well.
        let known: std::collections::BTreeSet<&str> = fleet
            .targets
            .values()
            .map(|t| t.revision.as_str())
            .collect();
        for revision in fleet.open().filter(|r| !known.contains(name(r))) {
            let standing = match lifecycle(revision) {
                Some(Lifecycle::Proposed) => Standing::Proposed,
                Some(Lifecycle::DeletionProposed) => Standing::DeletionProposed,
                _ => Standing::Draft,
            };
            let line = Line {
                variant: String::new(),
                revision: name(revision).to_owned(),
                versions: String::new(),
                said: String::new(),
                why: None,
            };
            match deletions.contains(name(revision)) {
                true => kept.push(line),
                false => by.entry(standing).or_default().push(line),
            }
        }
    });
    Waiting { by, early, kept }
}

fn section(
    context: &Context<'_>,
    standing: Standing,
    by: &BTreeMap<Standing, Vec<Line>>,
) -> Markup {
    let lines = by.get(&standing).map(Vec::as_slice).unwrap_or_default();
    let members = context.board.fleet(|fleet| {
        let seen = lines
            .iter()
            .filter_map(|line| fleet.revision(&line.revision));
        seen.map(|r| (name(r).to_owned(), tree(r).to_owned()))
            .collect::<Vec<_>>()
    });
    let key = layout::key(standing);
    let acts = matches!(
        standing,
        Standing::Draft | Standing::Proposed | Standing::DeletionProposed
    );
    html! {
        section.card aria-labelledby=(format!("w-{key}")) {
            div.head {
                h2 id=(format!("w-{key}")) { (badge(standing)) " " span.number { (lines.len()) } }
                @if standing == Standing::Conflicts { a href="./conflicts" { "Decide" } }
                @if acts { a href=(format!("./changes?stage={}", stage(standing))) { "Look at the changes" } }
                a href=(format!("./targets?state={key}")) { "In the grid" }
                @if acts { (verbs::of_several(context, &members)) }
            }
            (table(lines))
        }
    }
}

/// The first lines, and how many more there are. A column in which no line has anything is left out.
fn table(lines: &[Line]) -> Markup {
    let has = |line: &Line, title: &str, text: &str| {
        !text.is_empty() || (title == SAID && line.why.is_some())
    };
    let filled = COLUMNS.map(|(title, of)| lines.iter().any(|line| has(line, title, of(line))));
    let columns = || COLUMNS.iter().zip(filled).filter(|(_, filled)| *filled);
    html! {
        table {
            thead { tr { @for ((title, _), _) in columns() { th scope="col" { (title) } } } }
            tbody {
                @for line in lines.iter().take(SHOWN) {
                    tr { @for ((title, of), _) in columns() { (cell(line, title, of(line))) } }
                }
            }
        }
        @if lines.len() > SHOWN { p.more { "and " (lines.len() - SHOWN) " more" } }
    }
}

fn cell(line: &Line, title: &str, text: &str) -> Markup {
    html! {
        @match (title, &line.why) {
            ("Revision", _) if text.is_empty() => td { "–" },
            ("Revision", _) => td { a href=(format!("./revision?name={text}")) { (text) } },
            (SAID, Some(why)) => td.message { p.whole { (text) } (command(why)) },
            (SAID, None) => td.message { span.clamp title=(text) { (text) } },
            _ => td { (text) },
        }
    }
}

/// The command that tells all that is known of a variant.
fn why_command(variant: &str, flags: &str) -> String {
    format!("offshoot why {}{flags}", quoted(&format!("pvar/{variant}")))
}

fn stage(standing: Standing) -> Lifecycle {
    match standing {
        Standing::Proposed => Lifecycle::Proposed,
        Standing::DeletionProposed => Lifecycle::DeletionProposed,
        _ => Lifecycle::Draft,
    }
}

/// The whole fleet as one bar.
pub(super) fn tally(context: &Context<'_>) -> Markup {
    let mut counts: BTreeMap<Standing, usize> = BTreeMap::new();
    context.board.fleet(|fleet| {
        for target in fleet.targets.values() {
            *counts.entry(target.standing).or_default() += 1;
        }
    });
    bar(&counts)
}

/// Counts as a bar, and in words. Widths are attributes of a drawing: no style stands in a page.
pub(super) fn bar(counts: &BTreeMap<Standing, usize>) -> Markup {
    let total: usize = counts.values().sum();
    let words: Vec<String> = counts
        .iter()
        .map(|(s, n)| format!("{n} {}", s.words()))
        .collect();
    let words = match words.is_empty() {
        true => "no targets".to_owned(),
        false => words.join(", "),
    };
    let mut at = 0.0;
    let parts: Vec<(Standing, f64, f64)> = counts
        .iter()
        .map(|(standing, count)| {
            #[expect(clippy::cast_precision_loss, reason = "a share of a bar")]
            let width = *count as f64 * 1000.0 / total.max(1) as f64;
            at += width;
            (*standing, at - width, width)
        })
        .collect();
    html! {
        svg.bar role="img" aria-label=(words) viewBox="0 0 1000 10" preserveAspectRatio="none" {
            @for (standing, x, width) in parts {
                rect class=(format!("s-{}", layout::key(standing))) x=(format!("{x:.1}")) y="0" width=(format!("{width:.1}")) height="10" {
                    title { (standing.words()) }
                }
            }
        }
    }
}
