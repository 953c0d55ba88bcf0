//! The embedding program's handle: the same verbs without HTTP, with an identity instead of a credential.

mod embedding;

use std::sync::Arc;

use futures::Stream;
use objects::Failure;
use objects::write::delete::DeleteOptions;
use objects::write::{WriteOptions, patching};
use objectstore::{EventKind, Gone, Object};
use serde_json::Value;

use super::read::{ListQuery, Selection};
use super::records::{Record, RecordError};
use super::write::Compute;
use super::{Core, RequestTarget, Whose};
use crate::gateway::{Gateway, Verb};

/// Names a resource in one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceName {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural.
    pub plural: String,
}

impl ResourceName {
    /// Names a resource.
    #[must_use]
    pub fn new(group: &str, version: &str, plural: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
        }
    }
}

/// A list as of one version.
#[derive(Debug, Clone)]
pub struct List {
    /// Watch from here.
    pub rv: u64,
    /// The objects.
    pub items: Vec<Value>,
}

/// One change of an object.
#[derive(Debug, Clone)]
pub struct WatchEvent {
    /// What happened.
    pub kind: EventKind,
    /// The object; of a deletion the last state.
    pub object: Arc<Object>,
}

/// Reads and writes objects in process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ServerHandle {
    core: Arc<Core>,
}

impl ServerHandle {
    /// Makes a handle on a core.
    #[must_use]
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// What the verbs work with.
    #[cfg(test)]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Says who handles the resources that were given as write-through or virtual; the first call decides.
    pub fn set_gateway(&self, gateway: Arc<dyn Gateway>) {
        if self.core.gateway.set(gateway).is_err() {
            tracing::warn!("a gateway was set already; the first one stays");
        }
    }

    /// Addresses a resource.
    ///
    /// # Errors
    /// 404 if it is not served.
    pub fn target(&self, name: &ResourceName) -> Result<RequestTarget, Failure> {
        let catalog = self.core.registry.catalog();
        let found = RequestTarget::find(&catalog, &name.group, &name.version, &name.plural);
        found.ok_or_else(|| Failure::not_found(&name.group, &name.plural, ""))
    }

