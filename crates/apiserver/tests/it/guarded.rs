//! What holds whoever asks: limits of size, time and number, and the audit log.

use std::time::Duration;

use apiserver::audit::{Audit, Rotation};
use apiserver::gateway::User;
use apiserver::{Limits, Server};
use axum::body::Body;
use futures::StreamExt as _;
use http::{Method, Request};
use objectstore::{Memory, StorageError};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::ServiceExt;

use crate::world::{TOKEN, admin, ask, raw, shoe, shoes, still};

const SHOES: &str = "/apis/test.dev/v1/namespaces/default/shoes";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn with_limits(limits: Limits) -> Server {
    Server::builder()
        .token(TOKEN, User::new("admin", &["system:masters"]))
        .crd(shoes())
        .limits(limits)
        .build()
        .await
        .expect("build")
}

/// The same, listening.
async fn listening(limits: Limits) -> (Server, apiserver::Running) {
    let server = with_limits(limits).await;
    let running = server.listen(([127, 0, 0, 1], 0).into()).await;
    (server, running.expect("listen"))
}

/// A TLS connection to a server, as bytes.
pub(crate) async fn connect(
    running: &apiserver::Running,
) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    connect_with(running, &[]).await
}

/// The same, for one of these protocols.
pub(crate) async fn connect_with(
    running: &apiserver::Running,
    protocols: &[&[u8]],
) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    connect_to(running.address, &running.ca, protocols).await
}

/// The same, to an address.
pub(crate) async fn connect_to(
    address: std::net::SocketAddr,
    authority: &str,
    protocols: &[&[u8]],
) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(authority.as_bytes()).expect("PEM");
    roots.add(ca).expect("authority");
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let socket = tokio::net::TcpStream::connect(address)
        .await
        .expect("connect");
    let name = "localhost".try_into().expect("name");
    connector.connect(name, socket).await.expect("TLS")
}

/// The first line of what a server answers to these bytes; empty if it hangs up.
async fn first_line(running: &apiserver::Running, bytes: &str) -> String {
    let mut stream = connect(running).await;
    stream.write_all(bytes.as_bytes()).await.expect("write");
    let mut answer = Vec::new();
    let mut some = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut some).await {
        answer.extend_from_slice(&some[..n]);
        if answer.contains(&b'\n') {
            break;
        }
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_have_a_size() {
    let limits = Limits {
        header_bytes: 16 << 10,
        ..Limits::default()
    };
    let (_server, running) = listening(limits).await;
    let request = |padding: usize| {
        format!(
            "GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: {}\r\n\r\n",
            "a".repeat(padding)
        )
    };
    assert_eq!(
        first_line(&running, &request(12 << 10)).await,
        "HTTP/1.1 200 OK"
    );
    let refused = first_line(&running, &request(17 << 10)).await;
    assert_eq!(refused, "HTTP/1.1 431 Request Header Fields Too Large");
    let many: String = (0..200).map(|i| format!("x-{i}: 1\r\n")).collect();
    let refused = first_line(&running, &format!("GET /healthz HTTP/1.1\r\n{many}\r\n")).await;
    assert_eq!(refused, "HTTP/1.1 431 Request Header Fields Too Large");
    running.stop().await;
}

/// A client that never ends its headers is hung up on, and one that never greets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_have_a_time() {
    let limits = Limits {
        headers: Duration::from_secs(2),
        ..Limits::default()
    };
    let (_server, running) = listening(limits).await;
    let slow = first_line(&running, "GET /healthz HTTP/1.1\r\nhost: ").await;
    assert!(
        slow.is_empty() || slow.starts_with("HTTP/1.1 408"),
        "{slow}"
    );
    let mut silent = tokio::net::TcpStream::connect(running.address)
        .await
        .expect("connect");
    let mut rest = Vec::new();
    assert_eq!(silent.read_to_end(&mut rest).await.expect("an end"), 0);
    running.stop().await;
}

#[tokio::test]
async fn bodies_have_a_size_and_a_time() {
    let size = async |server: &Server, n: usize| {
        // Spaces around an object are part of the body.
        let body = json!({"metadata": {"generateName": "a"}}).to_string();
        let body = format!("{body}{}", " ".repeat(n - body.len()));
        post(server, Body::from(body)).await
    };
    let server = with_limits(Limits::default()).await;
    assert_eq!(size(&server, 3 << 20).await, 201);
    assert_eq!(size(&server, (3 << 20) + 1).await, 413);
    let limits = Limits {
        request: Duration::from_secs(2),
        ..Limits::default()
    };
    let server = with_limits(limits).await;
    // A body that never ends; and meanwhile others are served.
    let drops = futures::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Some((Ok::<_, std::convert::Infallible>(" "), ()))
    });
    let (slow, other) = futures::join!(post(&server, Body::from_stream(drops)), size(&server, 64));
    assert_eq!((slow, other), (504, 201));
}

