//! Records of package revisions.

use engine::ports::{Change, Delta, Expect, Known, PortError, RecordWrite};
use model::{Class, Revision};

use super::{CaseResult, World, holds, is_gone, next, refused, told, wrong};

type Answer = Result<Option<Revision>, PortError>;

async fn commit(world: &World, expect: Expect, change: Change) -> Answer {
    let write = RecordWrite { expect, change };
    let answers = world.ports.records.commit(vec![write]).await;
    let first = answers.into_iter().next();
    first.unwrap_or_else(|| Err(PortError::new(Class::Bug, "commit", "nothing is answered")))
}

async fn put(world: &World, expect: Expect, revision: &Revision) -> Answer {
    commit(world, expect, Change::Put(Box::new(revision.clone()))).await
}

async fn made(world: &World) -> Result<Revision, Box<dyn std::error::Error + Send + Sync>> {
    match put(world, Expect::Absent, &world.revision).await? {
        Some(made) => Ok(made),
        None => wrong("a write answers no record"),
    }
}

fn labelled(revision: &Revision, label: &str) -> Revision {
    let mut new = revision.clone();
    new.meta.labels.insert("state".to_owned(), label.to_owned());
    new
}

fn at(revision: &Revision) -> Expect {
    Expect::Version(revision.meta.resource_version.clone())
}

pub(super) async fn what_a_write_answers_is_what_a_read_finds(world: &World) -> CaseResult {
    let key = &world.revision.key;
    holds(
        world.ports.records.get(key).await?.is_none(),
        "it is there before it was written",
    )?;
    let made = made(world).await?;
    holds(
        !made.meta.resource_version.is_empty(),
        "a record has a version",
    )?;
    holds(
        !made.meta.created.is_empty(),
        "a record says since when it is there",
    )?;
    holds(
        !made.content_version.is_empty(),
        "its content has a version (A6)",
    )?;
    holds(
        made.meta.labels == world.revision.meta.labels,
        "its labels are others",
    )?;
    holds(
        made.commit == world.revision.commit,
        "it describes another commit",
    )?;
    holds(
        world.ports.records.get(key).await?.as_ref() == Some(&made),
        "a read finds something else",
    )?;
    // Metadata is no content: its version stays.
    let next = put(world, at(&made), &labelled(&made, "two")).await?;
    let Some(next) = next else {
        return wrong("a write answers no record");
    };
    holds(
        next.meta.resource_version != made.meta.resource_version,
        "another state has another version",
    )?;
    holds(
        next.content_version == made.content_version,
        "its content did not change",
    )?;
    holds(next.meta.uid == made.meta.uid, "it is another one")?;
    holds(
        world.ports.records.get(key).await? == Some(next),
        "a read finds something else",
    )
}

pub(super) async fn what_is_expected_is_compared(world: &World) -> CaseResult {
    let made = made(world).await?;
    let again = put(world, Expect::Absent, &labelled(&world.revision, "again")).await;
    refused(&again, Class::Conflict, "a name is taken once")?;
    let next = put(world, at(&made), &labelled(&made, "two")).await?;
    let late = put(world, at(&made), &labelled(&made, "late")).await;
    refused(&late, Class::Conflict, "another version stands there")?;
    holds(
        world.ports.records.get(&made.key).await? == next,
        "what was refused was written",
    )
}

pub(super) async fn a_repair_writes_over_anything(world: &World) -> CaseResult {
    let label = |found: &Option<Revision>| {
        let labels = found.as_ref().map(|found| found.meta.labels.clone());
        labels.and_then(|labels| labels.get("state").map(|label| label.to_string()))
    };
    let first = put(world, Expect::Any, &labelled(&world.revision, "one")).await?;
    holds(
        label(&first).as_deref() == Some("one"),
        "nothing of that name is no obstacle",
    )?;
    let second = put(world, Expect::Any, &labelled(&world.revision, "two")).await?;
    holds(
        label(&second).as_deref() == Some("two"),
        "neither is something of that name",
    )?;
    holds(
        world.ports.records.get(&world.revision.key).await? == second,
        "a read finds something else",
    )
}

pub(super) async fn what_fails_in_a_batch_leaves_the_rest(world: &World) -> CaseResult {
    let made = made(world).await?;
    let mut other = world.revision.clone();
    other.key.name = model::ObjectName::parse("edge.other.v1")?;
    let put = |expect, revision: &Revision| RecordWrite {
        expect,
        change: Change::Put(Box::new(revision.clone())),
    };
    let answers = world.ports.records.commit(vec![
        put(Expect::Absent, &labelled(&made, "late")),
        put(Expect::Absent, &other),
    ]);
    let answers = answers.await;
    let [first, second] = answers.as_slice() else {
        return wrong("each write has its answer");
    };
    refused(first, Class::Conflict, "the first exists")?;
    holds(second.is_ok(), "the second is another one")?;
    holds(
        world.ports.records.get(&other.key).await?.is_some(),
        "the second is not there",
    )?;
    holds(
        world.ports.records.get(&made.key).await? == Some(made),
        "the first was written",
    )
}

pub(super) async fn a_removal_names_what_was_decided_on(world: &World) -> CaseResult {
    let made = made(world).await?;
    let Some(next) = put(world, at(&made), &labelled(&made, "two")).await? else {
        return wrong("a write answers no record");
    };
    let late = commit(world, at(&made), Change::Delete(made.key.clone())).await;
    refused(&late, Class::Conflict, "it has changed since")?;
    holds(
        world.ports.records.get(&made.key).await?.is_some(),
        "a removal that was refused was done",
    )?;
    let gone = commit(world, at(&next), Change::Delete(made.key.clone())).await?;
    holds(gone.is_none(), "what is removed is answered")?;
    holds(
        world.ports.records.get(&made.key).await?.is_none(),
        "it is still there",
    )?;
    let again = commit(world, Expect::Any, Change::Delete(made.key.clone())).await;
    holds(
        again.is_ok(),
        "what is gone may be removed again by a repair",
    )
}

pub(super) async fn a_watch_tells_everything_then_every_change(world: &World) -> CaseResult {
    let made = made(world).await?;
    let mut feed = world.ports.records.watch(Known::nothing());
    let Delta::Snapshot(all) = next(&mut feed).await? else {
        return wrong("everything comes first");
    };
    holds(
        all == [made.clone()],
        "what is there is told as a read finds it",
    )?;
    let Some(changed) = put(world, at(&made), &labelled(&made, "two")).await? else {
        return wrong("a write answers no record");
    };
    told(
        &mut feed,
        "a change",
        |delta| matches!(delta, Delta::Put(now) if *now == changed),
    )
    .await?;
    commit(world, at(&changed), Change::Delete(made.key.clone())).await?;
    told(&mut feed, "a removal", |delta| is_gone(delta, &made.key)).await
}
