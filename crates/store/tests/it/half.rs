//! Changes of which a part stands on this disk: completed or told, and nothing is put on top of them before.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use store::conformance::World as _;
use store::{
    Answer, Error, GitOptions, GitStore, Handle, Point, RefEdit, RefName, RemoteSpec, Repo,
    Store as _, Submission, SubmissionRefusal,
};
use testkit::git_http::{Asked, Fault};

use crate::between::{Between, options};
use crate::git::Local;
use crate::http::Remote;
use crate::kill::DieAt;
use crate::local::{draft_on, head, name, one, open};
use crate::oracle::{available, fsck, git};
use crate::push::{ERROR, approval, tag};

/// A draft that is a file of its own, where its tag would be one, too.
async fn loose_draft(world: &Local, repo: &dyn Repo) -> model::CommitId {
    let (dir, app) = (world.path(), name("app"));
    let draft = draft_on(repo, "app").await;
    git(&dir, &["update-ref", "-d", app.as_str()]);
    fs::create_dir_all(dir.join("refs/heads/drafts/app")).unwrap();
    fs::create_dir_all(dir.join("refs/tags/app")).unwrap();
    git(&dir, &["update-ref", app.as_str(), &draft.to_string()]);
    draft
}

fn obstacle() -> String {
    format!("{}/x", tag("app"))
}

fn pending(answer: Result<Answer, Error>) -> Handle {
    match answer {
        Ok(Answer::Pending(handle)) => handle,
        other => panic!("a part stands: {other:?}"),
    }
}

