//! The embedded server as the one that keeps objects.

use std::sync::{Arc, Mutex, PoisonError};

use ::objects::Failure;
use ::objects::resource::Origin;
use ::objects::write::delete::DeleteOptions;
use ::objects::write::update::Means;
use apiserver::gateway::{AccessDecision, Attributes, User};
use apiserver::{ResourceName, ServerHandle};
use async_trait::async_trait;
use engine::ports::{Feed, Gvk, Known};
use futures::StreamExt as _;
use futures::stream;
use model::ObjectKey;
use objectstore::{Object as Stored, Owner};
use serde_json::Value;

use super::object_api::{Change, ObjectApi, Part, Served, Signed};
use super::{controllers, feed, objects};

/// How long to wait before definitions are followed again.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// Objects in the server of this process.
#[derive(Debug)]
pub(super) struct Embedded {
    handle: ServerHandle,
}

impl Embedded {
    pub(super) fn new(handle: ServerHandle) -> Arc<Self> {
        Arc::new(Self { handle })
    }

    /// Changes an object, or a part of it, at a version; answers the new one, and tells what it becomes.
    async fn change(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        part: Part,
        change: &Change<'_>,
        becomes: Option<&Mutex<Value>>,
    ) -> Result<String, Failure> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let (subresource, means) = match part {
            Part::Whole => ("", Means::Put),
            Part::Some => ("", Means::Patch),
            Part::Status => ("status", Means::Put),
        };
        let compute = |old: &Value| {
            if api::str_at(old, &["metadata", "resourceVersion"]) != Some(version) {
                return Err(Failure::modified(&resource.group, &resource.plural, name));
            }
            // Who wrote which field is by far the largest part of an object, and a request to the status does not say it.
            let mut new = match part {
                Part::Status => without_owners(old),
                Part::Whole | Part::Some => old.clone(),
            };
            change(&mut new);
            if let Some(becomes) = becomes {
                let object = without_owners(&new);
                *becomes.lock().unwrap_or_else(PoisonError::into_inner) = object;
            }
            Ok((new, means))
        };
        let whose = controllers(&self.handle);
        let changed =
            self.handle
                .change(resource, (namespace, name), subresource, &compute, &whose);
        changed.await
    }
}

#[async_trait]
impl ObjectApi for Embedded {
    async fn served(&self, kind: &Gvk) -> Result<Option<Served>, Failure> {
        Ok(served(&self.handle, kind))
    }

    fn feed(&self, resource: &ResourceName, known: Known) -> Feed<Value> {
        feed::feed_of(&self.handle, resource, api::read_key, known)
    }

    fn feed_of(&self, kind: &Gvk, served: &Served) -> Feed<Value> {
        let key = if served.namespaced {
            api::read_key
        } else {
            objects::cluster_key
        };
        let feed = feed::feed_of(&self.handle, &served.resource, key, Known::nothing());
        // A watch of a resource outlives its definition, and tells nothing any more.
        let end = no_longer_served(self.handle.clone(), kind.clone());
        feed.take_until(end).boxed()
    }

    async fn get(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        self.handle.get(resource, namespace, name).await
    }

