//! The pages. Each is made from the fleet that is held; only one revision, its files and a plan are asked for anew.

mod changes;
mod conflicts;
mod grid;
mod history;
mod layout;
mod plan;
mod report;
mod revision;
mod rollout;
mod sets;
mod verbs;
mod waiting;

use std::collections::BTreeMap;

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use maud::{Markup, html};

pub(super) use grid::cells;
pub(super) use layout::enter;
pub(super) use plan::planned;

use super::Board;
use super::rights::Rights;

/// The parts of an address after `?`, decoded.
pub(super) type Query = BTreeMap<String, String>;

/// What every page is made from.
struct Context<'b> {
    board: &'b Board,
    rights: Rights,
    query: &'b Query,
}

impl Context<'_> {
    /// A part of the address, empty if it is not there.
    fn asked(&self, key: &str) -> &str {
        self.query.get(key).map_or("", String::as_str)
    }

    /// Whether the fleet was read at least once.
    fn is_read(&self) -> bool {
        self.board.fleet(|fleet| fleet.listed)
    }
}

/// A page by its path.
pub(super) async fn page(board: &Board, path: &str, query: &Query) -> Response {
    let rights = board.rights.get(&board.client).await;
    let context = Context {
        board,
        rights,
        query,
    };
    if path == "revision" {
        let (code, main) = revision::main(&context).await;
        let page = layout::page(&context, path, "Revision", &main);
        return (code, page).into_response();
    }
    let (title, main) = match path {
        "" => ("Waiting", waiting::main(&context)),
        "sets" => ("Sets", sets::main(&context)),
        "targets" => ("Targets", grid::main(&context)),
        "changes" => ("Changes", changes::main(&context)),
        "conflicts" => ("Conflicts", conflicts::main(&context)),
        "plan" => ("Plan", plan::main(&context)),
        _ => {
            let main = html! { h1 { "There is no such page" } };
            let page = layout::page(&context, path, "Not found", &main);
            return (StatusCode::NOT_FOUND, page).into_response();
        }
    };
    layout::page(&context, path, title, &main).into_response()
}

/// What is said where there is nothing; that is not known while the fleet is being read.
fn nothing(context: &Context<'_>, text: &str) -> Markup {
    match context.is_read() {
        true => none(text),
        false => html! { p.empty aria-busy="true" { "The fleet is still being read." } },
    }
}

/// What is said where something that was asked for just now holds nothing.
fn none(text: &str) -> Markup {
    html! { p.empty { (text) } }
}
