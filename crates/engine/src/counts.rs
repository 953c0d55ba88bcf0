//! How many objects are in which state, for `/metrics`, and how much is held for them.

use std::collections::BTreeMap;

use model::{Condition, Status};

use crate::{Engine, Error, Result};

/// Kind, state, and how many.
type Count = BTreeMap<(&'static str, &'static str), u64>;

/// Objects by kind and state: what waits for an upstream, an approver or a person is `not_ready` or `stalled`. Package
/// revisions are counted by lifecycle.
pub(crate) fn objects(engine: &Engine) -> Vec<(&'static str, &'static str, u64)> {
    let mut count = Count::new();
    for kind in ["PackageVariant", "PackageVariantSet", "Repository"] {
        for state in ["ready", "not_ready", "stalled", "unknown"] {
            count.insert((kind, state), 0);
        }
    }
    engine.world(|world| {
        for variant in world.variants() {
            let current = variant.status.observed_generation == variant.meta.generation;
            let state = state(&variant.status.conditions, current);
            add(&mut count, "PackageVariant", state);
        }
        for set in world.sets.iter() {
            let current = set.status.observed_generation == set.meta.generation;
            let state = state(&set.status.conditions, current);
            add(&mut count, "PackageVariantSet", state);
        }
        for repository in world.repositories.iter() {
            let state = state(&repository.status.conditions, true);
            add(&mut count, "Repository", state);
        }
        for revision in world.revisions.known() {
            add(&mut count, "PackageRevision", revision.lifecycle.as_str());
        }
    });
    let entries = count.into_iter();
    entries.map(|((kind, state), n)| (kind, state, n)).collect()
}

/// What is held in memory for work that is not over, and noted of what is there, by name.
///
/// # Errors
/// A repository's refs cannot be read.
pub(crate) fn held(engine: &Engine) -> Result<Vec<(&'static str, usize)>> {
    let inner = &engine.inner;
    let mut all = vec![
        ("locks", inner.locks.held()),
        ("waits", inner.waits.len()),
        ("failures", inner.failures.len()),
        ("set_failures", inner.set_failures.len()),
    ];
    all.extend(inner.queue.held());
    all.extend(inner.repos.held());
    all.extend(engine.world(|world| world.held()));
    let mut stores: BTreeMap<&'static str, usize> = BTreeMap::new();
    for repo in inner.repos.urls() {
        let held = repo.held().map_err(|source| Error::Store {
            attempt: "count what is held",
            source,
        })?;
        for (what, count) in held {
            *stores.entry(what).or_default() += count;
        }
    }
    all.extend(stores);
    Ok(all)
}

fn add(count: &mut Count, kind: &'static str, state: &'static str) {
    *count.entry((kind, state)).or_default() += 1;
}

/// What the conditions of the object's generation say.
fn state(conditions: &[Condition], current: bool) -> &'static str {
    let is = |kind: &str| conditions.iter().find(|c| c.kind == kind);
    if !current {
        return "unknown";
    }
    if is("Stalled").is_some_and(|c| c.status == Status::True) {
        return "stalled";
    }
    match is("Ready").map(|c| c.status) {
        Some(Status::True) => "ready",
        Some(Status::False) => "not_ready",
        _ => "unknown",
    }
}
