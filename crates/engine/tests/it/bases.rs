//! What a draft stems from where people change git past us: no tag is left, a copy was based on something newer, or the branch
//! holds no package any more. No edit is taken back without a word (V20).

use model::{CommitId, Door, Lifecycle, Status, Task, UpstreamVersion};
use store::{
    Answer, CommitSpec, Content, Dir, Expect, RefEdit, RefName, Scope, Submission, Written,
};
use testkit::twin::key;

use crate::outside::push_onto;
use crate::variants::{DEPLOYMENT, condition, push, quiet, ready, variant};
use crate::world::{NS, World, alice, input, person};

const FIRST: &str = "deploy.shop.packagevariant-1";
const SECOND: &str = "deploy.shop.packagevariant-2";

/// Somebody moves a ref in git, or takes it away.
pub(crate) async fn move_ref(world: &World, name: &str, to: Option<CommitId>) {
    push_ref(world, name, to, Vec::new()).await;
}

pub(crate) async fn push_ref(
    world: &World,
    name: &str,
    to: Option<CommitId>,
    written: Vec<Written>,
) {
    let outside = world.outside("deploy");
    let edit = RefEdit {
        name: RefName::parse(name).expect("a ref"),
        expect: Expect::Any,
        to,
        scope: Scope::Remote,
    };
    let submission = Submission {
        written,
        refs: vec![edit],
        ..Submission::default()
    };
    let answer = outside.submit(submission).await.expect("a push");
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
}

/// The variant `shop` follows a revision of the upstream, in a region.
pub(crate) fn put(world: &World, revision: i64, region: &str) {
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Revision(revision);
    let data = &mut wanted.spec.context.data;
    data.insert("region".to_owned(), region.to_owned());
    world.twin.put_variant(wanted);
}

/// A variant whose first revision a person changed and published; where its tag is.
pub(crate) async fn published() -> (World, CommitId) {
    let world = ready().await;
    put(&world, 1, "eu");
    world.rest().await;
    let nine = |text: &str| text.replace("replicas: 1", "replicas: 9");
    world.edit(FIRST, "deployment.yaml", nine).await;
    let tagged = world.publish(FIRST).await.commit;
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    world.rest().await;
    (world, tagged)
}

pub(crate) fn words(world: &World) -> &'static str {
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    stored.status.words(stored.meta.generation)
}

