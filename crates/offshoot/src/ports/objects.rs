//! Arbitrary objects: what sets select and variants inject.

use std::sync::Arc;

use engine::ports::{Delta, Feed, ObjectContent, ObjectSummary};
use futures::StreamExt as _;
use model::{Namespace, ObjectKey, ObjectName, Text};
use plan::set::SelectedObject;
use serde_json::Value;

/// What a feed tells, read; objects that cannot be read are left out.
pub(super) fn read_feed<T: Send + 'static>(
    feed: Feed<Value>,
    read: impl Fn(&Value) -> Option<T> + Send + Sync + 'static,
) -> Feed<T> {
    let deltas = feed.map(move |delta| match delta {
        Delta::Snapshot(all) => Some(Delta::Snapshot(all.iter().filter_map(&read).collect())),
        Delta::Put(object) => read(&object).map(Delta::Put),
        Delta::Deleted { key, version } => Some(Delta::Deleted { key, version }),
    });
    deltas.filter_map(|delta| async move { delta }).boxed()
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
        object: Arc::new(SelectedObject {
            name: key.name.to_string(),
            namespace: namespace.unwrap_or_default(),
            labels: meta.labels,
            annotations: meta.annotations,
        }),
        key,
    })
}

/// The key of a cluster-scoped object: it has no namespace until a set asks.
pub(crate) fn cluster_key(object: &Value) -> Option<ObjectKey> {
    let name = api::str_at(object, &["metadata", "name"])?;
    Some(ObjectKey::new(
        Namespace::parse("default").ok()?,
        ObjectName::parse(name).ok()?,
    ))
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

#[cfg(test)]
mod tests;
