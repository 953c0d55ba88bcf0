//! Variants, sets, repositories and Secrets, over whoever keeps them.

use std::fmt;
use std::sync::Arc;

use apiserver::ResourceName;
use apiserver::gateway::Attributes;
use async_trait::async_trait;
use engine::ports::{
    Cluster, ClusterEvent, Feed, Found, Gvk, Known, ObjectContent, ObjectSummary, OurKind,
    PortError, Reader, Requester, Secret, Stored, StoredRepository, StoredSet, StoredVariant,
};
use model::{
    Class, Namespace, ObjectKey, ObjectName, Problem, RepositoryStatus, SetStatus, Uid,
    UpstreamSource, Variant, VariantStatus,
};
use plan::set::KindScope;
use serde_json::{Value, json};

use super::object_api::{ObjectApi, Part, Served};
use super::objects::{holds, read_feed, summary};
use super::stored::{read_repository, read_set, read_variant};
use super::{Overlay, events, failed, repositories, requester, revisions, secrets, sets, variants};

/// The objects of a cluster, embedded or real.
pub(super) struct ApiCluster {
    api: Arc<dyn ObjectApi>,
    /// What is supposed to be otherwise, where somebody plans.
    overlay: Option<Overlay>,
}

impl fmt::Debug for ApiCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiCluster").finish_non_exhaustive()
    }
}

impl ApiCluster {
    pub(super) fn new(api: Arc<dyn ObjectApi>) -> Self {
        Self { api, overlay: None }
    }

    /// The same with what somebody supposes.
    pub(super) fn with(api: Arc<dyn ObjectApi>, overlay: Overlay) -> Self {
        Self {
            api,
            overlay: Some(overlay),
        }
    }

    /// Whether the requester may read something: as whoever wrote what it is read for.
    async fn may(
        &self,
        requester: &Requester,
        wanted: &requester::Wanted<'_>,
    ) -> Result<Found<()>, PortError> {
        let writer = self.overlay.as_ref().and_then(|o| o.writer(requester));
        requester::may(&*self.api, requester, writer, wanted).await
    }

    /// An object of ours as it is now.
    async fn read<T>(
        &self,
        what: &str,
        resource: &ResourceName,
        key: &ObjectKey,
        read: fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, PortError> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let found = self.api.get(resource, namespace, name).await;
        let object = found.map_err(|f| failed(format!("read {what} {key}"), &f))?;
        object
            .map(|object| readable(key, read(&object)))
            .transpose()
    }

    /// Writes the status of an object that must be at this version, and reads what stands then.
    async fn write_status<T, S>(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        status: impl Fn(Option<&Value>, &str) -> Value + Send + Sync,
        read: fn(&Value) -> Option<Stored<T, S>>,
    ) -> Result<Stored<T, S>, PortError> {
        let now = now();
        let change = |new: &mut Value| new["status"] = status(new.get("status"), &now);
        let written = self
            .api
            .write_and_read(resource, key, version, Part::Status, &change)
            .await;
        let attempt = || format!("write the status of {} {key}", resource.plural);
        let object = written.map_err(|f| failed(attempt(), &f))?;
        readable(key, read(&object))
    }

    /// Where a kind is served.
    async fn served(&self, kind: &Gvk) -> Result<Option<Served>, PortError> {
        let served = self.api.served(kind).await;
        served.map_err(|f| failed(format!("look for kind {kind}"), &f))
    }

    /// The same of a kind that is there to stay (S3).
    async fn selectable(&self, kind: &Gvk) -> Result<Option<Served>, PortError> {
        Ok(self.served(kind).await?.filter(|served| !served.leaving))
    }

    async fn namespace(&self, name: &Namespace) -> Result<Option<Value>, PortError> {
        let resource = ResourceName::new("", "v1", "namespaces");
        let found = self.api.seen(&resource, "", name.as_str()).await;
        found.map_err(|f| failed(format!("read namespace {name}"), &f))
    }
}

#[async_trait]
impl Cluster for ApiCluster {
    fn variants(&self, known: Known) -> Feed<StoredVariant> {
        read_feed(self.api.feed(&variants(), known), read_variant)
    }

    async fn variant(&self, key: &ObjectKey) -> Result<Option<StoredVariant>, PortError> {
        self.read("variant", &variants(), key, read_variant).await
    }

    async fn variant_is_at(&self, key: &ObjectKey, version: &str) -> Result<bool, PortError> {
        let found = self.api.is_at(&variants(), key, version).await;
        found.map_err(|f| failed(format!("read variant {key}"), &f))
    }

    async fn repository(&self, key: &ObjectKey) -> Result<Option<StoredRepository>, PortError> {
        self.read("repository", &repositories(), key, read_repository)
            .await
    }

