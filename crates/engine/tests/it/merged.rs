//! Drafts that somebody merged into the branch by git: the branch holds what the machine had made for them (V20).

use model::{CommitId, Lifecycle, Revision, Status};
use store::{CommitSpec, Content, Dir, RefName};
use testkit::twin::key;

use crate::bases::{move_ref, published, push_ref, put};
use crate::variants::{DEPLOYMENT, condition, push, quiet};
use crate::world::{NS, World, alice, files_of, person};

const SECOND: &str = "deploy.shop.packagevariant-2";

fn main_of(world: &World) -> CommitId {
    let main = RefName::branch("main").expect("a ref");
    world.outside("deploy").refs().expect("refs")[&main]
}

/// The texts of a revision, with one of them changed.
async fn texts(
    world: &World,
    revision: &str,
    change: impl Fn(&str) -> String,
) -> Vec<(String, String)> {
    let (_, files) = world
        .engine
        .resources(&key(NS, revision))
        .await
        .expect("files");
    let text = |file: &model::File| file.as_text().expect("text").to_owned();
    let texts = files.iter().map(|(p, f)| (p.to_string(), text(f)));
    let changed = |(path, text): (String, String)| match path.as_str() {
        "deployment.yaml" => (path, change(&text)),
        _ => (path, text),
    };
    texts.map(changed).collect()
}

/// Somebody commits files to the branch by git, on top of it and of what is merged.
async fn commit(world: &World, merged: Option<CommitId>, texts: &[(String, String)]) {
    let texts: Vec<(&str, &str)> = texts.iter().map(|(p, t)| (&**p, &**t)).collect();
    let main = main_of(world);
    let parents: Vec<CommitId> = [Some(main), merged].into_iter().flatten().collect();
    let written = world
        .outside("deploy")
        .write(CommitSpec {
            base: Some(main),
            dir: &Dir::parse("shop").expect("a directory"),
            content: Content::Files(&files_of(&texts), &[]),
            parents: &parents,
            author: &person(),
            committer: &person(),
            message: "by hand\n",
        })
        .expect("a commit");
    let to = Some(written.commit());
    push_ref(world, "refs/heads/main", to, vec![written]).await;
}

/// The one draft of the package that is open.
fn open(world: &World) -> Revision {
    let all = world.twin.revisions().into_iter();
    let mut open = all
        .filter(|r| r.repository.as_str() == "deploy" && r.lifecycle == Lifecycle::Draft)
        .collect::<Vec<_>>();
    assert_eq!(open.len(), 1, "{:?}", world.names());
    open.remove(0)
}

async fn upstream(world: &World, revision: i64) {
    let next = DEPLOYMENT.replace("app:v1", &format!("app:v{revision}"));
    push(world, &next, &format!("v{revision}")).await;
    world.rest().await;
    put(world, revision, "eu");
    world.rest().await;
}