    async fn is_at(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
    ) -> Result<bool, Failure> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let found = self.handle.stored(resource, namespace, name)?;
        Ok(found.is_some_and(|object| version.parse() == Ok(object.rv)))
    }

    async fn list(&self, resource: &ResourceName, namespace: &str) -> Result<Vec<Value>, Failure> {
        Ok(self.handle.list(resource, namespace, "").await?.items)
    }

    async fn write(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        part: Part,
        change: &Change<'_>,
    ) -> Result<String, Failure> {
        let change = self.change(resource, key, version, part, change, None);
        let version = change.await?;
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        // It may have gone with its last finalizer.
        let still = self.handle.stored(resource, namespace, name)?;
        Ok(still.map(|_| version).unwrap_or_default())
    }

    async fn write_and_read(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        part: Part,
        change: &Change<'_>,
    ) -> Result<Value, Failure> {
        let becomes = Mutex::new(Value::Null);
        let written = self.change(resource, key, version, part, change, Some(&becomes));
        let version = written.await?;
        let mut object = becomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        match self.handle.stored(resource, namespace, name)? {
            Some(stored) if version.parse() == Ok(stored.rv) => {
                object["metadata"]["resourceVersion"] = version.into();
                object["metadata"]["generation"] = stored.fields.generation.into();
                Ok(object)
            }
            // Somebody wrote since.
            _ => {
                let now = self.handle.get(resource, namespace, name).await?;
                let gone = || Failure::not_found(&resource.group, &resource.plural, name);
                now.ok_or_else(gone)
            }
        }
    }

    async fn create(
        &self,
        resource: &ResourceName,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Failure> {
        let whose = controllers(&self.handle);
        self.handle
            .create(resource, namespace, object, &whose)
            .await
    }

    async fn delete(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<(), Failure> {
        let how = DeleteOptions {
            uid: Some(uid.to_owned()),
            ..DeleteOptions::default()
        };
        let whose = controllers(&self.handle);
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        self.handle
            .delete(resource, namespace, name, &how, &whose)
            .await
    }

    async fn signed(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Signed>, Failure> {
        let object = self.handle.stored(resource, namespace, name)?;
        Ok(object.map(|object| Signed {
            uid: object.fields.uid.clone(),
            writer: self.handle.writer_of(&object),
            set: set_of(&object).map(|owner| (owner.name.clone(), owner.uid.clone())),
        }))
    }

    async fn uid(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<String>, Failure> {
        // Nothing of the object is unpacked.
        let object = self.handle.stored(resource, namespace, name)?;
        Ok(object.map(|object| object.fields.uid.clone()))
    }

    fn setter_of(&self, object: &Value) -> Option<User> {
        self.handle.setter_of(object)
    }

    async fn may(&self, request: &Attributes<'_>) -> AccessDecision {
        self.handle.may(request).await
    }
}

/// A copy of an object that does not say who wrote which field.
fn without_owners(object: &Value) -> Value {
    let copied = |(name, value): (&String, &Value)| match (name.as_str(), value) {
        ("metadata", Value::Object(metadata)) => {
            let others = metadata.iter().filter(|(name, _)| *name != "managedFields");
            let others = others.map(|(name, value)| (name.clone(), value.clone()));
            (name.clone(), Value::Object(others.collect()))
        }
        _ => (name.clone(), value.clone()),
    };
    match object {
        Value::Object(fields) => Value::Object(fields.iter().map(copied).collect()),
        other => other.clone(),
    }
}

/// The set that makes a variant.
fn set_of(variant: &Stored) -> Option<&Owner> {
    let mut owners = variant.fields.owners.iter();
    owners.find(|owner| owner.kind == "PackageVariantSet" && owner.controller)
}

/// Where a kind is served, and whether in namespaces.
fn served(handle: &ServerHandle, kind: &Gvk) -> Option<Served> {
    let target = handle.target_of_kind(&kind.group, &kind.version, &kind.kind)?;
    let resource = &target.resource;
    let definition = definition(handle, &resource.group, &resource.plural);
    if resource.origin == Origin::Crd {
        // The catalog follows the definition a moment later.
        let versions = definition
            .as_ref()?
            .value()
            .pointer("/spec/versions")
            .cloned();
        let versions = versions.as_ref().and_then(Value::as_array);
        let serves =
            |version: &Value| version["name"] == *kind.version && version["served"] == true;
        versions?.iter().find(|v| serves(v))?;
    }
    Some(Served {
        resource: ResourceName::new(&resource.group, &kind.version, &resource.plural),
        namespaced: resource.namespaced,
        leaving: definition.is_some_and(|d| d.fields.deletion_timestamp.is_some()),
    })
}

pub(super) fn definitions() -> ResourceName {
    ResourceName::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

/// The stored definition of a resource, if it has one.
fn definition(handle: &ServerHandle, group: &str, plural: &str) -> Option<Arc<Stored>> {
    let name = format!("{plural}.{group}");
    handle.stored(&definitions(), "", &name).ok().flatten()
}

/// Ends once a kind is no longer served.
async fn no_longer_served(handle: ServerHandle, kind: Gvk) {
    while served(&handle, &kind).is_some() {
        let seen = handle.version();
        let Ok(events) = handle.watch(&definitions(), "", seen) else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // What happened before the watch began is seen by looking once more.
        let mut looks = stream::once(async { true })
            .chain(events.map(|event| event.is_ok()))
            .boxed();
        while let Some(true) = looks.next().await {
            if served(&handle, &kind).is_none() {
                return;
            }
        }
    }
}
