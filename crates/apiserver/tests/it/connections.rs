//! Connections that never ask, ask slowly or ask for ever, and everybody else's.

use std::process::{Command, Stdio};
use std::time::Duration;

use apiserver::gateway::User;
use apiserver::{Limits, Running, Server};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::guarded::{connect, connect_to, connect_with};
use crate::world::{TOKEN, shoe, shoes};

const WATCH: &str = "/apis/test.dev/v1/namespaces/default/shoes?watch=1&resourceVersion=0";
const OTHER: &str = "other-token";

/// Eight connections, all of which one address may have; a user may use four.
fn small() -> Limits {
    Limits {
        connections: 8,
        address_connections: 8,
        user_connections: 4,
        ..Limits::default()
    }
}

async fn listening(limits: Limits) -> (Server, Running) {
    let builder = Server::builder()
        .token(TOKEN, User::new("admin", &["system:masters"]))
        .token(OTHER, User::new("other", &["system:masters"]))
        .crd(shoes())
        .limits(limits);
    let server = builder.build().await.expect("build");
    let running = server.listen(([127, 0, 0, 1], 0).into()).await;
    (server, running.expect("listen"))
}

/// Connections that the server ended for this reason.
fn ended(server: &Server, why: &str) -> u64 {
    let numbers = server.handle().connections();
    numbers
        .ended
        .iter()
        .find(|(word, _)| *word == why)
        .expect("a reason")
        .1
}

/// Whether the server hung up, or does soon.
async fn gone(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let read = async {
        let mut some = [0; 1024];
        while let Ok(1..) = stream.read(&mut some).await {}
    };
    tokio::time::timeout(Duration::from_secs(5), read)
        .await
        .is_ok()
}

/// Whether it stays, as far as a moment tells.
async fn stays(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let moment = Duration::from_millis(300);
    tokio::time::timeout(moment, stream.read_u8())
        .await
        .is_err()
}

/// Sends a request with HTTP 1, and reads the beginning of its answer.
async fn asked(stream: &mut TlsStream<TcpStream>, token: &str, path: &str) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("write");
    let mut some = vec![0; 8192];
    let length = stream.read(&mut some).await.unwrap_or(0);
    String::from_utf8_lossy(&some[..length]).into_owned()
}

async fn two(running: &Running) -> SendRequest<Empty<Bytes>> {
    let stream = connect_with(running, &[b"h2"]).await;
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(Duration::from_millis(100)))
        .keep_alive_while_idle(true);
    let (send, connection) = builder
        .handshake(TokioIo::new(stream))
        .await
        .expect("HTTP 2");
    tokio::spawn(async move { drop(connection.await) });
    send
}

async fn get(send: &mut SendRequest<Empty<Bytes>>, path: &str) -> Response<Incoming> {
    let request = Request::get(format!("https://localhost{path}"))
        .header("authorization", format!("Bearer {TOKEN}"))
        .body(Empty::new());
    send.send_request(request.expect("request"))
        .await
        .expect("an answer")
}

