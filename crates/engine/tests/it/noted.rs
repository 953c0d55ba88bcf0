//! A deletion that somebody approved is noted on the record of the branch before the revision's own record goes: wherever it is cut
//! short, nobody misses the tag, and the variant makes its package again (V20).

use engine::ports::{Change, Expect, RecordWrite, Records};
use engine::usecase::Preconditions;
use model::{Door, Lifecycle, Status};
use testkit::twin::key;

use crate::bases::{move_ref, published, put};
use crate::outside::push_onto;
use crate::variants::{DEPLOYMENT, KPTFILE, condition, quiet, variant};
use crate::world::{NS, World, alice};

const FIRST: &str = "deploy.shop.packagevariant-1";
const HEAD: &str = "deploy.shop.main";

/// The variant goes elsewhere, and proposes that the only revision goes which it published.
async fn propose(world: &World) {
    world.twin.put_variant(variant("shop", "store"));
    world.rest().await;
    assert_eq!(world.revision(FIRST).lifecycle, Lifecycle::DeletionProposed);
}

/// Somebody approves that; whether it is answered that it is done.
async fn approve(world: &World) -> bool {
    let any = Preconditions::default();
    let deleted = world.engine.delete(&alice(), &key(NS, FIRST), &any).await;
    deleted.is_ok()
}

/// The tag is gone, and the note is there.
fn has_note(world: &World) {
    let tags = world.refs("deploy").into_keys();
    assert_eq!(tags.filter(|name| name.contains("tags/shop")).count(), 0);
    let marks = &world.revision(HEAD).meta.annotations;
    let noted = marks.get("offshoot.dev/deleted-revisions");
    assert_eq!(noted.map(String::as_str), Some("1"));
}

/// The note is there, and the variant makes its package again where it comes back.
async fn is_noted(world: &World) {
    put(world, 1, "eu");
    world.rest().await;
    has_note(world);
    assert_eq!(world.revision(FIRST).lifecycle, Lifecycle::Draft);
    assert_eq!(condition(world, "shop", "Stalled").0, Status::False);
    quiet(world).await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_noted_although_the_record_of_the_branch_was_not_written() {
    let (world, _) = published().await;
    propose(&world).await;
    world.twin.refuse_record(&key(NS, HEAD), true);
    assert!(!approve(&world).await);
    world.rest().await;
    assert_eq!(world.revision(FIRST).lifecycle, Lifecycle::DeletionProposed);
    world.twin.refuse_record(&key(NS, HEAD), false);
    world.pass(60).await;
    is_noted(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_noted_although_the_process_died_once_the_tag_was_gone() {
    for lose_journal in [false, true] {
        let (mut world, _) = published().await;
        propose(&world).await;
        *world.deaths.named.lock().expect("no panic") = Some("engine Published");
        assert!(!approve(&world).await && world.deaths.died().is_some());
        world.revive(|_| true, lose_journal).await;
        world.rest().await;
        is_noted(&world).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_noted_although_a_list_hid_that_it_was_proposed() {
    let (mut world, _) = published().await;
    let past = world.twin.revisions();
    propose(&world).await;
    world.rest().await;
    world.engine.stop();
    for name in ["tags/shop/v1", "heads/deletionProposed/shop/v1"] {
        move_ref(&world, &format!("refs/{name}"), None).await;
    }
    world.twin.list_late_records(past);
    world.restart().await;
    is_noted(&world).await;
}

/// Somebody pushes under the name of what is published: that is served once the tag is gone.
async fn push_beside(world: &World) {
    let text = DEPLOYMENT.replace("replicas: 1", "replicas: 7");
    let files = [("Kptfile", KPTFILE), ("deployment.yaml", text.as_str())];
    let to = "proposed/shop/packagevariant-1";
    push_onto(world, "deploy", ("main", to), "shop", &files).await;
}

/// A person proposes that it goes.
async fn propose_by_hand(world: &World) {
    let (by, at, to) = (alice(), key(NS, FIRST), Lifecycle::DeletionProposed);
    let moved = world.engine.move_to(&by, &at, Door::Main, to).await;
    moved.expect("proposed");
    world.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_noted_although_its_record_becomes_that_of_what_somebody_pushed_beside_it() {
    for refused in [false, true] {
        let (mut world, _) = published().await;
        push_beside(&world).await;
        propose_by_hand(&world).await;
        *world.deaths.named.lock().expect("no panic") = Some("engine Published");
        assert!(!approve(&world).await && world.deaths.died().is_some());
        world.twin.refuse_record(&key(NS, HEAD), refused);
        world.revive(|_| true, false).await;
        world.rest().await;
        world.twin.refuse_record(&key(NS, HEAD), false);
        world.pass(60).await;
        world.rest().await;
        assert_eq!(world.revision(FIRST).lifecycle, Lifecycle::Proposed);
        has_note(&world);
        quiet(&world).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_a_list_hid_is_noted_although_its_record_becomes_that_of_another_revision()
{
    let (mut world, _) = published().await;
    push_beside(&world).await;
    let past = world.twin.revisions();
    propose_by_hand(&world).await;
    world.engine.stop();
    for name in ["tags/shop/v1", "heads/deletionProposed/shop/v1"] {
        move_ref(&world, &format!("refs/{name}"), None).await;
    }
    world.twin.list_late_records(past);
    world.restart().await;
    world.rest().await;
    assert_eq!(world.revision(FIRST).lifecycle, Lifecycle::Proposed);
    has_note(&world);
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_noted_although_the_branch_had_no_record() {
    let (world, _) = published().await;
    propose(&world).await;
    let gone = RecordWrite {
        expect: Expect::Any,
        change: Change::Delete(key(NS, HEAD)),
    };
    let answers = Records::commit(&*world.twin, vec![gone]).await;
    assert!(answers.iter().all(Result::is_ok));
    // Nobody has looked again yet.
    assert!(approve(&world).await);
    world.rest().await;
    is_noted(&world).await;
}

/// What a person committed to the branch is nothing of the variant's: it says that what was published went, and gives no number twice.
#[tokio::test(start_paused = true)]
async fn a_variant_says_that_what_was_published_of_a_package_was_deleted() {
    let (world, _) = published().await;
    let text = DEPLOYMENT.replace("replicas: 1", "replicas: 7");
    let files = [("Kptfile", KPTFILE), ("deployment.yaml", text.as_str())];
    world.push("deploy", "shop", &files, None).await;
    world.rest().await;
    propose(&world).await;
    assert!(approve(&world).await);
    put(&world, 1, "eu");
    world.rest().await;
    let (stalled, why) = condition(&world, "shop", "Stalled");
    assert_eq!(stalled, Status::True, "{why}");
    assert!(
        why.contains("what was published of it was deleted") && why.contains("a tag 'shop/v2'"),
        "{why}"
    );
    quiet(&world).await;
}
