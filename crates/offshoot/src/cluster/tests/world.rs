//! A cluster in memory: the embedded server with our definitions. Each request is noted; answers can be lost after the
//! request was done, and the cluster can be away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apiserver::aggregated::Mirror;
use apiserver::gateway::User;
use apiserver::{Server, Whose};
use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use objectstore::{Memory, Options, Store};
use serde_json::json;

use super::super::door::Identity;
use super::super::host::ClusterHost;
use super::super::lease::{Lease, Replica};
use super::super::records::Ingest;
use super::super::remote::Remote;
use super::super::replicas::Replicas;
use super::super::seen::Seen;
use super::super::term::{Term, boot_time};

/// What is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// The answer: what was asked is done.
    Answer,
    /// The request: nothing is done.
    Request,
    /// The answer, and nobody says so: the connection stays.
    Silence,
}

/// What the tests decide of the cluster, and see of it.
#[derive(Debug, Default)]
pub(super) struct Watched {
    asked: Mutex<Vec<String>>,
    /// What is lost of the next request that begins so.
    lose: Mutex<Option<(String, Loss)>>,
    /// Whether nobody answers.
    pub(super) away: AtomicBool,
}

impl Watched {
    /// How many requests began with these words, `POST /apis/…`.
    pub(super) fn asked(&self, words: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|one| one.starts_with(words)).count()
    }

    /// Does the next request that begins so, and loses its answer.
    pub(super) fn lose(&self, words: &str) {
        self.lose_of(words, Loss::Answer);
    }

    /// Loses a part of the next request that begins so.
    pub(super) fn lose_of(&self, words: &str, loss: Loss) {
        *self.lose.lock().unwrap() = Some((words.to_owned(), loss));
    }

    /// Whether the request whose part was to be lost has come.
    pub(super) fn has_lost(&self) -> bool {
        self.lose.lock().unwrap().is_none()
    }
}

async fn watch(State(seen): State<Arc<Watched>>, request: Request, next: Next) -> Response {
    let words = format!("{} {}", request.method(), request.uri().path());
    seen.asked.lock().unwrap().push(words.clone());
    if seen.away.load(Ordering::SeqCst) {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let lost = {
        let mut lose = seen.lose.lock().unwrap();
        let lost = lose.take_if(|(lose, _)| words.starts_with(lose.as_str()));
        lost.map(|(_, loss)| loss)
    };
    if lost == Some(Loss::Request) {
        return StatusCode::GATEWAY_TIMEOUT.into_response();
    }
    let response = next.run(request).await;
    match lost {
        None => response,
        Some(Loss::Silence) => std::future::pending().await,
        Some(_) => StatusCode::GATEWAY_TIMEOUT.into_response(),
    }
}

/// A cluster.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) seen: Arc<Watched>,
}

impl World {
    pub(super) async fn new() -> Self {
        let mut builder = Server::builder().crd(api::records_crd().unwrap());
        for crd in api::embedded_crds().unwrap() {
            builder = builder.crd(crd);
        }
        let world = Self {
            server: builder.build().await.unwrap(),
            seen: Arc::default(),
        };
        let remote = world.remote();
        for name in ["shop", "offshoot-system"] {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let resource = super::super::namespaces::resource();
            remote.create(&resource, "", &namespace).await.unwrap();
        }
        world
    }

    /// A client of somebody who may do everything.
    pub(super) fn client(&self) -> kube::Client {
        let admin = Whose {
            user: User::new("offshoot", &["system:masters"]),
            agent: "offshoot".to_owned(),
        };
        let router = self.server.router("127.0.0.1:6443");
        let watched = from_fn_with_state(Arc::clone(&self.seen), watch);
        kube::Client::new(router.layer(Extension(admin)).layer(watched), "default")
    }

    pub(super) fn remote(&self) -> Remote {
        Remote::new(self.client())
    }

    /// A Lease as one replica knows it, with its term.
    pub(super) fn lease(&self, id: &str) -> (Arc<Lease>, Arc<Term>) {
        let term = Term::new();
        let me = Replica {
            id: id.to_owned(),
            address: format!("{id}:10250"),
            fingerprint: format!("f-{id}"),
        };
        let place = ("offshoot-system", "offshoot");
        let lease = Lease::new(self.remote(), place, me, Arc::clone(&term));
        (Arc::new(lease), term)
    }

    /// A host whose records are followed, in a term.
    pub(super) async fn host(&self, number: i64) -> (ClusterHost, Arc<Term>) {
        let (lease, term) = self.lease("a");
        term.renewed(number, boot_time());
        let seen = Arc::<Seen>::default();
        let records = Ingest::new(Arc::clone(&seen), Arc::clone(&term));
        let store = Store::in_memory(Memory::new(), Options::default()).unwrap();
        records.feeds(Mirror::new(store, "packagerevisions.porch.kpt.dev".into()));
        let host = ClusterHost {
            remote: self.remote().within(&term),
            identity: Arc::new(Identity::new(self.client())),
            replicas: Replicas::of(&lease, "a"),
            seen,
            records: Arc::clone(&records),
            term: Arc::clone(&term),
        };
        let remote = self.remote();
        tokio::spawn({
            let records = Arc::clone(&records);
            async move { records.run(remote).await }
        });
        let mirror = records.mirror().unwrap();
        let heard = mirror
            .wait(Duration::from_secs(5), |m| m.version() > 0)
            .await;
        assert!(heard, "the records are listed");
        (host, term)
    }
}
