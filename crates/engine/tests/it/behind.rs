//! Records that are behind git for a moment: an approval that is being recorded, and a start without records. Nobody is told
//! of what is not so.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{Change, Expect, RecordWrite};
use engine::{Engine, Options};
use model::{Door, Lifecycle, Revision, Status, UpstreamVersion};
use store::{MemoryStore, RemoteSpec, Repo, Store};
use testkit::twin::key;

use crate::bases::{holds_both, move_ref, published, put, words};
use crate::sets::{by_site, put_site, set};
use crate::variants::{DEPLOYMENT, condition, push, quiet, ready, variant};
use crate::world::{NS, World, alice};

const DRAFT: &str = "deploy.shop.packagevariant-2";

/// A variant whose second revision was just approved, and the records as they were before that.
async fn approved_again() -> (World, Vec<Revision>) {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    world.rest().await;
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Revision(2);
    world.twin.put_variant(wanted);
    world.rest().await;
    let (engine, draft) = (&world.engine, key(NS, DRAFT));
    engine
        .move_to(&alice(), &draft, Door::Main, Lifecycle::Proposed)
        .await
        .expect("proposed");
    world.rest().await;
    let before = world.twin.revisions();
    engine
        .move_to(&alice(), &draft, Door::Approval, Lifecycle::Published)
        .await
        .expect("approved");
    world.rest().await;
    (world, before)
}

/// Another process takes over, whose repositories take a while to be opened.
async fn taken_over(world: &World, before: impl FnOnce()) {
    world.engine.stop();
    world.twin.drop_watches();
    before();
    let ports = world.twin.ports(&world.clock);
    let slow = Arc::new(Slow(Arc::clone(&world.store)));
    let next = Engine::new(ports, slow, Options::default());
    let running = next.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(20)).await;
    next.stop();
    running.abort();
}

fn told(world: &World) -> Vec<String> {
    let events = world.twin.events().into_iter();
    let told = events.filter(|e| ["ChangedSincePublished", "NotTagged"].contains(&&*e.reason));
    told.map(|e| e.message).collect()
}

fn find(records: Vec<Revision>, name: &str) -> Revision {
    let mut found = records.into_iter().filter(|r| r.key.name.as_str() == name);
    found.next().expect("a record")
}

