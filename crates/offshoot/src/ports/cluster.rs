//! What is selected and injected, over whoever keeps it.

use std::fmt;
use std::sync::Arc;

use apiserver::ResourceName;
use apiserver::aggregated::NamespacePhase;
use apiserver::gateway::Attributes;
use async_trait::async_trait;
use engine::ports::{
    Cluster, Feed, Found, Gvk, ObjectContent, ObjectSummary, PortError, Requester,
};
use futures::stream::BoxStream;
use model::{Namespace, ObjectKey, ObjectName, Problem, UpstreamSource};
use plan::set::KindScope;
use serde_json::Value;

use super::object_api::{ObjectApi, Served};
use super::objects::{holds, read_feed, summary};
use super::{Overlay, failed, requester};

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

    fn leaving(&self) -> BoxStream<'static, Namespace> {
        self.api.leaving()
    }

    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError> {
        let object = self.namespace(namespace).await?;
        let phase = object.map(|object| NamespacePhase::of(&object));
        Ok(phase == Some(NamespacePhase::Active))
    }
}
