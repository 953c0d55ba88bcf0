//! The steps of one variant's plan, and what came of them into its status.

use std::sync::Arc;

use model::{Class, Digest, ObjectKey, Variant};
use plan::Next;
use plan::variant::{
    FailedDerivation, Observed, Plan, VariantOutcome, VariantStep, news, next_after, status_after,
};

use super::{current, draft, revision};
use crate::error::port;
use crate::ports::{EventType, OurKind, Point, StoredVariant};
use crate::queue::Done;
use crate::stats::count;
use crate::{Engine, Error, Result};

/// Applies a plan and writes the status; says when to look again.
///
/// A step that fails holds up no other, unless they need it (R32): one draft that cannot be derived and one deletion that a
/// remote declines have nothing to do with the rest. What was seen and is no longer so ends it: the next look knows better.
///
/// # Errors
/// The process is on its way out, or the status cannot be written.
pub(crate) async fn variant(engine: &Engine, observed: &Observed, plan: &Plan) -> Result<Done> {
    if let Some(later) = current::check(engine, observed, plan).await? {
        count(&engine.counters().conflicts);
        return Ok(later);
    }
    let mut outcomes = Vec::with_capacity(plan.steps.len());
    let mut going = true;
    let mut version = None;
    for step in &plan.steps {
        if !going {
            outcomes.push(VariantOutcome::Skipped);
            continue;
        }
        let outcome = outcome(engine, observed, step, &mut version).await?;
        going = match &outcome {
            VariantOutcome::Conflict => false,
            VariantOutcome::Failed(_) => !step.is_prerequisite(),
            _ => true,
        };
        outcomes.push(outcome);
    }
    if outcomes
        .iter()
        .any(|o| matches!(o, VariantOutcome::Conflict))
    {
        count(&engine.counters().conflicts);
    }
    let written = match status_after(observed, plan, &outcomes) {
        Some(status) => {
            let written = write_status(engine, observed, version, &status).await?;
            if written {
                let key = observed.variant.key();
                let news = news(&observed.status, &status, &outcomes);
                engine.tell_news(OurKind::Variant, key, news).await;
            }
            written
        }
        None => false,
    };
    if plan.steps.is_empty() && !written {
        count(&engine.counters().idle_reconciles);
    }
    Ok(match next_after(plan, &outcomes) {
        Next::Rest => Done::Rest,
        Next::Again => Done::Again,
        Next::After(time) => Done::Retry(time),
    })
}

async fn outcome(
    engine: &Engine,
    observed: &Observed,
    step: &VariantStep,
    version: &mut Option<String>,
) -> Result<VariantOutcome> {
    let key = observed.variant.key();
    let (result, digest) = match step {
        VariantStep::AddFinalizer { finalizer, .. } => {
            let done = finalizers(engine, observed, finalizer, true).await;
            let done = done.map(|now| {
                *version = Some(now);
                VariantOutcome::Done
            });
            (done, None)
        }
        VariantStep::RemoveFinalizer { finalizer, .. } => {
            let done = finalizers(engine, observed, finalizer, false).await;
            (done.map(|_| VariantOutcome::Done), None)
        }
        VariantStep::CreateDraft(step) => {
            let made = Box::pin(draft::create(engine, observed, step)).await;
            (made, Some(&step.full_digest))
        }
        VariantStep::UpdateDraft(step) => {
            let made = Box::pin(draft::update(engine, observed, step)).await;
            (made, Some(&step.full_digest))
        }
        VariantStep::RenderDraft { revision, digest } => {
            let made = Box::pin(revision::render(engine, key, revision)).await;
            (made, Some(digest))
        }
        other => (revision::step(engine, key, other).await, None),
    };
    match result {
        Ok(outcome) => {
            if matches!(
                outcome,
                VariantOutcome::Draft(_) | VariantOutcome::Unchanged
            ) {
                engine.inner.failures.clear(key);
            }
            Ok(outcome)
        }
        Err(Error::Stopped) => Err(Error::Stopped),
        Err(error) if error.class() == Class::Conflict && !error.stays() => {
            tracing::debug!(%key, error = %error.chain(), "not as expected");
            Ok(VariantOutcome::Conflict)
        }
        Err(error) => {
            let failure = failure(engine, key, &error, digest).await;
            Ok(VariantOutcome::Failed(failure))
        }
    }
}

