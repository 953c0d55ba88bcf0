//! What came before a revision: the revisions of its package, who made each of them and when, and the commits that its fields
//! are of.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde_json::Value;

use super::layout::{command, stage};
use super::{Context, none};
use crate::client::{EXPLANATIONS, PACKAGES, collection, lifecycle, object};
use crate::commands::board::fleet::name;
use crate::commands::rpkg::{items, upgrade};
use crate::exit::ExitFailure;
use crate::shell::quoted;

/// How many digits of a commit are shown.
const DIGITS: usize = 10;

/// A commit, the layer that it is of, and what is said of it.
type Commit<'a> = (&'a str, &'a str, &'a str);

/// The part of a revision's page.
///
/// # Errors
/// The server refuses.
pub(super) async fn main(context: &Context<'_>, revision: &Value) -> Result<Markup, ExitFailure> {
    let client = &context.board.client;
    let spec = |key: &str| text(revision, &["spec", key]);
    let selector = format!(
        "spec.repository={},spec.packageName={}",
        spec("repository"),
        spec("packageName")
    );
    let query = [("fieldSelector", selector.as_str())];
    let list = collection(PACKAGES, &client.namespace, &query);
    let blame = format!("blame.{}", name(revision));
    let blame = object(EXPLANATIONS, &client.namespace, &blame);
    let (list, blame) = tokio::join!(client.get(&list), client.get(&blame));
    let list = list?;
    let mut all = items(&list).to_vec();
    // What has no number yet is the newest, and the branch the oldest.
    all.sort_by_key(|r| {
        let number = upgrade::number(r);
        std::cmp::Reverse(if number == 0 { i64::MAX } else { number })
    });
    let listed = format!(
        "kubectl get packagerevisions{} --field-selector {selector} -o yaml",
        context.board.flags
    );
    Ok(html! {
        section.card aria-label="History" { h2 { "Revisions of this package" }
            (command(&listed))
            (revisions(&all, name(revision)))
        }
        section.card aria-label="Commits" { h2 { "Commits that its fields are of" }
            @if let Some(log) = log(revision) { (command(&log)) }
            @match &blame {
                Ok(blame) => (commits(blame)),
                Err(why) => p.trouble { (why.message()) },
            }
        }
    })
}

fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    api::str_at(object, path).unwrap_or_default()
}

fn revisions(all: &[Value], own: &str) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Revisions of this package" { table {
            thead { tr { @for head in ["Revision", "Number", "Stage", "How", "Made", "Published", "By", "Upstream commit", "Commit"] { th scope="col" { (head) } } } }
            tbody { @for r in all { tr aria-current=[(name(r) == own).then_some("true")] {
                @let number = upgrade::number(r);
                td { a href=(format!("./revision?name={}", name(r))) { (name(r)) } }
                td { @if number > 0 { "v" (number) } @else if number < 0 { "branch" } @else { "–" } }
                td { (stage(lifecycle(r))) }
                td { (tasks(r)) }
                td.soft { (time(text(r, &["metadata", "creationTimestamp"]))) }
                td.soft { (time(text(r, &["status", "publishTimestamp"]))) }
                td { (text(r, &["status", "publishedBy"])) }
                td { code.soft { (short(&upgrade::lock(r, "upstreamLock").2)) } }
                td { code.soft { (short(text(r, &["status", "offshoot", "commit"]))) } }
            } } }
        } }
    }
}

/// How it came to be, and by which variant.
fn tasks(revision: &Value) -> String {
    let tasks = revision.pointer("/spec/tasks").and_then(Value::as_array);
    let mut words: Vec<String> = tasks
        .into_iter()
        .flatten()
        .map(|task| text(task, &["type"]).to_owned())
        .collect();
    words.dedup();
    let meta = api::read_meta(revision);
    match meta.controller() {
        Some(owner) => format!("{} by {}", words.join(", "), owner.name),
        None => words.join(", "),
    }
}

/// A time of the API to the minute.
fn time(text: &str) -> String {
    match text.split_once('T') {
        Some((day, time)) => format!("{day} {} UTC", time.get(..5).unwrap_or(time)),
        None => text.to_owned(),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..DIGITS).unwrap_or(commit)
}

/// The commits that blame names, those of people first, each with how many fields are of it.
fn commits(blame: &Value) -> Markup {
    let fields = blame.pointer("/status/fields").and_then(Value::as_array);
    let mut counts: BTreeMap<Commit<'_>, usize> = BTreeMap::new();
    for field in fields.into_iter().flatten() {
        let of = (
            text(field, &["layer"]),
            text(field, &["commit"]),
            text(field, &["what"]),
        );
        if !of.1.is_empty() {
            *counts.entry(of).or_default() += 1;
        }
    }
    html! {
        @if counts.is_empty() { (none("No field is known to be of a commit of somebody.")) }
        @else { table {
            thead { tr { @for head in ["Commit", "Layer", "Who or what", "Fields"] { th scope="col" { (head) } } } }
            tbody { @for ((layer, commit, what), count) in &counts { tr {
                td { code.soft title=(commit) { (short(commit)) } }
                td { (layer) } td.message { (what) } td { (count) }
            } } }
        } }
    }
}

/// The commands that show the whole history in git.
fn log(revision: &Value) -> Option<String> {
    let git = |key: &str| text(revision, &["status", "selfLock", "git", key]);
    let commit = text(revision, &["status", "offshoot", "commit"]);
    if git("repo").is_empty() || commit.is_empty() {
        return None;
    }
    let directory = match git("directory").trim_matches('/') {
        "" => ".",
        directory => directory,
    };
    let clone = format!("git clone --no-checkout {} history", quoted(git("repo")));
    let log = format!("git -C history log {commit} -- {}", quoted(directory));
    Some(format!("{clone} && {log}"))
}
