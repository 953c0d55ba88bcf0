//! Steps on revisions that exist: each is one call of a use-case, as the service.

use std::sync::Arc;

use model::{Digest, Door, ObjectKey, Revision};
use plan::variant::{RevisionRef, VariantOutcome, VariantStep};

use crate::ports::{EventType, OurKind};
use crate::prepare::{Metadata, metadata, service};
use crate::transaction::Follow;
use crate::usecase::{Preconditions, input_of};
use crate::{Engine, Error, Result, transaction, usecase};

/// Carries out one step.
///
/// # Errors
/// As the use-case; `Conflict` where the revision is not as it was seen.
pub(super) async fn step(
    engine: &Engine,
    key: &ObjectKey,
    step: &VariantStep,
) -> Result<VariantOutcome> {
    if let Some((revision, change)) = metadata(key, step) {
        self::change(engine, key, revision, change).await?;
        told(engine, key, revision, step).await;
        return Ok(VariantOutcome::Done);
    }
    match step {
        VariantStep::DeleteRevision { revision, why } => delete(engine, key, revision, why).await?,
        VariantStep::NoteDigest { revision, digest } => note(engine, revision, digest).await?,
        _ => {
            let why = "this step is carried out elsewhere";
            return Err(Error::refused(model::Class::Bug, "", why));
        }
    }
    Ok(VariantOutcome::Done)
}

/// Renders a draft as it was pushed (V14).
pub(super) async fn render(
    engine: &Engine,
    key: &ObjectKey,
    seen: &RevisionRef,
) -> Result<VariantOutcome> {
    expected(engine, seen)?;
    let by = service(engine, key);
    let made = usecase::render_draft(engine, &by, &seen.key, seen.commit).await?;
    let message = format!("draft {} is rendered as it was pushed", seen.key.name);
    tell(engine, key, "DraftRendered", message).await;
    Ok(VariantOutcome::Draft(made.revision))
}

/// Tells people of what changed hands.
async fn told(engine: &Engine, key: &ObjectKey, revision: &RevisionRef, step: &VariantStep) {
    let name = &revision.key.name;
    match step {
        VariantStep::Orphan { why, .. } => {
            let message = format!("{name} is left in place: {why}");
            tell(engine, key, "Orphaned", message).await;
        }
        VariantStep::Adopt { .. } => {
            tell(engine, key, "Adopted", format!("{name} is taken over")).await
        }
        _ => {}
    }
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
    change: impl FnOnce(Metadata<'_>),
) -> Result<()> {
    let revision = expected(engine, seen)?;
    let mut input = input_of(&revision);
    input
        .meta
        .resource_version
        .clone_from(&seen.resource_version);
    change(Metadata {
        lifecycle: &mut input.lifecycle,
        meta: &mut input.meta,
    });
    let by = service(engine, key);
    usecase::update(engine, &by, &seen.key, Door::Main, input).await?;
    Ok(())
}

async fn delete(engine: &Engine, key: &ObjectKey, seen: &RevisionRef, why: &str) -> Result<()> {
    let revision = expected(engine, seen)?;
    let preconditions = Preconditions {
        uid: revision.meta.uid.clone(),
        version: Some(seen.resource_version.clone()),
    };
    let by = service(engine, key);
    usecase::delete(engine, &by, &seen.key, &preconditions).await?;
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
        transaction::record(engine, vec![follow]).await?;
    }
    Ok(())
}

async fn tell(engine: &Engine, key: &ObjectKey, reason: &str, message: String) {
    engine
        .tell(OurKind::Variant, key, EventType::Normal, reason, message)
        .await;
}
