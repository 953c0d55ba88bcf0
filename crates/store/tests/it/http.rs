//! Remotes over HTTP, served by the real git: the suite, credentials, refusals, lost answers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use model::Class;
use store::conformance::{World, cases, run};
use store::{
    Answer, Credential, CredentialError, Credentials, Error, GitOptions, GitStore, RefEdit,
    RefName, RemoteSpec, Repo, Store, Submission, SubmissionRefusal,
};

use crate::local::{draft_on, head, name, one};
use crate::oracle::{available, fsck, git};
use testkit::git_http::Server;

/// A served repository and our store.
pub(crate) struct Remote {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: Server,
    store: Mutex<Arc<GitStore>>,
    options: GitOptions,
}

impl Remote {
    pub(crate) fn new(options: GitOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let served = dir.path().join("served");
        std::fs::create_dir(&served).unwrap();
        git(&served, &["init", "-q", "--bare", "-b", "main", "repo.git"]);
        git(
            &served.join("repo.git"),
            &["config", "http.receivepack", "true"],
        );
        let server = Server::start(served).unwrap();
        let store = GitStore::new(dir.path().join("data"), options.clone());
        Self {
            dir,
            server,
            store: Mutex::new(Arc::new(store)),
            options,
        }
    }

    pub(crate) fn served(&self) -> PathBuf {
        self.dir.path().join("served/repo.git")
    }

    pub(crate) fn spec(&self) -> RemoteSpec {
        let mut spec = RemoteSpec::new(self.server.url("repo.git"));
        spec.branch = Some("main".to_owned());
        spec.create_branch = Some(crate::local::who());
        spec
    }

    pub(crate) async fn open(&self) -> Arc<dyn Repo> {
        self.store().open(self.spec()).await.unwrap()
    }

    pub(crate) fn mirror(&self) -> PathBuf {
        let homes = std::fs::read_dir(self.dir.path().join("data/git")).unwrap();
        let mut mirrors = homes.flatten().map(|e| e.path().join("mirror.git"));
        mirrors.find(|m| m.exists()).unwrap()
    }
}

#[async_trait]
impl World for Remote {
    fn store(&self) -> Arc<dyn Store> {
        self.store.lock().unwrap().clone()
    }

    fn url(&self) -> String {
        self.server.url("repo.git")
    }

    async fn outside(&self) -> Result<Arc<dyn Repo>, Error> {
        let store = GitStore::new(self.dir.path().join("other"), GitOptions::default());
        store
            .open(RemoteSpec::new(crate::git::url(&self.served())))
            .await
    }

    fn restart(&self) {
        let store = GitStore::new(self.dir.path().join("data"), self.options.clone());
        *self.store.lock().unwrap() = Arc::new(store);
    }

    fn tidy(&self) {
        git(&self.served(), &["gc", "-q", "--prune=now"]);
    }
}

/// Credentials that change when told to, and count how often they are asked for.
struct Rotating {
    now: Mutex<Credential>,
    asked: AtomicUsize,
}

