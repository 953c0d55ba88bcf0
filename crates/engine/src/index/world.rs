//! All mirrors together, with the indexes over variants and sets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Downstream, Namespace, ObjectKey, ObjectMeta, ObjectName, RepositoryName, Revision, Standing,
    Status, Uid, UpstreamSource, Variant,
};
use plan::set::Existing;
use plan::variant::words::{READY, SET_KIND, STALLED, TAKE_BACK};

use super::keys::{Keys, add, find, take};
use super::mirror::{Changed, Mirror, Versioned};
use super::objects::Objects;
use super::packages::PackageKey;
use super::repositories::{Location, Repositories};
use super::revisions::Revisions;
use crate::ports::{Stored, StoredRepository, StoredSet, StoredVariant};

impl<T, S> Versioned for Stored<T, S> {
    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.meta.resource_version
    }
}

/// Everything that is known.
#[derive(Debug, Default, Clone)]
pub(crate) struct World {
    /// Records.
    pub(crate) revisions: Revisions,
    /// Repositories.
    pub(crate) repositories: Repositories,
    /// Sets.
    pub(crate) sets: Mirror<StoredSet>,
    /// Injected and selected objects.
    pub(crate) objects: Objects,
    /// Namespaces that were heard to go; another one of that name may be there since.
    pub(crate) leaving: BTreeSet<Namespace>,
    variants: Mirror<StoredVariant>,
    /// As sets see them, made once for each change.
    existing: BTreeMap<ObjectKey, Arc<Existing>>,
    upstreams: BTreeMap<PackageKey, Keys>,
    downstreams: BTreeMap<PackageKey, Keys>,
    /// By where in git they write, whatever registration they name for it.
    claims: BTreeMap<Location, Keys>,
    uids: BTreeMap<Uid, ObjectKey>,
    /// Where sets take their upstream packages from, those that named selections name put in their place.
    sources: BTreeMap<ObjectKey, Vec<UpstreamSource>>,
}

impl World {
    /// Whether everything was seen once.
    pub(crate) fn is_loaded(&self) -> bool {
        self.revisions.is_loaded()
            && self.repositories.is_loaded()
            && self.sets.is_loaded()
            && self.variants.is_loaded()
    }

