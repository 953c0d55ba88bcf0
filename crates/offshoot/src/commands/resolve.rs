//! `offshoot resolve`: one decision for the equal conflicts of many drafts (F4).
//!
//! Equal is what has the same file, resource, path, base and upstream; for a value of one's own also the same local. What
//! differs is named and stays untouched. The server looks again whether each conflict is equal, and whether the draft is
//! as it was listed.

use std::collections::BTreeSet;

use model::{
    Choice, Conflict, ConflictSide, ConflictState, ConflictValue, Files, Lifecycle, Resolution,
    Revision,
};
use package::conflicts::value_at;
use serde_json::Value;

use super::rpkg::bulk::{self, Asked};
use super::rpkg::entry::Entry;
use super::rpkg::items;
use crate::cli::remote::{ResolveArgs, TakenSide};
use crate::client::{Client, PACKAGES, RESOURCES, collection, lifecycle, object};
use crate::exit::ExitFailure;
use crate::visible::line;

/// How many drafts that differ are named.
const NAMED: usize = 20;

/// Decides; what is to be printed.
///
/// # Errors
/// Nothing is decided by these words, or something was refused.
pub(super) async fn run(args: &ResolveArgs) -> Result<String, ExitFailure> {
    let client = Client::connect(&args.connect).await?;
    let done = resolve(&client, args).await;
    super::say_warnings(&client);
    done
}

async fn resolve(client: &Client, args: &ResolveArgs) -> Result<String, ExitFailure> {
    let (decisions, entries, differing) = prepare(client, args).await?;
    for line in differing {
        super::say(&line);
    }
    if entries.is_empty() {
        super::say("No open conflict is equal: nothing is to be decided.");
        return Ok(String::new());
    }
    let wire: Vec<Value> = decisions.iter().map(api::write_resolution).collect();
    bulk::run(client, Asked::Resolve(&wire), &entries, args.dry_run).await
}

/// What would be decided: the decisions, the drafts with an equal open conflict, and lines about what differs.
async fn prepare(
    client: &Client,
    args: &ResolveArgs,
) -> Result<(Vec<Resolution>, Vec<Entry>, Vec<String>), ExitFailure> {
    let drafts = drafts(client, args).await?;
    let decisions = match &args.like {
        Some(model) => of_draft(client, model).await?,
        None => vec![of_key(args, &drafts)?],
    };
    let others = |draft: &&Revision| args.like.as_deref() != Some(draft.key.name.as_str());
    let drafts: Vec<&Revision> = drafts.iter().filter(others).collect();
    let lines = differing(&decisions, &drafts);
    let waits = |draft: &&&Revision| {
        let open = draft.conflicts.iter().filter(|c| c.blocks());
        open.into_iter()
            .any(|c| decisions.iter().any(|d| d.is_about(c)))
    };
    let entries = drafts
        .iter()
        .filter(waits)
        .map(|draft| Entry {
            namespace: draft.key.namespace.to_string(),
            name: draft.key.name.to_string(),
            tree: Some(draft.tree.to_string()),
            ..Entry::default()
        })
        .collect();
    Ok((decisions, entries, lines))
}

/// The drafts of the selection that have conflicts.
///
/// # Errors
/// The server refuses, or names what cannot be read.
pub(super) async fn drafts(
    client: &Client,
    args: &ResolveArgs,
) -> Result<Vec<Revision>, ExitFailure> {
    let query = [
        (
            "labelSelector",
            args.selector.as_deref().unwrap_or_default(),
        ),
        (
            "fieldSelector",
            args.field_selector.as_deref().unwrap_or_default(),
        ),
    ];
    let list = client
        .get(&collection(PACKAGES, &client.namespace, &query))
        .await?;
    let mut drafts = Vec::new();
    for object in items(&list) {
        let conflicts = object.pointer("/status/conflicts").is_some();
        if conflicts && lifecycle(object) == Some(Lifecycle::Draft) {
            drafts.push(read(object)?);
        }
    }
    Ok(drafts)
}

fn read(object: &Value) -> Result<Revision, ExitFailure> {
    api::read_revision(object)
        .map_err(|why| ExitFailure::new(format!("a package revision cannot be read: {why}")))
}

/// The decision about the conflicts of a key, as these drafts have them.
///
/// # Errors
/// None has it, they are not equal, or the value is none for them.
pub(super) fn of_key(args: &ResolveArgs, drafts: &[Revision]) -> Result<Resolution, ExitFailure> {
    let key = args.key.as_deref().unwrap_or_default();
    let of_key = |c: &&Conflict| c.derived_from.is_none() && api::conflict_key(c) == key;
    let all: Vec<&Conflict> = drafts
        .iter()
        .flat_map(|draft| &draft.conflicts)
        .filter(of_key)
        .collect();
    let open = all.iter().find(|c| c.blocks());
    let Some(first) = open.or_else(|| all.first()).copied() else {
        let known = keys(drafts);
        let failure =
            ExitFailure::new(format!("no draft here has a conflict with the key {key:?}"));
        return Err(match known.is_empty() {
            true => failure.hint("no conflict is open here; -n and -l say where to look"),
            false => failure.hint(format!("open are {}", known.join(", "))),
        });
    };
    let equal = |c: &Conflict| {
        (c.place(), &c.base, &c.upstream) == (first.place(), &first.base, &first.upstream)
    };
    if !all.iter().all(|c| equal(c)) {
        return Err(ExitFailure::new(format!(
            "the key {key} stands for conflicts that are not equal"
        ))
        .hint(
            "decide in one draft, and then: offshoot resolve --like PACKAGE_REVISION -l SELECTOR",
        ));
    }
    let choice = match (&args.take, &args.value) {
        (Some(TakenSide::Local), _) => Choice::Side(ConflictSide::Local),
        (Some(TakenSide::Upstream), _) => Choice::Side(ConflictSide::Upstream),
        (Some(TakenSide::Base), _) => Choice::Side(ConflictSide::Base),
        (None, value) => {
            let locals: BTreeSet<&ConflictValue> = all
                .iter()
                .filter(|c| c.blocks())
                .map(|c| &c.local)
                .collect();
            if locals.len() > 1 {
                let shown: Vec<String> = locals.iter().map(ToString::to_string).collect();
                return Err(ExitFailure::new(format!(
                    "the local values differ ({}), and a value decides equal conflicts only",
                    shown.join(", ")
                ))
                .hint("select those of one local value with -l, or take a side"));
            }
            Choice::Value(literal(first, value.as_deref().unwrap_or_default())?)
        }
    };
    Ok(Resolution::of(first, choice))
}

