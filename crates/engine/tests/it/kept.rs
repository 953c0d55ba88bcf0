//! What people committed to a draft stays reachable when the draft is deleted, whoever deletes it (V23).

use engine::usecase::{Caller, Preconditions};
use model::{Class, Door, Lifecycle, Status};
use store::RefName;
use testkit::twin::key;

use crate::bases::{move_ref, published, put};
use crate::variants::{condition, quiet, variant};
use crate::world::{NS, World, alice, repository};

const FIRST: &str = "deploy.shop.packagevariant-1";
const SECOND: &str = "deploy.shop.packagevariant-2";
const DRAFT: &str = "refs/heads/drafts/shop/packagevariant-2";

/// A second draft, which a person edits or does not; where it stands.
async fn drafted(edited: bool) -> (World, model::CommitId) {
    let (world, _) = published().await;
    put(&world, 2, "eu");
    world.rest().await;
    if edited {
        let five = |text: &str| text.replace("replicas: 9", "replicas: 5");
        world.edit(SECOND, "deployment.yaml", five).await;
        world.rest().await;
    }
    let commit = world.revision(SECOND).commit;
    (world, commit)
}

fn kept(world: &World, commit: model::CommitId) -> bool {
    let name = format!("refs/offshoot/recovered/{SECOND}/{commit}");
    world.refs("deploy").get(&name) == Some(&commit)
}

fn is_told(world: &World, part: &str) -> bool {
    let events = world.twin.events();
    events.iter().any(|event| event.message.contains(part))
}

#[tokio::test(start_paused = true)]
async fn what_people_committed_to_a_draft_is_kept_where_a_push_deletes_it() {
    let (world, commit) = drafted(true).await;
    move_ref(&world, DRAFT, None).await;
    world.rest().await;
    assert!(kept(&world, commit), "{:?}", world.refs("deploy"));
    let said = format!("a push deleted {SECOND}, to which somebody had committed {commit}");
    assert!(is_told(&world, &said), "{:?}", world.twin.events());
}

#[tokio::test(start_paused = true)]
async fn what_people_committed_to_a_draft_is_kept_where_a_person_deletes_it() {
    let (world, commit) = drafted(true).await;
    let any = Preconditions::default();
    let deleted = world.engine.delete(&alice(), &key(NS, SECOND), &any).await;
    deleted.expect("deleted");
    assert!(kept(&world, commit), "{:?}", world.refs("deploy"));
    assert!(is_told(&world, "what people committed to it is kept as"));
    // The draft is made again without it: whoever asks why is told where it is.
    world.rest().await;
    let why = world.engine.why_variant(&key(NS, "shop")).await;
    let why = why.expect("a report").expect("a variant");
    let said = format!("refs/offshoot/recovered/{SECOND}/{commit}\n");
    assert!(why.contains(&said), "{why}");
}

/// Where our copy of a repository goes with the process, a ref in it keeps nothing: it is pushed.
#[tokio::test(start_paused = true)]
async fn what_people_committed_is_kept_in_the_remote_where_our_copies_do_not_last() {
    let (mut world, commit) = drafted(true).await;
    world.lasting_copies = false;
    world.restart().await;
    let any = Preconditions::default();
    let deleted = world.engine.delete(&alice(), &key(NS, SECOND), &any).await;
    deleted.expect("deleted");
    world.rest().await;
    let name = format!("refs/offshoot/recovery/{SECOND}/{commit}");
    let of_remote = world.outside("deploy").refs().expect("refs");
    let name = RefName::parse(&name).expect("a ref");
    assert_eq!(of_remote.get(&name), Some(&commit), "{of_remote:?}");
    let why = world.engine.why_variant(&key(NS, "shop")).await;
    let why = why.expect("a report").expect("a variant");
    assert!(why.contains(&format!("{name}\n")), "{why}");
}

#[tokio::test(start_paused = true)]
async fn of_a_draft_that_is_the_machines_alone_nothing_is_kept() {
    let (world, commit) = drafted(false).await;
    move_ref(&world, DRAFT, None).await;
    world.rest().await;
    assert!(!kept(&world, commit), "{:?}", world.refs("deploy"));
}

#[tokio::test(start_paused = true)]
async fn of_a_draft_that_the_branch_has_by_a_merge_nothing_is_kept() {
    let (world, commit) = drafted(true).await;
    move_ref(&world, "refs/heads/main", Some(commit)).await;
    move_ref(&world, DRAFT, None).await;
    world.rest().await;
    assert!(!kept(&world, commit), "{:?}", world.refs("deploy"));
}

