//! Plans of what goes, and of what somebody wants gone: fates, what a set makes anew, what waits for a person (F2).

use std::collections::BTreeMap;

use engine::Suppositions;
use engine::planned::{FleetPlan, Leaving};
use engine::ports::{OurKind, Stored};
use model::{DeletionPolicy, Door, Lifecycle, VariantSet};
use plan::variant::words::TAKE_BACK;
use testkit::twin::key;

use crate::planned::plan;
use crate::planned_true::came_true;
use crate::sets::{by_site, put_site, set};
use crate::variants::{ready, variant};
use crate::world::{NS, World, alice};

/// A set of two sites, both published.
async fn published() -> World {
    let world = ready().await;
    for (name, city) in [("site-1", "eu"), ("site-2", "eu")] {
        put_site(&world, name, city, "yes");
    }
    world.twin.put_set(set("fleet", vec![by_site()]));
    world.pass(30).await;
    for revision in world.twin.revisions() {
        if revision.lifecycle == Lifecycle::Draft {
            world.publish(revision.key.name.as_str()).await;
        }
    }
    world.rest().await;
    world
}

fn supposing(world: &World, change: impl Fn(&mut VariantSet)) -> Suppositions {
    let known = world.twin.set(NS, "fleet").expect("the set");
    let mut wanted = known.parsed.clone().expect("a set");
    change(&mut wanted);
    Suppositions {
        sets: vec![Stored {
            meta: std::sync::Arc::new(wanted.meta.clone()),
            parsed: Ok(wanted),
            key: known.key,
            status: known.status,
        }],
        ..Suppositions::default()
    }
}

fn fates(leaving: &Leaving) -> Vec<(&str, &str)> {
    let all = leaving.revisions.iter();
    all.map(|r| (r.name.as_str(), r.fate)).collect()
}

fn verdict<'p>(plan: &'p FleetPlan, variant: &str) -> (&'p str, &'p str) {
    let mut targets = plan.targets.iter();
    let found = targets.find(|t| t.variant.name.as_str() == variant);
    let found = found.unwrap_or_else(|| panic!("{variant} in {:?}", plan.targets));
    (found.verdict.word(), found.why.1.as_str())
}

/// A member of a set that is deleted by hand comes back; one of nobody does not.
#[tokio::test(start_paused = true)]
async fn a_member_that_its_set_makes_anew_is_told() {
    let world = published().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let deleted = |name: &str| Suppositions {
        deleted: vec![(OurKind::Variant, key(NS, name))],
        ..Suppositions::default()
    };
    let foretold = plan(&world, deleted("fleet-deploy-app-site-1")).await;
    let [leaving] = &foretold.leaving[..] else {
        panic!("{foretold:?}");
    };
    assert!(
        leaving
            .why
            .starts_with("its packagevariant goes; set default/fleet makes it anew"),
        "{leaving:?}"
    );
    assert_eq!(
        fates(leaving),
        [("deploy.app-site-1.packagevariant-1", "deletion proposed")]
    );
    let foretold = plan(&world, deleted("shop")).await;
    assert_eq!(foretold.leaving[0].why, "its packagevariant goes");
}

/// Nothing is made while a proposed deletion waits: that is known, and so is who ends it.
#[tokio::test(start_paused = true)]
async fn while_a_deletion_is_proposed_nothing_is_made_and_nothing_is_unknown() {
    let mut world = published().await;
    let name = key(NS, "deploy.app-site-1.packagevariant-1");
    let (alice, to) = (alice(), Lifecycle::DeletionProposed);
    let moved = world.engine.move_to(&alice, &name, Door::Main, to).await;
    moved.expect("proposed");
    world.rest().await;
    let other = |s: &mut VariantSet| {
        let template = s.spec.targets[0].template.as_mut().expect("a template");
        let context = template.context.as_mut().expect("a context");
        context.data.insert("tier".to_owned(), "gold".to_owned());
    };
    let suppositions = supposing(&world, other);
    let wanted = suppositions.sets[0].parsed.clone().expect("a set");
    let before = crate::planned::drafts(&world);
    let foretold = plan(&world, suppositions).await;
    let (found, why) = verdict(&foretold, "fleet-deploy-app-site-1");
    assert_eq!(found, "unchanged");
    assert!(
        why.contains("somebody proposed the deletion of 'deploy.app-site-1.packagevariant-1'")
            && why.contains("approve or reject the deletion"),
        "{why}"
    );
    assert_eq!(verdict(&foretold, "fleet-deploy-app-site-2").0, "edit");
    assert!(foretold.unknown.is_empty(), "{:?}", foretold.unknown);
    world.twin.put_set(wanted);
    world.reconcilers = (true, true);
    world.pass(75).await;
    came_true(&world, &foretold, &before).await;
}

/// What leaves goes as its variant says, whatever the same manifest wants of those that stay.
#[tokio::test(start_paused = true)]
async fn what_leaves_goes_by_the_deletion_policy_that_its_variant_has() {
    let mut world = published().await;
    world.reconcilers = (false, false);
    world.restart().await;
    put_site(&world, "site-2", "eu", "no");
    world.rest().await;
    let orphan = |s: &mut VariantSet| {
        let template = s.spec.targets[0].template.as_mut().expect("a template");
        template.deletion = Some(DeletionPolicy::Orphan);
    };
    let suppositions = supposing(&world, orphan);
    let wanted = suppositions.sets[0].parsed.clone().expect("a set");
    let before = crate::planned::drafts(&world);
    let foretold = plan(&world, suppositions).await;
    let fates: BTreeMap<&str, Vec<(&str, &str)>> = foretold
        .leaving
        .iter()
        .map(|l| (l.variant.name.as_str(), fates(l)))
        .collect();
    assert_eq!(
        fates.into_iter().collect::<Vec<_>>(),
        [(
            "fleet-deploy-app-site-2",
            vec![("deploy.app-site-2.packagevariant-1", "deletion proposed")]
        )]
    );
    world.twin.put_set(wanted);
    world.reconcilers = (true, true);
    world.restart().await;
    world.pass(75).await;
    came_true(&world, &foretold, &before).await;
}

/// A supposed set that takes back what its earlier variants left is planned as one that does.
#[tokio::test(start_paused = true)]
async fn what_a_supposed_set_takes_back_is_planned() {
    let world = published().await;
    let name = key(NS, "fleet-deploy-app-site-1");
    world.twin.delete_variant(NS, name.name.as_str());
    world.pass(120).await;
    // Made anew, it stands before its own package, whose deletion is proposed.
    let foretold = plan(&world, supposing(&world, |_| ())).await;
    assert_eq!(verdict(&foretold, "fleet-deploy-app-site-1").0, "failed");
    let back = |s: &mut VariantSet| {
        let annotations = &mut s.meta.annotations;
        annotations.insert(TAKE_BACK.to_owned(), "true".to_owned());
    };
    let suppositions = supposing(&world, back);
    let wanted = suppositions.sets[0].parsed.clone().expect("a set");
    let before = crate::planned::drafts(&world);
    let foretold = plan(&world, suppositions).await;
    assert_eq!(verdict(&foretold, "fleet-deploy-app-site-1").0, "unchanged");
    world.twin.put_set(wanted);
    world.pass(75).await;
    came_true(&world, &foretold, &before).await;
    let taken = world.revision("deploy.app-site-1.packagevariant-1");
    assert_eq!(taken.lifecycle, Lifecycle::Published);
}
