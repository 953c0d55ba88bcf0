//! The steps of one set's plan: variants are created and updated many at once, and deleted last (S2).

use std::collections::BTreeSet;

use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use model::{Class, Digest, ObjectKey, SetStatus, Uid, VariantSet};
use plan::Next;
use plan::set::{Observed, Plan, SetOutcome, SetStep, news, next_after, status_after};
use plan::variant::FailedDerivation;

use crate::error::port;
use crate::ports::{EventType, OurKind, Point, PortError, reported};
use crate::queue::Done;
use crate::stats::count;
use crate::{Engine, Error, Result, leaving, observe};

/// How many variants are written at once: the object store makes batches of them.
const AT_ONCE: usize = 128;

/// Applies a plan and writes the status; says when to look again.
///
/// # Errors
/// The process is on its way out, or the status cannot be written.
pub(crate) async fn set(engine: &Engine, observed: &Observed, plan: Plan) -> Result<Done> {
    if plan.steps.iter().any(|s| matches!(s, SetStep::Create(_)))
        && leaving::leaves(engine, &observed.set.key().namespace).await?
    {
        // Nothing can be made there any more, and the set goes, too: there is nobody to be told of it.
        return Ok(Done::Rest);
    }
    // Asked last: while anything else is waited for, what was seen may change.
    if !plan.steps.is_empty() && !observe::stands(engine, observed).await? {
        count(&engine.counters().conflicts);
        return Ok(Done::Again);
    }
    let deletions = plan
        .steps
        .iter()
        .position(|s| matches!(s, SetStep::Delete { .. }))
        .unwrap_or(plan.steps.len());
    let (writes, deletes) = plan.steps.split_at(deletions);
    let mut outcomes = all(engine, observed, writes).await?;
    let written = outcomes.iter().all(|o| *o == SetOutcome::Done);
    if written && !confirmed(engine, observed, &plan, deletes).await? {
        count(&engine.counters().conflicts);
        return Ok(Done::Again);
    }
    if written {
        outcomes.extend(all(engine, observed, deletes).await?);
    } else {
        outcomes.extend(deletes.iter().map(|_| SetOutcome::Skipped));
    }
    if outcomes.contains(&SetOutcome::Conflict) {
        count(&engine.counters().conflicts);
    }
    let written = match status_after(observed, &plan, &outcomes) {
        Some(status) => {
            let written = write_status(engine, observed, &status).await?;
            if written {
                let news = news(&observed.status, &status, &plan, &outcomes);
                let key = observed.set.key();
                engine.tell_news(OurKind::Set, key, news).await;
            }
            written
        }
        None => false,
    };
    if plan.steps.is_empty() && !written {
        count(&engine.counters().idle_reconciles);
    }
    Ok(match next_after(&plan, &outcomes) {
        Next::Rest => Done::Rest,
        Next::Again => Done::Again,
        Next::After(time) => Done::Retry(time),
    })
}

/// Whether the deletions would be decided on what the store says now as well: what a watch listed may
/// be from the past, and a variant whose target was only missing there would take its drafts along.
async fn confirmed(
    engine: &Engine,
    observed: &Observed,
    plan: &Plan,
    deletes: &[SetStep],
) -> Result<bool> {
    let decided = &plan.status.guard.decided;
    let new = !decided.is_subset(&observed.status.guard.decided);
    if deletes.is_empty() && !new {
        return Ok(true);
    }
    let now = observe::targets_now(engine, observed).await?;
    let cpu = engine.inner.options.cpu.clone();
    let again = cpu.run(move || plan::set::decide(&now)).await?;
    let agreed: BTreeSet<_> = again.steps.iter().filter_map(deleted).collect();
    let mut wanted = deletes.iter().filter_map(deleted);
    Ok(decided.is_subset(&again.status.guard.decided)
        && wanted.all(|variant| agreed.contains(&variant)))
}