    /// How much is remembered of variants and sets, by name.
    pub(crate) fn held(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("seen_variants", self.existing.len()),
            ("uids", self.uids.len()),
            ("claims", self.claims.len()),
            ("wants", self.objects.wants()),
            ("sources", self.sources.len()),
        ]
    }

    /// A variant.
    pub(crate) fn variant(&self, key: &ObjectKey) -> Option<&Arc<StoredVariant>> {
        self.variants.get(key)
    }

    /// All variants of a namespace, as sets see them.
    pub(crate) fn existing_in(&self, namespace: &Namespace) -> Vec<Arc<Existing>> {
        self.existing
            .iter()
            .skip_while(|(key, _)| key.namespace < *namespace)
            .take_while(|(key, _)| key.namespace == *namespace)
            .map(|(_, existing)| Arc::clone(existing))
            .collect()
    }

    /// Whether a variant is known at this version or a later one.
    pub(crate) fn knows_variant(&self, key: &ObjectKey, version: &str) -> bool {
        self.variants.knows(key, version)
    }

    /// All variants.
    pub(crate) fn variants(&self) -> impl Iterator<Item = &Arc<StoredVariant>> {
        self.variants.iter()
    }

    /// A variant by its uid.
    pub(crate) fn variant_of_uid(&self, uid: &Uid) -> Option<&Arc<StoredVariant>> {
        self.variants.get(self.uids.get(uid)?)
    }

    /// The set that controls an object of a namespace, if it is annotated to take back what variants of it left behind.
    pub(crate) fn takes_back(&self, meta: &ObjectMeta, namespace: &Namespace) -> Option<Uid> {
        let set = self.set_of(meta, namespace).filter(|set| asks_back(set))?;
        set.meta.uid.clone()
    }

    /// Whether the set that a variant belongs to is suspended, and its variants with it.
    pub(crate) fn is_set_suspended(&self, meta: &ObjectMeta, namespace: &Namespace) -> bool {
        self.set_of(meta, namespace)
            .is_some_and(|set| suspends(set))
    }

    /// Whether the set that a variant belongs to rolls out in steps, whatever the variant says of itself (F7).
    pub(crate) fn rolls_out(&self, meta: &ObjectMeta, namespace: &Namespace) -> bool {
        let set = self.set_of(meta, namespace);
        let parsed = set.and_then(|set| set.parsed.as_ref().ok());
        parsed.is_some_and(|set| set.spec.rollout.is_some())
    }

    /// Whether the rollout of the set that a variant belongs to has closed its step (F7).
    pub(crate) fn is_early(&self, meta: &ObjectMeta, key: &ObjectKey) -> bool {
        let set = self.set_of(meta, &key.namespace);
        let rolls = |set: &&Arc<StoredSet>| {
            let parsed = set.parsed.as_ref();
            parsed.is_ok_and(|set| set.spec.rollout.is_some())
        };
        let rollout = set.filter(rolls).and_then(|s| s.status.rollout.as_ref());
        rollout.is_some_and(|rollout| plan::set::is_early(rollout, key.name.as_str()))
    }

    /// The set that controls a variant.
    fn set_of(&self, meta: &ObjectMeta, namespace: &Namespace) -> Option<&Arc<StoredSet>> {
        let owner = meta.controller().filter(|c| c.kind == SET_KIND)?;
        let name = ObjectName::parse(&owner.name).ok()?;
        let set = self.sets.get(&ObjectKey::new(namespace.clone(), name))?;
        (set.meta.uid.as_ref() == Some(&owner.uid)).then_some(set)
    }

    /// The variants that a set controls.
    pub(crate) fn variants_of(&self, set: &StoredSet) -> Vec<ObjectKey> {
        let Some(uid) = &set.meta.uid else {
            return Vec::new();
        };
        let owned = self.variants.iter().filter(|v| v.meta.is_owned_by(uid));
        owned.map(|v| v.key.clone()).collect()
    }

    /// The variants whose upstream is this package.
    pub(crate) fn followers(&self, package: &PackageKey) -> Vec<Arc<StoredVariant>> {
        self.find(self.upstreams.get(package))
    }

    /// The variants whose downstream is this package.
    pub(crate) fn claimants(&self, package: &PackageKey) -> Vec<Arc<StoredVariant>> {
        self.find(self.downstreams.get(package))
    }

    /// The variants that write where this package lies, in any namespace: through its registration, or through another one that
    /// leads to the same directory (V25). Where its registration is not known, nobody knows of others.
    pub(crate) fn writers_at(&self, package: &PackageKey) -> Vec<Arc<StoredVariant>> {
        match self.location(package) {
            Some(location) => self.find(self.claims.get(&location)),
            None => self.claimants(package),
        }
    }

    /// Whether two packages are one directory of one branch.
    pub(crate) fn is_one_place(&self, a: &PackageKey, b: &PackageKey) -> bool {
        let location = self.location(a);
        a == b || (location.is_some() && location == self.location(b))
    }

    /// Who writes where variants of this registration write, themselves included: whom its coming and going concerns.
    pub(crate) fn writers_beside(&self, registration: &StoredRepository) -> BTreeSet<ObjectKey> {
        let packages = self.claimed_through(&registration.key);
        let locations = packages
            .into_iter()
            .filter_map(|(package, _)| self.repositories.location(registration, &package.package));
        let keys = locations.flat_map(|location| find(self.claims.get(&location)).cloned());
        keys.collect()
    }

    /// The packages that variants claim through a registration.
    fn claimed_through(&self, registration: &ObjectKey) -> Vec<(PackageKey, Keys)> {
        let Ok(name) = RepositoryName::parse(registration.name.as_str()) else {
            return Vec::new();
        };
        let at = (&registration.namespace, &name);
        let here = self.downstreams.iter();
        let here = here.skip_while(|(k, _)| (&k.namespace, &k.repository) < at);
        let here = here.take_while(|(k, _)| (&k.namespace, &k.repository) == at);
        here.map(|(k, keys)| (k.clone(), keys.clone())).collect()
    }

    fn location(&self, package: &PackageKey) -> Option<Location> {
        let through = self.repository(&package.namespace, &package.repository)?;
        self.repositories.location(&through, &package.package)
    }

    /// The variants that read from or write to a repository.
    pub(crate) fn variants_at(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> BTreeSet<ObjectKey> {
        let at = |index: &BTreeMap<PackageKey, Keys>| {
            index
                .iter()
                .skip_while(|(k, _)| (&k.namespace, &k.repository) < (namespace, repository))
                .take_while(|(k, _)| (&k.namespace, &k.repository) == (namespace, repository))
                .flat_map(|(_, keys)| keys.iter().cloned())
                .collect::<Vec<_>>()
        };
        let both = [at(&self.upstreams), at(&self.downstreams)];
        both.into_iter().flatten().collect()
    }

    /// Where a set takes its upstream packages from, as far as that is known.
    pub(crate) fn sources_of<'a>(&'a self, set: &'a StoredSet) -> &'a [UpstreamSource] {
        match (self.sources.get(&set.key), &set.parsed) {
            (Some(known), _) => known,
            (None, Ok(set)) => &set.spec.upstreams,
            (None, Err(_)) => &[],
        }
    }

    /// Notes where a set takes its upstream packages from now, named selections resolved.
    pub(crate) fn take_sources(&mut self, set: &ObjectKey, sources: Vec<UpstreamSource>) {
        self.sources.insert(set.clone(), sources);
    }

    /// Forgets what named selections came to: the set names none any more, or is gone.
    pub(crate) fn drop_sources(&mut self, set: &ObjectKey) {
        self.sources.remove(set);
    }

    /// Whether something is noted about a set's sources.
    pub(crate) fn has_sources(&self, set: &ObjectKey) -> bool {
        self.sources.contains_key(set)
    }

    /// The registered repository of this name, if it can be understood.
    pub(crate) fn repository(
        &self,
        namespace: &Namespace,
        name: &RepositoryName,
    ) -> Option<Arc<StoredRepository>> {
        let name = ObjectName::parse(name.as_str()).ok()?;
        let key = ObjectKey::new(namespace.clone(), name);
        self.repositories.get(&key).cloned()
    }

    /// The name of the registration that a record is of, where that is not there.
    pub(crate) fn unregistered(&self, record: &Revision) -> Option<ObjectKey> {
        let name = ObjectName::parse(record.repository.as_str()).ok()?;
        let key = ObjectKey::new(record.key.namespace.clone(), name);
        self.repositories.get(&key).is_none().then_some(key)
    }

    fn find(&self, keys: Option<&Keys>) -> Vec<Arc<StoredVariant>> {
        find(keys)
            .filter_map(|key| self.variants.get(key).cloned())
            .collect()
    }

    /// Takes a registration.
    pub(crate) fn put_repository(
        &mut self,
        stored: impl Into<Arc<StoredRepository>>,
    ) -> Option<Changed<StoredRepository>> {
        let changed = self.repositories.put(stored)?;
        self.relocate(&changed);
        Some(changed)
    }

    /// Takes a registration's deletion.
    pub(crate) fn delete_repository(
        &mut self,
        key: &ObjectKey,
        version: &str,
    ) -> Option<Changed<StoredRepository>> {
        let changed = self.repositories.delete(key, version)?;
        self.relocate(&changed);
        Some(changed)
    }

    /// Takes all registrations there are.
    pub(crate) fn snapshot_repositories(
        &mut self,
        all: Vec<StoredRepository>,
    ) -> Vec<Changed<StoredRepository>> {
        let changes = self.repositories.snapshot(all);
        for changed in &changes {
            self.relocate(changed);
        }
        changes
    }

    /// Notes that the address of a repository leads to another one.
    pub(crate) fn resolve(&mut self, url: &str, real: &str) {
        if !self.repositories.resolve(url, real) {
            return;
        }
        self.claims.clear();
        for (package, keys) in self.downstreams.clone() {
            if let Some(location) = self.location(&package) {
                for key in keys.iter() {
                    add(&mut self.claims, location.clone(), key);
                }
            }
        }
    }

    /// Where variants write is as their registration says now.
    fn relocate(&mut self, changed: &Changed<StoredRepository>) {
        let sides = [changed.old.as_ref(), changed.new.as_ref()];
        let git = sides.map(|side| side?.parsed.as_ref().ok().map(|r| &r.git));
        let key = sides.into_iter().flatten().next().map(|side| &side.key);
        let ([old, new], Some(key)) = (git, key) else {
            return;
        };
        if old == new {
            return;
        }
        for (package, keys) in self.claimed_through(key) {
            let at = |side: Option<&Arc<StoredRepository>>| {
                self.repositories.location(side?, &package.package)
            };
            let [before, now] = sides.map(at);
            for key in keys.iter() {
                if let Some(before) = &before {
                    take(&mut self.claims, before, key);
                }
                if let Some(now) = &now {
                    add(&mut self.claims, now.clone(), key);
                }
            }
        }
    }

    /// Takes a variant.
    pub(crate) fn put_variant(&mut self, v: StoredVariant) -> Option<Changed<StoredVariant>> {
        let changed = self.variants.put(v)?;
        self.reindex(&changed);
        Some(changed)
    }

    /// Takes a variant's deletion.
    pub(crate) fn delete_variant(
        &mut self,
        key: &ObjectKey,
        version: &str,
    ) -> Option<Changed<StoredVariant>> {
        let changed = self.variants.delete(key, version)?;
        self.reindex(&changed);
        self.objects.want(key, BTreeSet::new());
        Some(changed)
    }

    /// Takes all variants there are.
    pub(crate) fn snapshot_variants(
        &mut self,
        all: Vec<StoredVariant>,
    ) -> Vec<Changed<StoredVariant>> {
        let changes = self.variants.snapshot(all);
        for changed in &changes {
            self.reindex(changed);
            if let (Some(old), None) = (&changed.old, &changed.new) {
                self.objects.want(&old.key, BTreeSet::new());
            }
        }
        changes
    }

    fn reindex(&mut self, changed: &Changed<StoredVariant>) {
        if let Some(old) = &changed.old {
            if let Some(uid) = &old.meta.uid {
                self.uids.remove(uid);
            }
            self.existing.remove(&old.key);
            if let Ok(variant) = &old.parsed {
                take(&mut self.upstreams, &upstream_of(variant), &old.key);
                let at = downstream_of(variant);
                take(&mut self.downstreams, &at, &old.key);
                if let Some(location) = self.location(&at) {
                    take(&mut self.claims, &location, &old.key);
                }
            }
        }
        if let Some(new) = &changed.new {
            if let Some(uid) = &new.meta.uid {
                self.uids.insert(uid.clone(), new.key.clone());
            }
            self.existing
                .insert(new.key.clone(), Arc::new(existing_of(new)));
            if let Ok(variant) = &new.parsed {
                add(&mut self.upstreams, upstream_of(variant), &new.key);
                let at = downstream_of(variant);
                if let Some(location) = self.location(&at) {
                    add(&mut self.claims, location, &new.key);
                }
                add(&mut self.downstreams, at, &new.key);
            }
        }
    }
}

