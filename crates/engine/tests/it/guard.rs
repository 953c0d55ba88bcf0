//! The deletion guard at work (S3): what follows from a selection waits, is remembered, and goes once it is confirmed.

use model::{Lifecycle, Status};
use plan::variant::words;

use crate::sets::{by_site, put_site, ready_of, set, site, variants};
use crate::variants::ready;
use crate::world::{NS, World};

/// A set over so many sites, with its guard.
async fn fleet(sites: usize) -> World {
    let world = ready().await;
    for n in 0..sites {
        put_site(&world, &site_name(n), "eu", "yes");
    }
    let mut fan = set("fan", vec![by_site()]);
    fan.spec.deletion_guard.enabled = true;
    world.twin.put_set(fan);
    world.rest().await;
    assert_eq!(variants(&world).len(), sites);
    world
}

fn site_name(n: usize) -> String {
    format!("s{n:02}")
}

fn live(world: &World, n: usize, live: &str) {
    put_site(world, &site_name(n), "eu", live);
}

/// Annotates the set with what its condition asks for.
fn confirm(world: &World) {
    let (status, message) = ready_of(world, "fan", "DeletionGuarded");
    assert_eq!(status, Status::True);
    let (_, hash) = message.rsplit_once('=').expect("a hash");
    let mut fan = world
        .twin
        .set(NS, "fan")
        .expect("a set")
        .parsed
        .expect("a set");
    let annotations = &mut fan.meta.annotations;
    annotations.insert(plan::set::CONFIRM.to_owned(), hash.to_owned());
    world.twin.put_set(fan);
}

/// S3: a few go once the selection is quiet; what is too many waits across restarts, and undoing it deletes nothing.
#[tokio::test(start_paused = true)]
async fn deletions_wait_for_quiet_and_too_many_of_them_for_a_person() {
    let mut world = fleet(12).await;
    live(&world, 0, "no");
    world.pass(8).await;
    assert_eq!(variants(&world).len(), 12);
    live(&world, 1, "no");
    world.pass(8).await;
    assert_eq!(variants(&world).len(), 12, "another one left meanwhile");
    world.pass(6).await;
    assert_eq!(variants(&world).len(), 10);
    // Two of three that are free within the hour are gone.
    for n in 2..8 {
        live(&world, n, "no");
        world.pass(1).await;
    }
    world.pass(60).await;
    assert_eq!(variants(&world).len(), 10);
    world.restart().await;
    world.pass(60).await;
    let (_, why) = ready_of(&world, "fan", "Ready");
    assert!(why.starts_with("DeletionGuarded: 6 of 10 "), "{why}");
    for n in 2..7 {
        live(&world, n, "yes");
        world.pass(15).await;
    }
    world.restart().await;
    let before = world.twin.writes();
    world.pass(4_000).await;
    assert_eq!(world.twin.writes(), before, "rest is rest");
    assert_eq!(variants(&world).len(), 10, "one waits still");
    confirm(&world);
    world.rest().await;
    assert_eq!(variants(&world).len(), 9);
    assert_eq!(ready_of(&world, "fan", "Ready").0, Status::True);
}

/// S3: whatever the process dies at, what was let go goes, is counted once, and nothing else goes with it.
#[tokio::test(start_paused = true)]
async fn what_was_decided_survives_the_process() {
    for point in ["engine BeforeStatus", "engine BeforeVariant"] {
        let mut world = fleet(8).await;
        for n in 0..2 {
            live(&world, n, "no");
        }
        world.rest().await;
        *world.deaths.named.lock().expect("no panic") = Some(point);
        world.pass(12).await;
        assert!(world.deaths.died().is_some(), "{point}");
        world.revive(|_| true, false).await;
        world.pass(1).await;
        assert_eq!(variants(&world).len(), 6, "{point}");
        live(&world, 2, "no");
        world.pass(12).await;
        assert_eq!(variants(&world).len(), 5, "{point}: three are free");
        live(&world, 3, "no");
        world.pass(12).await;
        assert_eq!(variants(&world).len(), 5, "{point}: a fourth is not");
    }
}

