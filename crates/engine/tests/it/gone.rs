//! Objects that go away and repositories that are made anew under our feet (X10).

use engine::ports::{Change, Expect, RecordWrite, Records as _};
use model::{ObjectKey, Revision, Status};
use testkit::twin::key;

use crate::outside::push_onto;
use crate::variants::{KPTFILE, quiet, ready, variant};
use crate::world::{NS, World, alice, input, repository};

const DRAFT: &str = "deploy.shop.packagevariant-1";
const DEPLOY: &str = "file:///git/deploy.git";

fn said(world: &World, variant: &str) -> (Status, String) {
    let stored = world.twin.variant(NS, variant).expect("the variant");
    let ready = stored.status.condition("Ready").expect("a condition");
    (ready.status, format!("{}: {}", ready.reason, ready.message))
}

fn repository_says(world: &World, name: &str) -> (Status, String) {
    let stored = world.twin.repository(NS, name).expect("the repository");
    let ready = stored.status.conditions.first().expect("a condition");
    (ready.status, ready.message.clone())
}

async fn look(world: &World) {
    world.engine.look_at_everything();
    world.rest().await;
}

async fn delete_ref(world: &World, short: &str) {
    let outside = world.outside("deploy");
    let name = store::RefName::branch(short).expect("a ref");
    let at = outside.refs().expect("refs")[&name];
    let gone = store::Submission {
        refs: vec![store::RefEdit::delete(name, at)],
        ..store::Submission::default()
    };
    let answer = outside.submit(gone).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
}

/// A draft that is made again after an upkeep shares nothing with what went.
#[tokio::test(start_paused = true)]
async fn a_draft_made_after_an_upkeep_is_whole() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let before = world.file(DRAFT, "deployment.yaml").await;
    delete_ref(&world, "drafts/shop/packagevariant-1").await;
    world.store.prune(DEPLOY);
    look(&world).await;
    assert_eq!(said(&world, "shop").0, Status::True);
    let draft = world.names().into_iter().find(|n| n.contains(".shop."));
    let draft = draft.expect("a draft");
    assert_eq!(world.file(&draft, "deployment.yaml").await, before);
    world.restart().await;
    assert_eq!(world.file(&draft, "deployment.yaml").await, before);
    quiet(&world).await;
}

/// Another repository at the same place is what a new registration would find there.
#[tokio::test(start_paused = true)]
async fn a_repository_made_anew_starts_as_when_it_was_registered() {
    for create_branch in [false, true] {
        let world = ready().await;
        let mut wanted = repository("deploy", true);
        wanted.git.create_branch = create_branch;
        world.twin.put_repository(wanted);
        world.twin.put_variant(variant("shop", "shop"));
        world.rest().await;
        let before = world.file(DRAFT, "deployment.yaml").await;
        world.store.replace(DEPLOY);
        look(&world).await;
        if !create_branch {
            let (status, message) = repository_says(&world, "deploy");
            assert_eq!(status, Status::False, "{message}");
            assert!(message.contains("no branch \"main\""), "{message}");
            world.git("deploy").await;
        }
        look(&world).await;
        assert_eq!(repository_says(&world, "deploy").0, Status::True);
        assert_eq!(
            said(&world, "shop").0,
            Status::True,
            "{}",
            said(&world, "shop").1
        );
        assert_eq!(world.file(DRAFT, "deployment.yaml").await, before);
        quiet(&world).await;
    }
}