/// Asks as anybody does who comes new.
async fn served(running: &Running) {
    let answer = asked(&mut connect(running).await, OTHER, "/version").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_limit_all_stay_and_beyond_it_the_oldest_idle_one_goes() {
    let (server, running) = listening(small()).await;
    let mut known = connect(&running).await;
    assert!(
        asked(&mut known, TOKEN, "/version")
            .await
            .starts_with("HTTP/1.1 200")
    );
    let mut silent = Vec::new();
    for _ in 0..7 {
        silent.push(TcpStream::connect(running.address).await.expect("connect"));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(stays(&mut silent[0]).await && stays(&mut known).await);
    assert_eq!(ended(&server, "room"), 0);
    served(&running).await;
    assert!(gone(&mut silent[0]).await, "the oldest");
    assert!(stays(&mut silent[1]).await && stays(&mut known).await);
    assert_eq!((ended(&server, "room"), ended(&server, "refused")), (1, 0));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_shut_out_by_connections_that_never_ask() {
    let (server, running) = listening(small()).await;
    let mut held: Vec<Box<dyn std::any::Any>> = Vec::new();
    for kind in 0..6 {
        for _ in 0..20 {
            held.push(match kind {
                0 => Box::new(TcpStream::connect(running.address).await.expect("connect")),
                1 => Box::new(connect(&running).await),
                2 => {
                    let mut stream = connect(&running).await;
                    asked(&mut stream, TOKEN, "/version").await;
                    Box::new(stream)
                }
                3 => Box::new(two(&running).await),
                4 => {
                    let mut send = two(&running).await;
                    assert_eq!(get(&mut send, "/version").await.status(), StatusCode::OK);
                    Box::new(send)
                }
                _ => {
                    let mut stream = connect(&running).await;
                    let half = b"GET /version HTTP/1.1\r\nhost: ";
                    stream.write_all(half).await.expect("write");
                    Box::new(stream)
                }
            });
        }
        served(&running).await;
    }
    assert!(ended(&server, "room") >= 112 && ended(&server, "refused") == 0);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_never_asks_is_hung_up_on_in_time_and_pings_do_not_count() {
    let limits = Limits {
        headers: Duration::from_millis(700),
        first: Duration::from_millis(1500),
        idle: Duration::from_millis(3000),
        ..Limits::default()
    };
    let (server, running) = listening(limits).await;
    let mut plain = TcpStream::connect(running.address).await.expect("connect");
    let mut greeted = connect(&running).await;
    let mut nobody = connect(&running).await;
    let refused = asked(&mut nobody, "wrong", "/version").await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let mut slow = connect(&running).await;
    assert!(
        asked(&mut slow, TOKEN, "/version")
            .await
            .starts_with("HTTP/1.1 200")
    );
    slow.write_all(b"GET /version HTTP/1.1\r\nx: ")
        .await
        .expect("write");
    let mut known = connect(&running).await;
    assert!(
        asked(&mut known, TOKEN, "/version")
            .await
            .starts_with("HTTP/1.1 200")
    );
    let (mut pings, mut quiet) = (two(&running).await, two(&running).await);
    assert_eq!(get(&mut pings, "/version").await.status(), StatusCode::OK);
    let begun = std::time::Instant::now();
    assert!(gone(&mut plain).await && gone(&mut slow).await);
    assert!(
        begun.elapsed() < Duration::from_millis(1400),
        "{:?}",
        begun.elapsed()
    );
    assert!(gone(&mut greeted).await && gone(&mut nobody).await);
    while quiet.ready().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(
        begun.elapsed() < Duration::from_millis(2800),
        "{:?}",
        begun.elapsed()
    );
    assert!(
        asked(&mut known, TOKEN, "/version")
            .await
            .starts_with("HTTP/1.1 200")
    );
    while pings.ready().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(gone(&mut known).await);
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "{:?}",
        begun.elapsed()
    );
    let count = |why| ended(&server, why);
    assert_eq!((count("handshake"), count("headers")), (1, 1));
    assert_eq!((count("first_request"), count("idle")), (3, 2));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_is_never_idle_and_what_is_in_use_never_goes() {
    let limits = Limits {
        idle: Duration::from_millis(300),
        first: Duration::from_millis(300),
        ..small()
    };
    let (server, running) = listening(limits).await;
    let mut held = Vec::new();
    for token in [TOKEN, OTHER] {
        for _ in 0..4 {
            let mut stream = connect(&running).await;
            assert!(
                asked(&mut stream, token, WATCH)
                    .await
                    .starts_with("HTTP/1.1 200")
            );
            held.push(stream);
        }
    }
    // All are in use: whoever comes now is refused, at once.
    let mut ninth = TcpStream::connect(running.address).await.expect("connect");
    assert!(gone(&mut ninth).await);
    assert_eq!(ended(&server, "refused"), 1);
    let numbers = server.handle().connections();
    assert_eq!((numbers.in_use, numbers.idle), (8, 0));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let path = "/apis/test.dev/v1/namespaces/default/shoes";
    let made = crate::world::ask(&server, http::Method::POST, path, Some(shoe("a", 1))).await;
    assert_eq!(made.0, 201);
    for stream in &mut held {
        let mut event = vec![0; 8192];
        let length = stream.read(&mut event).await.expect("an event");
        assert!(String::from_utf8_lossy(&event[..length]).contains("ADDED"));
    }
    // One goes, and one may come.
    drop(held.pop());
    tokio::time::sleep(Duration::from_millis(100)).await;
    served(&running).await;
    // A fifth connection of the first user is told so; a fifth watch on one of its four would be welcome.
    let mut fifth = connect(&running).await;
    let answer = asked(&mut fifth, TOKEN, WATCH).await;
    assert!(
        answer.starts_with("HTTP/1.1 429") && answer.contains("at most 4"),
        "{answer}"
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_of_a_user_share_a_connection_and_an_answer_that_nobody_takes_ends() {
    let limits = Limits {
        user_connections: 1,
        idle: Duration::from_secs(1),
        ..small()
    };
    let (server, running) = listening(limits).await;
    let mut send = two(&running).await;
    let mut watches = Vec::new();
    for _ in 0..20 {
        let answer = get(&mut send, WATCH).await;
        assert_eq!(answer.status(), StatusCode::OK);
        watches.push(answer);
    }
    drop((watches, send));
    // An answer of megabytes, asked for and left alone.
    let text = "x".repeat(1 << 20);
    for n in 0..8 {
        let body = json!({"metadata": {"name": format!("m{n}")}, "data": {"text": text}});
        let path = "/api/v1/namespaces/default/configmaps";
        let made = crate::world::ask(&server, http::Method::POST, path, Some(body)).await;
        assert_eq!(made.0, 201);
    }
    let wait = async || {
        while server.handle().connections().in_use > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    wait().await;
    let mut send = two(&running).await;
    let answer = get(&mut send, "/api/v1/namespaces/default/configmaps").await;
    assert_eq!(answer.status(), StatusCode::OK);
    wait().await;
    assert_eq!(ended(&server, "idle"), 1);
    assert!(answer.into_body().collect().await.is_err());
    // Taken slowly, it comes whole.
    let mut slow = connect(&running).await;
    let request = format!(
        "GET /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
    );
    slow.write_all(request.as_bytes()).await.expect("write");
    let mut whole = 0;
    let mut some = vec![0; 400 << 10];
    loop {
        let read = slow.read(&mut some).await.expect("some more");
        if read == 0 {
            break;
        }
        whole += read;
        if whole < 6 << 20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert!(whole > 8 << 20, "{whole}");
    running.stop().await;
}

/// What another process does that may open few files: it serves until its input ends, whatever its limits say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_files() {
    let Ok(told) = std::env::var("APISERVER_TEST_FEW_FILES") else {
        return;
    };
    let (server, running) = listening(Limits::default()).await;
    std::fs::write(format!("{told}.ca"), &running.ca).expect("write");
    std::fs::write(format!("{told}.new"), running.address.to_string()).expect("write");
    std::fs::rename(format!("{told}.new"), &told).expect("rename");
    let read = || std::io::stdin().read_line(&mut String::new());
    drop(tokio::task::spawn_blocking(read).await);
    assert!(
        ended(&server, "room") >= 60,
        "{:?}",
        server.handle().connections()
    );
    running.stop().await;
}

/// Where files run out all the same, idle connections go, and the server neither ends nor spins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_files_goes_on() {
    let directory = tempfile::tempdir().expect("directory");
    let told = directory.path().join("address");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\""]);
    command.arg(std::env::current_exe().expect("this test"));
    command.args(["--exact", "connections::few_files", "--nocapture"]);
    command.env("APISERVER_TEST_FEW_FILES", &told);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.stderr(Stdio::piped()).spawn().expect("start");
    let begun = std::time::Instant::now();
    while !told.exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not start"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let address = std::fs::read_to_string(&told)
        .expect("address")
        .parse()
        .expect("address");
    let ca = std::fs::read_to_string(told.with_extension("ca")).expect("authority");
    let mut held = Vec::new();
    for _ in 0..100 {
        held.push(TcpStream::connect(address).await.expect("connect"));
    }
    for _ in 0..3 {
        let connected = connect_to(address, &ca, &[]);
        let mut stream = tokio::time::timeout(Duration::from_secs(20), connected)
            .await
            .expect("a place");
        assert!(
            asked(&mut stream, TOKEN, "/version")
                .await
                .starts_with("HTTP/1.1 200")
        );
    }
    let ticks = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
    drop(child.stdin.take());
    let done = child.wait_with_output().expect("an end");
    assert!(done.status.success(), "{done:?}");
    // User and system time, in hundredths of a second.
    let spent: u64 = ticks.map_or(0, |text| {
        let fields: Vec<_> = text
            .rsplit(") ")
            .next()
            .unwrap_or_default()
            .split(' ')
            .collect();
        fields[11..13]
            .iter()
            .map(|n| n.parse::<u64>().expect("ticks"))
            .sum()
    });
    assert!(spent < 500, "{spent} hundredths of a second");
}
