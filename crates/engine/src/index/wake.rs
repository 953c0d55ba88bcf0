//! Which keys a change touches (V11): only those that an index names.

use std::collections::BTreeSet;

use model::{Namespace, ObjectKey, Revision, TargetSelection, UpstreamSource};
use plan::variant::words::WAITING_FOR_APPROVAL;

use super::mirror::Changed;
use super::packages::PackageKey;
use super::repositories::READ_ONLY;
use super::world::{World, asks_back, downstream_of, suspends, upstream_of};
use crate::ports::{Gvk, ObjectSummary, Stored, StoredRepository, StoredSet, StoredVariant};

/// Keys to look at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wake {
    /// Variants.
    pub(crate) variants: BTreeSet<ObjectKey>,
    /// Variants for which more of the same may follow: what changes often is looked at once.
    pub(crate) variants_later: BTreeSet<ObjectKey>,
    /// Sets.
    pub(crate) sets: BTreeSet<ObjectKey>,
    /// Sets that only sum up what changed: they can wait for more of it.
    pub(crate) sets_later: BTreeSet<ObjectKey>,
    /// Repositories.
    pub(crate) repositories: BTreeSet<ObjectKey>,
}

/// Whether nothing but the status (and the version with it) differs.
fn status_only<T: PartialEq, S>(changed: &Changed<Stored<T, S>>) -> bool {
    let (Some(old), Some(new)) = (&changed.old, &changed.new) else {
        return false;
    };
    let (a, b) = (&old.meta, &new.meta);
    old.parsed.is_ok() == new.parsed.is_ok()
        && a.uid == b.uid
        && a.generation == b.generation
        && a.deleted == b.deleted
        && a.labels == b.labels
        && a.annotations == b.annotations
        && a.finalizers == b.finalizers
        && a.owners == b.owners
}

/// Whether the status differs.
fn status_differs<T, S: PartialEq>(changed: &Changed<Stored<T, S>>) -> bool {
    let both = changed.old.as_ref().zip(changed.new.as_ref());
    both.is_some_and(|(old, new)| old.status != new.status)
}

impl Wake {
    /// What all of these changes touch.
    pub(crate) fn all<T>(
        world: &World,
        changes: &[Changed<T>],
        touch: impl Fn(&mut Self, &World, &Changed<T>),
    ) -> Self {
        let mut wake = Self::default();
        for change in changes {
            touch(&mut wake, world, change);
        }
        wake
    }

    /// A status that a watch told of was written by somebody else, or hid behind a list from the past: what was
    /// decided on the old one may be wrong, so its variant is looked at.
    pub(crate) fn told_variant(&mut self, changed: &Changed<StoredVariant>) {
        if status_differs(changed) {
            let new = changed.new.iter();
            self.variants_later.extend(new.map(|v| v.key.clone()));
        }
    }

    /// The same of a set.
    pub(crate) fn told_set(&mut self, changed: &Changed<StoredSet>) {
        if status_differs(changed) {
            let new = changed.new.iter();
            self.sets_later.extend(new.map(|s| s.key.clone()));
        }
    }

    /// Whom a change of a record touches: who writes the package, who reads it, sets too, who owns it. One of a repository that is not
    /// registered any more goes as those before it went: whoever took the registration away may not have known it.
    pub(crate) fn revision(&mut self, world: &World, changed: &Changed<Revision>) {
        let new = changed.new.as_ref();
        self.repositories
            .extend(new.and_then(|r| world.unregistered(r)));
        for revision in changed.old.iter().chain(&changed.new) {
            let package = PackageKey::of(revision);
            let near = world.writers_at(&package).into_iter();
            let near = near.chain(world.followers(&package));
            self.variants.extend(near.map(|v| v.key.clone()));
            let owners = revision.meta.owners.iter();
            let owners = owners.filter_map(|o| world.variant_of_uid(&o.uid));
            let here = owners.filter(|v| v.key.namespace == package.namespace);
            self.variants.extend(here.map(|v| v.key.clone()));
            let reads = |set: &&std::sync::Arc<StoredSet>| {
                set.key.namespace == package.namespace
                    && world.sources_of(set).iter().any(|u| follows(u, revision))
            };
            self.sets
                .extend(world.sets.iter().filter(reads).map(|s| s.key.clone()));
        }
    }