fn deleted(step: &SetStep) -> Option<(&ObjectKey, &Uid)> {
    match step {
        SetStep::Delete { key, uid } => Some((key, uid)),
        SetStep::Create(_) | SetStep::Update { .. } => None,
    }
}

async fn all(engine: &Engine, observed: &Observed, steps: &[SetStep]) -> Result<Vec<SetOutcome>> {
    // Made as they go: thousands of turns that lie ready take more room than what they write.
    let mut rest = steps.iter();
    let first = rest.by_ref().take(AT_ONCE);
    let mut going: FuturesOrdered<_> = first.map(|s| one(engine, observed, s)).collect();
    let mut outcomes = Vec::with_capacity(steps.len());
    while let Some(outcome) = going.next().await {
        outcomes.push(outcome);
        going.extend(rest.next().map(|s| one(engine, observed, s)));
    }
    outcomes.into_iter().collect()
}

async fn one(engine: &Engine, observed: &Observed, step: &SetStep) -> Result<SetOutcome> {
    engine.point(Point::BeforeVariant)?;
    let variants = &engine.ports().variants;
    let result: Result<(), PortError> = match step {
        SetStep::Create(variant) => {
            let stored = variants.create(variant).await;
            stored.map(|stored| engine.learn_variant(stored))
        }
        SetStep::Update {
            variant,
            resource_version,
            ..
        } => {
            let stored = variants.update(variant, resource_version).await;
            stored.map(|stored| engine.learn_variant(stored))
        }
        SetStep::Delete { key, uid } => variants.delete(key, uid).await,
    };
    match result {
        Ok(()) => {
            count(&engine.counters().variants_written);
            Ok(SetOutcome::Done)
        }
        Err(error) if error.class == Class::Conflict => Ok(SetOutcome::Conflict),
        Err(error) if error.class == Class::NotFound => Ok(match step {
            // It is gone: that is what was wanted.
            SetStep::Delete { .. } => SetOutcome::Done,
            _ => SetOutcome::Conflict,
        }),
        Err(error) => Ok(SetOutcome::Failed(failure(engine, observed, &error).await)),
    }
}

async fn failure(engine: &Engine, observed: &Observed, error: &PortError) -> FailedDerivation {
    count(&engine.counters().failures);
    let key = observed.set.key();
    let failure = engine.inner.set_failures.note(
        key,
        FailedDerivation {
            // A set's failures are told apart by its generation alone.
            digest: Digest::new(0, &observed.set.meta().generation.to_be_bytes()),
            class: error.class,
            reason: "VariantNotWritten".to_owned(),
            message: error.to_string(),
            attempts: 1,
            due: false,
        },
    );
    if failure.attempts == 1 {
        let (reason, message) = (&failure.reason, failure.message.clone());
        engine
            .tell(OurKind::Set, key, EventType::Warning, reason, message)
            .await;
    }
    failure
}

/// Writes a status on the object as it is now.
async fn write_status(engine: &Engine, observed: &Observed, status: &SetStatus) -> Result<bool> {
    engine.point(Point::BeforeStatus)?;
    let (key, meta) = (observed.set.key(), observed.set.meta());
    let now = engine.world(|w| w.sets.get(key).cloned());
    let Some(now) = now.filter(|n| n.meta.uid == meta.uid) else {
        return Ok(false);
    };
    // What is remembered goes on from what was remembered: another status is looked at first.
    if now.status != observed.status {
        return Err(Error::conflict("the set's status was written meanwhile"));
    }
    let version = &now.meta.resource_version;
    match engine.ports().sets.set_status(key, version, status).await {
        Ok(written) => {
            count(&engine.counters().statuses);
            engine.inner.set_failures.clear(key);
            if !written.is_empty() {
                engine.learn_set(reported::<VariantSet>(&now, written, status.clone()));
            }
            Ok(true)
        }
        // As of variants: a watch may tell of it late, or never.
        Err(error) if error.class == Class::NotFound => {
            engine.learn_set_gone(key, version);
            Ok(false)
        }
        Err(error) => Err::<bool, Error>(port(error)),
    }
}
