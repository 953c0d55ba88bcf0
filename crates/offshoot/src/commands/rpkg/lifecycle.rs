//! `rpkg propose`, `approve`, `reject`, `propose-delete` and `del`.
//!
//! The server decides; the texts are Porch's.

use std::fmt::Write as _;

use serde_json::Value;

use super::{names, text};
use crate::cli::remote::Which;
use crate::client::{Client, PACKAGES, object};
use crate::exit::Failure;

/// What to do with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Propose,
    Approve,
    Reject,
    ProposeDelete,
    Delete,
}

/// What became of one.
enum Done {
    /// It is done; said on standard output.
    Said(String),
    /// It was so already; said on standard error, and no failure.
    Already(String),
}

pub(super) async fn each(client: &Client, which: &Which, verb: Verb) -> Result<String, Failure> {
    let names = names(client, which).await?;
    let mut out = String::new();
    let mut failed = Vec::new();
    for name in &names {
        match one(client, name, verb).await {
            Ok(Done::Said(text)) => _ = writeln!(out, "{text}"),
            Ok(Done::Already(text)) => crate::commands::say(&text),
            Err(why) => failed.push(told(name, verb, why)),
        }
    }
    if failed.is_empty() {
        return Ok(out);
    }
    crate::commands::write_out(&out)?;
    if names.len() > 1 {
        for why in &failed {
            crate::commands::say_plain(&why.text());
        }
        let (failed, all) = (failed.len(), names.len());
        return Err(Failure::new(format!(
            "{failed} of {all} package revisions failed"
        )));
    }
    Err(failed.remove(0))
}

/// What is told of a revision that failed, with the way out.
fn told(name: &str, verb: Verb, why: Failure) -> Failure {
    let message = why.message();
    let way = if message.contains("readiness conditions not met") {
        Some(format!("offshoot why pkgrev/{name}"))
    } else if verb == Verb::Delete && message.contains("must be proposed for deletion") {
        Some(format!("offshoot rpkg propose-delete {name}"))
    } else {
        None
    };
    let why = match way {
        Some(way) => why.hint(way),
        None => why,
    };
    why.of_thing(&format!("{name} failed"))
}

async fn one(client: &Client, name: &str, verb: Verb) -> Result<Done, Failure> {
    let path = object(PACKAGES, &client.namespace, name);
    if verb == Verb::Delete {
        client.delete(&path).await?;
        return Ok(Done::Said(format!("{name} deleted")));
    }
    let revision = client.get(&path).await?;
    let now = text(&revision, &["spec", "lifecycle"]).unwrap_or_default();
    let approval = format!("{path}/approval");
    let (to, path, said) = match (verb, now.as_str()) {
        (Verb::Propose, "Proposed") => {
            return Ok(Done::Already(format!("{name} is already proposed")));
        }
        (Verb::Propose, "Draft") => ("Proposed", path, "proposed"),
        (Verb::Propose, _) => {
            return Err(
                Failure::new(format!("cannot propose {now} package")).hint(format!(
                    "make a draft of it: offshoot rpkg copy {name} --workspace …"
                )),
            );
        }
        (Verb::Approve, "Published") => {
            return Ok(Done::Already(format!("{name} is already approved")));
        }
        (Verb::Approve, "Proposed") => ("Published", approval, "approved"),
        (Verb::Approve, _) => {
            let message = format!("cannot change approval from {now} to Published");
            return Err(Failure::new(message).hint(if now == "Draft" {
                format!("propose it first: offshoot rpkg propose {name}")
            } else {
                format!("keep it with offshoot rpkg reject {name}")
            }));
        }
        (Verb::Reject, "Proposed") => ("Draft", approval, "no longer proposed for approval"),
        (Verb::Reject, "DeletionProposed") => {
            ("Published", approval, "no longer proposed for deletion")
        }
        (Verb::Reject, _) => {
            let message = format!("cannot reject {name} with lifecycle '{now}'");
            return Err(
                Failure::new(message).hint("only proposals, and proposals to delete, are rejected")
            );
        }
        (Verb::ProposeDelete, "DeletionProposed") => {
            return Ok(Done::Already(format!(
                "{name} is already proposed for deletion"
            )));
        }
        (Verb::ProposeDelete, "Published") => ("DeletionProposed", path, "proposed for deletion"),
        (Verb::ProposeDelete | Verb::Delete, _) => {
            return Err(Failure::new(format!(
                "can only propose published packages for deletion; package {name} is not published"
            ))
            .hint(format!("delete it at once: offshoot rpkg del {name}")));
        }
    };
    let mut wanted: Value = revision;
    wanted["spec"]["lifecycle"] = to.into();
    client.put(&path, &wanted).await?;
    Ok(Done::Said(format!("{name} {said}")))
}
