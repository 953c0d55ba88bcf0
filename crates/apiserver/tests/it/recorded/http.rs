//! Recordings at the level of HTTP.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use apiserver::Server;
use apiserver::authn::Peer;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use http_body_util::BodyExt;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use tower::ServiceExt;

use super::Replay;
use super::compare::{compare, project, reduce};
use super::tokens::Tokens;
use crate::world::TOKEN;

/// A watch that is open.
#[derive(Default)]
struct Stream {
    lines: Arc<Mutex<Vec<Value>>>,
    ended: Arc<Mutex<bool>>,
    taken: usize,
}

/// Who answers.
pub(crate) enum Asked<'a> {
    /// Our server, in this process.
    Ours(&'a Server),
    /// Another one.
    Peer(&'a super::peer::Peer),
}

struct Run<'a> {
    server: &'a Asked<'a>,
    tokens: Tokens,
    streams: BTreeMap<String, Stream>,
    alice: Option<Peer>,
}

/// What a connection with a certificate of the server's authority is judged to be.
fn with_certificate(server: &Server, name: &str, group: &str) -> Peer {
    let issued = server.issue(name, &[group.to_owned()], 1).expect("issue");
    let der = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("PEM");
    server.certificates().judge(&[der]).expect("a certificate")
}

/// Replays one file.
pub(crate) async fn replay(server: &Asked<'_>, file: &Value) -> Replay {
    let mut run = Run {
        server,
        tokens: Tokens::default(),
        streams: BTreeMap::new(),
        alice: match server {
            Asked::Ours(server) => Some(with_certificate(server, "alice", "shop-team")),
            Asked::Peer(_) => None,
        },
    };
    let mut replay = Replay::default();
    for (i, step) in file["steps"].as_array().expect("steps").iter().enumerate() {
        let differences = match step["do"].as_str().expect("a step") {
            "request" => run.request(step).await,
            "watch-start" => run.start(step).await,
            "watch-collect" => run.collect(step).await,
            "wait" => run.wait(step).await,
            "compact" => match server {
                Asked::Ours(server) => {
                    server.handle().compact();
                    Vec::new()
                }
                Asked::Peer(_) => vec!["cannot be compacted from outside".to_owned()],
            },
            _ => {
                let seconds = step["seconds"].as_f64().unwrap_or(2.0);
                run.pass(Duration::from_secs_f64(seconds)).await;
                continue;
            }
        };
        replay.steps += 1;
        if !differences.is_empty() {
            replay.differ.push((i, differences.join("; ")));
        }
    }
    replay
}

