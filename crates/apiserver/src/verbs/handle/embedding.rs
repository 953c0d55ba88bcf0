//! What the embedding program asks beside the verbs: what is served and was counted, who wrote what and may do what, what would
//! come of a write, and what was imported from another server.

use std::collections::BTreeMap;
use std::sync::Arc;

use objects::write::update::Means;
use objects::write::{FieldValidation, WriteOptions};
use objects::{Failure, Resource};
use objectstore::{Object, ResourceKey};
use serde_json::Value;

use super::super::write::Compute;
use super::super::{RequestTarget, Whose};
use super::ServerHandle;
use crate::access::{AccessDecision, Attributes, User};
use crate::aggregated::Mirror;
use crate::connections::ConnectionNumbers;
use crate::gateway::Verb;
use crate::metrics::RequestKey;

impl ServerHandle {
    /// All resources that are served now, ordered by group and plural.
    #[must_use]
    pub fn resources(&self) -> Vec<Arc<Resource>> {
        self.core.registry.catalog().iter().cloned().collect()
    }

    /// Addresses the resource of a kind; `None` if the version is not served, or nothing of this kind.
    #[must_use]
    pub fn target_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<RequestTarget> {
        let catalog = self.core.registry.catalog();
        let resource = catalog.by_kind(group, kind)?;
        RequestTarget::find(&catalog, group, version, &resource.plural)
    }

    /// The newest resource version that was given out.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.core.store.rv()
    }

    /// An identity of the program's own, which may do everything.
    #[must_use]
    pub fn own(&self, name: &str) -> Whose {
        self.core.own(name)
    }

    /// Decides a request that the program makes for somebody, as if they had made it.
    pub async fn may(&self, request: &Attributes<'_>) -> AccessDecision {
        self.core.may(request).await
    }

    /// Who last wrote an object, as far as it was recorded.
    #[must_use]
    pub fn writer_of(&self, object: &Object) -> Option<User> {
        self.core.writer_of(object)
    }

    /// Who set the field of an object whose setter is recorded, as far as it was.
    #[must_use]
    pub fn setter_of(&self, object: &Value) -> Option<User> {
        self.core.setter_of(object)
    }

    /// Whether a record of this name was ever removed; lasts as long as the store does. Where so many were removed that the
    /// oldest names are forgotten, any name counts as used.
    #[must_use]
    pub fn is_retired(&self, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
        self.core.is_retired(group, resource, namespace, name)
    }

    /// What would be stored if an object were created now. Nothing is written, and a field that is not known is refused.
    ///
    /// # Errors
    /// What a client would be told.
    pub async fn would_create(
        &self,
        target: &RequestTarget,
        object: Value,
        whose: &Whose,
    ) -> Result<Value, Failure> {
        let options = without_writing(whose);
        let create = self.core.create(target, whose, object, &options);
        Ok(create.await?.object.value())
    }

    /// What would be stored if an object were replaced by what is computed from what is stored now. Nothing is written, and a
    /// field that is not known is refused.
    ///
    /// # Errors
    /// What a client would be told.
    pub async fn would_update(
        &self,
        target: &RequestTarget,
        compute: &(dyn Fn(&Value) -> Value + Send + Sync),
        whose: &Whose,
    ) -> Result<Value, Failure> {
        let options = without_writing(whose);
        let compute: &Compute<'_> = &|old: &Value| Ok((compute(old), Means::Put));
        let modify = self
            .core
            .modify(target, whose, Verb::Update, compute, &options);
        Ok(modify.await?.object.value())
    }

    /// Creates an object as another server has it: its uid, times, generation and status stay. It passes the rules of its kind
    /// as any other, and whoever imports it is its writer.
    ///
    /// # Errors
    /// Whatever the rules, the namespace or the store refuse.
    pub async fn import(
        &self,
        target: &RequestTarget,
        object: Value,
        whose: &Whose,
    ) -> Result<(), Failure> {
        self.core.import(target, whose, object).await
    }

    /// A mirror, in this server's store, of what the cluster around it keeps of a resource. Nobody else may write that resource
    /// here.
    #[must_use]
    pub fn mirror(&self, group: &str, plural: &str) -> Mirror {
        let resource = ResourceKey::from(format!("{plural}.{group}"));
        Mirror::new(self.core.store.clone(), resource)
    }

    /// How many requests were answered.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<RequestKey, u64> {
        self.core.metrics.requests()
    }

    /// The connections of this moment; none for a server that has no socket.
    #[must_use]
    pub fn connections(&self) -> ConnectionNumbers {
        self.core.metrics.connections()
    }

    /// Says what `/metrics` answers with (OpenMetrics text); the first call decides.
    pub fn expose(&self, page: impl Fn() -> String + Send + Sync + 'static) {
        self.core.metrics.expose(Box::new(page));
    }

    /// Forgets the changes that watches could still be resumed from, as a compaction of etcd does.
    pub fn compact(&self) {
        self.core.store.compact();
    }

    /// Makes everything durable and closes the store, for a server that never listened.
    pub async fn close(&self) {
        self.core.close().await;
    }
}

/// As kubectl asks for a dry run: a misspelt field would come to something else than what was meant.
fn without_writing(whose: &Whose) -> WriteOptions {
    WriteOptions {
        dry_run: true,
        field_validation: FieldValidation::Strict,
        field_manager: whose.agent.clone(),
        ..WriteOptions::default()
    }
}