    /// Whom a change of a variant touches: itself, its set, and who shares a package with it. A
    /// change of its status touches its set alone.
    pub(crate) fn variant(&mut self, world: &World, changed: &Changed<StoredVariant>) {
        let sets = sets_of(world, changed);
        if status_only(changed) {
            self.sets_later.extend(sets);
            return;
        }
        self.sets.extend(sets);
        for variant in changed.old.iter().chain(&changed.new) {
            self.variants.insert(variant.key.clone());
            let Ok(parsed) = &variant.parsed else {
                continue;
            };
            let rivals = world.writers_at(&downstream_of(parsed));
            let readers = world.followers(&downstream_of(parsed));
            let writers = world.writers_at(&upstream_of(parsed));
            let near = rivals.into_iter().chain(readers).chain(writers);
            self.variants.extend(near.map(|v| v.key.clone()));
        }
    }

    /// Whom a change of a set touches: itself, and its variants where it says whether they take back what was left, or stay as
    /// they are.
    pub(crate) fn set(&mut self, world: &World, changed: &Changed<StoredSet>) {
        self.steps(world, changed);
        if status_only(changed) {
            return;
        }
        let both = changed.old.iter().chain(&changed.new);
        self.sets.extend(both.map(|s| s.key.clone()));
        let says = |set: &StoredSet| (asks_back(set), suspends(set));
        let before = changed.old.as_ref().map_or((false, false), |s| says(s));
        if let Some(new) = changed.new.as_ref().filter(|s| says(s) != before) {
            self.variants.extend(world.variants_of(new));
        }
    }

    /// Variants of a set that say how to approve what they have open, and whose step opened or closed (F7).
    fn steps(&mut self, world: &World, changed: &Changed<StoredSet>) {
        let (Some(old), Some(new)) = (&changed.old, &changed.new) else {
            return;
        };
        let of = |set: &StoredSet| {
            let rollout = set.status.rollout.as_ref();
            rollout.map(|r| (r.id.clone(), r.step.clone(), r.state))
        };
        let (Some(uid), false) = (&new.meta.uid, of(old) == of(new)) else {
            return;
        };
        let is_early = |set: &StoredSet, name: &str| {
            let rollout = set.status.rollout.as_ref();
            rollout.is_some_and(|r| plan::set::is_early(r, name))
        };
        let all = world.existing_in(&new.key.namespace).into_iter();
        let told = all.filter(|v| {
            let name = v.key.name.as_str();
            v.meta.is_owned_by(uid)
                && v.ready.1 == WAITING_FOR_APPROVAL
                && is_early(old, name) != is_early(new, name)
        });
        self.variants.extend(told.map(|v| v.key.clone()));
    }

    /// Whom a change of a repository touches: itself, its variants, and sets that select it.
    pub(crate) fn repository(&mut self, world: &World, changed: &Changed<StoredRepository>) {
        let only_status = status_only(changed);
        // What a ready repository says besides (problems of single packages) concerns nobody else.
        let ready = |r: &Option<std::sync::Arc<StoredRepository>>| {
            let stored = r.as_ref()?;
            let found = stored.status.ready()?;
            let good = found.status == model::Status::True;
            let read_only = stored.status.conditions.iter().any(|c| c.kind == READ_ONLY);
            Some((good, (!good).then(|| found.message.clone()), read_only))
        };
        if only_status && ready(&changed.old) == ready(&changed.new) {
            return;
        }
        for repository in changed.old.iter().chain(&changed.new) {
            if !only_status {
                self.repositories.insert(repository.key.clone());
                // Who writes where several are registered depends on all of them (V25).
                let parsed = repository.parsed.as_ref().ok();
                let near = parsed.map(|r| world.repositories.at(&r.git.repo));
                let near = near.into_iter().flatten().map(|r| r.key.clone());
                self.repositories.extend(near);
            }
            let key = &repository.key;
            if let Ok(name) = model::RepositoryName::parse(key.name.as_str()) {
                self.variants
                    .extend(world.variants_at(&key.namespace, &name));
                self.variants.extend(world.writers_beside(repository));
            }
            let concerned = |set: &&std::sync::Arc<StoredSet>| {
                set.key.namespace == key.namespace
                    && set
                        .parsed
                        .as_ref()
                        .is_ok_and(|s| s.spec.targets.iter().any(|t| at_repository(t, repository)))
            };
            self.sets
                .extend(world.sets.iter().filter(concerned).map(|s| s.key.clone()));
        }
    }