impl Run<'_> {
    /// Housekeeping is done here, where the recording waited for it, and nowhere else: between two
    /// requests of a recording nothing moves by itself.
    async fn settle(&self) {
        if let Asked::Ours(server) = self.server {
            server.handle().settle().await.expect("housekeeping");
        }
    }

    /// Lets as much time pass as a real server needs for its housekeeping; ours has it done at once.
    async fn pass(&self, time: Duration) {
        match self.server {
            Asked::Ours(_) => self.settle().await,
            Asked::Peer(_) => tokio::time::sleep(time).await,
        }
    }

    async fn send(&self, request: &Value, user: &str) -> Response {
        let path = self.tokens.fill(request["path"].as_str().expect("path"));
        let mut builder = Request::builder()
            .method(request["method"].as_str().expect("method"))
            .uri(path);
        for (name, value) in request["headers"].as_object().into_iter().flatten() {
            builder = builder.header(name, value.as_str().expect("header"));
        }
        let body = match (request.get("body"), request.get("bodyText")) {
            (Some(body), _) => Body::from(self.tokens.fill_value(body).to_string()),
            (_, Some(text)) => Body::from(self.tokens.fill(text.as_str().expect("text"))),
            _ => Body::empty(),
        };
        let server = match self.server {
            Asked::Ours(server) => server,
            Asked::Peer(peer) => {
                let request = builder.body(body).expect("request");
                return peer.send(request, user).await;
            }
        };
        builder = match user {
            // As a connection brings it: the server judges the certificate itself.
            "alice" => builder.extension(self.alice.clone().expect("a certificate")),
            "admin" => builder.header("authorization", format!("Bearer {TOKEN}")),
            "anonymous" => builder,
            other => builder.header("authorization", format!("Bearer user-{other}")),
        };
        let request = builder.body(body).expect("request");
        server
            .router("127.0.0.1:0")
            .oneshot(request)
            .await
            .expect("infallible")
    }

    async fn request(&mut self, step: &Value) -> Vec<String> {
        let response = self
            .send(&step["request"], step["user"].as_str().unwrap_or("admin"))
            .await;
        let recorded = &step["response"];
        let mut out = Vec::new();
        let status = response.status().as_u16();
        if recorded["status"] != status {
            out.push(format!("status {status} instead of {}", recorded["status"]));
        }
        let etag = response
            .headers()
            .get("etag")
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default();
        if let Some(wanted) = recorded["headers"]["etag"].as_str()
            && !self.tokens.matches(wanted, etag)
        {
            out.push(format!("etag {etag} instead of {wanted}"));
        }
        let plain = step["compare"] == "status";
        if !plain {
            headers(&response, recorded, &mut out);
        }
        let bytes = response
            .into_body()
            .collect()
            .await
            .expect("body")
            .to_bytes();
        let actual: Option<Value> = serde_json::from_slice(&bytes).ok();
        if plain {
            let bind = recorded.get("bind").cloned().unwrap_or_default();
            if let Some(actual) = actual.filter(|_| !bind.is_null()) {
                drop(compare(
                    &mut self.tokens,
                    &bind,
                    &project(&bind, &actual),
                    &[],
                ));
            }
            return out;
        }
        let sets = step["unstable"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let sets: Vec<String> = sets.map(|s| s.replace("/response/body", "")).collect();
        match (recorded.get("body"), recorded.get("bodyText")) {
            (Some(body), _) => match actual {
                Some(actual) => {
                    let actual = reduce(body, &actual, step.get("reduced").is_some());
                    out.extend(compare(&mut self.tokens, body, &actual, &sets));
                }
                None => out.push(format!("no JSON: {}", String::from_utf8_lossy(&bytes))),
            },
            (_, Some(text)) => {
                let unstable = sets.iter().any(|s| s == "Text");
                out.extend(self.text(text.as_str().expect("text"), &bytes, unstable));
            }
            _ => {}
        }
        out
    }

    /// Compares a text; one that differed between recordings of the same server holds a version of that server.
    fn text(&mut self, wanted: &str, found: &[u8], unstable: bool) -> Option<String> {
        let found = String::from_utf8_lossy(found).into_owned();
        let same = if unstable {
            self.tokens.matches(&unversioned(wanted), &found)
        } else {
            self.tokens.matches(wanted, &found)
        };
        (!same).then(|| format!("text {found}"))
    }

    async fn start(&mut self, step: &Value) -> Vec<String> {
        let response = self
            .send(&step["request"], step["user"].as_str().unwrap_or("admin"))
            .await;
        let status = response.status().as_u16();
        if step["response"]["status"] != status {
            return vec![format!("status {status}")];
        }
        let stream = Stream::default();
        let (lines, ended) = (Arc::clone(&stream.lines), Arc::clone(&stream.ended));
        tokio::spawn(async move {
            let mut body = response.into_body();
            let mut rest = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                rest.extend_from_slice(frame.data_ref().map_or(&[][..], |d| d));
                while let Some(end) = rest.iter().position(|b| *b == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    lines
                        .lock()
                        .expect("lines")
                        .push(serde_json::from_slice(&line).expect("an event"));
                }
            }
            *ended.lock().expect("ended") = true;
        });
        self.streams
            .insert(step["id"].as_str().expect("id").to_owned(), stream);
        // Ours stands where it is since its headers came; another server may need a moment.
        self.pass(Duration::from_millis(150)).await;
        Vec::new()
    }

    async fn collect(&mut self, step: &Value) -> Vec<String> {
        self.settle().await;
        let Some(stream) = self.streams.get_mut(step["id"].as_str().expect("id")) else {
            return vec!["the watch was not opened".to_owned()];
        };
        let wanted = step["events"].as_array().map_or(0, Vec::len);
        let to_end = step["closedBy"] == "server";
        let started = Instant::now();
        // Only a failure takes this long.
        let patience = Duration::from_secs(if to_end { 60 } else { 8 });
        loop {
            let there = stream.lines.lock().expect("lines").len() - stream.taken;
            let ended = *stream.ended.lock().expect("ended");
            if started.elapsed() > patience || ended || (!to_end && there >= wanted) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let after = match self.server {
            Asked::Ours(_) => 100,
            Asked::Peer(_) => 400,
        };
        tokio::time::sleep(Duration::from_millis(after)).await;
        let all = stream.lines.lock().expect("lines").clone();
        let mut events = all[stream.taken..].to_vec();
        stream.taken = all.len();
        let mut recorded = step["events"].as_array().cloned().unwrap_or_default();
        let note = step["note"].as_str().unwrap_or_default();
        if note.contains("repeated bookmarks may come") {
            bookmarked_once(&mut events);
        }
        let unstable = step["unstable"].as_array();
        if unstable.is_some_and(|all| all.contains(&"/events".into())) {
            in_no_time(&mut recorded);
            in_no_time(&mut events);
        }
        compare(&mut self.tokens, &recorded.into(), &events.into(), &[])
    }

    async fn wait(&mut self, step: &Value) -> Vec<String> {
        let request = serde_json::json!({"method": "GET", "path": step["path"]});
        let started = Instant::now();
        self.settle().await;
        while started.elapsed() < Duration::from_secs(30) {
            let response = self.send(&request, "admin").await;
            let there = response.status().as_u16() != 404;
            let body = response.into_body().collect().await.expect("body");
            let body = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
            if holds(step["until"].as_str().expect("until"), there, &body) {
                return Vec::new();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.settle().await;
        }
        vec![format!("never: {}", step["until"])]
    }
}

/// Whether what a recording waited for in its own words has come.
fn holds(until: &str, there: bool, object: &Value) -> bool {
    let gone = ["gone", "no longer", "is deleted"];
    if gone.iter().any(|word| until.contains(word)) {
        return !there;
    }
    let condition = match until.strip_prefix("condition ") {
        Some(rest) => rest.strip_suffix(" is True"),
        None => (until == "Established").then_some(until),
    };
    if let Some(condition) = condition {
        let all = object["status"]["conditions"].as_array();
        let mut all = all.into_iter().flatten();
        return all.any(|c| c["type"] == condition && c["status"] == "True");
    }
    if until.contains("reference to the deleted owner is taken out") {
        let owners = object["metadata"]["ownerReferences"].as_array();
        return owners.is_none_or(|owners| owners.len() < 2);
    }
    if until.contains("schema has the enum") {
        return there && object.to_string().contains("\"enum\"");
    }
    there
}

/// Without the bookmarks that follow another one: how many come depends on the server's clock.
fn bookmarked_once(events: &mut Vec<Value>) {
    events.dedup_by(|next, last| next["type"] == "BOOKMARK" && last["type"] == "BOOKMARK");
}

/// Without what a clock decides where a recording calls the events unstable: the plain bookmarks, and the place of the one that
/// ends the first state.
fn in_no_time(events: &mut Vec<Value>) {
    let bookmark = |event: &Value| event["type"] == "BOOKMARK";
    events.retain(|e| !bookmark(e) || e.pointer("/object/metadata/annotations").is_some());
    events.sort_by_key(bookmark);
}

/// A YAML text without the number of its resource version.
fn unversioned(text: &str) -> String {
    regex::Regex::new("resourceVersion: \"[0-9]+\"")
        .expect("pattern")
        .replace_all(text, "resourceVersion: \"$$RV\"")
        .into_owned()
}

fn headers(response: &Response, recorded: &Value, out: &mut Vec<String>) {
    let plain = |text: &str| text.replace(' ', "").to_lowercase();
    let media = response
        .headers()
        .get("content-type")
        .map_or("", |v| v.to_str().unwrap_or_default());
    if let Some(wanted) = recorded["headers"]["content-type"]
        .as_str()
        .filter(|w| plain(w) != plain(media))
    {
        out.push(format!("content-type {media} instead of {wanted}"));
    }
    let wanted = match &recorded["headers"]["warning"] {
        Value::Array(list) => list
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Value::String(one) => vec![one.clone()],
        _ => Vec::new(),
    };
    let found = response.headers().get_all("warning").iter();
    let found: Vec<String> = found
        .filter_map(|v| v.to_str().ok())
        .map(str::to_owned)
        .collect();
    if wanted != found {
        out.push(format!("warnings {found:?} instead of {wanted:?}"));
    }
}
