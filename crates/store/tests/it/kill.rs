//! `kill -9` at every named point: a child process dies there, and the next one finds everything
//! that was answered, nothing half done, and a way on.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use store::conformance::World as _;
use store::{
    Answer, FaultVerdict, Faults, GitOptions, GitStore, Point, RefName, RemoteSpec, Repo, Store,
};

use crate::git::url;
use crate::http::Remote;
use crate::local::{draft_on, head, name, one, who};
use crate::oracle::{available, fsck, git};

const POINTS: [Point; 9] = [
    Point::BeforePack,
    Point::PackWritten,
    Point::PackDurable,
    Point::JournalWritten,
    Point::JournalDurable,
    Point::RefMoved,
    Point::RefsWritten,
    Point::BeforeAnswer,
    Point::BeforeSettle,
];

/// Ends the process at the n-th time that a point is reached, without a word.
#[derive(Debug)]
struct Abort {
    point: String,
    left: AtomicUsize,
}

impl Faults for Abort {
    fn at(&self, _url: &str, point: Point) -> FaultVerdict {
        if format!("{point:?}") == self.point && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::process::abort();
        }
        FaultVerdict::Go
    }
}

/// What the child does: a draft that is answered and settled, then more, of which some move two
/// refs, until it dies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(point) = std::env::var("STORE_TEST_DIE_AT") else {
        return;
    };
    let dir = std::env::var("STORE_TEST_DIR").unwrap();
    let left = std::env::var("STORE_TEST_AFTER").unwrap().parse().unwrap();
    let faults = Arc::new(Abort {
        point,
        left: AtomicUsize::new(left),
    });
    let options = GitOptions {
        faults,
        roll_up: 0,
        ..GitOptions::default()
    };
    let store = GitStore::new(Path::new(&dir).join("data"), options);
    let repo = store
        .open(RemoteSpec::new(format!("file://{dir}/repo.git")))
        .await
        .unwrap();
    for n in 0..4 {
        let dir_name = format!("p{n}");
        let (id, mut submission) = one(&*repo, &dir_name);
        let also = RefName::branch(&format!("also/p{n}")).unwrap();
        submission.refs.push(store::RefEdit::create(also, id));
        let Answer::Published(published) = repo.submit(submission).await.unwrap() else {
            panic!("refused");
        };
        let acked = format!("{dir}/acked-{n}");
        std::fs::write(acked, id.to_string()).unwrap();
        repo.settle(&[published.intent.unwrap()]).unwrap();
    }
}

fn die(dir: &Path, point: Point, after: usize) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "kill::child", "--nocapture"])
        .env("STORE_TEST_DIR", dir);
    command.env("STORE_TEST_DIE_AT", format!("{point:?}"));
    command.env("STORE_TEST_AFTER", after.to_string());
    let done = command.output().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&done.status);
    assert_eq!(signal, Some(6), "{point:?}: the child lived on: {done:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_answered_is_lost_in_place() {
    if !available() {
        return;
    }
    for point in POINTS {
        for after in [1, 3] {
            check(point, after).await;
        }
    }
}

async fn check(point: Point, after: usize) {
    let dir = tempfile::tempdir().unwrap();
    git(
        dir.path(),
        &["init", "-q", "--bare", "-b", "main", "repo.git"],
    );
    let path = dir.path().join("repo.git");
    let open = async || {
        let store = GitStore::new(dir.path().join("data"), GitOptions::default());
        let mut spec = RemoteSpec::new(url(&path));
        spec.branch = Some("main".to_owned());
        spec.create_branch = Some(who());
        store.open(spec).await.unwrap()
    };
    drop(open().await);
    if point == Point::RefMoved {
        // Where their directories stand, refs are files of their own and move one after the other.
        for n in 0..4 {
            std::fs::create_dir_all(path.join(format!("refs/heads/drafts/p{n}"))).unwrap();
        }
        std::fs::create_dir_all(path.join("refs/heads/also")).unwrap();
    }
    die(dir.path(), point, after);
    fsck(&path);
    let repo = open().await;
    let context = format!("{point:?} for the {after}. time");
    for n in 0..4 {
        let main = head(&path, &format!("refs/heads/drafts/p{n}/ws"));
        let also = head(&path, &format!("refs/heads/also/p{n}"));
        assert_eq!(main, also, "{context}: p{n} is whole or absent");
        if dir.path().join(format!("acked-{n}")).exists() {
            assert!(main.is_some(), "{context}: p{n} was answered");
        }
    }
    for intent in repo.unfinished().unwrap() {
        let dir_name = String::from_utf8(intent.payload).unwrap();
        let there = repo.refs().unwrap().contains_key(&name(&dir_name));
        assert_eq!(intent.stands, there, "{context}: the intent of {dir_name}");
        repo.settle(&[intent.id]).unwrap();
    }
    let locks = walk(&path)
        .into_iter()
        .filter(|p| p.ends_with(".lock"))
        .count();
    assert_eq!(locks, 0, "{context}: locks are left");
    draft_on(&*repo, "afterwards").await;
    fsck(&path);
}

pub(crate) fn walk(dir: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        if entry.path().is_dir() {
            all.extend(walk(&entry.path()));
        } else {
            all.push(entry.path().display().to_string());
        }
    }
    all
}

/// Dies where it is told, once.
#[derive(Debug)]
pub(crate) struct DieAt(pub(crate) Point, pub(crate) AtomicUsize);

impl Faults for DieAt {
    fn at(&self, _url: &str, point: Point) -> FaultVerdict {
        if point == self.0 && self.1.fetch_add(1, Ordering::SeqCst) == 0 {
            return FaultVerdict::Die;
        }
        FaultVerdict::Go
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_remote_decides_what_a_stopped_push_was() {
    if !available() {
        return;
    }
    let points = [
        (Point::PendingWritten, false),
        (Point::BeforePush, false),
        (Point::PushTaken, true),
        (Point::PushAnswered, true),
        (Point::RefsWritten, true),
        (Point::BeforeAnswer, true),
    ];
    for (point, stands) in points {
        let world = Remote::new(GitOptions::default());
        drop(world.open().await);
        let faults = Arc::new(DieAt(point, AtomicUsize::new(0)));
        let options = GitOptions {
            faults,
            ..GitOptions::default()
        };
        let store = GitStore::new(world.dir.path().join("data"), options);
        let repo = store.open(world.spec()).await.unwrap();
        let (id, mut submission) = one(&*repo, "cut");
        let pin = RefName::parse("refs/offshoot/pin/cut").unwrap();
        submission
            .refs
            .push(store::RefEdit::create(pin.clone(), id).local());
        repo.submit(submission).await.err().unwrap();
        assert!(repo.refs().is_err(), "a stopped writer says so");
        drop((repo, store));
        world.restart();
        let repo = world.open().await;
        let intents = repo.unfinished().unwrap();
        assert_eq!(intents.len(), 1, "{point:?}");
        assert_eq!(intents[0].stands, stands, "{point:?}");
        let refs = repo.refs().unwrap();
        assert_eq!(refs.contains_key(&name("cut")), stands, "{point:?}");
        assert_eq!(
            refs.contains_key(&pin),
            stands,
            "{point:?}: what is ours follows"
        );
        assert_eq!(
            head(&world.served(), "refs/heads/drafts/cut/ws").is_some(),
            stands
        );
        repo.settle(&[intents[0].id]).unwrap();
        drop(Arc::clone(&repo) as Arc<dyn Repo>);
        draft_on(&*repo, "afterwards").await;
    }
}
