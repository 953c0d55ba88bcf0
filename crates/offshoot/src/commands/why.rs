//! `offshoot why KIND/NAME`: what is seen of something, what is waited for, what a person can do.
//!
//! Variants and sets are explained by the server, from the plan that it would make now; revisions and repositories by
//! what they say about themselves.

mod conflicts;
mod drift;
mod gone;

use std::fmt::Write as _;

use model::{Condition, ConflictState, Lifecycle, Status};
use plan::repository::UnreadyReason;
use serde_json::Value;

use crate::cli::remote::WhyArgs;
use crate::client::{Client, EXPLANATIONS, PACKAGES, REPOSITORIES, lifecycle, object};
use crate::exit::ExitFailure;
use crate::visible::{line, visible};

/// Explains; what is to be printed.
///
/// # Errors
/// It is not there, or the server cannot be reached.
pub(super) async fn run(args: &WhyArgs) -> Result<String, ExitFailure> {
    let unknown = || {
        ExitFailure::usage(format!("{:?} is not KIND/NAME", args.what)).hint(
            "kinds are packagevariant (pvar), packagevariantset (pvset), packagerevision (pkgrev) and repository (repo)",
        )
    };
    let (kind, name) = args.what.split_once('/').ok_or_else(unknown)?;
    let client = Client::connect(&args.connect).await?;
    let shown = |text: String| visible(&text).into_owned();
    let at = |kind| object(kind, &client.namespace, name);
    let explained = |kind: &str| object(EXPLANATIONS, &client.namespace, &format!("{kind}.{name}"));
    match kind.to_lowercase().trim_end_matches('s') {
        "packagevariant" | "pvar" | "pv" => {
            let told = report(&client, &explained("packagevariant")).await;
            match told {
                Ok(told) => Ok(shown(told)),
                Err(why) => gone::variant(&client, name, why).await.map(shown),
            }
        }
        "packagevariantset" | "pvset" => {
            let told = report(&client, &explained("packagevariantset")).await?;
            let drift = drift::of_set(&client, name).await?;
            Ok(shown(
                told + &drift + &conflicts::of_set(&client, name).await?,
            ))
        }
        "packagerevision" | "pkgrev" => Ok(revision(&client.get(&at(PACKAGES)).await?)),
        "repository" | "repositorie" | "repo" => {
            Ok(shown(itself(&client.get(&at(REPOSITORIES)).await?)))
        }
        _ => Err(unknown()),
    }
}

async fn report(client: &Client, path: &str) -> Result<String, ExitFailure> {
    let explanation = client.get(path).await?;
    let text = api::str_at(&explanation, &["status", "report"]);
    Ok(text.unwrap_or_default().to_owned())
}

/// How much of a value is shown, in characters.
const LONGEST_SIDE: usize = 60;

fn items<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Where a revision stands, and what keeps it from being approved, with nothing in it that a terminal obeys: names, values
/// and messages are the package's.
pub(super) fn revision(object: &Value) -> String {
    visible(&stands(object)).into_owned()
}

fn stands(object: &Value) -> String {
    let now = lifecycle(object);
    let mut out = format!("state: {}\n", now.map_or("", Lifecycle::as_str));
    let conditions = api::read_conditions(object.pointer("/status/conditions"));
    for gate in items(object, "/spec/readinessGates") {
        let kind = text(gate, "conditionType");
        let condition = conditions.iter().find(|c| c.kind == kind);
        let (status, message) = condition.map_or((Status::Unknown, "nobody said"), |c| {
            (c.status, c.message.as_str())
        });
        if status != Status::True {
            // Writing to a String cannot fail.
            _ = writeln!(out, "- gate {kind} is {}: {message}", status.as_str());
        }
    }
    for conflict in items(object, "/status/conflicts") {
        let place = ["file", "resource", "path"].map(|key| text(conflict, key));
        _ = writeln!(
            out,
            "- conflict {} ({}) at {}",
            text(conflict, "id"),
            text(conflict, "state"),
            line(place.join(" ").trim())
        );
        let key = text(conflict, "key");
        let state = ConflictState::parse(text(conflict, "state"));
        let waits = state == Some(ConflictState::Open) && conflict.get("derivedFrom").is_none();
        if waits && !key.is_empty() {
            _ = writeln!(
                out,
                "  hint: offshoot resolve {key} --take local|upstream|base"
            );
        }
        let sides =
            ["base", "local", "upstream"].map(|key| format!("{key} {}", side(conflict.get(key))));
        let kept = text(conflict, "decision");
        let taken = match state {
            // What the draft holds by now is somebody's edit, and may be a third value.
            Some(ConflictState::Resolved) => {
                format!("the merge took {kept}, and the draft was edited there since")
            }
            _ => format!("{kept} was taken"),
        };
        _ = writeln!(out, "    {}; {taken}", sides.join(", "));
    }
    out.push_str(&deletion(object, now));
    for owner in items(object, "/metadata/ownerReferences") {
        let (kind, name) = (text(owner, "kind").to_lowercase(), text(owner, "name"));
        _ = writeln!(
            out,
            "- kept by {kind} '{name}'\n  hint: offshoot why {kind}/{name}"
        );
    }
    out.push_str(&left_in_place(object, now));
    out + &said(&conditions, |_| None)
}

