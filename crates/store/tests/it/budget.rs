//! A few objects that are billions of paths: every look has a budget, and says what is beyond it (X9).

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use model::{Class, CommitId};
use store::{Dir, Error, GitOptions, Limits, Repo};

use crate::git::Local;
use crate::local::{head, open};
use crate::oracle::{available, fsck, git};

/// Makes an object from text; git says its id.
fn make(dir: &Path, args: &[&str], text: &str) -> String {
    let mut child = Command::new("git")
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

fn blob(dir: &Path, text: &str) -> String {
    make(dir, &["hash-object", "-w", "--stdin"], text)
}

fn tree(dir: &Path, entries: &[(&str, &str, &str)]) -> String {
    let line = |(name, kind, id): &(&str, &str, &str)| {
        let mode = if *kind == "tree" { "040000" } else { "100644" };
        format!("{mode} {kind} {id}\t{name}\n")
    };
    let text: String = entries.iter().map(line).collect();
    make(dir, &["mktree"], &text)
}

/// A tree of so many levels, in which each has these names for the next one.
fn nest(dir: &Path, bottom: &str, levels: usize, names: &[&str]) -> String {
    let mut at = bottom.to_owned();
    for _ in 0..levels {
        let entries: Vec<_> = names.iter().map(|name| (*name, "tree", &*at)).collect();
        at = tree(dir, &entries);
    }
    at
}

/// A commit of a tree on the branch.
fn commit(dir: &Path, root: &str) -> CommitId {
    let parent = git(dir, &["rev-parse", "main"]);
    let id = git(dir, &["commit-tree", root, "-p", &parent, "-m", "by hand"]);
    git(dir, &["update-ref", "refs/heads/main", &id]);
    head(dir, "main").unwrap()
}

fn limits(visits: u64, packages: u64) -> GitOptions {
    GitOptions {
        limits: Limits {
            visits,
            packages,
            ..Limits::default()
        },
        ..GitOptions::default()
    }
}

fn names(repo: &dyn Repo, at: CommitId) -> (Vec<String>, Vec<String>) {
    let root = repo.commit(at).unwrap().tree;
    let all = repo.packages(root, &Dir::root()).unwrap();
    let found = all.found.iter().map(|(dir, _)| dir.to_string());
    (found.collect(), all.beyond)
}

/// Walks that visit every path would not end in anybody's lifetime; the programs that make the trees take their time on a busy
/// machine.
const SOON: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_equal_entries_sixty_levels_deep_are_sixty_looks() {
    if !available() {
        return;
    }
    for cache_bytes in [0, 32 << 20] {
        let mut options = GitOptions::default();
        options.limits.cache_bytes = cache_bytes;
        let world = Local::new(options);
        let repo = open(&world).await;
        let dir = world.path();
        let begun = Instant::now();
        let file = blob(&dir, "x");
        let bottom = tree(&dir, &[("f", "blob", &file)]);
        let deep = nest(&dir, &bottom, 60, &["a", "b"]);
        let package = tree(&dir, &[("Kptfile", "blob", &file), ("deep", "tree", &deep)]);
        let root = tree(
            &dir,
            &[("deep", "tree", &deep), ("package", "tree", &package)],
        );
        let first = commit(&dir, &root);
        let (found, beyond) = names(&*repo, first);
        assert_eq!((found, beyond), (vec!["package".to_owned()], vec![]));
        let at = |name: &str| Dir::parse(name).unwrap();
        let last = |head, name: &str| repo.last_change(head, &at(name)).unwrap();
        assert_eq!(last(first, "package"), Some(first));
        assert_eq!(last(first, "nothing"), None);
        // All of it changes, and what does not is told from it.
        let other = blob(&dir, "y");
        let bottom = tree(&dir, &[("f", "blob", &other)]);
        let deep = nest(&dir, &bottom, 60, &["a", "b"]);
        let root = tree(
            &dir,
            &[("deep", "tree", &deep), ("package", "tree", &package)],
        );
        let second = commit(&dir, &root);
        assert_eq!(last(second, "package"), Some(first));
        assert_eq!(last(second, "deep/a/b/a"), Some(second));
        // As a package it is refused, or shown as far as it goes.
        let tree = repo.subtree(repo.commit(second).unwrap().tree, &at("package"));
        let tree = tree.unwrap().unwrap();
        let error = repo.snapshot(tree).unwrap_err();
        assert_eq!(error.class(), Class::Limit, "{error}");
        let (shot, hidden) = repo.snapshot_within(tree).unwrap();
        assert!(shot.files.len() <= 2_000 && !hidden.is_empty());
        assert!(hidden.len() < 50_000, "{}", hidden.len());
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        fsck(&dir);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eleven_objects_of_packages_are_served_up_to_the_limit() {
    if !available() {
        return;
    }
    let world = Local::new(limits(200_000, 1_000));
    let repo = open(&world).await;
    let dir = world.path();
    let begun = Instant::now();
    let file = blob(&dir, "x");
    let package = tree(&dir, &[("Kptfile", "blob", &file)]);
    let ten = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let at = commit(&dir, &nest(&dir, &package, 10, &ten));
    let (found, beyond) = names(&*repo, at);
    assert_eq!(found.len(), 1_000);
    assert_eq!(found[0], "0/0/0/0/0/0/0/0/0/0");
    assert_eq!(beyond.len(), 1, "{beyond:?}");
    assert!(beyond[0].contains("1000 packages"), "{beyond:?}");
    // One that is beyond what is listed is found by its name.
    let root = repo.commit(at).unwrap().tree;
    let one = Dir::parse("9/9/9/9/9/9/9/9/9/9").unwrap();
    assert!(repo.package(root, &Dir::root(), &one).unwrap().is_some());
    assert_eq!(repo.last_change(at, &one).unwrap(), Some(at));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budgets_hold_at_the_limit_and_one_beyond() {
    if !available() {
        return;
    }
    // Root and three packages are read, and the root is listed.
    for (visits, packages, whole) in [(5, 3, true), (4, 3, false), (5, 2, false)] {
        let world = Local::new(limits(visits, packages));
        let repo = open(&world).await;
        let dir = world.path();
        let package = |n: &str| tree(&dir, &[("Kptfile", "blob", &blob(&dir, n))]);
        let (a, b, c) = (package("a"), package("b"), package("c"));
        let at = commit(
            &dir,
            &tree(
                &dir,
                &[("a", "tree", &a), ("b", "tree", &b), ("c", "tree", &c)],
            ),
        );
        let (found, beyond) = names(&*repo, at);
        let said = format!("{visits}, {packages}: {found:?}, {beyond:?}");
        assert_eq!(found.len() == 3, whole, "{said}");
        assert_eq!(beyond.is_empty(), whole, "{said}");
        // What changed is known whatever the budget.
        for name in ["a", "b", "c"] {
            let at_name = Dir::parse(name).unwrap();
            assert_eq!(repo.last_change(at, &at_name).unwrap(), Some(at), "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_is_not_judged_by_the_depth_it_was_first_seen_at() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let dir = world.path();
    let file = blob(&dir, "x");
    let package = tree(&dir, &[("Kptfile", "blob", &file)]);
    let low = nest(&dir, &package, 3, &["p"]);
    let deep = nest(&dir, &low, 62, &["d"]);
    // First it is met where nothing below it counts any more, then near the top.
    let at = commit(
        &dir,
        &tree(&dir, &[("a", "tree", &deep), ("z", "tree", &low)]),
    );
    let (found, beyond) = names(&*repo, at);
    assert_eq!((found, beyond), (vec!["z/p/p/p".to_owned()], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_change_is_asked_for_directory_by_directory() {
    if !available() {
        return;
    }
    // A quarter of these may be listed of one commit.
    let world = Local::new(limits(40, 100));
    let repo = open(&world).await;
    let dir = world.path();
    let kept = blob(&dir, "kept");
    let kept = tree(&dir, &[("Kptfile", "blob", &kept)]);
    let version = |n: usize, changed: usize| {
        let mut entries = vec![("kept".to_owned(), kept.clone())];
        for i in 0..20 {
            let text = if i < changed {
                format!("{n} {i}")
            } else {
                i.to_string()
            };
            let package = tree(&dir, &[("Kptfile", "blob", &blob(&dir, &text))]);
            entries.push((format!("p{i:02}"), package));
        }
        let entries: Vec<_> = entries
            .iter()
            .map(|(name, id)| (name.as_str(), "tree", id.as_str()))
            .collect();
        tree(&dir, &entries)
    };
    let at = |name: &str| Dir::parse(name).unwrap();
    let first = commit(&dir, &version(1, 0));
    let wide = commit(&dir, &version(2, 20));
    let narrow = {
        // As before, but for one package.
        let base = git(&dir, &["rev-parse", "main^{tree}"]);
        let text = git(&dir, &["ls-tree", &base]);
        let other = tree(&dir, &[("Kptfile", "blob", &blob(&dir, "new"))]);
        let line = |l: &str| match l.ends_with("\tp03") {
            true => format!("040000 tree {other}\tp03\n"),
            false => format!("{l}\n"),
        };
        let text: String = text.lines().map(line).collect();
        commit(&dir, &make(&dir, &["mktree"], &text))
    };
    let last = |head, name: &str| repo.last_change(head, &at(name)).unwrap();
    // In any order, and again.
    for _ in 0..2 {
        assert_eq!(last(narrow, "kept"), Some(first));
        assert_eq!(last(narrow, "p03"), Some(narrow));
        assert_eq!(last(narrow, "p07"), Some(wide));
        assert_eq!(last(narrow, "never"), None);
    }
    // The same when the branch moves on.
    let newer = commit(&dir, &version(3, 20));
    assert_eq!(last(newer, "p03"), Some(newer));
    assert_eq!(last(newer, "kept"), Some(first));
    assert!(matches!(
        repo.last_change(CommitId::parse(&"1".repeat(40)).unwrap(), &at("kept")),
        Err(Error::Missing { .. })
    ));
}
