//! Variants, sets, repositories and Secrets over the server.

use std::fmt;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use apiserver::Failure;
use apiserver::logic::delete::DeleteOptions;
use apiserver::logic::update::Means;
use apiserver::verbs::handle::{ResourceName, ServerHandle};
use async_trait::async_trait;
use engine::ports::{
    Cluster, ClusterEvent, Feed, Found, Gvk, Known, ObjectContent, ObjectSummary, OurKind,
    PortError, Reader, Requester, Secret, Stored, StoredRepository, StoredSet, StoredVariant,
};
use model::{
    Class, Namespace, ObjectKey, Problem, RepositoryStatus, SetStatus, Uid, UpstreamSource,
    Variant, VariantStatus,
};
use serde_json::{Value, json};

use super::stored::{read_repository, read_set, read_variant};
use super::{
    Overlay, controllers, events, failed, feed, objects, repositories, requester, secrets, sets,
    variants,
};

/// The cluster that the embedded server is.
pub(super) struct ServerCluster {
    handle: ServerHandle,
    /// What is supposed to be otherwise, where somebody plans.
    overlay: Option<Overlay>,
}

impl fmt::Debug for ServerCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCluster").finish_non_exhaustive()
    }
}

impl ServerCluster {
    pub(super) fn new(handle: ServerHandle) -> Self {
        Self {
            handle,
            overlay: None,
        }
    }

    /// The same with what somebody supposes.
    pub(super) fn with(handle: ServerHandle, overlay: Overlay) -> Self {
        Self {
            handle,
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
        requester::may(&self.handle, requester, writer, wanted).await
    }

    /// Writes `status` of an object that must be at this version; answers the new one. An equal status is no write.
    async fn write_status(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        status: impl Fn(Option<&Value>, &str) -> Value + Send + Sync,
        becomes: Option<&Mutex<Value>>,
    ) -> Result<String, PortError> {
        let now = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let change = |new: &mut Value| {
            new["status"] = status(new.get("status"), &now);
            if let Some(becomes) = becomes {
                *becomes.lock().unwrap_or_else(PoisonError::into_inner) = new.clone();
            }
        };
        let written = self.write(resource, key, version, ("status", Means::Put), change);
        let attempt = || format!("write the status of {} {key}", resource.plural);
        written.await.map_err(|f| failed(attempt(), &f))
    }

    /// The same, and reads what stands then.
    async fn write_status_of<T, S>(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        status: impl Fn(Option<&Value>, &str) -> Value + Send + Sync,
        read: fn(&Value) -> Option<Stored<T, S>>,
    ) -> Result<Stored<T, S>, PortError> {
        let becomes = Mutex::new(Value::Null);
        let written = self.write_status(resource, key, version, status, Some(&becomes));
        let version = written.await?;
        let mut object = becomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        object["metadata"]["resourceVersion"] = version.into();
        readable(key, read(&object))
    }

    /// Changes an object, or a part of it, at a version; answers the new one.
    async fn write(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        (subresource, means): (&str, Means),
        change: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<String, Failure> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let compute = |old: &Value| {
            if api::str_at(old, &["metadata", "resourceVersion"]) != Some(version) {
                return Err(Failure::modified(&resource.group, &resource.plural, name));
            }
            let mut new = old.clone();
            change(&mut new);
            Ok((new, means))
        };
        let whose = controllers(&self.handle);
        let changed =
            self.handle
                .change(resource, (namespace, name), subresource, &compute, &whose);
        changed.await
    }

    async fn namespace(&self, name: &Namespace) -> Result<Option<Value>, PortError> {
        let resource = ResourceName::new("", "v1", "namespaces");
        let found = self.handle.get(&resource, "", name.as_str()).await;
        found.map_err(|f| failed(format!("read namespace {name}"), &f))
    }
}

#[async_trait]
impl Cluster for ServerCluster {
    fn variants(&self, known: Known) -> Feed<StoredVariant> {
        feed::feed_of_unknown(&self.handle, &variants(), read_variant, known)
    }

    async fn variant(&self, key: &ObjectKey) -> Result<Option<StoredVariant>, PortError> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let found = self.handle.get(&variants(), namespace, name).await;
        let object = found.map_err(|f| failed(format!("read variant {key}"), &f))?;
        object
            .map(|object| readable(key, read_variant(&object)))
            .transpose()
    }

