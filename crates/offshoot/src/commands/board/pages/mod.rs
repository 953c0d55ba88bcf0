//! The pages. Each is made from the fleet that is held; only one revision, its files and a plan are asked for anew.

mod changes;
mod conflicts;
mod grid;
mod history;
mod layout;
mod plan;
mod revision;
mod rollout;
mod sets;
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
}

/// A page by its path.
pub(super) async fn page(board: &Board, path: &str, query: &Query) -> Response {
    let rights = board.rights.get(&board.client).await;
    let context = Context {
        board,
        rights,
        query,
    };
    let (title, main) = match path {
        "" => ("Waiting", waiting::main(&context)),
        "sets" => ("Sets", sets::main(&context)),
        "targets" => ("Targets", grid::main(&context)),
        "changes" => ("Changes", changes::main(&context)),
        "conflicts" => ("Conflicts", conflicts::main(&context)),
        "plan" => ("Plan", plan::main(&context)),
        "revision" => ("Revision", revision::main(&context).await),
        _ => {
            let main = html! { h1 { "There is no such page" } };
            let page = layout::page(&context, path, "Not found", &main);
            return (StatusCode::NOT_FOUND, page).into_response();
        }
    };
    layout::page(&context, path, title, &main).into_response()
}

/// What is said where there is nothing.
fn nothing(text: &str) -> Markup {
    html! { p.empty { (text) } }
}