async fn post(server: &Server, body: Body) -> u16 {
    let request = Request::post(MAPS).extension(admin()).body(body);
    let answer = server
        .router("127.0.0.1:0")
        .oneshot(request.expect("request"))
        .await;
    answer.expect("infallible").status().as_u16()
}

#[tokio::test]
async fn a_user_with_too_many_requests_comes_again_and_others_are_served() {
    let limits = Limits {
        reading: 1,
        writing: 4,
        waiting: 2,
        request: Duration::from_secs(30),
        ..Limits::default()
    };
    let server = with_limits(limits).await;
    let (end, ended) = tokio::sync::watch::channel(false);
    let mut slow = Vec::new();
    for _ in 0..6 {
        let ended = ended.clone();
        let router = server.router("127.0.0.1:0");
        let body = futures::stream::once(async move {
            let mut ended = ended;
            ended.wait_for(|e| *e).await.expect("the end");
            Ok::<_, std::convert::Infallible>(r#"{"metadata":{"generateName":"slow"}}"#)
        });
        let request = Request::post(MAPS)
            .extension(admin())
            .body(Body::from_stream(body))
            .expect("request");
        slow.push(tokio::spawn(async move {
            let answer = router.oneshot(request).await.expect("infallible");
            (
                answer.status().as_u16(),
                answer.headers().get("retry-after").cloned(),
            )
        }));
        tokio::task::yield_now().await;
    }
    // Three of four seats are held, two requests wait, the sixth comes again.
    let (code, again) = slow.pop().expect("the sixth").await.expect("answered");
    assert_eq!((code, again.is_some()), (429, true));
    // Another user has a seat at once, and reading is not held up by writing.
    let other = json!({"metadata": {"name": "other"}});
    let mut whose = admin();
    whose.user.name = "other".to_owned();
    let answer = raw(&server, Method::POST, MAPS, "", Some(other), Some(whose)).await;
    assert_eq!(answer.status().as_u16(), 201);
    assert_eq!(ask(&server, Method::GET, MAPS, None).await.0, 200);
    end.send_replace(true);
    for answered in slow {
        assert_eq!(answered.await.expect("answered").0, 201);
    }
}

#[tokio::test]
async fn ten_thousand_idle_watches_hold_nobody_up() {
    let limits = Limits {
        watches: 10_000,
        all_watches: 10_000,
        ..Limits::default()
    };
    let server = with_limits(limits).await;
    let router = server.router("127.0.0.1:0");
    let mut watches = Vec::new();
    for i in 0..10_000 {
        let path = match i % 2 {
            0 => format!("{SHOES}?watch=1&resourceVersion=0&allowWatchBookmarks=true"),
            _ => format!("{MAPS}?watch=1&fieldSelector=metadata.name%3Dw{i}"),
        };
        let request = Request::get(path).extension(admin()).body(Body::empty());
        let answer = router.clone().oneshot(request.expect("request")).await;
        let answer = answer.expect("infallible");
        assert_eq!(answer.status().as_u16(), 200);
        watches.push(answer.into_body().into_data_stream());
    }
    // Seats are free, writes are answered, and each watch hears what it asked for.
    assert_eq!(
        ask(&server, Method::POST, SHOES, Some(shoe("one", 42)))
            .await
            .0,
        201
    );
    let map = json!({"metadata": {"name": "w9999"}});
    assert_eq!(ask(&server, Method::POST, MAPS, Some(map)).await.0, 201);
    for (i, mut watch) in watches.into_iter().enumerate() {
        if i % 2 == 0 || i == 9999 {
            let event = watch.next().await.expect("an event").expect("bytes");
            assert!(event.starts_with(b"{\"type\":\"ADDED\""), "watch {i}");
        }
    }
}

/// A secret that is made, one that is refused, and a map that somebody may not read in another's name. The log of it, and the
/// id of the last answer.
async fn logged() -> (String, String) {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("audit.log");
    let server = Server::builder()
        .token(TOKEN, User::new("admin", &["system:masters"]))
        .audit(Audit::open(&path, Rotation::default()).expect("open"))
        .build()
        .await
        .expect("build");
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret =
        |value: &str| json!({"metadata": {"name": "s"}, "stringData": {"k": value}, "type": "t"});
    let wrong =
        json!({"metadata": {"name": "s"}, "data": {"not a key": "aHVzaA=="}, "type": "hush-type"});
    assert_eq!(
        ask(&server, Method::POST, secrets, Some(secret("hush-1")))
            .await
            .0,
        201
    );
    assert_eq!(
        ask(&server, Method::PUT, &format!("{secrets}/s"), Some(wrong))
            .await
            .0,
        422
    );
    let request = Request::get("/api/v1/namespaces/default/configmaps/none?x=1")
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("impersonate-user", "bob")
        .header("user-agent", "tester/1.0")
        .extension(std::net::SocketAddr::from(([127, 0, 0, 9], 1234)));
    let router = server.router("127.0.0.1:0");
    let answer = router
        .oneshot(request.body(Body::empty()).expect("request"))
        .await;
    let answer = answer.expect("infallible");
    let id = answer.headers()["audit-id"]
        .to_str()
        .expect("id")
        .to_owned();
    let text = std::fs::read_to_string(&path).expect("the log");
    (text, id)
}

#[tokio::test]
async fn the_log_tells_who_did_what_and_never_a_body() {
    let (text, id) = logged().await;
    assert!(!text.contains("hush") && !text.contains("aHVzaA"), "{text}");
    assert!(!text.contains(TOKEN), "{text}");
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event a line"))
        .collect();
    let [made, refused, denied] = events.as_slice() else {
        panic!("three requests: {text}");
    };
    for event in &events {
        assert_eq!(event["kind"], "Event");
        assert_eq!(event["apiVersion"], "audit.k8s.io/v1");
        assert_eq!(event["level"], "Metadata");
        assert_eq!(event["stage"], "ResponseComplete");
        let stamp = event["requestReceivedTimestamp"].as_str().expect("a time");
        assert_eq!(stamp.len(), "2020-01-01T00:00:00.000000Z".len(), "{stamp}");
    }
    assert_eq!(made["verb"], "create");
    assert_eq!(
        made["objectRef"],
        json!({"resource": "secrets", "namespace": "default", "apiVersion": "v1"})
    );
    assert_eq!(made["responseStatus"]["code"], 201);
    assert_eq!(
        made["annotations"]["authorization.k8s.io/decision"],
        "allow"
    );
    assert_eq!(refused["objectRef"]["name"], "s");
    assert_eq!(refused["responseStatus"]["reason"], "Invalid");
    assert_eq!(denied["auditID"], json!(id));
    assert_eq!(denied["user"]["username"], "admin");
    assert_eq!(denied["impersonatedUser"]["username"], "bob");
    assert_eq!(
        denied["requestURI"],
        "/api/v1/namespaces/default/configmaps/none?x=1"
    );
    assert_eq!(denied["sourceIPs"], json!(["127.0.0.9"]));
    assert_eq!(denied["userAgent"], "tester/1.0");
    assert_eq!(denied["responseStatus"]["code"], 403);
    assert_eq!(
        denied["annotations"]["authorization.k8s.io/decision"],
        "forbid"
    );
}

#[tokio::test]
async fn a_medium_that_cannot_be_written_is_said_and_reads_go_on() {
    let medium = Memory::new();
    let server = still(&medium, Vec::new()).await;
    let map =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let (code, made) = ask(&server, Method::POST, MAPS, Some(map("a"))).await;
    assert_eq!(code, 201);
    let detail = |text: &str| text.to_owned();
    for (error, code, reason) in [
        (
            StorageError::Full(detail("No space left on device (os error 28)")),
            507,
            "InsufficientStorage",
        ),
        (
            StorageError::Write(detail("Input/output error (os error 5)")),
            503,
            "ServiceUnavailable",
        ),
    ] {
        medium.fail_writes(Some(error));
        let one = format!("{MAPS}/a");
        let change = json!({"data": {"k": "v"}});
        let media = "application/merge-patch+json";
        let patched = raw(
            &server,
            Method::PATCH,
            &one,
            media,
            Some(change),
            Some(admin()),
        )
        .await;
        assert_eq!(patched.status().as_u16(), code, "{reason}");
        for (method, path, body) in [
            (Method::POST, MAPS, Some(map("b"))),
            (Method::DELETE, &*one, None),
        ] {
            let (found, status) = ask(&server, method.clone(), path, body).await;
            assert_eq!(
                (found, &status["reason"]),
                (code, &json!(reason)),
                "{method}: {status}"
            );
            assert_eq!(status["kind"], "Status");
        }
        let (found, list) = ask(&server, Method::GET, MAPS, None).await;
        let names: Vec<_> = list["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|o| &o["metadata"]["name"])
            .collect();
        assert!(found == 200 && names.contains(&&json!("a")) && !names.contains(&&json!("b")));
        assert_eq!(
            ask(&server, Method::GET, &one, None).await,
            (200, made.clone())
        );
    }
    medium.fail_writes(None);
    let (code, _) = ask(&server, Method::POST, MAPS, Some(map("b"))).await;
    assert_eq!(code, 201, "it goes on when there is room again");
}

#[tokio::test]
async fn strangers_add_no_counters() {
    let server = still(&Memory::new(), Vec::new()).await;
    let places = || {
        let counted = server.handle().requests();
        counted
            .into_keys()
            .map(|key| key.resource)
            .collect::<std::collections::BTreeSet<_>>()
    };
    for i in 0..50 {
        for path in [
            format!("/stranger-{i}"),
            format!("/api/v1/strange{i}/x"),
            format!("/apis/g{i}/v1/x"),
        ] {
            let answer = raw(&server, Method::GET, &path, "", None, None).await;
            assert!(matches!(answer.status().as_u16(), 403 | 404));
        }
    }
    let names = places();
    assert!(names.contains("other") && names.len() < 5, "{names:?}");
}
