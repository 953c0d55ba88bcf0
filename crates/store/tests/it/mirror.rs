//! Our mirrors: nobody else works there, so what keeps us from it may go.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use store::conformance::World as _;
use store::{Answer, Error, GitOptions, RefEdit, RefName, RemoteSpec, Submission};

use crate::git::Local;
use crate::http::Remote;
use crate::kill::walk;
use crate::local::{draft_on, head, name, open};
use crate::oracle::{available, fsck, git};

/// What git leaves of itself when it is killed while it packs refs.
const LEFT: [&str; 4] = [
    "packed-refs.lock",
    "packed-refs.new",
    "refs/heads/main.lock",
    "refs/heads/drafts/app/ws.lock",
];

fn leave(dir: &Path, age: Duration) {
    for left in LEFT {
        let path = dir.join(left);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = File::create(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
}

fn left(dir: &Path) -> usize {
    LEFT.iter().filter(|left| dir.join(left).exists()).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_git_of_ours_left_locks_no_mirror() {
    if !available() {
        return;
    }
    let world = Remote::new(GitOptions::default());
    drop(world.open().await);
    let mirror = world.mirror();
    leave(&mirror, Duration::from_secs(60));
    world.restart();
    let repo = world.open().await;
    assert_eq!(left(&mirror), 0);
    let draft = draft_on(&*repo, "app").await;
    assert_eq!(repo.fetch().await.unwrap().get(&name("app")), Some(&draft));
    git(&mirror, &["pack-refs", "--all"]);
    fsck(&mirror);
    // One that is written to belongs to somebody.
    drop(repo);
    leave(&mirror, Duration::ZERO);
    let ahead = SystemTime::now() + Duration::from_secs(3_600);
    let fresh = File::options()
        .write(true)
        .open(mirror.join("packed-refs.new"));
    fresh.unwrap().set_modified(ahead).unwrap();
    world.restart();
    drop(world.open().await);
    assert_eq!(left(&mirror), LEFT.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_in_a_repository_of_others_is_theirs() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    drop(open(&world).await);
    leave(&world.path(), Duration::from_secs(60));
    world.restart();
    drop(open(&world).await);
    assert_eq!(left(&world.path()), LEFT.len());
}

async fn a_broken_ref_of_a_mirror_is_written_anew(of: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(of);
    let repo = world.open().await;
    let (app, gone) = (name("app"), name("gone"));
    let first = draft_on(&*repo, "app").await;
    let second = draft_on(&*repo, "other").await;
    draft_on(&*repo, "gone").await;
    let mirror = world.mirror();
    let broken = |name: &str, text: &str| {
        let path = mirror.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    // One that the remote has, one that went there, and one of which it never heard.
    broken(app.as_str(), "");
    broken(gone.as_str(), "what is this\n");
    broken("refs/heads/never", "");
    git(&world.served(), &["update-ref", "-d", gone.as_str()]);
    git(
        &world.served(),
        &["update-ref", "refs/heads/new", &second.to_string()],
    );
    let refs = repo.fetch().await.unwrap();
    let new = store::RefName::branch("new").unwrap();
    assert_eq!(refs.get(&new), Some(&second), "the others are fetched");
    assert_eq!(refs.get(&app), Some(&first), "it is where the remote says");
    assert!(!refs.contains_key(&gone));
    assert!(repo.broken_refs().is_empty(), "{:?}", repo.broken_refs());
    let locks = walk(&mirror).into_iter().filter(|p| p.ends_with(".lock"));
    assert_eq!(locks.count(), 0);
    // It can be written, too.
    let moves = Submission {
        refs: vec![RefEdit::update(app.clone(), first, second)],
        ..Submission::default()
    };
    let answer = repo.submit(moves).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
    assert_eq!(head(&world.served(), app.as_str()), Some(second));
    fsck(&mirror);
}

both![a_broken_ref_of_a_mirror_is_written_anew];

/// A branch that somebody makes after the mirror was filled is found: what cannot be opened would never be fetched again.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_made_later_is_found() {
    if !available() {
        return;
    }
    let remote = Remote::new(GitOptions::default());
    let served = remote.served();
    let tree = git(&served, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let commit = git(&served, &["commit-tree", tree.trim(), "-m", "one"]);
    let point = |name: &str| git(&served, &["update-ref", name, commit.trim()]);
    point("refs/heads/other");
    let spec = || RemoteSpec {
        create_branch: None,
        ..remote.spec()
    };
    for _ in 0..2 {
        let opened = remote.store().open(spec()).await;
        assert!(matches!(opened, Err(Error::NoBranch { .. })));
    }
    point("refs/heads/main");
    let repo = remote.store().open(spec()).await.unwrap();
    let head = repo.find_ref(&RefName::branch("main").unwrap()).unwrap();
    assert_eq!(head.unwrap().to_string(), commit.trim());
}
