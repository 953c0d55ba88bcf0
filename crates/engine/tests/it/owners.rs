//! Whose a revision is: of two variants for one package, after a variant was made again, after all records were lost, and
//! on the way back to a former downstream (V10, V15).

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{AdoptionPolicy, Lifecycle, Status};
use testkit::twin::key;

use crate::tenancy::{APPROVE, DEPLOY, condition, moves, records};
use crate::variants::{quiet, ready, variant};
use crate::world::{NS, World};

/// V15: of two of one second the one with a draft stays, whatever their uids.
#[tokio::test(start_paused = true)]
async fn of_two_variants_of_one_second_the_one_that_has_a_draft_stays() {
    let world = ready().await;
    let second = |name: &str| {
        let mut of = variant(name, "shop");
        Arc::make_mut(&mut of.meta).created = "2026-01-01T00:00:00Z".to_owned();
        of
    };
    // Uids of the cluster are counted, and compared as texts: the second one's is the smaller of the two sooner or later.
    for n in 0..12 {
        let (one, two) = (format!("a{n}"), format!("b{n}"));
        let mut first = second(&one);
        let mut next = second(&two);
        let package = model::PackageName::parse(&format!("shop{n}")).expect("a name");
        first.spec.downstream.package = package.clone();
        next.spec.downstream.package = package;
        world.twin.put_variant(first);
        world.rest().await;
        world.twin.put_variant(next);
        world.rest().await;
        assert_eq!(
            condition(&world, NS, &one, "Ready").0,
            Status::True,
            "{one}"
        );
        let claimed = condition(&world, NS, &two, "Stalled");
        assert!(
            claimed.1.contains("has a revision there"),
            "{two}: {claimed:?}"
        );
        let name = format!("deploy.shop{n}.packagevariant-1");
        assert_eq!(
            world
                .revision(&name)
                .meta
                .controller()
                .map(|o| o.name.as_str()),
            Some(one.as_str())
        );
    }
    let drafts = world
        .names()
        .into_iter()
        .filter(|n| n.contains(".packagevariant-"));
    assert_eq!(drafts.count(), 12);
    quiet(&world).await;
}

/// V15: a rebuild gives nobody anything that was not theirs before. The deletion of one package was rejected, and its
/// variant was made again; another was orphaned; a third lives on.
#[tokio::test(start_paused = true)]
async fn a_rebuild_makes_no_variant_an_owner_that_was_none() {
    let mut world = ready().await;
    for name in ["kept", "left", "lives"] {
        let mut of = variant(name, name);
        if name == "left" {
            of.spec.deletion = model::DeletionPolicy::Orphan;
        }
        world.twin.put_variant(of);
    }
    world.rest().await;
    for name in ["kept", "left", "lives"] {
        world
            .publish(&format!("deploy.{name}.packagevariant-1"))
            .await;
    }
    world.rest().await;
    for name in ["kept", "left"] {
        world.twin.delete_variant(NS, name);
    }
    world.rest().await;
    let proposed = world.revision("deploy.kept.packagevariant-1");
    assert_eq!(proposed.lifecycle, Lifecycle::DeletionProposed);
    let rejected = moves(&world, NS, "deploy.kept.packagevariant-1", APPROVE).await;
    rejected.expect("rejected");
    for name in ["kept", "left"] {
        world.twin.put_variant(variant(name, name));
    }
    world.rest().await;
    let faces = |world: &World| -> Vec<_> {
        let all = records(world, NS).into_iter().filter(|r| !r.placeholder);
        all.map(|r| (r.key.name.to_string(), r.lifecycle, r.commit, r.meta.owners))
            .collect()
    };
    let stalled = |world: &World, name: &str| {
        let (_, text) = condition(world, NS, name, "Stalled");
        assert!(
            text.starts_with("DownstreamExistsUnowned"),
            "{name}: {text}"
        );
        text
    };
    assert!(stalled(&world, "kept").contains("proposed its deletion, which was rejected"));
    assert!(stalled(&world, "left").contains("left it in place"));
    let (refs, before) = (world.refs(DEPLOY), faces(&world));
    world.rebuild().await;
    assert_eq!(
        (world.refs(DEPLOY), faces(&world)),
        (refs.clone(), before.clone())
    );
    for name in ["kept", "left"] {
        assert!(stalled(&world, name).contains("made it"), "{name}");
    }
    // Also a larger fleet makes no drafts beside what is a stranger's.
    push_v2(&world).await;
    let mut follows = variant("kept", "kept");
    follows.spec.upstream.version = model::UpstreamVersion::Latest;
    world.twin.put_variant(follows);
    world.rest().await;
    assert_eq!(
        (world.refs(DEPLOY), faces(&world).len()),
        (refs, before.len() + 1)
    );
    // The way out.
    let mut adopts = variant("kept", "kept");
    adopts.spec.adoption = AdoptionPolicy::Existing;
    world.twin.put_variant(adopts);
    world.rest().await;
    let owners = world.revision("deploy.kept.packagevariant-1").meta.owners;
    assert_eq!(owners.len(), 1);
    assert_eq!(condition(&world, NS, "kept", "Ready").0, Status::True);
}

