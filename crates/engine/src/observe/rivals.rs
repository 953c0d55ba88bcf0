//! Who else works where a variant does, or leads to what it reads. Packages are compared by where they lie in git: two
//! registrations may lead to one directory, and call it otherwise (V15, V24, V25).

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Downstream, ObjectKey, ObjectName, Revision, Uid, Variant};
use plan::variant::{Feeder, Rival};

use crate::index::{PackageKey, World, downstream_of, package_of, upstream_of};
use crate::ports::StoredVariant;
use crate::registrations;

/// A variant that writes to a package.
pub(super) struct Claimant {
    /// The package, as its own registration calls it.
    at: PackageKey,
    /// The variant.
    stored: Arc<StoredVariant>,
}

/// The variants that write to a package, through whatever registration.
pub(super) fn claimants(world: &World, here: &PackageKey) -> Vec<Claimant> {
    let all = world.writers_at(here).into_iter();
    let all = all.filter_map(|stored| {
        let at = downstream_of(stored.parsed.as_ref().ok()?);
        Some(Claimant { at, stored })
    });
    all.filter(|one| one.at == *here || counts(world, here, one))
        .collect()
}

/// Whether a variant that goes through another registration keeps others away: one that could write there itself. What is in
/// another namespace counts there (V25).
fn counts(world: &World, here: &PackageKey, one: &Claimant) -> bool {
    let at = &one.at;
    let through = world.repository(&at.namespace, &at.repository);
    at.namespace == here.namespace
        && through.is_some_and(|through| {
            !through.meta.is_deleting() && registrations::refused(world, &through).is_none()
        })
}

/// The others among them.
pub(super) fn rivals(world: &World, claimants: &[Claimant], me: Option<&Uid>) -> Vec<Rival> {
    let others = claimants
        .iter()
        .filter(|one| one.stored.meta.uid.as_ref() != me);
    let mut rivals: Vec<Rival> = others
        .filter_map(|Claimant { at, stored }| {
            let uid = stored.meta.uid.clone()?;
            Some(Rival {
                created: stored.meta.created.clone(),
                holds: holds(world, at, &uid),
                uid,
                key: stored.key.clone(),
                deleting: stored.meta.is_deleting(),
            })
        })
        .collect();
    rivals.sort_by(|a, b| a.rank().cmp(&b.rank()));
    rivals
}

/// Whether a variant owns a revision of a package.
fn holds(world: &World, package: &PackageKey, uid: &Uid) -> bool {
    let all = world.revisions.of_package(package);
    let mut all = all
        .iter()
        .filter(|r| !r.placeholder && !r.meta.is_deleting());
    all.any(|r| r.meta.is_owned_by(uid))
}

/// Whether two records are of one ref, seen through two registrations of its repository: what is done to one is done to
/// the other, so that a variant's own draft must not pass for one that it left elsewhere (V25).
pub(super) fn same_ref(world: &World, a: &Revision, b: &Revision) -> bool {
    let locks = a.self_lock.as_ref().zip(b.self_lock.as_ref());
    a.lifecycle.is_published() == b.lifecycle.is_published()
        && locks.is_some_and(|(a, b)| {
            a.git_ref == b.git_ref && world.repositories.same_place(&a.repo, &b.repo)
        })
}

/// Which revisions of a package are somebody's through another registration: a variant of another namespace made them and is
/// still there, or one of this namespace owns the record of the same ref (V25).
pub(super) fn made_elsewhere(
    world: &World,
    here: &PackageKey,
    claimants: &[Claimant],
    revisions: &[Arc<Revision>],
) -> BTreeSet<ObjectName> {
    let others = claimants.iter().filter(|one| one.at != *here);
    let owned = others.flat_map(|Claimant { at, stored }| {
        let mut all = world.revisions.of_package(at);
        let uid = stored.meta.uid.as_ref();
        all.retain(|r| uid.is_some_and(|uid| r.meta.is_owned_by(uid)));
        all
    });
    let owned: Vec<Arc<Revision>> = owned.collect();
    let elsewhere = |r: &&Arc<Revision>| {
        let maker = r.machine.as_ref().map(|m| &m.owner.uid);
        let maker = maker.and_then(|uid| world.variant_of_uid(uid));
        maker.is_some_and(|v| v.key.namespace != here.namespace)
            || owned.iter().any(|theirs| same_ref(world, r, theirs))
    };
    let made = revisions.iter().filter(elsewhere);
    made.map(|r| r.key.name.clone()).collect()
}

/// The variants that lead to the upstream package, until none does or one comes twice (V24).
pub(super) fn feeders(world: &World, variant: &Variant) -> Vec<Feeder> {
    let mut feeders: Vec<Feeder> = Vec::new();
    let here = downstream_of(variant);
    let mut at = upstream_of(variant);
    loop {
        let mut claimants = claimants(world, &at);
        claimants.retain(|c| !c.stored.meta.is_deleting());
        let rank = |c: &&Claimant| {
            let uid = c.stored.meta.uid.clone();
            let holds = uid.as_ref().is_some_and(|uid| holds(world, &c.at, uid));
            (c.stored.meta.created.clone(), !holds, uid)
        };
        let first = claimants.iter().min_by_key(rank);
        let Some(Ok(feeder)) = first.map(|c| c.stored.parsed.as_ref()) else {
            return feeders;
        };
        let seen = feeders.iter().any(|f| f.variant == feeder.key);
        at = upstream_of(feeder);
        let up = &feeder.spec.upstream;
        feeders.push(Feeder {
            variant: feeder.key.clone(),
            downstream: feeder.spec.downstream.clone(),
            // What the variant writes is called as the variant calls it.
            upstream: match world.is_one_place(&at, &here) {
                true => variant.spec.downstream.clone(),
                false => Downstream {
                    repo: up.repo.clone(),
                    package: up.package.clone(),
                },
            },
        });
        if seen || feeder.key == variant.key {
            return feeders;
        }
    }
}

/// Which places of revisions left behind another variant claims (V10).
pub(super) fn claimed(
    world: &World,
    me: &ObjectKey,
    elsewhere: &[Arc<Revision>],
) -> BTreeSet<Downstream> {
    let places: BTreeSet<Downstream> = elsewhere
        .iter()
        .map(|r| Downstream {
            repo: r.repository.clone(),
            package: r.package.clone(),
        })
        .collect();
    let other = |place: &Downstream| {
        let claimants = claimants(world, &package_of(&me.namespace, place));
        claimants
            .iter()
            .any(|c| c.stored.key != *me && !c.stored.meta.is_deleting())
    };
    places.into_iter().filter(other).collect()
}
