//! Variants, sets and repositories as an engine under the simulation sees them.

use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    Feed, Known, Objects, Ours, PortError, Stored, StoredRepository, StoredSet, StoredVariant,
    Variants,
};
use model::{Namespace, ObjectKey, Repository, SetStatus, Uid, Variant, VariantSet, VariantStatus};

use super::mutant;
use super::ports::{Pasts, Ports};
use super::watch::{Past, meddle};
use crate::twin::Twin;

/// A kind as the simulation strikes it.
pub(super) trait Struck: Ours {
    /// What its reads and writes are called, and its watch.
    const NAMES: (&'static str, &'static str);

    /// What its watch listed last.
    fn past(pasts: &Pasts) -> &Past<Stored<Self::Asked, Self::Status>>;

    /// Somebody else writes an object first; false: it is not there.
    fn touch(ports: &Ports, key: &ObjectKey) -> bool;

    /// A status as it is written; what it says is noted.
    fn status(_ports: &Ports, _key: &ObjectKey, status: &Self::Status) -> Self::Status {
        status.clone()
    }

    /// Notes finalizers that are written at a version.
    fn finalizers(_ports: &Ports, _at: (&ObjectKey, &str), _finalizers: &[String]) {}
}

impl Struck for Variant {
    const NAMES: (&'static str, &'static str) = ("variant", "variants");

    fn past(pasts: &Pasts) -> &Past<StoredVariant> {
        &pasts.variants
    }

    fn touch(ports: &Ports, key: &ObjectKey) -> bool {
        ports.touch_variant(key)
    }

    fn status(ports: &Ports, key: &ObjectKey, status: &VariantStatus) -> VariantStatus {
        ports.excuses(key, status);
        status.clone()
    }

    fn finalizers(ports: &Ports, (key, version): (&ObjectKey, &str), finalizers: &[String]) {
        ports.lets_go(key, version, finalizers);
    }
}

impl Struck for VariantSet {
    const NAMES: (&'static str, &'static str) = ("set", "sets");

    fn past(pasts: &Pasts) -> &Past<StoredSet> {
        &pasts.sets
    }

    fn touch(ports: &Ports, key: &ObjectKey) -> bool {
        ports.touch_set(key)
    }

    fn status(ports: &Ports, _key: &ObjectKey, status: &SetStatus) -> SetStatus {
        mutant::break_set(ports.mutant, status)
    }
}

impl Struck for Repository {
    const NAMES: (&'static str, &'static str) = ("repository", "repositories");

    fn past(pasts: &Pasts) -> &Past<StoredRepository> {
        &pasts.repositories
    }

    fn touch(ports: &Ports, key: &ObjectKey) -> bool {
        ports.touch_repository(key)
    }
}

#[async_trait]
impl<K: Struck> Objects<K> for Ports
where
    Twin: Objects<K>,
{
    fn feed(&self, known: Known) -> Feed<Stored<K::Asked, K::Status>> {
        let feed = Objects::<K>::feed(&*self.twin, known);
        let past = Arc::clone(K::past(&self.pasts));
        meddle(feed, &self.chaos, self.process, K::NAMES.1, past)
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Stored<K::Asked, K::Status>>, PortError> {
        self.read(&format!("get {}", K::NAMES.0))?;
        Objects::<K>::get(&*self.twin, key).await
    }

    async fn now(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<Stored<K::Asked, K::Status>>, PortError> {
        self.read("list now")?;
        Objects::<K>::now(&*self.twin, namespace).await
    }

    async fn set_status(
        &self,
        key: &ObjectKey,
        version: &str,
        status: &K::Status,
    ) -> Result<String, PortError> {
        let stands = K::status(self, key, status);
        let write = Objects::<K>::set_status(&*self.twin, key, version, &stands);
        let what = format!("{} status", K::NAMES.0);
        let touch = || K::touch(self, key);
        let written = self.attempt((what.as_str(), key), touch, write).await;
        if stands != *status {
            // Whoever wrote takes it for written: only a later version tells what stands.
            K::touch(self, key);
        }
        written
    }

    async fn set_finalizers(
        &self,
        key: &ObjectKey,
        version: &str,
        finalizers: &[String],
    ) -> Result<String, PortError> {
        K::finalizers(self, (key, version), finalizers);
        let write = Objects::<K>::set_finalizers(&*self.twin, key, version, finalizers);
        self.attempt(("finalizers", key), || K::touch(self, key), write)
            .await
    }
}

#[async_trait]
impl Variants for Ports {
    async fn create(&self, variant: &Variant) -> Result<StoredVariant, PortError> {
        self.rolls(variant, None);
        self.gives(variant);
        self.spreads(variant);
        let variant = &mutant::break_variant(self.mutant, variant);
        let write = Variants::create(&*self.twin, variant);
        self.attempt(("create variant", &variant.key), || false, write)
            .await
    }

    async fn update(&self, variant: &Variant, version: &str) -> Result<StoredVariant, PortError> {
        self.rolls(variant, Some(version));
        self.gives(variant);
        let variant = &mutant::break_variant(self.mutant, variant);
        let write = mutant::update_variant(self.mutant, &self.twin, variant, version);
        let touch = || self.touch_variant(&variant.key);
        self.attempt(("update variant", &variant.key), touch, write)
            .await
    }

    async fn delete(&self, key: &ObjectKey, uid: &Uid) -> Result<(), PortError> {
        let found = self.twin.variant(key.namespace.as_str(), key.name.as_str());
        if let Some(Ok(variant)) = found.map(|v| v.parsed) {
            let at = &variant.spec.downstream;
            let place = format!("{}/{}", at.repo, at.package);
            self.leaves(&place);
        }
        let write = Variants::delete(&*self.twin, key, uid);
        self.attempt(("delete variant", key), || false, write).await
    }
}
