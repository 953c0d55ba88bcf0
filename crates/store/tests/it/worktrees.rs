//! Branches that people have checked out in a repository on this disk: with the real git.

use std::path::Path;

use store::conformance::World as _;
use store::{
    Answer, BranchEdit, CommitSpec, Content, Dir, Expect, GitOptions, RefEdit, RefName, RemoteSpec,
    Repo, Submission, SubmissionRefusal,
};

use crate::git::{Local, url};
use crate::local::{draft_on, files, head, main_head, name, open, who};
use crate::oracle::{available, git};

/// As git refuses a push to a branch that is checked out: the next commit there would take back what was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_is_checked_out_is_not_moved() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let before = main_head(&*repo);
    let beside = world.path().with_file_name("beside");
    let at = beside.display().to_string();
    let draft = draft_on(&*repo, "app").await;
    let dir = Dir::parse("app").unwrap();
    let tree = repo
        .subtree(repo.commit(draft).unwrap().tree, &dir)
        .unwrap();
    git(&world.path(), &["worktree", "add", "-q", &at, "main"]);
    let publish = || Submission {
        branch: Some(BranchEdit {
            branch: RefName::branch("main").unwrap(),
            dir: dir.clone(),
            content: tree,
            expect: Expect::Absent,
            second_parent: Some(draft),
            author: who(),
            committer: who(),
            message: "approved".to_owned(),
            tags: Vec::new(),
        }),
        ..Submission::default()
    };
    let told = match repo.submit(publish()).await.unwrap() {
        Answer::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    };
    assert!(told.to_string().contains("is checked out in"), "{told}");
    assert!(told.to_string().contains(&at), "{told}");
    assert_eq!(main_head(&*repo), before);
    // A draft is nobody's way.
    draft_on(&*repo, "shop").await;
    git(&beside, &["switch", "-q", "--detach"]);
    let answer = repo.submit(publish()).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
    assert_ne!(main_head(&*repo), before);
}

/// Submits these refs; the branch that keeps them from moving.
async fn refused(repo: &dyn Repo, refs: Vec<RefEdit>) -> Option<RefName> {
    let submission = Submission {
        refs,
        ..Submission::default()
    };
    match repo.submit(submission).await.unwrap() {
        Answer::Published(_) => None,
        Answer::Refused(SubmissionRefusal::CheckedOut { branch, .. }) => Some(branch),
        other => panic!("{other:?}"),
    }
}

/// Another commit on a draft, as a save makes it, with the files of another one.
async fn save(repo: &dyn Repo, dir: &str) -> Option<RefName> {
    let at = repo.find_ref(&name(dir)).unwrap().unwrap();
    let written = repo
        .write(CommitSpec {
            base: Some(at),
            dir: &Dir::parse(dir).unwrap(),
            content: Content::Files(&files("other"), &[]),
            parents: &[at],
            author: &who(),
            committer: &who(),
            message: "saved",
        })
        .unwrap();
    let submission = Submission {
        refs: vec![RefEdit::update(name(dir), at, written.commit())],
        written: vec![written],
        ..Submission::default()
    };
    match repo.submit(submission).await.unwrap() {
        Answer::Published(_) => None,
        Answer::Refused(SubmissionRefusal::CheckedOut { branch, at }) => {
            assert!(Path::new(&at).is_dir(), "{at}");
            Some(branch)
        }
        other => panic!("{other:?}"),
    }
}

