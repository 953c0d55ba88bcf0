//! One revision: where it stands, what it changes, its files, who wrote what, and what came before it.

use std::collections::BTreeMap;

use http::StatusCode;
use maud::{Markup, html};
use model::{Files, ObjectName};
use serde_json::Value;

use super::changes::text_diff;
use super::layout::{command, stage};
use super::{Context, history, none, report, verbs};
use crate::client::{EXPLANATIONS, PACKAGES, lifecycle, object};
use crate::commands::board::fleet::{is_deletion, name, tree};
use crate::commands::pkg::findings;
use crate::commands::rpkg::contents::{Contents, NOT_COMPARED, contents, differences, may_hide};
use crate::commands::rpkg::{diff, upgrade};
use crate::commands::{blame, why};
use crate::exit::ExitFailure;
use crate::planning;
use crate::shell::quoted;
use crate::visible::visible;

/// What the page shows of a revision.
const PARTS: [(&str, &str); 5] = [
    ("", "Changes"),
    ("files", "Files"),
    ("why", "Why"),
    ("blame", "Blame"),
    ("history", "History"),
];

/// The main part of the page, and whether there is such a revision.
pub(super) async fn main(context: &Context<'_>) -> (StatusCode, Markup) {
    let wanted = context.asked("name");
    match asked_for(context, wanted).await {
        Ok(Some(revision)) => (StatusCode::OK, page(context, wanted, &revision).await),
        Ok(None) => {
            let told = html! {
                h1 { (wanted) }
                p.trouble { "There is no package revision of this name, or it is gone." }
                p { a href="./changes" { "All changes" } }
            };
            (StatusCode::NOT_FOUND, told)
        }
        Err(why) => {
            let told = html! { h1 { (wanted) } p.trouble { (why.message()) } };
            (StatusCode::OK, told)
        }
    }
}

/// A revision by its name; what is no name is none, whatever a server would make of it in a path.
async fn asked_for(context: &Context<'_>, wanted: &str) -> Result<Option<Value>, ExitFailure> {
    if ObjectName::parse(wanted).is_err() {
        return Ok(None);
    }
    let client = &context.board.client;
    let path = object(PACKAGES, &client.namespace, wanted);
    match client.ask(http::Method::GET, &path, None).await? {
        (404, _) => Ok(None),
        (200..300, revision) => Ok(Some(revision)),
        (code, answer) => Err(crate::client::refused(code, &answer)),
    }
}

async fn page(context: &Context<'_>, wanted: &str, revision: &Value) -> Markup {
    let part = context.asked("part");
    let shown = match part {
        "files" => files(context, wanted).await,
        "why" => Ok(explained(context, revision)),
        "blame" => blamed(context, wanted).await,
        "history" => history::main(context, revision).await,
        _ if is_deletion(revision) => deleted(context, revision).await,
        _ => changes(context, revision).await,
    };
    let member = (wanted.to_owned(), tree(revision).to_owned());
    let early = context.board.fleet(|fleet| fleet.early(revision));
    html! {
        div.title data-tree=(tree(revision)) {
            h1 { (wanted) }
            (stage(lifecycle(revision)))
            (verbs::of_one(context, &member))
        }
        @if let Some(why) = early {
            p.trouble { "Not to be approved now: " (why) }
        }
        (facts(context, revision))
        nav.tabs aria-label="Parts" {
            @for (value, word) in PARTS {
                a href=(format!("./revision?name={wanted}&part={value}")) aria-current=[(value == part).then_some("true")] { (word) }
            }
        }
        @match shown {
            Ok(shown) => (shown),
            Err(why) => p.trouble { (why.message()) },
        }
    }
}

