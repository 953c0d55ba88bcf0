//! Requests of a test, in its namespace.

use offshoot::client::Client;
use serde_json::{Value, json};

pub(super) const VARIANTS: Kind = Kind("/apis/config.porch.kpt.dev/v1alpha1", "packagevariants");
pub(super) const SETS: Kind = Kind("/apis/config.porch.kpt.dev/v1alpha2", "packagevariantsets");
pub(super) const REPOSITORIES: Kind = Kind("/apis/config.porch.kpt.dev/v1alpha1", "repositories");
pub(super) const REVISIONS: Kind = Kind("/apis/porch.kpt.dev/v1alpha1", "packagerevisions");
pub(super) const RESOURCES: Kind = Kind("/apis/porch.kpt.dev/v1alpha1", "packagerevisionresources");
pub(super) const EVENTS: Kind = Kind("/api/v1", "events");
pub(super) const MAPS: Kind = Kind("/api/v1", "configmaps");

/// A group, a version and a plural.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(&'static str, &'static str);

/// A connection that works in one namespace.
pub(super) struct Api {
    pub(super) client: Client,
    pub(super) namespace: String,
}

impl Api {
    pub(super) fn path(&self, kind: Kind, rest: &str) -> String {
        format!("{}/namespaces/{}/{}{rest}", kind.0, self.namespace, kind.1)
    }

    /// Reads one object; `null` where it is not there.
    pub(super) async fn get(&self, kind: Kind, name: &str) -> Value {
        let path = self.path(kind, &format!("/{name}"));
        self.client.get(&path).await.unwrap_or(Value::Null)
    }

    /// All of a kind, with a query.
    pub(super) async fn list(&self, kind: Kind, query: &str) -> Vec<Value> {
        let list = self.client.get(&self.path(kind, query)).await;
        match list {
            Ok(mut list) => match list["items"].take() {
                Value::Array(items) => items,
                other => unreachable!("a list without items: {other}"),
            },
            Err(why) => unreachable!("a list of {}: {why}", kind.1),
        }
    }

    pub(super) async fn create(&self, kind: Kind, object: &Value) -> Value {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(self.namespace);
        match self.client.post(&self.path(kind, ""), &object).await {
            Ok(created) => created,
            Err(why) => unreachable!("create {object}: {why}"),
        }
    }

    /// The text of a refusal.
    pub(super) async fn refused(&self, kind: Kind, query: &str, object: &Value) -> String {
        match self.client.post(&self.path(kind, query), object).await {
            Ok(made) => unreachable!("it was not refused: {made}"),
            Err(why) => why.to_string(),
        }
    }

    pub(super) async fn patch(
        &self,
        kind: Kind,
        name: &str,
        patch: Value,
    ) -> Result<Value, String> {
        let path = self.path(kind, &format!("/{name}"));
        let answer = self.client.patch(&path, &patch).await;
        answer.map_err(|why| why.to_string())
    }

    pub(super) async fn delete(&self, kind: Kind, name: &str) -> Result<Value, String> {
        let path = self.path(kind, &format!("/{name}"));
        self.client
            .delete(&path)
            .await
            .map_err(|why| why.to_string())
    }

    /// Asks for a lifecycle at the main door, or at the approval door.
    pub(super) async fn lifecycle(
        &self,
        name: &str,
        to: &str,
        door: &str,
    ) -> Result<Value, String> {
        let patch = json!({ "spec": { "lifecycle": to } });
        self.patch(REVISIONS, &format!("{name}{door}"), patch).await
    }

    /// Proposes, and says what the approval said.
    pub(super) async fn approve(&self, name: &str) -> Result<Value, String> {
        self.lifecycle(name, "Proposed", "").await?;
        self.lifecycle(name, "Published", "/approval").await
    }
}