/// A backup, a fork or a move to another host: its commits name the variant of the original, which never went there.
#[tokio::test(start_paused = true)]
async fn a_copy_of_a_downstream_repository_loses_nothing_to_the_variants_of_the_original() {
    let (world, commit) = drafted(true).await;
    let url = "file:///git/copy.git";
    let copy = world.store.copy("file:///git/deploy.git");
    world.git("copy").await;
    world.store.put_copy(url, &copy);
    world.twin.put_repository(repository("copy", true));
    world.rest().await;
    world.engine.look_at_everything();
    world.rest().await;
    let refs = world.refs("copy");
    assert_eq!(refs.get(DRAFT), Some(&commit), "{refs:?}");
    let marked = refs.keys().find(|name| name.contains("deletionProposed"));
    assert_eq!(marked, None);
    let copied = "copy.shop.packagevariant-2";
    assert_eq!(world.revision(copied).meta.owners, []);
    assert_ne!(world.revision(SECOND).meta.owners, []);
    quiet(&world).await;
}

/// Somebody proposes the deletion of a revision, and approves it before anybody has looked.
async fn delete(world: &World, name: &str) -> model::ObjectKey {
    let key = key(NS, name);
    let (by, to) = (alice(), Lifecycle::DeletionProposed);
    let proposed = world.engine.move_to(&by, &key, Door::Main, to).await;
    proposed.expect("proposed");
    let any = Preconditions::default();
    let deleted = world.engine.delete(&by, &key, &any).await;
    assert!(deleted.expect("deleted").is_none());
    world.rest().await;
    key
}

/// Somebody deletes the only published revision, at once, while the draft of an upgrade is open: made anew of upstream alone it would
/// take the published edits off the branch.
#[tokio::test(start_paused = true)]
async fn a_draft_keeps_what_it_was_derived_from_although_an_approver_deletes_that() {
    let (world, commit) = drafted(false).await;
    delete(&world, FIRST).await;
    assert_eq!(world.revision(SECOND).commit, commit);
    let text = world.file(SECOND, "deployment.yaml").await;
    assert!(text.contains("replicas: 9"), "{text}");
    let (stalled, why) = condition(&world, "shop", "Stalled");
    assert_eq!(stalled, Status::True);
    assert!(why.contains("packagevariant-1' was deleted"), "{why}");
    quiet(&world).await;
    // The way out: it is published again, with the edits.
    world.publish(SECOND).await;
    world.rest().await;
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
    let text = world.file(SECOND, "deployment.yaml").await;
    assert!(text.contains("replicas: 9"), "{text}");
}

