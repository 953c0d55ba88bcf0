//! Registered repositories that are open, with the credentials that reach them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Class, CommitId, Namespace, ObjectKey, PackageName, Repository, RepositoryName};
use store::{Intent, IntentId, RefName, RemoteSpec, Repo};

use crate::git::{Layout, committer};
use crate::index::Wake;
use crate::ports::Reader;
use crate::{Engine, Error, Result};

/// A registered repository that is open.
pub(crate) struct Open {
    /// What it asks for.
    pub(crate) repository: Repository,
    /// Where things are in it.
    pub(crate) layout: Layout,
    /// The git repository.
    pub(crate) repo: Arc<dyn store::Repo>,
    /// What was seen of it at the last discovery.
    pub(crate) seen: Mutex<Seen>,
    /// Numbers that the branch's history gave.
    pub(crate) numbers: Mutex<Numbers>,
}

/// Numbers that the branch's history gave to packages, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Up to where.
    pub(crate) head: Option<CommitId>,
    /// By the package's path, as the trailer writes it.
    pub(crate) highest: BTreeMap<String, i64>,
}

/// What a discovery has seen: only what differs from it is looked at again.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// Refs of ours with their commits.
    pub(crate) refs: BTreeMap<RefName, CommitId>,
    /// Whether a discovery was finished.
    pub(crate) whole: bool,
    /// Problems with refs and packages, for the condition.
    pub(crate) problems: Vec<String>,
    /// Which upkeep of the repository was last followed by a look for what is missing.
    pub(crate) tidied: Option<u64>,
    /// Packages that could not be read, to be tried again.
    pub(crate) again: BTreeSet<PackageName>,
    /// What of the branch is beyond the limits.
    pub(crate) beyond: Vec<String>,
}

impl Open {
    /// The namespace and name of the `Repository` object.
    pub(crate) fn key(&self) -> &ObjectKey {
        &self.repository.key
    }

    /// Whether it is a repository that can be written at all, or why not. Whether this registration may is
    /// [`Engine::writable`].
    pub(crate) fn bare(&self) -> Result<(), String> {
        if self.repo.writable() {
            return Ok(());
        }
        Err(
            "it has a working tree, so it serves as an upstream only; register a bare repository"
                .to_owned(),
        )
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Repos {
    open: Mutex<BTreeMap<ObjectKey, Arc<Open>>>,
    /// The intents of the last process, and those of this one whose records could not be written, by URL, until each was
    /// looked at; none left is an empty set.
    recovered: Mutex<BTreeMap<String, BTreeSet<IntentId>>>,
    /// One opening at a time for each repository: a slow remote holds up its own callers alone.
    opening: Mutex<BTreeMap<ObjectKey, Arc<tokio::sync::Mutex<()>>>>,
    /// Repositories that are to be fetched although it is not time.
    hints: Mutex<BTreeSet<ObjectKey>>,
    /// When each remote is to be asked again, in Unix seconds: no object is written to remember a look that found
    /// nothing.
    polls: Mutex<BTreeMap<ObjectKey, i64>>,
}

impl Repos {
    /// The open repository of an object, if it is open with this very spec.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<Open>> {
        lock(&self.open).get(key).cloned()
    }

    /// Every open repository.
    pub(crate) fn all(&self) -> Vec<Arc<Open>> {
        lock(&self.open).values().map(Arc::clone).collect()
    }

    /// Takes a repository that is open somewhere else.
    pub(crate) fn take(&self, open: Open) {
        lock(&self.open).insert(open.key().clone(), Arc::new(open));
    }

    /// One open repository of each URL.
    pub(crate) fn urls(&self) -> Vec<Arc<dyn store::Repo>> {
        let open = lock(&self.open);
        let by_url: BTreeMap<&str, &Arc<dyn store::Repo>> =
            open.values().map(|o| (o.repo.url(), &o.repo)).collect();
        by_url.into_values().map(Arc::clone).collect()
    }

    async fn turn(&self, key: &ObjectKey) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = Arc::clone(lock(&self.opening).entry(key.clone()).or_default());
        turn.lock_owned().await
    }

    /// Forgets a repository; nothing in git changes.
    pub(crate) fn close(&self, key: &ObjectKey) {
        lock(&self.open).remove(key);
        lock(&self.polls).remove(key);
    }

    /// Whether it is time to ask a remote: always until this process did.
    pub(crate) fn is_due(&self, key: &ObjectKey, now: i64) -> bool {
        lock(&self.polls).get(key).is_none_or(|next| *next <= now)
    }