/// The keys of what is open.
fn keys(drafts: &[Revision]) -> Vec<String> {
    let open = drafts
        .iter()
        .flat_map(|draft| &draft.conflicts)
        .filter(|c| c.blocks());
    let keys: BTreeSet<String> = open.map(api::conflict_key).collect();
    keys.into_iter().take(NAMED).collect()
}

/// A typed value as JSON: as text where all sides are texts, else as YAML.
fn literal(conflict: &Conflict, value: &str) -> Result<String, ExitFailure> {
    let sides = [&conflict.base, &conflict.local, &conflict.upstream];
    let known: Vec<&String> = sides
        .into_iter()
        .filter_map(|side| match side {
            ConflictValue::Json(json) => Some(json),
            ConflictValue::Absent | ConflictValue::Hash(_) => None,
        })
        .collect();
    if !known.is_empty() && known.iter().all(|json| json.starts_with('"')) {
        return Ok(Value::from(value).to_string());
    }
    let limits = yaml::Limits::default();
    let read = yaml::first_document_json(value, yaml::Reader::V3, false, &limits);
    let read = read.map_err(|e| ExitFailure::of(&format!("read --value {value:?}"), &e))?;
    Ok(read.to_string())
}

/// What was decided in a draft: as it was accepted, or as the field was edited.
async fn of_draft(client: &Client, name: &str) -> Result<Vec<Resolution>, ExitFailure> {
    let draft = client
        .get(&object(PACKAGES, &client.namespace, name))
        .await?;
    let draft = read(&draft)?;
    let settled = |c: &&Conflict| c.is_settled() && c.derived_from.is_none();
    let settled: Vec<&Conflict> = draft.conflicts.iter().filter(settled).collect();
    if settled.is_empty() {
        return Err(
            ExitFailure::new(format!("nobody has decided a conflict of {name}")).hint(format!(
                "offshoot why pkgrev/{name} lists them; decide there, and then like it elsewhere"
            )),
        );
    }
    let resources = client
        .get(&object(RESOURCES, &client.namespace, name))
        .await?;
    let texts = api::read_resources(&resources)
        .map_err(|problems| ExitFailure::new(model::join_problems(&problems)))?;
    let files: Files = texts
        .files
        .into_iter()
        .map(|(path, text)| (path, model::File::text(text)))
        .collect();
    let mut decisions = Vec::new();
    for conflict in settled {
        match choice_of(conflict, &files) {
            Some(choice) => decisions.push(Resolution::of(conflict, choice)),
            None => super::say(&format!(
                "{name}: {conflict} was edited to something that cannot be written elsewhere; it is left alone"
            )),
        }
    }
    Ok(decisions)
}

/// How a conflict was decided: the side that the draft holds now, else the value.
fn choice_of(conflict: &Conflict, files: &Files) -> Option<Choice> {
    let now = value_at(files, conflict);
    let taken = match conflict.decision {
        model::Decision::Local => ConflictSide::Local,
        model::Decision::Upstream => ConflictSide::Upstream,
    };
    if conflict.state == ConflictState::Acknowledged && now == *taken.of(conflict) {
        return Some(Choice::Side(taken));
    }
    let side = ConflictSide::ALL
        .into_iter()
        .find(|side| now == *side.of(conflict));
    match (side, now) {
        (Some(side), _) => Some(Choice::Side(side)),
        (None, ConflictValue::Json(json)) if package::conflicts::takes_values(conflict) => {
            Some(Choice::Value(json))
        }
        _ => None,
    }
}

/// A line for each open conflict at the place of a decision that is not equal.
fn differing(decisions: &[Resolution], drafts: &[&Revision]) -> Vec<String> {
    let mut lines = Vec::new();
    for draft in drafts {
        for conflict in draft.conflicts.iter().filter(|c| c.blocks()) {
            let beside = decisions.iter().any(|d| d.is_beside(conflict));
            if beside && !decisions.iter().any(|d| d.is_about(conflict)) {
                let told = format!(
                    "differs, and stays untouched: {} {} (base {})",
                    draft.key.name, conflict, conflict.base
                );
                lines.push(line(&told).into_owned());
            }
        }
    }
    if let Some(more) = lines.len().checked_sub(NAMED).filter(|more| *more > 0) {
        lines.truncate(NAMED);
        lines.push(format!("and {more} more differ"));
    }
    lines
}
