//! What a set would make, write and delete, put into the supposed world so that its variants are planned as they would be.

use std::collections::{BTreeMap, BTreeSet};

use model::{Namespace, ObjectKey, ObjectName, TargetSelection};
use plan::set::{Observed, Plan, SetStep, Subject};

use super::{FleetPlan, PlannedSet, known};
use crate::ports::{Gvk, StoredSet};
use crate::queue::Key;
use crate::suppose::Supposed;
use crate::{Result, observe};

/// How often a set is decided on until nothing more follows: deletions are remembered first and carried out then.
const ROUNDS: usize = 4;

/// What sets say of their variants.
#[derive(Default)]
pub(super) struct Told {
    /// The step of each variant under a rollout.
    pub(super) steps: BTreeMap<ObjectKey, String>,
    /// Why variants leave whose deletion waits for a confirmation.
    pub(super) held: BTreeMap<ObjectKey, String>,
}

/// Plans the sets that are touched, and collects the variants to be planned; answers what is said of them.
pub(super) async fn plan(
    world: &Supposed,
    namespace: &Namespace,
    keys: BTreeSet<Key>,
    variants: &mut BTreeSet<ObjectKey>,
    plan: &mut FleetPlan,
) -> Result<Told> {
    let mut told = Told::default();
    let mut open: Vec<ObjectKey> = Vec::new();
    let mut done = BTreeSet::new();
    let mut take = |keys: BTreeSet<Key>, open: &mut Vec<ObjectKey>, done: &BTreeSet<ObjectKey>| {
        for key in keys {
            match key {
                Key::Set(set) if set.namespace == *namespace && !done.contains(&set) => {
                    open.push(set);
                }
                Key::Variant(variant) => drop(variants.insert(variant)),
                _ => {}
            }
        }
    };
    take(keys, &mut open, &done);
    while let Some(key) = open.pop() {
        if !done.insert(key.clone()) {
            continue;
        }
        let planned = one(world, &key, plan, &mut told).await?;
        if let Some((set, theirs)) = planned {
            plan.sets.push(set);
            take(
                theirs.into_iter().map(Key::Variant).collect(),
                &mut open,
                &done,
            );
        }
        take(world.touched(), &mut open, &done);
    }
    plan.sets.sort_by(|a, b| a.key.cmp(&b.key));
    // No set decides on this: what somebody may confirm is told as it is then, and the sets as they are until then.
    for variant in told.held.keys() {
        world.delete_variant(variant);
    }
    Ok(told)
}

/// Plans one set; answers its variants, too. `None` if it is gone.
async fn one(
    world: &Supposed,
    key: &ObjectKey,
    plan: &mut FleetPlan,
    told: &mut Told,
) -> Result<Option<(PlannedSet, Vec<ObjectKey>)>> {
    let Some(stored) = world.engine.world(|w| w.sets.get(key).cloned()) else {
        return Ok(None);
    };
    let targets = stored
        .parsed
        .as_ref()
        .map(|set| set.spec.targets.as_slice());
    for target in targets.unwrap_or_default() {
        if let TargetSelection::ObjectSelector { selector, .. } = &target.selection {
            let kind = Gvk::of(&selector.api_version, &selector.kind);
            known::take(world, &key.namespace, &kind, &mut plan.unknown).await;
        }
    }
    let present = world.engine.world(|w| {
        let all = w.variants_of(&stored);
        let here = |v: &ObjectKey| w.variant(v).is_some_and(|v| !v.meta.is_deleting());
        all.into_iter().filter(here).count()
    });
    let mut summary = PlannedSet {
        key: key.clone(),
        held: false,
        deleting: 0,
        of: present,
        steps: named(&stored),
        warning: warning(&stored),
        confirm: None,
        unknown: false,
    };
    let mut theirs: BTreeSet<ObjectKey> = BTreeSet::new();
    let mut held = Vec::new();
    for _ in 0..ROUNDS {
        let Some((observed, decided)) = decide(world, key).await? else {
            break;
        };
        let again = carry_out(world, key, &decided, &mut summary);
        summary.unknown |= say(key, &observed, &decided, plan);
        for (name, step) in &decided.targets {
            let variant = ObjectKey::new(key.namespace.clone(), name.clone());
            told.steps.entry(variant).or_insert_with(|| step.clone());
        }
        if decided.held.len() > summary.deleting {
            summary.deleting = decided.held.len();
        }
        summary.held = !decided.held.is_empty();
        let waiting = decided.status.guard.waiting.as_ref();
        let waiting = waiting.filter(|_| summary.held);
        summary.confirm = waiting.map(|waiting| waiting.hash.clone());
        held = decided.held;
        if !again {
            break;
        }
    }
    hold(key, &held, &mut theirs, told);
    theirs.extend(world.engine.world(|w| w.variants_of(&stored)));
    Ok(Some((summary, theirs.into_iter().collect())))
}