impl Rotating {
    fn new(now: Credential) -> Arc<Self> {
        Arc::new(Self {
            now: Mutex::new(now),
            asked: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl Credentials for Rotating {
    async fn credential(&self, _url: &str) -> Result<Credential, CredentialError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(self.now.lock().unwrap().clone())
    }
}

fn basic(password: &str) -> Credential {
    Credential::Basic {
        username: "bot".to_owned(),
        password: password.to_owned(),
    }
}

async fn conforms(options: GitOptions) {
    if !available() {
        return;
    }
    for case in cases() {
        let world = Arc::new(Remote::new(options.clone()));
        run(Arc::clone(&world) as Arc<dyn World>, &case)
            .await
            .unwrap();
        fsck(&world.served());
        fsck(&world.mirror());
        let pending = git(&world.mirror(), &["for-each-ref", "refs/offshoot/pending"]);
        assert_eq!(pending, "", "pending refs after {}", case.0);
    }
}

async fn credentials_are_read_anew_and_never_shown(options: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(options.clone());
    world
        .server
        .set(|m| m.basic = Some(("bot".to_owned(), "first-secret".to_owned())));
    // None at all, and wrong ones.
    let error = world.store().open(world.spec()).await.err().unwrap();
    let asks = |error: &Error| matches!(error, Error::Unauthenticated { .. });
    assert!(asks(&error) && error.class() == Class::Denied, "{error:?}");
    let who = Rotating::new(basic("wrong-secret"));
    let spec = || RemoteSpec {
        credentials: who.clone(),
        ..world.spec()
    };
    let error = world.store().open(spec()).await.err().unwrap();
    assert!(asks(&error) && error.class() == Class::Denied, "{error:?}");
    assert!(!format!("{error:?}").contains("wrong-secret"), "{error:?}");
    // The right ones, and their rotation.
    *who.now.lock().unwrap() = basic("first-secret");
    let repo = world.store().open(spec()).await.unwrap();
    draft_on(&*repo, "a").await;
    world.server.set(|m| m.basic = None);
    world
        .server
        .set(|m| m.bearer = Some("second-secret".to_owned()));
    let error = repo.fetch().await.err().unwrap();
    assert_eq!(error.class(), Class::Denied, "{error}");
    *who.now.lock().unwrap() = Credential::Bearer {
        token: "second-secret".to_owned(),
    };
    draft_on(&*repo, "b").await;
    assert!(
        who.asked.load(Ordering::Relaxed) >= 5,
        "asked anew for each conversation"
    );
    // Nobody else gets in through the mirror that is open.
    let error = world.store().open(world.spec()).await.err().unwrap();
    assert_eq!(error.class(), Class::Denied, "{error}");
    // Nothing of it was left on disk.
    let files = crate::kill::walk(world.dir.path());
    assert!(
        files.iter().any(|f| f.ends_with("mirror.git/config")),
        "the mirror was searched"
    );
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        assert!(
            !bytes.windows(7).any(|w| w == b"-secret"),
            "{file} holds a secret"
        );
    }
}

async fn a_redirect_is_not_followed(options: GitOptions) {
    if !available() {
        return;
    }
    let (world, other) = (Remote::new(options.clone()), Remote::new(options.clone()));
    let address = other.server.address();
    let away = format!("http://user:hush@{address}/hush.git?token=hush");
    world.server.set(|m| m.redirect = Some(away));
    let who = Rotating::new(basic("for-the-first-host"));
    let spec = RemoteSpec {
        credentials: who,
        ..world.spec()
    };
    let error = world.store().open(spec).await.err().unwrap().to_string();
    assert!(!error.contains("hush"), "{error}");
    assert!(
        other.server.requests().is_empty(),
        "the other host was asked"
    );
    let sent = world
        .server
        .requests()
        .into_iter()
        .find_map(|r| r.authorization);
    let wanted = format!(
        "Basic {}",
        testkit::git_http::encode("bot:for-the-first-host")
    );
    assert_eq!(sent, Some(wanted), "the first host was told who asks");
}

async fn missing_and_unreachable_are_told_apart(options: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(options.clone());
    let spec = RemoteSpec::new(world.server.url("absent.git"));
    let error = world.store().open(spec).await.err().unwrap();
    assert_eq!(error.class(), Class::NotFound, "{error}");
    let repo = world.open().await;
    let first = draft_on(&*repo, "first").await;
    world.server.set(|m| m.down = true);
    let error = repo.fetch().await.err().unwrap();
    assert_eq!(error.class(), Class::Unavailable, "{error}");
    // What is mirrored can still be read, after a restart, too; writes fail and leave nothing.
    world.restart();
    let repo = world.open().await;
    assert_eq!(repo.refs().unwrap().get(&name("first")), Some(&first));
    let (id, submission) = one(&*repo, "second");
    let error = repo.submit(submission).await.err().unwrap();
    assert_eq!(error.class(), Class::Unavailable, "{error}");
    assert!(repo.unfinished().unwrap().is_empty());
    world.server.set(|m| m.down = false);
    assert!(!repo.fetch().await.unwrap().contains_key(&name("second")));
    let (again, submission) = one(&*repo, "second");
    assert_eq!(again, id, "the same input is the same commit");
    assert!(matches!(
        repo.submit(submission).await.unwrap(),
        Answer::Published(_)
    ));
    assert_eq!(
        head(&world.served(), "refs/heads/drafts/second/ws"),
        Some(id)
    );
    // A repository that nobody mirrored yet cannot be opened while it is down.
    world.server.set(|m| m.down = true);
    let other = RemoteSpec::new(world.server.url("other.git"));
    let error = world.store().open(other).await.err().unwrap();
    assert_eq!(error.class(), Class::Unavailable, "{error}");
}

async fn a_hook_refuses_one_and_the_others_land(options: GitOptions) {
    if !available() {
        return;
    }
    use std::os::unix::fs::PermissionsExt as _;
    let world = Remote::new(options.clone());
    let repo = world.open().await;
    let hook = world.served().join("hooks/update");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let text = "#!/bin/sh\ncase $1 in *bad*) echo 'bad names are not welcome' >&2; exit 1;; esac\n";
    std::fs::write(&hook, text).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut tasks = Vec::new();
    for dir in ["good-1", "bad", "good-2"] {
        let repo = Arc::clone(&repo);
        let (_, submission) = one(&*repo, dir);
        tasks.push(tokio::spawn(async move {
            repo.submit(submission).await.unwrap()
        }));
    }
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    assert!(matches!(&answers[0], Answer::Published(_)), "{answers:?}");
    assert!(matches!(&answers[2], Answer::Published(_)), "{answers:?}");
    let Answer::Refused(refusal) = &answers[1] else {
        panic!("{answers:?}")
    };
    assert_eq!(refusal.class(), Class::Denied);
    let SubmissionRefusal::Declined { text, .. } = refusal else {
        panic!("{refusal:?}")
    };
    assert!(text.contains("bad names are not welcome"), "{text}");
    let refs = repo.fetch().await.unwrap();
    assert!(!refs.contains_key(&name("bad")));
    // Missing rights are said before anything is sent.
    world.server.set(|m| m.read_only = true);
    let (_, submission) = one(&*repo, "forbidden");
    let error = repo.submit(submission).await.err().unwrap();
    assert_eq!(error.class(), Class::Denied, "{error}");
}

async fn a_lost_answer_is_found_out(options: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(options.clone());
    let repo = world.open().await;
    world.server.set(|m| m.lose_answers = 1);
    let (id, submission) = one(&*repo, "landed");
    assert!(matches!(
        repo.submit(submission).await.unwrap(),
        Answer::Published(_)
    ));
    assert_eq!(
        head(&world.served(), "refs/heads/drafts/landed/ws"),
        Some(id)
    );
    let sent = repo.stats().pushes;
    world.server.set(|m| m.lose_pushes = 1);
    let (id, submission) = one(&*repo, "lost");
    assert!(matches!(
        repo.submit(submission).await.unwrap(),
        Answer::Published(_)
    ));
    assert_eq!(head(&world.served(), "refs/heads/drafts/lost/ws"), Some(id));
    assert_eq!(repo.stats().pushes - sent, 2, "pushed again, once");
}

async fn without_any_answer_it_is_pending(options: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(options.clone());
    let repo = world.open().await;
    for (dir, landed) in [("yes", true), ("no", false)] {
        // Nothing answers from the push on: the server is gone before anybody can look.
        world.server.set(|m| {
            m.down_after_push = true;
            m.lose_answers = usize::from(landed);
            m.lose_pushes = usize::from(!landed);
        });
        let (id, mut submission) = one(&*repo, dir);
        submission.intent = Some(dir.as_bytes().to_vec());
        let answer = repo.submit(submission).await.unwrap();
        let Answer::Pending(handle) = answer else {
            panic!("{dir}: {answer:?}")
        };
        assert_eq!(repo.outcome(handle).await.unwrap(), Answer::Pending(handle));
        assert_eq!(repo.unfinished().unwrap().len(), 1, "its intent waits");
        world.server.set(|m| {
            m.down = false;
            m.down_after_push = false;
        });
        match repo.outcome(handle).await.unwrap() {
            Answer::Published(published) => {
                assert!(landed);
                assert_eq!(published.refs.get(&name(dir)), Some(&Some(id)));
                repo.settle(&[published.intent.unwrap()]).unwrap();
            }
            Answer::Refused(refusal) => {
                assert!(!landed);
                assert_eq!(refusal, SubmissionRefusal::NotTaken);
            }
            other @ Answer::Pending(_) => panic!("{other:?}"),
        }
        assert!(repo.unfinished().unwrap().is_empty());
        assert_eq!(repo.refs().unwrap().contains_key(&name(dir)), landed);
        assert_eq!(git(&world.mirror(), &["for-each-ref", "refs/offshoot"]), "");
    }
}

async fn what_people_push_is_mirrored(options: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(options.clone());
    let repo = world.open().await;
    let clone = world.dir.path().join("clone");
    git(
        world.dir.path(),
        &["clone", "-q", world.served().to_str().unwrap(), "clone"],
    );
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&clone, &["tag", "-a", "v1", "-m", "annotated"]);
    git(&clone, &["push", "-q", "origin", "main", "v1"]);
    let one = git(&clone, &["rev-parse", "HEAD"]);
    let refs = repo.fetch().await.unwrap();
    let tag = RefName::tag("v1").unwrap();
    assert_eq!(
        refs.get(&tag).map(ToString::to_string),
        Some(one.clone()),
        "tags are followed"
    );
    // A moved tag, a forced branch, a deleted one.
    git(&clone, &["push", "-q", "origin", "main:gone"]);
    repo.fetch().await.unwrap();
    git(
        &clone,
        &["commit", "-q", "--amend", "--allow-empty", "-m", "two"],
    );
    git(&clone, &["tag", "-f", "v1"]);
    git(
        &clone,
        &["push", "-q", "-f", "origin", "main", "v1", ":gone"],
    );
    let two = git(&clone, &["rev-parse", "HEAD"]);
    let refs = repo.fetch().await.unwrap();
    for name in [&tag, &RefName::branch("main").unwrap()] {
        assert_eq!(refs.get(name).map(ToString::to_string), Some(two.clone()));
    }
    assert!(!refs.contains_key(&RefName::branch("gone").unwrap()));
    // An annotated tag counts as its commit when it is deleted.
    git(&clone, &["tag", "-a", "v2", "-m", "annotated"]);
    git(&clone, &["push", "-q", "origin", "v2"]);
    let refs = repo.fetch().await.unwrap();
    let v2 = RefName::tag("v2").unwrap();
    let edit = RefEdit::delete(v2.clone(), *refs.get(&v2).unwrap());
    let submission = Submission {
        refs: vec![edit],
        ..Submission::default()
    };
    assert!(matches!(
        repo.submit(submission).await.unwrap(),
        Answer::Published(_)
    ));
    assert_eq!(head(&world.served(), "refs/tags/v2"), None);
    // Nothing new: a look, and no write.
    let before = repo.stats();
    repo.fetch().await.unwrap();
    let after = repo.stats();
    assert_eq!((after.fsyncs, after.refs), (before.fsyncs, before.refs));
}

async fn pins_stay_here(options: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(options.clone());
    let repo = world.open().await;
    let id = draft_on(&*repo, "pinned").await;
    let pin = RefName::parse("refs/offshoot/pin/one").unwrap();
    let before = repo.stats().pushes;
    let edits = vec![RefEdit::create(pin.clone(), id).local()];
    let submission = Submission {
        refs: edits,
        ..Submission::default()
    };
    assert!(matches!(
        repo.submit(submission).await.unwrap(),
        Answer::Published(_)
    ));
    assert_eq!(repo.stats().pushes, before, "nothing is pushed");
    assert_eq!(
        repo.fetch().await.unwrap().get(&pin),
        Some(&id),
        "a fetch leaves it alone"
    );
    assert_eq!(head(&world.served(), pin.as_str()), None);
}

both![
    conforms,
    credentials_are_read_anew_and_never_shown,
    a_redirect_is_not_followed,
    missing_and_unreachable_are_told_apart,
    a_hook_refuses_one_and_the_others_land,
    a_lost_answer_is_found_out,
    without_any_answer_it_is_pending,
    what_people_push_is_mirrored,
    pins_stay_here,
];
