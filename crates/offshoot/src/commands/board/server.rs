//! The board over HTTP: who may pass, which page an address names, and what is sent along with every answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use serde_json::Value;

use super::pages::Query;
use super::{Board, actions, pages, steer};

/// The largest body that is read: the trees of twenty thousand revisions fit.
const BODY: usize = 4 << 20;
/// Everything comes from here, and nothing may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const STYLE: &str = include_str!("board.css");
const SCRIPT: &str = include_str!("board.js");
const ENTER: &str = include_str!("enter.js");

/// All addresses of a board.
pub(super) fn router(board: Arc<Board>) -> Router {
    Router::new().fallback(answer).with_state(board)
}

async fn answer(State(board): State<Arc<Board>>, request: Request) -> Response {
    let mut response = pass(&board, request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refused(why: &'static str) -> Response {
    let text = format!("{why}\n");
    (StatusCode::FORBIDDEN, text).into_response()
}

fn typed(kind: &'static str, text: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], text.into()).into_response()
}

/// Lets a request in, or says why not.
async fn pass(board: &Arc<Board>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let (guard, headers) = (&board.guard, &parts.headers);
    if !guard.is_ours(&parts.method, headers) {
        return refused("this board answers its own pages, under the address that it printed");
    }
    let get = parts.method == Method::GET;
    match (get, parts.uri.path()) {
        (true, "/") => return typed("text/html; charset=utf-8", pages::enter().into_string()),
        (true, "/enter.js") => return typed("text/javascript; charset=utf-8", ENTER),
        (true, "/board.js") => return typed("text/javascript; charset=utf-8", SCRIPT),
        (true, "/board.css") => return typed("text/css; charset=utf-8", STYLE),
        (true, "/favicon.ico") => return StatusCode::NO_CONTENT.into_response(),
        (false, "/session") => return enter(board, body).await,
        _ => {}
    }
    let below = parts
        .uri
        .path()
        .strip_prefix('/')
        .and_then(|p| p.split_once('/'));
    let inside = below.filter(|(path, _)| *path == guard.path());
    let Some((_, page)) = inside.filter(|_| guard.is_inside(headers)) else {
        return refused("this page is not open here: start offshoot board again for a new address");
    };
    if get {
        let query = query(parts.uri.query().unwrap_or_default());
        return show(board, page, &query).await;
    }
    if parts.method != Method::POST || !guard.may_write(headers) {
        return refused("a change is asked for by a page of this board alone");
    }
    match (page, read(body).await) {
        (_, None) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        ("act", Some(bytes)) => json(actions::run(board, &bytes).await),
        ("rollout", Some(bytes)) => json(steer::run(board, &bytes).await),
        ("plan", Some(bytes)) => {
            let part = pages::planned(board, &bytes).await;
            typed("text/html; charset=utf-8", part.into_string())
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn json(answer: Result<Value, crate::exit::ExitFailure>) -> Response {
    match answer {
        Ok(value) => typed("application/json", value.to_string()),
        Err(why) => {
            let text = serde_json::json!({ "error": why.message() }).to_string();
            let kind = [(header::CONTENT_TYPE, "application/json")];
            (StatusCode::UNPROCESSABLE_ENTITY, kind, text).into_response()
        }
    }
}

async fn read(body: Body) -> Option<Vec<u8>> {
    let read = Limited::new(body, BODY).collect().await.ok()?;
    Some(read.to_bytes().to_vec())
}

/// The token of the printed address, for a cookie.
async fn enter(board: &Board, body: Body) -> Response {
    let token = Limited::new(body, 1 << 10).collect().await;
    let token = token.map(|b| b.to_bytes()).unwrap_or_default();
    let token = std::str::from_utf8(&token).unwrap_or_default();
    let Some(cookie) = board.guard.enter(token, Instant::now()) else {
        return refused(
            "this address was used, or is older than a minute: start offshoot board again",
        );
    };
    let place = format!("/{}/", board.guard.path());
    ([(header::SET_COOKIE, cookie)], place).into_response()
}

async fn show(board: &Arc<Board>, page: &str, query: &Query) -> Response {
    match page {
        "events" => events(board),
        "cells" => typed("application/json", pages::cells(board, query)),
        _ => pages::page(board, page, query).await.into_response(),
    }
}

/// The version of the fleet, now and whenever it changes.
fn events(board: &Arc<Board>) -> Response {
    let changed = board.changed.subscribe();
    let told = futures::stream::unfold((changed, true), |(mut changed, first)| async move {
        if !first {
            changed.changed().await.ok()?;
        }
        let version = *changed.borrow_and_update();
        let event = Event::default().data(version.to_string());
        Some((Ok::<_, Infallible>(event), (changed, false)))
    });
    Sse::new(told)
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// `a=b&c=d`, decoded; of a name that comes twice, the last.
fn query(text: &str) -> Query {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digits: Vec<u8> = bytes.by_ref().take(2).collect();
                let digits = std::str::from_utf8(&digits).unwrap_or_default();
                out.extend(u8::from_str_radix(digits, 16).ok());
            }
            other => out.push(other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_after_the_question_mark_is_decoded() {
        let read = query("state=draft&label=region%3Deu+west&x&y=%zz%e4");
        assert_eq!(read["state"], "draft");
        assert_eq!(read["label"], "region=eu west");
        assert_eq!(read["x"], "");
        assert_eq!(read.len(), 4);
    }
}
