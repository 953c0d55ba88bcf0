//! The twin as the cluster.

use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    Cluster, ClusterEvent, Feed, Found, Gvk, Known, ObjectContent, ObjectSummary, OurKind,
    PortError, Reader, Requester, Secret, Stored, StoredRepository, StoredSet, StoredVariant,
};
use model::{
    Class, Namespace, ObjectKey, ObjectName, Pairs, Problem, RepositoryStatus, SetStatus, Uid,
    UpstreamSource, Variant, VariantStatus,
};
use plan::set::KindScope;

use super::Twin;
use super::table::{self, HasMeta, Item, Table};

fn conflict(attempt: &str, key: &ObjectKey) -> PortError {
    PortError::new(
        Class::Conflict,
        format!("{attempt} {key}"),
        "it has changed",
    )
}

fn gone(attempt: &str, key: &ObjectKey) -> PortError {
    PortError::new(Class::NotFound, format!("{attempt} {key}"), "it is gone")
}

/// Changes the status of one object if it is as expected.
fn write_status<T: Clone, S: Clone>(
    table: &mut Table<Stored<T, S>>,
    version: &mut u64,
    key: &ObjectKey,
    expected: &str,
    status: &S,
) -> Result<(Stored<T, S>, bool), PortError>
where
    Stored<T, S>: Item,
{
    let old = table
        .get(key)
        .ok_or_else(|| gone("write the status of", key))?;
    if old.meta.resource_version != expected {
        return Err(conflict("write the status of", key));
    }
    let mut new = old.clone();
    new.status = status.clone();
    Ok(table.put(key.clone(), new, version))
}

fn write_finalizers<T: Clone + HasMeta, S: Clone>(
    table: &mut Table<Stored<T, S>>,
    version: &mut u64,
    key: &ObjectKey,
    expected: &str,
    finalizers: &[String],
) -> Result<String, PortError>
where
    Stored<T, S>: Item,
{
    let old = table
        .get(key)
        .ok_or_else(|| gone("write the finalizers of", key))?;
    if old.meta.resource_version != expected {
        return Err(conflict("write the finalizers of", key));
    }
    if old.meta.deleted.is_some() && finalizers.is_empty() {
        table.remove(key, version);
        return Ok(String::new());
    }
    let mut new = old.clone();
    Arc::make_mut(&mut new.meta).finalizers = finalizers.to_vec();
    let (stored, _) = table.put(key.clone(), new, version);
    Ok(stored.meta.resource_version.clone())
}

#[async_trait]
impl Cluster for Twin {
    fn variants(&self, _known: Known) -> Feed<StoredVariant> {
        self.state().variants.watch()
    }

    async fn variant(&self, key: &ObjectKey) -> Result<Option<StoredVariant>, PortError> {
        Ok(self.state().variants.get(key).cloned())
    }

    async fn repository(&self, key: &ObjectKey) -> Result<Option<StoredRepository>, PortError> {
        Ok(self.state().repositories.get(key).cloned())
    }

    async fn set(&self, key: &ObjectKey) -> Result<Option<StoredSet>, PortError> {
        Ok(self.state().sets.get(key).cloned())
    }

    async fn repositories_now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<StoredRepository>, PortError> {
        let mut all = self.state().repositories.all();
        all.retain(|r| r.key.namespace == *namespace);
        Ok(all)
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

    fn sets(&self) -> Feed<StoredSet> {
        self.state().sets.watch()
    }

    fn repositories(&self) -> Feed<StoredRepository> {
        self.state().repositories.watch()
    }

    async fn objects(&self, kind: &Gvk) -> Result<Option<Feed<ObjectSummary>>, PortError> {
        let mut state = self.state();
        Ok(state
            .objects
            .get_mut(kind)
            .map(|table| table::summaries(table.watch())))
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

    async fn secret(&self, key: &ObjectKey, _reader: &Reader) -> Result<Found<Secret>, PortError> {
        let secret = self.state().secrets.get(key).cloned();
        Ok(secret.map_or(Found::Absent, Found::Here))
    }

    async fn trusted(&self, _namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError> {
        Ok(None)
    }

    async fn set_variant_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &VariantStatus,
    ) -> Result<String, PortError> {
        let state = &mut *self.state();
        let written = write_status(
            &mut state.variants,
            &mut state.version,
            key,
            version,
            status,
        )?;
        self.count(written.1);
        Ok(written.0.meta.resource_version.clone())
    }

    async fn set_set_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &SetStatus,
    ) -> Result<StoredSet, PortError> {
        let state = &mut *self.state();
        let written = write_status(&mut state.sets, &mut state.version, key, version, status)?;
        self.count(written.1);
        Ok(written.0)
    }

    async fn set_repository_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &RepositoryStatus,
    ) -> Result<StoredRepository, PortError> {
        let state = &mut *self.state();
        let table = &mut state.repositories;
        let written = write_status(table, &mut state.version, key, version, status)?;
        self.count(written.1);
        Ok(written.0)
    }

    async fn set_finalizers(
        &self,
        kind: OurKind,
        key: &ObjectKey,
        version: &str,
        finalizers: &[String],
    ) -> Result<String, PortError> {
        let state = &mut *self.state();
        self.wrote();
        let number = &mut state.version;
        match kind {
            OurKind::Variant => {
                write_finalizers(&mut state.variants, number, key, version, finalizers)
            }
            OurKind::Set => write_finalizers(&mut state.sets, number, key, version, finalizers),
            OurKind::Repository => {
                write_finalizers(&mut state.repositories, number, key, version, finalizers)
            }
            OurKind::Revision => Err(PortError::new(
                Class::Bug,
                format!("write the finalizers of {key}"),
                "records have their own port",
            )),
        }
    }

    async fn create_variant(&self, variant: &Variant) -> Result<StoredVariant, PortError> {
        if self.state().variants.get(&variant.key).is_some() {
            return Err(conflict("create", &variant.key));
        }
        Ok(self.put_variant(variant.clone()))
    }

    async fn update_variant(
        &self,
        variant: &Variant,
        version: &str,
    ) -> Result<StoredVariant, PortError> {
        let known = self.state().variants.get(&variant.key).cloned();
        let known = known.ok_or_else(|| gone("update", &variant.key))?;
        if known.meta.resource_version != version {
            return Err(conflict("update", &variant.key));
        }
        Ok(self.put_variant(variant.clone()))
    }

    async fn delete_variant(&self, key: &ObjectKey, uid: &Uid) -> Result<(), PortError> {
        let state = &mut *self.state();
        let known = state.variants.get(key);
        let known = known.ok_or_else(|| gone("delete", key))?;
        if known.meta.uid.as_ref() != Some(uid) {
            return Err(conflict("delete", key));
        }
        self.wrote();
        table::delete(&mut state.variants, &mut state.version, key, state.clock);
        Ok(())
    }

    async fn event(&self, event: ClusterEvent) {
        self.state().events.push(event);
    }

    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError> {
        Ok(!self.state().leaving.contains(namespace))
    }
}

impl Twin {
    fn count(&self, changed: bool) {
        if changed {
            self.wrote();
        }
    }
}
