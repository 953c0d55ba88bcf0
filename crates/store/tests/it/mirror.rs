//! Our mirrors: nobody else works there, so what keeps us from it may go.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use store::conformance::World as _;
use store::GitOptions;

use crate::git::Local;
use crate::http::Remote;
use crate::local::{draft_on, name, open};
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