/// A branch that was there is missed, and no empty one stands in for it: not at the next look, not after a restart, and not for
/// whoever registers the repository anew.
#[tokio::test(start_paused = true)]
async fn a_branch_that_was_there_is_missed_and_never_made_anew() {
    let mut world = ready().await;
    let mut wanted = repository("deploy", true);
    wanted.git.create_branch = true;
    world.twin.put_repository(wanted.clone());
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let main = store::RefName::branch("main").expect("a ref");
    let head = world.outside("deploy").refs().expect("refs")[&main];
    delete_ref(&world, "main").await;
    let missed = |world: &World| {
        let refs = world.outside("deploy").refs().expect("refs");
        assert_eq!(refs.get(&main), None, "it was made anew");
        let (status, message) = repository_says(world, "deploy");
        assert_eq!(status, Status::False, "{message}");
        assert!(
            message.contains("none is made where one was: push it"),
            "{message}"
        );
    };
    look(&world).await;
    missed(&world);
    look(&world).await;
    world.restart().await;
    missed(&world);
    let told = world.twin.events();
    assert!(
        told.iter()
            .any(|e| format!("{e:?}").contains("none is made where one was"))
    );
    // Nothing is remembered of a new registration: its drafts tell.
    world.twin.delete_repository(NS, "deploy");
    world.rest().await;
    world.twin.put_repository(wanted);
    look(&world).await;
    missed(&world);
    let back = store::Submission {
        refs: vec![store::RefEdit::create(main.clone(), head)],
        ..store::Submission::default()
    };
    let answer = world.outside("deploy").submit(back).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    look(&world).await;
    assert_eq!(repository_says(&world, "deploy").0, Status::True);
    quiet(&world).await;
}

/// Ready says whether what it names can be read; nobody else is held up.
#[tokio::test(start_paused = true)]
async fn a_revision_whose_files_are_gone_says_so_until_they_are_back() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.twin.put_variant(variant("other", "other"));
    world.rest().await;
    let key: ObjectKey = key(NS, DRAFT);
    let (_, files) = world.engine.resources(&key).await.expect("files");
    // The Kptfile names the package, so that no other draft has it.
    let own = files[&package::kptfile::path()].id().expect("an id");
    world.store.lose(DEPLOY, &own.to_string(), true);
    look(&world).await;
    let gone = own.to_string();
    let condition = |world: &World| {
        let draft = world.revision(DRAFT);
        draft.condition("offshoot.dev/Objects").cloned()
    };
    let found = condition(&world).expect("a condition");
    assert_eq!(found.status, Status::False);
    assert!(found.message.contains(&gone), "{}", found.message);
    assert!(found.message.contains("bring it back"), "{}", found.message);
    let (status, message) = said(&world, "shop");
    assert_eq!(status, Status::False, "{message}");
    assert!(message.starts_with("DownstreamUnreadable"), "{message}");
    assert!(message.contains(&gone), "{message}");
    assert_eq!(said(&world, "other").0, Status::True);
    let (status, message) = repository_says(&world, "deploy");
    assert_eq!(status, Status::True, "{message}");
    assert!(message.contains(DRAFT), "{message}");
    quiet(&world).await;
    world.store.lose(DEPLOY, &gone, false);
    look(&world).await;
    assert_eq!(condition(&world), None);
    assert_eq!(said(&world, "shop").0, Status::True);
    assert_eq!(repository_says(&world, "deploy").1, "Repository Ready");
    quiet(&world).await;
}

/// A ref that leads nowhere is told; its record stays for the day that it leads somewhere, and the rest works.
#[tokio::test(start_paused = true)]
async fn a_ref_that_leads_nowhere_keeps_nobody_from_the_others() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let before = world.revision(DRAFT);
    let lost = before.commit.to_string();
    world.store.lose(DEPLOY, &lost, true);
    world.restart().await;
    world.twin.put_variant(variant("other", "other"));
    world.rest().await;
    assert_eq!(
        said(&world, "other").0,
        Status::True,
        "{}",
        said(&world, "other").1
    );
    let (status, message) = repository_says(&world, "deploy");
    assert_eq!(status, Status::True, "{message}");
    let name = "refs/heads/drafts/shop/packagevariant-1";
    assert!(message.contains(name), "{message}");
    assert!(message.contains("git update-ref"), "{message}");
    let kept = world.revision(DRAFT);
    assert_eq!(kept.meta.uid, before.meta.uid);
    assert_eq!(kept.meta.owners, before.meta.owners);
    assert_eq!(said(&world, "shop").0, Status::False);
    quiet(&world).await;
    world.store.lose(DEPLOY, &lost, false);
    look(&world).await;
    assert_eq!(repository_says(&world, "deploy").1, "Repository Ready");
    assert_eq!(
        said(&world, "shop").0,
        Status::True,
        "{}",
        said(&world, "shop").1
    );
    assert_eq!(world.revision(DRAFT).meta.uid, before.meta.uid);
    quiet(&world).await;
}

