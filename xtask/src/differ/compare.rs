//! Whether two answers say the same, under the rules by which recordings are compared with answers.
//!
//! What a server chooses by itself (uids, versions, times, generated names, opaque tokens) may differ, but must stand for the same
//! thing throughout a sequence: [`Binder`] remembers which of ours is which of the real one's.

use serde_json::{Map, Value};

use super::bind::Binder;
use super::client::Answer;
use super::packed;
use super::step::{Mode, Step};

/// One place where two answers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) at: String,
    pub(super) ours: String,
    pub(super) peer: String,
}

/// The headers that mean something to clients. `audit-id`, `date`, lengths and the marks of flow control do not.
const HEADERS: [&str; 8] = [
    "content-type",
    "cache-control",
    "vary",
    "location",
    "retry-after",
    "allow",
    "www-authenticate",
    "x-content-type-options",
];

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Compares the answers to one step.
pub(super) fn compare(
    step: &Step,
    ours: &Answer,
    peer: &Answer,
    binder: &mut Binder,
) -> Vec<Difference> {
    let mut out = Out::default();
    if ours.status != peer.status {
        // The bodies have little in common then: what they say is all that helps.
        let said = |answer: &Answer| {
            let message = answer
                .json()
                .and_then(|v| v["message"].as_str().map(str::to_owned));
            let text =
                message.unwrap_or_else(|| String::from_utf8_lossy(&answer.body).into_owned());
            format!("{} {text}", answer.status)
        };
        out.push("status", &said(ours), &said(peer));
        return out.found;
    }
    headers(ours, peer, binder, &mut out);
    let bodies = [body(step, ours), body(step, peer)];
    match bodies {
        [Ok(ours), Ok(peer_body)] => {
            let [ours, peer_body] = reduced(&step.path, ours, peer_body);
            AnswerWalk {
                binder,
                out: &mut out,
                packed: peer.header("content-type").starts_with(PROTOBUF),
            }
            .values(&ours, &peer_body, "");
        }
        [ours, peer] => {
            let text =
                |body: Result<Value, String>| body.map_or_else(|text| text, |v| v.to_string());
            let (ours, peer) = (text(ours), text(peer));
            if !binder.alike(&ours, &peer) {
                out.push("text", &ours, &peer);
            }
        }
    }
    out.found
}

#[derive(Default)]
struct Out {
    found: Vec<Difference>,
}

impl Out {
    fn push(&mut self, at: &str, ours: &str, peer: &str) {
        let short = |text: &str| text.chars().take(600).collect();
        self.found.push(Difference {
            at: at.to_owned(),
            ours: short(ours),
            peer: short(peer),
        });
    }
}

fn headers(ours: &Answer, peer: &Answer, binder: &mut Binder, out: &mut Out) {
    let plain = |text: &str| text.replace(' ', "").to_lowercase();
    for name in HEADERS {
        let (ours, peer) = (ours.header(name), peer.header(name));
        if plain(ours) != plain(peer) {
            out.push(&format!("header {name}"), ours, peer);
        }
    }
    let has = |answer: &Answer| (!answer.header("etag").is_empty()).to_string();
    if has(ours) != has(peer) {
        out.push("header etag", ours.header("etag"), peer.header("etag"));
    }
    let warnings = |answer: &Answer| {
        let all = answer.headers.get_all("warning").iter();
        let all = all.filter_map(|v| v.to_str().ok());
        all.collect::<Vec<_>>().join(" | ")
    };
    let (ours, peer) = (warnings(ours), warnings(peer));
    // A warning may name an object by its uid.
    if ours != peer && !binder.alike(&ours, &peer) {
        out.push("header warning", &ours, &peer);
    }
}

/// A body as a value, or the text that it is.
fn body(step: &Step, answer: &Answer) -> Result<Value, String> {
    let text = || String::from_utf8_lossy(&answer.body).into_owned();
    if step.mode == Mode::Watch && answer.status == 200 {
        let lines = answer.body.split_inclusive(|b| *b == b'\n');
        // What was cut off when the watch was left is no event.
        let lines = lines.filter(|line| line.ends_with(b"\n"));
        let events = lines.map(|line| serde_json::from_slice(line).map_err(|_| text()));
        let events: Result<Vec<Value>, String> = events.collect();
        return Ok(Value::Array(told(events?)));
    }
    if answer
        .header("content-type")
        .starts_with("application/json")
    {
        // A watch that ended in time is a text of several.
        let lines = || -> Option<Value> {
            let lines = answer.body.split(|b| *b == b'\n').filter(|l| !l.is_empty());
            let events: Result<Vec<Value>, _> = lines.map(serde_json::from_slice).collect();
            events.ok().map(|events| Value::Array(told(events)))
        };
        return answer.json().or_else(lines).ok_or_else(text);
    }
    if answer.header("content-type").starts_with(PROTOBUF) {
        return packed::value(&answer.body).ok_or_else(text);
    }
    if answer
        .header("content-type")
        .starts_with("application/yaml")
    {
        let limits = yaml::Limits::default();
        return yaml::first_document_json(&text(), yaml::Reader::Sigs, false, &limits)
            .map_err(|_| text());
    }
    Err(text())
}

