//! What stands where something of ours was to be: it is named, and nothing of it is lost.

use model::{Class, Door, Lifecycle, Status};
use store::{Answer, RefEdit, RefName, Submission};
use testkit::twin::key;

use crate::bases::{move_ref, published, put};
use crate::outside::push_onto;
use crate::variants::{quiet, ready, variant};
use crate::world::{NS, World, alice};

const DRAFT: &str = "deploy.shop.packagevariant-1";
const MAIN: (&str, &str) = ("main", "main");

fn said(world: &World) -> (Status, String) {
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    let ready = stored.status.condition("Ready").expect("a condition");
    (ready.status, format!("{}: {}", ready.reason, ready.message))
}

async fn submit(world: &World, edit: RefEdit) {
    let refs = Submission {
        refs: vec![edit],
        ..Submission::default()
    };
    let answer = world.outside("deploy").submit(refs).await.expect("a push");
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
}

/// V20: a file is as little replaced as a directory that somebody changed.
#[tokio::test(start_paused = true)]
async fn no_approval_takes_a_file_away_that_stands_at_the_packages_path() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    push_onto(&world, "deploy", MAIN, "", &[("shop", "no package\n")]).await;
    world.engine.look_at_everything();
    world.rest().await;
    let (engine, at) = (&world.engine, key(NS, DRAFT));
    let by = alice();
    let proposed = engine.move_to(&by, &at, Door::Main, Lifecycle::Proposed);
    proposed.await.expect("proposed");
    let before = world.refs("deploy");
    let approved = engine.move_to(&by, &at, Door::Approval, Lifecycle::Published);
    let refused = approved.await.expect_err("a file is there");
    assert_eq!(refused.class(), Class::Conflict);
    let text = refused.to_string();
    assert!(
        text.contains("shop on refs/heads/main is no directory"),
        "{text}"
    );
    assert_eq!(world.refs("deploy"), before);
}

/// The same where it was there first: no draft is made that would take it away, and the variant says why.
#[tokio::test(start_paused = true)]
async fn no_draft_is_made_where_a_file_stands() {
    let world = ready().await;
    push_onto(&world, "deploy", MAIN, "", &[("shop", "no package\n")]).await;
    world.engine.look_at_everything();
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let (status, message) = said(&world);
    assert_eq!(status, Status::False, "{message}");
    assert!(
        message.contains("shop in the repository is no directory"),
        "{message}"
    );
    quiet(&world).await;
}

/// Git holds no `drafts/shop/…` beside a branch `drafts`: that is no race that another look would win.
#[tokio::test(start_paused = true)]
async fn a_branch_in_the_way_of_drafts_is_told_until_it_is_gone() {
    let world = ready().await;
    let name = RefName::branch("drafts").expect("a ref");
    let main = RefName::branch("main").expect("a ref");
    let head = world.outside("deploy").refs().expect("refs")[&main];
    submit(&world, RefEdit::create(name.clone(), head)).await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let (status, message) = said(&world);
    assert_eq!(status, Status::False, "{message}");
    assert!(
        message.starts_with("InTheWay: ")
            && message.contains("cannot be made while")
            && message.contains("drafts exists"),
        "{message}"
    );
    let events = world.twin.events();
    let told = events
        .iter()
        .any(|e| format!("{e:?}").contains("cannot be made while"));
    assert!(told, "{events:?}");
    quiet(&world).await;
    submit(&world, RefEdit::delete(name, head)).await;
    world.engine.look_at_everything();
    world.pass(600).await;
    assert_eq!(said(&world).0, Status::True, "{}", said(&world).1);
}

/// X5: a number is given once, also where nothing is served for the tag that has it.
#[tokio::test(start_paused = true)]
async fn an_approval_passes_over_a_number_that_another_tag_has() {
    let (world, tagged) = published().await;
    move_ref(&world, "refs/tags/shop/v2", Some(tagged)).await;
    put(&world, 2, "eu");
    world.rest().await;
    let second = world.publish("deploy.shop.packagevariant-2").await;
    assert_eq!(second.revision.0, 3);
    let refs = world.outside("deploy").refs().expect("refs");
    let at = |tag: &str| refs[&RefName::parse(tag).expect("a ref")];
    assert_eq!(at("refs/tags/shop/v2"), tagged);
    assert_eq!(at("refs/tags/shop/v3"), second.commit);
}