    /// Reads one object; `None` if there is none.
    ///
    /// # Errors
    /// The resource is not served, or its gateway refuses.
    pub async fn get(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        let target = self.target(resource)?.at(namespace, name);
        match self
            .core
            .get(&target, &self.core.own("system:apiserver"))
            .await
        {
            Ok(shown) => Ok(Some(shown.value())),
            Err(failure) if failure.code == 404 => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Lists a namespace (empty: all) with a label selector (empty: all).
    ///
    /// # Errors
    /// The resource is not served, or the selector is not understood.
    pub async fn list(
        &self,
        resource: &ResourceName,
        namespace: &str,
        labels: &str,
    ) -> Result<List, Failure> {
        let target = self.target(resource)?.at(namespace, "");
        let query = ListQuery {
            labels: labels.to_owned(),
            ..ListQuery::default()
        };
        let page = self
            .core
            .list(&target, &self.core.own("system:apiserver"), &query)
            .await?;
        Ok(List {
            rv: page.rv,
            items: page.items.iter().map(super::Shown::value).collect(),
        })
    }

    /// Follows a namespace (empty: all) from a version on, in version order. Objects come as stored. The stream ends
    /// after a [`Gone`]: list again.
    ///
    /// # Errors
    /// The resource is not served, or the version is too old (410).
    pub fn watch(
        &self,
        resource: &ResourceName,
        namespace: &str,
        from: u64,
    ) -> Result<impl Stream<Item = Result<WatchEvent, Gone>> + Send + use<>, Failure> {
        let target = self.target(resource)?.at(namespace, "");
        let selection = Selection::parse(&target, "", "")?;
        let watch = self
            .core
            .watch(&target, from)
            .map_err(|gone| Failure::expired(gone.to_string()))?;
        let batches = futures::stream::unfold(Some((watch, selection)), |state| async {
            let (mut watch, selection) = state?;
            match watch.next().await {
                Ok(events) => {
                    let seen = events.iter().filter_map(|e| selection.sees(e));
                    let seen: Vec<_> = seen
                        .map(|(kind, object)| Ok(WatchEvent { kind, object }))
                        .collect();
                    Some((seen, Some((watch, selection))))
                }
                Err(gone) => Some((vec![Err(gone)], None)),
            }
        });
        Ok(futures::StreamExt::flat_map(batches, futures::stream::iter))
    }

    /// Creates an object; answers it as stored.
    ///
    /// # Errors
    /// What a client would be told.
    pub async fn create(
        &self,
        resource: &ResourceName,
        namespace: &str,
        object: Value,
        whose: &Whose,
    ) -> Result<Value, Failure> {
        let target = self.target(resource)?.at(namespace, "");
        Ok(self
            .core
            .create(&target, whose, object, &options(whose))
            .await?
            .object
            .value())
    }

    /// Replaces an object.
    ///
    /// # Errors
    /// What a client would be told.
    pub async fn update(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
        object: Value,
        whose: &Whose,
    ) -> Result<Value, Failure> {
        let target = self.target(resource)?.at(namespace, name);
        Ok(self
            .core
            .update(&target, whose, object, &options(whose))
            .await?
            .object
            .value())
    }

    /// Replaces an object's status.
    ///
    /// # Errors
    /// What a client would be told.
    pub async fn update_status(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
        object: Value,
        whose: &Whose,
    ) -> Result<Value, Failure> {
        let target = self
            .target(resource)?
            .at(namespace, name)
            .with_subresource("status");
        Ok(self
            .core
            .update(&target, whose, object, &options(whose))
            .await?
            .object
            .value())
    }

    /// Changes an object by a merge patch; `subresource` may be empty.
    ///
    /// # Errors
    /// What a client would be told.
    pub async fn patch(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
        subresource: &str,
        patch: &Value,
        whose: &Whose,
    ) -> Result<Value, Failure> {
        let target = self
            .target(resource)?
            .at(namespace, name)
            .with_subresource(subresource);
        let compute = move |old: &Value| {
            Ok((
                patching::merge(old, patch),
                objects::write::update::Means::Patch,
            ))
        };
        Ok(self
            .core
            .modify(&target, whose, Verb::Patch, &compute, &options(whose))
            .await?
            .object
            .value())
    }

    /// Changes an object or its subresource by a computation on what is stored now, which is read once;
    /// answers its version. A computed state that equals the stored one is no write.
    ///
    /// # Errors
    /// What a client would be told, or what the computation says.
    pub async fn change(
        &self,
        resource: &ResourceName,
        (namespace, name): (&str, &str),
        subresource: &str,
        compute: &Compute<'_>,
        whose: &Whose,
    ) -> Result<String, Failure> {
        let target = self
            .target(resource)?
            .at(namespace, name)
            .with_subresource(subresource);
        let options = options(whose);
        let modify = self
            .core
            .modify(&target, whose, Verb::Update, compute, &options);
        Ok(modify.await?.object.version())
    }

    /// An object of a resource that is kept here, as it stands; nothing of it is parsed.
    ///
    /// # Errors
    /// The resource is not served.
    pub fn stored(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Failure> {
        let target = self.target(resource)?.at(namespace, name);
        Ok(self.core.store.get(&target.resource.key(), &target.key()))
    }

    /// Deletes an object; an object that is gone already is no error.
    ///
    /// # Errors
    /// What a client would be told.
    pub async fn delete(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
        how: &DeleteOptions,
        whose: &Whose,
    ) -> Result<(), Failure> {
        let target = self.target(resource)?.at(namespace, name);
        match self.core.delete(&target, whose, how).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.code == 404 => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Writes records of the embedding program's own resources: the only way to write those.
    ///
    /// # Errors
    /// An expectation failed, or the store did.
    pub async fn commit(&self, records: Vec<Record>) -> Result<Vec<Arc<Object>>, RecordError> {
        self.core.commit(records).await
    }

    /// Does all housekeeping that is due (definitions, namespaces, garbage): for programs without a runtime.
    ///
    /// # Errors
    /// What the store or a gateway refused first; everything else is done, and what failed is due again later.
    pub async fn settle(&self) -> Result<(), Failure> {
        let mut failed = None;
        loop {
            let (done, failure) = self.core.housekeeping().await;
            failed = failed.or(failure);
            if done == 0 {
                return failed.map_or(Ok(()), Err);
            }
        }
    }
}

fn options(whose: &Whose) -> WriteOptions {
    WriteOptions {
        field_manager: whose.agent.clone(),
        ..WriteOptions::default()
    }
}