async fn upgraded(world: &World, all: &[&str]) {
    let draft = open(world);
    assert_eq!(draft.conflicts, [], "nothing was changed on both sides");
    let name = draft.key.name.as_str();
    let text = world.file(name, "deployment.yaml").await;
    assert!(all.iter().all(|part| text.contains(part)), "{text}");
    quiet(world).await;
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_was_merged_by_git_is_what_the_next_upgrade_stems_from() {
    let (world, _) = published().await;
    put(&world, 2, "eu");
    world.rest().await;
    let pause = |text: &str| text.replace("paused: false", "paused: true");
    let tip = world.edit(SECOND, "deployment.yaml", pause).await.commit;
    let drafted = texts(&world, SECOND, str::to_owned).await;
    commit(&world, Some(tip), &drafted).await;
    world.rest().await;
    upstream(&world, 3).await;
    let all = ["replicas: 9", "paused: true", "app:v3"];
    upgraded(&world, &all).await;
    assert_eq!(condition(&world, "shop", "BranchChanged").0, Status::True);
    let published = world.publish(open(&world).key.name.as_str()).await;
    assert_eq!(published.revision.0, 2);
}

/// What people had committed to the branch beside the draft is an edit like any other.
#[tokio::test(start_paused = true)]
async fn what_stood_on_the_branch_beside_a_merged_draft_is_kept() {
    let (world, _) = published().await;
    put(&world, 2, "eu");
    world.rest().await;
    let tip = world.revision(SECOND).commit;
    let drafted = texts(&world, SECOND, |text| {
        text.replace("paused: false", "paused: true")
    })
    .await;
    let pause = |text: &str| text.replace("paused: false", "paused: true");
    let beside = texts(&world, "deploy.shop.packagevariant-1", pause).await;
    commit(&world, None, &beside).await;
    commit(&world, Some(tip), &drafted).await;
    let seven = |text: &str| text.replace("replicas: 9", "replicas: 7");
    let later: Vec<_> = drafted.into_iter().map(|(p, t)| (p, seven(&t))).collect();
    commit(&world, None, &later).await;
    world.rest().await;
    upstream(&world, 3).await;
    let all = ["replicas: 7", "paused: true", "app:v3"];
    upgraded(&world, &all).await;
}

/// An old draft of which somebody merges a line later brings no older output back.
#[tokio::test(start_paused = true)]
async fn an_older_draft_that_is_merged_after_a_newer_approval_changes_no_base() {
    let (world, _) = published().await;
    put(&world, 2, "eu");
    world.rest().await;
    let old = world.revision(SECOND).commit;
    let any = engine::usecase::Preconditions::default();
    let by = crate::world::alice();
    let gone = world.engine.delete(&by, &key(NS, SECOND), &any).await;
    gone.expect("deleted");
    world.rest().await;
    upstream(&world, 3).await;
    world.publish(open(&world).key.name.as_str()).await;
    world.rest().await;
    let pause = |text: &str| text.replace("paused: false", "paused: true");
    let now = texts(&world, "deploy.shop.main", pause).await;
    commit(&world, Some(old), &now).await;
    world.rest().await;
    upstream(&world, 4).await;
    let all = ["replicas: 9", "paused: true", "app:v4"];
    upgraded(&world, &all).await;
}

/// The draft of upstream's second version is squashed into the branch, and its ref goes, as forges do.
async fn squashed(tag: bool) -> World {
    let (world, _) = published().await;
    put(&world, 2, "eu");
    world.rest().await;
    let drafted = texts(&world, SECOND, str::to_owned).await;
    commit(&world, None, &drafted).await;
    let ours = "refs/heads/drafts/shop/packagevariant-2";
    move_ref(&world, ours, None).await;
    if tag {
        let head = main_of(&world);
        move_ref(&world, "refs/tags/shop/v2", Some(head)).await;
    }
    world.rest().await;
    world
}

/// Upstream takes back what its second version had brought: no draft that still holds it is an upgrade.
#[tokio::test(start_paused = true)]
async fn after_a_squash_of_a_draft_the_lock_tells_what_upstream_was() {
    for tag in [false, true] {
        let world = squashed(tag).await;
        upstream(&world, 3).await;
        upgraded(&world, &["replicas: 9", "app:v3"]).await;
        let name = open(&world).key.name.as_str().to_owned();
        let text = world.file(&name, "deployment.yaml").await;
        assert!(!text.contains("app:v2"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_person_changed_after_a_squash_meets_what_upstream_changed_since() {
    let world = squashed(false).await;
    let head = texts(&world, "deploy.shop.main", |text| {
        text.replace("app:v2", "app:mine")
    });
    let head = head.await;
    commit(&world, None, &head).await;
    world.rest().await;
    upstream(&world, 3).await;
    let conflicts = open(&world).conflicts;
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
}

/// Somebody puts what is published back into the draft of an upgrade, its Kptfile with it, and has that approved: what is published is of
/// the version before, and says so.
#[tokio::test(start_paused = true)]
async fn what_was_put_back_is_upgraded_again_from_where_its_lock_says_that_it_is() {
    let (world, _) = published().await;
    let before = texts(&world, "deploy.shop.packagevariant-1", str::to_owned).await;
    put(&world, 2, "eu");
    world.rest().await;
    let before = before.into_iter();
    let before = before.map(|(p, t)| (model::PackagePath::parse(&p).expect("a path"), t));
    let before: std::collections::BTreeMap<_, _> = before.collect();
    let (second, any) = (key(NS, SECOND), Default::default());
    let saved = world.engine.save(&alice(), &second, &any, before).await;
    saved.expect("saved");
    world.publish(SECOND).await;
    world.rest().await;
    let again = open(&world);
    assert_eq!(again.conflicts, [], "{again:?}");
    let text = world.file(again.key.name.as_str(), "deployment.yaml").await;
    let all = ["replicas: 9", "app:v2"];
    assert!(all.iter().all(|part| text.contains(part)), "{text}");
    quiet(&world).await;
}

/// A strategy that refuses what people changed is a failure like any other (V6, V16): the variant says so, and rests.
#[tokio::test(start_paused = true)]
async fn an_upgrade_that_its_strategy_refuses_is_told() {
    let (world, _) = published().await;
    let mut wanted = crate::variants::variant("shop", "shop");
    wanted.spec.upstream.version = model::UpstreamVersion::Revision(2);
    wanted.spec.strategy = model::Strategy::FastForward;
    world.twin.put_variant(wanted);
    world.rest().await;
    let (ready, why) = condition(&world, "shop", "Ready");
    assert_eq!(ready, Status::False);
    assert!(
        why.contains("local package files have been modified"),
        "{why}"
    );
    quiet(&world).await;
}
