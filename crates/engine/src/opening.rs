//! Opening registered repositories, with the credentials that reach them.

use std::sync::{Arc, Mutex};

use model::{Class, Namespace, Repository, RepositoryName};
use store::{RemoteSpec, Repo};

use crate::git::{Layout, committer};
use crate::index::Wake;
use crate::ports::Reader;
use crate::repos::Open;
use crate::{Engine, Error, Result};

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
                seen: Mutex::new(open.last_seen()),
                numbers: Mutex::default(),
            };
            return Ok(self.inner.repos.take(same));
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
        let open = self.inner.repos.take(Open {
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
}
