//! A world for one test: git in memory, a small cluster, an engine that can be killed and started again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::usecase::{Caller, Input};
use engine::{Cpu, Engine, Options};
use model::{
    CommitId, File, Files, GitSpec, Lifecycle, ObjectMeta, PackageName, PackagePath, Repository,
    RepositoryName, Revision, Task, WorkspaceName,
};
use store::{
    CommitSpec, Content, Dir, Expect, MemoryOptions, MemoryStore, RefEdit, RefName, Repo, Scope,
    Signature, Store, Submission, Time,
};
use testkit::twin::{TestClock, Twin, key};
use tokio::task::JoinHandle;

use crate::deaths::Deaths;
use crate::slow_records::SlowRecords;

pub(crate) const NS: &str = "default";

/// The world.
pub(crate) struct World {
    pub(crate) twin: Arc<Twin>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) engine: Engine,
    pub(crate) deaths: Arc<Deaths>,
    /// Which controllers the next process runs: of variants, and of sets.
    pub(crate) reconcilers: (bool, bool),
    /// How often the next process looks at repositories.
    pub(crate) local_poll: Duration,
    /// Whether the next process' records take a while to be written, so that others go on meanwhile.
    pub(crate) slow_records: bool,
    pub(crate) lasting_copies: bool,
    running: JoinHandle<()>,
}

impl World {
    /// An empty cluster with a running engine.
    pub(crate) async fn new() -> Self {
        let twin = Twin::new();
        let clock = TestClock::at(1_770_000_000);
        let deaths = Arc::new(Deaths::default());
        let store = Arc::new(MemoryStore::new(MemoryOptions {
            faults: Arc::clone(&deaths) as Arc<dyn store::Faults>,
            ..MemoryOptions::default()
        }));
        let both = (true, true);
        let local_poll = Duration::from_millis(300);
        let how = (false, both, local_poll, false, true);
        let (engine, running) = start(&twin, &clock, &store, &deaths, how);
        let world = Self {
            twin,
            clock,
            store,
            engine,
            deaths,
            reconcilers: both,
            local_poll,
            slow_records: false,
            lasting_copies: true,
            running,
        };
        world.rest().await;
        world
    }

    /// Kills the process and starts another on what was durable.
    pub(crate) async fn restart(&mut self) {
        self.kill().await;
        self.start(false);
        self.rest().await;
    }

    /// As [`World::restart`], with the object store lost (`offshoot up --rebuild`).
    pub(crate) async fn rebuild(&mut self) {
        self.kill().await;
        self.twin.lose_records();
        self.store.lose_journals();
        self.start(true);
        self.rest().await;
    }

    /// As [`World::restart`], where somebody removed the records and nobody said so.
    pub(crate) async fn restart_without_records(&mut self) {
        self.kill().await;
        self.twin.lose_records();
        self.start(false);
        self.rest().await;
    }

    fn start(&mut self, rebuild: bool) {
        let Self {
            twin,
            clock,
            store,
            deaths,
            ..
        } = self;
        let how = (
            rebuild,
            self.reconcilers,
            self.local_poll,
            self.slow_records,
            self.lasting_copies,
        );
        (self.engine, self.running) = start(twin, clock, store, deaths, how);
    }

