//! A server that tells a fleet which nobody made: what a board lists, and changes of it. Ten thousand variants are there in
//! a second, and no engine works beside what is measured.

use std::collections::{BTreeMap, BTreeSet};
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

/// All that is told.
struct Answers {
    /// By the last part of their address.
    kinds: BTreeMap<String, Told>,
    /// What else is there, by the last two parts of its address; of what is asked by a POST the last one.
    others: Mutex<BTreeMap<String, Value>>,
    /// What is not answered yet: last parts of addresses.
    held: Mutex<BTreeSet<String>>,
    /// Whether whoever asks may do everything, or nothing but look.
    allowed: bool,
    /// Who asks.
    user: String,
}

const KINDS: [&str; 4] = [
    "repositories",
    "packagevariantsets",
    "packagevariants",
    "packagerevisions",
];

/// A running one.
pub(super) struct Fake {
    answers: Arc<Answers>,
    address: String,
}

impl Fake {
    /// Starts one that knows nothing yet, for a user who may do everything, or nothing but look.
    pub(super) async fn start(user: &str, allowed: bool) -> Self {
        let told = |kind: &str| {
            let (lines, _) = broadcast::channel(1 << 10);
            let objects = Mutex::default();
            (kind.to_owned(), Told { objects, lines })
        };
        let answers = Arc::new(Answers {
            kinds: KINDS.into_iter().map(told).collect(),
            others: Mutex::default(),
            held: Mutex::default(),
            allowed,
            user: user.to_owned(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(answer);
        let router = router.with_state(Arc::clone(&answers));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { answers, address }
    }

    /// Tells of an object, as it is now.
    pub(super) fn put(&self, kind: &str, object: &Value) {
        let told = &self.answers.kinds[kind];
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        told.objects.lock().unwrap().insert(name, object.clone());
        let event = json!({ "type": "MODIFIED", "object": object });
        // Nobody may follow yet.
        drop(told.lines.send(format!("{event}\n")));
    }

    /// What else it answers, at an address of these last parts.
    pub(super) fn also(&self, place: &str, answer: Value) {
        let mut others = self.answers.others.lock().unwrap();
        others.insert(place.to_owned(), answer);
    }

    /// Lets whoever asks for what ends so wait, or no longer.
    pub(super) fn hold(&self, last: &str, wait: bool) {
        let mut held = self.answers.held.lock().unwrap();
        match wait {
            true => held.insert(last.to_owned()),
            false => held.remove(last),
        };
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

async fn answer(State(answers): State<Arc<Answers>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let (above, last) = path.rsplit_once('/').unwrap();
    let (_, above) = above.rsplit_once('/').unwrap();
    while answers.held.lock().unwrap().contains(last) {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    if last.starts_with("selfsubject") {
        let status =
            json!({ "allowed": answers.allowed, "userInfo": { "username": answers.user } });
        return json!({ "status": status }).to_string().into_response();
    }
    let others = |place: &str| answers.others.lock().unwrap().get(place).cloned();
    let Some(told) = answers.kinds.get(last) else {
        let one = answers.kinds.get(above);
        let one = one.and_then(|told| told.objects.lock().unwrap().get(last).cloned());
        let found = one
            .or_else(|| others(last))
            .or_else(|| others(&format!("{above}/{last}")));
        return match found {
            Some(found) => found.to_string().into_response(),
            None => http::StatusCode::NOT_FOUND.into_response(),
        };
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
