//! A server for a test: on a socket with TLS, or in process with everything deterministic.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use apiserver::gateway::User;
use apiserver::{Clock, Running, Server, Whose};
use axum::body::Body;
use axum::response::Response;
use http::{Method, Request};
use http_body_util::BodyExt;
use jiff::Timestamp;
use objects::Resource;
use objectstore::{Memory, Options};
use serde_json::{Value, json};
use tower::ServiceExt;

/// The token of the test's administrator.
pub(crate) const TOKEN: &str = "test-token";

/// A clock that stands still.
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// The administrator, as in-process callers name themselves.
pub(crate) fn admin() -> Whose {
    Whose {
        user: User::new("admin", &["system:masters"]),
        agent: "test".to_owned(),
    }
}

/// A definition of a namespaced kind with status, a required field, a default and a finalizer's worth of room.
pub(crate) fn shoes() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shoes.test.dev"},
        "spec": {
            "group": "test.dev", "scope": "Namespaced",
            "names": {"plural": "shoes", "singular": "shoe", "kind": "Shoe", "listKind": "ShoeList", "shortNames": ["sh"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "selectableFields": [{"jsonPath": ".spec.size"}],
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["size"], "properties": {
                        "size": {"type": "integer", "minimum": 1},
                        "colour": {"type": "string", "default": "black"},
                    }},
                    "status": {"type": "object", "properties": {
                        "conditions": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                        "worn": {"type": "boolean"},
                    }},
                }}},
            }],
        },
    })
}

/// A server without a socket, threads, wall clock or randomness.
pub(crate) async fn still(medium: &Memory, resources: Vec<Resource>) -> Server {
    let builder = resources
        .into_iter()
        .fold(still_builder(medium), apiserver::ServerBuilder::resource);
    builder.build().await.expect("build")
}

/// What [`still`] is made of.
pub(crate) fn still_builder(medium: &Memory) -> apiserver::ServerBuilder {
    Server::builder()
        .memory(medium.clone())
        .store_options(Options::default())
        .clock(Arc::new(Still))
        .counted_uids(1)
        .crd(shoes())
}

/// A server on a socket; with a directory it is durable.
pub(crate) async fn listening(directory: Option<&Path>) -> (Server, Running) {
    let mut builder = Server::builder()
        .token(TOKEN, User::new("admin", &["system:masters"]))
        .crd(shoes());
    if let Some(directory) = directory {
        builder = builder.data_dir(directory);
    }
    let server = builder.build().await.expect("build");
    let running = server
        .listen(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .expect("listen");
    (server, running)
}

/// Sends a request through the router as the administrator; answers status and body.
pub(crate) async fn ask(
    server: &Server,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let (code, body, _) = ask_as(
        server,
        method,
        path,
        "application/json",
        body,
        Some(admin()),
    )
    .await;
    (code, body)
}

/// As [`ask`] with a content type and an identity; the warnings come too.
pub(crate) async fn ask_as(
    server: &Server,
    method: Method,
    path: &str,
    content_type: &str,
    body: Option<Value>,
    whose: Option<Whose>,
) -> (u16, Value, Vec<String>) {
    let response = raw(server, method, path, content_type, body, whose).await;
    let code = response.status().as_u16();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings
        .map(|w| w.to_str().expect("text").to_owned())
        .collect();
    let bytes = response
        .into_body()
        .collect()
        .await
        .expect("body")
        .to_bytes();
    let value = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).into_owned()));
    (code, value, warnings)
}

/// Sends a request through the router and answers the response as it comes.
pub(crate) async fn raw(
    server: &Server,
    method: Method,
    path: &str,
    content_type: &str,
    body: Option<Value>,
    whose: Option<Whose>,
) -> Response {
    let body = body.map_or_else(Body::empty, |b| Body::from(b.to_string()));
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type);
    if let Some(whose) = whose {
        request = request.extension(whose);
    }
    let request = request.body(body).expect("request");
    server
        .router("127.0.0.1:0")
        .oneshot(request)
        .await
        .expect("infallible")
}

/// A shoe.
pub(crate) fn shoe(name: &str, size: i64) -> Value {
    json!({"apiVersion": "test.dev/v1", "kind": "Shoe", "metadata": {"name": name}, "spec": {"size": size}})
}