    fn sets(&self) -> Feed<StoredSet> {
        read_feed(self.api.feed(&sets(), Known::nothing()), read_set)
    }

    async fn set(&self, key: &ObjectKey) -> Result<Option<StoredSet>, PortError> {
        self.read("set", &sets(), key, read_set).await
    }

    fn repositories(&self) -> Feed<StoredRepository> {
        let feed = self.api.feed(&repositories(), Known::nothing());
        read_feed(feed, read_repository)
    }

    async fn repositories_now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<StoredRepository>, PortError> {
        let listed = self.api.list(&repositories(), namespace.as_str()).await;
        let listed =
            listed.map_err(|f| failed(format!("list the repositories of {namespace}"), &f))?;
        Ok(listed.iter().filter_map(read_repository).collect())
    }

    async fn objects(&self, kind: &Gvk) -> Result<Option<Feed<ObjectSummary>>, PortError> {
        Ok(self.served(kind).await?.map(|served| {
            let feed = self.api.feed_of(kind, &served);
            read_feed(feed, move |object| summary(object, !served.namespaced))
        }))
    }

    async fn objects_now(
        &self,
        kind: &Gvk,
        namespace: &Namespace,
    ) -> Result<Option<Vec<ObjectSummary>>, PortError> {
        let Some(served) = self.selectable(kind).await? else {
            return Ok(None);
        };
        let within = if served.namespaced {
            namespace.as_str()
        } else {
            ""
        };
        let listed = self.api.list(&served.resource, within).await;
        let listed = listed.map_err(|f| failed(format!("list {kind} of {namespace}"), &f))?;
        let read = |object: &Value| summary(object, !served.namespaced);
        let all = listed.iter().filter_map(read).collect();
        Ok(Some(match &self.overlay {
            Some(overlay) => overlay.over(kind, all, read),
            None => all,
        }))
    }

    async fn object(
        &self,
        kind: &Gvk,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<ObjectContent>, PortError> {
        let wanted = requester::Wanted {
            verb: "get",
            kind,
            namespace: key.namespace.as_str(),
            name: key.name.as_str(),
        };
        if let Some(not) = self.may(requester, &wanted).await?.why_not() {
            return Ok(not);
        }
        let supposed = self.overlay.as_ref().and_then(|o| o.object(kind, key));
        if let Some(supposed) = supposed {
            return Ok(supposed.map_or(Found::Absent, |o| Found::Here(holds(o))));
        }
        let Some(served) = self.served(kind).await? else {
            return Ok(Found::KindMissing);
        };
        if !served.namespaced {
            return Ok(Found::ClusterScoped);
        }
        let found = self
            .api
            .get(&served.resource, wanted.namespace, wanted.name)
            .await;
        let found = found.map_err(|f| failed(format!("read {kind} {key}"), &f))?;
        Ok(found.map_or(Found::Absent, |object| Found::Here(holds(&object))))
    }

    async fn listable(
        &self,
        kind: &Gvk,
        requester: &Requester,
    ) -> Result<Found<KindScope>, PortError> {
        let Some(served) = self.selectable(kind).await? else {
            return Ok(Found::KindMissing);
        };
        let namespace = &requester.key.namespace;
        let wanted = requester::Wanted {
            verb: "list",
            kind,
            namespace: match served.namespaced {
                true => namespace.as_str(),
                false => "",
            },
            name: "",
        };
        if let Some(not) = self.may(requester, &wanted).await?.why_not() {
            return Ok(not);
        }
        if served.namespaced {
            return Ok(Found::Here(KindScope::Namespaced));
        }
        let namespace = self.namespace(namespace).await?;
        let meta = namespace.as_ref().map(api::read_meta).unwrap_or_default();
        Ok(Found::Here(KindScope::Cluster {
            labels: meta.labels,
            annotations: meta.annotations,
        }))
    }

    async fn may_be_told(
        &self,
        kind: &Gvk,
        namespace: &Namespace,
        name: Option<&ObjectName>,
    ) -> Result<bool, PortError> {
        let Some(overlay) = &self.overlay else {
            return Ok(true);
        };
        // A kind that is not served has nothing to tell.
        let Some(served) = self.served(kind).await? else {
            return Ok(true);
        };
        let resource = &served.resource;
        let asked = Attributes {
            user: overlay.user(),
            verb: if name.is_some() { "get" } else { "list" },
            group: &resource.group,
            resource: &resource.plural,
            subresource: "",
            namespace: if served.namespaced {
                namespace.as_str()
            } else {
                ""
            },
            name: name.map_or("", ObjectName::as_str),
            path: "",
        };
        Ok(self.api.may(&asked).await.allowed)
    }

    async fn revision_set(
        &self,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<Result<Vec<UpstreamSource>, Vec<Problem>>>, PortError> {
        let kind = Gvk::of("config.porch.kpt.dev/v1alpha1", "PackageRevisionSet");
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let wanted = requester::Wanted {
            verb: "get",
            kind: &kind,
            namespace,
            name,
        };
        if let Some(not) = self.may(requester, &wanted).await?.why_not() {
            return Ok(not);
        }
        let supposed = self.overlay.as_ref().and_then(|o| o.object(&kind, key));
        if let Some(supposed) = supposed {
            let read = |o: &Value| Found::Here(api::read_revision_set(o));
            return Ok(supposed.map_or(Found::Absent, read));
        }
        let resource = ResourceName::new(api::CONFIG_GROUP, "v1alpha1", "packagerevisionsets");
        let found = self.api.get(&resource, namespace, name).await;
        let found = found.map_err(|f| failed(format!("read package revision set {key}"), &f))?;
        Ok(found.map_or(Found::Absent, |object| {
            Found::Here(api::read_revision_set(&object))
        }))
    }

    async fn secret(&self, key: &ObjectKey, reader: &Reader) -> Result<Found<Secret>, PortError> {
        secrets::secret(&*self.api, key, reader).await
    }

    async fn trusted(&self, namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError> {
        secrets::trusted(&*self.api, namespace).await
    }

    async fn set_variant_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &VariantStatus,
    ) -> Result<String, PortError> {
        let (resource, now) = (variants(), now());
        let change = |new: &mut Value| {
            new["status"] = api::write_variant_status(new.get("status"), status, &now);
        };
        let written = self
            .api
            .write(&resource, key, version, Part::Status, &change)
            .await;
        written.map_err(|f| failed(format!("write the status of {} {key}", resource.plural), &f))
    }

    async fn set_set_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &SetStatus,
    ) -> Result<StoredSet, PortError> {
        let write = |old: Option<&Value>, now: &str| api::write_set_status(old, status, now);
        self.write_status(&sets(), key, version, write, read_set)
            .await
    }

    async fn set_repository_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &RepositoryStatus,
    ) -> Result<StoredRepository, PortError> {
        let write = |old: Option<&Value>, now: &str| api::write_repository_status(old, status, now);
        self.write_status(&repositories(), key, version, write, read_repository)
            .await
    }