    /// When a remote is to be asked again, in Unix seconds; `None` until this process asked.
    pub(crate) fn next_poll(&self, key: &ObjectKey) -> Option<i64> {
        lock(&self.polls).get(key).copied()
    }

    /// Notes when a remote that was asked is to be asked again.
    pub(crate) fn polled(&self, key: &ObjectKey, next: i64) {
        lock(&self.polls).insert(key.clone(), next);
    }

    /// Whether everything in a repository was looked at, and nothing of ours is unrecorded since.
    pub(crate) fn is_seen(&self, key: &ObjectKey) -> bool {
        self.get(key).is_some_and(|open| lock(&open.seen).whole)
    }

    /// Notes that git may hold something of ours that no record tells of.
    pub(crate) fn unrecorded(&self, key: &ObjectKey) {
        if let Some(open) = self.get(key) {
            lock(&open.seen).whole = false;
        }
        self.look_again(key);
    }

    /// Notes that somebody hinted at news.
    pub(crate) fn look_again(&self, key: &ObjectKey) {
        lock(&self.hints).insert(key.clone());
    }

    /// Whether somebody hinted at news since the last question.
    pub(crate) fn take_hint(&self, key: &ObjectKey) -> bool {
        lock(&self.hints).remove(key)
    }

    /// Whether this URL's journal has still to be looked at.
    pub(crate) fn needs_recovery(&self, url: &str) -> bool {
        let recovered = lock(&self.recovered);
        recovered.get(url).is_none_or(|left| !left.is_empty())
    }

    /// The intents that the last process left open: those that are open at the first look.
    pub(crate) fn left_open(&self, url: &str, open: &[Intent]) -> BTreeSet<IntentId> {
        let mut recovered = lock(&self.recovered);
        let left = recovered.entry(url.to_owned());
        left.or_insert_with(|| open.iter().map(|i| i.id).collect())
            .clone()
    }

    /// Notes which intents of a URL's journal were looked at.
    pub(crate) fn recovered(&self, url: &str, seen: BTreeSet<IntentId>) {
        let mut recovered = lock(&self.recovered);
        let left = recovered.entry(url.to_owned()).or_default();
        left.retain(|id| !seen.contains(id));
    }

