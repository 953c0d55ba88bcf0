//! Buttons for revisions: of several, those that each verb is for; of one by itself, whatever it is of.

use maud::{Markup, html};
use model::Lifecycle;

use super::Context;
use super::layout::{NOT_ALLOWED, entries};
use crate::client::lifecycle;
use crate::commands::board::actions::{self, DELETE};
use crate::commands::board::fleet::{Fleet, conflicts};
use crate::visible::counted;

/// A revision and its tree, as it is shown.
type Shown = (String, String);

/// What a button is for. A proposed deletion is decided by buttons of its own: approving one is no approval of a change.
#[derive(Debug, Clone, Copy)]
enum Button {
    Propose,
    Approve,
    Reject,
    Delete,
    Keep,
}

impl Button {
    const ALL: [Self; 5] = [
        Self::Propose,
        Self::Approve,
        Self::Reject,
        Self::Delete,
        Self::Keep,
    ];

    /// The verb that is asked for, as commands have it.
    fn verb(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Approve => "approve",
            Self::Reject | Self::Keep => "reject",
            Self::Delete => DELETE,
        }
    }

    /// What stands on it, ahead of the number.
    fn words(self) -> &'static str {
        match self {
            Self::Propose => "Propose",
            Self::Approve => "Approve",
            Self::Reject => "Reject",
            Self::Delete => "Delete",
            Self::Keep => "Reject deletion of",
        }
    }

    fn is_allowed(self, context: &Context<'_>) -> bool {
        let rights = context.rights;
        match self {
            Self::Propose => rights.propose,
            Self::Approve | Self::Reject | Self::Keep => rights.approve,
            Self::Delete => rights.delete,
        }
    }

    /// The revisions that it takes.
    fn takes(self, offered: &Offered) -> &[Shown] {
        match self {
            Self::Propose => &offered.drafts,
            Self::Approve | Self::Reject => &offered.proposals,
            Self::Delete => &offered.deleted,
            Self::Keep => &offered.deletions,
        }
    }
}

/// Which of the members a verb is for, and what is left out of buttons for several.
#[derive(Default)]
struct Offered {
    drafts: Vec<Shown>,
    proposals: Vec<Shown>,
    /// All whose deletion is proposed, and those of them that may be deleted together.
    deletions: Vec<Shown>,
    deleted: Vec<Shown>,
    /// How many drafts have conflicts to decide first: the server refuses to propose them.
    blocked: usize,
    /// How many are of a step that is closed.
    early: usize,
    /// How many deletions are of what a rollout still has.
    kept: usize,
}

fn offered(fleet: &Fleet, members: &[Shown], alone: bool) -> Offered {
    let kept = fleet.kept_deletions();
    let mut offered = Offered::default();
    for member in members {
        let Some(revision) = fleet.revision(&member.0) else {
            continue;
        };
        if !alone && fleet.early(revision).is_some() {
            offered.early += 1;
            continue;
        }
        match lifecycle(revision) {
            Some(Lifecycle::Draft) if conflicts(revision) > 0 => offered.blocked += 1,
            Some(Lifecycle::Draft) => offered.drafts.push(member.clone()),
            Some(Lifecycle::Proposed) => offered.proposals.push(member.clone()),
            Some(Lifecycle::DeletionProposed) => {
                offered.deletions.push(member.clone());
                match !alone && kept.contains(member.0.as_str()) {
                    true => offered.kept += 1,
                    false => offered.deleted.push(member.clone()),
                }
            }
            _ => {}
        }
    }
    offered
}

/// Buttons for those of several revisions that each is for. What is of a closed step, and deletions of what a rollout still
/// has, are decided each by itself.
pub(super) fn of_several(context: &Context<'_>, members: &[Shown]) -> Markup {
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
            p.soft { (counted(offered.kept, "deletion", "deletions")) " of what a rollout still has: each is approved on its own page" }
        }
    }
}

/// The same for one revision by itself, whatever it is of.
pub(super) fn of_one(context: &Context<'_>, member: &Shown) -> Markup {
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
    html! {
        div.verbs {
            @for button in Button::ALL {
                @if !button.takes(offered).is_empty() { (one(context, button, button.takes(offered))) }
            }
        }
    }
}

/// A button for revisions as they are shown, with the command that does the same.
fn one(context: &Context<'_>, button: Button, members: &[Shown]) -> Markup {
    let allowed = button.is_allowed(context);
    let (verb, words) = (button.verb(), button.words());
    let does = actions::command(&context.board.flags, verb, members);
    html! {
        button type="button" class=(format!("act {verb}")) disabled[!allowed] title=[(!allowed).then_some(NOT_ALLOWED)]
            data-act=(verb) data-entries=[allowed.then(|| entries(members))] data-command=(does) data-words=(words) {
            (words) " " span.count { (members.len()) }
        }
    }
}
