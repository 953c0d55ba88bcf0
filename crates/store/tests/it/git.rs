//! Bare repositories in place: the suite, checked by the real git.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use store::conformance::{World, cases, run};
use store::{Error, Faults, GitOptions, GitStore, Limits, RemoteSpec, Repo, Store, Sync};

use crate::oracle::{available, fsck, git};

pub(crate) struct Local {
    pub(crate) dir: tempfile::TempDir,
    store: Mutex<Arc<GitStore>>,
    options: GitOptions,
}

impl Local {
    pub(crate) fn new(options: GitOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        git(
            dir.path(),
            &["init", "-q", "--bare", "-b", "main", "repo.git"],
        );
        let store = GitStore::new(dir.path().join("data"), options.clone());
        Self {
            dir,
            store: Mutex::new(Arc::new(store)),
            options,
        }
    }

    /// Starts anew with these faults.
    pub(crate) fn set_faults(&mut self, faults: Arc<dyn Faults>) {
        self.options.faults = faults;
        self.restart();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("repo.git")
    }
}

pub(crate) fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[async_trait]
impl World for Local {
    fn store(&self) -> Arc<dyn Store> {
        self.store.lock().unwrap().clone()
    }

    fn url(&self) -> String {
        url(&self.path())
    }

    async fn outside(&self) -> Result<Arc<dyn Repo>, Error> {
        let store = GitStore::new(self.dir.path().join("other"), GitOptions::default());
        store.open(RemoteSpec::new(self.url())).await
    }

    fn restart(&self) {
        let store = GitStore::new(self.dir.path().join("data"), self.options.clone());
        *self.store.lock().unwrap() = Arc::new(store);
    }

    fn tidy(&self) {
        git(&self.path(), &["gc", "-q", "--prune=now"]);
    }
}

async fn all(options: GitOptions) {
    if !available() {
        return;
    }
    for case in cases() {
        let world = Arc::new(Local::new(options.clone()));
        run(Arc::clone(&world) as Arc<dyn World>, &case)
            .await
            .unwrap();
        fsck(&world.path());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    all(GitOptions::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_in_small_batches_without_caches() {
    let limits = Limits {
        batch: 3,
        cache_bytes: 0,
        ..Limits::default()
    };
    all(GitOptions {
        limits,
        sync: Sync::Never,
        roll_up: 5,
        ..GitOptions::default()
    })
    .await;
}