async fn push_v2(world: &World) {
    let text = crate::variants::DEPLOYMENT.replace("app:v1", "app:v2");
    crate::variants::push(world, &text, "v2").await;
    world.rest().await;
}

/// R52: git holds no labels. A record that is made from git gets those that its variant's spec says, drafts and published
/// ones alike, and nothing that another variant's says.
#[tokio::test(start_paused = true)]
async fn what_the_spec_says_of_labels_is_there_again_after_a_rebuild() {
    let mut world = ready().await;
    for name in ["shop", "open"] {
        let mut said = variant(name, name);
        let spec = &mut said.spec;
        spec.labels.insert("team".to_owned(), "a".to_owned());
        spec.annotations.insert("note".to_owned(), "b".to_owned());
        world.twin.put_variant(said);
    }
    world.twin.put_variant(variant("plain", "plain"));
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    world.rebuild().await;
    for name in [
        "deploy.shop.packagevariant-1",
        "deploy.open.packagevariant-1",
    ] {
        let meta = world.revision(name).meta;
        assert_eq!(
            meta.labels.get("team").map(String::as_str),
            Some("a"),
            "{name}"
        );
        assert_eq!(
            meta.annotations.get("note").map(String::as_str),
            Some("b"),
            "{name}"
        );
    }
    let plain = world.revision("deploy.plain.packagevariant-1").meta;
    assert_eq!(
        plain.labels.get("offshoot.dev/variant").map(String::as_str),
        Some("plain")
    );
    assert!(!plain.labels.contains_key("team"), "{:?}", plain.labels);
}

/// A trailer whose uid is nobody's any more makes nobody an owner, whatever its name (A5, V15).
#[tokio::test(start_paused = true)]
async fn a_discovered_record_is_given_to_nobody_of_another_uid() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let draft = world.revision("deploy.shop.packagevariant-1");
    assert_eq!(draft.meta.owners.len(), 1);
    // The variant goes without a word, as when somebody takes its finalizer off, and another one comes.
    world.engine.stop();
    world.twin.forget_variant(NS, "shop");
    world.twin.put_variant(variant("shop", "shop"));
    world.rebuild().await;
    let found = world.revision("deploy.shop.packagevariant-1");
    assert_eq!(
        (found.commit, found.meta.owners),
        (draft.commit, Vec::new())
    );
    let second = world.revision("deploy.shop.packagevariant-2");
    assert_eq!(second.meta.owners.len(), 1, "it made one of its own");
}

/// V10: back at a former downstream, every deletion that was proposed there is withdrawn, and nothing elsewhere.
#[tokio::test(start_paused = true)]
async fn the_way_back_withdraws_all_proposals_of_the_package() {
    let world = ready().await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = model::UpstreamVersion::Latest;
    world.twin.put_variant(wanted.clone());
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    push_v2(&world).await;
    world.publish("deploy.shop.packagevariant-2").await;
    world.rest().await;
    let to = |package: &str| {
        let mut of = wanted.clone();
        of.spec.downstream.package = model::PackageName::parse(package).expect("a name");
        of
    };
    let states = |world: &World| -> BTreeMap<String, Lifecycle> {
        let all = records(world, NS).into_iter();
        all.filter(|r| !r.placeholder && r.repository.as_str() == DEPLOY)
            .map(|r| (r.key.name.to_string(), r.lifecycle))
            .collect()
    };
    world.twin.put_variant(to("next"));
    world.rest().await;
    world.publish("deploy.next.packagevariant-1").await;
    world.rest().await;
    let (shop, next) = (
        "deploy.shop.packagevariant-1",
        "deploy.next.packagevariant-1",
    );
    assert_eq!(states(&world)[shop], Lifecycle::DeletionProposed);
    assert_eq!(
        states(&world)["deploy.shop.packagevariant-2"],
        Lifecycle::DeletionProposed
    );
    world.twin.put_variant(to("third"));
    world.rest().await;
    assert_eq!(states(&world)[next], Lifecycle::DeletionProposed);
    world.twin.put_variant(wanted);
    world.rest().await;
    let now = states(&world);
    assert_eq!(now[shop], Lifecycle::Published);
    assert_eq!(now["deploy.shop.packagevariant-2"], Lifecycle::Published);
    assert_eq!(
        now[next],
        Lifecycle::DeletionProposed,
        "it is no downstream"
    );
    let marks = records(&world, NS)
        .into_iter()
        .filter(|r| r.package.as_str() == "shop");
    assert!(marks.into_iter().all(|r| {
        !r.meta
            .annotations
            .contains_key("offshoot.dev/deletion-proposed-by")
    }));
    assert!(
        world
            .refs(DEPLOY)
            .keys()
            .all(|n| !n.contains("deletionProposed/shop"))
    );
    quiet(&world).await;
}

