//! The process dies at every side effect of a walk, is started again, and comes to the same end.
//!
//! Counted are the fault points of the engine and of the store. Where something was not durable yet, it
//! is kept, lost, or kept in part by turns, and so is the journal: refs, trailers and records alone
//! lead to the same end.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use model::{Door, Lifecycle, Revision, UpstreamVersion};
use store::{Dir, RefName};
use testkit::twin::key;

use crate::outside::push_onto;
use crate::variants::{DEPLOYMENT, push, ready, variant};
use crate::world::{NS, World, alice};

const DRAFTS: &str = "refs/heads/drafts/";
const PROPOSED: &str = "refs/heads/proposed/";

/// What counts at the end: every revision with its content, and every package on the branch.
type End = BTreeMap<String, (Lifecycle, i64, String, usize, bool)>;

fn end(world: &World) -> End {
    let all = world.twin.revisions();
    let of = |r: &Revision| {
        let latest = r.meta.labels.contains_key("kpt.dev/latest-revision");
        let owners = r.meta.owners.len();
        (
            r.lifecycle,
            r.revision.0,
            r.tree.to_string(),
            owners,
            latest,
        )
    };
    all.iter()
        .map(|r| (r.key.name.to_string(), of(r)))
        .collect()
}

struct Walk {
    world: World,
    /// Which death it is: decides what of the undurable is kept.
    at: u64,
    lose_journal: bool,
}

/// Whether a ref that moved and was not durable is kept.
fn keep(at: u64, name: &RefName) -> bool {
    let open = [DRAFTS, PROPOSED]
        .iter()
        .any(|p| name.as_str().starts_with(p));
    match at % 4 {
        0 => true,
        1 => false,
        2 => open,
        _ => !open,
    }
}

impl Walk {
    async fn settle(&mut self) {
        self.world.settle().await;
        self.world
            .revive(|name| keep(self.at, name), self.lose_journal)
            .await;
        self.world.settle().await;
    }

    /// Moves a revision on, as often as it takes; what is done is not done twice.
    async fn publish(&mut self, name: &str) {
        let at = key(NS, name);
        for _ in 0..8 {
            let now = self.world.twin.revision(NS, name);
            let moved = match now.map(|r| r.lifecycle) {
                Some(Lifecycle::Draft) => {
                    let to = Lifecycle::Proposed;
                    self.world
                        .engine
                        .move_to(&alice(), &at, Door::Main, to)
                        .await
                }
                Some(Lifecycle::Proposed) => {
                    let to = Lifecycle::Published;
                    self.world
                        .engine
                        .move_to(&alice(), &at, Door::Approval, to)
                        .await
                }
                _ => return,
            };
            if moved.is_err() {
                self.settle().await;
            }
        }
        panic!("{name} cannot be published");
    }

