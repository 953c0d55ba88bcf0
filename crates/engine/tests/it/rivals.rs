//! One directory of a repository is one package, through whatever registration variants write to it (V15, V24, V25).

use std::sync::Arc;

use model::{AdoptionPolicy, PackageName, Repository, RepositoryName, Status, Variant};

use crate::tenancy::{DEPLOY, condition, registration};
use crate::variants::{quiet, ready, variant};
use crate::world::{NS, World};

/// The directory `apps` of `deploy`, registered for itself.
fn inner() -> Repository {
    let mut of = registration(NS, "inner", 2, true);
    of.git.directory = "apps".to_owned();
    of
}

async fn registered() -> World {
    let world = ready().await;
    world.twin.put_repository(registration(NS, DEPLOY, 1, true));
    world.twin.put_repository(inner());
    world.rest().await;
    world
}

/// A variant that was made at this second.
fn made(mut of: Variant, second: u32) -> Variant {
    let meta = Arc::make_mut(&mut of.meta);
    meta.created = format!("2026-01-01T00:01:{second:02}Z");
    of
}

/// It writes to `apps/one` of `deploy`.
fn outer(second: u32) -> Variant {
    made(variant("outer", "apps/one"), second)
}

/// It writes to `one` of `inner`, which is the same.
fn within(second: u32) -> Variant {
    let mut of = made(variant("within", "one"), second);
    of.spec.downstream.repo = RepositoryName::parse("inner").expect("a name");
    of
}

fn drafts(world: &World) -> Vec<String> {
    let refs = world.refs(DEPLOY).into_keys();
    refs.filter(|name| name.contains("/drafts/apps/one/"))
        .collect()
}

const FIRST: &str = "refs/heads/drafts/apps/one/packagevariant-1";

#[tokio::test(start_paused = true)]
async fn two_variants_of_one_directory_through_two_registrations_are_rivals() {
    let world = registered().await;
    world.twin.put_variant(outer(1));
    world.rest().await;
    world.twin.put_variant(within(2));
    world.rest().await;
    assert_eq!(drafts(&world), [FIRST]);
    let (holds, why) = condition(&world, NS, "within", "Stalled");
    assert_eq!(holds, Status::True);
    assert!(
        why.starts_with("DownstreamClaimed: ")
            && why.contains("the older packagevariant 'default/outer'"),
        "{why}"
    );
    assert_eq!(condition(&world, NS, "outer", "Ready").0, Status::True);
    let (_, told) = condition(&world, NS, "outer", "DownstreamContested");
    assert!(told.contains("default/within"), "{told}");
    quiet(&world).await;
    // The one that stays goes on there, beside what was left in place since it claims it (V10).
    world.twin.delete_variant(NS, "outer");
    world.rest().await;
    assert_eq!(condition(&world, NS, "within", "Ready").0, Status::True);
    assert_eq!(drafts(&world).len(), 2);
    quiet(&world).await;
}

/// What keeps one away may come after it: the other registration, or its going.
#[tokio::test(start_paused = true)]
async fn who_works_follows_registrations_that_come_and_go() {
    let world = ready().await;
    world.twin.put_repository(registration(NS, DEPLOY, 1, true));
    world.twin.put_variant(outer(1));
    world.twin.put_variant(within(2));
    world.rest().await;
    let (_, why) = condition(&world, NS, "within", "Stalled");
    assert!(why.starts_with("DownstreamRepositoryNotFound"), "{why}");
    world.twin.put_repository(inner());
    world.rest().await;
    let (_, why) = condition(&world, NS, "within", "Stalled");
    assert!(why.starts_with("DownstreamClaimed"), "{why}");
    assert_eq!(drafts(&world), [FIRST]);
    world.twin.delete_repository(NS, DEPLOY);
    world.rest().await;
    assert_eq!(condition(&world, NS, "within", "Ready").0, Status::True);
    world.twin.put_repository(registration(NS, DEPLOY, 1, true));
    world.rest().await;
    let (_, why) = condition(&world, NS, "within", "Stalled");
    assert!(why.starts_with("DownstreamClaimed"), "{why}");
}

/// Adoption takes over what is nobody's: the same draft has an owner where the other registration lists it.
#[tokio::test(start_paused = true)]
async fn a_draft_that_is_a_variants_through_another_registration_is_not_taken_over() {
    let world = registered().await;
    world.twin.put_variant(outer(5));
    world.rest().await;
    let mut takes = within(1);
    takes.spec.adoption = AdoptionPolicy::Existing;
    world.twin.put_variant(takes);
    world.rest().await;
    let (_, why) = condition(&world, NS, "outer", "Stalled");
    assert!(why.starts_with("DownstreamClaimed"), "{why}");
    assert_eq!(condition(&world, NS, "within", "Ready").0, Status::True);
    let seen = world.revision("inner.one.packagevariant-1");
    assert_eq!(seen.meta.owners, []);
    let (_, why) = condition(&world, NS, "within", "DownstreamExistsUnowned");
    assert!(
        why.contains("left alone: 'inner.one.packagevariant-1'"),
        "{why}"
    );
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_reads_its_own_downstream_through_another_registration_is_a_circle() {
    let world = registered().await;
    let mut ring = outer(1);
    ring.spec.upstream.repo = RepositoryName::parse("inner").expect("a name");
    ring.spec.upstream.package = PackageName::parse("one").expect("a name");
    world.twin.put_variant(ring);
    world.rest().await;
    let (_, why) = condition(&world, NS, "outer", "Stalled");
    assert!(why.starts_with("UpstreamCycle"), "{why}");
}