/// One side of a conflict, as far as it fits a line.
fn side(value: Option<&Value>) -> String {
    let part = |key| value.and_then(|side| side.get(key)).and_then(Value::as_str);
    match (part("value"), part("hash")) {
        (Some(text), _) if text.chars().count() > LONGEST_SIDE => {
            let start: String = text.chars().take(LONGEST_SIDE).collect();
            format!("{}…", line(&start))
        }
        (Some(text), _) => line(text).into_owned(),
        (None, Some(_)) => "something that is not shown".to_owned(),
        (None, None) => "nothing".to_owned(),
    }
}

/// Who proposed that a revision be deleted (V10), and what ends it.
fn deletion(object: &Value, now: Option<Lifecycle>) -> String {
    if now != Some(Lifecycle::DeletionProposed) {
        return String::new();
    }
    let mark = api::str_at(
        object,
        &["metadata", "annotations", model::marks::PROPOSED_BY],
    );
    let who = mark.map_or_else(
        || "a person".to_owned(),
        |variant| format!("packagevariant '{variant}'"),
    );
    let name = api::str_at(object, &["metadata", "name"]).unwrap_or_default();
    format!(
        "- its deletion was proposed by {who}\n  hint: offshoot rpkg del {name} carries it out, offshoot rpkg reject {name} keeps the package\n"
    )
}

/// Whose it was, where a variant went and left it, and how it goes.
fn left_in_place(object: &Value, now: Option<Lifecycle>) -> String {
    let annotations = ["metadata", "annotations", model::marks::ORPHANED_BY];
    let Some(variant) = api::str_at(object, &annotations) else {
        return String::new();
    };
    let name = api::str_at(object, &["metadata", "name"]).unwrap_or_default();
    let verb = match now {
        Some(Lifecycle::Published) => "propose-delete",
        _ => "del",
    };
    format!(
        "- left in place by packagevariant '{variant}'\n  hint: offshoot rpkg {verb} {name}, or a variant with spec.adoptionPolicy: adoptExisting takes it over\n"
    )
}

/// What an object says about itself.
fn itself(object: &Value) -> String {
    let conditions = api::read_conditions(object.pointer("/status/conditions"));
    if conditions.is_empty() {
        return "state: nothing is said about it yet\n".to_owned();
    }
    let has_secret = object.pointer("/spec/git/secretRef").is_some();
    said(&conditions, |condition| way_out(condition, has_secret))
}

fn said(conditions: &[Condition], way_out: impl Fn(&Condition) -> Option<&'static str>) -> String {
    if conditions.is_empty() {
        return String::new();
    }
    let mut out = String::from("status:\n");
    for c in conditions {
        let Condition {
            kind,
            status,
            reason,
            message,
        } = c;
        let colon = if message.is_empty() { "" } else { ": " };
        // Writing to a String cannot fail.
        _ = writeln!(out, "- {kind}={} {reason}{colon}{message}", status.as_str());
        if let Some(hint) = way_out(c) {
            _ = writeln!(out, "  hint: {hint}");
        }
    }
    out
}

/// What a person can do about a repository that cannot be opened; nothing for a reason that is not known here.
fn way_out(condition: &Condition, has_secret: bool) -> Option<&'static str> {
    Some(match UnreadyReason::parse(&condition.reason)? {
        UnreadyReason::Error => return None,
        UnreadyReason::NoRepository => {
            "put it back; for a new one, spec.git.create: true makes a bare one there (repo reg --create)"
        }
        UnreadyReason::RepositoryGone => {
            "put it back; for a new one, delete this Repository and register it again (repo unreg, repo reg --create)"
        }
        UnreadyReason::OutsideAllowed => {
            "move it, or start offshoot up with --repositories-below DIR"
        }
        UnreadyReason::BranchGone => {
            "push the branch again (status.gitCommitHash is where it was seen last), or register the repository with another one (repo unreg, repo reg --branch)"
        }
        UnreadyReason::NoBranch => {
            "register the repository with another one (repo unreg, repo reg --branch), or let spec.git.createBranch: true make it (repo reg --create-branch)"
        }
        UnreadyReason::CredentialsRefused if has_secret => {
            "mend the user name and password in the Secret that spec.git.secretRef names"
        }
        UnreadyReason::CredentialsRefused => {
            "make a Secret of type kubernetes.io/basic-auth with username and password, and name it in spec.git.secretRef"
        }
        UnreadyReason::SecretNotFound => {
            "make the Secret (type kubernetes.io/basic-auth, with username and password), or name another in spec.git.secretRef"
        }
    })
}

#[cfg(test)]
mod tests;