/// Whether a set wants back what variants of it left behind.
pub(crate) fn asks_back(set: &StoredSet) -> bool {
    set.meta
        .annotations
        .get(TAKE_BACK)
        .is_some_and(|v| v == "true")
}

/// Whether a set keeps its variants as they are. Those of a rollout are pinned to a commit each, and what is open of them is
/// measured as ever.
pub(crate) fn suspends(set: &StoredSet) -> bool {
    let parsed = set.parsed.as_ref();
    parsed.is_ok_and(|set| set.spec.suspend && set.spec.rollout.is_none())
}

/// A variant as sets see it.
fn existing_of(stored: &StoredVariant) -> Existing {
    let status = &stored.status;
    let parsed = stored.parsed.as_ref().ok();
    let wanted = parsed.and_then(|v| v.spec.upstream.commit);
    let current = status.observed_generation == stored.meta.generation;
    let condition = |kind: &str| status.condition(kind).filter(|_| current);
    let ready = condition(READY).map_or_else(
        || (Status::Unknown, String::new(), String::new()),
        |c| (c.status, c.reason.clone(), c.message.clone()),
    );
    let newest = status.downstream_targets.first();
    Existing {
        key: stored.key.clone(),
        meta: Arc::clone(&stored.meta),
        variant: stored.parsed.as_ref().ok().cloned(),
        ready,
        stalled: condition(STALLED).is_some_and(|c| c.status == Status::True),
        lifecycle: newest.map(|t| t.lifecycle),
        holds: newest.and_then(|t| t.upstream_lock.as_ref()?.commit),
        standing: Standing::of(status, stored.meta.generation),
        published: status.published_generation == Some(stored.meta.generation),
        rejected: status.downstream_targets.iter().any(|t| {
            // A rejection is of what was proposed, never of what is wanted since.
            let of = t.upstream_lock.as_ref().and_then(|lock| lock.commit);
            t.rejected && wanted.is_none_or(|wanted| of == Some(wanted))
        }),
        untagged: wanted.is_some() && status.is_untagged(stored.meta.generation),
    }
}

/// The upstream package of a variant.
pub(crate) fn upstream_of(variant: &Variant) -> PackageKey {
    let up = &variant.spec.upstream;
    PackageKey::new(&variant.key.namespace, &up.repo, &up.package)
}

/// The downstream package of a variant.
pub(crate) fn downstream_of(variant: &Variant) -> PackageKey {
    package_of(&variant.key.namespace, &variant.spec.downstream)
}

/// A downstream as a package key.
pub(crate) fn package_of(namespace: &Namespace, at: &Downstream) -> PackageKey {
    PackageKey::new(namespace, &at.repo, &at.package)
}