fn facts(context: &Context<'_>, revision: &Value) -> Markup {
    let spec = |key: &str| api::str_at(revision, &["spec", key]).unwrap_or_default();
    let own = name(revision);
    let (variant, upstream) = context.board.fleet(|fleet| {
        let variant = fleet
            .target_of(own)
            .map(|(name, t)| (name.clone(), t.message.clone()));
        let upstream = fleet.revision(own).and_then(|r| fleet.upstream_of(r));
        (variant, upstream.map(|u| name(u).to_owned()))
    });
    html! {
        dl.facts {
            div { dt { "Package" } dd { (spec("packageName")) } }
            div { dt { "Repository" } dd { (spec("repository")) } }
            div { dt { "Workspace" } dd { (spec("workspaceName")) } }
            @if upgrade::number(revision) > 0 { div { dt { "Revision" } dd { (upgrade::number(revision)) } } }
            @if let Some(upstream) = upstream { div { dt { "Upstream" } dd { a href=(format!("./revision?name={upstream}")) { (upstream) } } } }
            @if let Some((variant, _)) = &variant { div { dt { "Variant" } dd { (variant) } } }
            div { dt { "Tree" } dd { code.soft { (tree(revision)) } } }
        }
    }
}

async fn changes(context: &Context<'_>, revision: &Value) -> Result<Markup, ExitFailure> {
    let own = name(revision);
    let against = context.asked("against");
    let base = context.board.fleet(|fleet| match against {
        "upstream" => fleet
            .revision(own)
            .and_then(|r| fleet.upstream_of(r))
            .map(|u| name(u).to_owned()),
        _ => diff::published(fleet.package_of(own), revision),
    });
    let client = &context.board.client;
    let after = contents(client, own).await?;
    let before = match &base {
        Some(base) => contents(client, base).await?,
        None => Contents::none(),
    };
    let base_tree = context.board.fleet(|fleet| {
        let base = base.as_ref().and_then(|base| fleet.revision(base));
        base.map(|base| tree(base).to_owned())
    });
    let unseen = may_hide(
        [&before, &after],
        [base_tree.as_deref(), Some(tree(revision))],
    );
    let (before, after) = (before.files, after.files);
    let against = if against == "upstream" {
        "upstream"
    } else {
        "published"
    };
    let does = format!(
        "offshoot rpkg diff {own} --against {against}{}",
        context.board.flags
    );
    Ok(html! {
        p.tabs {
            @for (value, word) in [("published", "Against what is published"), ("upstream", "Against its upstream")] {
                a href=(format!("./revision?name={own}&against={value}")) aria-current=[(value == against).then_some("true")] { (word) }
            }
            span.soft { @match &base { Some(base) => (base), None => "there is none: everything is new" } }
        }
        (command(&does))
        (difference(&before, &after, unseen))
    })
}

/// What goes where a deletion is approved: all that the revision holds, and not what it changed once.
async fn deleted(context: &Context<'_>, revision: &Value) -> Result<Markup, ExitFailure> {
    let own = name(revision);
    let before = contents(&context.board.client, own).await?;
    let after = Contents::none();
    let unseen = may_hide([&before, &after], [Some(tree(revision)), None]);
    let does = format!("offshoot rpkg pull {own} {own}{}", context.board.flags);
    Ok(html! {
        p { "Its deletion is proposed. Approving that deletes the revision: what stands below goes." }
        (command(&does))
        (difference(&before.files, &after.files, unseen))
    })
}

/// Fields and text that differ, and whether there may be more.
fn difference(before: &Files, after: &Files, unseen: bool) -> Markup {
    let mut found = differences(before, after);
    found.retain(|d| !diff::is_bookkeeping(d));
    html! {
        @if unseen { p.trouble { "There may be more: " (NOT_COMPARED) "." } }
        section.card aria-label="Fields" { h2 { "Fields" }
            @if found.is_empty() && unseen { (none("No field that is shown differs.")) }
            @else if found.is_empty() { (none("No field differs.")) }
            @else { pre.fields tabindex="0" aria-label="Fields that differ" { @for line in findings::differences(&found).lines() {
                @let class = match line.trim_start().as_bytes() { [b'+', ..] => "plus", [b'-', ..] => "minus", [b'~', ..] => "tilde", _ => "place" };
                span class=(class) { (line) "\n" }
            } } }
        }
        section.card aria-label="Text" { h2 { "Text" } (text_diff(&unified(before, after))) }
    }
}

