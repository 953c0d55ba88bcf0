//! What the user may do, as the server says: who may not gets no button, and is refused by the server anyway.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, SETS};

/// How long an answer is believed; roles change seldom, and the server decides in the end.
const BELIEVED: Duration = Duration::from_secs(20);

/// Who asks, and what they may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rights {
    /// Propose drafts and deletions.
    pub(super) propose: bool,
    /// Approve and reject.
    pub(super) approve: bool,
    /// Carry out deletions that were proposed.
    pub(super) delete: bool,
    /// Decide conflicts.
    pub(super) resolve: bool,
    /// Ask for plans.
    pub(super) plan: bool,
    /// Say something to rollouts.
    pub(super) rollout: bool,
}

impl Rights {
    /// Whether nothing is allowed that changes anything.
    pub(super) fn only_looks(self) -> bool {
        let all = [
            self.propose,
            self.approve,
            self.delete,
            self.resolve,
            self.rollout,
        ];
        !all.contains(&true)
    }
}

/// The last answer.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<(Instant, Rights)>>);

impl Known {
    /// What the user may do now.
    pub(super) async fn get(&self, client: &Client) -> Rights {
        let held = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, rights)) = held
            && at.elapsed() < BELIEVED
        {
            return rights;
        }
        let porch = "porch.kpt.dev";
        let (update, approval, delete, files, plans, sets) = tokio::join!(
            may(client, ("update", porch, "packagerevisions", "")),
            may(client, ("update", porch, "packagerevisions", "approval")),
            may(client, ("delete", porch, "packagerevisions", "")),
            may(client, ("update", porch, "packagerevisionresources", "")),
            may(client, ("create", "fleet.offshoot.dev", "plans", "")),
            may(client, ("patch", "config.porch.kpt.dev", SETS.1, "")),
        );
        let rights = Rights {
            propose: update,
            approve: approval,
            // What was published is deleted by whoever may approve.
            delete: delete && approval,
            resolve: update && files,
            plan: plans,
            rollout: sets,
        };
        let now = Some((Instant::now(), rights));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
        rights
    }
}

/// Asks the server; whatever is no clear yes is a no.
async fn may(client: &Client, (verb, group, resource, sub): (&str, &str, &str, &str)) -> bool {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "namespace": client.namespace, "verb": verb, "group": group,
            "resource": resource, "subresource": sub,
        } },
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = client.post(path, &review).await.unwrap_or_default();
    answer.pointer("/status/allowed") == Some(&Value::Bool(true))
}

/// The user's name, as the server knows it; empty if it does not say.
pub(super) async fn who(client: &Client) -> String {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = client.post(path, &review).await.unwrap_or_default();
    let name = api::str_at(&answer, &["status", "userInfo", "username"]);
    name.unwrap_or_default().to_owned()
}