    async fn set_finalizers(
        &self,
        kind: OurKind,
        key: &ObjectKey,
        version: &str,
        finalizers: &[String],
    ) -> Result<String, PortError> {
        let resource = match kind {
            OurKind::Variant => variants(),
            OurKind::Set => sets(),
            OurKind::Repository => repositories(),
            OurKind::Revision => revisions(),
        };
        let change = |new: &mut Value| new["metadata"]["finalizers"] = json!(finalizers);
        let written = self
            .api
            .write(&resource, key, version, Part::Some, &change)
            .await;
        let attempt = || format!("write the finalizers of {} {key}", resource.plural);
        written.map_err(|f| failed(attempt(), &f))
    }

    async fn create_variant(&self, variant: &Variant) -> Result<StoredVariant, PortError> {
        let namespace = variant.key.namespace.as_str();
        let created = self
            .api
            .create(&variants(), namespace, write_variant(variant))
            .await;
        let attempt = || format!("create variant {}", variant.key);
        let object = created.map_err(|f| failed(attempt(), &f))?;
        readable(&variant.key, read_variant(&object))
    }

    async fn update_variant(
        &self,
        variant: &Variant,
        version: &str,
    ) -> Result<StoredVariant, PortError> {
        let key = &variant.key;
        let wanted = write_variant(variant);
        let change = |new: &mut Value| put_whole(new, &wanted);
        let written = self
            .api
            .write_and_read(&variants(), key, version, Part::Whole, &change)
            .await;
        let object = written.map_err(|f| failed(format!("update variant {key}"), &f))?;
        readable(key, read_variant(&object))
    }

    async fn delete_variant(&self, key: &ObjectKey, uid: &Uid) -> Result<(), PortError> {
        let deleted = self.api.delete(&variants(), key, uid.as_str()).await;
        deleted.map_err(|f| failed(format!("delete variant {key}"), &f))
    }

    async fn event(&self, event: ClusterEvent) {
        events::tell(&*self.api, event).await;
    }

    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError> {
        let object = self.namespace(namespace).await?;
        Ok(object.is_some_and(|o| {
            api::str_at(&o, &["status", "phase"]) != Some("Terminating")
                && !api::read_meta(&o).is_deleting()
        }))
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
