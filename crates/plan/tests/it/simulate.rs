//! Laws over random lives of a variant, in a world small enough to be pure: whatever happens, every
//! plan passes its own check, applying it comes to rest, rest writes nothing, the order of what was
//! observed does not matter, and a crash after any step leads to the same end.

mod action;
mod apply;
mod observe;
mod people;
mod world;

use std::collections::BTreeSet;

use model::{Downstream, Lifecycle, ObjectName};
use plan::variant::{Observed, UpstreamResolution, decide, resolve_upstream};
use proptest::prelude::*;

use action::{Action, actions};
use world::World;

use crate::wire::{place, repo};

/// The same, seen in another order.
fn shuffled(observed: &Observed) -> Observed {
    let mut other = observed.clone();
    other.downstream.reverse();
    other.elsewhere.reverse();
    other.rivals.reverse();
    other
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// R20, R37, V16.
    #[test]
    fn lives_come_to_rest(life in proptest::collection::vec((actions(), 0_usize..4), 1..24)) {
        let mut world = World::new();
        world.settle();
        for (action, crash_after) in life {
            let latest = world.latest().map(|p| p.key.name.clone());
            world.act(&action);
            let proposed = latest.filter(|_| matches!(action, Action::PersonProposesDeletion));
            let before = world.published();
            let mut crashed = world.clone();
            if let Some(observed) = crashed.observe() {
                let plan = decide(&observed);
                let _lost = crashed.apply(&plan, crash_after);
            }
            crashed.settle();
            world.settle();
            prop_assert_eq!(crashed.face(), world.face(), "{:?} then a crash", action);
            prop_assert!(world.open_drafts_of_ours() <= 1, "{:?}: {:#?}", action, world.face());
            let after: BTreeSet<ObjectName> = world.published().into_iter().map(|(n, _)| n).collect();
            world.drafts_are_based_on_what_is_published();
            if let Some(name) = proposed {
                let still = world.first(|r| r.key.name == name).map(|r| r.lifecycle);
                prop_assert_eq!(still, Some(Lifecycle::DeletionProposed), "a person's proposal");
            }
            for (name, lifecycle) in before {
                prop_assert!(
                    after.contains(&name) || lifecycle == Lifecycle::DeletionProposed,
                    "{} is gone after {:?}", name, action
                );
            }
        }
    }
}

/// One life by hand, so that the world itself is known to work.
/// R20, R22-R25, R37, R103.
#[test]
fn a_life_from_clone_to_deletion() {
    let mut world = World::new();
    world.settle();
    let states = |w: &World| -> Vec<String> {
        let mut all: Vec<_> = w
            .revisions
            .iter()
            .map(|r| format!("{} {} {}", r.workspace, r.lifecycle, r.revision))
            .collect();
        all.sort();
        all
    };
    assert_eq!(states(&world), ["packagevariant-1 Draft 0"]);
    for action in [Action::Propose, Action::Approve, Action::NewUpstream] {
        world.act(&action);
        world.settle();
    }
    assert_eq!(
        states(&world),
        ["packagevariant-1 Published 1", "packagevariant-2 Draft 0"]
    );
    world.act(&Action::PersonPublishes);
    world.settle();
    assert_eq!(world.open_drafts_of_ours(), 1);
    world.act(&Action::SetContext(1));
    world.settle();
    for action in [Action::Propose, Action::Approve, Action::SetContext(1)] {
        world.act(&action);
        world.settle();
    }
    assert!(
        states(&world).contains(&"packagevariant-2 Published 3".to_owned()),
        "{:?}",
        states(&world)
    );
    world.act(&Action::DeleteVariant);
    world.settle();
    assert!(world.variant.is_none());
    let place = Downstream {
        repo: repo("deploy"),
        package: place("deploy/shop").package,
    };
    assert!(
        world
            .revisions
            .iter()
            .all(|r| r.package == place.package && r.meta.owners.is_empty())
    );
    assert!(matches!(
        resolve_upstream(
            &world.upstream,
            &crate::wire::upstream("blueprints/nginx"),
            "main"
        ),
        UpstreamResolution::Found(_)
    ));
}

/// A proposal of ours that was withdrawn leaves no mark behind: the next one may be a person's.
/// R29.
#[test]
fn a_withdrawn_proposal_is_forgotten() {
    let mut world = World::new();
    world.settle();
    for action in [
        Action::Propose,
        Action::Approve,
        Action::Retarget(true),
        Action::Retarget(false),
    ] {
        world.act(&action);
        world.settle();
    }
    let p = world.latest().expect("a published revision");
    assert!(p.meta.annotations.is_empty(), "{:?}", p.meta.annotations);
    world.act(&Action::PersonProposesDeletion);
    world.settle();
    assert_eq!(
        world.first(|r| r.key == p.key).map(|r| r.lifecycle),
        Some(Lifecycle::DeletionProposed)
    );
}
