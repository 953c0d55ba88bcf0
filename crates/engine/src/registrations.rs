//! Registrations of one place beside each other: which of them may not stand there, and which may write (V25).

use std::sync::Arc;

use model::{ObjectKey, Repository};
use plan::repository::{Registration, SHARED, nested, writer_instead};

use crate::index::World;
use crate::ports::StoredRepository;
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result};

/// Who stays of two registrations that cannot stand beside each other: the older; of one second, the one that works,
/// then the one that worked, then the first by name.
fn seniority(stored: &StoredRepository) -> (&str, bool, bool, &ObjectKey) {
    let status = &stored.status;
    let works = status.is_ready() && status.observed_generation == stored.meta.generation;
    let worked = !status.last_full_sync.is_empty();
    (&stored.meta.created, !works, !worked, &stored.key)
}

/// Why a registration cannot stand beside another one of the same place, if so.
pub(crate) fn refused(world: &World, stored: &StoredRepository) -> Option<String> {
    let mine = stored.parsed.as_ref().ok()?;
    let others = world.repositories.at(&mine.git.repo);
    others
        .filter(|other| other.key != stored.key && !other.meta.is_deleting())
        .filter(|other| seniority(other) < seniority(stored))
        .filter_map(|other| other.parsed.as_ref().ok())
        .find_map(|other| overlap(mine, other))
}

fn overlap(mine: &Repository, other: &Repository) -> Option<String> {
    let (a, b) = (&mine.git.directory, &other.git.directory);
    if mine.git.branch != other.git.branch && nested(a, b) {
        return Some(format!(
            "branch {:?} of {} overlaps with branch {:?}, which repository {} registers: their tags would collide; register another directory",
            mine.git.branch, mine.git.repo, other.git.branch, other.key
        ));
    }
    let same_namespace = mine.key.namespace == other.key.namespace;
    (same_namespace && a.trim_matches('/') == b.trim_matches('/')).then(|| {
        format!(
            "the same directory and branch of {} are registered as repository {} already",
            mine.git.repo, other.key
        )
    })
}

/// Why nothing may be written through a registration: another one writes there. With the way out.
pub(crate) fn read_only(engine: &Engine, world: &World, repository: &Repository) -> Option<String> {
    let others = world.repositories.at(&repository.git.repo);
    let others: Vec<&Arc<StoredRepository>> = others.collect();
    // Of most places there is one registration, in one namespace.
    if others
        .iter()
        .all(|other| other.key.namespace == repository.key.namespace)
    {
        return None;
    }
    let all: Vec<Registration> = others
        .iter()
        .filter_map(|stored| registration(engine, world, stored))
        .collect();
    let mine = all.iter().find(|r| r.key == repository.key)?;
    let writer = writer_instead(mine, &all)?;
    Some(format!(
        "repository {} registers the same place and writes to it, so that this one is read-only and serves as an upstream; \
         to write through both, annotate each of them with {SHARED}=true",
        writer.key
    ))
}

fn registration(engine: &Engine, world: &World, stored: &StoredRepository) -> Option<Registration> {
    let repository = stored.parsed.as_ref().ok()?;
    let open = engine.inner.repos.get(&stored.key);
    let bare = open.is_none_or(|open| open.repo.writable());
    let local = repository.git.repo.starts_with("file://");
    let meta = &stored.meta;
    let says = [&meta.annotations, &meta.labels];
    Some(Registration {
        key: stored.key.clone(),
        created: meta.created.clone(),
        uid: meta.uid.clone(),
        branch: repository.git.branch.clone(),
        directory: repository.git.directory.clone(),
        deployment: repository.deployment,
        shared: says
            .iter()
            .any(|m| m.get(SHARED).is_some_and(|v| v == "true")),
        able: bare && !meta.is_deleting() && refused(world, stored).is_none(),
        credentials: !local && repository.git.secret.is_some(),
    })
}

/// Whether anything may be written through a registration, or why not.
pub(crate) fn writable(engine: &Engine, open: &OpenRepository) -> std::result::Result<(), String> {
    open.bare()?;
    match engine.world(|w| read_only(engine, w, &open.repository)) {
        None => Ok(()),
        Some(why) => Err(why),
    }
}

/// The same as a refusal: for verbs that move refs.
///
/// # Errors
/// `Denied`: another registration writes there, or nobody does.
pub(crate) fn may_write(engine: &Engine, open: &OpenRepository) -> Result<()> {
    let refuse = |why: String| {
        let name = &open.repository.name;
        let text = format!("repository '{name}' cannot be written to: {why}");
        Error::refused(model::Class::Denied, "", text)
    };
    writable(engine, open).map_err(refuse)
}