    /// The walk: two variants; publish, upgrade, publish again; delete the other.
    async fn run(&mut self) -> End {
        self.world.twin.put_variant(variant("shop", "shop"));
        self.world.twin.put_variant(variant("cafe", "cafe"));
        self.settle().await;
        self.publish("deploy.shop.packagevariant-1").await;
        self.settle().await;
        push(&self.world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
        let mut wanted = variant("shop", "shop");
        wanted.spec.upstream.version = UpstreamVersion::Latest;
        self.world.twin.put_variant(wanted);
        self.settle().await;
        self.publish("deploy.shop.packagevariant-2").await;
        self.world.twin.delete_variant(NS, "cafe");
        self.settle().await;
        self.settle().await;
        end(&self.world)
    }
}

async fn walk(at: u64) -> (End, World, Option<String>) {
    let world = ready().await;
    world.deaths.passed.store(0, Ordering::SeqCst);
    world.deaths.at.store(at, Ordering::SeqCst);
    let mut walk = Walk {
        world,
        at,
        lose_journal: at % 5 < 2,
    };
    let end = walk.run().await;
    let passed = walk.world.deaths.passed.load(Ordering::SeqCst);
    let died = (at > 0 && passed >= at).then(|| format!("point {at} of {passed}"));
    (end, walk.world, died)
}

/// Every third point, and all of them if `OFFSHOOT_ALL_POINTS` is set.
fn stride() -> u64 {
    if std::env::var_os("OFFSHOOT_ALL_POINTS").is_some() {
        1
    } else {
        3
    }
}

/// Half of the points that are looked at.
async fn half(mine: u64) {
    let (whole, world, _) = walk(0).await;
    let points = world.deaths.passed.load(Ordering::SeqCst);
    assert!(points > 60, "the walk passes {points} points");
    assert_eq!(whole["deploy.shop.packagevariant-2"].1, 2);
    for at in (1..=points).filter(|at| at % stride() == 0 && at / stride() % 2 == mine) {
        let (end, world, died) = walk(at).await;
        assert!(died.is_some(), "nobody died at {at} of {points}");
        assert_eq!(end, whole, "after a death at {at}");
        let before = (world.twin.writes(), world.refs("deploy"));
        world.engine.look_at_everything();
        world.settle().await;
        assert_eq!(
            (world.twin.writes(), world.refs("deploy")),
            before,
            "silence after {at}"
        );
        for (name, commit) in world.refs("deploy") {
            let outside = world.outside("deploy");
            assert!(outside.commit(commit).is_ok(), "{name} resolves after {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_death_at_any_point_changes_nothing_in_the_end_1() {
    half(0).await;
}

#[tokio::test(start_paused = true)]
async fn a_death_at_any_point_changes_nothing_in_the_end_2() {
    half(1).await;
}

/// A draft with a person's edit, whose move to `to` dies at `point` of the store; then the journal
/// is lost, and of what was not durable only what `keep` names is there.
async fn cut(to: Lifecycle, point: &'static str, keep: fn(&RefName) -> bool) -> World {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let name = "deploy.shop.packagevariant-1";
    let mark = |text: &str| text.replace("# The app itself.", "# The app itself. Mine.");
    world.edit(name, "deployment.yaml", mark).await;
    let mut steps = vec![(Door::Main, Lifecycle::Proposed)];
    if to == Lifecycle::Published {
        steps.push((Door::Approval, to));
    }
    for (door, to_now) in steps {
        if to_now == to {
            *world.deaths.named.lock().expect("no panic") = Some(point);
        }
        let engine = world.engine.clone();
        let moved = engine.move_to(&alice(), &key(NS, name), door, to_now).await;
        assert_eq!(moved.is_err(), to_now == to, "{to_now}");
    }
    assert!(world.deaths.died().is_some(), "nobody died at {point}");
    world.revive(keep, true).await;
    world.rest().await;
    let text = world.file(name, "deployment.yaml").await;
    assert!(text.contains("Mine."), "the edit is lost:\n{text}");
    assert_eq!(
        world
            .names()
            .iter()
            .filter(|n| n.contains(".shop.packagevariant-"))
            .count(),
        1
    );
    world
}

/// The refs of the package that are there, apart from the branch.
fn of_shop(world: &World) -> Vec<String> {
    let refs = world.refs("deploy").into_keys();
    refs.filter(|name| name.contains("/shop/")).collect()
}

#[tokio::test(start_paused = true)]
async fn an_edit_survives_a_proposal_that_was_torn() {
    let gone: fn(&RefName) -> bool = |name| name.as_str().starts_with(DRAFTS);
    for keep in [gone, |name| name.as_str().starts_with(PROPOSED), |_| false] {
        let world = cut(Lifecycle::Proposed, "store RefsWritten", keep).await;
        let proposed = world.revision("deploy.shop.packagevariant-1");
        assert_eq!(proposed.lifecycle, Lifecycle::Proposed);
        assert_eq!(
            of_shop(&world),
            ["refs/heads/proposed/shop/packagevariant-1"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_publish_that_was_torn_is_completed_without_its_journal() {
    // All but the last turn is durable: the proposal's ref is left over.
    let world = cut(Lifecycle::Published, "store RefsWritten", |_| false).await;
    assert_eq!(of_shop(&world), ["refs/tags/shop/v1"]);
    // Only the branch got through: the merge says which tag is missing.
    let world = cut(Lifecycle::Published, "store RefMoved", |_| false).await;
    assert_eq!(of_shop(&world), ["refs/tags/shop/v1"]);
    let published = world.revision("deploy.shop.packagevariant-1");
    assert_eq!(
        (published.lifecycle, published.revision.0),
        (Lifecycle::Published, 1)
    );
    assert_eq!(world.refs("deploy")["refs/heads/main"], published.commit);
}

/// V20: an approval died between branch and tag, and before anybody looked, a person pushed onto the proposal. Nobody can tell
/// then which of both was meant: it stays a proposal, and has all that the branch has.
#[tokio::test(start_paused = true)]
async fn a_proposal_that_was_pushed_to_after_a_torn_publish_can_be_approved() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let name = "deploy.shop.packagevariant-1";
    world
        .edit(name, "deployment.yaml", |text| {
            text.replace("# The app itself.", "# Mine.")
        })
        .await;
    let engine = world.engine.clone();
    let at = key(NS, name);
    let by = alice();
    let proposed = engine.move_to(&by, &at, Door::Main, Lifecycle::Proposed);
    proposed.await.expect("proposed");
    *world.deaths.named.lock().expect("no panic") = Some("store RefMoved");
    let approved = engine.move_to(&by, &at, Door::Approval, Lifecycle::Published);
    approved.await.expect_err("it died");
    world.engine.stop();
    world.store.crash(|_, _| false);
    let text = {
        let outside = world.outside("deploy");
        let branch =
            outside.refs().expect("refs")[&RefName::parse("refs/heads/main").expect("a ref")];
        let root = outside.commit(branch).expect("the branch").tree;
        let tree = outside.subtree(root, &Dir::parse("shop").expect("a directory"));
        let tree = tree.expect("read").expect("it got as far as the branch");
        outside.snapshot(tree).expect("files").files.clone()
    };
    let mut files: Vec<(String, String)> = text
        .iter()
        .map(|(path, file)| (path.to_string(), file.as_text().expect("text").to_owned()))
        .collect();
    for (_, text) in &mut files {
        *text = text.replace("# Mine.", "# Mine, and pushed.");
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect();
    let proposal = "proposed/shop/packagevariant-1";
    push_onto(&world, "deploy", (proposal, proposal), "shop", &files).await;
    world.revive(|_| true, true).await;
    world.rest().await;
    assert_eq!(world.revision(name).lifecycle, Lifecycle::Proposed);
    let engine = world.engine.clone();
    let approved = engine.move_to(&by, &at, Door::Approval, Lifecycle::Published);
    let approved = approved.await.expect("it has all of the branch");
    assert_eq!(
        approved.revision.revision.0, 2,
        "the number that was given is not given again"
    );
    assert!(
        world
            .file(name, "deployment.yaml")
            .await
            .contains("Mine, and pushed.")
    );
}

/// A7: the label of the latest is stored, and git does not know it.
#[tokio::test(start_paused = true)]
async fn the_latest_of_a_package_is_labelled_although_the_deletion_of_a_later_one_died() {
    let mut world = ready().await;
    let mut shop = variant("shop", "shop");
    shop.spec.upstream.version = UpstreamVersion::Latest;
    world.twin.put_variant(shop);
    world.rest().await;
    let [first, second] = [1, 2].map(|n| format!("deploy.shop.packagevariant-{n}"));
    world.publish(&first).await;
    push(
        &world,
        &DEPLOYMENT.replace("replicas: 1", "replicas: 2"),
        "v2",
    )
    .await;
    world.rest().await;
    world.publish(&second).await;
    world.rest().await;
    let latest = |world: &World, name: &str| {
        let labels = &world.revision(name).meta.labels;
        labels.contains_key("kpt.dev/latest-revision")
    };
    assert_eq!(
        (latest(&world, &first), latest(&world, &second)),
        (false, true)
    );
    world.twin.delete_variant(NS, "shop");
    world.rest().await;
    let second = key(NS, &second);
    *world.deaths.named.lock().expect("no panic") = Some("engine Published");
    let engine = world.engine.clone();
    let gone = engine.delete(&alice(), &second, &Default::default()).await;
    assert!(gone.is_err() && world.deaths.died().is_some());
    world.restart().await;
    assert!(!world.names().contains(&second.name.to_string()));
    assert!(latest(&world, &first));
}

/// A mistake of ours in one turn keeps its key from no other turn, and takes nobody's place.
#[tokio::test(start_paused = true)]
async fn a_turn_that_breaks_is_tried_again() {
    let world = ready().await;
    let broken = || panic!("this turn breaks, as the test wants it");
    world.deaths.meanwhile("engine Derived", broken);
    world.twin.put_variant(variant("shop", "shop"));
    world.pass(60).await;
    world.rest().await;
    assert!(
        world
            .names()
            .contains(&"deploy.shop.packagevariant-1".to_owned())
    );
}

/// A process that may not write for a while begins nothing and does not end: it goes on once it may again (C2).
#[tokio::test(start_paused = true)]
async fn what_would_begin_while_nothing_may_is_refused_and_done_later() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    world.deaths.hold(true);
    let (engine, draft) = (&world.engine, key(NS, "deploy.shop.packagevariant-1"));
    let by = alice();
    let propose = engine.move_to(&by, &draft, Door::Main, Lifecycle::Proposed);
    let refused = propose.await;
    let class = refused.as_ref().err().map(engine::Error::class);
    assert_eq!(class, Some(model::Class::Unavailable), "{refused:?}");
    world.twin.put_variant(variant("cafe", "cafe"));
    world.pass(40).await;
    let other = "deploy.cafe.packagevariant-1".to_owned();
    assert!(!world.names().contains(&other), "{:?}", world.names());
    assert!(!world.engine.is_stopped());
    world.deaths.hold(false);
    world.pass(60).await;
    world.rest().await;
    assert!(world.names().contains(&other), "{:?}", world.names());
}
