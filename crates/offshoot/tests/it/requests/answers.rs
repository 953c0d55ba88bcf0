//! One scenario's requests, filled with what this server told, and its answers in the words of the recordings.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::world::World;

/// What a scenario has heard so far.
pub(super) struct Told<'a> {
    world: &'a World,
    /// What `demo` and `team` are here: as long, since some bodies count their bytes.
    pub(super) namespaces: [(&'static str, String); 2],
    /// Objects by plural and name, as they were told last.
    objects: BTreeMap<(String, String), Value>,
    /// The last answer's message.
    pub(super) said: String,
}

/// Status and kind, as the recording has them.
pub(super) fn recorded(request: &Value) -> (u64, String) {
    let kind = request["response"].as_str().unwrap_or_default();
    (
        request["status"].as_u64().unwrap_or_default(),
        kind.to_owned(),
    )
}

impl<'a> Told<'a> {
    pub(super) fn new(world: &'a World, number: usize) -> Self {
        Self {
            world,
            namespaces: [
                ("demo", format!("d{number:03}")),
                ("team", format!("t{number:03}")),
            ],
            objects: BTreeMap::new(),
            said: String::new(),
        }
    }

    /// Asks, and asks again while something is not there yet or has just moved.
    pub(super) async fn ask(
        &mut self,
        request: &Value,
        user: Option<&str>,
        (patience, better): (Duration, impl Fn(&(u64, String)) -> bool),
    ) -> (u64, String) {
        let started = Instant::now();
        let wanted = recorded(request);
        // What a finalizer holds is answered as an object: the controller must have come by.
        let held = request["method"] == "DELETE" && wanted.1.starts_with("Repository ");
        while held
            && started.elapsed() < patience
            && self.look(request).await
            && !self.is_held(request)
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        loop {
            let answer = self.once(request, user).await;
            let late = started.elapsed() > patience;
            let again = match request["method"].as_str() {
                Some("GET") => !late,
                Some("PUT") => answer.0 == 409 && !late && self.look(request).await,
                _ => false,
            };
            if answer == wanted || better(&answer) || !again {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }

    /// Reads the object of a request anew.
    async fn look(&mut self, request: &Value) -> bool {
        let mut get = request.clone();
        get["method"] = "GET".into();
        get.as_object_mut().unwrap().remove("body");
        self.once(&get, None).await.0 == 200
    }

    /// Whether a finalizer stood on the object of a request when it was told last.
    fn is_held(&self, request: &Value) -> bool {
        let uri = self.here(request["uri"].as_str().unwrap());
        let object = self.objects.get(&place(&uri));
        let finalizers = object.and_then(|o| o["metadata"]["finalizers"].as_array());
        finalizers.is_some_and(|all| !all.is_empty())
    }

    async fn once(&mut self, request: &Value, user: Option<&str>) -> (u64, String) {
        let uri = self.here(request["uri"].as_str().unwrap());
        let mut builder = http::Request::builder()
            .method(request["method"].as_str().unwrap())
            .uri(&uri);
        let discovery =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        let aggregated = request["response"]
            .as_str()
            .is_some_and(|r| r.starts_with("APIGroupDiscoveryList"));
        let accept = request["accept"].as_str().filter(|a| !a.is_empty());
        let accept = if aggregated { Some(discovery) } else { accept };
        builder = builder.header("accept", accept.unwrap_or("application/json"));
        if let Some(media) = request["content_type"].as_str() {
            builder = builder.header("content-type", media);
        }
        if let Some(user) = user {
            builder = builder.header("impersonate-user", user);
        }
        let place = place(&uri);
        let body = match request.get("body") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => self.here(text).into_bytes(),
            Some(body) => {
                let body: Value = serde_json::from_str(&self.here(&body.to_string())).unwrap();
                fill(&body, self.objects.get(&place))
                    .to_string()
                    .into_bytes()
            }
        };
        let answer = self
            .world
            .client()
            .exchange(builder.body(body).unwrap())
            .await;
        let (code, media, bytes) = answer.unwrap();
        let object: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        self.said = object["message"].as_str().unwrap_or_default().to_owned();
        self.remember(&place.0, &object);
        let word = |name: &str| object[name].as_str().unwrap_or_default();
        let kind = if object.is_object() {
            format!("{} {}", word("kind"), word("apiVersion"))
        } else {
            media
        };
        (u64::from(code), kind)
    }

    /// A recorded text with the names of this world.
    fn here(&self, text: &str) -> String {
        let root = format!("file://{}/", self.world.root().display());
        let mut text = text.replace("http://git.example.test/", &root);
        for (theirs, ours) in &self.namespaces {
            for (before, after) in [
                ("/namespaces/", ""),
                ("\"", "\""),
                ("%3D", ""),
                ("/", "/"),
                ("\u{4}", "\""),
            ] {
                text = text.replace(
                    &format!("{before}{theirs}{after}"),
                    &format!("{before}{ours}{after}"),
                );
            }
        }
        text
    }

    fn remember(&mut self, plural: &str, object: &Value) {
        let items = object["items"].as_array().cloned().unwrap_or_default();
        for object in items.iter().chain([object]) {
            if let Some(name) = object["metadata"]["name"].as_str() {
                let at = (plural.to_owned(), name.to_owned());
                self.objects.insert(at, object.clone());
            }
        }
    }
}

/// The plural and the name of a path.
fn place(uri: &str) -> (String, String) {
    let path = uri.split('?').next().unwrap_or_default();
    let rest = path
        .split_once("/namespaces/")
        .map_or(path, |(_, rest)| rest);
    let mut parts = rest.split('/').skip(1);
    let mut next = || parts.next().unwrap_or_default().to_owned();
    (next(), next())
}

/// Puts what this server told last into the places of placeholders.
fn fill(body: &Value, last: Option<&Value>) -> Value {
    match body {
        Value::Object(map) => {
            let one = |(k, v): (&String, &Value)| (k.clone(), fill(v, last.and_then(|l| l.get(k))));
            Value::Object(map.iter().map(one).collect())
        }
        Value::Array(items) => {
            let one = |(i, v): (usize, &Value)| fill(v, last.and_then(|l| l.get(i)));
            items.iter().enumerate().map(one).collect()
        }
        Value::String(text) if text.contains('<') => match (text.as_str(), last) {
            ("<uid>" | "<rv>" | "<commit>" | "<time>", Some(Value::String(told))) => {
                told.clone().into()
            }
            ("<rv>", _) => "".into(),
            _ => text
                .replace("<uid>", "00000000-0000-0000-0000-000000000000")
                .replace("<commit>", &"0".repeat(40))
                .replace("<time>", "2026-01-01T00:00:00Z")
                .into(),
        },
        other => other.clone(),
    }
}