#[tokio::test(start_paused = true)]
async fn an_approval_whose_branch_is_recorded_late_is_no_change_of_the_branch() {
    let (world, before) = approved_again().await;
    let old = find(before, "deploy.shop.main");
    let now = world.revision("deploy.shop.main");
    assert_ne!(old.tree, now.tree);
    let records = world.twin.ports(&world.clock).records;
    for record in [old, now] {
        let put = RecordWrite {
            expect: Expect::Any,
            change: Change::Put(Box::new(record)),
        };
        for written in records.commit(vec![put]).await {
            written.expect("written");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.rest().await;
    assert_eq!(told(&world), Vec::<String>::new());
}

/// The branch is known first, the tag a second later, and the repository is looked at after that.
#[tokio::test(start_paused = true)]
async fn an_approval_whose_tag_is_recorded_late_is_no_change_of_the_branch() {
    let (world, before) = approved_again().await;
    let old = find(before, DRAFT);
    assert_eq!(old.lifecycle, Lifecycle::Proposed);
    let mut past = world.twin.revisions();
    for record in past.iter_mut().filter(|r| r.key == old.key) {
        *record = old.clone();
    }
    taken_over(&world, || world.twin.list_late_records(past)).await;
    assert_eq!(told(&world), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_tag_that_is_deleted_in_git_is_told_as_what_it_is() {
    let (world, _) = approved_again().await;
    let outside = world.outside("deploy");
    let deleted = store::Submission {
        refs: vec![store::RefEdit {
            name: store::RefName::parse("refs/tags/shop/v2").expect("a ref"),
            expect: store::Expect::Any,
            to: None,
            scope: store::Scope::Remote,
        }],
        ..store::Submission::default()
    };
    let answer = outside.submit(deleted).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    world.rest().await;
    let (holds, why) = condition(&world, "shop", "BranchChanged");
    assert_eq!(holds, Status::True);
    assert!(why.starts_with("NotTagged: "), "{why}");
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    let generation = stored.meta.generation;
    assert_eq!(stored.status.words(generation), "tag to put back");
}

/// A store whose repositories take a while to be opened.
struct Slow(Arc<MemoryStore>);

#[async_trait]
impl Store for Slow {
    async fn open(&self, spec: RemoteSpec) -> store::Result<Arc<dyn Repo>> {
        tokio::time::sleep(Duration::from_secs(3)).await;
        self.0.open(spec).await
    }

    async fn here(&self, url: &str) -> store::Result<Option<Arc<dyn Repo>>> {
        self.0.here(url).await
    }
}

/// Somebody removed the records, or their definition, and whoever took over has none.
#[tokio::test(start_paused = true)]
async fn an_upstream_is_not_missed_before_its_repository_was_looked_at() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    put_site(&world, "one", "eu", "yes");
    world.twin.put_set(set("fan", vec![by_site()]));
    world.rest().await;
    let names = world.names();
    taken_over(&world, || world.twin.lose_records()).await;
    assert_eq!(world.names(), names);
    let events = world.twin.events().into_iter();
    let missed = events.filter(|e| e.message.contains("could not find"));
    assert_eq!(missed.collect::<Vec<_>>(), []);
    let (ready, why) = condition(&world, "shop", "Ready");
    assert_eq!(ready, Status::True, "{why}");
}

/// A tag is back, and no look has recorded it yet: what an open draft was derived from is published, and nothing of it is taken back.
#[tokio::test(start_paused = true)]
async fn an_open_upgrade_keeps_its_edits_while_a_tag_that_is_back_has_no_record() {
    let (mut world, tagged) = published().await;
    put(&world, 2, "eu");
    world.rest().await;
    world.local_poll = Duration::from_secs(3600);
    world.restart().await;
    move_ref(&world, "refs/tags/shop/v1", None).await;
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!(words(&world), "tag to put back");
    move_ref(&world, "refs/tags/shop/v1", Some(tagged)).await;
    put(&world, 2, "us");
    world.rest().await;
    holds_both(&world, DRAFT).await;
    let context = world.file(DRAFT, "package-context.yaml").await;
    assert!(context.contains("region: us"), "{context}");
    let again = world.revision("deploy.shop.packagevariant-1");
    assert_eq!((again.revision.0, again.commit), (1, tagged));
}

/// The next number is a tag on a tree, or on a commit of before the package: neither publishes it.
#[tokio::test(start_paused = true)]
async fn a_tag_that_publishes_nothing_hides_no_tag_that_is_gone() {
    for of_tree in [true, false] {
        let (world, _) = published().await;
        let outside = world.outside("deploy");
        let head = outside.refs().expect("refs")[&store::RefName::branch("main").expect("a ref")];
        let beside = store::RefName::tag("shop/v2").expect("a ref");
        if of_tree {
            let root = outside.commit(head).expect("a commit").tree;
            let url = "file:///git/deploy.git";
            assert!(world.store.tag_tree(url, &beside, root));
        } else {
            let all = outside.first_parents(head, 100).expect("a history");
            move_ref(&world, beside.as_str(), all.last().copied()).await;
        }
        move_ref(&world, "refs/tags/shop/v1", None).await;
        world.rest().await;
        put(&world, 2, "us");
        world.rest().await;
        assert_eq!(words(&world), "tag to put back", "{of_tree}");
        let names = world.names();
        let left: Vec<_> = names.iter().filter(|n| n.contains(".shop.")).collect();
        assert_eq!(left, ["deploy.shop.main"], "{of_tree}");
        quiet(&world).await;
    }
}