/// What the author of a set's rollout may not have meant.
fn warning(stored: &StoredSet) -> Option<String> {
    let said = stored.parsed.as_ref().ok()?.spec.rollout_warnings();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The names of the steps of a set's rollout.
fn named(stored: &StoredSet) -> Vec<String> {
    let steps = rollout_of(stored)
        .into_iter()
        .flat_map(|rollout| &rollout.steps);
    steps.map(|step| step.name.clone()).collect()
}

fn rollout_of(stored: &StoredSet) -> Option<&model::Rollout> {
    stored.parsed.as_ref().ok()?.spec.rollout.as_ref()
}

/// What is decided about a set as it is supposed. All of its changes are wanted, however many it makes at a time.
async fn decide(world: &Supposed, key: &ObjectKey) -> Result<Option<(Observed, Plan)>> {
    let engine = &world.engine;
    let observed = observe::set(engine, observe::Sink::dropped(), key).await?;
    let Some(mut observed) = observed else {
        return Ok(None);
    };
    observed.whole_rollout = true;
    if let Subject::Valid { set, .. } = &mut observed.set {
        std::sync::Arc::make_mut(set).spec.max_in_flight = None;
    }
    let cpu = engine.inner.options.cpu.clone();
    let decided = cpu.run(move || {
        let decided = plan::set::decide(&observed);
        (observed, decided)
    });
    Ok(Some(decided.await?))
}

/// Puts what is decided into the world; answers whether more may follow.
fn carry_out(world: &Supposed, key: &ObjectKey, decided: &Plan, summary: &mut PlannedSet) -> bool {
    for step in &decided.steps {
        match step {
            SetStep::Create(variant) => world.make_variant(key, variant),
            SetStep::Update { variant, .. } => world.make_variant(key, variant),
            SetStep::Delete { key, .. } => {
                summary.deleting += 1;
                world.delete_variant(key);
            }
        }
    }
    let known = world.engine.world(|w| w.sets.get(key).cloned());
    let Some(known) = known.filter(|set| set.status != decided.status) else {
        return !decided.steps.is_empty();
    };
    let mut set = (*known).clone();
    set.status = decided.status.clone();
    world.put_set(set);
    true
}

/// What a set cannot make is named; answers whether its targets are not known.
fn say(key: &ObjectKey, observed: &Observed, decided: &Plan, plan: &mut FleetPlan) -> bool {
    let mut selected = observed.selected.values();
    let unselected = selected.any(Result::is_err);
    let passing = observed.unread.iter().any(|unread| unread.passes);
    // Targets that cannot be made have no variant to say so, also where the others can.
    let lacks = decided.status.failed > 0 && !unselected && !passing;
    let stalled = decided.status.conditions.iter();
    let stalled = stalled.filter(|c| match c.kind.as_str() {
        "Stalled" => c.status == model::Status::True && !lacks,
        "Ready" => lacks && c.status == model::Status::False,
        _ => false,
    });
    for condition in stalled {
        let entry = (
            key.clone(),
            condition.reason.clone(),
            condition.message.clone(),
        );
        if !plan.stalled.contains(&entry) {
            plan.stalled.push(entry);
        }
    }
    let mut unknown = unselected;
    for unread in observed.unread.iter().filter(|unread| unread.passes) {
        unknown = true;
        let entry = (
            format!("upstream packages of set {key}"),
            unread.why.clone(),
        );
        if !plan.unknown.contains(&entry) {
            plan.unknown.push(entry);
        }
    }
    if unselected {
        let notes = decided.report.notes.iter().map(|n| n.what.clone());
        let why: Vec<String> = notes.collect();
        let entry = (format!("targets of set {key}"), why.join("; "));
        if !plan.unknown.contains(&entry) {
            plan.unknown.push(entry);
        }
    }
    unknown
}

/// Says of a variant that somebody would delete whether its set makes it anew: it is asked what it does once the variant is
/// gone. What the new one then does is not planned.
pub(super) async fn anew(
    world: &Supposed,
    variant: &ObjectKey,
    plan: &mut FleetPlan,
) -> Result<()> {
    let mut targets = plan.targets.iter();
    let set = targets
        .find(|t| t.variant == *variant)
        .and_then(|t| t.set.clone());
    let Some(set) = set else { return Ok(()) };
    world.variant_gone(variant);
    let Some((_, decided)) = decide(world, &set).await? else {
        return Ok(());
    };
    let made = decided
        .steps
        .iter()
        .any(|step| matches!(step, SetStep::Create(new) if new.key == *variant));
    for leaving in plan
        .leaving
        .iter_mut()
        .filter(|l| made && l.variant == *variant)
    {
        leaving.why.push_str(&format!(
            "; set {set} makes it anew, since it is a target still: take that out of the set for it to go for good"
        ));
    }
    Ok(())
}

/// Variants whose deletion waits for a confirmation. They stay until then; what becomes of them then is planned.
fn hold(key: &ObjectKey, held: &[ObjectName], theirs: &mut BTreeSet<ObjectKey>, told: &mut Told) {
    for name in held {
        let variant = ObjectKey::new(key.namespace.clone(), name.clone());
        let why = format!("it is no target of set {key} any more; the deletion guard holds it");
        told.held.insert(variant.clone(), why);
        theirs.insert(variant);
    }
}
