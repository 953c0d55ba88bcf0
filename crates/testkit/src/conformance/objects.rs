//! Objects around packages, by the example of variants.

use engine::ports::{Delta, Known, PortError, StoredVariant};
use model::{Class, VariantStatus};

use super::{CaseResult, World, holds, is_gone, next, refused, told, wrong};

async fn made(world: &World) -> Result<StoredVariant, PortError> {
    world.ports.variants.create(&world.variant).await
}

fn status(generation: i64) -> VariantStatus {
    VariantStatus {
        observed_generation: generation,
        versions: "web/v1".to_owned(),
        ..VariantStatus::default()
    }
}

pub(super) async fn a_name_is_taken_once(world: &World) -> CaseResult {
    let made = made(world).await?;
    holds(made.meta.uid.is_some(), "it has no uid")?;
    holds(!made.meta.resource_version.is_empty(), "it has no version")?;
    let key = &world.variant.key;
    holds(
        world.ports.variants.get(key).await?.as_ref() == Some(&made),
        "a read finds something else",
    )?;
    let version = &made.meta.resource_version;
    holds(
        world.ports.variants.is_at(key, version).await?,
        "it is at the version of its creation",
    )?;
    let again = world.ports.variants.create(&world.variant).await;
    refused(&again, Class::Conflict, "a name is taken once")
}

pub(super) async fn a_status_is_written_at_a_version(world: &World) -> CaseResult {
    let made = made(world).await?;
    let (key, at) = (&made.key, &made.meta.resource_version);
    let next = world.ports.variants.set_status(key, at, &status(1)).await?;
    holds(next != *at, "another state has another version")?;
    let now = world.ports.variants.get(key).await?;
    holds(
        now.is_some_and(|now| now.status == status(1) && now.meta.resource_version == next),
        "the status is another one",
    )?;
    let late = world.ports.variants.set_status(key, at, &status(2)).await;
    refused(&late, Class::Conflict, "another version stands there")?;
    let mut absent = key.clone();
    absent.name = model::ObjectName::parse("absent")?;
    let absent = world
        .ports
        .variants
        .set_status(&absent, at, &status(1))
        .await;
    refused(&absent, Class::NotFound, "there is no such object")
}

pub(super) async fn an_equal_status_is_no_write(world: &World) -> CaseResult {
    let made = made(world).await?;
    let (key, at) = (&made.key, &made.meta.resource_version);
    let next = world.ports.variants.set_status(key, at, &status(1)).await?;
    let again = world
        .ports
        .variants
        .set_status(key, &next, &status(1))
        .await?;
    holds(again == next, "an equal status made another version")?;
    holds(
        world.ports.variants.is_at(key, &next).await?,
        "an equal status was written",
    )
}

pub(super) async fn a_spec_is_written_at_a_version(world: &World) -> CaseResult {
    let made = made(world).await?;
    let mut wanted = world.variant.clone();
    wanted.spec.suspend = true;
    let at = &made.meta.resource_version;
    let written = world.ports.variants.update(&wanted, at).await?;
    let suspended = |one: &StoredVariant| one.parsed.as_ref().is_ok_and(|v| v.spec.suspend);
    holds(suspended(&written), "the answer says something else")?;
    holds(written.meta.uid == made.meta.uid, "it is another one")?;
    holds(
        written.meta.generation > made.meta.generation,
        "another spec is another generation",
    )?;
    holds(
        world.ports.variants.get(&made.key).await? == Some(written),
        "a read finds something else",
    )?;
    wanted.spec.suspend = false;
    let late = world.ports.variants.update(&wanted, at).await;
    refused(&late, Class::Conflict, "another version stands there")?;
    let now = world.ports.variants.get(&made.key).await?;
    holds(
        now.as_ref().is_some_and(suspended),
        "what was refused was written",
    )
}

pub(super) async fn an_object_goes_with_its_last_finalizer(world: &World) -> CaseResult {
    let made = made(world).await?;
    let (variants, key) = (&world.ports.variants, &made.key);
    let held = ["example.com/held".to_owned()];
    let at = variants
        .set_finalizers(key, &made.meta.resource_version, &held)
        .await?;
    let late = variants
        .set_finalizers(key, &made.meta.resource_version, &[])
        .await;
    refused(&late, Class::Conflict, "another version stands there")?;
    holds(variants.is_at(key, &at).await?, "it is at another version")?;
    let Some(uid) = &made.meta.uid else {
        return wrong("it has no uid");
    };
    variants.delete(key, uid).await?;
    let Some(going) = variants.get(key).await? else {
        return wrong("it went while somebody holds it");
    };
    holds(going.meta.deleted.is_some(), "it does not say that it goes")?;
    holds(going.meta.finalizers == held, "its finalizers are others")?;
    let gone = variants
        .set_finalizers(key, &going.meta.resource_version, &[])
        .await?;
    holds(gone.is_empty(), "what went has a version")?;
    holds(variants.get(key).await?.is_none(), "it is still there")
}

pub(super) async fn a_deletion_is_of_the_object_with_that_uid(world: &World) -> CaseResult {
    let made = made(world).await?;
    let other = model::Uid::parse("0b0f1e1c-5d37-4f6e-9c53-2f7d8a1c6e55")?;
    let another = world.ports.variants.delete(&made.key, &other).await;
    refused(&another, Class::Conflict, "another object is meant")?;
    let now = world.ports.variants.get(&made.key).await?;
    holds(
        now.is_some_and(|now| now.meta.deleted.is_none()),
        "another object was deleted",
    )?;
    let Some(uid) = &made.meta.uid else {
        return wrong("it has no uid");
    };
    world.ports.variants.delete(&made.key, uid).await?;
    holds(
        world.ports.variants.get(&made.key).await?.is_none(),
        "nobody holds it, and it is there",
    )?;
    match world.ports.variants.delete(&made.key, uid).await {
        Ok(()) => Ok(()),
        gone => refused(&gone, Class::NotFound, "it is gone"),
    }
}

pub(super) async fn a_watch_tells_everything_then_every_change(world: &World) -> CaseResult {
    let made = made(world).await?;
    let mut feed = world.ports.variants.feed(Known::nothing());
    let Delta::Snapshot(all) = next(&mut feed).await? else {
        return wrong("everything comes first");
    };
    holds(
        all == [made.clone()],
        "what is there is told as a read finds it",
    )?;
    let at = &made.meta.resource_version;
    let version = world
        .ports
        .variants
        .set_status(&made.key, at, &status(1))
        .await?;
    let changed = |delta: &Delta<StoredVariant>| matches!(delta, Delta::Put(now) if now.meta.resource_version == version && now.status == status(1));
    told(&mut feed, "a change", changed).await?;
    let Some(uid) = &made.meta.uid else {
        return wrong("it has no uid");
    };
    world.ports.variants.delete(&made.key, uid).await?;
    told(&mut feed, "a deletion", |delta| is_gone(delta, &made.key)).await
}
