//! What the board writes: verbs on many revisions and decisions about conflicts, each with the trees that were shown.
//!
//! The requests are those of `rpkg` and `resolve`; the server decides, and names who asked in git.

use std::collections::BTreeSet;

use api::{BulkOutcome, BulkResult};
use objects::Reason;
use plan::revision::RevisionVerb;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Board;
use super::decide::{self, Answered, Decision};
use super::fleet::{Revision, is_deletion};
use crate::commands::rpkg::bulk::{self, Asked, Told};
use crate::commands::rpkg::entry::Entry;
use crate::exit::ExitFailure;

/// How many revisions one press of a button is about, at most.
const MOST: usize = 20_000;
/// How many names one line of a shown command holds.
const NAMED: usize = 200;

/// The verb that carries out a deletion that was proposed, as `rpkg` has it.
pub(super) const DELETE: &str = "del";

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Request {
    verb: String,
    entries: Vec<Shown>,
    #[serde(default)]
    dry_run: bool,
    /// Whether it is asked on the revision's own page, where also what is of a closed step is decided.
    #[serde(default)]
    alone: bool,
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
pub(super) async fn run(board: &Board, body: &[u8]) -> Result<Value, ExitFailure> {
    let request: Request =
        serde_json::from_slice(body).map_err(|e| ExitFailure::of("read the request", &e))?;
    if request.entries.is_empty() || request.entries.len() > MOST {
        return Err(ExitFailure::new(format!(
            "between 1 and {MOST} revisions can be named"
        )));
    }
    if request.entries.iter().any(|e| e.tree.is_empty()) {
        return Err(ExitFailure::new(
            "each revision is named with the tree that was seen",
        ));
    }
    let entries = request.entries.iter().map(|shown| Entry {
        namespace: board.client.namespace.clone(),
        name: shown.name.clone(),
        tree: Some(shown.tree.clone()),
        ..Entry::default()
    });
    let entries: Vec<Entry> = entries.collect();
    let answered = if request.verb == "resolve" {
        let decision = Decision {
            key: &request.key,
            take: &request.take,
            value: request.value.as_deref(),
            dry_run: request.dry_run,
        };
        decide::run(board, &decision, &entries).await?
    } else {
        carried_out(
            board,
            (verb(&request.verb)?, request.alone),
            &entries,
            request.dry_run,
        )
        .await
    };
    Ok(written(answered, &entries, request.dry_run))
}

/// Asks for a verb on what was shown. Of a deletion that is what the fleet holds as proposed for it, whatever a page names: a
/// draft does not go by a button that approves deletions. And of several, what a rollout keeps by now stays, also where the
/// step was closed since it was shown (F7).
async fn carried_out(
    board: &Board,
    (verb, alone): (RevisionVerb, bool),
    shown: &[Entry],
    dry_run: bool,
) -> Answered {
    let asked = Asked::Verb(verb);
    let left = |entry: &Entry| match verb {
        RevisionVerb::Delete => board.fleet(|fleet| undeletable(fleet.revision(&entry.name))),
        RevisionVerb::Propose | RevisionVerb::Approve if !alone => board.fleet(|fleet| {
            let why = fleet.early(fleet.revision(&entry.name)?)?;
            Some(BulkOutcome {
                message: why,
                ..BulkOutcome::of(BulkResult::Skipped)
            })
        }),
        _ => None,
    };
    let (mut wanted, mut told) = (Vec::new(), Vec::<Told>::new());
    for entry in shown {
        match left(entry) {
            Some(outcome) => told.push((entry.name.clone(), outcome)),
            None => wanted.push(entry.clone()),
        }
    }
    let (answered, broken) = bulk::ask_all(&board.client, asked, &wanted, dry_run).await;
    told.extend(answered);
    Answered {
        summary: bulk::summary(asked, &told),
        told,
        broken,
        becomes: None,
    }
}

/// What is told of a revision that no approval deletes.
fn undeletable(revision: Option<&Revision>) -> Option<BulkOutcome> {
    match revision {
        Some(revision) if is_deletion(revision) => None,
        Some(_) => Some(BulkOutcome {
            message: "its deletion is not proposed, or no longer".to_owned(),
            ..BulkOutcome::of(BulkResult::Skipped)
        }),
        None => Some(BulkOutcome::of(BulkResult::Already)),
    }
}

/// The answer for the page: each revision that was shown with what came of it, and how many of what.
fn written(answered: Answered, shown: &[Entry], dry_run: bool) -> Value {
    let told = &answered.told;
    let is_changed = |(_, outcome): &&Told| {
        outcome.result == BulkResult::Refused && outcome.reason == Reason::Conflict.word()
    };
    let results = told.iter().map(|one| {
        let (name, outcome) = one;
        json!({
            "name": name, "result": outcome.result.as_str(), "message": outcome.message,
            "changed": is_changed(&one),
        })
    });
    let known: BTreeSet<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    let unknown = shown.iter().filter(|e| !known.contains(e.name.as_str()));
    let unknown = unknown.map(|e| {
        let message = "nobody answered for it";
        json!({ "name": e.name, "result": "Unknown", "message": message, "changed": false })
    });
    let results: Vec<Value> = results.chain(unknown).collect();
    let mut summary = answered.summary;
    for (count, what) in [
        (
            told.iter().filter(is_changed).count(),
            "changed since shown",
        ),
        (results.len() - told.len(), "without an answer"),
    ] {
        if count > 0 {
            summary = format!("{summary}; {count} {what}");
        }
    }
    if dry_run {
        summary.push_str(" (dry run)");
    }
    json!({
        "summary": summary,
        "results": results,
        "broken": answered.broken.map(|why| why.message().to_owned()),
        "becomes": answered.becomes,
    })
}

fn verb(word: &str) -> Result<RevisionVerb, ExitFailure> {
    match word {
        "propose" => Ok(RevisionVerb::Propose),
        "approve" => Ok(RevisionVerb::Approve),
        "reject" => Ok(RevisionVerb::Reject),
        DELETE => Ok(RevisionVerb::Delete),
        _ => Err(ExitFailure::new(format!(
            "{word:?} is no verb of the board"
        ))),
    }
}

/// The command that does the same as a verb on these revisions: of very many it is several, a line each.
pub(super) fn command(flags: &str, verb: &str, members: &[(String, String)]) -> String {
    if let [(name, tree)] = members {
        return format!("offshoot rpkg {verb} {name} --expected-tree {tree}{flags}");
    }
    listed(flags, verb, members)
}

/// A command of `rpkg` on all of these, whatever they hold.
pub(super) fn listed(flags: &str, verb: &str, members: &[(String, String)]) -> String {
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    let lines = names.chunks(NAMED);
    let lines = lines.map(|names| format!("offshoot rpkg {verb} {}{flags}", names.join(" ")));
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(count: usize) -> Vec<(String, String)> {
        let one = |n| (format!("edge.web-{n}.v1"), format!("tree-{n}"));
        (0..count).map(one).collect()
    }

    #[test]
    fn what_does_the_same_names_every_revision() {
        assert_eq!(
            command(" -n shop", "reject", &members(1)),
            "offshoot rpkg reject edge.web-0.v1 --expected-tree tree-0 -n shop"
        );
        assert_eq!(
            command(" -n shop", "propose", &members(2)),
            "offshoot rpkg propose edge.web-0.v1 edge.web-1.v1 -n shop"
        );
        let all = members(2 * NAMED + 1);
        let several = command(" -n shop", "approve", &all);
        let lines: Vec<Vec<&str>> = several.lines().map(|l| l.split(' ').collect()).collect();
        assert_eq!(lines.len(), 3);
        let mut names = Vec::new();
        for words in lines {
            assert_eq!(words[..3], ["offshoot", "rpkg", "approve"]);
            let (flags, named) = (&words[words.len() - 2..], &words[3..words.len() - 2]);
            assert_eq!(flags, ["-n", "shop"]);
            names.extend(named.iter().map(|name| (*name).to_owned()));
        }
        let wanted: Vec<String> = all.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, wanted);
    }
}
