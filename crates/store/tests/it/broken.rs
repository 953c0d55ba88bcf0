//! Names and refs that git itself cannot hold or follow: refused where they are written, told where they are found.

use std::fs;

use model::{Class, PackagePath};
use store::{Dir, Error, GitOptions, RefName, Submission};

use crate::git::Local;
use crate::local::{draft_on, name, one, open};
use crate::oracle::{available, fsck, git, output};

/// What `git fsck --strict` refuses in a tree is no path to us, and what we take it takes.
#[test]
fn git_takes_the_names_that_we_take() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let dir = world.path();
    let names = [
        ".git",
        ".GIT",
        ".gIt",
        "git~1",
        "GIT~1",
        ".git.",
        ".git ",
        ".git. .",
        ".git::$DATA",
        ".g\u{200c}it",
        "\u{feff}.git",
        ".gi\u{202e}t",
        "git~2",
        ".gitx",
        "x.git",
        "git",
        "a:b",
        "~1",
        "gi7eba~12",
        "gitmod~5",
        ".gitattributes",
        ".gitignore",
    ];
    let blob = git(&dir, &["hash-object", "-w", "/dev/null"]);
    for name in names {
        // Written as bytes: git's own commands would refuse it before.
        let mut raw = format!("100644 {name}\0").into_bytes();
        let hex = |at: usize| u8::from_str_radix(&blob[at..at + 2], 16).unwrap();
        raw.extend((0..20).map(|n| hex(2 * n)));
        let file = dir.join("tree");
        fs::write(&file, raw).unwrap();
        let path = file.to_str().unwrap();
        git(
            &dir,
            &["hash-object", "--literally", "-t", "tree", "-w", path],
        );
        let done = output(&dir, &["fsck", "--strict", "--no-dangling"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let taken = done.status.success() && !said.contains("warning");
        let ours = PackagePath::parse(name).is_ok();
        assert_eq!(ours, taken, "{name:?}: {said}");
        assert_eq!(Dir::parse(name).is_ok(), ours, "{name:?}");
        // The next name alone is checked.
        git(&dir, &["prune", "--expire=now"]);
        git(&dir, &["hash-object", "-w", "/dev/null"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_broken_ref_keeps_nobody_from_the_others() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let fine = draft_on(&*repo, "fine").await;
    let heads = world.path().join("refs/heads");
    fs::create_dir_all(heads.join("drafts/b")).unwrap();
    fs::write(heads.join("drafts/b/empty"), "").unwrap();
    fs::write(heads.join("drafts/b/garbage"), "what is this\n").unwrap();
    fs::write(heads.join("drafts/b/lost"), format!("{}\n", "7".repeat(40))).unwrap();
    let refs = repo.refs().unwrap();
    assert_eq!(refs.get(&name("fine")), Some(&fine));
    assert_eq!(refs.len(), 2, "{refs:?}");
    let broken: Vec<String> = repo
        .broken_refs()
        .iter()
        .map(|(name, why)| format!("{}: {why}", name.short()))
        .collect();
    let lost = "7".repeat(40);
    assert_eq!(
        broken,
        [
            "drafts/b/empty: its file is empty".to_owned(),
            "drafts/b/garbage: its file holds no object id".to_owned(),
            format!("drafts/b/lost: object {lost} is not in the repository"),
        ]
    );
    let below = RefName::branch("drafts/b").unwrap();
    assert!(repo.refs_below(&below).unwrap().is_empty());
    // The rest works.
    draft_on(&*repo, "more").await;
    let error = repo.find_ref(&RefName::branch("drafts/b/empty").unwrap());
    let error = error.unwrap_err();
    assert!(error.to_string().contains("git update-ref"), "{error}");
    let (_, mut submission) = one(&*repo, "b");
    submission.refs[0].name = RefName::branch("drafts/b/empty").unwrap();
    let error = repo.submit(submission).await.unwrap_err();
    assert_eq!(error.class(), Class::Invalid, "{error}");
    // What is mended is told no more.
    fs::remove_file(heads.join("drafts/b/empty")).unwrap();
    fs::write(heads.join("drafts/b/garbage"), format!("{fine}\n")).unwrap();
    fs::write(heads.join("drafts/b/lost"), format!("{fine}\n")).unwrap();
    assert_eq!(repo.refs().unwrap().len(), 5);
    assert!(repo.broken_refs().is_empty());
    fsck(&world.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tag_on_a_tree_is_told_with_its_name() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let fine = draft_on(&*repo, "fine").await;
    let tags = world.path().join("refs/tags/app");
    fs::create_dir_all(&tags).unwrap();
    let tree = repo.commit(fine).unwrap().tree;
    fs::write(tags.join("v2"), format!("{tree}\n")).unwrap();
    // The same list again, as nothing changed, tells the same.
    for _ in 0..2 {
        assert_eq!(repo.refs().unwrap().len(), 2);
        let told: Vec<String> = repo.broken_refs().into_values().collect();
        assert_eq!(told, [format!("object {tree} is no commit")]);
    }
    fs::write(tags.join("v2"), format!("{fine}\n")).unwrap();
    assert_eq!(repo.refs().unwrap().len(), 3);
    assert!(repo.broken_refs().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_line_of_packed_refs_is_named_and_not_lost() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let fine = draft_on(&*repo, "fine").await;
    git(&world.path(), &["pack-refs", "--all"]);
    let path = world.path().join("packed-refs");
    let before = fs::read_to_string(&path).unwrap();
    let broken = format!("{before}what is this\n");
    fs::write(&path, &broken).unwrap();
    let error = repo.refs().unwrap_err();
    let line = broken.lines().count();
    assert!(
        matches!(error, Error::BrokenRefs { line: l } if l == line),
        "{error}"
    );
    assert!(error.to_string().contains("take it out"), "{error}");
    let submission = Submission {
        refs: vec![store::RefEdit::create(name("other"), fine)],
        ..Submission::default()
    };
    assert!(repo.submit(submission).await.is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), broken, "untouched");
    fs::write(&path, before).unwrap();
    draft_on(&*repo, "more").await;
    fsck(&world.path());
}
