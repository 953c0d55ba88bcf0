//! Objects that others tidy away, and repositories that are made anew, under our feet: with the real git.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{CommitId, File, Files, PackagePath};
use store::conformance::World as _;
use store::{
    Answer, CommitSpec, Content, Dir, FaultVerdict, Faults, GitOptions, Point, RefEdit, RefName,
    Repo, Submission, Sync,
};

use crate::git::Local;
use crate::local::{draft_on, files, head, name, open, who};
use crate::oracle::{available, fsck, git, output};

async fn drop_draft(repo: &dyn Repo, dir: &str, at: CommitId) {
    let gone = Submission {
        refs: vec![RefEdit::delete(name(dir), at)],
        ..Submission::default()
    };
    let answer = repo.submit(gone).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
}

fn reads(repo: &dyn Repo, at: CommitId, dir: &str) -> Files {
    let root = repo.commit(at).unwrap().tree;
    let tree = repo.subtree(root, &Dir::parse(dir).unwrap()).unwrap();
    repo.snapshot(tree.unwrap()).unwrap().files.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_pruned_is_written_again() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    for (round, restart) in [(0, false), (1, false), (2, true)] {
        let at = draft_on(&*repo, "app").await;
        drop_draft(&*repo, "app", at).await;
        git(&world.path(), &["gc", "-q", "--prune=now"]);
        if restart {
            world.restart();
        }
        let repo = open(&world).await;
        let again = draft_on(&*repo, "app").await;
        fsck(&world.path());
        assert_eq!(reads(&*repo, again, "app"), files("app"), "round {round}");
        drop_draft(&*repo, "app", again).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_built_before_it_was_pruned_is_written_whole() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let at = draft_on(&*repo, "app").await;
    let kept = reads(&*repo, at, "app");
    let (again, submission) = {
        let base = head(&world.path(), "main").unwrap();
        let written = repo
            .write(CommitSpec {
                base: Some(base),
                dir: &Dir::parse("copy").unwrap(),
                content: Content::Files(&kept, &[]),
                parents: &[base],
                author: &who(),
                committer: &who(),
                message: "a copy",
            })
            .unwrap();
        let at = written.commit();
        let refs = vec![RefEdit::create(name("copy"), at)];
        (
            at,
            Submission {
                written: vec![written],
                refs,
                ..Submission::default()
            },
        )
    };
    // Between building and publishing, all that it shares with the draft goes.
    git(
        &world.path(),
        &["update-ref", "-d", "refs/heads/drafts/app/ws"],
    );
    git(&world.path(), &["repack", "-q", "-a", "-d"]);
    git(&world.path(), &["prune"]);
    let answer = repo.submit(submission).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
    fsck(&world.path());
    assert_eq!(reads(&*repo, again, "copy"), files("app"));
}

/// What is still there and kept by nothing may go before refs move, whoever looks: it counts as gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_ref_keeps_any_more_is_written_again() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let written = async |dir: &str| {
        let before = repo.stats().objects;
        (draft_on(&*repo, dir).await, repo.stats().objects - before)
    };
    let (at, whole) = written("app").await;
    // A second draft of the same content shares all of it with the first, but root and commit.
    let main = RefName::branch("main").unwrap();
    let head = repo.find_ref(&main).unwrap().unwrap();
    let copy = async |name: RefName| {
        let written = repo
            .write(CommitSpec {
                base: Some(head),
                dir: &Dir::parse("app").unwrap(),
                content: Content::Files(&files("app"), &[]),
                parents: &[head],
                author: &who(),
                committer: &who(),
                message: &format!("for {name}"),
            })
            .unwrap();
        let refs = vec![RefEdit::create(name, written.commit())];
        let before = repo.stats().objects;
        let answer = repo.submit(Submission {
            written: vec![written],
            refs,
            ..Submission::default()
        });
        assert!(matches!(answer.await.unwrap(), Answer::Published(_)));
        repo.stats().objects - before
    };
    assert_eq!(copy(name("second")).await, 1, "the first draft keeps it");
    git(
        &world.path(),
        &["update-ref", "-d", "refs/heads/drafts/second/ws"],
    );
    assert_eq!(copy(name("third")).await, whole, "nobody keeps it");
    drop_draft(&*repo, "app", at).await;
    fsck(&world.path());
}

/// Tidies the repository whenever something happens in it.
#[derive(Debug)]
struct Tidier(std::path::PathBuf);

