//! Opening registered repositories, with the credentials that reach them.

use std::sync::{Arc, Mutex};

use model::{Class, Namespace, Repository, RepositoryName};
use store::{RefName, RemoteSpec, Repo};

use crate::git::{Layout, committer};
use crate::index::Wake;
use crate::ports::{Reader, StoredRepository};
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result, credentials, recover, waiting};

/// The repository of this name, opened if need be.
///
/// # Errors
/// It is not registered, cannot be understood, or cannot be opened.
pub(crate) async fn open(
    engine: &Engine,
    namespace: &Namespace,
    name: &RepositoryName,
) -> Result<Arc<OpenRepository>> {
    let missing = || Error::NotFound {
        what: "repositories.config.porch.kpt.dev",
        name: name.to_string(),
    };
    let stored = engine
        .world(|w| w.repository(namespace, name))
        .ok_or_else(missing)?;
    match &stored.parsed {
        Ok(repository) => open_repository(engine, repository).await,
        Err(problems) => Err(Error::Refused {
            class: Class::Invalid,
            reason: None,
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
    engine: &Engine,
    namespace: &Namespace,
    name: &RepositoryName,
) -> Result<Arc<OpenRepository>> {
    let stored = engine.world(|w| w.repository(namespace, name));
    let parsed = stored.as_ref().and_then(|s| s.parsed.as_ref().ok());
    let Some(repository) = parsed else {
        return open(engine, namespace, name).await;
    };
    let address = &repository.git.repo;
    let known = engine.inner.repos.get(&repository.key);
    if let Some(open) = known.filter(|open| open.repository.git.repo == *address) {
        return Ok(open);
    }
    match mirror(engine, repository).await? {
        Some(open) => Ok(open),
        None => open(engine, namespace, name).await,
    }
}

/// What is here of a registration's address, if it may see that.
async fn mirror(engine: &Engine, repository: &Repository) -> Result<Option<Arc<OpenRepository>>> {
    let mirror = engine.inner.store.here(&repository.git.repo).await;
    let mirror = mirror.map_err(|source| Error::Store {
        attempt: "read the mirror of the repository",
        source,
    })?;
    let Some(repo) = mirror.filter(|repo| may_see(engine, repository, repo.url())) else {
        return Ok(None);
    };
    Ok(Some(Arc::new(OpenRepository {
        repository: repository.clone(),
        layout: Layout::of(repository)?,
        repo,
        seen: Mutex::default(),
        numbers: Mutex::default(),
    })))
}

/// Opens a registered repository, or hands out the open one; its journal comes first.
pub(crate) async fn open_repository(
    engine: &Engine,
    repository: &Repository,
) -> Result<Arc<OpenRepository>> {
    let repos = &engine.inner.repos;
    if let Some(open) = repos
        .get(&repository.key)
        .filter(|o| o.repository == *repository)
    {
        return Ok(open);
    }
    let address = &repository.git.repo;
    let _turn = waiting::remote(engine, address, repos.turn(&repository.key)).await;
    let known = repos.get(&repository.key);
    if let Some(open) = known.filter(|o| o.repository.git == repository.git) {
        if open.repository == *repository {
            return Ok(open);
        }
        let same = OpenRepository {
            repository: repository.clone(),
            layout: open.layout.clone(),
            repo: Arc::clone(&open.repo),
            seen: Mutex::new(open.last_seen()),
            numbers: Mutex::default(),
        };
        return Ok(engine.inner.repos.take(same));
    }
    if engine.inner.supposed.is_some() {
        // Nobody is asked for anything in a supposed world, credentials included.
        let source = store::Error::NoRepository {
            url: address.clone(),
        };
        let attempt = "open the repository";
        return mirror(engine, repository)
            .await?
            .ok_or(Error::Store { attempt, source });
    }
    let layout = Layout::of(repository)?;
    let repo = ask_for(engine, repository).await?;
    engine.learn(|world| {
        world.resolve(address, repo.url());
        Wake::default()
    });
    let open = engine.inner.repos.take(OpenRepository {
        repository: repository.clone(),
        layout,
        repo,
        seen: Mutex::default(),
        numbers: Mutex::default(),
    });
    // After it is kept: where the journal cannot be followed now, each look tries again, and reads go on meanwhile.
    recover::complete(engine, &open).await?;
    Ok(open)
}

/// Opens the repository at a registration's address, or makes what it says may be made.
async fn ask_for(engine: &Engine, repository: &Repository) -> Result<Arc<dyn Repo>> {
    let git = &repository.git;
    let was_there = was_there(engine, repository);
    let spec = RemoteSpec {
        create_repository: git.create && !was_there,
        branch: Some(git.branch.clone()),
        create_branch: (git.create_branch || git.create).then(|| committer(engine.now())),
        branch_was_there: branch_was_there(engine, repository),
        credentials: credentials::of_secret(
            engine,
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
    let opened = waiting::remote(engine, &git.repo, engine.inner.store.open(spec)).await;
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
fn was_there(engine: &Engine, repository: &Repository) -> bool {
    engine.world(|w| {
        let mut all = w.repositories.at(&repository.git.repo);
        all.any(|stored| !stored.status.git_commit.is_empty())
    })
}

/// What tells of a registration's branch, where it is missing, that it was there: any other branch or tag if a look has found it
/// before, and else refs that only packages have. Those may belong to another branch that is registered for the same place.
/// A repository that has neither branches nor tags is a new one, wherever it stands.
fn branch_was_there(engine: &Engine, repository: &Repository) -> fn(&RefName) -> bool {
    let git = &repository.git;
    let same = |stored: &StoredRepository| {
        let branch = stored.parsed.as_ref().ok().map(|r| &r.git.branch);
        stored.key == repository.key || branch == Some(&git.branch)
    };
    let seen: Vec<bool> = engine.world(|w| {
        let all = w.repositories.at(&git.repo);
        let found = all.filter(|stored| !stored.status.git_commit.is_empty());
        found.map(|stored| same(stored)).collect()
    });
    match (seen.contains(&true), seen.is_empty()) {
        (true, _) => |_| true,
        (false, false) => |_| false,
        (false, true) => is_of_packages,
    }
}

/// Whether whatever follows says that this is a package's ref: a draft, a proposal, or the tag of a publication.
fn is_of_packages(name: &RefName) -> bool {
    let below = |prefix: &str| name.as_str().strip_prefix(prefix);
    let drafts = ["drafts/", "proposed/", "deletionProposed/"];
    let number = |tag: &str| {
        let (_, last) = tag.rsplit_once('/')?;
        last.strip_prefix('v')?.parse::<u32>().ok()
    };
    below("refs/heads/").is_some_and(|short| drafts.iter().any(|of| short.starts_with(of)))
        || below("refs/tags/").and_then(number).is_some()
}

/// Whether what the mirror holds is this registration's to see: other registrations of the address fetched into it
/// with other credentials. Records of this address are there only once its own were good for a look.
pub(crate) fn is_let_in(engine: &Engine, open: &OpenRepository) -> bool {
    may_see(engine, &open.repository, open.repo.url())
}

fn may_see(engine: &Engine, repository: &Repository, url: &str) -> bool {
    let Repository { key, name, git, .. } = repository;
    let namespace = &key.namespace;
    let listed = || engine.world(|w| w.revisions.is_listed_at(namespace, name, &git.repo));
    url.starts_with("file://") || listed()
}
