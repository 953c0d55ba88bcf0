//! What happens rarely: very many conflicts, drafts that are kept although they fail, downstreams that
//! were made by a variant that is gone.

use std::fmt::Write as _;
use std::sync::Arc;

use model::{Class, ConflictPolicy, Door, Lifecycle, Namespace, Status, Task};
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
    // What a person accepted is a commit of its own, so it comes back as well.
    let mut wish = engine::usecase::input_of(&upgraded);
    wish.resolved_conflicts = Some(vec![upgraded.conflicts[7].id.clone()]);
    let settled = world
        .engine
        .update(&alice(), &upgraded.key, Door::Main, wish)
        .await
        .expect("acknowledged");
    assert_ne!(settled.revision.conflicts, upgraded.conflicts);
    world.rebuild().await;
    let again = world.revision("deploy.wide.packagevariant-2");
    assert_eq!(again.conflicts, settled.revision.conflicts);
    assert_eq!(
        again.resolved_conflicts,
        settled.revision.resolved_conflicts
    );
}

#[tokio::test(start_paused = true)]
async fn an_orphan_is_no_loss_of_the_store() {
    let mut world = ready().await;
    world.rebuild().await;
    let mut wanted = variant("left", "left");
    wanted.spec.deletion = model::DeletionPolicy::Orphan;
    world.twin.put_variant(wanted.clone());
    world.rest().await;
    world.twin.delete_variant(NS, "left");
    world.rest().await;
    let orphan = world.revision("deploy.left.packagevariant-1");
    assert_eq!(orphan.meta.owners, []);
    // A variant of the same name is another one: nothing was lost, so nothing is brought back (V9).
    Arc::make_mut(&mut wanted.meta).uid = None;
    world.twin.put_variant(wanted);
    world.rest().await;
    assert_eq!(
        world.revision("deploy.left.packagevariant-1").meta.owners,
        []
    );
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
    let made = create(asked).await.expect("kept");
    let despite = "Package pushed to remote despite render failure";
    assert!(made.warnings.concat().contains(despite), "{made:?}");
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

/// R50.
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
    // As Porch: the tag goes, the branch keeps the directory.
    let head = world.revision("deploy.shop.main");
    assert!(head.machine.is_some() && head.meta.owners.is_empty());
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    let ready = stored.status.condition("Ready").expect("a condition");
    assert_eq!(ready.status, Status::True, "{ready:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_person_committed_to_a_draft_that_goes_is_kept_and_said() {
    let world = ready().await;
    for name in ["shop", "cafe"] {
        world.twin.put_variant(variant(name, name));
    }
    world.rest().await;
    let edited = world
        .edit("deploy.shop.packagevariant-1", "deployment.yaml", |text| {
            text.replace("replicas: 1", "replicas: 7")
        })
        .await;
    world.twin.delete_variant(NS, "shop");
    world.twin.delete_variant(NS, "cafe");
    world.rest().await;
    assert_eq!(
        world.names().len(),
        2,
        "upstream alone: {:?}",
        world.names()
    );
    let told: Vec<_> = world
        .twin
        .events()
        .into_iter()
        .filter(|event| event.reason == "DraftKept")
        .collect();
    let [told] = told.as_slice() else {
        panic!("one draft held a person's commit: {told:?}");
    };
    let kept = format!(
        "refs/offshoot/recovered/deploy.shop.packagevariant-1/{}",
        edited.commit
    );
    assert!(told.message.contains(&kept), "{}", told.message);
    assert_eq!(world.refs("deploy").get(&kept), Some(&edited.commit));
    let outside = world.outside("deploy");
    let root = outside.commit(edited.commit).expect("the commit").tree;
    let dir = store::Dir::parse("shop").expect("a directory");
    let tree = outside.subtree(root, &dir).expect("readable");
    let files = outside.snapshot(tree.expect("the package")).expect("files");
    let path = model::PackagePath::parse("deployment.yaml").expect("a path");
    let text = files.files[&path].as_text().expect("text");
    assert!(text.contains("replicas: 7"), "{text}");
}

/// A package whose pipeline changes its own output whenever it runs.
fn growing(value: &str) -> [(&'static str, String); 3] {
    let pipeline = "pipeline:\n  mutators:\n  - image: gcr.io/kpt-fn/search-replace:v1\n    configMap:\n      by-path: data.a\n      by-value-regex: (.*)\n      put-value: ${1}x\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: VALUE\n  b: b\n";
    [
        ("Kptfile", format!("{KPTFILE}{pipeline}")),
        ("package-context.yaml", crate::variants::CONTEXT.to_owned()),
        ("cm.yaml", map.replace("VALUE", value)),
    ]
}

async fn push_growing(world: &World, value: &str, tag: &str) {
    let files = growing(value);
    let files: Vec<_> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    world.push("blueprints", "grow", &files, Some(tag)).await;
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_that_does_not_settle_is_said_also_after_all_records_were_lost() {
    let mut world = World::new().await;
    world.git("blueprints").await;
    push_growing(&world, "v", "v1").await;
    world.register("blueprints", false).await;
    world.register("deploy", true).await;
    let mut grows = variant("grows", "grows");
    grows.spec.upstream.package = model::PackageName::parse("grow").expect("a name");
    grows.spec.upstream.version = model::UpstreamVersion::Latest;
    grows.spec.pipeline = model::Pipeline::default();
    grows.spec.injectors = Vec::new();
    world.twin.put_variant(grows);
    world.rest().await;
    world
        .edit("deploy.grows.packagevariant-1", "cm.yaml", |text| {
            text.replace("b: b", "b: mine")
        })
        .await;
    world.publish("deploy.grows.packagevariant-1").await;
    push_growing(&world, "w", "v2").await;
    world.rest().await;
    let draft = "deploy.grows.packagevariant-2";
    let before = world.revision(draft);
    let said = before.condition("RenderNotIdempotent");
    let said = said.unwrap_or_else(|| panic!("{:?}", before.conditions));
    assert!(said.message.contains("search-replace"), "{}", said.message);
    assert!(world.file(draft, "cm.yaml").await.contains("b: mine"));
    world.rebuild().await;
    let after = world.revision(draft);
    assert_eq!(after.commit, before.commit);
    assert_eq!(after.conditions, before.conditions);
    crate::variants::quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_not_asked_for_touches_nothing() {
    let mut world = ready().await;
    world.reconcilers = (false, true);
    world.restart().await;
    world.twin.put_variant(variant("shop", "shop"));
    let by_list = model::Target {
        selection: model::TargetSelection::Repositories(vec![(
            model::RepositoryName::parse("deploy").expect("a name"),
            vec![model::PackageName::parse("fan").expect("a name")],
        )]),
        template: None,
    };
    world.twin.put_set(crate::sets::set("fan", vec![by_list]));
    world.rest().await;
    let names = |world: &World| {
        let all = world.twin.variants().into_iter();
        all.map(|v| v.key.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&world), ["fan-deploy-fan", "shop"], "sets work");
    let untouched = |world: &World| {
        let all = world.twin.variants().into_iter();
        let untouched = |v: &engine::ports::StoredVariant| {
            v.meta.finalizers.is_empty() && v.status.conditions.is_empty()
        };
        all.filter(untouched).count()
    };
    assert_eq!(untouched(&world), 2, "variants do not");
    world.reconcilers = (true, false);
    world.restart().await;
    world.twin.put_set(crate::sets::set("other", Vec::new()));
    world.rest().await;
    assert_eq!(untouched(&world), 0, "now they do");
    let other = world.twin.set(NS, "other").expect("the set");
    assert!(other.status.conditions.is_empty(), "and sets do not");
}

/// Each would be judged without the other, and afterwards neither would get another revision.
#[tokio::test(start_paused = true)]
async fn of_two_nested_packages_that_are_asked_for_at_once_one_is_made() {
    let world = World::new().await;
    world.register("deploy", true).await;
    world.rest().await;
    let init = || Task::Init {
        description: String::new(),
        keywords: Vec::new(),
        site: String::new(),
    };
    let namespace = Namespace::parse(NS).expect("a namespace");
    let alice = alice();
    let create = |package: &str| {
        let asked = input("deploy", package, "w", init());
        world.engine.create(&alice, &namespace, asked)
    };
    let (outer, inner) = tokio::join!(create("web"), create("web/in"));
    assert!(outer.is_ok(), "{outer:?}");
    let refused = inner.expect_err("nested");
    assert!(
        refused.to_string().contains("cannot be nested"),
        "{refused}"
    );
    let later = create("web/in").await.expect_err("nested");
    assert_eq!(later.class(), Class::Invalid, "{later}");
}