/// Events without the bookmarks that a clock decides about: only the one that ends the first state is due at a known moment, and
/// it may come before or after what happened meanwhile.
fn told(mut events: Vec<Value>) -> Vec<Value> {
    const COLUMNS: &str = "/object/columnDefinitions";
    let bookmark = |event: &Value| event["type"] == "BOOKMARK";
    // What comes first tells the columns, whatever is left of the rest.
    let first = events.first_mut().and_then(|e| e.pointer_mut(COLUMNS));
    let mut columns = first.map(Value::take).unwrap_or_default();
    let ends_the_first_state = |event: &Value| {
        let places = [
            "/object/metadata/annotations",
            "/object/rows/0/object/metadata/annotations",
        ];
        places.iter().any(|place| event.pointer(place).is_some())
    };
    events.retain(|e| !bookmark(e) || ends_the_first_state(e));
    // Made by a controller that does not run beside the real server.
    let account = |e: &Value| {
        e["object"]["kind"] == "ServiceAccount" && e["object"]["metadata"]["name"] == "default"
    };
    events.retain(|e| !account(e));
    events.sort_by_key(bookmark);
    if let Some(place) = events.first_mut().and_then(|e| e.pointer_mut(COLUMNS)) {
        *place = columns.take();
    }
    events
}

/// Whether a path asks for all there is of a kind that is in no namespace: what other sequences made comes and goes meanwhile, and the
/// servers bring some of their own. What is no parameter selects nothing.
fn of_all(path: &str) -> bool {
    let mut parts = path.split('?');
    let collection = parts.next().unwrap_or_default().trim_end_matches('/');
    let shared = ["/namespaces", "/clusterroles", "/sites"];
    let selected = parts.next().is_some_and(|query| query.contains("Selector"));
    shared.iter().any(|kind| collection.ends_with(kind)) && (!selected || parts.next().is_some())
}

/// Both answers without what a server lists of itself: groups and kinds of a cluster that a small server has not.
fn reduced(path: &str, mut ours: Value, mut peer: Value) -> [Value; 2] {
    for document in [&mut ours, &mut peer] {
        packed::keep(document, |kind, name| {
            (kind, name) != ("ServiceAccountList", "default")
        });
        if of_all(path) {
            packed::keep(document, |_, _| false);
            keep(document, "items", |_| false);
            keep(document, "rows", |_| false);
        }
    }
    let kind = ours["kind"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "APIGroupList" | "APIGroupDiscoveryList" => {
            let (list, name) = match kind.as_str() {
                "APIGroupList" => ("groups", "/name"),
                _ => ("items", "/metadata/name"),
            };
            for document in [&mut ours, &mut peer] {
                keep(document, list, |item| {
                    let name = item.pointer(name).and_then(Value::as_str);
                    name.is_some_and(|name| name.ends_with("example.dev"))
                });
                for group in document[list].as_array_mut().into_iter().flatten() {
                    for version in group["versions"].as_array_mut().into_iter().flatten() {
                        by_name(&mut version["resources"], "resource");
                    }
                }
            }
        }
        "APIResourceList" => {
            let of_cluster = !path.contains("example.dev");
            let names = |document: &Value| -> Vec<Value> {
                let all = document["resources"].as_array().into_iter().flatten();
                all.map(|r| r["name"].clone()).collect()
            };
            let known = [names(&ours), names(&peer)];
            for document in [&mut ours, &mut peer] {
                keep(document, "resources", |r| {
                    !of_cluster || known.iter().all(|names| names.contains(&r["name"]))
                });
                // The real server lists the kinds of definitions in random order.
                by_name(&mut document["resources"], "name");
            }
        }
        "ServiceAccountList" => {
            // Made by a controller that does not run beside the real server.
            for document in [&mut ours, &mut peer] {
                keep(document, "items", |a| a["metadata"]["name"] != "default");
            }
        }
        _ => {}
    }
    [ours, peer]
}

fn keep(document: &mut Value, list: &str, wanted: impl Fn(&Value) -> bool) {
    if let Some(items) = document.get_mut(list).and_then(Value::as_array_mut) {
        items.retain(|item| wanted(item));
    }
}

