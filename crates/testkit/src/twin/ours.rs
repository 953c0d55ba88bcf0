//! The twin's variants, sets and repositories.

use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{Feed, Known, Objects, Ours, PortError, Stored, StoredVariant, Variants};
use model::{Class, Namespace, ObjectKey, Repository, Uid, Variant, VariantSet};

use super::table::{self, Item, Table};
use super::{State, Twin};

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

/// The objects of a kind.
type Rows<K> = Table<Stored<<K as Ours>::Asked, <K as Ours>::Status>>;

/// A kind that the twin keeps.
pub(super) trait Kept: Ours {
    /// Its objects, and the version of the last write of any.
    fn table(state: &mut State) -> (&mut Rows<Self>, &mut u64);
}

impl Kept for Variant {
    fn table(state: &mut State) -> (&mut Rows<Self>, &mut u64) {
        (&mut state.variants, &mut state.version)
    }
}

impl Kept for VariantSet {
    fn table(state: &mut State) -> (&mut Rows<Self>, &mut u64) {
        (&mut state.sets, &mut state.version)
    }
}

impl Kept for Repository {
    fn table(state: &mut State) -> (&mut Rows<Self>, &mut u64) {
        (&mut state.repositories, &mut state.version)
    }
}

/// The object of this key, if it is at this version.
fn at<'a, T, S>(
    table: &'a Table<Stored<T, S>>,
    (key, version): (&ObjectKey, &str),
    attempt: &str,
) -> Result<&'a Stored<T, S>, PortError>
where
    Stored<T, S>: Item,
{
    let old = table.get(key).ok_or_else(|| gone(attempt, key))?;
    match old.meta.resource_version == version {
        true => Ok(old),
        false => Err(conflict(attempt, key)),
    }
}

#[async_trait]
impl<K: Kept> Objects<K> for Twin
where
    Stored<K::Asked, K::Status>: Item,
{
    fn feed(&self, _known: Known) -> Feed<Stored<K::Asked, K::Status>> {
        K::table(&mut self.state()).0.watch()
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Stored<K::Asked, K::Status>>, PortError> {
        Ok(K::table(&mut self.state()).0.get(key).cloned())
    }

    async fn now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<Stored<K::Asked, K::Status>>, PortError> {
        let mut all = K::table(&mut self.state()).0.all();
        all.retain(|one| one.key.namespace == *namespace);
        Ok(all)
    }

    async fn set_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &K::Status,
    ) -> Result<String, PortError> {
        let state = &mut *self.state();
        let (table, number) = K::table(state);
        let mut new = at(table, (key, version), "write the status of")?.clone();
        new.status = status.clone();
        let (stored, changed) = table.put(key.clone(), new, number);
        if changed {
            self.wrote();
        }
        Ok(stored.meta.resource_version.clone())
    }

    async fn set_finalizers(
        &self,
        key: &ObjectKey,
        version: &str,
        finalizers: &[String],
    ) -> Result<String, PortError> {
        let state = &mut *self.state();
        self.wrote();
        let (table, number) = K::table(state);
        let old = at(table, (key, version), "write the finalizers of")?;
        if old.meta.deleted.is_some() && finalizers.is_empty() {
            table.remove(key, number);
            return Ok(String::new());
        }
        let mut new = old.clone();
        Arc::make_mut(&mut new.meta).finalizers = finalizers.to_vec();
        let (stored, _) = table.put(key.clone(), new, number);
        Ok(stored.meta.resource_version.clone())
    }
}

#[async_trait]
impl Variants for Twin {
    async fn create(&self, variant: &Variant) -> Result<StoredVariant, PortError> {
        if self.state().variants.get(&variant.key).is_some() {
            return Err(conflict("create", &variant.key));
        }
        Ok(self.put_variant(variant.clone()))
    }

    async fn update(&self, variant: &Variant, version: &str) -> Result<StoredVariant, PortError> {
        at(&self.state().variants, (&variant.key, version), "update")?;
        Ok(self.put_variant(variant.clone()))
    }

    async fn delete(&self, key: &ObjectKey, uid: &Uid) -> Result<(), PortError> {
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
}
