//! The clients: seeded writes, reads and lists at the same time, some of them cut off, and watchers that begin on the way.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apiserver::Server;
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::check::{Answer, Event, Told};
use crate::world::{admin, ask, raw, shoe};

const SHOES: &str = "/apis/test.dev/v1/namespaces/default/shoes";
const KEYS: u64 = 5;

/// A list's version, its state, and a watcher that follows from it.
type Follower = (u64, BTreeMap<String, u64>, Watcher);

/// What all clients share.
#[derive(Clone, Default)]
pub(super) struct Clients {
    seed: u64,
    moment: Arc<AtomicU64>,
    answers: Arc<Mutex<Vec<Answer>>>,
    /// Requests that were cut off: whether they were done nobody knows.
    pub(super) cut: Arc<AtomicUsize>,
}

fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version");
    text.parse().expect("a number")
}

fn name(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .expect("a name")
        .to_owned()
}

/// A list's version and what was in it.
pub(super) async fn list(server: &Server) -> (u64, BTreeMap<String, u64>) {
    let (code, list) = ask(server, Method::GET, SHOES, None).await;
    assert_eq!(code, 200, "{list}");
    let items = list["items"].as_array().expect("items").iter();
    (
        version(&list),
        items.map(|i| (name(i), version(i))).collect(),
    )
}

/// A last write, and the list after it.
pub(super) async fn marker(server: &Server, called: &str) -> (u64, BTreeMap<String, u64>) {
    let (code, made) = ask(server, Method::POST, SHOES, Some(shoe(called, 1))).await;
    assert_eq!(code, 201, "{made}");
    let (_, state) = list(server).await;
    (version(&made), state)
}

impl Clients {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    pub(super) fn answers(&self) -> Vec<Answer> {
        self.answers.lock().expect("answers").clone()
    }

    fn now(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::SeqCst)
    }

    /// Four clients and two watchers on one server; the last requests are cut off.
    pub(super) async fn run(
        &self,
        server: &Arc<Server>,
        round: u64,
        operations: u64,
    ) -> Vec<Follower> {
        let mut working = Vec::new();
        for client in 0..4 {
            let (this, server) = (self.clone(), Arc::clone(server));
            let mut state = self.seed * 1000 + round * 100 + client;
            working.push(tokio::spawn(async move {
                for _ in 0..operations {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    this.one(&server, state >> 33).await;
                }
            }));
        }
        let mut followers = Vec::new();
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(15)).await;
            let (rv, state) = list(server).await;
            followers.push((rv, state, Watcher::start(server, rv).await));
        }
        for work in working {
            work.await.expect("a client");
        }
        for number in 0..6 {
            let (this, server) = (self.clone(), Arc::clone(server));
            let cut = tokio::spawn(async move { this.one(&server, number * 7 + round).await });
            tokio::task::yield_now().await;
            cut.abort();
            if cut.await.is_err() {
                self.cut.fetch_add(1, Ordering::SeqCst);
            }
        }
        followers
    }

    /// One request, as a number says.
    async fn one(&self, server: &Server, number: u64) {
        let key = format!("k{}", number % KEYS);
        let path = format!("{SHOES}/{key}");
        let start = self.now();
        let told = match number / KEYS % 7 {
            0 | 1 => {
                let (code, made) = ask(server, Method::POST, SHOES, Some(shoe(&key, 1))).await;
                (code == 201).then(|| wrote(&key, version(&made), false, None))
            }
            2 | 3 => self.update(server, &key, &path, number).await,
            4 => {
                let body = json!({"propagationPolicy": "Background"});
                self.delete(server, &key, &path, body).await
            }
            5 => {
                let (code, got) = ask(server, Method::GET, &path, None).await;
                let rv = (code == 200).then(|| version(&got));
                Some(Told::Read { key, rv })
            }
            _ => {
                let (rv, items) = list(server).await;
                Some(Told::Listed { rv, items })
            }
        };
        let end = self.now();
        if let Some(told) = told {
            self.answers
                .lock()
                .expect("answers")
                .push(Answer { start, end, told });
        }
    }

    /// Reads, and writes on what was read: another write in between is a conflict.
    async fn update(&self, server: &Server, key: &str, path: &str, number: u64) -> Option<Told> {
        let (code, mut object) = ask(server, Method::GET, path, None).await;
        if code != 200 {
            return None;
        }
        let on = version(&object);
        object["spec"]["size"] = json!(2 + number);
        let (code, written) = ask(server, Method::PUT, path, Some(object)).await;
        // The same content again is no write.
        (code == 200 && version(&written) > on)
            .then(|| wrote(key, version(&written), false, Some(on)))
    }

    /// Deletes what was read; the version of a deletion is seen by watchers only, so it tells nothing here but that it is
    /// gone.
    async fn delete(&self, server: &Server, key: &str, path: &str, body: Value) -> Option<Told> {
        let (code, _) = ask(server, Method::DELETE, path, Some(body)).await;
        (code == 404).then(|| Told::Read {
            key: key.to_owned(),
            rv: None,
        })
    }
}

fn wrote(key: &str, rv: u64, deleted: bool, on: Option<u64>) -> Told {
    Told::Wrote {
        key: key.to_owned(),
        rv,
        deleted,
        on,
    }
}

/// A watch that is read in the background.
pub(super) struct Watcher {
    events: Arc<Mutex<Vec<Event>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Watcher {
    pub(super) async fn start(server: &Server, from: u64) -> Self {
        let path = format!("{SHOES}?watch=1&resourceVersion={from}&allowWatchBookmarks=true");
        let response = raw(
            server,
            Method::GET,
            &path,
            "application/json",
            None,
            Some(admin()),
        )
        .await;
        assert_eq!(response.status(), 200);
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let seen = Arc::clone(&events);
        let task = tokio::spawn(async move {
            let mut body = response.into_body();
            let mut rest = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                rest.extend_from_slice(frame.data_ref().map_or(&[][..], |d| d));
                while let Some(end) = rest.iter().position(|b| *b == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    let line: Value = serde_json::from_slice(&line).expect("an event");
                    let object = &line["object"];
                    seen.lock().expect("events").push(Event {
                        kind: line["type"].as_str().expect("a type").to_owned(),
                        key: object["metadata"]["name"]
                            .as_str()
                            .unwrap_or_default()
                            .to_owned(),
                        rv: version(object),
                    });
                }
            }
        });
        Self { events, task }
    }

    /// The events up to a version, once it is there.
    pub(super) async fn until(self, last: u64) -> Vec<Event> {
        let started = std::time::Instant::now();
        loop {
            let events = self.events.lock().expect("events").clone();
            if events.last().is_some_and(|e| e.rv >= last) {
                self.task.abort();
                return events;
            }
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "version {last} never came: {events:?}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
