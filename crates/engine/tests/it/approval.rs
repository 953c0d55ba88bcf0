//! What an approval expects to find: the branch that the draft is based on, and the tree that was seen (V20, F3).

use std::sync::Arc;

use engine::usecase::{Input, input_of};
use model::{Class, Door, Lifecycle, Task, UpstreamVersion};
use testkit::twin::key;

use crate::variants::{DEPLOYMENT, KPTFILE, ready, variant};
use crate::world::{NS, World, alice, input, push_by};

const DRAFT: &str = "deploy.shop.packagevariant-1";

/// A proposal of a variant.
async fn proposed() -> World {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let (engine, at) = (&world.engine, key(NS, DRAFT));
    engine
        .move_to(&alice(), &at, Door::Main, Lifecycle::Proposed)
        .await
        .expect("proposed");
    world
}

fn approval(world: &World, tree: Option<&str>) -> Input {
    let mut wish = Input {
        lifecycle: Lifecycle::Published,
        ..input_of(&world.revision(DRAFT))
    };
    let seen = tree.map(|tree| ("offshoot.dev/expected-tree".to_owned(), tree.to_owned()));
    wish.meta.annotations.extend(seen);
    wish
}

#[tokio::test(start_paused = true)]
async fn an_approval_takes_the_tree_that_was_seen_and_no_other() {
    let world = proposed().await;
    let before = world.refs("deploy");
    let (engine, at) = (&world.engine, key(NS, DRAFT));
    let other = approval(&world, Some("0123456789012345678901234567890123456789"));
    let refused = engine.update(&alice(), &at, Door::Approval, other).await;
    let refused = refused.expect_err("another tree was seen");
    let tree = world.revision(DRAFT).tree.to_string();
    assert_eq!(refused.class(), Class::Conflict);
    assert!(refused.to_string().contains(&tree), "{refused}");
    assert_eq!(world.refs("deploy"), before);
    let this = approval(&world, Some(&tree));
    let made = engine.update(&alice(), &at, Door::Approval, this).await;
    let published = made.expect("approved").revision;
    assert_eq!(published.lifecycle, Lifecycle::Published);
    assert!(published.meta.annotations.is_empty(), "it is not kept");
}

/// Between judging and moving refs the branch may change: then what is moved must not be.
#[tokio::test(start_paused = true)]
async fn what_reaches_the_branch_after_an_approval_was_judged_is_not_written_over() {
    let world = proposed().await;
    let store = Arc::clone(&world.store);
    world.deaths.meanwhile("engine Derived", move || {
        let somebody = std::thread::spawn(move || {
            let elsewhere = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build();
            let files = [("Kptfile", KPTFILE), ("theirs.yaml", DEPLOYMENT)];
            let push = push_by(&store, "file:///git/deploy.git", "shop", &files, None);
            elsewhere.expect("a runtime").block_on(push)
        });
        somebody.join().expect("pushed");
    });
    let (engine, at) = (&world.engine, key(NS, DRAFT));
    let wish = approval(&world, None);
    let refused = engine.update(&alice(), &at, Door::Approval, wish).await;
    let refused = refused.expect_err("somebody was faster");
    assert_eq!(refused.class(), Class::Conflict, "{refused}");
    let refs = world.refs("deploy");
    assert!(refs.contains_key("refs/heads/proposed/shop/packagevariant-1"));
    assert!(!refs.contains_key("refs/tags/shop/v1"), "{refs:?}");
    let outside = world.outside("deploy");
    let main = outside.commit(refs["refs/heads/main"]).expect("the branch");
    assert_eq!(main.message, "by hand\n");
}

/// A revision made in the way of a task, and published; the tasks of the branch's head after that, and after what is
/// known was found in git anew.
async fn head_after(world: &mut World, workspace: &str, task: Task) -> Vec<Task> {
    let wish = input("deploy", "w", workspace, task);
    let here = key(NS, "any").namespace;
    let made = world.engine.create(&alice(), &here, wish).await;
    let made = made.expect("made").revision;
    world.publish(made.key.name.as_str()).await;
    let told = world.revision("deploy.w.main").tasks;
    world.rest().await;
    assert_eq!(world.revision("deploy.w.main").tasks, told);
    world.rebuild().await;
    assert_eq!(world.revision("deploy.w.main").tasks, told, "found anew");
    told
}