    /// Whom a change of an injected or selected object touches.
    pub(crate) fn object(&mut self, world: &World, kind: &Gvk, changed: &Changed<ObjectSummary>) {
        for object in changed.old.iter().chain(&changed.new) {
            self.variants_later
                .extend(world.objects.interested(kind, &object.key));
            let selects = |set: &&std::sync::Arc<StoredSet>| {
                let near = object.is_seen_from(&set.key.namespace);
                if near && *kind == Gvk::revision_sets() && takes(set, Some(&object.key.name)) {
                    return true;
                }
                near && set.parsed.as_ref().is_ok_and(|s| {
                    s.spec.targets.iter().any(|t| match &t.selection {
                        TargetSelection::ObjectSelector { selector, .. } => {
                            Gvk::of(&selector.api_version, &selector.kind) == *kind
                                && selector.labels.matches(&object.object.labels)
                        }
                        _ => false,
                    })
                })
            };
            self.sets
                .extend(world.sets.iter().filter(selects).map(|s| s.key.clone()));
        }
    }

    /// Whom a namespace touches that begins to go: what in it has a finalizer of ours.
    pub(crate) fn namespace(&mut self, world: &World, namespace: &Namespace) {
        let here = |key: &&ObjectKey| key.namespace == *namespace;
        let variants = world.variants().map(|v| &v.key);
        self.variants.extend(variants.filter(here).cloned());
        let repositories = world.repositories.iter().map(|r| &r.key);
        self.repositories.extend(repositories.filter(here).cloned());
    }

    /// Whom the coming or going of a whole kind touches.
    pub(crate) fn kind(&mut self, world: &World, kind: &Gvk) {
        self.variants.extend(world.objects.interested_in_kind(kind));
        let selects = |set: &&std::sync::Arc<StoredSet>| {
            if *kind == Gvk::revision_sets() && takes(set, None) {
                return true;
            }
            set.parsed.as_ref().is_ok_and(|s| {
                s.spec.targets.iter().any(|t| match &t.selection {
                    TargetSelection::ObjectSelector { selector, .. } => {
                        Gvk::of(&selector.api_version, &selector.kind) == *kind
                    }
                    _ => false,
                })
            })
        };
        self.sets
            .extend(world.sets.iter().filter(selects).map(|s| s.key.clone()));
    }
}

/// The sets that own a variant, or would adopt it (S8: no controller, and the set's name).
fn sets_of(world: &World, changed: &Changed<StoredVariant>) -> Vec<ObjectKey> {
    let of = |variant: &StoredVariant, set: &StoredSet| match variant.meta.controller() {
        Some(owner) => set.meta.uid.as_ref() == Some(&owner.uid),
        None => {
            let mine = variant.key.name.as_str().starts_with(set.key.name.as_str());
            mine && set.key.namespace == variant.key.namespace
        }
    };
    let both: Vec<_> = changed.old.iter().chain(&changed.new).collect();
    let concerned = |set: &&std::sync::Arc<StoredSet>| both.iter().any(|v| of(v, set));
    let sets = world.sets.iter().filter(concerned);
    sets.map(|s| s.key.clone()).collect()
}

/// Whether a revision can matter to a source of upstream packages.
fn follows(source: &UpstreamSource, revision: &Revision) -> bool {
    match source {
        UpstreamSource::Package(up) => {
            up.repo == revision.repository && up.package == revision.package
        }
        UpstreamSource::Labels { repo, selector } => {
            repo.as_ref().is_none_or(|r| *r == revision.repository)
                && revision.lifecycle.is_published()
                && selector.matches(&revision.meta.labels)
        }
        // What it names is noted when the set is looked at.
        UpstreamSource::Set(_) => false,
    }
}

/// Whether a set takes its upstream packages from a named selection, of this name if one is given.
fn takes(set: &StoredSet, name: Option<&model::ObjectName>) -> bool {
    set.parsed.as_ref().is_ok_and(|s| {
        s.spec.upstreams.iter().any(|source| match source {
            UpstreamSource::Set(wanted) => name.is_none_or(|name| name == wanted),
            _ => false,
        })
    })
}

fn at_repository(target: &model::Target, repository: &StoredRepository) -> bool {
    let name = repository.key.name.as_str();
    match &target.selection {
        TargetSelection::Repositories(list) => list.iter().any(|(r, _)| r.as_str() == name),
        TargetSelection::RepositorySelector { selector, .. } => {
            selector.matches(&repository.meta.labels)
        }
        // A template may send an object's package to any repository.
        TargetSelection::ObjectSelector { .. } => true,
    }
}