    async fn variant_is_at(&self, key: &ObjectKey, version: &str) -> Result<bool, PortError> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let found = self.handle.stored(&variants(), namespace, name);
        let found = found.map_err(|f| failed(format!("read variant {key}"), &f))?;
        Ok(found.is_some_and(|object| version.parse() == Ok(object.rv)))
    }

    async fn repository(&self, key: &ObjectKey) -> Result<Option<StoredRepository>, PortError> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let found = self.handle.get(&repositories(), namespace, name).await;
        let object = found.map_err(|f| failed(format!("read repository {key}"), &f))?;
        object
            .map(|object| readable(key, read_repository(&object)))
            .transpose()
    }

    fn sets(&self) -> Feed<StoredSet> {
        feed::feed(&self.handle, &sets(), read_set)
    }

    async fn set(&self, key: &ObjectKey) -> Result<Option<StoredSet>, PortError> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let found = self.handle.get(&sets(), namespace, name).await;
        let object = found.map_err(|f| failed(format!("read set {key}"), &f))?;
        object
            .map(|object| readable(key, read_set(&object)))
            .transpose()
    }

    fn repositories(&self) -> Feed<StoredRepository> {
        feed::feed(&self.handle, &repositories(), read_repository)
    }

    async fn repositories_now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<StoredRepository>, PortError> {
        let resource = repositories();
        let listed = self.handle.list(&resource, namespace.as_str(), "").await;
        let listed =
            listed.map_err(|f| failed(format!("list the repositories of {namespace}"), &f))?;
        Ok(listed.items.iter().filter_map(read_repository).collect())
    }

    async fn objects(&self, kind: &Gvk) -> Result<Option<Feed<ObjectSummary>>, PortError> {
        Ok(objects::all(&self.handle, kind))
    }

    async fn objects_now(
        &self,
        kind: &Gvk,
        namespace: &Namespace,
    ) -> Result<Option<Vec<ObjectSummary>>, PortError> {
        let all = objects::now(&self.handle, kind, namespace).await?;
        Ok(match (&self.overlay, all) {
            (Some(overlay), Some(all)) => {
                let cluster_scoped = !objects::is_namespaced(&self.handle, kind);
                let read = |object: &Value| objects::summary(object, cluster_scoped);
                Some(overlay.over(kind, all, read))
            }
            (_, all) => all,
        })
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
            return Ok(supposed.map_or(Found::Absent, |o| Found::Here(objects::holds(o))));
        }
        objects::content(&self.handle, kind, key).await
    }

    async fn may_select(&self, kind: &Gvk, requester: &Requester) -> Result<Found<()>, PortError> {
        if kind.group.is_empty() && kind.kind == "Secret" {
            // S4: Secrets are never selectable.
            return Ok(Found::Forbidden("Secrets cannot be selected".to_owned()));
        }
        let Some((_, namespaced)) = objects::selectable(&self.handle, kind) else {
            return Ok(Found::KindMissing);
        };
        let wanted = requester::Wanted {
            verb: "list",
            kind,
            namespace: match namespaced {
                true => requester.key.namespace.as_str(),
                false => "",
            },
            name: "",
        };
        if let Some(not) = self.may(requester, &wanted).await?.why_not() {
            return Ok(not);
        }
        if namespaced {
            return Ok(Found::Here(()));
        }
        // S5: cluster-scoped kinds only where the namespace says so.
        let namespace = self.namespace(&requester.key.namespace).await?;
        let meta = namespace.as_ref().map(api::read_meta).unwrap_or_default();
        let mark = "offshoot.dev/cluster-targets";
        let allowed = [&meta.labels, &meta.annotations]
            .iter()
            .any(|map| map.get(mark).is_some_and(|v| v == "true"));
        if allowed {
            return Ok(Found::Here(()));
        }
        Ok(Found::Forbidden(format!(
            "{kind} is cluster-scoped: namespace {} must carry {mark}: \"true\"",
            requester.key.namespace
        )))
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
        let found = self.handle.get(&resource, namespace, name).await;
        let found = found.map_err(|f| failed(format!("read package revision set {key}"), &f))?;
        Ok(found.map_or(Found::Absent, |object| {
            Found::Here(api::read_revision_set(&object))
        }))
    }

    async fn secret(&self, key: &ObjectKey, reader: &Reader) -> Result<Found<Secret>, PortError> {
        secrets::secret(&self.handle, key, reader).await
    }

    async fn trusted(&self, namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError> {
        secrets::trusted(&self.handle, namespace).await
    }

    async fn set_variant_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &VariantStatus,
    ) -> Result<String, PortError> {
        let write = |old: Option<&Value>, now: &str| api::write_variant_status(old, status, now);
        self.write_status(&variants(), key, version, write, None)
            .await
    }

    async fn set_set_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &SetStatus,
    ) -> Result<StoredSet, PortError> {
        let write = |old: Option<&Value>, now: &str| api::write_set_status(old, status, now);
        self.write_status_of(&sets(), key, version, write, read_set)
            .await
    }

    async fn set_repository_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &RepositoryStatus,
    ) -> Result<StoredRepository, PortError> {
        let write = |old: Option<&Value>, now: &str| api::write_repository_status(old, status, now);
        self.write_status_of(&repositories(), key, version, write, read_repository)
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
            OurKind::Revision => super::revisions(),
        };
        let change = |new: &mut Value| new["metadata"]["finalizers"] = json!(finalizers);
        let written = self.write(&resource, key, version, ("", Means::Patch), change);
        let attempt = || format!("write the finalizers of {} {key}", resource.plural);
        written.await.map_err(|f| failed(attempt(), &f))
    }

    async fn create_variant(&self, variant: &Variant) -> Result<StoredVariant, PortError> {
        let attempt = format!("create variant {}", variant.key);
        let whose = controllers(&self.handle);
        let namespace = variant.key.namespace.as_str();
        let created = self
            .handle
            .create(&variants(), namespace, write_variant(variant), &whose)
            .await;
        let object = created.map_err(|f| failed(attempt, &f))?;
        readable(&variant.key, read_variant(&object))
    }

    async fn update_variant(
        &self,
        variant: &Variant,
        version: &str,
    ) -> Result<StoredVariant, PortError> {
        let key = &variant.key;
        let wanted = write_variant(variant);
        let becomes = Mutex::new(None);
        let change = |new: &mut Value| {
            put_whole(new, &wanted);
            *becomes.lock().unwrap_or_else(PoisonError::into_inner) = read_variant(new);
        };
        let resource = variants();
        let written = self.write(&resource, key, version, ("", Means::Put), change);
        let attempt = || format!("update variant {key}");
        let version = written.await.map_err(|f| failed(attempt(), &f))?;
        let becomes = becomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let stored = self.handle.stored(&resource, namespace, name);
        let stored = stored.map_err(|f| failed(attempt(), &f))?;
        match (stored, becomes) {
            (Some(stored), Some(mut new)) if version.parse() == Ok(stored.rv) => {
                let meta = Arc::make_mut(&mut new.meta);
                meta.resource_version = version;
                meta.generation = stored.fields.generation;
                if let Ok(parsed) = &mut new.parsed {
                    Arc::make_mut(parsed).meta = Arc::clone(&new.meta);
                }
                Ok(new)
            }
            // Somebody wrote since.
            _ => {
                let gone = || PortError::new(Class::NotFound, attempt(), "it is gone");
                self.variant(key).await?.ok_or_else(gone)
            }
        }
    }

    async fn delete_variant(&self, key: &ObjectKey, uid: &Uid) -> Result<(), PortError> {
        let how = DeleteOptions {
            uid: Some(uid.as_str().to_owned()),
            ..DeleteOptions::default()
        };
        let whose = controllers(&self.handle);
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let deleted = self
            .handle
            .delete(&variants(), namespace, name, &how, &whose)
            .await;
        deleted.map_err(|f| failed(format!("delete variant {key}"), &f))
    }

    async fn event(&self, event: ClusterEvent) {
        events::tell(&self.handle, event).await;
    }

    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError> {
        let object = self.namespace(namespace).await?;
        Ok(object.is_some_and(|o| {
            api::str_at(&o, &["status", "phase"]) != Some("Terminating")
                && !api::read_meta(&o).is_deleting()
        }))
    }
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
