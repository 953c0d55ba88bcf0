//! Lists come late: what they lack is there all the same, and nothing is made twice, left behind or
//! deleted for it. Git and the store are asked, not the list.

use std::sync::Arc;

use engine::ports::{Change, Expect, RecordWrite, Records};
use model::{Lifecycle, Pairs, Task};
use testkit::twin::key;

use crate::sets::{by_site, put_site, set, site};
use crate::variants::{quiet, ready, variant};
use crate::world::{NS, World, alice, input, repository};

const DRAFTS: &str = "refs/heads/drafts/";

fn drafts(world: &World) -> Vec<String> {
    let refs = world.refs("deploy").into_keys();
    refs.filter(|name| name.starts_with(DRAFTS)).collect()
}

#[tokio::test(start_paused = true)]
async fn an_open_draft_that_a_list_hides_gets_no_second_one_beside_it() {
    let mut world = ready().await;
    // Numbers go on from the highest in use: what the list from the past knows is another one.
    let task = Task::Init {
        description: String::new(),
        keywords: Vec::new(),
        site: String::new(),
    };
    let other = input("deploy", "shop", "packagevariant-5", task);
    let namespace = key(NS, "shop").namespace;
    let made = world.engine.create(&alice(), &namespace, other).await;
    let other = made.expect("a draft").revision.key.clone();
    world.rest().await;
    let past = world.twin.revisions();
    let engine = &world.engine;
    engine
        .delete(&alice(), &other, &Default::default())
        .await
        .expect("deleted");
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let before = (drafts(&world), world.twin.revisions());
    assert_eq!(before.0, [format!("{DRAFTS}shop/packagevariant-1")]);
    world.twin.list_late_records(past);
    world.restart().await;
    world.rest().await;
    assert_eq!((drafts(&world), world.twin.revisions()), before);
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_goes_takes_a_draft_along_that_lists_hide() {
    let mut world = ready().await;
    let no_draft = world.twin.revisions();
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    assert_eq!(drafts(&world).len(), 1);
    world.engine.stop();
    world.twin.delete_variant(NS, "shop");
    world.twin.list_late_records(no_draft);
    // As it was right after its registration: nobody had looked into it.
    let mut deploy = world.twin.repository(NS, "deploy").expect("registered");
    deploy.status = Default::default();
    Arc::make_mut(&mut deploy.meta).resource_version = "1".to_owned();
    let blueprints = world.twin.repository(NS, "blueprints").expect("registered");
    world.twin.list_late_repositories(vec![deploy, blueprints]);
    world.restart().await;
    world.rest().await;
    assert!(world.twin.variants().is_empty());
    assert_eq!(drafts(&world), Vec::<String>::new());
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_set_deletes_nothing_because_a_list_lacks_its_target() {
    let mut world = ready().await;
    world.twin.put_object(
        &crate::variants::config_map(),
        &key(NS, "endpoint-eu"),
        &[],
        Some("{\"host\":\"eu\"}"),
        None,
    );
    for name in ["one", "two", "three"] {
        put_site(&world, name, "eu", "yes");
    }
    world.twin.put_set(set("fan", vec![by_site()]));
    world.rest().await;
    let uids = |world: &World| {
        let all = world.twin.variants().into_iter();
        all.map(|v| (v.key, v.meta.uid.clone())).collect::<Vec<_>>()
    };
    let before = (uids(&world), world.refs("deploy"));
    assert_eq!(before.0.len(), 3);
    let two = key(NS, "two");
    world
        .twin
        .list_late_objects(&site(), |object| *object != two);
    world.restart().await;
    world.rest().await;
    assert_eq!((uids(&world), world.refs("deploy")), before);
    // What is gone indeed goes.
    world.twin.delete_object(&site(), &two);
    world.rest().await;
    assert_eq!(uids(&world).len(), 2);
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_set_deletes_nothing_because_a_list_lacks_its_repository() {
    let mut world = ready().await;
    let unlabelled = {
        world.register("edge", true).await;
        world.rest().await;
        vec![
            world.twin.repository(NS, "blueprints").expect("registered"),
            world.twin.repository(NS, "deploy").expect("registered"),
            world.twin.repository(NS, "edge").expect("registered"),
        ]
    };
    let mut edge = repository("edge", true);
    edge.meta
        .labels
        .insert("zone".to_owned(), "cold".to_owned());
    world.twin.put_repository(edge);
    let selection = model::TargetSelection::RepositorySelector {
        selector: model::LabelSelector {
            match_labels: Pairs::from_iter([("zone".to_owned(), "cold".to_owned())]),
            requirements: Vec::new(),
        },
        packages: Vec::new(),
    };
    let target = model::Target {
        selection,
        template: None,
    };
    world.twin.put_set(set("fan", vec![target]));
    world.rest().await;
    let before = world.twin.variants();
    assert_eq!(before.len(), 1);
    world.twin.list_late_repositories(unlabelled);
    world.restart().await;
    world.rest().await;
    let uid = |all: &[engine::ports::StoredVariant]| all.first().and_then(|v| v.meta.uid.clone());
    assert_eq!(uid(&world.twin.variants()), uid(&before));
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_mark_whose_tag_is_gone_goes_too() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    world.rest().await;
    let published = key(NS, "deploy.shop.packagevariant-1");
    let proposed = Lifecycle::DeletionProposed;
    let engine = &world.engine;
    engine
        .move_to(&alice(), &published, model::Door::Main, proposed)
        .await
        .expect("proposed");
    let mark = "refs/heads/deletionProposed/shop/v1";
    let tag = "refs/tags/shop/v1";
    let at = world.refs("deploy")[mark];
    let name = store::RefName::parse(tag).expect("a ref");
    let push = store::Submission {
        refs: vec![store::RefEdit::delete(name, at)],
        ..store::Submission::default()
    };
    let outside = world.outside("deploy");
    let answer = outside.submit(push).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    world.rest().await;
    let refs = world.refs("deploy");
    assert!(!refs.contains_key(mark), "{refs:?}");
    // Another one's mark stays where its tag stands.
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_draft_whose_record_is_lost_is_its_variants_although_a_list_lacks_that() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let before = drafts(&world);
    assert_eq!(before.len(), 1);
    world.engine.stop();
    world.twin.lose_records();
    world.store.lose_journals();
    world.twin.list_late_variants(Vec::new());
    world.restart().await;
    world.rest().await;
    assert_eq!(drafts(&world), before);
    let record = world.revision("deploy.shop.packagevariant-1");
    assert_eq!(record.meta.owners.len(), 1, "{record:?}");
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_a_person_went_on_with_is_not_proposed_however_a_crash_left_it() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let shop = key(NS, "deploy.shop.packagevariant-1");
    let engine = &world.engine;
    engine
        .move_to(&alice(), &shop, model::Door::Main, Lifecycle::Proposed)
        .await
        .expect("proposed");
    // The draft's ref was left behind, and somebody pushed to it.
    let proposed = world.refs("deploy")["refs/heads/proposed/shop/packagevariant-1"];
    let outside = world.outside("deploy");
    let files = crate::world::files_of(&[("Kptfile", crate::variants::KPTFILE)]);
    let written = outside
        .write(store::CommitSpec {
            base: Some(proposed),
            dir: &store::Dir::parse("shop").expect("a directory"),
            content: store::Content::Files(&files, &[]),
            parents: &[proposed],
            author: &crate::world::person(),
            committer: &crate::world::person(),
            message: "by hand\n",
        })
        .expect("a commit");
    let pushed = written.commit();
    let name = format!("{DRAFTS}shop/packagevariant-1");
    let push = store::Submission {
        written: vec![written],
        refs: vec![store::RefEdit::create(
            store::RefName::parse(&name).expect("a ref"),
            pushed,
        )],
        ..store::Submission::default()
    };
    let answer = outside.submit(push).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    world.rest().await;
    let refs = world.refs("deploy");
    assert!(!refs.contains_key("refs/heads/proposed/shop/packagevariant-1"));
    assert!(refs.contains_key(&name));
    let record = world.revision("deploy.shop.packagevariant-1");
    assert_eq!(record.lifecycle, Lifecycle::Draft);
    quiet(&world).await;
}

/// Both lists are from before: one lacks the draft, the other holds the variant that has left it.
#[tokio::test(start_paused = true)]
async fn what_a_variant_left_is_not_given_back_to_it_by_lists_from_before() {
    let mut world = ready().await;
    let records = world.twin.revisions();
    let mut left = variant("left", "left");
    left.spec.deletion = model::DeletionPolicy::Orphan;
    world.twin.put_variant(left);
    world.rest().await;
    let variants = world.twin.variants();
    world.twin.delete_variant(NS, "left");
    world.rest().await;
    let name = "deploy.left.packagevariant-1";
    assert_eq!(world.revision(name).meta.owners, []);
    world.twin.list_late_records(records);
    world.twin.list_late_variants(variants);
    world.restart().await;
    world.rest().await;
    assert_eq!(world.revision(name).meta.owners, []);
}

/// A record that somebody deletes is made again at once: its ref stands, and is as it was seen last.
#[tokio::test(start_paused = true)]
async fn a_record_that_another_hand_deletes_is_made_again_while_its_ref_stands() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let before = world.twin.revisions();
    let draft = key(NS, "deploy.shop.packagevariant-1");
    let gone = RecordWrite {
        expect: Expect::Any,
        change: Change::Delete(draft.clone()),
    };
    let answers = Records::commit(&*world.twin, vec![gone]).await;
    assert!(answers.iter().all(Result::is_ok));
    world.rest().await;
    let after = world.twin.revisions();
    let refs = |all: &[model::Revision]| -> Vec<_> {
        all.iter().map(|r| (r.key.clone(), r.commit)).collect()
    };
    assert_eq!(refs(&after), refs(&before));
    quiet(&world).await;
}

/// A tag was taken away and put back while nobody looked, and the first list of the next process still holds its record: that it went
/// is told later.
#[tokio::test(start_paused = true)]
async fn a_tag_that_is_put_back_is_recorded_though_a_list_from_the_past_still_holds_its_record() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    world.rest().await;
    let before = world.twin.revisions();
    let outside = world.outside("deploy");
    let tag = store::RefName::parse("refs/tags/shop/v1").expect("a ref");
    let at = outside.refs().expect("refs")[&tag];
    let push = |edit: store::RefEdit| store::Submission {
        refs: vec![edit],
        ..store::Submission::default()
    };
    let gone = store::RefEdit::delete(tag.clone(), at);
    let deleted = outside.submit(push(gone)).await.expect("a push");
    assert!(matches!(deleted, store::Answer::Published(_)));
    world.engine.look_at_everything();
    world.rest().await;
    assert!(
        world
            .twin
            .revision(NS, "deploy.shop.packagevariant-1")
            .is_none()
    );
    world.engine.stop();
    let back = store::RefEdit::create(tag, at);
    let back = outside.submit(push(back)).await.expect("a push");
    assert!(matches!(back, store::Answer::Published(_)));
    world.twin.list_late_records(before);
    world.restart().await;
    world.rest().await;
    let again = world.twin.revision(NS, "deploy.shop.packagevariant-1");
    let again = again.expect("recorded");
    assert_eq!((again.lifecycle, again.commit), (Lifecycle::Published, at));
    quiet(&world).await;
}