/// As Porch shows it (`d-list.json`, `f-upstream-changes-while-draft.yaml`).
#[tokio::test(start_paused = true)]
async fn the_head_of_the_branch_says_how_what_was_approved_last_was_made() {
    let mut world = ready().await;
    let init = Task::Init {
        description: "w".to_owned(),
        keywords: Vec::new(),
        site: String::new(),
    };
    let edit = Task::Edit {
        source: key(NS, "deploy.w.one").name,
    };
    for (workspace, task) in [("one", init), ("two", edit)] {
        let told = head_after(&mut world, workspace, task.clone()).await;
        assert_eq!(told, [task]);
    }
    let mut shop = variant("shop", "shop");
    shop.spec.upstream.version = UpstreamVersion::Latest;
    world.twin.put_variant(shop);
    world.rest().await;
    let clone = world.revision(DRAFT).tasks;
    world.publish(DRAFT).await;
    assert!(matches!(clone[..], [Task::Clone { .. }]), "{clone:?}");
    assert_eq!(world.revision("deploy.shop.main").tasks, clone);
    let v2 = [("Kptfile", KPTFILE), ("more.yaml", DEPLOYMENT)];
    world.push("blueprints", "app", &v2, Some("v2")).await;
    world.rest().await;
    let upgraded = "deploy.shop.packagevariant-2";
    let task = world.revision(upgraded).tasks;
    assert_eq!(world.revision("deploy.shop.main").tasks, clone);
    world.publish(upgraded).await;
    assert!(matches!(task[..], [Task::Upgrade { .. }]), "{task:?}");
    assert_eq!(world.revision("deploy.shop.main").tasks, task);
}

/// F1: the class that an approver says to have seen stands in the approval's commit in one line, and nowhere else.
#[tokio::test(start_paused = true)]
async fn the_class_that_was_seen_is_kept_in_the_commit() {
    let world = proposed().await;
    let (engine, at) = (&world.engine, key(NS, DRAFT));
    let saying = |class: &str| {
        let mut wish = approval(&world, None);
        let annotations = &mut wish.meta.annotations;
        annotations.insert("offshoot.dev/approved-class".to_owned(), class.to_owned());
        wish
    };
    let id = "5f02c1d9".repeat(8);
    for wrong in [
        "5f02c1d9".to_owned(),
        "{\"id\": \"5f02c1d9\", \"inputs\": {}}".to_owned(),
        format!("{{\"id\": \"{id}\", \"inputs\": {{\"package\": 1}}}}"),
        format!(
            "{{\"id\": \"{id}\", \"inputs\": {{\"package\": \"{}\"}}}}",
            "x".repeat(70_000)
        ),
    ] {
        let refused = engine
            .update(&alice(), &at, Door::Approval, saying(&wrong))
            .await;
        let refused = refused.expect_err("it is no class");
        assert_eq!(refused.class(), Class::Invalid);
        assert!(
            refused.to_string().contains("approved-class must be"),
            "{refused}"
        );
    }
    let said = format!("{{\n  \"id\": \"{id}\",\n  \"inputs\": {{\"package\": \"a\\nb\"}}\n}}");
    let made = engine
        .update(&alice(), &at, Door::Approval, saying(&said))
        .await;
    let published = made.expect("approved").revision;
    assert!(
        published.meta.annotations.is_empty(),
        "it is not kept there"
    );
    let outside = world.outside("deploy");
    let message = outside
        .commit(published.commit)
        .expect("the approval")
        .message
        .clone();
    let line = format!(
        "offshoot-class: {{\"format\":1,\"id\":\"{id}\",\"inputs\":{{\"package\":\"a\\nb\"}}}}\n"
    );
    assert!(message.contains(&line), "{message}");
}
