//! Decisions about conflicts, as `offshoot resolve` makes them, in the drafts that were shown: each of them is answered.

use std::collections::HashMap;

use api::{BulkOutcome, BulkResult};
use model::{Choice, Conflict, Files, Resolution, Revision};
use objects::Reason;
use package::conflicts;
use serde_json::{Value, json};

use super::Board;
use crate::cli::remote::{Connect, ResolveArgs, TakenSide};
use crate::commands::resolve;
use crate::commands::rpkg::bulk::{self, Asked, Told};
use crate::commands::rpkg::contents::contents;
use crate::commands::rpkg::diff;
use crate::commands::rpkg::entry::Entry;
use crate::exit::ExitFailure;
use crate::planning;

/// What is decided: the side that is taken, or the value that is written instead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision<'a> {
    /// The key of the conflicts.
    pub(super) key: &'a str,
    pub(super) take: &'a str,
    pub(super) value: Option<&'a str>,
    pub(super) dry_run: bool,
}

/// What came of a request.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) told: Vec<Told>,
    /// What kept the rest from an answer.
    pub(super) broken: Option<ExitFailure>,
    pub(super) summary: String,
    /// What a decision would make of the text of one draft.
    pub(super) becomes: Option<Value>,
}

/// Decides; what came of each draft that was shown.
///
/// # Errors
/// Nothing is decided by these words.
pub(super) async fn run(
    board: &Board,
    decision: &Decision<'_>,
    shown: &[Entry],
) -> Result<Answered, ExitFailure> {
    let args = args(decision)?;
    let drafts = resolve::drafts(&board.client, &args).await?;
    // What was shown is decided: a draft that holds something else by now has no say in what the decision is.
    let trees = shown.iter().map(|e| (e.name.as_str(), e.tree.as_deref()));
    let trees: HashMap<&str, Option<&str>> = trees.collect();
    let as_shown = |draft: &&Revision| {
        let tree = draft.tree.to_string();
        trees.get(draft.key.name.as_str()) == Some(&Some(tree.as_str()))
    };
    let is_asked = |c: &Conflict| c.derived_from.is_none() && api::conflict_key(c) == decision.key;
    let models = drafts.iter().filter(as_shown);
    let models = models.filter(|draft| draft.conflicts.iter().any(is_asked));
    let models: Vec<Revision> = models.cloned().collect();
    if models.is_empty() {
        let drafts = drafts.iter().map(|d| (d.key.name.as_str(), d));
        let drafts: HashMap<&str, &Revision> = drafts.collect();
        let missed = |e: &Entry| missed(e, drafts.get(e.name.as_str()).copied());
        let told = shown.iter().map(|e| (e.name.clone(), missed(e)));
        let told: Vec<Told> = told.collect();
        return Ok(Answered {
            summary: bulk::summary(Asked::Resolve(&[]), &told),
            told,
            ..Answered::default()
        });
    }
    let resolution = resolve::of_key(&args, &models)?;
    let wire = [api::write_resolution(&resolution)];
    let asked = Asked::Resolve(&wire);
    let (told, broken) = bulk::ask_all(&board.client, asked, shown, decision.dry_run).await;
    let becomes = match decision.dry_run {
        true => becomes(board, &resolution, &told, &models).await,
        false => None,
    };
    Ok(Answered {
        summary: bulk::summary(asked, &told),
        told,
        broken,
        becomes,
    })
}

fn args(decision: &Decision<'_>) -> Result<ResolveArgs, ExitFailure> {
    let take = match (decision.take, decision.value) {
        ("local", None) => Some(TakenSide::Local),
        ("upstream", None) => Some(TakenSide::Upstream),
        ("base", None) => Some(TakenSide::Base),
        ("", Some(_)) => None,
        _ => return Err(ExitFailure::new("either a side or a value decides")),
    };
    Ok(ResolveArgs {
        connect: Connect::default(),
        key: Some(decision.key.to_owned()),
        take,
        value: decision.value.map(ToOwned::to_owned),
        like: None,
        selector: None,
        field_selector: None,
        dry_run: decision.dry_run,
    })
}

/// What is told of a draft where none holds what was shown any more, so that no decision can be asked for.
fn missed(shown: &Entry, found: Option<&Revision>) -> BulkOutcome {
    let (result, reason, message) = match found.map(|d| d.tree.to_string()) {
        Some(tree) if shown.tree.as_deref() != Some(tree.as_str()) => (
            BulkResult::Refused,
            Reason::Conflict,
            format!("it holds tree {tree} by now, and nothing was decided in it"),
        ),
        Some(_) => (
            BulkResult::Skipped,
            Reason::Unknown,
            "it has no such conflict any more".to_owned(),
        ),
        None => (
            BulkResult::Skipped,
            Reason::Unknown,
            "it is no draft with conflicts any more".to_owned(),
        ),
    };
    BulkOutcome {
        reason: reason.word().to_owned(),
        message,
        ..BulkOutcome::of(result)
    }
}

/// What the text of the first draft that would be decided becomes there, before its functions run; nothing where its files are
/// not shown as they are.
async fn becomes(
    board: &Board,
    decision: &Resolution,
    told: &[Told],
    models: &[Revision],
) -> Option<Value> {
    let mut done = told.iter().filter(|(_, o)| o.result == BulkResult::Done);
    let name = &done.next()?.0;
    let draft = models.iter().find(|d| d.key.name.as_str() == name)?;
    let mut about = draft.conflicts.iter().filter(|c| c.blocks());
    let conflict = about.find(|c| decision.is_about(c))?;
    let client = &board.client;
    let before = contents(client, name).await.ok()?.files;
    let published = board.fleet(|fleet| {
        let revision = fleet.revision(name)?;
        diff::published(fleet.package_of(name), revision)
    });
    let published = match published {
        Some(published) => contents(client, &published).await.ok()?.files,
        None => Files::new(),
    };
    let after = decided(&before, &published, conflict, &decision.choice)?;
    let text = |files: &Files| files.get(&conflict.file).map(planning::shown_text);
    let (old, new) = (text(&before), text(&after));
    let stays = before.get(&conflict.file) == after.get(&conflict.file);
    let diff = match (stays, old == new) {
        (true, _) => String::new(),
        // It may hold a Secret.
        (false, true) => return None,
        (false, false) => planning::unified(&conflict.file, old, new),
    };
    Some(json!({ "name": name, "file": conflict.file.as_str(), "diff": diff }))
}

/// The draft's files with the decision carried out, in the ways of the server: as the field stands where people wrote it, else
/// as the conflict records it.
fn decided(
    before: &Files,
    published: &Files,
    conflict: &Conflict,
    choice: &Choice,
) -> Option<Files> {
    let mut after = before.clone();
    let done = match choice {
        Choice::Value(json) => conflicts::put_value(&mut after, conflict, json),
        Choice::Side(side) => {
            conflicts::holds_side(before, conflict, *side)
                || conflicts::put_side(&mut after, published, conflict, *side)
                || conflicts::put_recorded(&mut after, conflict, *side)
        }
    };
    done.then_some(after)
}
