//! What the board writes: verbs on many revisions and decisions about conflicts, each with the trees that were shown.
//!
//! The requests are those of `rpkg` and `resolve`; the server decides, and names who asked in git.

use std::collections::BTreeMap;

use api::BulkResult;
use plan::revision::Verb;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Board;
use crate::cli::remote::Connect;
use crate::cli::remote::{ResolveArgs, TakenSide};
use crate::commands::resolve;
use crate::commands::rpkg::bulk::{self, Asked, Told};
use crate::commands::rpkg::entry::Entry;
use crate::exit::Failure;

/// How many revisions one press of a button is about, at most.
const MOST: usize = 20_000;
/// How many names a shown command holds.
const NAMED: usize = 200;

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Request {
    verb: String,
    entries: Vec<Shown>,
    #[serde(default)]
    dry_run: bool,
    /// The key of the conflicts, with the verb `resolve`.
    #[serde(default)]
    key: String,
    /// The side that is taken.
    #[serde(default)]
    take: String,
    /// The value that is written instead.
    #[serde(default)]
    value: Option<String>,
}

/// A revision as it was shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    name: String,
    tree: String,
}

/// Carries out what a page asks for; what came of it.
///
/// # Errors
/// It is no request, or nothing was answered.
pub(super) async fn run(board: &Board, body: &[u8]) -> Result<Value, Failure> {
    let request: Request =
        serde_json::from_slice(body).map_err(|e| Failure::of("read the request", &e))?;
    if request.entries.is_empty() || request.entries.len() > MOST {
        return Err(Failure::new(format!(
            "between 1 and {MOST} revisions can be named"
        )));
    }
    if request.entries.iter().any(|e| e.tree.is_empty()) {
        return Err(Failure::new(
            "each revision is named with the tree that was seen",
        ));
    }
    let entries = request.entries.iter().map(|shown| Entry {
        namespace: board.client.namespace.clone(),
        name: shown.name.clone(),
        tree: Some(shown.tree.clone()),
    });
    let entries: Vec<Entry> = entries.collect();
    let (told, broken, summary) = if request.verb == "resolve" {
        decide(board, &request, entries).await?
    } else {
        let verb = verb(&request.verb)?;
        let asked = Asked::Verb(verb);
        let (told, broken) = bulk::ask_all(&board.client, asked, &entries, request.dry_run).await;
        let summary = bulk::summary(asked, &told);
        (told, broken, summary)
    };
    let results = told.iter().map(|(name, outcome)| {
        let changed = outcome.result == BulkResult::Refused && outcome.reason == "Conflict";
        json!({
            "name": name, "result": outcome.result.as_str(), "message": outcome.message,
            "changed": changed,
        })
    });
    let results: Vec<Value> = results.collect();
    Ok(json!({
        "summary": if request.dry_run { format!("{summary} (dry run)") } else { summary },
        "results": results,
        "broken": broken.map(|why| why.message().to_owned()),
    }))
}

fn verb(word: &str) -> Result<Verb, Failure> {
    match word {
        "propose" => Ok(Verb::Propose),
        "approve" => Ok(Verb::Approve),
        "reject" => Ok(Verb::Reject),
        _ => Err(Failure::new(format!("{word:?} is no verb of the board"))),
    }
}

/// Decides conflicts as `offshoot resolve` does, in the drafts that were shown, if they hold what was shown.
async fn decide(
    board: &Board,
    request: &Request,
    shown: Vec<Entry>,
) -> Result<(Vec<Told>, Option<Failure>, String), Failure> {
    let take = match (request.take.as_str(), &request.value) {
        ("local", None) => Some(TakenSide::Local),
        ("upstream", None) => Some(TakenSide::Upstream),
        ("base", None) => Some(TakenSide::Base),
        ("", Some(_)) => None,
        _ => return Err(Failure::new("either a side or a value decides")),
    };
    let args = ResolveArgs {
        connect: Connect::default(),
        key: Some(request.key.clone()),
        take,
        value: request.value.clone(),
        like: None,
        selector: None,
        field_selector: None,
        dry_run: request.dry_run,
    };
    let (decisions, waiting, _) = resolve::prepare(&board.client, &args).await?;
    let waiting: BTreeMap<&str, ()> = waiting.iter().map(|e| (e.name.as_str(), ())).collect();
    let entries: Vec<Entry> = shown
        .into_iter()
        .filter(|e| waiting.contains_key(e.name.as_str()))
        .collect();
    let wire: Vec<Value> = decisions.iter().map(api::write_resolution).collect();
    let asked = Asked::Resolve(&wire);
    let (told, broken) = bulk::ask_all(&board.client, asked, &entries, request.dry_run).await;
    let summary = bulk::summary(asked, &told);
    Ok((told, broken, summary))
}

/// The command that does the same as a verb on these revisions.
pub(super) fn command(flags: &str, verb: &str, members: &[(String, String)]) -> String {
    match members {
        [(name, tree)] => format!("offshoot rpkg {verb} {name} --expected-tree {tree}{flags}"),
        many => {
            let names = many.iter().take(NAMED).map(|(name, _)| name.as_str());
            let names: Vec<&str> = names.collect();
            let rest = if many.len() > NAMED { " …" } else { "" };
            format!("offshoot rpkg {verb} {}{rest}{flags}", names.join(" "))
        }
    }
}
