//! What all pages share: head, navigation, buttons, and the words of states.

use axum::response::Html;
use maud::{DOCTYPE, Markup, html};
use model::{Lifecycle, Standing};

use super::Context;

/// The page that takes the token.
pub(in crate::commands::board) fn enter() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "offshoot board" }
                link rel="stylesheet" href="/board.css";
            }
            body.enter { main { h1 { "offshoot board" } p #told role="status" { "Opening …" } } script src="/enter.js" {} }
        }
    }
}

/// A whole page around its main part.
pub(super) fn page(context: &Context<'_>, path: &str, title: &str, main: &Markup) -> Html<String> {
    let board = context.board;
    let (listed, trouble, version) = board.fleet(|f| (f.listed, f.trouble.clone(), f.version));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="board" content=(board.guard.write_token());
                title { (title) " · offshoot board" }
                link rel="stylesheet" href="/board.css";
                script src="/board.js" defer {}
            }
            body data-version=(version) data-page=(path) {
                a.skip href="#main" { "Skip to the page" }
                header.top {
                    a.brand href="./" { span.mark aria-hidden="true" {} "offshoot" }
                    (navigation(context, path))
                    p.who {
                        span { (board.user) } " · " span { (board.client.namespace) }
                        @if context.rights.only_looks() { " · " span { "may only look" } }
                    }
                }
                div #trouble role="status" {
                    @if !trouble.is_empty() { p.trouble { "Not up to date: " (trouble) } }
                    @else if !listed { p.trouble.soft { "Reading the fleet …" } }
                }
                main #main tabindex="-1" { (main) }
                dialog #dialog aria-labelledby="dialog-title" {}
                p #live.hidden aria-live="polite" {}
            }
        }
    };
    Html(page.into_string())
}

fn navigation(context: &Context<'_>, path: &str) -> Markup {
    let count = |wanted: &[Standing]| {
        context.board.fleet(|fleet| {
            let all = fleet.targets.values();
            all.filter(|t| wanted.contains(&t.standing)).count()
        })
    };
    let (targets, open, sets) = context.board.fleet(|fleet| {
        let open = [
            Lifecycle::Draft,
            Lifecycle::Proposed,
            Lifecycle::DeletionProposed,
        ];
        let open: usize = open.into_iter().map(|l| fleet.count(l)).sum();
        (fleet.targets.len(), open, fleet.sets.len())
    });
    let entries = [
        ("", "Waiting", None),
        ("sets", "Sets", Some(sets)),
        ("targets", "Targets", Some(targets)),
        ("changes", "Changes", Some(open)),
        (
            "conflicts",
            "Conflicts",
            Some(count(&[Standing::Conflicts])),
        ),
        ("plan", "Plan", None),
    ];
    html! {
        nav aria-label="Views" {
            @for (to, word, count) in entries {
                a href=(format!("./{to}")) aria-current=[(to == path).then_some("page")] {
                    (word)
                    @if let Some(count) = count { " " span.count { (count) } }
                }
            }
        }
    }
}

/// A word for a state in an address.
pub(super) fn key(standing: Standing) -> &'static str {
    match standing {
        Standing::Unknown => "unknown",
        Standing::UpToDate => "uptodate",
        Standing::Step => "step",
        Standing::Draft => "draft",
        Standing::Proposed => "proposed",
        Standing::DeletionProposed => "deletion",
        Standing::Conflicts => "conflicts",
        Standing::Gates => "gates",
        Standing::Untagged => "untagged",
        Standing::Waiting => "waiting",
        Standing::Suspended => "suspended",
        Standing::Failed => "failed",
    }
}

/// A state, coloured and marked.
pub(super) fn badge(standing: Standing) -> Markup {
    html! { span class=(format!("badge s-{}", key(standing))) { span aria-hidden="true" { (standing.mark()) } " " (standing.words()) } }
}

/// A lifecycle, if it is one that is known here.
pub(super) fn stage(now: Option<Lifecycle>) -> Markup {
    let class = match now {
        Some(Lifecycle::Draft) => "draft",
        Some(Lifecycle::Proposed) => "proposed",
        Some(Lifecycle::DeletionProposed) => "deletion",
        Some(Lifecycle::Published) | None => "uptodate",
    };
    html! { span class=(format!("badge s-{class}")) { (now.map_or("", Lifecycle::as_str)) } }
}

/// A command, and how to take it.
pub(super) fn command(text: &str) -> Markup {
    html! { div.command { code tabindex="0" { (text) } button.small type="button" data-copy=(text) { "Copy" } } }
}

/// Why a button does not work.
pub(super) const NOT_ALLOWED: &str = "Your roles do not allow this";

/// A verb as a button has it.
pub(super) fn titled(verb: &str) -> String {
    let mut word = verb.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
}

/// Names and trees, as the script sends them back.
pub(super) fn entries(members: &[(String, String)]) -> String {
    let one = |(name, tree): &(String, String)| serde_json::json!({ "name": name, "tree": tree });
    serde_json::Value::from(members.iter().map(one).collect::<Vec<_>>()).to_string()
}