    async fn kill(&mut self) {
        self.running.abort();
        self.engine.stop();
        self.twin.drop_watches();
        self.store.crash(|_, _| true);
        self.deaths.revive();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    /// Waits until nothing is in line and nothing was written for a while.
    pub(crate) async fn rest(&self) {
        self.settle().await;
        assert_eq!(self.deaths.died(), None);
    }

    /// Lets time pass, for timers and for whoever asks what time it is.
    pub(crate) async fn pass(&self, seconds: u32) {
        for _ in 0..seconds {
            self.clock.pass(1);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.settle().await;
    }

    /// Starts again after a death, with or without what was not durable yet, and without the
    /// journal if so wanted; as often as it dies.
    pub(crate) async fn revive(&mut self, keep: impl Fn(&RefName) -> bool, lose_journal: bool) {
        while self.deaths.died().is_some() || self.engine.is_stopped() {
            self.running.abort();
            self.engine.stop();
            self.twin.drop_watches();
            self.store.crash(|_, name| keep(name));
            if lose_journal {
                self.store.lose_journals();
            }
            self.deaths.revive();
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.start(false);
            self.settle().await;
        }
    }

    /// Waits for rest, or for a death.
    pub(crate) async fn settle(&self) {
        let mut before = (u64::MAX, 0);
        for _ in 0..400 {
            tokio::time::sleep(Duration::from_millis(700)).await;
            if self.deaths.died().is_some() {
                return;
            }
            let now = (self.twin.writes(), self.engine.busy());
            if now.1 == 0 && now == before {
                return;
            }
            before = now;
        }
        panic!("no rest: {:?}", self.engine.stats());
    }

    /// A git repository with a branch `main`, at a URL of our own.
    pub(crate) async fn git(&self, name: &str) -> Arc<dyn Repo> {
        let url = format!("file:///git/{name}.git");
        self.store.serve(&url);
        let spec = store::RemoteSpec {
            branch: Some("main".to_owned()),
            create_branch: Some(person()),
            ..store::RemoteSpec::new(&url)
        };
        self.store.open(spec).await.expect("a repository")
    }

    /// The repository as somebody else sees it.
    pub(crate) fn outside(&self, name: &str) -> Arc<dyn Repo> {
        self.store
            .outside(&format!("file:///git/{name}.git"))
            .expect("a repository")
    }

    /// Registers it.
    pub(crate) async fn register(&self, name: &str, deployment: bool) {
        self.git(name).await;
        self.twin.put_repository(repository(name, deployment));
    }

    /// Somebody pushes a package to `main`, and a tag.
    pub(crate) async fn push(
        &self,
        repo: &str,
        package: &str,
        files: &[(&str, &str)],
        tag: Option<&str>,
    ) -> CommitId {
        let url = format!("file:///git/{repo}.git");
        self.push_url(&url, package, files, tag).await
    }

    /// The same to a repository anywhere.
    pub(crate) async fn push_url(
        &self,
        url: &str,
        package: &str,
        files: &[(&str, &str)],
        tag: Option<&str>,
    ) -> CommitId {
        push_by(&self.store, url, package, files, tag).await
    }

    /// All refs of a repository that are ours, by short name.
    pub(crate) fn refs(&self, repo: &str) -> BTreeMap<String, CommitId> {
        let refs = self.outside(repo).refs().expect("refs");
        refs.iter()
            .map(|(name, commit)| (name.as_str().to_owned(), *commit))
            .collect()
    }

    /// A file of a revision, as text.
    pub(crate) async fn file(&self, revision: &str, path: &str) -> String {
        let (_, files) = self
            .engine
            .resources(&key(NS, revision))
            .await
            .expect("files");
        let path = PackagePath::parse(path).expect("a path");
        files[&path].as_text().expect("text").to_owned()
    }

    /// Changes one file of a draft, as a person.
    pub(crate) async fn edit(
        &self,
        revision: &str,
        path: &str,
        change: impl Fn(&str) -> String,
    ) -> Revision {
        let (_, files) = self
            .engine
            .resources(&key(NS, revision))
            .await
            .expect("files");
        let wanted = PackagePath::parse(path).expect("a path");
        let texts: BTreeMap<PackagePath, String> = files
            .iter()
            .filter_map(|(p, f)| Some((p.clone(), f.as_text()?.to_owned())))
            .map(|(p, text)| {
                let text = if p == wanted { change(&text) } else { text };
                (p, text)
            })
            .collect();
        let made = self
            .engine
            .save(&alice(), &key(NS, revision), &Default::default(), texts)
            .await
            .expect("saved");
        Revision::clone(&made.revision)
    }

    /// Proposes and approves.
    pub(crate) async fn publish(&self, revision: &str) -> Revision {
        let key = key(NS, revision);
        let engine = &self.engine;
        engine
            .move_to(&alice(), &key, model::Door::Main, Lifecycle::Proposed)
            .await
            .expect("proposed");
        let made = engine
            .move_to(&alice(), &key, model::Door::Approval, Lifecycle::Published)
            .await
            .expect("approved");
        Revision::clone(&made.revision)
    }

    pub(crate) fn revision(&self, name: &str) -> Revision {
        self.twin
            .revision(NS, name)
            .unwrap_or_else(|| panic!("no revision {name} among {:?}", self.names()))
    }

    /// The names of all records.
    pub(crate) fn names(&self) -> Vec<String> {
        self.twin
            .revisions()
            .iter()
            .map(|r| r.key.name.to_string())
            .collect()
    }
}

/// A world that is left behind does nothing any more: a test of many has the next one to itself.
impl Drop for World {
    fn drop(&mut self) {
        self.running.abort();
        self.engine.stop();
    }
}

/// Somebody pushes a package to `main` of a repository anywhere, and a tag.
pub(crate) async fn push_by(
    store: &MemoryStore,
    url: &str,
    package: &str,
    files: &[(&str, &str)],
    tag: Option<&str>,
) -> CommitId {
    push_files(store, url, package, &files_of(files), tag).await
}

/// The same of any files.
pub(crate) async fn push_files(
    store: &MemoryStore,
    url: &str,
    package: &str,
    files: &Files,
    tag: Option<&str>,
) -> CommitId {
    let outside = store.outside(url).expect("a repository");
    let refs = outside.refs().expect("refs");
    let main = RefName::branch("main").expect("a ref");
    let head = refs[&main];
    let written = outside
        .write(CommitSpec {
            base: Some(head),
            dir: &Dir::parse(package).expect("a directory"),
            content: Content::Files(files, &[]),
            parents: &[head],
            author: &person(),
            committer: &person(),
            message: "by hand\n",
        })
        .expect("a commit");
    let commit = written.commit();
    let mut edits = vec![RefEdit::update(main, head, commit)];
    edits.extend(tag.map(|tag| RefEdit {
        name: RefName::tag(&format!("{package}/{tag}")).expect("a tag"),
        expect: Expect::Any,
        to: Some(commit),
        scope: Scope::Remote,
    }));
    let answer = outside
        .submit(Submission {
            written: vec![written],
            refs: edits,
            ..Submission::default()
        })
        .await
        .expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    commit
}

/// Whether records are lost, which controllers run, how often refs are looked at, whether records are slow, and whether our copies of
/// repositories last.
type How = (bool, (bool, bool), Duration, bool, bool);

fn start(
    twin: &Arc<Twin>,
    clock: &Arc<TestClock>,
    store: &Arc<MemoryStore>,
    deaths: &Arc<Deaths>,
    (rebuild, (variants, sets), local_poll, slow, lasting_copies): How,
) -> (Engine, JoinHandle<()>) {
    let options = Options {
        cpu: Cpu::Inline,
        local_poll,
        rebuild,
        variants,
        sets,
        lasting_copies,
        ..Options::default()
    };
    let mut ports = twin.ports(clock);
    ports.faults = Arc::clone(deaths) as Arc<dyn engine::ports::Faults>;
    if slow {
        ports.records = Arc::new(SlowRecords(ports.records));
    }
    let engine = Engine::new(ports, Arc::clone(store) as Arc<dyn Store>, options);
    let running = engine.clone();
    let task = tokio::spawn(async move { running.run().await });
    (engine, task)
}

pub(crate) fn alice() -> Caller {
    Caller::user("alice")
}

pub(crate) fn person() -> Signature {
    Signature {
        name: "Person".to_owned(),
        email: "person@example.test".to_owned(),
        time: Time::utc(1_767_225_600),
    }
}

pub(crate) fn files_of(files: &[(&str, &str)]) -> Files {
    files
        .iter()
        .map(|(path, text)| (PackagePath::parse(path).expect("a path"), File::text(text)))
        .collect()
}

pub(crate) fn repository(name: &str, deployment: bool) -> Repository {
    Repository {
        key: key(NS, name),
        name: RepositoryName::parse(name).expect("a name"),
        meta: ObjectMeta::default(),
        description: String::new(),
        deployment,
        ignore_author_gates: false,
        git: GitSpec {
            repo: format!("file:///git/{name}.git"),
            branch: "main".to_owned(),
            create_branch: false,
            create: false,
            directory: String::new(),
            secret: None,
            author: None,
            email: None,
        },
        sync_schedule: String::new(),
        run_once_at: String::new(),
    }
}

pub(crate) fn input(repo: &str, package: &str, workspace: &str, task: Task) -> Input {
    Input {
        meta: ObjectMeta::default(),
        repository: RepositoryName::parse(repo).expect("a name"),
        package: PackageName::parse(package).expect("a name"),
        workspace: WorkspaceName::parse(workspace).expect("a name"),
        lifecycle: Lifecycle::Draft,
        revision: 0,
        tasks: vec![task],
        readiness_gates: Vec::new(),
        package_metadata: None,
        resolved_conflicts: None,
        conditions: None,
    }
}
