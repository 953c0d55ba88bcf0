//! Sets and repositories, which people make: what is reported of them, and what each of our kinds has in common.

use engine::ports::{Delta, Known, Objects, Ours, Stored};
use model::{Class, Condition, ObjectKey, RepositoryStatus, SetStatus, Status};

use super::{CaseResult, World, holds, next, refused, told, wrong};

fn conditions(reason: &str) -> Vec<Condition> {
    vec![Condition::new("Ready", Status::True, reason, "all is well")]
}

pub(super) async fn a_set_keeps_what_is_reported_of_it(world: &World) -> CaseResult {
    world.make(&world.set).await;
    let status = |targets| SetStatus {
        observed_generation: 1,
        conditions: conditions("Written"),
        targets,
        ..SetStatus::default()
    };
    let sets = &*world.ports.sets;
    reported(sets, &world.variant.key, status(1), status(2)).await
}

pub(super) async fn a_repository_keeps_what_is_reported_of_it(world: &World) -> CaseResult {
    world.make(&world.repository).await;
    let status = |count| RepositoryStatus {
        observed_generation: 1,
        conditions: conditions("Read"),
        package_count: count,
        git_commit: "0123456789012345678901234567890123456789".to_owned(),
        ..RepositoryStatus::default()
    };
    let repositories = &*world.ports.repositories;
    reported(repositories, &world.variant.key, status(1), status(2)).await
}

/// A status, finalizers, and the watch of them, of an object that somebody made.
async fn reported<K: Ours>(
    objects: &dyn Objects<K>,
    key: &ObjectKey,
    first: K::Status,
    second: K::Status,
) -> CaseResult {
    let mut feed = objects.feed(Known::nothing());
    let Delta::Snapshot(all) = next(&mut feed).await? else {
        return wrong("everything comes first");
    };
    let Some(made) = objects.get(key).await? else {
        return wrong("it was made, and is not there");
    };
    holds(made.parsed.is_ok(), "it cannot be understood")?;
    holds(
        all == [made.clone()],
        "what is there is told as a read finds it",
    )?;
    let at = &made.meta.resource_version;
    let version = objects.set_status(key, at, &first).await?;
    holds(version != *at, "another state has another version")?;
    let stands = |now: &Stored<K::Asked, K::Status>| {
        now.status == first && now.meta.resource_version == version
    };
    holds(
        objects.get(key).await?.as_ref().is_some_and(stands),
        "the status is another one",
    )?;
    let again = objects.set_status(key, &version, &first).await?;
    holds(again == version, "an equal status made another version")?;
    let late = objects.set_status(key, at, &second).await;
    refused(&late, Class::Conflict, "another version stands there")?;
    let changed = |delta: &Delta<_>| matches!(delta, Delta::Put(now) if stands(now));
    told(&mut feed, "a status", changed).await?;
    let held = ["example.com/held".to_owned()];
    let last = objects.set_finalizers(key, &version, &held).await?;
    let now = objects.get(key).await?;
    holds(
        now.is_some_and(|now| {
            now.meta.finalizers == held && now.meta.resource_version == last && now.status == first
        }),
        "its finalizers are others",
    )?;
    let gone = objects.set_finalizers(key, &version, &[]).await;
    refused(&gone, Class::Conflict, "another version stands there")
}

pub(super) async fn those_of_a_namespace_are_listed(world: &World) -> CaseResult {
    world.make(&world.set).await;
    world.make(&world.repository).await;
    let (key, ports) = (&world.variant.key, &world.ports);
    let variant = ports.variants.create(&world.variant).await?;
    let other = model::Namespace::parse("elsewhere")?;
    holds(
        ports.variants.now(&key.namespace).await? == [variant],
        "the variants are others",
    )?;
    holds(
        ports.variants.now(&other).await?.is_empty(),
        "another namespace has variants",
    )?;
    let set = ports.sets.get(key).await?;
    holds(
        Some(ports.sets.now(&key.namespace).await?) == set.map(|one| vec![one]),
        "the sets are others",
    )?;
    let repository = ports.repositories.get(key).await?;
    holds(
        Some(ports.repositories.now(&key.namespace).await?) == repository.map(|one| vec![one]),
        "the repositories are others",
    )
}
