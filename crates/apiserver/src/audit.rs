//! The audit log: who asked for what and how it was answered, one JSON event a line.
//!
//! Events have the shape of `audit.k8s.io/v1` at level `Metadata`: never a body, and of requests about Secrets not
//! even the text of a refusal, which may quote one. An event is written with the answer: what was answered before a
//! crash of the process stands in the file.

mod file;

use http::request::Parts;
use jiff::Timestamp;
use objects::Failure;
use serde_json::{Map, Value, json};

use crate::authn::Caller;
use crate::gateway::{User, Verb};
use crate::verbs::RequestTarget;

pub use file::{Audit, Rotation};

/// What is known of a request, gathered while it is answered.
#[derive(Debug)]
pub(crate) struct Trail {
    event: Map<String, Value>,
    secret: bool,
    decided: Option<String>,
}

fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// A user as events show one.
fn person(user: &User) -> Value {
    let mut out = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        out["uid"] = user.uid.clone().into();
    }
    if !user.extra.is_empty() {
        out["extra"] = json!(user.extra);
    }
    out
}

impl Trail {
    /// Begins with what the request says.
    pub(crate) fn begin(parts: &Parts, id: &str, now: Timestamp) -> Self {
        let agent = parts.headers.get(http::header::USER_AGENT);
        let agent = agent.and_then(|v| v.to_str().ok()).unwrap_or_default();
        let uri = parts.uri.path_and_query().map_or("/", |p| p.as_str());
        let from = parts.extensions.get::<std::net::SocketAddr>();
        let from = from.map(|a| a.ip().to_string());
        let event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": id,
            "requestURI": uri, "verb": parts.method.as_str().to_lowercase(), "user": {},
            "sourceIPs": from.into_iter().collect::<Vec<_>>(), "userAgent": agent,
            "requestReceivedTimestamp": micros(now),
        });
        Self {
            event: match event {
                Value::Object(map) => map,
                _ => Map::new(),
            },
            secret: false,
            decided: None,
        }
    }

    /// Who came in, and as whom.
    pub(crate) fn caller(&mut self, caller: &Caller) {
        let (user, other) = match &caller.behind {
            Some(behind) => (behind, Some(&caller.whose.user)),
            None => (&caller.whose.user, None),
        };
        self.event.insert("user".to_owned(), person(user));
        if let Some(other) = other {
            let other = person(other);
            self.event.insert("impersonatedUser".to_owned(), other);
        }
    }

    /// What is addressed.
    pub(crate) fn target(&mut self, target: &RequestTarget, verb: Option<Verb>) {
        if let Some(verb) = verb {
            self.event.insert("verb".to_owned(), verb.word().into());
        }
        let resource = &target.resource;
        self.secret = resource.group.is_empty()
            && (resource.plural == "secrets" || target.subresource == "token");
        let version = target.rules().map(|r| r.version.name.clone());
        let version = version.unwrap_or_default();
        let mut object = Map::new();
        for (field, text) in [
            ("resource", resource.plural.as_str()),
            ("namespace", &target.namespace),
            ("name", &target.name),
            ("apiGroup", &resource.group),
            ("apiVersion", &version),
            ("subresource", &target.subresource),
        ] {
            if !text.is_empty() {
                object.insert(field.to_owned(), text.into());
            }
        }
        self.event.insert("objectRef".to_owned(), object.into());
    }

    /// Why it was allowed.
    pub(crate) fn allowed(&mut self, reason: &str) {
        self.decided = Some(reason.to_owned());
    }

    /// Ends with how it was answered.
    pub(crate) fn end(mut self, code: u16, failure: Option<&Failure>, now: Timestamp) -> Value {
        let watch = self.event.get("verb").is_some_and(|v| v == "watch") && failure.is_none();
        let stage = if watch {
            "ResponseStarted"
        } else {
            "ResponseComplete"
        };
        let mut status = json!({"metadata": {}, "code": code});
        if let Some(failure) = failure {
            status["status"] = "Failure".into();
            let reason = failure.reason.word();
            if !reason.is_empty() {
                status["reason"] = reason.into();
            }
            if !self.secret {
                status["message"] = failure.message.clone().into();
            }
        }
        let mut notes = Map::new();
        match (self.decided, failure) {
            (Some(reason), _) => {
                notes.insert("authorization.k8s.io/decision".to_owned(), "allow".into());
                notes.insert("authorization.k8s.io/reason".to_owned(), reason.into());
            }
            (None, Some(failure)) if failure.code == 403 => {
                notes.insert("authorization.k8s.io/decision".to_owned(), "forbid".into());
            }
            _ => {}
        }
        self.event.insert("stage".to_owned(), stage.into());
        self.event.insert("responseStatus".to_owned(), status);
        self.event
            .insert("stageTimestamp".to_owned(), micros(now).into());
        if !notes.is_empty() {
            self.event.insert("annotations".to_owned(), notes.into());
        }
        self.event.into()
    }
}
