//! The cluster's question before it stores a variant, a set or a repository: who wrote it (X6), and who named its Secret (X8)?
//!
//! `POST /written-by` answers it with a patch of one annotation, by the rules of the embedded server. Whoever forges the
//! annotation changes nothing; our own account stamps nothing, but what it writes for somebody keeps that record. The answer
//! depends on the question alone, so that every replica gives it at any time.

mod patch;
mod room;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use apiserver::gateway::User;
use apiserver::{Setters, Writers};
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use self::room::{Room, Unread};
use crate::ports::{setters, writers};

/// How long a question may be, in bytes: the object before and after, each as long as the cluster takes one.
const LIMIT: usize = 8 << 20;

/// How long one may take to arrive; the cluster sends it at once, and waits five seconds for the answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The rules, and who we are.
#[derive(Debug)]
struct Stamp {
    writers: Writers,
    setters: Setters,
    room: Room,
}

/// The path that the cluster's webhook asks. `own` is the name of the user that this program is in the cluster,
/// `system:serviceaccount:NAMESPACE:NAME`.
pub fn written_by(own: &str) -> Router {
    let stamp = Stamp {
        writers: writers(own.to_owned()),
        setters: setters(own.to_owned()),
        room: Room::default(),
    };
    let answer = post(answer).with_state(Arc::new(stamp));
    Router::new().route("/written-by", answer)
}

#[derive(Deserialize)]
struct Review {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    resource: Resource,
    #[serde(default)]
    sub_resource: String,
    operation: String,
    user_info: UserInfo,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

#[derive(Deserialize)]
struct Resource {
    group: String,
    resource: String,
}

#[derive(Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
    #[serde(default)]
    groups: Vec<String>,
}

/// Why a question is not answered; the cluster then refuses the write.
type Refused = (StatusCode, String);

async fn answer(
    State(stamp): State<Arc<Stamp>>,
    from: Option<Extension<ConnectInfo<IpAddr>>>,
    body: Body,
) -> Response {
    let from = from.map(|Extension(ConnectInfo(address))| address);
    match stamp.review(from, body).await {
        Ok(review) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (json, review.to_string()).into_response()
        }
        Err(refused) => refused.into_response(),
    }
}

impl Stamp {
    async fn review(&self, from: Option<IpAddr>, body: Body) -> Result<Value, Refused> {
        let read = tokio::time::timeout(PATIENCE, self.room.take(from, body, LIMIT)).await;
        let taken = match read {
            Ok(Ok(taken)) => taken,
            Ok(Err(Unread::TooLong)) => {
                let why = format!("the question is longer than {LIMIT} bytes, or was cut off");
                return Err((StatusCode::PAYLOAD_TOO_LARGE, why));
            }
            Err(_) => {
                let why = "the question did not arrive in time".to_owned();
                return Err((StatusCode::REQUEST_TIMEOUT, why));
            }
        };
        self.reviewed(taken.text())
    }

    fn reviewed(&self, text: &[u8]) -> Result<Value, Refused> {
        let bad = |why: String| (StatusCode::BAD_REQUEST, why);
        let review: Review = serde_json::from_slice(text)
            .map_err(|e| bad(format!("this is no AdmissionReview: {e}")))?;
        if (review.api_version.as_str(), review.kind.as_str())
            != ("admission.k8s.io/v1", "AdmissionReview")
        {
            return Err(bad(
                "only AdmissionReview of admission.k8s.io/v1 is answered".to_owned(),
            ));
        }
        let request = review.request;
        let changes = self.changes(&request);
        let mut response = json!({"uid": request.uid, "allowed": true});
        if !changes.is_empty() {
            response["patchType"] = "JSONPatch".into();
            response["patch"] = STANDARD.encode(Value::from(changes).to_string()).into();
        }
        let warnings = warnings(&request);
        if !warnings.is_empty() {
            response["warnings"] = warnings.into();
        }
        Ok(json!({"apiVersion": review.api_version, "kind": review.kind, "response": response}))
    }

    /// What is to be changed in the object.
    fn changes(&self, request: &Request) -> Vec<Value> {
        let written = matches!(request.operation.as_str(), "CREATE" | "UPDATE");
        if !written || !request.sub_resource.is_empty() || !request.object.is_object() {
            return Vec::new();
        }
        let Resource { group, resource } = &request.resource;
        let user = User {
            name: request.user_info.username.clone(),
            groups: request.user_info.groups.clone(),
            ..User::default()
        };
        let old = Some(&request.old_object).filter(|old| old.is_object());
        let mut new = request.object.clone();
        let listed = |(g, r): &(String, String)| (g, r) == (group, resource);
        if self.writers.resources.iter().any(listed) {
            let own = user.name == self.writers.own;
            self.writers.sign(&user, own, old, &mut new);
            patch::of_annotation(&request.object, &new, self.writers.annotation)
        } else if listed(&self.setters.resource) {
            let own = user.name == self.setters.own;
            self.setters.sign(&user, own, old, &mut new);
            patch::of_annotation(&request.object, &new, self.setters.annotation)
        } else {
            Vec::new()
        }
    }
}

/// What whoever writes a set is told of its rollout.
fn warnings(request: &Request) -> Vec<String> {
    let is_set = request.resource.resource == "packagevariantsets";
    let written = matches!(request.operation.as_str(), "CREATE" | "UPDATE");
    if !is_set || !written || !request.sub_resource.is_empty() {
        return Vec::new();
    }
    let set = api::read_set(&request.object).and_then(|(_, _, spec)| spec.ok());
    set.map_or_else(Vec::new, |spec| spec.rollout_warnings())
}

#[cfg(test)]
mod tests;
