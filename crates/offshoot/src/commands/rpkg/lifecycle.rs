//! `rpkg propose`, `approve`, `reject`, `propose-delete` and `del` of one package revision, and the words for many.
//!
//! The server decides; the texts are Porch's.

use api::{BulkOutcome, BulkResult};
use model::Lifecycle;
use plan::revision::{APPROVED_CLASS, EXPECTED_TREE, Fit, RejectionReason, RevisionVerb, meant};
use serde_json::{Value, json};

use super::entry::Entry;
use super::text;
use crate::client::{Client, PACKAGES, object};
use crate::exit::ExitFailure;

/// What is to be printed of a verb on one revision.
///
/// # Errors
/// It was refused, or the verb is not for it, with the way out.
pub(super) async fn alone(
    client: &Client,
    entry: &Entry,
    verb: RevisionVerb,
    dry_run: bool,
) -> Result<String, ExitFailure> {
    let name = &entry.name;
    let outcome = one(client, entry, verb, dry_run).await;
    let outcome = outcome.map_err(|why| told(name, verb, why))?;
    let dry = if dry_run { " (dry run)" } else { "" };
    match outcome.result {
        BulkResult::Done => Ok(format!("{name} {}{dry}\n", said(verb, &outcome))),
        BulkResult::Already => {
            crate::commands::say(&already(verb, name));
            Ok(String::new())
        }
        _ => {
            let why = failure(&outcome);
            let why = match misfit(name, verb, outcome.lifecycle) {
                Some(way) => why.hint(way),
                None => why,
            };
            Err(told(name, verb, why))
        }
    }
}

/// Carries out a verb on one revision by requests of its own.
///
/// # Errors
/// The server's own message.
pub(super) async fn one(
    client: &Client,
    entry: &Entry,
    verb: RevisionVerb,
    dry_run: bool,
) -> Result<BulkOutcome, ExitFailure> {
    let path = object(PACKAGES, &entry.namespace, &entry.name);
    let query = if dry_run { "?dryRun=All" } else { "" };
    if verb == RevisionVerb::Delete && entry.tree.is_none() {
        client.delete(&format!("{path}{query}")).await?;
        return Ok(BulkOutcome::of(BulkResult::Done));
    }
    let revision = client.get(&path).await?;
    is_as_seen(&revision, entry)?;
    let now = text(&revision, &["spec", "lifecycle"]).unwrap_or_default();
    let known = Lifecycle::parse(&now).ok_or_else(|| {
        ExitFailure::new(format!("{now:?} is no lifecycle of a package revision"))
    })?;
    let outcome = |result| BulkOutcome {
        lifecycle: Some(known),
        ..BulkOutcome::of(result)
    };
    match meant(&entry.name, known, verb) {
        Fit::Already => Ok(outcome(BulkResult::Already)),
        Fit::Skipped(reason, message) => Ok(BulkOutcome {
            cause: reason.as_str().to_owned(),
            message,
            ..outcome(BulkResult::Skipped)
        }),
        Fit::Delete { .. } => {
            let version = text(&revision, &["metadata", "resourceVersion"]);
            let options = json!({
                "apiVersion": "v1", "kind": "DeleteOptions",
                "preconditions": { "resourceVersion": version },
            });
            let path = format!("{path}{query}");
            let answer = client
                .ask(http::Method::DELETE, &path, Some(&options))
                .await?;
            match answer {
                (200..300, _) => Ok(BulkOutcome::of(BulkResult::Done)),
                (code, answer) => Err(crate::client::refused(code, &answer)),
            }
        }
        Fit::Move(door, to) => {
            let path = match door {
                model::Door::Main => format!("{path}{query}"),
                model::Door::Approval => format!("{path}/approval{query}"),
            };
            client.put(&path, &wanted(revision, entry, to)).await?;
            Ok(BulkOutcome {
                lifecycle: Some(to),
                ..BulkOutcome::of(BulkResult::Done)
            })
        }
    }
}

