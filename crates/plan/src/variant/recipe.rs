//! *r′*: what the machine is asked to make of the upstream now (V17, V22).

use std::collections::BTreeSet;

use model::{InjectionOutcome, KeptInjection, Pairs, Recipe, Variant};

use super::{Observed, RepositorySummary};

/// The annotations that ask for a draft although its render failed (V2); the second is Porch's.
const PUSH_ON_FAILURE: [&str; 2] = [
    "offshoot.dev/push-on-render-failure",
    "porch.kpt.dev/push-on-render-failure",
];

/// The variant's spec, with what earlier recipes stated and this one does not take back.
pub(super) fn recipe(o: &Observed, variant: &Variant, repository: &RepositorySummary) -> Recipe {
    let spec = &variant.spec;
    let removed = &spec.context.remove_keys;
    let mut context = o.stated.context.clone();
    context.extend(spec.context.data.clone());
    context.retain(|key, _| !removed.contains(key));
    let push = |of: &Pairs| {
        PUSH_ON_FAILURE
            .iter()
            .any(|a| of.get(*a).is_some_and(|v| v == "true"))
    };
    Recipe {
        package: spec.downstream.package.clone(),
        variant: variant.key.name.clone(),
        deployment: repository.deployment,
        context,
        remove_keys: removed.clone(),
        create_context: spec.context.create,
        pipeline: spec.pipeline.clone(),
        injections: o.injections.clone(),
        kept: kept(o),
        strategy: spec.strategy,
        conflict_policy: spec.conflict_policy,
        push_on_render_failure: push(&variant.meta.annotations) || push(&spec.annotations),
    }
}

/// Injected contents whose kind of point nothing fills any more.
pub(super) fn kept(o: &Observed) -> Vec<KeptInjection> {
    let filled: BTreeSet<&str> = o
        .injections
        .iter()
        .flat_map(|i| &i.found)
        .filter(|(_, outcome)| matches!(outcome, InjectionOutcome::Content(_)))
        .map(|(gvk, _)| gvk.as_str())
        .collect();
    let mut kept: Vec<KeptInjection> = o
        .stated
        .injections
        .iter()
        .filter(|k| !filled.contains(k.gvk.as_str()))
        .cloned()
        .collect();
    kept.sort();
    kept
}
