//! Whether a plan came true: trees, classes, fates, and that nothing else changed.

use std::collections::{BTreeMap, BTreeSet};

use engine::planned::{FleetPlan, PlannedTarget, Verdict};
use model::{FileMode, Files, Lifecycle, Revision, TreeId};
use package::changes;

use crate::planned::drafts;
use crate::world::{NS, World};

/// What the plan foretold is what stands there now: trees, classes and fates; and what it said nothing of is as it was.
pub(crate) async fn came_true(world: &World, plan: &FleetPlan, before: &BTreeMap<String, TreeId>) {
    let after = &drafts(world);
    let held: BTreeSet<&str> = plan
        .leaving
        .iter()
        .filter(|l| l.why.contains("the deletion guard holds it"))
        .map(|l| l.variant.name.as_str())
        .collect();
    for target in &plan.targets {
        let name = target.variant.name.as_str();
        match target.verdict {
            // What is wanted is published: the open draft goes.
            Verdict::Edit if target.why.0 == "DraftSuperseded" => {
                assert!(before.contains_key(name), "{target:?}");
                assert_eq!(after.get(name), None, "{target:?}");
            }
            Verdict::Create | Verdict::Upgrade | Verdict::Edit | Verdict::Conflict => {
                assert_eq!(after.get(name).copied(), target.tree, "{target:?}");
                assert!(
                    target.tree.is_some() && target.class.is_some(),
                    "{target:?}"
                );
                as_its_class(world, plan, target).await;
            }
            Verdict::Unchanged | Verdict::Failed => {
                let was = before.get(name).or_else(|| adopted(world, name, before));
                assert_eq!(after.get(name), was, "{target:?}");
            }
            // It stays until somebody confirms, and then goes as foretold.
            Verdict::Leave if held.contains(name) => {
                assert!(world.twin.variant(NS, name).is_some(), "{target:?}");
            }
            Verdict::Leave => assert_eq!(after.get(name), None, "{target:?}"),
            Verdict::Unknown => panic!("{target:?}"),
        }
    }
    beside(world, plan, before, after);
    fates(world, plan, &held);
}

/// What a draft held that was nobody's and is this variant's now.
fn adopted<'b>(
    world: &World,
    variant: &str,
    before: &'b BTreeMap<String, TreeId>,
) -> Option<&'b TreeId> {
    let all = world.twin.revisions();
    let mine = |r: &&Revision| r.meta.owners.iter().any(|o| o.name == variant);
    let mut orphans = all.iter().filter(mine);
    orphans.find_map(|r| before.get(&format!("orphan {}", r.key.name)))
}

/// What the plan said nothing of is as it was.
fn beside(
    world: &World,
    plan: &FleetPlan,
    before: &BTreeMap<String, TreeId>,
    after: &BTreeMap<String, TreeId>,
) {
    let all = plan.targets.iter();
    let planned: BTreeSet<&str> = all.map(|t| t.variant.name.as_str()).collect();
    let fates: BTreeSet<&str> = plan
        .leaving
        .iter()
        .flat_map(|l| &l.revisions)
        .map(|r| r.name.as_str())
        .collect();
    for name in before.keys().chain(after.keys()) {
        if planned.contains(name.as_str()) {
            continue;
        }
        // A draft of nobody may be adopted by a target, or be what a variant leaves behind.
        if let Some(draft) = name.strip_prefix("orphan ") {
            let now = world.twin.revision(NS, draft);
            let owner = now.and_then(|now| now.meta.owners.first().cloned());
            if fates.contains(draft) || owner.is_some_and(|o| planned.contains(o.name.as_str())) {
                continue;
            }
        }
        let (now, was) = (after.get(name), before.get(name));
        assert_eq!(now, was, "{name} is not in the plan");
    }
}

/// The law of classes: what its class says, with the target's inputs put in, turns what is published into its draft.
async fn as_its_class(world: &World, plan: &FleetPlan, target: &PlannedTarget) {
    let class = &plan.classes[&target.class.expect("a class")];
    let (repository, package) = target.place.as_ref().expect("a place");
    let all = world.twin.revisions();
    let latest = all
        .iter()
        .filter(|r| r.repository == *repository && r.package == *package)
        .filter(|r| r.lifecycle.is_published() && r.revision.is_numbered())
        .max_by_key(|r| r.revision);
    let present = match latest {
        Some(latest) if target.verdict != Verdict::Create => files(world, latest).await,
        _ => Files::new(),
    };
    let draft = target.draft.as_ref().expect("a draft").as_str();
    let draft = files(world, &world.revision(draft)).await;
    let made = changes::apply(&present, &class.changes, &target.inputs);
    let bytes = |files: &Files| -> Vec<(String, FileMode, Vec<u8>)> {
        let all = files.iter();
        all.map(|(p, f)| (p.to_string(), f.mode(), f.bytes().to_vec()))
            .collect()
    };
    assert_eq!(made.as_ref().map(bytes), Some(bytes(&draft)), "{target:?}");
}

/// What a revision holds, but for what is in no class.
async fn files(world: &World, revision: &Revision) -> Files {
    let resources = world.engine.resources(&revision.key).await;
    changes::aside(&resources.expect("files").1)
}

fn fates(world: &World, plan: &FleetPlan, held: &BTreeSet<&str>) {
    for leaving in &plan.leaving {
        let variant = leaving.variant.name.as_str();
        for fate in leaving.revisions.iter().filter(|_| !held.contains(variant)) {
            let now = world.twin.revision(NS, fate.name.as_str());
            match (fate.fate, now) {
                ("deleted", None) => {}
                ("deletion proposed", Some(now)) => {
                    assert_eq!(now.lifecycle, Lifecycle::DeletionProposed, "{fate:?}");
                }
                ("orphaned", Some(now)) => {
                    let mut owners = now.meta.owners.iter();
                    assert!(owners.all(|o| o.name != variant), "{fate:?} {now:?}");
                }
                (_, now) => panic!("{fate:?} {now:?}"),
            }
        }
    }
}
