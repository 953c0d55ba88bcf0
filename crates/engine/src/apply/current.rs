//! Whether what a plan for a variant was made from still holds, by the store's word and git's.
//!
//! A list may come late, and then it tells of a variant that went, of a spec that nobody wants any
//! more, or of no repository where there is one; and after a crash git may hold what no record tells
//! of yet. Revisions would be made, adopted, deleted or left behind for it. It decides nothing: it
//! corrects what is known, and the next look decides.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{ObjectKey, ObjectName, RepositoryName, Status};
use plan::variant::{Observed, Plan, Step, Subject};

use crate::Engine;
use crate::Result;
use crate::controllers::port;
use crate::controllers::queue::{Done, Key};
use crate::index::downstream_of;

/// How long to wait for a look at a repository that is due.
const PAUSE: Duration = Duration::from_millis(100);

/// `None` if the plan may be carried out; otherwise when to look again.
pub(super) async fn check(
    engine: &Engine,
    observed: &Observed,
    plan: &Plan,
) -> Result<Option<Done>> {
    let Some(first) = plan.steps.first() else {
        return Ok(None);
    };
    // A finalizer is written on a version, which says the same.
    let finalizer = matches!(
        first,
        Step::AddFinalizer { .. } | Step::RemoveFinalizer { .. }
    );
    if !finalizer && !variant(engine, observed).await? {
        return Ok(Some(Done::Again));
    }
    if matches!(first, Step::AddFinalizer { .. }) && plan.steps.len() == 1 {
        return Ok(None);
    }
    let leaves = |step: &Step| matches!(step, Step::RemoveFinalizer { .. });
    let leaves = plan.steps.iter().any(leaves);
    for key in places(observed) {
        let known = engine.world(|w| w.repositories.get(&key).cloned());
        let Some(known) = known else {
            if leaves && is_there(engine, &key).await? {
                return Ok(Some(Done::Again));
            }
            continue;
        };
        let ready = known.status.conditions.iter().find(|c| c.kind == "Ready");
        let ready = ready.is_some_and(|c| c.status == Status::True);
        if ready && !known.meta.is_deleting() && !engine.inner.repos.is_seen(&key) {
            engine.inner.queue.add(Key::Repository(key));
            return Ok(Some(Done::After(PAUSE)));
        }
        if ready && leaves && found_more(engine, observed, &key).await? {
            return Ok(Some(Done::Again));
        }
    }
    Ok(None)
}

/// Whether the downstream package holds what was not known: nothing of it may be left behind.
async fn found_more(engine: &Engine, observed: &Observed, at: &ObjectKey) -> Result<bool> {
    let Subject::Valid(variant) = &observed.variant else {
        return Ok(false);
    };
    let package = downstream_of(variant);
    if package.repository.as_str() != at.name.as_str() {
        return Ok(false);
    }
    let known = || engine.world(|w| w.revisions.of_package(&package));
    let before = known();
    let open = engine.open(&package.namespace, &package.repository).await?;
    engine.discover_package(&open, &package.package).await?;
    Ok(known() != before)
}

/// Whether the variant is as it was observed.
async fn variant(engine: &Engine, observed: &Observed) -> Result<bool> {
    let (key, meta) = (observed.variant.key(), observed.variant.meta());
    let now = engine.ports().cluster.variant(key).await.map_err(port)?;
    let same = now.as_ref().is_some_and(|now| {
        let now = &now.meta;
        (&now.uid, now.generation, &now.deleted) == (&meta.uid, meta.generation, &meta.deleted)
    });
    if !same {
        tracing::debug!(%key, "not as it was observed");
        match now {
            Some(now) => engine.learn_variant(now),
            None => engine.learn_variant_gone(key, &meta.resource_version),
        }
    }
    Ok(same)
}

/// Whether a repository that nobody told of is there: only one that is not counts as gone (V10).
async fn is_there(engine: &Engine, key: &ObjectKey) -> Result<bool> {
    let now = engine.ports().cluster.repository(key).await.map_err(port)?;
    let there = now.is_some();
    if let Some(now) = now {
        engine.learn_repository(now);
    }
    Ok(there)
}

/// The repositories that hold, or may hold, what the variant made.
fn places(observed: &Observed) -> BTreeSet<ObjectKey> {
    let mut names: BTreeSet<&RepositoryName> =
        observed.elsewhere.iter().map(|r| &r.repository).collect();
    if let Subject::Valid(variant) = &observed.variant {
        names.insert(&variant.spec.downstream.repo);
    }
    let namespace = &observed.variant.key().namespace;
    let key = |name: &RepositoryName| {
        let name = ObjectName::parse(name.as_str()).ok()?;
        Some(ObjectKey::new(namespace.clone(), name))
    };
    names.into_iter().filter_map(key).collect()
}