/// S3: a confirmation holds for its list although the process dies amid the deletions.
#[tokio::test(start_paused = true)]
async fn a_confirmation_survives_the_process() {
    let mut world = fleet(8).await;
    for n in 0..6 {
        live(&world, n, "no");
    }
    world.pass(12).await;
    assert_eq!(variants(&world).len(), 8);
    confirm(&world);
    *world.deaths.named.lock().expect("no panic") = Some("engine BeforeVariant");
    world.settle().await;
    assert!(world.deaths.died().is_some());
    world.revive(|_| true, false).await;
    assert_eq!(variants(&world).len(), 2);
}

/// S2, S3: a kind that is not served any more is named, and what was selected of it stays until that is confirmed.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_removed_takes_nothing_along() {
    let world = fleet(5).await;
    world.twin.unserve(&site());
    world.rest().await;
    world.pass(2).await;
    let (_, why) = ready_of(&world, "fan", "Ready");
    assert!(why.starts_with("NoMatchingTargets: "), "{why}");
    world.pass(100).await;
    assert_eq!(variants(&world).len(), 5);
    // Its return brings its objects back one by one.
    for n in 0..5 {
        live(&world, n, "yes");
        world.pass(15).await;
    }
    assert_eq!(variants(&world).len(), 5);
    assert_eq!(ready_of(&world, "fan", "Ready").0, Status::True);
    world.twin.unserve(&site());
    world.pass(20).await;
    confirm(&world);
    world.rest().await;
    assert_eq!(variants(&world), Vec::<String>::new());
}

/// V10, V15, S3: the way back of an accident. What the deletion of a variant left is proposed for deletion; the variant that
/// its set makes anew is a stranger to it, and one annotation of the set lets it take that back.
#[tokio::test(start_paused = true)]
async fn what_an_accident_left_is_taken_back_by_one_annotation() {
    let world = fleet(4).await;
    let places = [0, 1].map(|n| format!("deploy.app-{}.packagevariant-1", site_name(n)));
    for (n, place) in places.iter().enumerate() {
        world.publish(place).await;
        live(&world, n, "no");
    }
    world.pass(12).await;
    assert_eq!(variants(&world).len(), 2);
    let (by, set) = (model::marks::PROPOSED_BY, model::marks::PROPOSED_FOR);
    for place in &places {
        let left = world.revision(place);
        assert_eq!(left.lifecycle, Lifecycle::DeletionProposed);
        assert!(left.meta.annotations.contains_key(by) && left.meta.annotations.contains_key(set));
    }
    for n in 0..2 {
        live(&world, n, "yes");
    }
    world.pass(2).await;
    let (_, why) = ready_of(&world, "fan", "VariantsReady");
    let way_out = "annotate packagevariantset 'fan' with offshoot.dev/take-back=true";
    assert!(
        why.contains("DownstreamExistsUnowned") && why.contains(way_out),
        "{why}"
    );

    let mut fan = world
        .twin
        .set(NS, "fan")
        .expect("a set")
        .parsed
        .expect("a set");
    fan.meta
        .annotations
        .insert(words::TAKE_BACK.to_owned(), "true".to_owned());
    world.twin.put_set(fan);
    world.pass(2).await;
    assert_eq!(ready_of(&world, "fan", "VariantsReady").0, Status::True);
    for place in &places {
        let back = world.revision(place);
        assert_eq!(back.lifecycle, Lifecycle::Published);
        let annotations = &back.meta.annotations;
        assert!(!annotations.contains_key(by) && !annotations.contains_key(set));
        assert!(
            !annotations.contains_key(model::marks::ADOPTED_BY),
            "it was the set's all along"
        );
    }
    // And so it goes with its variant as before.
    live(&world, 0, "no");
    world.pass(12).await;
    assert_eq!(
        world.revision(&places[0]).lifecycle,
        Lifecycle::DeletionProposed
    );
}
