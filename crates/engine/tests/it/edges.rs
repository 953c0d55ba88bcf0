//! What happens rarely: very many conflicts, drafts that are kept although they fail, downstreams that
//! were made by a variant that is gone.

use std::fmt::Write as _;

use model::{Class, ConflictPolicy, Lifecycle, Namespace, Status, Task};
use testkit::twin::key;

use crate::variants::{KPTFILE, ready, variant};
use crate::world::{NS, World, alice, input};

/// A map with so many keys, each with a value that is long and different.
fn wide(word: &str) -> String {
    let mut text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: wide\ndata:\n".to_owned();
    for i in 0..300 {
        let value = word.repeat(60);
        writeln!(text, "  key-{i:03}: {value}").expect("a text");
    }
    text
}

async fn push_wide(world: &World, word: &str, tag: &str) {
    let map = wide(word);
    let files = [("Kptfile", KPTFILE), ("wide.yaml", map.as_str())];
    world.push("blueprints", "wide", &files, Some(tag)).await;
}

#[tokio::test(start_paused = true)]
async fn conflicts_that_fit_no_trailer_stand_under_a_ref_and_outlive_all_records() {
    let mut world = ready().await;
    push_wide(&world, "base", "v1").await;
    world.rest().await;
    let mut wanted = variant("wide", "wide");
    wanted.spec.upstream.package = model::PackageName::parse("wide").expect("a name");
    wanted.spec.context = model::PackageContext::default();
    wanted.spec.pipeline = model::Pipeline::default();
    wanted.spec.conflict_policy = ConflictPolicy::Block;
    world.twin.put_variant(wanted.clone());
    world.rest().await;
    let draft = "deploy.wide.packagevariant-1";
    world.edit(draft, "wide.yaml", |_| wide("mine")).await;
    world.publish(draft).await;
    push_wide(&world, "news", "v2").await;
    world.rest().await;
    wanted.spec.upstream.version = model::UpstreamVersion::Revision(2);
    world.twin.put_variant(wanted);
    world.rest().await;
    let upgraded = world.revision("deploy.wide.packagevariant-2");
    assert_eq!(upgraded.conflicts.len(), 300);
    let text = package::conflicts::encode(&upgraded.conflicts);
    assert!(text.len() > package::conflicts::TRAILER_LIMIT);
    let commit = world
        .outside("deploy")
        .commit(upgraded.commit)
        .expect("the commit");
    assert!(commit.message.len() < 4096, "{}", commit.message.len());
    let kept: Vec<String> = world
        .refs("deploy")
        .into_keys()
        .filter(|name| name.starts_with("refs/offshoot/conflicts/"))
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    world.rebuild().await;
    let again = world.revision("deploy.wide.packagevariant-2");
    assert_eq!(again.conflicts, upgraded.conflicts);
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_is_kept_although_it_fails_cannot_be_proposed() {
    let world = World::new().await;
    world.git("blueprints").await;
    let broken = format!("{KPTFILE}pipeline:\n  mutators:\n  - image: example.test/no-such:v1\n");
    let files = [("Kptfile", broken.as_str())];
    world.push("blueprints", "app", &files, Some("v1")).await;
    world.register("blueprints", false).await;
    world.register("deploy", true).await;
    world.rest().await;
    let upstream = model::ObjectName::parse("blueprints.app.v1").expect("a name");
    let mut asked = input("deploy", "app", "ws1", Task::Clone { upstream });
    let namespace = Namespace::parse(NS).expect("a namespace");
    let alice = alice();
    let create = |input| world.engine.create(&alice, &namespace, input);
    let refused = create(asked.clone()).await.expect_err("its render fails");
    assert!(refused.to_string().contains("NOT pushed"), "{refused}");
    let keep = "porch.kpt.dev/push-on-render-failure".to_owned();
    asked.meta.annotations.insert(keep, "true".to_owned());
    create(asked).await.expect("kept");
    let kept = world.revision("deploy.app.ws1");
    let gate = package::render::GATE;
    assert!(kept.open_gates().contains(&gate), "{kept:?}");
    let at = key(NS, "deploy.app.ws1");
    let engine = &world.engine;
    let proposed = engine.move_to(&alice, &at, model::Door::Main, Lifecycle::Proposed);
    let refused = proposed.await.expect_err("gated");
    assert!(refused.to_string().contains(gate), "{refused}");
    assert_eq!(refused.class(), Class::Invalid);
    // Mended, the gate goes with the failure.
    let mend = |text: &str| match text.split_once("pipeline:") {
        Some((before, _)) => {
            let rest = text.find("status:").map_or("", |at| &text[at..]);
            format!("{before}{rest}")
        }
        None => text.to_owned(),
    };
    let mended = world.edit("deploy.app.ws1", "Kptfile", mend).await;
    assert!(!mended.open_gates().contains(&gate), "{mended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_is_made_again_finds_what_it_left_on_the_branch() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let name = "deploy.shop.packagevariant-1";
    world.publish(name).await;
    world.rest().await;
    world.twin.delete_variant(NS, "shop");
    world.rest().await;
    assert_eq!(world.revision(name).lifecycle, Lifecycle::DeletionProposed);
    let deleted = world
        .engine
        .delete(&alice(), &key(NS, name), &Default::default())
        .await;
    deleted.expect("deleted");
    world.rest().await;
    // As the peer: the tag goes, the branch keeps the directory.
    let head = world.revision("deploy.shop.main");
    assert!(head.machine.is_some() && head.meta.owners.is_empty());
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    let ready = stored.status.condition("Ready").expect("a condition");
    assert_eq!(ready.status, Status::True, "{ready:?}");
}
