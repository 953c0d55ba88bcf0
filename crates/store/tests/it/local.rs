//! What is particular to repositories on this disk: formats, working trees, other processes' git,
//! limits, damage.

use std::path::Path;
use std::sync::Arc;

use model::{Class, CommitId, File, Files, PackagePath};
use store::conformance::World as _;
use store::{
    Answer, CommitSpec, Content, Dir, Error, GitOptions, GitStore, RefEdit, RefName, RemoteSpec,
    Repo, Signature, Store, Submission, Time,
};

use crate::git::{Local, url};
use crate::oracle::{available, fsck, git, output};

pub(crate) fn who() -> Signature {
    Signature {
        name: "Somebody".to_owned(),
        email: "somebody@example.com".to_owned(),
        time: Time {
            seconds: 1_700_000_000,
            offset_minutes: -90,
        },
    }
}

pub(crate) fn name(dir: &str) -> RefName {
    RefName::branch(&format!("drafts/{dir}/ws")).unwrap()
}

pub(crate) fn files(dir: &str) -> Files {
    let texts = [
        ("Kptfile", format!("name: {dir}\n")),
        ("x/cm.yaml", "a: 1\n".to_owned()),
    ];
    texts
        .into_iter()
        .map(|(p, t)| (PackagePath::parse(p).unwrap(), File::text(t)))
        .collect()
}

pub(crate) fn main_head(repo: &dyn Repo) -> CommitId {
    *repo
        .refs()
        .unwrap()
        .get(&RefName::branch("main").unwrap())
        .unwrap()
}

/// A draft as a submission, with an intent.
pub(crate) fn one(repo: &dyn Repo, dir: &str) -> (CommitId, Submission) {
    one_at(repo, dir, main_head(repo))
}

/// The same on a commit.
pub(crate) fn one_at(repo: &dyn Repo, dir: &str, base: CommitId) -> (CommitId, Submission) {
    let written = repo
        .write(CommitSpec {
            base: Some(base),
            dir: &Dir::parse(dir).unwrap(),
            content: Content::Files(&files(dir), &[]),
            parents: &[base],
            author: &who(),
            committer: &who(),
            message: "Creating\n\noffshoot: {}",
        })
        .unwrap();
    let id = written.commit();
    let refs = vec![RefEdit::create(name(dir), id)];
    let intent = Some(dir.as_bytes().to_vec());
    (
        id,
        Submission {
            written: vec![written],
            refs,
            intent,
            ..Submission::default()
        },
    )
}

pub(crate) async fn draft_on(repo: &dyn Repo, dir: &str) -> CommitId {
    let (id, submission) = one(repo, dir);
    match repo.submit(submission).await.unwrap() {
        Answer::Published(published) => repo.settle(&[published.intent.unwrap()]).unwrap(),
        other => panic!("{other:?}"),
    }
    id
}

/// What the real git says where a ref is.
pub(crate) fn head(dir: &Path, name: &str) -> Option<CommitId> {
    let done = output(
        dir,
        &["rev-parse", "--verify", "-q", &format!("{name}^{{commit}}")],
    );
    CommitId::parse(String::from_utf8_lossy(&done.stdout).trim())
}

