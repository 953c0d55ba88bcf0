//! Objects and files of git's that are much larger than they look, or no files at all: told by their sizes, and nobody
//! waits for them.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flate2::{Compression, write::ZlibEncoder};
use model::{Class, CommitId};
use store::{Dir, Error, GitOptions, RefName, RemoteSpec, Repo};

use crate::git::Local;
use crate::local::{draft_on, open};
use crate::oracle::{available, git};

/// Writes a loose object piece by piece, and says its id.
fn object(dir: &Path, kind: &str, pieces: &[(Vec<u8>, usize)]) -> String {
    let size: usize = pieces
        .iter()
        .map(|(piece, times)| piece.len() * times)
        .sum();
    let mut hash = gix::hash::hasher(gix::hash::Kind::Sha1);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    let header = format!("{kind} {size}\0").into_bytes();
    for (piece, times) in std::iter::once(&(header, 1)).chain(pieces) {
        for _ in 0..*times {
            hash.update(piece);
            packed.write_all(piece).unwrap();
        }
    }
    let id = hash.try_finalize().unwrap().to_string();
    let path = dir.join("objects").join(&id[..2]);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join(&id[2..]), packed.finish().unwrap()).unwrap();
    id
}

fn entry(mode: &str, name: &str, id: &str) -> Vec<u8> {
    let mut raw = format!("{mode} {name}\0").into_bytes();
    let hex = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
    raw.extend((0..20).map(|n| hex(2 * n)));
    raw
}

fn tree(dir: &Path, entries: &[(&str, &str, &str)]) -> String {
    let raw = entries
        .iter()
        .flat_map(|(mode, name, id)| entry(mode, name, id));
    object(dir, "tree", &[(raw.collect(), 1)])
}

/// A commit with a message of so many mebibytes.
fn commit(dir: &Path, tree: &str, mebibytes: usize) -> String {
    let who = "a <a@example.com> 1700000000 +0000";
    let head = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n");
    let filler = vec![b'x'; 1 << 20];
    object(
        dir,
        "commit",
        &[(head.into_bytes(), 1), (filler, mebibytes)],
    )
}

fn small(dir: &Path) -> String {
    let file = object(dir, "blob", &[(b"kind: Kptfile\n".to_vec(), 1)]);
    tree(dir, &[("100644", "Kptfile", &file)])
}

fn put(dir: &Path, name: &str, id: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{id}\n")).unwrap();
}

fn told(repo: &dyn Repo) -> Vec<String> {
    let told = |(name, why): (&RefName, &String)| format!("{}: {why}", name.short());
    repo.broken_refs().iter().map(told).collect()
}