impl Faults for Tidier {
    fn at(&self, _url: &str, _point: Point) -> FaultVerdict {
        git(&self.0, &["gc", "-q", "--prune=now"]);
        FaultVerdict::Go
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upkeep_at_every_point_of_a_write_loses_nothing() {
    if !available() {
        return;
    }
    let mut world = Local::new(GitOptions::default());
    drop(open(&world).await);
    world.set_faults(Arc::new(Tidier(world.path())));
    let repo = open(&world).await;
    let one = draft_on(&*repo, "one").await;
    let two = draft_on(&*repo, "two").await;
    fsck(&world.path());
    assert_eq!(reads(&*repo, one, "one"), files("one"));
    assert_eq!(reads(&*repo, two, "two"), files("two"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_that_was_pruned_is_a_conflict() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let at = draft_on(&*repo, "app").await;
    let written = repo
        .write(CommitSpec {
            base: Some(at),
            dir: &Dir::parse("app").unwrap(),
            content: Content::Files(&files("other"), &[]),
            parents: &[at],
            author: &who(),
            committer: &who(),
            message: "on top",
        })
        .unwrap();
    let submission = Submission {
        refs: vec![RefEdit::create(name("new"), written.commit())],
        written: vec![written],
        ..Submission::default()
    };
    git(
        &world.path(),
        &["update-ref", "-d", "refs/heads/drafts/app/ws"],
    );
    git(&world.path(), &["gc", "-q", "--prune=now"]);
    let Answer::Refused(refusal) = repo.submit(submission).await.unwrap() else {
        panic!("published on top of nothing");
    };
    assert_eq!(refusal.class(), model::Class::Conflict, "{refusal}");
    assert!(refusal.to_string().contains(&at.to_string()), "{refusal}");
    assert!(repo.commit(at).is_err(), "nothing is remembered of it");
    fsck(&world.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_made_anew_starts_from_nothing() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let before = draft_on(&*repo, "app").await;
    assert_eq!(reads(&*repo, before, "app"), files("app"));
    std::fs::remove_dir_all(world.path()).unwrap();
    git(
        world.dir.path(),
        &["init", "-q", "--bare", "-b", "main", "repo.git"],
    );
    assert!(repo.refs().unwrap().is_empty());
    assert!(repo.commit(before).is_err(), "it is not in this repository");
    assert!(!repo.has_commit(before).unwrap());
    // As on registration.
    let repo = open(&world).await;
    let after = draft_on(&*repo, "app").await;
    fsck(&world.path());
    assert_eq!(reads(&*repo, after, "app"), files("app"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_named() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let dir = world.path();
    let mut named = std::collections::BTreeSet::new();
    for package in ["one", "two"] {
        let at = draft_on(&*repo, package).await;
        let root = repo.commit(at).unwrap().tree;
        let tree = repo.subtree(root, &Dir::parse(package).unwrap()).unwrap();
        named.insert((at, tree.unwrap()));
    }
    assert!(repo.broken(&named).unwrap().is_empty());
    let before = repo.tidied().unwrap();
    // Unpacked, so that one file can be taken away; what was read of it is still in a cache.
    let blob = git(&dir, &["rev-parse", "refs/heads/drafts/one/ws:one/Kptfile"]);
    let packs = dir.join("objects/pack");
    for entry in std::fs::read_dir(&packs).unwrap().flatten() {
        std::fs::rename(entry.path(), dir.join(entry.file_name())).unwrap();
        if entry.path().extension().is_some_and(|kind| kind == "pack") {
            let moved = std::fs::File::open(dir.join(entry.file_name())).unwrap();
            let done = std::process::Command::new("git")
                .args(["unpack-objects", "-q"])
                .current_dir(&dir)
                .stdin(moved)
                .status();
            assert!(done.unwrap().success());
        }
    }
    assert!(repo.tidied().unwrap() > before, "packs went away");
    assert!(repo.broken(&named).unwrap().is_empty());
    let path = dir.join("objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::remove_file(path).unwrap();
    let broken = repo.broken(&named).unwrap();
    assert_eq!(
        broken.into_values().collect::<Vec<_>>(),
        [format!("file {blob}")]
    );
}

/// A package whose files are partly those of others, so that much is shared and little is new.
fn shared(n: usize) -> Files {
    let texts = [
        ("Kptfile".to_owned(), "name: shared\n".to_owned()),
        ("a/common.yaml".to_owned(), "a: 1\n".to_owned()),
        (format!("b/{}.yaml", n % 3), format!("b: {}\n", n % 5)),
    ];
    texts
        .into_iter()
        .map(|(p, t)| (PackagePath::parse(&p).unwrap(), File::text(t)))
        .collect()
}

async fn write_shared(repo: &dyn Repo, n: usize) -> CommitId {
    loop {
        let base = *repo
            .refs()
            .unwrap()
            .get(&RefName::branch("main").unwrap())
            .unwrap();
        let written = repo
            .write(CommitSpec {
                base: Some(base),
                dir: &Dir::parse("shared").unwrap(),
                content: Content::Files(&shared(n), &[]),
                parents: &[base],
                author: &who(),
                committer: &who(),
                message: &format!("draft {n}"),
            })
            .unwrap();
        let at = written.commit();
        let submission = Submission {
            written: vec![written],
            refs: vec![RefEdit::create(name(&format!("d{n}")), at)],
            ..Submission::default()
        };
        match repo.submit(submission).await.unwrap() {
            Answer::Published(_) => return at,
            Answer::Refused(refusal) => {
                assert_eq!(refusal.class(), model::Class::Conflict, "{refusal}");
            }
            Answer::Pending(_) => panic!("there is no remote"),
        }
    }
}

/// The upkeep that people and cron jobs run, over and over, until they are told to stop.
fn tidy(dir: &Path, stop: &AtomicBool) -> usize {
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        for args in [
            &["gc", "-q", "--prune=now"][..],
            &["pack-refs", "--all"],
            &["repack", "-q", "-a", "-d"],
            &["prune"],
            &["gc", "-q", "--auto"],
            &["repack", "-q", "-d"],
            &["prune-packed", "-q"],
        ] {
            // A ref that moves meanwhile makes some of them give up, which harms nobody.
            let said = output(dir, args);
            done += usize::from(said.status.success());
        }
    }
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_days_upkeep_beside_a_days_writes_loses_nothing() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions {
        sync: Sync::Never,
        roll_up: 9,
        ..GitOptions::default()
    });
    let repo = open(&world).await;
    let dir = world.path();
    git(&dir, &["config", "gc.auto", "20"]);
    git(&dir, &["config", "gc.autoDetach", "false"]);
    // Git's own cache of commits is not told when `repack` and `prune` drop some, which fsck calls an error.
    git(&dir, &["config", "gc.writeCommitGraph", "false"]);
    let stop = Arc::new(AtomicBool::new(false));
    let theirs = std::thread::spawn({
        let (dir, stop) = (dir.clone(), Arc::clone(&stop));
        move || tidy(&dir, &stop)
    });
    let mut standing: Vec<(usize, CommitId)> = Vec::new();
    for n in 0..150 {
        standing.push((n, write_shared(&*repo, n).await));
        // Drafts come and go: what the next one shares with them is kept by nothing.
        if n % 4 != 0 {
            let (n, at) = standing.swap_remove(n * 7 % standing.len());
            drop_draft(&*repo, &format!("d{n}"), at).await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let done = theirs.join().unwrap();
    assert!(done > 7, "upkeep ran {done} times");
    fsck(&dir);
    for fresh in [false, true] {
        if fresh {
            world.restart();
        }
        let repo = open(&world).await;
        for (n, at) in &standing {
            assert_eq!(repo.find_ref(&name(&format!("d{n}"))).unwrap(), Some(*at));
            assert_eq!(reads(&*repo, *at, "shared"), shared(*n));
        }
    }
    let left = std::fs::read_dir(dir.join("objects/pack")).unwrap();
    let keeps = left.flatten().filter(|e| {
        let path = e.path();
        path.extension().is_some_and(|kind| kind == "keep")
    });
    assert_eq!(keeps.count(), 0, "nothing is kept for good");
}

/// What a repository borrows from another one goes with that, beside the running server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_borrowed_from_a_repository_that_is_gone_is_missed() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let at = draft_on(&*repo, "app").await;
    drop(repo);
    world.restart();
    git(&world.path(), &["repack", "-adq"]);
    let lender = world.path().with_file_name("lender");
    std::fs::rename(world.path().join("objects"), &lender).unwrap();
    std::fs::create_dir_all(world.path().join("objects/info")).unwrap();
    let list = format!("{}\n", lender.display());
    std::fs::write(world.path().join("objects/info/alternates"), list).unwrap();
    let repo = open(&world).await;
    assert_eq!(reads(&*repo, at, "app"), files("app"));
    let before = repo.tidied().unwrap();
    std::fs::remove_dir_all(&lender).unwrap();
    // A look that cannot open what is left says so; one that can has noticed.
    let noticed = repo.tidied().map_or(true, |now| now > before);
    assert!(noticed);
}
