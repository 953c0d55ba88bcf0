//! Who gets in: the browser that was given the token, and nobody's page besides (docs/board.md).

use super::Board;
use crate::process::{Process, wait_for};

#[tokio::test(flavor = "multi_thread")]
async fn only_the_browser_that_was_given_the_token_gets_in() {
    let root = tempfile::tempdir().unwrap();
    let _server = Process::start(root.path(), &[]).await;
    let kubeconfig = root.path().join("data/kubeconfig");
    let board = Board::start(&kubeconfig);
    let origin = board.origin();
    let enter = |headers: &[&str], token: &str| board.send("POST", "/session", headers, token).0;
    let port: u16 = board.authority.split_once(':').unwrap().1.parse().unwrap();
    let other = format!("Origin: http://127.0.0.1:{}", port ^ 1);
    for foreign in [
        "Origin: http://evil.example",
        "Origin: null",
        other.as_str(),
        "X-None: 1",
    ] {
        assert_eq!(enter(&[foreign], &board.token), 403, "{foreign}");
    }
    assert_eq!(enter(&[&origin], "0000"), 403);
    for host in ["evil.example", "localhost", "127.0.0.1"] {
        let host = format!(
            "Host: {host}:{}",
            if host == "127.0.0.1" { port ^ 1 } else { port }
        );
        assert_eq!(board.raw("GET", "/", &[&host], "").0, 403, "{host}");
    }
    assert_eq!(
        enter(&[&origin], &board.token),
        200,
        "refusals use nothing up"
    );
    assert_eq!(enter(&[&origin], &board.token), 403, "a token is good once");

    let board = Board::open(&kubeconfig);
    let (code, head, page) = board.get("");
    assert_eq!(code, 200);
    for sent in [
        "frame-ancestors 'none'",
        "default-src 'none'",
        "referrer-policy: no-referrer",
        "nosniff",
    ] {
        assert!(head.contains(sent), "{sent}: {head}");
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "{page}"
    );
    let bare = board.path.clone();
    assert_eq!(
        board.send("GET", &bare, &[], "").0,
        403,
        "without the cookie"
    );
    let elsewhere = format!("/{}/", "0".repeat(32));
    assert_eq!(
        board.send("GET", &elsewhere, &[&board.cookie], "").0,
        403,
        "below another path"
    );
    assert_eq!(
        board
            .send("GET", &bare, &["Cookie: offshoot-board=0"], "")
            .0,
        403
    );
    let act = format!("{bare}act");
    let (cookie, origin, write) = (&*board.cookie, &*board.origin(), &*board.write);
    let write_with = |headers: &[&str]| board.send("POST", &act, headers, "{}").0;
    assert_eq!(write_with(&[cookie, origin]), 403, "without the header");
    assert_eq!(write_with(&[cookie, origin, "X-Offshoot-Board: 0"]), 403);
    assert_eq!(write_with(&[origin, write]), 403, "without the cookie");
    assert_eq!(write_with(&[cookie, write]), 403, "without an origin");
    assert_eq!(
        write_with(&[cookie, write, "Origin: http://evil.example"]),
        403
    );
    assert_eq!(
        write_with(&[cookie, write, origin]),
        422,
        "it gets in, and is no request"
    );
    let large = "x".repeat(5 << 20);
    assert_eq!(
        board.send("POST", &act, &[cookie, write, origin], &large).0,
        413
    );
}

/// A server that was started anew has another token and another port: the board reads its kubeconfig again.
#[tokio::test(flavor = "multi_thread")]
async fn a_board_finds_a_server_that_was_started_anew() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = Process::start(root, &[]).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let trouble = || board.get("sets").2.contains("Not up to date");
    wait_for("the fleet", async || !trouble()).await;
    server.terminate();
    server.ended();
    wait_for("the board misses its server", async || trouble()).await;
    drop(server);
    let _server = Process::start(root, &[]).await;
    wait_for("the board has found it", async || !trouble()).await;
}
