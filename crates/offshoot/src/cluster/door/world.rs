//! A cluster to test against: our own API server in memory, behind a client of the cluster's. Each request is counted, and
//! answers can be held back or refused.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use apiserver::gateway::User;
use apiserver::{Server, Whose};
use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use kube::Client;
use serde_json::{Value, json};

/// What the tests see and decide of the cluster.
#[derive(Debug, Default)]
pub(super) struct Watched {
    asked: Mutex<Vec<String>>,
    /// Whether nothing is answered but 500.
    pub(super) down: AtomicBool,
    /// How many of the next answers are lost.
    pub(super) lost: AtomicUsize,
    /// How many milliseconds each answer takes.
    pub(super) slow: AtomicUsize,
}

impl Watched {
    /// How many requests began with these words, `POST /apis/…`.
    pub(super) fn asked(&self, words: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|one| one.starts_with(words)).count()
    }
}

/// A cluster.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) seen: Arc<Watched>,
}

impl World {
    /// With the user ann, who has a token; a kind that the server does not know is a definition here.
    pub(super) async fn new() -> Self {
        let group = "admissionregistration.k8s.io";
        let plural = "mutatingwebhookconfigurations";
        let webhooks = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{plural}.{group}"),
                "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
            },
            "spec": {
                "group": group, "scope": "Cluster", "names": {"kind": "MutatingWebhookConfiguration", "plural": plural},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }}}],
            },
        });
        let builder = Server::builder().token("ann-token", User::new("ann", &["team"]));
        let server = builder.crd(webhooks).build().await.unwrap();
        Self {
            server,
            seen: Arc::default(),
        }
    }

    /// A client of somebody who may do everything.
    pub(super) fn client(&self) -> Client {
        let admin = Whose {
            user: User::new("offshoot", &["system:masters"]),
            agent: "offshoot".to_owned(),
        };
        let router = self.server.router("127.0.0.1:6443");
        let watched = from_fn_with_state(Arc::clone(&self.seen), watch);
        let router = router.layer(Extension(admin)).layer(watched);
        Client::new(router, "default")
    }

    /// Writes an object as it is given, over what is there.
    pub(super) async fn apply(&self, path: &str, object: Value) {
        let request = http::Request::patch(format!("{path}?fieldManager=test&force=true"));
        let request = request.header("content-type", "application/apply-patch+yaml");
        let request = request.body(serde_json::to_vec(&object).unwrap()).unwrap();
        self.client().request::<Value>(request).await.unwrap();
    }

    /// Changes an object by a JSON patch.
    pub(super) async fn patch(&self, path: &str, patch: Value) {
        let request = http::Request::patch(path);
        let request = request.header("content-type", "application/json-patch+json");
        let request = request.body(serde_json::to_vec(&patch).unwrap()).unwrap();
        self.client().request::<Value>(request).await.unwrap();
    }

    /// An object.
    pub(super) async fn get(&self, path: &str) -> Value {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        self.client().request(request).await.unwrap()
    }
}

async fn watch(State(seen): State<Arc<Watched>>, request: Request, next: Next) -> Response {
    let asked = format!("{} {}", request.method(), request.uri());
    seen.asked.lock().unwrap().push(asked);
    let slow = u64::try_from(seen.slow.load(Ordering::SeqCst)).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(slow)).await;
    if seen.down.load(Ordering::SeqCst) {
        return (StatusCode::INTERNAL_SERVER_ERROR, "etcdserver: no leader").into_response();
    }
    let response = next.run(request).await;
    let less = |left: usize| left.checked_sub(1);
    match seen
        .lost
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
    {
        Ok(_) => StatusCode::BAD_GATEWAY.into_response(),
        Err(_) => response,
    }
}