/// A draft or a proposal is a branch like any other: the next commit of whoever works there would take back what others wrote.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_branch_is_checked_out_neither_moves_nor_goes() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let at = draft_on(&*repo, "app").await;
    let beside = world.path().with_file_name("beside");
    let place = beside.display().to_string();
    git(
        &world.path(),
        &["worktree", "add", "-q", &place, "drafts/app/ws"],
    );
    let draft = name("app");
    let proposed = RefName::branch("proposed/app/ws").unwrap();
    let propose = || {
        vec![
            RefEdit::create(proposed.clone(), at),
            RefEdit::delete(draft.clone(), at),
        ]
    };
    assert_eq!(save(&*repo, "app").await, Some(draft.clone()));
    assert_eq!(refused(&*repo, propose()).await, Some(draft.clone()));
    assert_eq!(head(&world.path(), proposed.as_str()), None);
    // While a rebase runs, the branch is not the one that HEAD names.
    let own = world.path().join("worktrees/beside");
    let left = std::fs::read(own.join("HEAD")).unwrap();
    std::fs::create_dir(own.join("rebase-merge")).unwrap();
    std::fs::write(own.join("rebase-merge/head-name"), format!("{draft}\n")).unwrap();
    std::fs::write(own.join("HEAD"), format!("{at}\n")).unwrap();
    assert_eq!(save(&*repo, "app").await, Some(draft.clone()));
    std::fs::remove_dir_all(own.join("rebase-merge")).unwrap();
    std::fs::write(own.join("HEAD"), left).unwrap();
    // As newer gits may name it.
    std::fs::write(own.join("gitdir"), "../../../beside/.git\n").unwrap();
    assert_eq!(save(&*repo, "app").await, Some(draft.clone()));
    // What is on another disk comes back; what is only gone waits to be pruned.
    let away = world.path().with_file_name("away");
    std::fs::rename(&beside, &away).unwrap();
    std::fs::write(own.join("locked"), "on a disk that is not here\n").unwrap();
    let gone = vec![RefEdit::delete(draft.clone(), at)];
    assert_eq!(refused(&*repo, gone).await, Some(draft.clone()));
    std::fs::remove_file(own.join("locked")).unwrap();
    std::fs::rename(&away, &beside).unwrap();
    // Others are nobody's way, nor is this one once it is left.
    draft_on(&*repo, "shop").await;
    assert_eq!(save(&*repo, "shop").await, None);
    git(&beside, &["switch", "-q", "--detach"]);
    assert_eq!(refused(&*repo, propose()).await, None);
    assert_eq!(head(&world.path(), proposed.as_str()), Some(at));
}

/// The git directory of a clone with files serves as an upstream only, by whatever path and name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_git_directory_of_a_working_tree_is_not_written() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    draft_on(&*repo, "app").await;
    let at = |name: &str| world.path().with_file_name(name);
    let text = |name: &str| at(name).display().to_string();
    git(&world.path(), &["clone", "-q", ".", &text("clone")]);
    let apart = format!("--separate-git-dir={}", text("apart.git"));
    git(&world.path(), &["clone", "-q", &apart, ".", &text("files")]);
    // One that says of itself that it is bare.
    git(&world.path(), &["clone", "-q", ".", &text("says")]);
    git(&at("says/.git"), &["config", "core.bare", "true"]);
    std::fs::remove_file(at("says/.git/index")).unwrap();
    // As that of a submodule is.
    git(
        &world.path(),
        &["clone", "-q", "--bare", ".", &text("module")],
    );
    git(&at("module"), &["config", "--unset", "core.bare"]);
    git(&at("module"), &["config", "core.worktree", "../files"]);
    git(
        &world.path(),
        &["clone", "-q", "--bare", ".", &text("index.git")],
    );
    std::fs::copy(at("apart.git/index"), at("index.git/index")).unwrap();
    git(
        &world.path(),
        &["clone", "-q", "--bare", ".", &text("bare.git")],
    );
    for (name, writable) in [
        ("clone", false),
        ("clone/.git", false),
        ("says/.git", false),
        ("apart.git", false),
        ("module", false),
        ("index.git", false),
        ("bare.git", true),
    ] {
        let spec = RemoteSpec::new(url(&at(name)));
        let repo = world.store().open(spec).await.unwrap();
        assert_eq!(repo.writable(), writable, "{name}");
    }
    // Somebody takes a bare one into use beside the running server.
    let spec = RemoteSpec::new(url(&at("bare.git")));
    let repo = world.store().open(spec).await.unwrap();
    draft_on(&*repo, "shop").await;
    git(&at("bare.git"), &["config", "core.bare", "false"]);
    git(
        &at("bare.git"),
        &["symbolic-ref", "HEAD", name("shop").as_str()],
    );
    assert_eq!(save(&*repo, "shop").await, Some(name("shop")));
}
