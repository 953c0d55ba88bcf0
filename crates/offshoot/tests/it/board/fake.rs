//! A server that tells a fleet which nobody made: what a board lists, and changes of it. Ten thousand variants are there in
//! a second, and no engine works beside what is measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::broadcast;

/// What is told of a kind: the objects, and changes as lines of a watch.
struct Told {
    objects: Mutex<BTreeMap<String, Value>>,
    lines: broadcast::Sender<String>,
}

/// All kinds, by the last part of their address.
type Kinds = Arc<BTreeMap<String, Told>>;

const KINDS: [&str; 4] = [
    "repositories",
    "packagevariantsets",
    "packagevariants",
    "packagerevisions",
];

/// A running one.
pub(super) struct Fake {
    kinds: Kinds,
    address: String,
}

impl Fake {
    /// Starts one that knows nothing yet.
    pub(super) async fn start() -> Self {
        let told = |kind: &str| {
            let (lines, _) = broadcast::channel(1 << 10);
            let objects = Mutex::default();
            (kind.to_owned(), Told { objects, lines })
        };
        let kinds: Kinds = Arc::new(KINDS.into_iter().map(told).collect());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(answer);
        let router = router.with_state(Arc::clone(&kinds));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { kinds, address }
    }

    /// Tells of an object, as it is now.
    pub(super) fn put(&self, kind: &str, object: &Value) {
        let told = &self.kinds[kind];
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        told.objects.lock().unwrap().insert(name, object.clone());
        let event = json!({ "type": "MODIFIED", "object": object });
        // Nobody may follow yet.
        drop(told.lines.send(format!("{event}\n")));
    }

    /// A kubeconfig that names it.
    pub(super) fn kubeconfig(&self, directory: &Path) -> PathBuf {
        let file = directory.join("kubeconfig");
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{ "name": "fake", "cluster": { "server": self.address } }],
            "users": [{ "name": "fake", "user": { "token": "none" } }],
            "contexts": [{ "name": "fake", "context": { "cluster": "fake", "user": "fake", "namespace": "default" } }],
        });
        std::fs::write(&file, text.to_string()).unwrap();
        file
    }
}

async fn answer(State(kinds): State<Kinds>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let (_, last) = path.rsplit_once('/').unwrap();
    if last.starts_with("selfsubject") {
        // Whoever asks may do everything, and has a name.
        let status = json!({ "allowed": true, "userInfo": { "username": "ann" } });
        return json!({ "status": status }).to_string().into_response();
    }
    let Some(told) = kinds.get(last) else {
        return http::StatusCode::NOT_FOUND.into_response();
    };
    if request.uri().query().unwrap_or_default().contains("watch=") {
        let lines = told.lines.subscribe();
        let lines = futures::stream::unfold(lines, |mut lines| async move {
            let line = lines.recv().await.ok()?;
            Some((Ok::<_, std::convert::Infallible>(line), lines))
        });
        return Body::from_stream(lines.boxed()).into_response();
    }
    let objects = told.objects.lock().unwrap();
    let items: Vec<&Value> = objects.values().collect();
    let list = json!({ "metadata": { "resourceVersion": "1" }, "items": items });
    list.to_string().into_response()
}
