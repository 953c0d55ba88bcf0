//! The twin as the cluster: what is selected and injected, Secrets, and who is told.

use async_trait::async_trait;
use engine::ports::{
    Cluster, ClusterEvent, Events, Feed, Found, Gvk, ObjectContent, ObjectSummary, PortError,
    Reader, Requester, Secret, Secrets,
};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use model::{Namespace, ObjectKey, ObjectName, Pairs, Problem, UpstreamSource};
use plan::set::KindScope;
use tokio::sync::mpsc::unbounded_channel;

use super::{Twin, table};

#[async_trait]
impl Cluster for Twin {
    async fn objects(&self, kind: &Gvk) -> Result<Option<Feed<ObjectSummary>>, PortError> {
        let mut state = self.state();
        Ok(state
            .objects
            .get_mut(kind)
            .map(|table| table::summaries(table.watch())))
    }

    async fn objects_now(
        &self,
        kind: &Gvk,
        namespace: &Namespace,
    ) -> Result<Option<Vec<ObjectSummary>>, PortError> {
        let state = self.state();
        let Some(table) = state.objects.get(kind) else {
            return Ok(None);
        };
        let mut all: Vec<_> = table.all().into_iter().map(|t| t.summary).collect();
        all.retain(|o| o.is_seen_from(namespace));
        Ok(Some(all))
    }

    async fn object(
        &self,
        kind: &Gvk,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<ObjectContent>, PortError> {
        let state = self.state();
        if state.unsigned.contains(&requester.key) {
            return Ok(Found::WriterUnknown);
        }
        let Some(table) = state.objects.get(kind) else {
            return Ok(Found::KindMissing);
        };
        if state.scoped.contains(kind) {
            return Ok(Found::ClusterScoped);
        }
        Ok(match table.get(key) {
            Some(thing) => Found::Here(thing.content.clone()),
            None => Found::Absent,
        })
    }

    async fn listable(
        &self,
        kind: &Gvk,
        requester: &Requester,
    ) -> Result<Found<KindScope>, PortError> {
        let state = self.state();
        if !state.objects.contains_key(kind) {
            return Ok(Found::KindMissing);
        }
        if state.unsigned.contains(&requester.key) {
            return Ok(Found::WriterUnknown);
        }
        if !state.scoped.contains(kind) {
            return Ok(Found::Here(KindScope::Namespaced));
        }
        let labels = state.namespaces.get(&requester.key.namespace).cloned();
        Ok(Found::Here(KindScope::Cluster {
            labels: labels.unwrap_or_default(),
            annotations: Pairs::new(),
        }))
    }

    async fn may_be_told(
        &self,
        kind: &Gvk,
        _namespace: &Namespace,
        _name: Option<&ObjectName>,
    ) -> Result<bool, PortError> {
        Ok(!self.state().untold.contains(kind))
    }

    async fn revision_set(
        &self,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<Result<Vec<UpstreamSource>, Vec<Problem>>>, PortError> {
        let state = self.state();
        if state.unsigned.contains(&requester.key) {
            return Ok(Found::WriterUnknown);
        }
        Ok(match state.revision_sets.get(key) {
            Some(sources) => Found::Here(Ok(sources.clone())),
            None => Found::Absent,
        })
    }

    fn leaving(&self) -> BoxStream<'static, Namespace> {
        let state = &mut *self.state();
        let (tell, mut told) = unbounded_channel();
        for one in &state.leaving {
            drop(tell.send(one.clone()));
        }
        state.leaving_told.push(tell);
        stream::poll_fn(move |context| told.poll_recv(context)).boxed()
    }

    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError> {
        Ok(!self.state().leaving.contains(namespace))
    }
}

#[async_trait]
impl Secrets for Twin {
    async fn secret(&self, key: &ObjectKey, _reader: &Reader) -> Result<Found<Secret>, PortError> {
        let secret = self.state().secrets.get(key).cloned();
        Ok(secret.map_or(Found::Absent, Found::Here))
    }

    async fn trusted(&self, _namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError> {
        Ok(None)
    }
}

#[async_trait]
impl Events for Twin {
    async fn tell(&self, event: ClusterEvent) {
        self.state().events.push(event);
    }
}