/// All files as one diff; a file that may hold a Secret is not shown.
fn unified(before: &Files, after: &Files) -> String {
    let paths: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut out = String::new();
    for path in paths {
        let side = |files: &Files| files.get(path).map(planning::shown_text);
        let (old, new) = (side(before), side(after));
        if old == new {
            continue;
        }
        out.push_str(&planning::unified(path, old, new));
    }
    out
}

async fn files(context: &Context<'_>, own: &str) -> Result<Markup, ExitFailure> {
    let Contents {
        files, complete, ..
    } = contents(&context.board.client, own).await?;
    let does = format!("offshoot rpkg pull {own} {own}{}", context.board.flags);
    Ok(html! {
        (command(&does))
        @if !complete { p.trouble { "Links, and files that are binary or too large, are not shown." } }
        @for (path, file) in &files {
            details.card open[files.len() <= 6] id=(format!("file-{path}")) {
                summary { (path) }
                pre.file tabindex="0" aria-label=(path) { (visible(&planning::shown_text(file))) }
            }
        }
    })
}

fn explained(context: &Context<'_>, revision: &Value) -> Markup {
    let does = format!(
        "offshoot why pkgrev/{}{}",
        name(revision),
        context.board.flags
    );
    let list = |pointer: &str| {
        revision
            .pointer(pointer)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let text =
        |object: &Value, key: &str| api::str_at(object, &[key]).unwrap_or_default().to_owned();
    let conditions = list("/status/conditions");
    let rendered = revision.pointer("/status/renderStatus");
    html! {
        (command(&does))
        section.card aria-label="Why" { h2 { "Why" } pre.told tabindex="0" aria-label="Why" { (why::revision(revision)) } }
        @if !conditions.is_empty() {
            section.card aria-label="Conditions" { h2 { "Conditions" } table {
                thead { tr { th scope="col" { "Type" } th scope="col" { "Status" } th scope="col" { "Reason" } th scope="col" { "Message" } } }
                tbody { @for c in &conditions { tr { td { (text(c, "type")) } td { (text(c, "status")) } td { (text(c, "reason")) } td.message { (text(c, "message")) } } } }
            } }
        }
        section.card aria-label="Render report" { h2 { "Render report" }
            @match rendered {
                Some(rendered) => (report::main(rendered)),
                None => (none("Nothing was reported of its last render.")),
            }
        }
    }
}

async fn blamed(context: &Context<'_>, own: &str) -> Result<Markup, ExitFailure> {
    let client = &context.board.client;
    let answer = client
        .get(&object(
            EXPLANATIONS,
            &client.namespace,
            &format!("blame.{own}"),
        ))
        .await?;
    let files = contents(client, own).await?.files;
    let fields = answer.pointer("/status/fields").and_then(Value::as_array);
    let mut by: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for field in fields.into_iter().flatten() {
        by.entry(api::str_at(field, &["file"]).unwrap_or_default())
            .or_default()
            .push(field);
    }
    Ok(html! {
        @if by.is_empty() { (none("Nothing is known of who wrote what.")) }
        @for (file, fields) in &by {
            @let text = files.iter().find(|(p, _)| p.as_str() == *file).and_then(|(_, f)| f.as_text()).unwrap_or_default();
            details.card open[by.len() <= 6] id=(format!("blame-{file}")) { summary { (file) }
                (command(&format!("offshoot blame {own} {}{}", quoted(file), context.board.flags)))
                pre.told tabindex="0" aria-label=(file) { (blame::lines(fields, text)) }
            }
        }
    })
}
