//! Conversion webhooks over TLS: what they may do, and what happens when they do something else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apiserver::{Authority, Server};
use base64::Engine as _;
use bytes::Bytes;
use http::{Method, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::world::{ask, still};

/// A webhook that turns `size` (v1) into `length` (v2) and back, and misbehaves for objects of certain names.
struct Hook {
    address: SocketAddr,
    ca: String,
    calls: Arc<AtomicUsize>,
}

async fn hook() -> Hook {
    let identity = Authority::load_or_make(None).expect("certificates");
    let acceptor = identity.acceptor([127, 0, 0, 1].into()).expect("acceptor");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("socket");
    let address = listener.local_addr().expect("address");
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, counted) = (acceptor.clone(), Arc::clone(&counted));
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(socket).await else {
                    return;
                };
                let answer = hyper::service::service_fn(|request: http::Request<_>| {
                    counted.fetch_add(1, Ordering::SeqCst);
                    answer(request)
                });
                let http = hyper::server::conn::http1::Builder::new();
                drop(http.serve_connection(TokioIo::new(stream), answer).await);
            });
        }
    });
    let ca = base64::engine::general_purpose::STANDARD.encode(identity.ca_pem);
    Hook { address, ca, calls }
}

async fn answer(
    request: http::Request<hyper::body::Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let bytes = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&bytes).expect("a review");
    let wanted = review["request"]["desiredAPIVersion"]
        .as_str()
        .expect("a version");
    let objects = review["request"]["objects"].as_array().expect("objects");
    let mut result = json!({"status": "Success"});
    let mut converted: Vec<Value> = objects.iter().map(|o| convert(o, wanted)).collect();
    let named = |name: &str| objects.iter().any(|o| o["metadata"]["name"] == name);
    if named("refused") {
        result = json!({"status": "Failed", "message": "sizes of this kind cannot be told"});
    }
    if named("short") {
        converted.pop();
    }
    let review = json!({
        "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "response": {"uid": review["request"]["uid"], "result": result, "convertedObjects": converted},
    });
    let code = if named("broken") { 503 } else { 200 };
    let body = Full::new(Bytes::from(review.to_string()));
    Ok(Response::builder().status(code).body(body).expect("answer"))
}

fn convert(object: &Value, wanted: &str) -> Value {
    let mut new = object.clone();
    let (from, to) = match wanted {
        "test.dev/v1" => ("length", "size"),
        _ => ("size", "length"),
    };
    new["apiVersion"] = wanted.into();
    new["spec"] = json!({to: object["spec"][from]});
    new["metadata"]["labels"] = json!({"seen": "yes"});
    new["metadata"]["generation"] = 99.into();
    match object["metadata"]["name"].as_str() {
        Some("renamed") => new["metadata"]["name"] = "other".into(),
        Some("unturned") => new["apiVersion"] = "test.dev/v7".into(),
        _ => {}
    }
    new
}

/// A definition of two versions; `client` is where its webhook is.
fn boots(client: Value) -> Value {
    let version = |name: &str, field: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {field: {"type": "integer"}}},
            }}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boots.test.dev"},
        "spec": {
            "group": "test.dev", "scope": "Namespaced",
            "names": {"plural": "boots", "singular": "boot", "kind": "Boot", "listKind": "BootList"},
            "versions": [version("v1", "size", true), version("v2", "length", false)],
            "conversion": {"strategy": "Webhook", "webhook": {
                "clientConfig": client, "conversionReviewVersions": ["v1"],
            }},
        },
    })
}

async fn server(client: Value) -> Server {
    let server = still(&Memory::new(), Vec::new()).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer) = ask(&server, Method::POST, path, Some(boots(client))).await;
    assert_eq!(code, 201, "{answer}");
    server.handle().settle().await.expect("housekeeping");
    server
}

const V1: &str = "/apis/test.dev/v1/namespaces/default/boots";
const V2: &str = "/apis/test.dev/v2/namespaces/default/boots";

fn boot(name: &str, size: i64) -> Value {
    json!({"apiVersion": "test.dev/v1", "kind": "Boot", "metadata": {"name": name}, "spec": {"size": size}})
}