/// Both changes of upstream and of the person.
pub(crate) async fn holds_both(world: &World, revision: &str) {
    let text = world.file(revision, "deployment.yaml").await;
    let both = text.contains("replicas: 9") && text.contains("app:v2");
    assert!(both, "{text}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_of_upstream_alone_while_the_tag_of_what_was_published_is_gone() {
    let (world, tagged) = published().await;
    move_ref(&world, "refs/tags/shop/v1", None).await;
    world.rest().await;
    put(&world, 2, "eu");
    world.rest().await;
    assert_eq!(
        world.names().iter().filter(|n| n.contains("shop")).count(),
        1,
        "{:?}",
        world.names()
    );
    for kind in ["Ready", "BranchChanged"] {
        let (_, why) = condition(&world, "shop", kind);
        let way_out = format!("put tag shop/v1 back on commit {tagged} in git");
        assert!(
            why.starts_with("NotTagged: ") && why.contains(&way_out),
            "{why}"
        );
    }
    assert_eq!(words(&world), "tag to put back");
    quiet(&world).await;
    move_ref(&world, "refs/tags/shop/v1", Some(tagged)).await;
    world.rest().await;
    assert_eq!(world.revision(FIRST).revision.0, 1);
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
    holds_both(&world, SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn an_open_upgrade_keeps_its_edits_while_no_tag_is_left() {
    let (world, tagged) = published().await;
    put(&world, 2, "eu");
    world.rest().await;
    let before = world.revision(SECOND).commit;
    move_ref(&world, "refs/tags/shop/v1", None).await;
    world.rest().await;
    put(&world, 2, "us");
    world.rest().await;
    assert_eq!(world.revision(SECOND).commit, before);
    assert_eq!(words(&world), "tag to put back");
    quiet(&world).await;
    move_ref(&world, "refs/tags/shop/v1", Some(tagged)).await;
    world.rest().await;
    holds_both(&world, SECOND).await;
    let context = world.file(SECOND, "package-context.yaml").await;
    assert!(context.contains("region: us"), "{context}");
}

/// The branch alone tells of it: whoever lost the records waits, too, until it is told to do without.
#[tokio::test(start_paused = true)]
async fn a_tag_that_nobody_saw_is_missed_until_the_variant_is_to_do_without() {
    let (mut world, _) = published().await;
    world.local_poll = std::time::Duration::from_secs(3600);
    world.restart().await;
    move_ref(&world, "refs/tags/shop/v1", None).await;
    world.rebuild().await;
    put(&world, 2, "eu");
    world.rest().await;
    assert_eq!(words(&world), "tag to put back");
    let mut wanted = variant("shop", "shop");
    let meta = std::sync::Arc::make_mut(&mut wanted.meta);
    let recreate = "offshoot.dev/recreate".to_owned();
    meta.annotations.insert(recreate, FIRST.to_owned());
    world.twin.put_variant(wanted);
    world.rest().await;
    let text = world.file(FIRST, "deployment.yaml").await;
    assert!(text.contains("replicas: 1"), "{text}");
}

/// A variant that comes back to a package whose deletion it had proposed itself, and somebody approved, starts anew.
#[tokio::test(start_paused = true)]
async fn a_deletion_that_somebody_approved_is_no_tag_that_was_lost() {
    let (world, _) = published().await;
    let mut away = variant("shop", "store");
    away.spec.upstream.version = UpstreamVersion::Revision(1);
    world.twin.put_variant(away);
    world.rest().await;
    assert_eq!(world.revision(FIRST).lifecycle, Lifecycle::DeletionProposed);
    let any = engine::usecase::Preconditions::default();
    let deleted = world.engine.delete(&alice(), &key(NS, FIRST), &any).await;
    assert!(deleted.expect("deleted").is_none());
    world.rest().await;
    put(&world, 1, "eu");
    world.rest().await;
    let again = world.revision(FIRST);
    assert_eq!(again.lifecycle, Lifecycle::Draft);
    let text = world.file(FIRST, "deployment.yaml").await;
    assert!(text.contains("replicas: 1"), "{text}");
    // Its next publication is missed if somebody takes that tag away.
    let tagged = world.publish(FIRST).await;
    assert_eq!(tagged.revision.0, 2);
    move_ref(&world, "refs/tags/shop/v2", None).await;
    world.rest().await;
    assert_eq!(words(&world), "tag to put back");
    let (_, why) = condition(&world, "shop", "Ready");
    assert!(why.contains("put tag shop/v2 back"), "{why}");
}

/// By git: the mark of a proposed deletion stands, and the tag goes with it.
#[tokio::test(start_paused = true)]
async fn a_deletion_that_somebody_approved_by_git_is_no_tag_that_was_lost() {
    let (world, _) = published().await;
    world.twin.put_variant(variant("shop", "store"));
    world.rest().await;
    move_ref(&world, "refs/tags/shop/v1", None).await;
    move_ref(&world, "refs/heads/deletionProposed/shop/v1", None).await;
    world.rest().await;
    put(&world, 1, "eu");
    world.rest().await;
    assert_eq!(world.revision(FIRST).lifecycle, Lifecycle::Draft);
}

#[tokio::test(start_paused = true)]
async fn a_tag_without_a_number_beside_it_hides_no_number() {
    let (world, tagged) = published().await;
    move_ref(&world, "refs/tags/shop/v0", Some(tagged)).await;
    world.rest().await;
    assert_eq!(world.revision(FIRST).revision.0, 1);
    put(&world, 2, "eu");
    world.rest().await;
    holds_both(&world, SECOND).await;
    let stored = world.twin.repository(NS, "deploy").expect("registered");
    let said = stored.status.ready().expect("a verdict").message.clone();
    assert!(said.contains("tag v0 cannot be served"), "{said}");
    // It alone publishes nothing.
    move_ref(&world, "refs/tags/shop/v1", None).await;
    world.rest().await;
    assert_eq!(words(&world), "tag to put back");
}

/// How a copy comes to hold what was published since it was made.
#[derive(Clone, Copy, Debug)]
enum Anew {
    Asked,
    Merged,
    MergedTheOtherWay,
    Rebased,
}

impl Anew {
    async fn base(self, world: &World, copy: &str) {
        let (branch, at) = ("refs/heads/drafts/shop/mine", key(NS, copy));
        if matches!(self, Self::Asked) {
            let mut wish = engine::usecase::input_of(&world.revision(copy));
            let rebase = "offshoot.dev/rebase".to_owned();
            wish.meta.annotations.insert(rebase, "true".to_owned());
            let based = world.engine.update(&alice(), &at, Door::Main, wish).await;
            based.expect("based anew");
            return;
        }
        let (_, files) = world
            .engine
            .resources(&key(NS, SECOND))
            .await
            .expect("files");
        let texts: Vec<(String, String)> = files
            .iter()
            .map(|(path, file)| {
                let text = file.as_text().expect("text");
                (path.to_string(), text.replace("replicas: 1", "replicas: 9"))
            })
            .collect();
        let texts: Vec<(&str, &str)> = texts.iter().map(|(p, t)| (&**p, &**t)).collect();
        let files = crate::world::files_of(&texts);
        let refs = world.refs("deploy");
        let (tip, main) = (refs[branch], refs["refs/heads/main"]);
        let outside = world.outside("deploy");
        let made = world.revision(copy).commit;
        let first = outside.first_parents(made, 2).expect("its history")[1];
        let message = outside.commit(first).expect("its first commit");
        let (parents, message): (&[CommitId], &str) = match self {
            Self::Rebased => (&[main], &message.message),
            Self::MergedTheOtherWay => (&[main, tip], "merge by hand\n"),
            _ => (&[tip, main], "merge by hand\n"),
        };
        let written = outside
            .write(CommitSpec {
                base: Some(main),
                dir: &Dir::parse("shop").expect("a directory"),
                content: Content::Files(&files, &[]),
                parents,
                author: &person(),
                committer: &person(),
                message,
            })
            .expect("a commit");
        let to = Some(written.commit());
        push_ref(world, branch, to, vec![written]).await;
    }
}

/// A person copies what is published, the variant is upgraded beside it, and the copy comes to hold that, too. It stems from the
/// second upstream: what the third one takes away again goes, and nothing is a conflict.
async fn based_anew_and_upgraded(how: Anew) {
    let world = ready().await;
    put(&world, 1, "eu");
    world.rest().await;
    world.publish(FIRST).await;
    let namespace = key(NS, "x").namespace;
    let source = key(NS, FIRST).name;
    let wish = input("deploy", "shop", "mine", Task::Edit { source });
    let copied = world.engine.create(&alice(), &namespace, wish).await;
    copied.expect("copied");
    let (copy, more) = (
        "deploy.shop.mine",
        "replicas: 1 # few\n  minReadySeconds: 5",
    );
    world
        .edit(copy, "deployment.yaml", |t| {
            t.replace("replicas: 1", "replicas: 9")
        })
        .await;
    let second = DEPLOYMENT.replace("replicas: 1 # few", more);
    push(&world, &second.replace("app:v1", "app:v2"), "v2").await;
    world.rest().await;
    put(&world, 2, "eu");
    world.rest().await;
    world.publish(SECOND).await;
    world.rest().await;
    how.base(&world, copy).await;
    world.rest().await;
    let text = world.file(copy, "deployment.yaml").await;
    let all = ["replicas: 9", "minReadySeconds: 5", "app:v2"];
    assert!(
        all.iter().all(|part| text.contains(part)),
        "{how:?}: {text}"
    );
    assert_eq!(world.publish(copy).await.revision.0, 3);
    world.rest().await;
    let open = || {
        let names = world.twin.revisions().into_iter();
        let open =
            names.filter(|r| r.repository.as_str() == "deploy" && !r.lifecycle.is_published());
        open.collect::<Vec<_>>()
    };
    assert_eq!(open(), [], "{how:?}: it has today's inputs");
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v3"), "v3").await;
    world.rest().await;
    put(&world, 3, "eu");
    world.rest().await;
    let [draft] = &open()[..] else {
        panic!("{how:?}: {:?}", world.names());
    };
    assert_eq!(draft.conflicts, [], "{how:?}");
    let text = world.file(draft.key.name.as_str(), "deployment.yaml").await;
    assert!(
        text.contains("replicas: 9") && text.contains("app:v3"),
        "{how:?}: {text}"
    );
    assert!(!text.contains("minReadySeconds"), "{how:?}: {text}");
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_was_based_anew_stems_from_what_it_is_based_on() {
    based_anew_and_upgraded(Anew::Asked).await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_merged_the_branch_by_git_stems_from_what_it_merged() {
    based_anew_and_upgraded(Anew::Merged).await;
    based_anew_and_upgraded(Anew::MergedTheOtherWay).await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_was_rebased_by_git_stems_from_where_it_leaves_the_branch() {
    based_anew_and_upgraded(Anew::Rebased).await;
}

/// A copy of an older revision is the way back: it stems from that, whatever is on the branch.
#[tokio::test(start_paused = true)]
async fn a_copy_of_an_older_revision_stems_from_that() {
    let (world, _) = published().await;
    put(&world, 2, "eu");
    world.rest().await;
    world.publish(SECOND).await;
    world.rest().await;
    let source = key(NS, FIRST).name;
    let wish = input("deploy", "shop", "mine", Task::Edit { source });
    let namespace = key(NS, "x").namespace;
    let copied = world.engine.create(&alice(), &namespace, wish).await;
    copied.expect("copied");
    world.publish("deploy.shop.mine").await;
    world.rest().await;
    let all = world.twin.revisions();
    let mut open = all
        .iter()
        .filter(|r| r.repository.as_str() == "deploy" && !r.lifecycle.is_published());
    let draft = open.next().expect("it is behind its upstream");
    holds_both(&world, draft.key.name.as_str()).await;
}

/// The texts of a revision.
async fn texts(world: &World, revision: &str) -> Vec<(String, String)> {
    let read = world.engine.resources(&key(NS, revision)).await;
    let (_, files) = read.expect("files");
    let text = |file: &model::File| file.as_text().expect("text").to_owned();
    let texts = files.iter().map(|(p, f)| (p.to_string(), text(f)));
    texts.collect()
}

fn said_of(world: &World) -> String {
    let stored = world.twin.repository(NS, "deploy").expect("registered");
    stored.status.ready().expect("a verdict").message.clone()
}

#[tokio::test(start_paused = true)]
async fn a_branch_without_a_kptfile_is_told_of_before_an_approval() {
    let (world, _) = published().await;
    let texts = texts(&world, FIRST).await;
    let texts: Vec<(&str, &str)> = texts.iter().map(|(p, t)| (&**p, &**t)).collect();
    let without: Vec<_> = texts
        .iter()
        .filter(|(p, _)| *p != "Kptfile")
        .copied()
        .collect();
    world.push("deploy", "shop", &without, None).await;
    world.rest().await;
    let (holds, why) = condition(&world, "shop", "BranchChanged");
    assert_eq!(holds, Status::True);
    let way_out = "`git checkout shop/v1 -- shop`";
    assert!(
        why.starts_with("NoKptfile: BranchDiverged: ") && why.contains(way_out),
        "{why}"
    );
    let said = said_of(&world);
    assert!(said.contains("a directory without a Kptfile"), "{said}");
    put(&world, 2, "eu");
    world.rest().await;
    holds_both(&world, SECOND).await;
    quiet(&world).await;
    let (engine, at) = (&world.engine, key(NS, SECOND));
    let proposed = engine
        .move_to(&alice(), &at, Door::Main, Lifecycle::Proposed)
        .await;
    proposed.expect("proposed");
    let refused = engine
        .move_to(&alice(), &at, Door::Approval, Lifecycle::Published)
        .await;
    let refused = format!("{:?}", refused.expect_err("no package"));
    assert!(
        refused.contains(way_out) && !refused.contains("rebase"),
        "{refused}"
    );
    world.push("deploy", "shop", &texts, None).await;
    world.rest().await;
    let approved = engine
        .move_to(&alice(), &at, Door::Approval, Lifecycle::Published)
        .await;
    approved.expect("approved");
    world.rest().await;
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    assert_eq!(stored.status.condition("BranchChanged"), None);
    let said = said_of(&world);
    assert!(!said.contains("Kptfile"), "{said}");
}

/// A person's draft is not based on what is no package, and hears why.
#[tokio::test(start_paused = true)]
async fn a_draft_is_not_based_on_a_directory_without_a_kptfile() {
    let (world, _) = published().await;
    let source = key(NS, FIRST).name;
    let wish = input("deploy", "shop", "mine", Task::Edit { source });
    let namespace = key(NS, "x").namespace;
    let copied = world.engine.create(&alice(), &namespace, wish).await;
    let before = copied.expect("copied").revision;
    let bare = ("main", "main");
    push_onto(&world, "deploy", bare, "shop", &[("README.md", "bare\n")]).await;
    world.rest().await;
    let mut wish = engine::usecase::input_of(&before);
    let rebase = "offshoot.dev/rebase".to_owned();
    wish.meta.annotations.insert(rebase, "true".to_owned());
    let based = world
        .engine
        .update(&alice(), &before.key, Door::Main, wish)
        .await;
    let based = based.expect("it stays as it is");
    assert_eq!(based.revision.tree, before.tree);
    let told = based.warnings.join("; ");
    assert!(told.contains("without a Kptfile"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_package_that_another_one_took_in_is_told_of_before_an_approval() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "apps/shop"));
    world.rest().await;
    world.publish("deploy.apps.shop.packagevariant-1").await;
    world.rest().await;
    let files = [
        ("Kptfile", crate::variants::KPTFILE),
        ("shop/Kptfile", crate::variants::KPTFILE),
        ("shop/deployment.yaml", DEPLOYMENT),
    ];
    world.push("deploy", "apps", &files, None).await;
    world.rest().await;
    let (holds, why) = condition(&world, "shop", "BranchChanged");
    assert_eq!(holds, Status::True);
    assert!(
        why.starts_with("WithinAnotherPackage: ")
            && why.contains("within package 'apps'")
            && why.contains("`git checkout apps/shop/v1 -- apps/shop`"),
        "{why}"
    );
    let said = said_of(&world);
    assert!(said.contains("within package 'apps'"), "{said}");
    quiet(&world).await;
}
