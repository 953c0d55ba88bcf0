//! Targets that differ by nothing but their names are of one class, whatever of their names we write into packages (F1).

use std::collections::BTreeMap;

use engine::Suppositions;
use engine::planned::FleetPlan;
use model::{UpstreamVersion, Variant};

use crate::planned::{drafts, plan};
use crate::planned_true::came_true;
use crate::variants::{DEPLOYMENT, push, ready, variant};
use crate::world::{NS, World};

/// Variants whose names share no beginning and no length.
const NAMES: [&str; 5] = [
    "web-edge-eu-001",
    "x",
    "web.edge.us",
    "fleet-9",
    "web-edge-eu",
];

/// Changes the variants while no controller runs; the plan of that, once it came true.
async fn foretold(world: &mut World, change: impl Fn(&mut Variant)) -> FleetPlan {
    world.reconcilers = (false, false);
    world.restart().await;
    for name in NAMES {
        let known = world.twin.variant(NS, name).map(|v| v.parsed);
        let mut wanted = match known {
            Some(Ok(known)) => (*known).clone(),
            _ => variant(name, &format!("package-of-{name}").replace('.', "-")),
        };
        change(&mut wanted);
        world.twin.put_variant(wanted);
    }
    world.rest().await;
    let before = drafts(world);
    let foretold = plan(world, Suppositions::default()).await;
    world.reconcilers = (true, true);
    world.restart().await;
    came_true(world, &foretold, &before).await;
    foretold
}

async fn publish_all(world: &World) {
    for revision in world.twin.revisions() {
        if revision.lifecycle == model::Lifecycle::Draft {
            world.publish(revision.key.name.as_str()).await;
        }
    }
    world.rest().await;
}

#[track_caller]
fn one_class(plan: &FleetPlan, verdict: &str) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for target in &plan.targets {
        assert_eq!(target.verdict.word(), verdict, "{target:?}");
        let class = target.class.map(|class| class.to_string());
        *counts.entry(class.expect("a class")).or_default() += 1;
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [NAMES.len()]);
}

#[tokio::test(start_paused = true)]
async fn targets_with_functions_of_their_variants_are_of_one_class() {
    let mut world = ready().await;
    // A first draft, the functions in it.
    let made = foretold(&mut world, |_| {}).await;
    one_class(&made, "create");
    publish_all(&world).await;
    // Another value of a function, one more function, one less.
    let value = |to: &'static str| {
        move |v: &mut Variant| v.spec.pipeline.mutators[0].config_map[0].1 = to.to_owned()
    };
    one_class(&foretold(&mut world, value("shop")).await, "edit");
    publish_all(&world).await;
    let more = |v: &mut Variant| {
        let mut second = v.spec.pipeline.mutators[0].clone();
        second.name = String::new();
        v.spec.pipeline.mutators.push(second);
    };
    one_class(&foretold(&mut world, more).await, "edit");
    publish_all(&world).await;
    let none = |v: &mut Variant| v.spec.pipeline.mutators.clear();
    one_class(&foretold(&mut world, none).await, "edit");
    publish_all(&world).await;
    // They come where none was, with another upstream.
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    world.rest().await;
    let back = |v: &mut Variant| {
        v.spec.pipeline = variant("x", "x").spec.pipeline;
        v.spec.upstream.version = UpstreamVersion::Latest;
    };
    one_class(&foretold(&mut world, back).await, "upgrade");
}