fn by_name(list: &mut Value, name: &str) {
    if let Some(items) = list.as_array_mut() {
        items.sort_by_key(|item| item[name].as_str().unwrap_or_default().to_owned());
    }
}

struct AnswerWalk<'a> {
    binder: &'a mut Binder,
    out: &'a mut Out,
    /// Whether these are fields of protobuf, which no name says what they are.
    packed: bool,
}

impl AnswerWalk<'_> {
    fn differ(&mut self, at: &str, ours: &Value, peer: &Value) {
        self.out.push(at, &ours.to_string(), &peer.to_string());
    }

    fn values(&mut self, ours: &Value, peer: &Value, at: &str) {
        match (ours, peer) {
            (Value::String(o), Value::String(p)) => {
                if !self.texts(o, p, at) {
                    self.differ(at, ours, peer);
                }
            }
            (Value::Object(o), Value::Object(p)) => self.maps(o, p, at),
            (Value::Array(o), Value::Array(p)) if o.len() == p.len() => {
                let (mut o, mut p) = (o.clone(), p.clone());
                let owners = at.ends_with("/managedFields");
                // Schema violations, and the rules that bindings grant, come in random order from the real server.
                if owners || at.ends_with("/causes") || at.ends_with("Rules") {
                    o.sort_by_cached_key(|v| key(v, owners));
                    p.sort_by_cached_key(|v| key(&self.binder.turned(v), owners));
                }
                if at.ends_with("/items") || at.ends_with("/rows") {
                    self.binder.generated_last(&mut o, &mut p);
                }
                for (i, (o, p)) in o.iter().zip(&p).enumerate() {
                    self.values(o, p, &format!("{at}/{i}"));
                }
            }
            (Value::Number(o), Value::Number(p)) if o.as_f64() == p.as_f64() => {}
            (o, p) if o == p || (self.packed && packed::moments(o, p)) => {}
            (o, p) => self.differ(at, o, p),
        }
    }

    fn maps(&mut self, ours: &Map<String, Value>, peer: &Map<String, Value>, at: &str) {
        let kind = ours.get("kind").and_then(Value::as_str).unwrap_or_default();
        let list = kind == "Table" || (kind.ends_with("List") && ours.contains_key("items"));
        let bookmark = ours.get("type").and_then(Value::as_str) == Some("BOOKMARK");
        // In a table a bookmark is a row.
        let moving: &[&str] = match (list, bookmark) {
            (true, _) => &["/metadata/resourceVersion"],
            (_, true) => &[
                "/object/metadata/resourceVersion",
                "/object/rows/0/object/metadata/resourceVersion",
            ],
            _ => &[],
        };
        for place in moving {
            self.binder.moving(format!("{at}{place}"));
        }
        for (key, value) in ours {
            // Keys of managed fields hold uids of owners.
            let there = peer.get(key).or_else(|| {
                let found = peer.iter().find(|(other, _)| self.binder.alike(key, other));
                found.map(|(_, value)| value)
            });
            match there {
                Some(other) => self.values(value, other, &format!("{at}/{key}")),
                None => self
                    .out
                    .push(&format!("{at}/{key}"), &value.to_string(), "(missing)"),
            }
        }
        for (key, value) in peer {
            let there =
                ours.contains_key(key) || ours.keys().any(|other| self.binder.alike(other, key));
            if !there {
                self.out
                    .push(&format!("{at}/{key}"), "(missing)", &value.to_string());
            }
        }
    }

    fn texts(&mut self, ours: &str, peer: &str, at: &str) -> bool {
        if at.ends_with("/resourceVersion") {
            return self.binder.version(ours, peer, at);
        }
        if at.ends_with("/continue") {
            return ours.is_empty() == peer.is_empty();
        }
        if at.contains("/cells/") && Binder::ages(ours, peer) {
            return true;
        }
        if ours == peer || self.binder.alike(ours, peer) {
            return true;
        }
        if self.packed {
            return packed::versions(ours, peer) || self.binder.name(ours, peer);
        }
        if at.ends_with("name") && self.binder.name(ours, peer) {
            return true;
        }
        if !at.ends_with("/message") {
            return false;
        }
        // A refused object's generated name stands in the text alone.
        let (ours, peer) = (
            Binder::ungenerated(ours),
            Binder::ungenerated(&self.binder.turned_text(peer)),
        );
        parts(&ours) == parts(&peer)
    }
}

/// The parts of a message that lists several errors, in any order.
fn parts(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text.split([',', '[', ']', '\n']).map(str::trim).collect();
    parts.sort_unstable();
    parts
}

fn key(value: &Value, owners: bool) -> String {
    if owners {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let names = ["manager", "operation", "apiVersion", "subresource"];
        return names.map(text).join(" ");
    }
    value.to_string()
}
