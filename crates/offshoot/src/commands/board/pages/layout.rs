//! What all pages share: head, navigation, buttons, and the words of states.

use axum::response::Html;
use maud::{DOCTYPE, Markup, html};
use model::{Lifecycle, Standing};

use super::Context;
use crate::commands::board::actions;
use crate::commands::board::fleet::{Fleet, conflicts, lifecycle};

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
        Standing::Waiting => "waiting",
        Standing::Suspended => "suspended",
        Standing::Failed => "failed",
    }
}

/// A state, coloured and marked.
pub(super) fn badge(standing: Standing) -> Markup {
    html! { span class=(format!("badge s-{}", key(standing))) { span aria-hidden="true" { (standing.mark()) } " " (standing.words()) } }
}

/// A lifecycle.
pub(super) fn stage(word: &str) -> Markup {
    let class = match word {
        "Draft" => "draft",
        "Proposed" => "proposed",
        "DeletionProposed" => "deletion",
        _ => "uptodate",
    };
    html! { span class=(format!("badge s-{class}")) { (word) } }
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

/// A button for a verb on revisions as they are shown, with the command that does the same.
pub(super) fn act(
    context: &Context<'_>,
    verb: &str,
    allowed: bool,
    members: &[(String, String)],
) -> Markup {
    let word = titled(verb);
    let why = (!allowed).then_some(NOT_ALLOWED);
    let entries = entries(members);
    let does = actions::command(&context.board.flags, verb, members);
    html! {
        button type="button" class=(format!("act {verb}")) disabled[!allowed] title=[why]
            data-act=(verb) data-entries=[allowed.then_some(entries)] data-command=(does) {
            (word) " " span.count { (members.len()) }
        }
    }
}

/// Names and trees, as the script sends them back.
pub(super) fn entries(members: &[(String, String)]) -> String {
    let one = |(name, tree): &(String, String)| serde_json::json!({ "name": name, "tree": tree });
    serde_json::Value::from(members.iter().map(one).collect::<Vec<_>>()).to_string()
}

/// Which of the members a verb is for, and what is left out of buttons for several.
struct Offered {
    drafts: Vec<(String, String)>,
    approved: Vec<(String, String)>,
    rejected: Vec<(String, String)>,
    /// How many drafts have conflicts to decide first: the server refuses to propose them.
    blocked: usize,
    /// How many are of a step that is closed.
    early: usize,
    /// How many deletions are of what a rollout still has.
    kept: usize,
}

fn offered(fleet: &Fleet, members: &[(String, String)], alone: bool) -> Offered {
    let kept = fleet.kept_deletions();
    let mut offered = Offered {
        drafts: Vec::new(),
        approved: Vec::new(),
        rejected: Vec::new(),
        blocked: 0,
        early: 0,
        kept: 0,
    };
    for member in members {
        let Some(revision) = fleet.revision(&member.0) else {
            continue;
        };
        if !alone && fleet.early(revision).is_some() {
            offered.early += 1;
            continue;
        }
        match lifecycle(revision) {
            "Draft" if conflicts(revision) > 0 => offered.blocked += 1,
            "Draft" => offered.drafts.push(member.clone()),
            "Proposed" | "DeletionProposed" => {
                offered.rejected.push(member.clone());
                match !alone && kept.contains(member.0.as_str()) {
                    true => offered.kept += 1,
                    false => offered.approved.push(member.clone()),
                }
            }
            _ => {}
        }
    }
    offered
}

/// Propose, approve and reject, for those of several revisions that each is for. What is of a closed step, and deletions of
/// what a rollout still has, are decided each by itself.
pub(super) fn verbs(context: &Context<'_>, members: &[(String, String)]) -> Markup {
    let offered = context.board.fleet(|fleet| offered(fleet, members, false));
    html! {
        (buttons(context, &offered))
        @if offered.blocked > 0 {
            p.soft { (offered.blocked) " with conflicts that nobody decided: " a href="./conflicts" { "decide them" } " before you propose" }
        }
        @if offered.early > 0 {
            p.soft { (offered.early) " of closed steps or of another version than is wanted: each is decided on its own page" }
        }
        @if offered.kept > 0 {
            p.soft { (offered.kept) " deletions of what a rollout still has: each is approved on its own page" }
        }
    }
}

/// The same for one revision by itself, whatever it is of.
pub(super) fn verbs_of_one(context: &Context<'_>, member: &(String, String)) -> Markup {
    let member = std::slice::from_ref(member);
    let offered = context.board.fleet(|fleet| offered(fleet, member, true));
    html! {
        (buttons(context, &offered))
        @if offered.blocked > 0 {
            p.soft { "It has conflicts that nobody decided: " a href="./conflicts" { "decide them" } " before you propose it" }
        }
    }
}

fn buttons(context: &Context<'_>, offered: &Offered) -> Markup {
    let rights = context.rights;
    let all = [
        ("propose", rights.propose, &offered.drafts),
        ("approve", rights.approve, &offered.approved),
        ("reject", rights.approve, &offered.rejected),
    ];
    html! {
        div.verbs {
            @for (verb, allowed, members) in all {
                @if !members.is_empty() { (act(context, verb, allowed, members)) }
            }
        }
    }
}