/// Remembers a failure, and tells people the first time.
async fn failure(
    engine: &Engine,
    key: &ObjectKey,
    error: &Error,
    digest: Option<&Digest>,
) -> FailedDerivation {
    count(&engine.counters().failures);
    let (reason, message) = error.reason();
    let failure = FailedDerivation {
        digest: digest.cloned().unwrap_or_else(|| Digest::new(0, &[0])),
        class: error.retry_class(),
        reason,
        message,
        attempts: 1,
        due: false,
    };
    let failure = match digest {
        Some(_) => engine.inner.failures.note(key, failure),
        None => failure,
    };
    if failure.attempts == 1 {
        let (reason, message) = (&failure.reason, failure.message.clone());
        engine
            .tell(OurKind::Variant, key, EventType::Warning, reason, message)
            .await;
    }
    failure
}

async fn finalizers(
    engine: &Engine,
    observed: &Observed,
    finalizer: &str,
    add: bool,
) -> Result<String> {
    engine.point(Point::BeforeFinalizer)?;
    let (key, meta) = (observed.variant.key(), observed.variant.meta());
    let mut list = meta.finalizers.clone();
    list.retain(|f| f != finalizer);
    if add {
        list.push(finalizer.to_owned());
    }
    let variants = &engine.ports().variants;
    let version = &meta.resource_version;
    match variants.set_finalizers(key, version, &list).await {
        Ok(written) => {
            let now = engine.world(|w| w.variant(key).cloned());
            // One that stays without it would be asked to let it go again until the watch tells.
            let stays = |now: &Arc<StoredVariant>| !written.is_empty() && now.meta.uid == meta.uid;
            if let Some(now) = now.filter(stays) {
                learn(engine, &now, version, written.clone(), |variant| {
                    Arc::make_mut(&mut variant.meta).finalizers = list;
                });
            }
            Ok(written)
        }
        // It went meanwhile: that is what was wanted.
        Err(error) if error.class == Class::NotFound && !add => {
            engine.learn_variant_gone(key, version);
            Ok(String::new())
        }
        Err(error) => Err(port(error)),
    }
}

/// Writes a status on the object as it is now: as our own finalizer left it, or as it is known.
async fn write_status(
    engine: &Engine,
    observed: &Observed,
    finalized: Option<String>,
    status: &model::VariantStatus,
) -> Result<bool> {
    engine.point(Point::BeforeStatus)?;
    let (key, meta) = (observed.variant.key(), observed.variant.meta());
    let now = engine.world(|w| w.variant(key).cloned());
    let Some(now) = now.filter(|n| n.meta.uid == meta.uid) else {
        return Ok(false);
    };
    let version = finalized.unwrap_or_else(|| now.meta.resource_version.clone());
    let variants = &engine.ports().variants;
    match variants.set_status(key, &version, status).await {
        Ok(written) => {
            count(&engine.counters().statuses);
            learn(engine, &now, &version, written, |variant| {
                variant.status = status.clone();
            });
            Ok(true)
        }
        // A watch may tell of it late, or never: what was written meanwhile brought it back to what is known.
        Err(error) if error.class == Class::NotFound => {
            engine.learn_variant_gone(key, &version);
            Ok(false)
        }
        Err(error) => Err(port(error)),
    }
}

/// Takes up what was written, and all that it changed, unless something else is known than it was written on: then a
/// watch tells of it.
fn learn(
    engine: &Engine,
    known: &StoredVariant,
    on: &str,
    written: String,
    change: impl FnOnce(&mut StoredVariant),
) {
    if known.meta.resource_version != on {
        return;
    }
    let mut variant = known.clone();
    Arc::make_mut(&mut variant.meta).resource_version = written;
    change(&mut variant);
    if let Ok(parsed) = &variant.parsed {
        variant.parsed = Ok(Arc::new(Variant {
            key: parsed.key.clone(),
            meta: Arc::clone(&variant.meta),
            spec: parsed.spec.clone(),
        }));
    }
    engine.learn_variant(variant);
}