/// A record that was written while its repository was taken away: nobody could delete it.
async fn written_late(world: &World) {
    let record = world
        .twin
        .revisions()
        .into_iter()
        .find(|r| r.repository.as_str() == "deploy");
    let record = record.expect("a record");
    world.twin.delete_repository(NS, "deploy");
    world.rest().await;
    let write = RecordWrite {
        expect: Expect::Absent,
        change: Change::Put(Box::new(Revision::clone(&record))),
    };
    let written = world.twin.commit(vec![write]).await;
    assert!(written.iter().all(Result::is_ok), "{written:?}");
}

fn of_deploy(world: &World) -> Vec<String> {
    let mut names = world.names();
    names.retain(|n| n.starts_with("deploy."));
    names
}

#[tokio::test(start_paused = true)]
async fn what_is_recorded_of_a_repository_that_has_gone_goes_at_the_next_start() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    written_late(&world).await;
    assert_eq!(of_deploy(&world).len(), 1);
    world.restart().await;
    assert_eq!(of_deploy(&world), [""; 0]);
}

/// Whoever took the registration away did not know it: a list from the past hid it.
#[tokio::test(start_paused = true)]
async fn what_is_recorded_of_a_repository_that_has_gone_goes_once_it_is_heard_of() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    written_late(&world).await;
    assert_eq!(of_deploy(&world).len(), 1);
    world.rest().await;
    assert_eq!(of_deploy(&world), [""; 0]);
}

/// No look saw that it went: it stands where the last one saw it, and its record is gone.
#[tokio::test(start_paused = true)]
async fn a_deleted_draft_that_an_older_copy_brings_back_is_listed_again() {
    let world = ready().await;
    let draft = input("deploy", "shop", "mine", crate::people::init());
    let namespace = key(NS, "any").namespace;
    let made = world.engine.create(&alice(), &namespace, draft).await;
    let made = made.expect("a draft").revision.key.clone();
    look(&world).await;
    let copy = world.store.copy(DEPLOY);
    let deleted = world
        .engine
        .delete(&alice(), &made, &Default::default())
        .await;
    deleted.expect("deleted");
    assert!(!world.names().contains(&made.name.to_string()));
    world.store.put_copy(DEPLOY, &copy);
    look(&world).await;
    assert!(world.names().contains(&made.name.to_string()), "it is back");
    quiet(&world).await;
}

/// A person's proposal went another way than the draft beside it: one of the two is served, and the other is told of, before
/// and after it is published.
#[tokio::test(start_paused = true)]
async fn a_draft_beside_another_proposal_of_its_name_is_told_of() {
    let world = ready().await;
    for (branch, text) in [
        ("drafts/shop/mine", "draft\n"),
        ("proposed/shop/mine", "proposal\n"),
    ] {
        let files = [("Kptfile", KPTFILE), ("note.md", text)];
        push_onto(&world, "deploy", ("main", branch), "shop", &files).await;
    }
    look(&world).await;
    assert_eq!(
        world.file("deploy.shop.mine", "note.md").await,
        "proposal\n"
    );
    let told = "package shop: Draft mine cannot be served: another revision has the object name deploy.shop.mine";
    let (_, says) = repository_says(&world, "deploy");
    assert!(says.contains(told), "{says}");
    world.publish("deploy.shop.mine").await;
    look(&world).await;
    let (_, says) = repository_says(&world, "deploy");
    assert!(says.contains(told), "{says}");
    assert!(
        world
            .refs("deploy")
            .contains_key("refs/heads/drafts/shop/mine")
    );
    quiet(&world).await;
}