/// Git's words for it, as a pack instead of files of their own.
fn pack(dir: &Path) {
    git(dir, &["repack", "-adq", "--window=2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_hundreds_of_megabytes_is_told_and_not_read() {
    if !available() {
        return;
    }
    for packed in [false, true] {
        let world = Local::new(GitOptions::default());
        let repo = open(&world).await;
        let dir = world.path();
        let root = tree(&dir, &[("40000", "p", &small(&dir))]);
        let bomb = commit(&dir, &root, 200);
        // One of the same text, but for its end: in a pack it is a difference of a few bytes.
        let other = commit(&dir, &root, 201);
        put(&dir, "refs/tags/p/v1", &bomb);
        put(&dir, "refs/tags/p/v2", &other);
        let text = format!("object {bomb}\ntype commit\ntag v3\n\n");
        let tag = object(
            &dir,
            "tag",
            &[(text.into_bytes(), 1), (vec![b'x'; 1 << 20], 20)],
        );
        put(&dir, "refs/tags/p/v3", &tag);
        if packed {
            pack(&dir);
        }
        let before = repo.stats();
        let refs = repo.refs().unwrap();
        assert_eq!(refs.len(), 1, "main alone: {refs:?}");
        let told = told(&*repo).join("\n");
        for (name, id, size) in [("v1", &bomb, 200), ("v2", &other, 201), ("v3", &tag, 20)] {
            let line = told.lines().find(|l| l.contains(name)).unwrap();
            assert!(line.contains(id), "{line}");
            assert!(line.contains("exceeds the limit of 16777216"), "{line}");
            assert!(line.contains(&format!(": {}", size << 20)[..6]), "{line}");
        }
        assert_eq!(repo.stats().reads, before.reads, "nothing of it is read");
        let error = repo.commit(CommitId::parse(&bomb).unwrap()).unwrap_err();
        assert_eq!(error.class(), Class::Limit, "{error}");
        draft_on(&*repo, "more").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_of_two_million_files_is_told_and_not_listed() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let dir = world.path();
    let file = object(&dir, "blob", &[(b"x".to_vec(), 1)]);
    let wide = |count: usize| {
        let name = |n: usize| entry("100644", &format!("a{n:07}"), &file);
        let block: Vec<u8> = (0..count).flat_map(name).collect();
        object(
            &dir,
            "tree",
            &[(entry("100644", "Kptfile", &file), 1), (block, 1)],
        )
    };
    let (huge, large) = (wide(1_000_000), wide(40_000));
    let inside = tree(
        &dir,
        &[("100644", "Kptfile", &file), ("40000", "large", &large)],
    );
    let root = tree(
        &dir,
        &[
            ("40000", "huge", &huge),
            ("40000", "inside", &inside),
            ("40000", "large", &large),
            ("40000", "small", &small(&dir)),
        ],
    );
    let at = commit(&dir, &root, 0);
    put(&dir, "refs/heads/main", &at);
    let root = repo.commit(CommitId::parse(&at).unwrap()).unwrap().tree;
    let all = repo.packages(root, &Dir::root()).unwrap();
    let names: Vec<String> = all.found.iter().map(|(d, _)| d.to_string()).collect();
    assert_eq!(names, ["inside", "large", "small"]);
    assert_eq!(all.beyond.len(), 1, "{:?}", all.beyond);
    assert!(all.beyond[0].contains(&huge), "{:?}", all.beyond);
    let of = |name: &str| {
        all.found
            .iter()
            .find(|(d, _)| d.as_str() == name)
            .unwrap()
            .1
    };
    let error = repo.snapshot_within(of("large")).unwrap_err();
    assert_eq!(error.class(), Class::Limit);
    assert!(
        error.to_string().contains("limit of 40000: 40001"),
        "{error}"
    );
    // Within a package such a directory is carried along as it is.
    let (shot, beyond) = repo.snapshot_within(of("inside")).unwrap();
    assert_eq!(
        (shot.files.len(), shot.opaque.len(), beyond.len()),
        (1, 1, 1)
    );
    assert!(beyond[0].why.contains("40003"), "{beyond:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_again_is_not_written() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let message = "x".repeat((16 << 20) + 1);
    let base = crate::local::main_head(&*repo);
    let written = repo.write(store::CommitSpec {
        base: Some(base),
        dir: &Dir::parse("p").unwrap(),
        content: store::Content::Files(&crate::local::files("p"), &[]),
        parents: &[base],
        author: &crate::local::who(),
        committer: &crate::local::who(),
        message: &message,
    });
    assert_eq!(written.unwrap_err().class(), Class::Limit);
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// What somebody does on a thread of its own, within a time.
fn soon<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(work()));
    receive
        .recv_timeout(Duration::from_secs(20))
        .expect("it hangs")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ref_that_is_a_pipe_or_full_of_holes_keeps_nobody() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let dir = world.path();
    let heads = dir.join("refs/heads");
    pipe(&heads.join("drafts/p/w"));
    let holes = fs::File::create(heads.join("holes")).unwrap();
    holes.set_len(4 << 30).unwrap();
    std::os::unix::fs::symlink("/dev/zero", heads.join("zero")).unwrap();
    let asked = Arc::clone(&repo);
    let refs = soon(move || asked.refs()).unwrap();
    assert_eq!(refs.len(), 1, "{refs:?}");
    let told = told(&*repo);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(
        told[0].contains("drafts/p/w") && told[0].contains("pipe"),
        "{told:?}"
    );
    assert!(told[1].contains("4294967296 bytes"), "{told:?}");
    assert!(told[2].contains("device"), "{told:?}");
    draft_on(&*repo, "more").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_file_is_refused_where_git_keeps_files() {
    if !available() {
        return;
    }
    for name in [
        "packed-refs",
        "config",
        "objects/info/alternates",
        "objects/pack/pack-1.idx",
        "objects/pack/multi-pack-index",
    ] {
        let world = Local::new(GitOptions::default());
        drop(fs::remove_file(world.path().join(name)));
        pipe(&world.path().join(name));
        let (store, url) = (
            store::conformance::World::store(&world),
            store::conformance::World::url(&world),
        );
        let opened = async {
            let repo = store.open(RemoteSpec::new(url)).await?;
            repo.refs().map(drop)
        };
        let opened = tokio::time::timeout(Duration::from_secs(20), opened).await;
        let error: Error = opened.expect("it hangs").unwrap_err();
        let told = format!("{error}: {:?}", std::error::Error::source(&error));
        assert!(told.contains(name) && told.contains("no file"), "{told}");
    }
    // Of objects one alone is lost.
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let id = "77".repeat(20);
    pipe(&world.path().join("objects/77").join(&id[2..]));
    let id = CommitId::parse(&id).unwrap();
    let asked = Arc::clone(&repo);
    soon(move || asked.commit(id)).unwrap_err();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_reads_long_keeps_no_other_task_waiting() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let met = Arc::new(AtomicBool::new(false));
    // It never waits, and the other one is to be run by the same thread.
    let reader = tokio::spawn(async move {
        let other = Arc::clone(&met);
        tokio::spawn(async move { other.store(true, Ordering::Release) });
        let until = Instant::now() + Duration::from_secs(10);
        while !met.load(Ordering::Acquire) && Instant::now() < until {
            repo.refs().unwrap();
        }
        met.load(Ordering::Acquire)
    });
    assert!(reader.await.unwrap(), "the other task was never run");
}
