//! Steps on revisions that exist: each is one call of a use-case, as the service.

use std::sync::Arc;

use model::{Digest, Door, Lifecycle, ObjectKey, Revision};
use plan::variant::{Outcome, RevisionRef, Step, words};

use crate::ports::{EventType, OurKind};
use crate::prepare::service;
use crate::publish::Follow;
use crate::usecase::{Input, Preconditions, input_of};
use crate::{Engine, Error, Result};

/// Carries out one step.
///
/// # Errors
/// As the use-case; `Conflict` where the revision is not as it was seen.
pub(super) async fn step(engine: &Engine, key: &ObjectKey, step: &Step) -> Result<Outcome> {
    match step {
        Step::RevertToDraft { revision } => {
            let back = |input: &mut Input| input.lifecycle = Lifecycle::Draft;
            change(engine, key, revision, back).await?;
        }
        Step::DeleteRevision { revision, why } => delete(engine, key, revision, why).await?,
        Step::ProposeDeletion {
            revision,
            annotations,
            disown,
        } => {
            let propose = |input: &mut Input| {
                input.lifecycle = Lifecycle::DeletionProposed;
                input.meta.annotations.extend(annotations.clone());
                input
                    .meta
                    .owners
                    .retain(|o| Some(&o.uid) != disown.as_ref());
            };
            change(engine, key, revision, propose).await?;
        }
        Step::WithdrawDeletionProposal {
            revision,
            remove_annotations,
        } => {
            let withdraw = |input: &mut Input| {
                input.lifecycle = Lifecycle::Published;
                for name in remove_annotations {
                    input.meta.annotations.remove(name);
                }
            };
            change(engine, key, revision, withdraw).await?;
        }
        Step::Orphan {
            revision,
            owner,
            why,
        } => orphan(engine, key, (revision, owner), why).await?,
        Step::Adopt { .. } => adopt(engine, key, step).await?,
        Step::NoteDigest { revision, digest } => note(engine, revision, digest).await?,
        Step::AddFinalizer { .. }
        | Step::RemoveFinalizer { .. }
        | Step::CreateDraft(_)
        | Step::UpdateDraft(_)
        | Step::RenderDraft { .. } => {
            let why = "this step is carried out elsewhere";
            return Err(Error::refused(model::Class::Bug, "", why));
        }
    }
    Ok(Outcome::Done)
}

/// Renders a draft as it was pushed (V14).
pub(super) async fn render(
    engine: &Engine,
    key: &ObjectKey,
    seen: &RevisionRef,
) -> Result<Outcome> {
    expected(engine, seen)?;
    let by = service(engine, key);
    let made = engine.render_draft(&by, &seen.key, seen.commit).await?;
    let message = format!("draft {} is rendered as it was pushed", seen.key.name);
    tell(engine, key, "DraftRendered", message).await;
    Ok(Outcome::Draft(made.revision))
}

async fn orphan(
    engine: &Engine,
    key: &ObjectKey,
    (revision, owner): (&RevisionRef, &model::Uid),
    why: &str,
) -> Result<()> {
    let leave = |input: &mut Input| {
        input.meta.owners.retain(|o| o.uid != *owner);
        let mark = (words::ORPHANED_BY.to_owned(), key.to_string());
        input.meta.annotations.extend([mark]);
        // Whoever proposes its deletion from now on is somebody else (V10).
        if input.lifecycle == Lifecycle::Published {
            input.meta.annotations.remove(words::PROPOSED_BY);
            input.meta.annotations.remove(words::PROPOSED_FOR);
        }
    };
    change(engine, key, revision, leave).await?;
    let message = format!("{} is left in place: {why}", revision.key.name);
    tell(engine, key, "Orphaned", message).await;
    Ok(())
}

async fn adopt(engine: &Engine, key: &ObjectKey, step: &Step) -> Result<()> {
    let Step::Adopt {
        revision,
        owner,
        replace,
        labels,
        annotations,
    } = step
    else {
        return Ok(());
    };
    let adopt = |input: &mut Input| {
        input.meta.owners.retain(|o| !replace.contains(&o.uid));
        input.meta.owners.push(owner.clone());
        input.meta.annotations.remove(words::ORPHANED_BY);
        // A proposal that was rejected is over: the next one is somebody else's (V10).
        if input.lifecycle == Lifecycle::Published {
            input.meta.annotations.remove(words::PROPOSED_BY);
            input.meta.annotations.remove(words::PROPOSED_FOR);
        }
        input.meta.labels.extend(labels.clone());
        input.meta.annotations.extend(annotations.clone());
    };
    change(engine, key, revision, adopt).await?;
    let message = format!("{} is taken over", revision.key.name);
    tell(engine, key, "Adopted", message).await;
    Ok(())
}

/// The record, if it is as the plan saw it.
pub(super) fn expected(engine: &Engine, seen: &RevisionRef) -> Result<Arc<Revision>> {
    let now = engine.world(|w| w.revisions.get(&seen.key));
    now.filter(|r| r.commit == seen.commit && r.lifecycle == seen.lifecycle)
        .ok_or_else(|| Error::conflict(format!("{} is not as it was seen", seen.key.name)))
}

async fn change(
    engine: &Engine,
    key: &ObjectKey,
    seen: &RevisionRef,
    change: impl FnOnce(&mut Input),
) -> Result<()> {
    let revision = expected(engine, seen)?;
    let mut input = input_of(&revision);
    input
        .meta
        .resource_version
        .clone_from(&seen.resource_version);
    change(&mut input);
    let by = service(engine, key);
    engine.update(&by, &seen.key, Door::Main, input).await?;
    Ok(())
}

async fn delete(engine: &Engine, key: &ObjectKey, seen: &RevisionRef, why: &str) -> Result<()> {
    let revision = expected(engine, seen)?;
    let preconditions = Preconditions {
        uid: revision.meta.uid.clone(),
        version: Some(seen.resource_version.clone()),
    };
    let by = service(engine, key);
    engine.delete(&by, &seen.key, &preconditions).await?;
    let message = format!("{} {} is deleted: {why}", seen.lifecycle, seen.key.name);
    tell(engine, key, "Deleted", message).await;
    Ok(())
}

/// Notes on a record that these inputs change nothing (V17a).
pub(super) async fn note(engine: &Engine, seen: &RevisionRef, digest: &Digest) -> Result<()> {
    let from = expected(engine, seen)?;
    let mut record = Revision::clone(&from);
    record.noted_digest = Some(digest.to_string());
    if record != *from {
        let follow = Follow::put(record, Some(from));
        engine.record(vec![follow]).await?;
    }
    Ok(())
}

async fn tell(engine: &Engine, key: &ObjectKey, reason: &str, message: String) {
    engine
        .tell(OurKind::Variant, key, EventType::Normal, reason, message)
        .await;
}
