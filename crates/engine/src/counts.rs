//! How many objects are in which state, for `/metrics`.

use std::collections::BTreeMap;

use model::{Condition, Status};

use crate::Engine;

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