/// The revision as it shall be; an approval says what was seen.
fn wanted(mut revision: Value, entry: &Entry, to: Lifecycle) -> Value {
    revision["spec"]["lifecycle"] = to.as_str().into();
    let tree = entry.tree.as_ref().filter(|_| to == Lifecycle::Published);
    if let Some(tree) = tree {
        revision["metadata"]["annotations"][EXPECTED_TREE] = tree.as_str().into();
    }
    let class = entry.class.as_ref().filter(|_| to == Lifecycle::Published);
    if let Some(class) = class {
        revision["metadata"]["annotations"][APPROVED_CLASS] = class.to_string().into();
    }
    revision
}

fn is_as_seen(revision: &Value, entry: &Entry) -> Result<(), ExitFailure> {
    let tree = text(revision, &["status", "offshoot", "tree"]).unwrap_or_default();
    match &entry.tree {
        Some(seen) if *seen != tree => {
            let name = &entry.name;
            let what = format!("'{name}' holds tree {tree}, not {seen}, which was seen");
            Err(ExitFailure::new(what)
                .because(RejectionReason::ChangedSinceSeen)
                .hint(format!("look at it again: offshoot rpkg pull {name}")))
        }
        _ => Ok(()),
    }
}

/// What to do instead where a verb is not for a revision.
fn misfit(name: &str, verb: RevisionVerb, now: Option<Lifecycle>) -> Option<String> {
    Some(match verb {
        RevisionVerb::Propose => {
            format!("make a draft of it: offshoot rpkg copy {name} --workspace …")
        }
        RevisionVerb::Approve if now == Some(Lifecycle::Draft) => {
            format!("propose it first: offshoot rpkg propose {name}")
        }
        RevisionVerb::Approve => format!("keep it with offshoot rpkg reject {name}"),
        RevisionVerb::Reject => "only proposals, and proposals to delete, are rejected".to_owned(),
        RevisionVerb::ProposeDeletion => format!("delete it at once: offshoot rpkg del {name}"),
        RevisionVerb::Delete => return None,
    })
}

/// Why a revision was not changed, with what programs read of it: nothing where the server is an older one.
pub(super) fn failure(outcome: &BulkOutcome) -> ExitFailure {
    ExitFailure::new(outcome.message.clone()).because(RejectionReason::parse(&outcome.cause))
}

/// What is told of a revision that failed, with the way out.
pub(super) fn told(name: &str, verb: RevisionVerb, why: ExitFailure) -> ExitFailure {
    let way = match why.reason() {
        Some(RejectionReason::OpenGates) => Some(format!("offshoot why pkgrev/{name}")),
        Some(RejectionReason::DeletionNotProposed) if verb == RevisionVerb::Delete => {
            Some(format!("offshoot rpkg propose-delete {name}"))
        }
        _ => None,
    };
    let why = match way {
        Some(way) => why.hint(way),
        None => why,
    };
    why.of_thing(&format!("{name} failed"))
}

/// What became of a revision.
pub(super) fn said(verb: RevisionVerb, outcome: &BulkOutcome) -> &'static str {
    match (verb, outcome.lifecycle) {
        (RevisionVerb::Reject, Some(Lifecycle::Published)) => "no longer proposed for deletion",
        (RevisionVerb::Reject, _) => "no longer proposed for approval",
        _ => participle(verb),
    }
}

/// What is asked for, of many, as a question begins.
pub(super) fn asked(verb: RevisionVerb) -> &'static str {
    match verb {
        RevisionVerb::Propose => "Propose",
        RevisionVerb::Approve => "Approve",
        RevisionVerb::Reject => "Reject",
        RevisionVerb::ProposeDeletion => "Propose the deletion of",
        RevisionVerb::Delete => "Delete",
    }
}

/// What was done, of many.
pub(super) fn participle(verb: RevisionVerb) -> &'static str {
    match verb {
        RevisionVerb::Propose => "proposed",
        RevisionVerb::Approve => "approved",
        RevisionVerb::Reject => "rejected",
        RevisionVerb::ProposeDeletion => "proposed for deletion",
        RevisionVerb::Delete => "deleted",
    }
}

/// What is said of a revision that is as it shall be.
pub(super) fn already(verb: RevisionVerb, name: &str) -> String {
    match verb {
        RevisionVerb::Delete => format!("{name} is gone already"),
        _ => format!("{name} is already {}", participle(verb)),
    }
}
