//! Arbitrary objects: what sets select and variants inject.

use std::sync::Arc;
use std::time::Duration;

use apiserver::registry::Origin;
use apiserver::storage::Object as Stored;
use apiserver::verbs::handle::{ResourceName, ServerHandle};
use engine::ports::{Feed, Found, Gvk, Known, ObjectContent, ObjectSummary, PortError};
use futures::StreamExt as _;
use futures::stream;
use model::{Namespace, ObjectKey, ObjectName, Text};
use plan::set::Object;
use serde_json::Value;

use super::{failed, feed};

/// How long to wait before definitions are followed again.
const PAUSE: Duration = Duration::from_secs(1);

/// Where a kind is served, and whether in namespaces.
pub(super) fn served(handle: &ServerHandle, kind: &Gvk) -> Option<(ResourceName, bool)> {
    let catalog = handle.core().registry.catalog();
    let resource = catalog.by_kind(&kind.group, &kind.kind)?;
    resource.version(&kind.version).filter(|v| v.served)?;
    if resource.origin == Origin::Crd {
        // The catalog follows the definition a moment later.
        let definition = definition(handle, &resource.group, &resource.plural)?;
        let versions = definition.value().pointer("/spec/versions").cloned();
        let versions = versions.as_ref().and_then(Value::as_array);
        let serves =
            |version: &Value| version["name"] == *kind.version && version["served"] == true;
        versions?.iter().find(|v| serves(v))?;
    }
    let name = ResourceName::new(&resource.group, &kind.version, &resource.plural);
    Some((name, resource.namespaced))
}

/// The same of a kind that is there to stay. While its definition goes, its objects go one by one: what is left of them
/// says nothing about what somebody selected (S3).
pub(super) fn selectable(handle: &ServerHandle, kind: &Gvk) -> Option<(ResourceName, bool)> {
    let (resource, namespaced) = served(handle, kind)?;
    let definition = definition(handle, &resource.group, &resource.plural);
    let goes = definition.is_some_and(|d| d.fields.deletion_timestamp.is_some());
    (!goes).then_some((resource, namespaced))
}

fn definitions() -> ResourceName {
    ResourceName::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

/// The stored definition of a resource, if it has one.
fn definition(handle: &ServerHandle, group: &str, plural: &str) -> Option<Arc<Stored>> {
    let name = format!("{plural}.{group}");
    handle.stored(&definitions(), "", &name).ok().flatten()
}

/// Everything of a kind, until the kind is no longer served.
pub(super) fn all(handle: &ServerHandle, kind: &Gvk) -> Option<Feed<ObjectSummary>> {
    let (resource, namespaced) = served(handle, kind)?;
    let read = move |object: &Value| summary(object, !namespaced);
    let key = if namespaced {
        api::read_key
    } else {
        cluster_key
    };
    let feed = feed::feed_of(handle, &resource, Arc::new(read), key, Known::nothing());
    // A watch of a resource outlives its definition, and tells nothing any more.
    let end = no_longer_served(handle.clone(), kind.clone());
    Some(feed.take_until(end).boxed())
}

/// Ends once a kind is no longer served.
async fn no_longer_served(handle: ServerHandle, kind: Gvk) {
    while served(&handle, &kind).is_some() {
        let seen = handle.core().store.rv();
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

/// The objects of a kind in a namespace, or all of a cluster-scoped one, as they are now.
pub(super) async fn now(
    handle: &ServerHandle,
    kind: &Gvk,
    namespace: &Namespace,
) -> Result<Option<Vec<ObjectSummary>>, PortError> {
    let Some((resource, namespaced)) = selectable(handle, kind) else {
        return Ok(None);
    };
    let within = if namespaced { namespace.as_str() } else { "" };
    let listed = handle.list(&resource, within, "").await;
    let listed = listed.map_err(|f| failed(format!("list {kind} of {namespace}"), &f))?;
    let objects = listed.items.iter();
    Ok(Some(
        objects.filter_map(|o| summary(o, !namespaced)).collect(),
    ))
}

pub(super) fn summary(object: &Value, cluster_scoped: bool) -> Option<ObjectSummary> {
    let meta = api::read_meta(object);
    let key = if cluster_scoped {
        cluster_key(object)?
    } else {
        api::read_key(object)?
    };
    let namespace = (!cluster_scoped).then(|| key.namespace.to_string());
    Some(ObjectSummary {
        version: meta.resource_version,
        object: Arc::new(Object {
            name: key.name.to_string(),
            namespace: namespace.unwrap_or_default(),
            labels: meta.labels,
            annotations: meta.annotations,
        }),
        key,
    })
}

/// A cluster-scoped object has no namespace: it stands under `default` until a set asks.
fn cluster_key(object: &Value) -> Option<ObjectKey> {
    let name = api::str_at(object, &["metadata", "name"])?;
    Some(ObjectKey::new(
        Namespace::parse("default").ok()?,
        ObjectName::parse(name).ok()?,
    ))
}

/// What an object holds.
pub(super) async fn content(
    handle: &ServerHandle,
    kind: &Gvk,
    key: &ObjectKey,
) -> Result<Found<ObjectContent>, PortError> {
    let Some((resource, namespaced)) = served(handle, kind) else {
        return Ok(Found::KindMissing);
    };
    if !namespaced {
        return Ok(Found::Forbidden(format!(
            "{kind} is cluster-scoped and cannot be injected"
        )));
    }
    let found = handle
        .get(&resource, key.namespace.as_str(), key.name.as_str())
        .await;
    let attempt = || format!("read {kind} {key}");
    let Some(object) = found.map_err(|f| failed(attempt(), &f))? else {
        return Ok(Found::Absent);
    };
    Ok(Found::Here(holds(&object)))
}

/// What injection takes from an object.
pub(super) fn holds(object: &Value) -> ObjectContent {
    let text = |field: &str| object.get(field).map(|v| Text::from(v.to_string()));
    let meta = api::read_meta(object);
    ObjectContent {
        version: meta.resource_version,
        data: text("data"),
        spec: text("spec"),
        labels: meta.labels,
    }
}

/// Whether a kind lies in namespaces.
pub(super) fn is_namespaced(handle: &ServerHandle, kind: &Gvk) -> bool {
    served(handle, kind).is_none_or(|(_, namespaced)| namespaced)
}

#[cfg(test)]
mod tests;