pub(crate) async fn open(world: &Local) -> Arc<dyn Repo> {
    let mut spec = RemoteSpec::new(world.url());
    spec.branch = Some("main".to_owned());
    spec.create_branch = Some(who());
    world.store().open(spec).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_reads_what_we_wrote() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let id = draft_on(&*repo, "apps/web").await;
    let dir = world.path();
    let reference = "refs/heads/drafts/apps/web/ws";
    assert_eq!(head(&dir, reference), Some(id));
    let text = git(&dir, &["cat-file", "commit", reference]);
    assert!(
        text.contains("author Somebody <somebody@example.com> 1700000000 -0130"),
        "{text}"
    );
    assert!(text.ends_with("Creating\n\noffshoot: {}"), "{text}");
    let list = git(&dir, &["ls-tree", "-r", "--name-only", reference]);
    assert_eq!(list, "README.md\napps/web/Kptfile\napps/web/x/cm.yaml");
    let subject = git(&dir, &["log", "--format=%s", "-1", "main"]);
    assert_eq!(subject, "Initial commit: Creating main branch");
    fsck(&dir);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn we_read_what_git_wrote() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let clone = world.dir.path().join("clone");
    git(
        world.dir.path(),
        &["clone", "-q", world.path().to_str().unwrap(), "clone"],
    );
    std::fs::create_dir_all(clone.join("p/sub")).unwrap();
    std::fs::write(clone.join("p/Kptfile"), "k\n").unwrap();
    std::fs::write(clone.join("p/sub/bin"), [0, 159, 146, 150]).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", clone.join("p/link")).unwrap();
    std::fs::write(clone.join("p/UPPER"), "1").unwrap();
    std::fs::write(clone.join("p/upper"), "2").unwrap();
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-q", "-m", "by hand"]);
    git(&clone, &["push", "-q", "origin", "main"]);
    // Packed, with deltas and packed refs.
    git(&world.path(), &["gc", "-q", "--prune=now"]);
    let commit = repo.commit(main_head(&*repo)).unwrap();
    assert_eq!(commit.message, "by hand\n");
    let packages = repo.packages(commit.tree, &Dir::root()).unwrap().found;
    let (dir, tree) = packages.first().unwrap();
    assert_eq!(dir.as_str(), "p");
    let shot = repo.snapshot(*tree).unwrap();
    let paths: Vec<&str> = shot.files.keys().map(PackagePath::as_str).collect();
    assert_eq!(paths, ["Kptfile", "UPPER", "sub/bin"]);
    let carried: Vec<_> = shot
        .opaque
        .iter()
        .map(|o| (String::from_utf8_lossy(&o.path).into_owned(), o.what()))
        .collect();
    let wanted = [("link".to_owned(), "symlink"), ("upper".to_owned(), "file")];
    assert_eq!(carried, wanted, "neither followed nor lost");
    // Written back, nothing of it is lost.
    let written = repo
        .write(CommitSpec {
            base: Some(commit.id),
            dir,
            content: Content::Files(&shot.files, &shot.opaque),
            parents: &[commit.id],
            author: &who(),
            committer: &who(),
            message: "m",
        })
        .unwrap();
    assert_eq!(
        written.root(),
        commit.tree,
        "the same content is the same tree"
    );
    drop(Submission {
        written: vec![written],
        ..Submission::default()
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn formats_that_we_misread_are_refused() {
    if !available() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let store = GitStore::new(dir.path().join("data"), GitOptions::default());
    let try_open = async |path: &str| {
        let spec = RemoteSpec::new(format!("file://{}/{path}", dir.path().display()));
        store.open(spec).await
    };
    git(
        dir.path(),
        &["init", "-q", "--bare", "--object-format=sha256", "new.git"],
    );
    let error = try_open("new.git").await.err().unwrap();
    assert!(matches!(&error, Error::Format { .. }), "{error}");
    assert!(error.to_string().contains("SHA-256"), "{error}");
    git(dir.path(), &["init", "-q", "--bare", "table.git"]);
    git(
        &dir.path().join("table.git"),
        &["config", "extensions.refStorage", "reftable"],
    );
    let error = try_open("table.git").await.err().unwrap();
    assert_eq!(error.class(), Class::Invalid, "{error}");
    assert_eq!(
        try_open("none.git").await.err().unwrap().class(),
        Class::NotFound
    );
    for wrong in [
        "ssh://host/x",
        "file://relative",
        "https://u:p@host/x",
        "http://",
        "/plain",
    ] {
        let error = store.open(RemoteSpec::new(wrong)).await.err().unwrap();
        assert_eq!(error.class(), Class::Invalid, "{wrong}: {error}");
        assert!(!error.to_string().contains("u:p"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_working_tree_is_only_read() {
    if !available() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("work");
    git(dir.path(), &["init", "-q", "-b", "main", "work"]);
    std::fs::write(path.join("Kptfile"), "").unwrap();
    git(&path, &["add", "."]);
    git(&path, &["commit", "-q", "-m", "m"]);
    let before = git(&path, &["status", "--porcelain"]);
    let store = GitStore::new(dir.path().join("data"), GitOptions::default());
    let repo = store.open(RemoteSpec::new(url(&path))).await.unwrap();
    assert!(!repo.writable());
    let commit = repo.commit(main_head(&*repo)).unwrap();
    assert_eq!(
        repo.packages(commit.tree, &Dir::root())
            .unwrap()
            .found
            .len(),
        1
    );
    let (_, submission) = one(&*repo, "x");
    let error = repo.submit(submission).await.err().unwrap();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
    assert_eq!(git(&path, &["status", "--porcelain"]), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_git_writes_beside_us() {
    if !available() {
        return;
    }
    const N: usize = 30;
    let world = Local::new(GitOptions {
        roll_up: 7,
        ..GitOptions::default()
    });
    let repo = open(&world).await;
    let base = main_head(&*repo).to_string();
    let dir = world.path();
    let theirs = std::thread::spawn({
        let dir = dir.clone();
        move || {
            for n in 0..N {
                git(
                    &dir,
                    &["update-ref", &format!("refs/heads/theirs/{n}"), &base],
                );
                if n % 10 == 9 {
                    git(&dir, &["pack-refs", "--all"]);
                }
            }
        }
    });
    let mut ours = Vec::new();
    for n in 0..N {
        ours.push((n, draft_on(&*repo, &format!("ours-{n}")).await));
    }
    theirs.join().unwrap();
    for (n, id) in ours {
        assert_eq!(
            head(&dir, &format!("refs/heads/drafts/ours-{n}/ws")),
            Some(id)
        );
        assert!(
            head(&dir, &format!("refs/heads/theirs/{n}")).is_some(),
            "theirs {n}"
        );
    }
    fsck(&dir);
    assert_eq!(repo.refs().unwrap().len(), 2 * N + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_packs_are_rolled_up_under_our_feet() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions {
        roll_up: 0,
        ..GitOptions::default()
    });
    let repo = open(&world).await;
    let mut all = Vec::new();
    // More than the reader takes in when it is opened.
    for n in 0..150 {
        all.push((n, draft_on(&*repo, &format!("p{n}")).await));
        if n == 80 {
            git(&world.path(), &["repack", "-q", "-a", "-d"]);
        }
    }
    for (n, id) in all {
        let root = repo.commit(id).unwrap().tree;
        let tree = repo
            .subtree(root, &Dir::parse(&format!("p{n}")).unwrap())
            .unwrap()
            .unwrap();
        assert_eq!(repo.snapshot(tree).unwrap().files, files(&format!("p{n}")));
    }
    fsck(&world.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vanished_repository_is_said_clearly() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let (_, submission) = one(&*repo, "late");
    std::fs::rename(world.path(), world.dir.path().join("moved.git")).unwrap();
    let error = repo.submit(submission).await.err().unwrap();
    assert!(matches!(error, Error::NoRepository { .. }), "{error}");
    assert!(matches!(
        repo.refs().err().unwrap(),
        Error::NoRepository { .. }
    ));
    std::fs::rename(world.dir.path().join("moved.git"), world.path()).unwrap();
    draft_on(&*repo, "late").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_lock_is_waited_for_and_named() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let lock = world.path().join("refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let main = main_head(&*repo);
    let (id, mut submission) = one(&*repo, "x");
    submission.refs = vec![RefEdit::update(RefName::branch("main").unwrap(), main, id)];
    let error = repo.submit(submission).await.err().unwrap();
    assert!(
        matches!(&error, Error::Locked { path } if path.ends_with("main.lock")),
        "{error}"
    );
    assert!(lock.exists(), "it is not ours to remove");
    assert!(repo.unfinished().unwrap().is_empty());
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(main_head(&*repo), main);
    draft_on(&*repo, "x").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_journal_is_refused_untouched() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    drop(open(&world).await);
    let homes = std::fs::read_dir(world.dir.path().join("data/git")).unwrap();
    let journal = homes.flatten().next().unwrap().path().join("journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    assert_eq!(
        bytes, b"offshoot-journal\x01",
        "the frozen first format, empty"
    );
    *bytes.last_mut().unwrap() = 2;
    bytes.extend_from_slice(b"what only the future knows");
    std::fs::write(&journal, &bytes).unwrap();
    world.restart();
    let error = world
        .store()
        .open(RemoteSpec::new(world.url()))
        .await
        .err()
        .unwrap();
    assert!(matches!(error, Error::Journal { .. }), "{error}");
    assert_eq!(std::fs::read(&journal).unwrap(), bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_tail_of_the_journal_is_dropped() {
    if !available() {
        return;
    }
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    for dir in ["one", "two"] {
        let (_, submission) = one(&*repo, dir);
        assert!(matches!(
            repo.submit(submission).await.unwrap(),
            Answer::Published(_)
        ));
    }
    drop(repo);
    let homes = std::fs::read_dir(world.dir.path().join("data/git")).unwrap();
    let journal = homes.flatten().next().unwrap().path().join("journal");
    let whole = std::fs::read(&journal).unwrap();
    for cut in [1, 5, 100] {
        std::fs::write(&journal, &whole[..whole.len() - cut]).unwrap();
        world.restart();
        let open = open(&world).await.unfinished().unwrap();
        let payloads: Vec<_> = open.iter().map(|i| i.payload.as_slice()).collect();
        assert_eq!(payloads, [b"one"], "cut by {cut}");
        // What comes after the cut can be read again.
        let repo = self::open(&world).await;
        let (_, submission) = one(&*repo, &format!("after-{cut}"));
        assert!(matches!(
            repo.submit(submission).await.unwrap(),
            Answer::Published(_)
        ));
        world.restart();
        assert_eq!(self::open(&world).await.unfinished().unwrap().len(), 2);
        std::fs::write(&journal, &whole).unwrap();
    }
}
