//! Variants, sets and repositories, over whoever keeps them; and, beside them, Secrets and events.

use std::fmt;
use std::sync::Arc;

use apiserver::ResourceName;
use async_trait::async_trait;
use engine::ports::{
    ClusterEvent, Events, Feed, Found, Known, Objects, PortError, Reader, Secret, Secrets, Stored,
    StoredVariant, Variants,
};
use model::{Class, Namespace, ObjectKey, Uid, Variant};
use serde_json::{Value, json};

use super::object_api::{ObjectApi, Part};
use super::objects::read_feed;
use super::stored::{Wire, read_variant};
use super::{events, failed, secrets, variants};

/// The objects that an API server keeps for us, embedded or of a cluster.
pub(super) struct ApiObjects(pub(super) Arc<dyn ObjectApi>);

impl fmt::Debug for ApiObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiObjects").finish_non_exhaustive()
    }
}

impl ApiObjects {
    /// Changes a part of an object that must be at this version.
    async fn write(
        &self,
        (resource, key, version): (&ResourceName, &ObjectKey, &str),
        part: (Part, &str),
        change: &(dyn Fn(&mut Value) + Send + Sync),
    ) -> Result<String, PortError> {
        let (part, name) = part;
        let written = self.0.write(resource, key, version, part, change).await;
        let attempt = || format!("write the {name} of {} {key}", resource.plural);
        written.map_err(|f| failed(attempt(), &f))
    }
}

#[async_trait]
impl<K: Wire> Objects<K> for ApiObjects {
    fn feed(&self, known: Known) -> Feed<Stored<K::Asked, K::Status>> {
        read_feed(self.0.feed(&K::resource(), known), K::read)
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Stored<K::Asked, K::Status>>, PortError> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let found = self.0.get(&K::resource(), namespace, name).await;
        let object = found.map_err(|f| failed(format!("read {} {key}", K::WORD), &f))?;
        object
            .map(|object| readable(key, K::read(&object)))
            .transpose()
    }

    async fn now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<Stored<K::Asked, K::Status>>, PortError> {
        let resource = K::resource();
        let listed = self.0.list(&resource, namespace.as_str()).await;
        let attempt = || format!("list the {} of {namespace}", resource.plural);
        let listed = listed.map_err(|f| failed(attempt(), &f))?;
        Ok(listed.iter().filter_map(K::read).collect())
    }

    async fn set_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &K::Status,
    ) -> Result<String, PortError> {
        let now = now();
        let change = |new: &mut Value| {
            new["status"] = K::write_status(new.get("status"), status, &now);
        };
        let (resource, part) = (K::resource(), (Part::Status, "status"));
        self.write((&resource, key, version), part, &change).await
    }

    async fn set_finalizers(
        &self,
        key: &ObjectKey,
        version: &str,
        finalizers: &[String],
    ) -> Result<String, PortError> {
        let change = |new: &mut Value| new["metadata"]["finalizers"] = json!(finalizers);
        let (resource, part) = (K::resource(), (Part::Some, "finalizers"));
        self.write((&resource, key, version), part, &change).await
    }
}

#[async_trait]
impl Variants for ApiObjects {
    async fn is_at(&self, key: &ObjectKey, version: &str) -> Result<bool, PortError> {
        let found = self.0.is_at(&variants(), key, version).await;
        found.map_err(|f| failed(format!("read variant {key}"), &f))
    }

    async fn create(&self, variant: &Variant) -> Result<StoredVariant, PortError> {
        let namespace = variant.key.namespace.as_str();
        let created = self
            .0
            .create(&variants(), namespace, write_variant(variant))
            .await;
        let attempt = || format!("create variant {}", variant.key);
        let object = created.map_err(|f| failed(attempt(), &f))?;
        readable(&variant.key, read_variant(&object))
    }

    async fn update(&self, variant: &Variant, version: &str) -> Result<StoredVariant, PortError> {
        let key = &variant.key;
        let wanted = write_variant(variant);
        let change = |new: &mut Value| put_whole(new, &wanted);
        let written = self
            .0
            .write_and_read(&variants(), key, version, Part::Whole, &change)
            .await;
        let object = written.map_err(|f| failed(format!("update variant {key}"), &f))?;
        readable(key, read_variant(&object))
    }

    async fn delete(&self, key: &ObjectKey, uid: &Uid) -> Result<(), PortError> {
        let deleted = self.0.delete(&variants(), key, uid.as_str()).await;
        deleted.map_err(|f| failed(format!("delete variant {key}"), &f))
    }
}

#[async_trait]
impl Secrets for ApiObjects {
    async fn secret(&self, key: &ObjectKey, reader: &Reader) -> Result<Found<Secret>, PortError> {
        secrets::secret(&*self.0, key, reader).await
    }

    async fn trusted(&self, namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError> {
        secrets::trusted(&*self.0, namespace).await
    }
}

#[async_trait]
impl Events for ApiObjects {
    async fn tell(&self, event: ClusterEvent) {
        events::tell(&*self.0, event).await;
    }
}

/// Now, as objects write it.
fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

/// Puts what a set says of a variant into the object; what others put there stays.
fn put_whole(object: &mut Value, wanted: &Value) {
    for field in ["labels", "annotations", "ownerReferences"] {
        match wanted["metadata"].get(field) {
            Some(value) => object["metadata"][field] = value.clone(),
            None => {
                if let Some(metadata) = object["metadata"].as_object_mut() {
                    metadata.remove(field);
                }
            }
        }
    }
    object["spec"] = wanted["spec"].clone();
}

fn readable<T>(key: &ObjectKey, read: Option<T>) -> Result<T, PortError> {
    read.ok_or_else(|| PortError::new(Class::Bug, format!("read {key}"), "it has no readable name"))
}

fn write_variant(variant: &Variant) -> Value {
    api::object_of([
        ("apiVersion", "config.porch.kpt.dev/v1alpha1".into()),
        ("kind", "PackageVariant".into()),
        ("metadata", api::write_meta(&variant.key, &variant.meta)),
        ("spec", api::write_variant_spec(&variant.spec)),
    ])
}