/// What says who did something is the server's word: whoever may edit a revision says nothing of it for others.
#[tokio::test(start_paused = true)]
async fn marks_of_the_server_are_written_by_nobody_else() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let first = key(NS, "deploy.shop.packagevariant-1");
    let mut input = engine::usecase::input_of(&world.revision(first.name.as_str()));
    for mark in model::marks::ANNOTATIONS {
        let annotations = &mut input.meta.annotations;
        annotations.insert(mark.to_owned(), "forged".to_owned());
    }
    input
        .meta
        .annotations
        .insert("note".to_owned(), "kept".to_owned());
    let by = crate::world::alice();
    let made = world.engine.update(&by, &first, model::Door::Main, input);
    let made = made.await.expect("updated");
    assert_eq!(made.warnings.len(), model::marks::ANNOTATIONS.len());
    let annotations = world.revision(first.name.as_str()).meta.annotations;
    assert_eq!(annotations.get("note").map(String::as_str), Some("kept"));
    let forged: Vec<_> = annotations.values().filter(|v| *v == "forged").collect();
    assert!(forged.is_empty(), "{annotations:?}");
}

/// V9: what a variant adopted stays when the variant goes, also where its record was lost in between and git alone told whose it is: by
/// the workspace that a person gave it, or by what the machine noted in a draft that another variant left.
#[tokio::test(start_paused = true)]
async fn an_adopted_draft_stays_when_its_variant_goes_although_its_record_was_lost() {
    for (by_person, lost) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut world = ready().await;
        let workspace = if by_person {
            made_by_hand(&world).await
        } else {
            left_by_another(&mut world).await
        };
        let mut adopts = variant("shop", "shop");
        adopts.spec.adoption = AdoptionPolicy::Existing;
        let data = &mut adopts.spec.context.data;
        data.insert("region".to_owned(), "eu".to_owned());
        world.twin.put_variant(adopts);
        world.rest().await;
        let name = format!("deploy.shop.{workspace}");
        let machine = world.revision(&name).machine;
        let owner = machine.map(|m| m.owner.name.as_str().to_owned());
        assert_eq!(owner.as_deref(), Some("shop"), "it is brought in line");
        if lost {
            world.rebuild().await;
        }
        world.twin.delete_variant(NS, "shop");
        world.rest().await;
        let left = world.revision(&name);
        assert_eq!(
            (left.lifecycle, left.meta.owners),
            (Lifecycle::Draft, Vec::new()),
            "by a person: {by_person}, lost: {lost}"
        );
    }
}

/// A draft of the variants' package that a person cloned. Its workspace.
async fn made_by_hand(world: &World) -> &'static str {
    let mine = model::Task::Clone {
        upstream: key(NS, "blueprints.app.v1").name,
    };
    let input = crate::world::input("deploy", "shop", "mine", mine);
    let namespace = key(NS, "any").namespace;
    let by = crate::world::alice();
    let made = world.engine.create(&by, &namespace, input).await;
    made.expect("made");
    "mine"
}

/// A draft of the variants' package that a variant left, which orphans what is its. Its workspace.
async fn left_by_another(world: &mut World) -> &'static str {
    let mut before = variant("before", "shop");
    before.spec.deletion = model::DeletionPolicy::Orphan;
    before.spec.deletion_explicit = true;
    world.twin.put_variant(before);
    world.rest().await;
    world.twin.delete_variant(NS, "before");
    world.rest().await;
    "packagevariant-1"
}