    /// Notes that an intent's records could not be written: the next look completes it. Before the first look at the journal
    /// everything in it is left anyway.
    pub(crate) fn leave_open(&self, url: &str, intent: IntentId) {
        if let Some(left) = lock(&self.recovered).get_mut(url) {
            left.insert(intent);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// The repository of this name, opened if need be.
    ///
    /// # Errors
    /// It is not registered, cannot be understood, or cannot be opened.
    pub(crate) async fn open(
        &self,
        namespace: &Namespace,
        name: &RepositoryName,
    ) -> Result<Arc<Open>> {
        let missing = || Error::NotFound {
            what: "repositories.config.porch.kpt.dev",
            name: name.to_string(),
        };
        let stored = self
            .world(|w| w.repository(namespace, name))
            .ok_or_else(missing)?;
        match &stored.parsed {
            Ok(repository) => self.open_repository(repository).await,
            Err(problems) => Err(Error::Refused {
                class: Class::Invalid,
                problems: problems.clone(),
            }),
        }
    }

    /// The repository of this name, to read what a record names: whatever is listed can be read, also while its remote
    /// is silent, refuses us, or is asked by somebody else. What is to be written takes [`Engine::open`].
    ///
    /// # Errors
    /// It is not registered, or nothing of it is here and it cannot be opened.
    pub(crate) async fn here(
        &self,
        namespace: &Namespace,
        name: &RepositoryName,
    ) -> Result<Arc<Open>> {
        let stored = self.world(|w| w.repository(namespace, name));
        let parsed = stored.as_ref().and_then(|s| s.parsed.as_ref().ok());
        let Some(repository) = parsed else {
            return self.open(namespace, name).await;
        };
        let address = &repository.git.repo;
        let known = self.inner.repos.get(&repository.key);
        if let Some(open) = known.filter(|open| open.repository.git.repo == *address) {
            return Ok(open);
        }
        match self.mirror(repository).await? {
            Some(open) => Ok(open),
            None => self.open(namespace, name).await,
        }
    }

    /// What is here of a registration's address, if it may see that.
    async fn mirror(&self, repository: &Repository) -> Result<Option<Arc<Open>>> {
        let mirror = self.inner.store.here(&repository.git.repo).await;
        let mirror = mirror.map_err(|source| Error::Store {
            attempt: "read the mirror of the repository",
            source,
        })?;
        let Some(repo) = mirror.filter(|repo| self.may_see(repository, repo.url())) else {
            return Ok(None);
        };
        Ok(Some(Arc::new(Open {
            repository: repository.clone(),
            layout: Layout::of(repository)?,
            repo,
            seen: Mutex::default(),
            numbers: Mutex::default(),
        })))
    }

    /// Opens a registered repository, or hands out the open one; its journal comes first.
    pub(crate) async fn open_repository(&self, repository: &Repository) -> Result<Arc<Open>> {
        let repos = &self.inner.repos;
        if let Some(open) = repos
            .get(&repository.key)
            .filter(|o| o.repository == *repository)
        {
            return Ok(open);
        }
        let address = &repository.git.repo;
        let _turn = self.remote(address, repos.turn(&repository.key)).await;
        let known = repos.get(&repository.key);
        if let Some(open) = known.filter(|o| o.repository.git == repository.git) {
            if open.repository == *repository {
                return Ok(open);
            }
            let same = Open {
                repository: repository.clone(),
                layout: open.layout.clone(),
                repo: Arc::clone(&open.repo),
                seen: Mutex::new(lock(&open.seen).clone()),
                numbers: Mutex::default(),
            };
            return Ok(self.keep(same));
        }
        if self.inner.supposed.is_some() {
            // Nobody is asked for anything in a supposed world, credentials included.
            let source = store::Error::NoRepository {
                url: address.clone(),
            };
            let attempt = "open the repository";
            return self
                .mirror(repository)
                .await?
                .ok_or(Error::Store { attempt, source });
        }
        let layout = Layout::of(repository)?;
        let repo = self.ask_for(repository).await?;
        self.learn(|world| {
            world.repositories.resolve(address, repo.url());
            Wake::default()
        });
        let open = self.keep(Open {
            repository: repository.clone(),
            layout,
            repo,
            seen: Mutex::default(),
            numbers: Mutex::default(),
        });
        // After it is kept: where the journal cannot be followed now, each look tries again, and reads go on meanwhile.
        self.recover(&open).await?;
        Ok(open)
    }

    /// Opens the repository at a registration's address, or makes what it says may be made.
    async fn ask_for(&self, repository: &Repository) -> Result<Arc<dyn Repo>> {
        let git = &repository.git;
        let was_there = self.was_there(repository);
        let spec = RemoteSpec {
            create_repository: git.create && !was_there,
            branch: Some(git.branch.clone()),
            create_branch: (git.create_branch || git.create).then(|| committer(self.now())),
            credentials: self.credentials(
                &repository.key.namespace,
                git.secret.as_deref(),
                &git.repo,
                Reader::Repository {
                    key: repository.key.clone(),
                    address: git.repo.clone(),
                },
            ),
            ..RemoteSpec::new(&git.repo)
        };
        let opened = self.remote(&git.repo, self.inner.store.open(spec)).await;
        opened.map_err(|source| Error::Store {
            attempt: "open the repository",
            source: match source {
                store::Error::NoRepository { url } if git.create && was_there => {
                    store::Error::Gone { url }
                }
                other => other,
            },
        })
    }

    /// Whether a look at a registered repository has found its branch before, by whichever registration of its place: then
    /// `git.create` makes no other one there, which would stand for everything that is in the missing one.
    fn was_there(&self, repository: &Repository) -> bool {
        self.world(|w| {
            let mut all = w.repositories.at(&repository.git.repo);
            all.any(|stored| !stored.status.git_commit.is_empty())
        })
    }

    /// Whether what the mirror holds is this registration's to see: other registrations of the address fetched into it
    /// with other credentials. Records of this address are there only once its own were good for a look.
    pub(crate) fn is_let_in(&self, open: &Open) -> bool {
        self.may_see(&open.repository, open.repo.url())
    }

    fn may_see(&self, repository: &Repository, url: &str) -> bool {
        let Repository { key, name, git, .. } = repository;
        let namespace = &key.namespace;
        let listed = || self.world(|w| w.revisions.is_listed_at(namespace, name, &git.repo));
        url.starts_with("file://") || listed()
    }

    fn keep(&self, open: Open) -> Arc<Open> {
        let open = Arc::new(open);
        lock(&self.inner.repos.open).insert(open.key().clone(), Arc::clone(&open));
        open
    }
}
