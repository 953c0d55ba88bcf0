//! What was published on a commit that the branch does not lead to: no draft takes it back, and nobody misses it silently (V20).

use model::{CommitId, Door, Lifecycle, Status, Task};
use store::RefName;

use crate::bases::{move_ref, published, put};
use crate::variants::{DEPLOYMENT, condition, push, quiet};
use crate::world::{NS, World, alice, input};
use testkit::twin::key;

const FIRST: &str = "deploy.shop.packagevariant-1";
const SECOND: &str = "deploy.shop.packagevariant-2";

fn main_of(world: &World) -> CommitId {
    let main = RefName::branch("main").expect("a ref");
    world.outside("deploy").refs().expect("refs")[&main]
}

async fn propose(world: &World, revision: &str) {
    let (by, at) = (alice(), key(NS, revision));
    let engine = &world.engine;
    let proposed = engine.move_to(&by, &at, Door::Main, Lifecycle::Proposed);
    proposed.await.expect("proposed");
}

async fn approve(world: &World, revision: &str) -> Result<(), String> {
    let (by, at) = (alice(), key(NS, revision));
    let engine = &world.engine;
    let approved = engine.move_to(&by, &at, Door::Approval, Lifecycle::Published);
    let approved = approved.await.map(drop);
    approved.map_err(|error| format!("{error:?}"))
}

/// Somebody edits a draft, and publishes it by a tag alone.
async fn tagged(world: &World) -> CommitId {
    put(world, 2, "eu");
    world.rest().await;
    let twelve = |text: &str| text.replace("replicas: 9", "replicas: 12");
    world.edit(SECOND, "deployment.yaml", twelve).await;
    let draft = world.revision(SECOND).commit;
    move_ref(world, "refs/tags/shop/v2", Some(draft)).await;
    let name = "refs/heads/drafts/shop/packagevariant-2";
    move_ref(world, name, None).await;
    world.rest().await;
    push(world, &DEPLOYMENT.replace("app:v1", "app:v3"), "v3").await;
    draft
}

#[tokio::test(start_paused = true)]
async fn drafts_start_from_a_tag_beside_the_branch_and_wait_until_it_is_merged() {
    let (world, _) = published().await;
    let draft = tagged(&world).await;
    put(&world, 3, "eu");
    world.rest().await;
    let draft_of = |world: &World| {
        let is_open = |name: &String| world.revision(name).lifecycle == Lifecycle::Draft;
        let mut names = world.names().into_iter().filter(|n| n.contains("shop"));
        names.find(is_open).expect("a draft")
    };
    let third = &draft_of(&world);
    let text = world.file(third, "deployment.yaml").await;
    assert!(
        text.contains("replicas: 12") && text.contains("app:v3"),
        "{text}"
    );
    let (holds, why) = condition(&world, "shop", "BranchChanged");
    assert_eq!(holds, Status::True);
    assert!(
        why.starts_with("NotMerged: BranchDiverged: ") && why.contains("`git merge shop/v2`"),
        "{why}"
    );
    quiet(&world).await;
    propose(&world, third).await;
    let refused = approve(&world, third).await.expect_err("not merged");
    assert!(
        refused.contains("`git merge shop/v2`") && !refused.contains("rebase"),
        "{refused}"
    );
    move_ref(&world, "refs/heads/main", Some(draft)).await;
    world.rest().await;
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    assert_eq!(stored.status.condition("BranchChanged"), None);
    approve(&world, third).await.expect("approved");
    world.rest().await;
    let text = world.file("deploy.shop.main", "deployment.yaml").await;
    assert!(
        text.contains("replicas: 12") && text.contains("app:v3"),
        "{text}"
    );
}

/// A person's copy of before knows nothing of the tag, and the branch still holds what it was made of.
#[tokio::test(start_paused = true)]
async fn a_copy_of_before_a_tag_beside_the_branch_does_not_take_that_back() {
    let (world, _) = published().await;
    let source = key(NS, FIRST).name;
    let wish = input("deploy", "shop", "mine", Task::Edit { source });
    let namespace = key(NS, "x").namespace;
    let copied = world.engine.create(&alice(), &namespace, wish).await;
    copied.expect("copied");
    propose(&world, "deploy.shop.mine").await;
    tagged(&world).await;
    let refused = approve(&world, "deploy.shop.mine").await;
    let refused = refused.expect_err("not merged");
    assert!(refused.contains("`git merge shop/v2`"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_is_set_back_before_anybody_looks_is_missed() {
    let (world, _) = published().await;
    let before = main_of(&world);
    put(&world, 2, "eu");
    world.rest().await;
    propose(&world, SECOND).await;
    world.rest().await;
    approve(&world, SECOND).await.expect("approved");
    let made = main_of(&world);
    assert_ne!(made, before);
    move_ref(&world, "refs/heads/main", Some(before)).await;
    world.engine.look_at_everything();
    world.rest().await;
    let head = world.revision("deploy.shop.main");
    assert_eq!(head.tree, world.revision(FIRST).tree);
    let kept = format!("refs/offshoot/recovered/main/{made}");
    assert_eq!(world.refs("deploy").get(&kept), Some(&made));
    let told = world.twin.events();
    assert!(told.iter().any(|e| e.reason == "HistoryReplaced"));
    let (holds, why) = condition(&world, "shop", "BranchChanged");
    assert_eq!(holds, Status::True, "{why}");
    assert!(why.starts_with("NotMerged: "), "{why}");
}