/// A draft to be approved, and somebody who makes a ref below its tag when a point is passed.
async fn shadowed_at(point: Point) -> (Local, Arc<dyn Repo>, model::CommitId) {
    let between = Arc::new(Between::default());
    let world = Local::new(options(&between));
    let repo = open(&world).await;
    let draft = loose_draft(&world, &*repo).await;
    let dir = world.path();
    let main = head(&dir, "main").unwrap();
    between.at(point, move || {
        drop(git(&dir, &["update-ref", &obstacle(), &main.to_string()]));
    });
    (world, repo, draft)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_below_a_ref_keeps_all_from_moving() {
    if !available() {
        return;
    }
    let (world, repo, draft) = shadowed_at(Point::JournalDurable).await;
    let dir = world.path();
    let main = head(&dir, "main").unwrap();
    let answer = repo.submit(approval(&*repo, "app", draft)).await.unwrap();
    assert!(
        matches!(&answer, Answer::Refused(SubmissionRefusal::Shadowed { name, .. }) if *name == tag("app")),
        "{answer:?}"
    );
    assert_eq!(head(&dir, "main"), Some(main), "nothing moved");
    assert_eq!(head(&dir, name("app").as_str()), Some(draft));
    assert!(repo.unfinished().unwrap().is_empty());
    fsck(&dir);
}

/// A world in which main moved to the approved package, and its tag could not be made.
async fn half_published() -> (Local, Arc<dyn Repo>, model::CommitId, Handle) {
    let (world, repo, draft) = shadowed_at(Point::RefMoved).await;
    let dir = world.path();
    let main = head(&dir, "main").unwrap();
    let handle = pending(repo.submit(approval(&*repo, "app", draft)).await);
    assert_ne!(head(&dir, "main"), Some(main), "main moved");
    assert_eq!(head(&dir, tag("app").as_str()), None);
    assert_eq!(head(&dir, name("app").as_str()), Some(draft));
    assert_eq!(repo.unfinished().unwrap().len(), 1, "and is remembered");
    (world, repo, draft, handle)
}

fn clear(world: &Local) {
    git(&world.path(), &["update-ref", "-d", &obstacle()]);
}

fn is_whole(dir: &Path) {
    let main = head(dir, "main");
    assert_eq!(head(dir, tag("app").as_str()), main, "the tag is made");
    assert_eq!(head(dir, name("app").as_str()), None, "the draft is gone");
    fsck(dir);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_moved_in_part_is_completed_when_asked_for() {
    if !available() {
        return;
    }
    let (world, repo, _, handle) = half_published().await;
    clear(&world);
    let answer = repo.outcome(handle).await.unwrap();
    let Answer::Published(published) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(published.commit, head(&world.path(), "main"));
    assert_eq!(published.refs.get(&name("app")), Some(&None));
    is_whole(&world.path());
    repo.settle(&[published.intent.unwrap()]).unwrap();
    assert!(repo.unfinished().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_moved_in_part_is_completed_before_anything_comes_on_top() {
    if !available() {
        return;
    }
    let (world, repo, _, handle) = half_published().await;
    clear(&world);
    draft_on(&*repo, "more").await;
    is_whole(&world.path());
    let answer = repo.outcome(handle).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_moved_in_part_is_completed_by_a_restart() {
    if !available() {
        return;
    }
    let (world, repo, _, _) = half_published().await;
    clear(&world);
    drop(repo);
    world.restart();
    let repo = open(&world).await;
    is_whole(&world.path());
    let open = repo.unfinished().unwrap();
    assert!(open.len() == 1 && open[0].stands, "{open:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_completed_is_told_and_replaces_nothing() {
    if !available() {
        return;
    }
    let (world, repo, draft, handle) = half_published().await;
    let answer = repo.outcome(handle).await.unwrap();
    assert!(
        matches!(&answer, Answer::Refused(SubmissionRefusal::Shadowed { name, other })
            if *name == tag("app") && *other == obstacle()),
        "{answer:?}"
    );
    assert_eq!(head(&world.path(), name("app").as_str()), Some(draft));
    assert!(repo.unfinished().unwrap().is_empty());
    draft_on(&*repo, "more").await;
}

/// Moved, and perhaps gone with the next power cut: no error says that nothing happened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_moved_and_cannot_be_made_durable_is_not_answered_as_nothing() {
    if !available() {
        return;
    }
    let between = Arc::new(Between::default());
    let world = Local::new(options(&between));
    let repo = open(&world).await;
    let heads = world.path().join("refs/heads");
    let (drafts, aside) = (heads.join("drafts"), heads.join("aside"));
    fs::create_dir_all(drafts.join("app")).unwrap();
    // A link that leads to itself cannot be synced.
    between.at(Point::RefsWritten, {
        let (drafts, aside) = (drafts.clone(), aside.clone());
        move || {
            fs::rename(&drafts, aside).unwrap();
            std::os::unix::fs::symlink(&drafts, &drafts).unwrap();
        }
    });
    let (id, submission) = one(&*repo, "app");
    let handle = pending(repo.submit(submission).await);
    fs::remove_file(&drafts).unwrap();
    fs::rename(aside, &drafts).unwrap();
    let before = repo.stats().fsyncs;
    let answer = repo.outcome(handle).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
    assert!(repo.stats().fsyncs > before, "it is durable by now");
    assert_eq!(head(&world.path(), name("app").as_str()), Some(id));
}

fn main_of(dir: &Path) -> PathBuf {
    dir.join("refs/heads/main")
}

/// The remote took it, and our mirror cannot follow.
async fn what_the_remote_took_is_no_error(of: GitOptions) {
    if !available() {
        return;
    }
    let between = Arc::new(Between::default());
    let world = Remote::new(GitOptions {
        direct: of.direct,
        ..options(&between)
    });
    let repo = world.open().await;
    let draft = draft_on(&*repo, "app").await;
    let mirror = world.mirror();
    let before = fs::read(main_of(&mirror)).ok();
    between.at(Point::PushAnswered, {
        let mirror = mirror.clone();
        move || fs::write(main_of(&mirror), "").unwrap()
    });
    let handle = pending(repo.submit(approval(&*repo, "app", draft)).await);
    let main = head(&world.served(), "main");
    assert_eq!(head(&world.served(), tag("app").as_str()), main);
    match before {
        Some(text) => fs::write(main_of(&mirror), text).unwrap(),
        None => fs::remove_file(main_of(&mirror)).unwrap(),
    }
    assert_eq!(repo.unfinished().unwrap().len(), 1);
    let answer = repo.outcome(handle).await.unwrap();
    let Answer::Published(published) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(published.commit, main);
    let refs = repo.refs().unwrap();
    assert_eq!(refs.get(&tag("app")).copied(), main);
    assert!(!refs.contains_key(&name("app")));
    repo.settle(&[published.intent.unwrap()]).unwrap();
    assert!(repo.unfinished().unwrap().is_empty());
}

both![what_the_remote_took_is_no_error];

fn is_broken(error: &Error, wanted: &RefName) -> bool {
    matches!(error, Error::BrokenRef { name, .. } if *name == wanted.to_string())
}

/// As long as one of them cannot be looked at, the last process's intents are in nobody's way but the writer's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_put_on_top_of_a_recovery_that_failed() {
    if !available() {
        return;
    }
    let world = Remote::new(GitOptions::default());
    drop(world.open().await);
    let options = GitOptions {
        faults: Arc::new(DieAt(Point::PushTaken, AtomicUsize::new(0))),
        ..GitOptions::default()
    };
    let store = GitStore::new(world.dir.path().join("data"), options);
    let repo = store.open(world.spec()).await.unwrap();
    let (id, mut submission) = one(&*repo, "cut");
    let pin = RefName::parse("refs/offshoot/pin/cut").unwrap();
    submission
        .refs
        .push(RefEdit::create(pin.clone(), id).local());
    repo.submit(submission).await.err().unwrap();
    drop((repo, store));
    world.restart();
    let broken = world.mirror().join(pin.as_str());
    fs::create_dir_all(broken.parent().unwrap()).unwrap();
    fs::write(&broken, "").unwrap();
    // It cannot be asked when it is opened.
    let refuse = (Asked::Refs, Fault::Refuse(ERROR));
    world.server.set(|m| m.faults.push(refuse));
    let repo = world.open().await;
    assert_eq!(world.server.manners().faults, []);
    for attempt in ["first", "second"] {
        let (_, submission) = one(&*repo, "next");
        let answer = repo.submit(submission).await;
        let told = answer.as_ref().is_err_and(|error| is_broken(error, &pin));
        assert!(told, "{attempt}: {answer:?}");
    }
    fs::remove_file(&broken).unwrap();
    assert!(repo.unfinished().unwrap().iter().all(|i| !i.known));
    draft_on(&*repo, "next").await;
    assert_eq!(repo.refs().unwrap().get(&pin), Some(&id), "it is completed");
    let open = repo.unfinished().unwrap();
    assert!(open.len() == 1 && open[0].known && open[0].stands);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_ref_of_an_intent_keeps_nobody_from_reading() {
    if !available() {
        return;
    }
    let mut world = Local::new(GitOptions::default());
    drop(open(&world).await);
    let dir = world.path();
    let also = RefName::branch("also/app").unwrap();
    for place in ["drafts/app", "also"] {
        fs::create_dir_all(dir.join("refs/heads").join(place)).unwrap();
    }
    world.set_faults(Arc::new(DieAt(Point::RefMoved, AtomicUsize::new(0))));
    let repo = open(&world).await;
    let (id, mut submission) = one(&*repo, "app");
    submission.refs.push(RefEdit::create(also.clone(), id));
    repo.submit(submission).await.err().unwrap();
    drop(repo);
    assert_eq!(head(&dir, also.as_str()), Some(id), "the first one moved");
    let broken = dir.join(name("app").as_str());
    fs::create_dir_all(broken.parent().unwrap()).unwrap();
    fs::write(&broken, "").unwrap();
    world.restart();
    let repo = world.store().open(RemoteSpec::new(world.url())).await;
    let repo = repo.unwrap();
    assert_eq!(repo.refs().unwrap().get(&also), Some(&id), "it is read");
    for attempt in ["first", "second"] {
        let (_, submission) = one(&*repo, "next");
        let answer = repo.submit(submission).await;
        let told = answer
            .as_ref()
            .is_err_and(|error| is_broken(error, &name("app")));
        assert!(told, "{attempt}: {answer:?}");
    }
    fs::remove_file(&broken).unwrap();
    draft_on(&*repo, "next").await;
    assert_eq!(head(&dir, name("app").as_str()), Some(id), "and completed");
    let submission = Submission::default();
    assert!(repo.submit(submission).await.is_ok());
    fsck(&dir);
}
