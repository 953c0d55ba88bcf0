//! What another upstream of a set would do: the plan of the server, in its classes. Nothing is written.

use std::time::Duration;

use maud::{Markup, html};
use serde_json::{Value, json};

use super::changes::{fields, inputs, text_diff};
use super::layout::command;
use super::{Context, none};
use crate::client::{PLANS, SETS, collection, object};
use crate::commands::board::Board;
use crate::exit::ExitFailure;
use crate::planning;
use crate::shell::quoted;

/// How long a plan may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How many classes and targets are shown.
const SHOWN: usize = 100;

/// The main part of the page: what to suppose. The script asks, and puts the answer below.
pub(super) fn main(context: &Context<'_>) -> Markup {
    let sets = context.board.fleet(|fleet| {
        let all = fleet.sets.iter();
        all.map(|(name, set)| (name.clone(), set.upstream.clone()))
            .collect::<Vec<_>>()
    });
    let chosen = context.asked("set");
    html! {
        div.title { h1 { "Plan" } p { "What another upstream revision would do to every target, before it happens." } }
        @if !context.rights.plan { (none("Your roles do not allow plans.")) }
        @else {
            form #plan.inline aria-label="What to suppose" {
                label { "Set" select name="set" {
                    option value="" { "what is there now" }
                    // An address restores its plan, also before the fleet is read: the server knows the set.
                    @if !chosen.is_empty() && !sets.iter().any(|(name, _)| name == chosen) { option value=(chosen) selected { (chosen) } }
                    @for (name, (repository, package, revision)) in &sets {
                        option value=(name) selected[name == chosen] { (name) " (" (repository) "/" (package) "@" (if revision.is_empty() { "latest" } else { revision }) ")" }
                    }
                } }
                label { "wants revision" input name="revision" placeholder="v2" value=(context.asked("revision")); }
                button.primary type="submit" { "Plan" }
            }
            div #planned aria-live="polite" {}
        }
    }
}

/// The plan that a page asked for, as a part of that page.
pub(in crate::commands::board) async fn planned(board: &Board, body: &[u8]) -> Markup {
    match tokio::time::timeout(PATIENCE, ask(board, body)).await {
        Ok(Ok((document, does))) => shown(&document, &does),
        Ok(Err(why)) => html! { p.trouble { (why.message()) } },
        Err(_) => html! { p.trouble { "The server made no plan in time." } },
    }
}

async fn ask(board: &Board, body: &[u8]) -> Result<(Value, String), ExitFailure> {
    let asked: Value =
        serde_json::from_slice(body).map_err(|e| ExitFailure::of("read the request", &e))?;
    let [set, revision] =
        ["set", "revision"].map(|k| api::str_at(&asked, &[k]).unwrap_or_default());
    let (client, mut objects) = (&board.client, Vec::new());
    let flags = &board.flags;
    let mut does = format!("offshoot plan{flags}");
    if !set.is_empty() && !revision.is_empty() {
        let mut object = client.get(&object(SETS, &client.namespace, set)).await?;
        let upstream = object.pointer_mut("/spec/upstream").ok_or_else(|| {
            ExitFailure::new(format!("the set {set:?} has several upstreams")).hint(format!(
                "change its spec.upstreams in a file, and ask: offshoot plan -f FILE{flags}"
            ))
        })?;
        upstream["revision"] = revision.into();
        let parts =
            ["apiVersion", "kind", "spec"].map(|k| (k, object.get(k).cloned().unwrap_or_default()));
        let mut manifest = json!({ "metadata": { "name": set, "namespace": client.namespace } });
        for (key, value) in parts {
            manifest[key] = value;
        }
        // What a manifest lacks would be taken off.
        for key in ["labels", "annotations"] {
            if let Some(said) = object.pointer(&format!("/metadata/{key}")) {
                manifest["metadata"][key] = said.clone();
            }
        }
        objects.push(manifest);
        let patch = json!({ "spec": { "upstream": { "revision": revision } } }).to_string();
        does = format!(
            "kubectl patch pvset {set}{flags} --type merge -p {} --dry-run=client -o yaml | offshoot plan -f -{flags}",
            quoted(&patch)
        );
    }
    let body = json!({
        "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "Plan",
        "metadata": { "name": "plan" }, "spec": { "objects": objects },
    });
    let answer = client
        .post(&collection(PLANS, &client.namespace, &[]), &body)
        .await?;
    let document = answer.pointer("/status/document").cloned();
    let document =
        document.ok_or_else(|| ExitFailure::new("the server answered without a plan"))?;
    Ok((document, does))
}