/// The directory goes as well: who takes the whole package away takes nothing out of a draft that somebody has open.
#[tokio::test(start_paused = true)]
async fn a_draft_keeps_what_it_took_over_of_a_package_that_is_gone() {
    let (world, commit) = drafted(true).await;
    delete(&world, FIRST).await;
    delete(&world, "deploy.shop.main").await;
    assert_eq!(world.revision(SECOND).commit, commit);
    let (stalled, why) = condition(&world, "shop", "Stalled");
    assert_eq!(stalled, Status::True);
    assert!(why.contains("the draft stays as it is"), "{why}");
    quiet(&world).await;
    // The way out is one: it publishes the package again.
    world.publish(SECOND).await;
    world.rest().await;
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
    let text = world.file(SECOND, "deployment.yaml").await;
    assert!(text.contains("replicas: 5"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_draft_of_what_was_deleted_is_made_of_upstream_alone_when_that_is_asked_for() {
    let (world, _) = drafted(false).await;
    let first = delete(&world, FIRST).await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = model::UpstreamVersion::Revision(2);
    let data = &mut wanted.spec.context.data;
    data.insert("region".to_owned(), "eu".to_owned());
    let meta = std::sync::Arc::make_mut(&mut wanted.meta);
    let recreate = "offshoot.dev/recreate".to_owned();
    meta.annotations.insert(recreate, first.name.to_string());
    world.twin.put_variant(wanted);
    world.rest().await;
    let text = world.file(SECOND, "deployment.yaml").await;
    assert!(text.contains("replicas: 1"), "{text}");
}

/// A variant that is deleted with its dependents first (`--cascade=foreground`) leaves by its own policy, and whoever may write a
/// revision may name an owner of it that goes: the collector approves nothing, and takes nothing that somebody sees to.
#[tokio::test(start_paused = true)]
async fn the_collector_takes_neither_what_was_published_nor_what_a_variant_sees_to() {
    let (world, commit) = drafted(true).await;
    let collector = Caller::user("system:serviceaccount:kube-system:generic-garbage-collector");
    let first = key(NS, "deploy.shop.packagevariant-1");
    let (by, to) = (alice(), Lifecycle::DeletionProposed);
    let proposed = world.engine.move_to(&by, &first, Door::Main, to).await;
    proposed.expect("proposed");
    let any = Preconditions::default();
    for name in [&first, &key(NS, SECOND)] {
        let refused = world.engine.delete(&collector, name, &any).await;
        let refused = refused.expect_err("refused");
        assert_eq!(refused.class(), Class::Denied, "{refused}");
    }
    assert_eq!(world.refs("deploy").get(DRAFT), Some(&commit));
    assert!(world.refs("deploy").contains_key("refs/tags/shop/v1"));
    world.twin.delete_variant(NS, "shop");
    world.rest().await;
    assert_eq!(world.refs("deploy").get(DRAFT), None);
    assert!(kept(&world, commit), "{:?}", world.refs("deploy"));
}

/// Whoever deletes the branch takes away what people committed to it since the last approval; so does whoever deletes or moves a tag
/// that publishes what the branch does not lead to.
#[tokio::test(start_paused = true)]
async fn what_stood_on_a_branch_or_a_tag_is_kept_where_that_is_deleted_or_moved() {
    let (world, _) = published().await;
    let edit = [("mine.yaml", "kind: Mine\n")];
    let main = "refs/heads/main";
    let before = world.refs("deploy")[main];
    world.push("deploy", "notes", &edit, None).await;
    world.rest().await;
    let ours = world.refs("deploy")[main];
    assert_ne!(ours, before);
    move_ref(&world, "refs/tags/shop/v7", Some(ours)).await;
    move_ref(&world, main, Some(before)).await;
    world.rest().await;
    let at = |name: &str| format!("refs/offshoot/recovered/{name}/{ours}");
    assert_eq!(world.refs("deploy").get(&at("main")), Some(&ours));
    move_ref(&world, &at("main"), None).await;
    // The tag alone leads to it.
    world.rest().await;
    move_ref(&world, "refs/tags/shop/v7", None).await;
    world.rest().await;
    let refs = world.refs("deploy");
    assert_eq!(refs.get(&at("deploy.shop.v7")), Some(&ours), "{refs:?}");
    move_ref(&world, &at("deploy.shop.v7"), None).await;
    // And the branch.
    move_ref(&world, main, Some(ours)).await;
    world.rest().await;
    move_ref(&world, main, None).await;
    world.rest().await;
    let refs = world.refs("deploy");
    assert_eq!(refs.get(&at("main")), Some(&ours), "{refs:?}");
}

/// Somebody takes the package out of a draft by git: there is no revision any more, and the ref is in the way of the next one. The
/// variant says so, and goes on once the ref is gone.
#[tokio::test(start_paused = true)]
async fn a_draft_without_its_package_is_told_by_its_variant() {
    let (world, before) = drafted(false).await;
    let main = world.refs("deploy")["refs/heads/main"];
    let other = [("mine.yaml", "kind: Mine\n")];
    world.push("deploy", "notes", &other, None).await;
    let without = world.refs("deploy")["refs/heads/main"];
    move_ref(&world, "refs/heads/main", Some(main)).await;
    let root = world.outside("deploy");
    // A commit on top of the draft in which the package is gone.
    let written = root
        .write(store::CommitSpec {
            base: Some(before),
            dir: &store::Dir::parse("shop").expect("a directory"),
            content: store::Content::Files(&model::Files::new(), &[]),
            parents: &[before, without],
            author: &crate::world::person(),
            committer: &crate::world::person(),
            message: "by hand\n",
        })
        .expect("a commit");
    let to = Some(written.commit());
    crate::bases::push_ref(&world, DRAFT, to, vec![written]).await;
    world.rest().await;
    put(&world, 1, "us");
    world.rest().await;
    let (ready, why) = condition(&world, "shop", "Ready");
    assert_eq!(ready, Status::False);
    assert!(
        why.contains("InTheWay: branch 'drafts/shop/packagevariant-2'"),
        "{why}"
    );
    quiet(&world).await;
    move_ref(&world, DRAFT, None).await;
    world.rest().await;
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    world.rest().await;
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
}