async fn create(server: &Server, name: &str, size: i64) {
    let (code, answer) = ask(server, Method::POST, V1, Some(boot(name, size))).await;
    assert_eq!(code, 201, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_turn_into_each_other() {
    let hook = hook().await;
    let url = format!("https://{}/convert", hook.address);
    let server = server(json!({"url": url, "caBundle": hook.ca})).await;
    let long = json!({"apiVersion": "test.dev/v2", "kind": "Boot", "metadata": {"name": "a"}, "spec": {"length": 42}});
    let (code, made) = ask(&server, Method::POST, V2, Some(long)).await;
    assert_eq!((code, &made["spec"]["length"]), (201, &json!(42)), "{made}");
    assert_eq!(
        made["metadata"]["generation"], 1,
        "only labels and annotations are the webhook's"
    );
    let (_, stored) = ask(&server, Method::GET, &format!("{V1}/a"), None).await;
    assert_eq!(stored["spec"], json!({"size": 42}));
    assert_eq!(stored["metadata"]["labels"], json!({"seen": "yes"}));
    create(&server, "b", 1).await;
    create(&server, "c", 2).await;
    let before = hook.calls.load(Ordering::SeqCst);
    let (code, list) = ask(&server, Method::GET, V2, None).await;
    assert_eq!(code, 200, "{list}");
    let lengths: Vec<_> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|i| i["spec"]["length"].clone())
        .collect();
    assert_eq!(lengths, [42, 1, 2]);
    assert_eq!(
        hook.calls.load(Ordering::SeqCst),
        before + 1,
        "one call for a page"
    );
    let patch = json!({"spec": {"length": 43}});
    let (code, patched, _) = crate::world::ask_as(
        &server,
        Method::PATCH,
        &format!("{V2}/a"),
        "application/merge-patch+json",
        Some(patch),
        Some(crate::world::admin()),
    )
    .await;
    assert_eq!(
        (code, &patched["spec"]["length"]),
        (200, &json!(43)),
        "{patched}"
    );
    let (_, stored) = ask(&server, Method::GET, &format!("{V1}/a"), None).await;
    assert_eq!(stored["spec"], json!({"size": 43}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_misbehaves_is_told_and_nothing_else_stops() {
    let hook = hook().await;
    let url = format!("https://{}/convert", hook.address);
    let server = server(json!({"url": url, "caBundle": hook.ca})).await;
    let cases = [
        ("refused", "failed: sizes of this kind cannot be told"),
        ("short", "returned 0 objects, expected 1"),
        ("broken", "failed: Post \"https://"),
        ("renamed", "must have the same name: other != renamed"),
        (
            "unturned",
            "invalid groupVersion (required: test.dev/v2, got: test.dev/v7)",
        ),
    ];
    for (name, why) in cases {
        create(&server, name, 1).await;
        let (code, status) = ask(&server, Method::GET, &format!("{V2}/{name}"), None).await;
        let message = status["message"].as_str().expect("a message");
        assert_eq!(code, 500, "{status}");
        assert!(
            message.starts_with("conversion webhook for test.dev/v1, Kind=Boot "),
            "{message}"
        );
        assert!(message.contains(why), "{message}");
        let (code, _) = ask(&server, Method::GET, &format!("{V1}/{name}"), None).await;
        assert_eq!(code, 200, "the version that is kept needs no webhook");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_cannot_be_reached_is_told() {
    let (hook, stranger) = (
        hook().await,
        Authority::load_or_make(None).expect("certificates"),
    );
    let url = format!("https://{}/convert", hook.address);
    let other = base64::engine::general_purpose::STANDARD.encode(stranger.ca_pem);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("socket");
    let nobody = format!("https://{}/convert", free.local_addr().expect("address"));
    drop(free);
    let cases = [
        (
            json!({"url": url, "caBundle": other}),
            "tls: invalid peer certificate",
        ),
        (json!({"url": url}), "caBundle: required"),
        (
            json!({"url": nobody, "caBundle": hook.ca}),
            "dial tcp 127.0.0.1",
        ),
        (
            json!({"service": {"namespace": "a", "name": "b"}}),
            "give clientConfig.url instead",
        ),
    ];
    for (client, why) in cases {
        let server = server(client).await;
        create(&server, "a", 1).await;
        let (code, status) = ask(&server, Method::GET, &format!("{V2}/a"), None).await;
        assert_eq!(code, 500, "{status}");
        let message = status["message"].as_str().expect("a message");
        assert!(message.contains(why), "{message}");
    }
    assert_eq!(hook.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_was_kept_in_another_version_is_shown_in_the_new_one() {
    let hook = hook().await;
    let url = format!("https://{}/convert", hook.address);
    let client = json!({"url": url, "caBundle": hook.ca});
    let server = server(client.clone()).await;
    create(&server, "old", 7).await;
    let mut crd = boots(client);
    crd["spec"]["versions"][0]["storage"] = false.into();
    crd["spec"]["versions"][1]["storage"] = true.into();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boots.test.dev";
    let (_, there) = ask(&server, Method::GET, path, None).await;
    crd["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
    let (code, answer) = ask(&server, Method::PUT, path, Some(crd)).await;
    assert_eq!(code, 200, "{answer}");
    server.handle().settle().await.expect("housekeeping");
    let (_, stored) = ask(&server, Method::GET, path, None).await;
    assert_eq!(stored["status"]["storedVersions"], json!(["v1", "v2"]));
    let (code, shown) = ask(&server, Method::GET, &format!("{V2}/old"), None).await;
    assert_eq!(
        (code, &shown["apiVersion"]),
        (200, &json!("test.dev/v2")),
        "{shown}"
    );
    assert_eq!(shown["spec"], json!({"length": 7}));
    let (_, list) = ask(&server, Method::GET, V2, None).await;
    assert_eq!(list["items"][0]["spec"], json!({"length": 7}));
}