fn list<'v>(value: &'v Value, key: &str) -> Vec<&'v Value> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn shown(document: &Value, does: &str) -> Markup {
    let mut verdicts: std::collections::BTreeMap<&str, usize> = Default::default();
    for target in list(document, "targets") {
        *verdicts.entry(text(target, "verdict")).or_default() += 1;
    }
    let mut classes = list(document, "classes");
    classes.sort_by_key(|c| std::cmp::Reverse(c.get("count").and_then(Value::as_u64)));
    html! {
        (command(does))
        ul.counts aria-label="Verdicts" { @for (word, count) in &verdicts { li { span.verdict { (word) } " " span.number { (count) } } } }
        @for set in list(document, "sets") {
            @let told = planning::steps(document, set);
            @if !told.is_empty() { p { "Set " code { (text(set, "set")) } ", " (told.trim()) } }
        }
        @if classes.is_empty() { (none("No content would change.")) }
        @for class in classes.iter().take(SHOWN) {
            @let id = text(class, "id");
            section.card.class aria-label=(format!("Class {}", id.get(..8).unwrap_or(id))) {
                h2 { code.id { (id.get(..8).unwrap_or(id)) } " " span.number { (class.get("count").and_then(Value::as_u64).unwrap_or_default()) } }
                (fields(class, SHOWN))
                details { summary { "Text of " (text(class, "first")) } (text_diff(&planning::diff(document, id).unwrap_or_default())) }
                (inputs(class))
                details { summary { "Targets" } ul.columns {
                    @for target in list(document, "targets").into_iter().filter(|t| text(t, "class") == id).take(SHOWN) {
                        li { (text(target, "variant")) " " span.soft { (text(target, "verdict")) @if !text(target, "step").is_empty() { ", step " (text(target, "step")) } } }
                    }
                } }
            }
        }
        @for (key, title) in [("leaving", "Leaves"), ("failed", "Would fail"), ("unknown", "Unknown")] {
            @let entries = list(document, key);
            @if !entries.is_empty() {
                section.card { h2 { (title) " " span.number { (entries.len()) } } ul {
                    @for entry in entries.iter().take(SHOWN) { li {
                        (text(entry, "variant")) (text(entry, "set")) (text(entry, "what")) ": " (text(entry, "why")) (text(entry, "message"))
                    } }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_tells_how_many_change_in_each_step_and_the_step_of_each() {
        let class = "ab".repeat(32);
        let target = |name: &str, step: &str| {
            json!({
                "variant": format!("default/{name}"), "set": "default/web", "verdict": "upgrade",
                "class": class, "step": step,
            })
        };
        let document = json!({
            "sets": [{ "set": "default/web", "steps": ["canary", "half", "rest"] }, { "set": "default/api" }],
            "classes": [{ "id": class, "count": 2, "first": "default/web-0", "changes": [] }],
            "targets": [target("web-0", "canary"), target("web-1", "rest")],
        });
        let page = shown(&document, "offshoot plan").into_string();
        for told in [
            "Set <code>default/web</code>, in steps: canary 1 · half 0 · rest 1",
            "default/web-0 <span class=\"soft\">upgrade, step canary</span>",
            "default/web-1 <span class=\"soft\">upgrade, step rest</span>",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
        assert!(!page.contains("default/api"), "{page}");
    }
}
