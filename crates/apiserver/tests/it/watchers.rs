//! Many watchers: what each of them costs, how many there may be, and what becomes of those that do not read.

use apiserver::{Limits, Server};
use axum::body::BodyDataStream;
use axum::response::Response;
use futures::StreamExt as _;
use http::Method;
use http_body_util::BodyExt as _;
use objectstore::{Memory, Options};
use serde_json::{Value, json};

use crate::world::{admin, ask, raw};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const FROM_THE_START: &str =
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async fn server(limits: Limits, options: Options) -> Server {
    let builder = Server::builder()
        .memory(Memory::new())
        .store_options(options)
        .limits(limits);
    builder.build().await.expect("build")
}

/// Makes config maps of so many bytes.
async fn fill(server: &Server, count: usize, bytes: usize) {
    for n in 0..count {
        let body =
            json!({"metadata": {"name": format!("m{n:03}")}, "data": {"text": noise(n, bytes)}});
        assert_eq!(ask(server, Method::POST, MAPS, Some(body)).await.0, 201);
    }
}

/// A text that nothing makes shorter.
fn noise(seed: usize, bytes: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut letter = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 33) % 26).expect("a letter"))
    };
    (0..bytes).map(|_| letter()).collect()
}

async fn open(server: &Server, query: &str) -> Response {
    raw(
        server,
        Method::GET,
        &format!("{MAPS}?{query}"),
        "",
        None,
        Some(admin()),
    )
    .await
}

/// The memory that this process has in use, in bytes; nothing elsewhere than on Linux.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

async fn event(stream: &mut BodyDataStream) -> Option<Value> {
    let chunk = stream.next().await?.expect("bytes");
    Some(serde_json::from_slice(&chunk).expect("an event"))
}

/// A hundred watchers that begin with a list of ten megabytes and read little of it; held whole for each that was a gigabyte.
#[tokio::test]
async fn a_first_list_is_held_for_nobody() {
    let server = server(Limits::default(), Options::default()).await;
    fill(&server, 200, 50_000).await;
    let before = resident();
    let mut watches = Vec::new();
    for n in 0..100 {
        let query = if n % 2 == 0 {
            FROM_THE_START
        } else {
            "watch=1"
        };
        let mut stream = open(&server, query).await.into_body().into_data_stream();
        assert_eq!(event(&mut stream).await.expect("an event")["type"], "ADDED");
        watches.push(stream);
    }
    let held = resident().saturating_sub(before);
    assert!(held < 300 << 20, "{held} bytes for a hundred watchers");
    // Each goes on where it was, to the end.
    for mut stream in watches.into_iter().step_by(50) {
        for n in 1..200 {
            let added = event(&mut stream).await.expect("an event");
            assert_eq!(added["object"]["metadata"]["name"], format!("m{n:03}"));
        }
        let end = event(&mut stream).await.expect("a bookmark");
        let marked = &end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"];
        assert_eq!((&end["type"], marked), (&json!("BOOKMARK"), &json!("true")));
    }
}

/// The first list is of one version, and what was written while it was read follows it.
#[tokio::test]
async fn what_is_written_during_the_first_list_comes_after_it() {
    let server = server(Limits::default(), Options::default()).await;
    fill(&server, 20, 50_000).await;
    let mut stream = open(&server, FROM_THE_START)
        .await
        .into_body()
        .into_data_stream();
    assert_eq!(event(&mut stream).await.expect("an event")["type"], "ADDED");
    let last = format!("{MAPS}/m019");
    assert_eq!(ask(&server, Method::DELETE, &last, None).await.0, 200);
    fill_one(&server, "m0185").await;
    let mut words = Vec::new();
    while words.last().is_none_or(|word| word != "ADDED m0185") {
        let next = event(&mut stream).await.expect("an event");
        let name = next["object"]["metadata"]["name"].as_str();
        let word = next["type"].as_str().expect("type");
        words.push(format!("{word} {}", name.unwrap_or_default()));
    }
    let end = words
        .iter()
        .position(|w| w == "BOOKMARK ")
        .expect("a bookmark");
    assert_eq!(words[end - 1], "ADDED m019");
    assert_eq!(&words[end + 1..], ["DELETED m019", "ADDED m0185"]);
}

async fn fill_one(server: &Server, name: &str) {
    let body = json!({"metadata": {"name": name}});
    assert_eq!(ask(server, Method::POST, MAPS, Some(body)).await.0, 201);
}

/// A watcher that does not read costs itself the stream, and nobody else anything.
#[tokio::test]
async fn who_reads_too_slowly_is_told_to_list_again() {
    let options = Options {
        ring_bytes: 200_000,
        ..Options::default()
    };
    let server = server(Limits::default(), options).await;
    fill(&server, 40, 50_000).await;
    let mut slow = open(&server, FROM_THE_START)
        .await
        .into_body()
        .into_data_stream();
    assert_eq!(event(&mut slow).await.expect("an event")["type"], "ADDED");
    let mut quick = open(&server, "watch=1&resourceVersion=0")
        .await
        .into_body()
        .into_data_stream();
    for _ in 0..40 {
        assert_eq!(event(&mut quick).await.expect("an event")["type"], "ADDED");
    }
    for n in 0..40 {
        let change = json!({"data": {"n": n.to_string()}});
        let path = format!("{MAPS}/m{n:03}");
        let media = "application/merge-patch+json";
        let answer = raw(
            &server,
            Method::PATCH,
            &path,
            media,
            Some(change),
            Some(admin()),
        )
        .await;
        assert_eq!(answer.status().as_u16(), 200);
        assert_eq!(
            event(&mut quick).await.expect("an event")["type"],
            "MODIFIED"
        );
    }
    let mut last = json!({});
    while let Some(next) = event(&mut slow).await {
        last = next;
    }
    assert_eq!(
        (&last["type"], &last["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert_eq!(last["object"]["reason"], "Expired");
}

#[tokio::test]
async fn a_user_has_so_many_watches_and_no_more() {
    let limits = Limits {
        watches: 3,
        all_watches: 4,
        ..Limits::default()
    };
    let server = server(limits, Options::default()).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let answer = open(&server, "watch=1").await;
        assert_eq!(answer.status().as_u16(), 200);
        held.push(answer);
    }
    let refused = open(&server, "watch=1").await;
    assert_eq!(
        (
            refused.status().as_u16(),
            refused.headers()["retry-after"].as_bytes()
        ),
        (429, b"1".as_slice())
    );
    let text = refused
        .into_body()
        .collect()
        .await
        .expect("body")
        .to_bytes();
    let status: Value = serde_json::from_slice(&text).expect("a status");
    assert_eq!(status["reason"], "TooManyRequests");
    assert!(
        status["message"]
            .as_str()
            .is_some_and(|m| m.contains("at most 3")),
        "{status}"
    );
    assert_eq!(
        ask(&server, Method::GET, MAPS, None).await.0,
        200,
        "a list is no watch"
    );
    // What ends gives its place back.
    held.pop();
    assert_eq!(open(&server, "watch=1").await.status().as_u16(), 200);
}
