//! Where the published state of a downstream stems from (V19a).

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{CommitId, Files, GitLock, Machine, Namespace, ObjectName, Revision, Task};
use plan::variant::{BaseChoice, Lineage, ObservedBase, OldUpstream};
use store::Dir;

use crate::discover::{self, TakenIn};
use crate::index::PackageKey;
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result, opening};

/// The lineage of *p*.
pub(super) fn base(
    engine: &Engine,
    open: &OpenRepository,
    choice: &BaseChoice,
    revisions: &[Arc<Revision>],
) -> Result<ObservedBase> {
    let lock = choice.revision.upstream_lock.as_ref();
    let old = || old_upstream(engine, &choice.revision.key.namespace, lock);
    let by_records = if choice.from_branch {
        None
    } else {
        by_records(Some(open), &choice.revision, revisions, &old)?
    };
    let lineage = match by_records {
        Some(lineage) => lineage,
        None => {
            let dir = open.layout.dir(&choice.revision.package);
            discover::lineage(open, &dir, choice.commit, lock, old)?
        }
    };
    let lineage = match lineage {
        Lineage::Trailer(machine) => moved_on(engine, open, choice, machine),
        other => other,
    };
    Ok(ObservedBase {
        commit: choice.commit,
        lineage,
    })
}

/// Where the content is of another upstream than what the machine had made, another tool upgraded it, somebody put the state
/// of before back, or a squash left the history of a draft behind: what upstream was then is told by the lock alone (V19a). Where that cannot be had, what the
/// machine had made is the nearest that is known.
fn moved_on(
    engine: &Engine,
    open: &OpenRepository,
    choice: &BaseChoice,
    machine: Machine,
) -> Lineage {
    let revision = &choice.revision;
    let as_it_was_made = revision.machine.as_ref() == Some(&machine)
        && revision.tree == choice.tree
        && machine.m_tree == choice.tree;
    let locks = || {
        let now = discover::lock_of(open, choice.tree)?;
        let then = discover::lock_of(open, machine.v_tree)?;
        let moved = now.commit.is_some() && !now.same_content(&then);
        moved.then_some(now)
    };
    let Some(lock) = (!as_it_was_made).then(locks).flatten() else {
        return Lineage::Trailer(machine);
    };
    match old_upstream(engine, &revision.key.namespace, Some(&lock)) {
        OldUpstream::Gone => Lineage::Trailer(machine),
        old_upstream => Lineage::NoTrailer {
            lock: Some(lock),
            old_upstream,
        },
    }
}

/// Follows the tasks from revision to revision, and what people took in of the branch; `None` where that leads out of what is
/// recorded. Without its repository the records alone are asked.
fn by_records(
    open: Option<&OpenRepository>,
    revision: &Arc<Revision>,
    all: &[Arc<Revision>],
    old: &dyn Fn() -> OldUpstream,
) -> Result<Option<Lineage>> {
    let mut at = Arc::clone(revision);
    let mut seen = BTreeSet::new();
    loop {
        if let Some(machine) = &at.machine {
            return Ok(Some(Lineage::Trailer(machine.clone())));
        }
        if !seen.insert(at.key.clone()) {
            return Ok(None);
        }
        let source = match at.tasks.first() {
            Some(Task::Edit { source } | Task::Upgrade { local: source, .. }) => source,
            Some(Task::Init { .. }) => {
                let made = match at.key == revision.key {
                    true => "it".to_owned(),
                    false => format!("'{}', which it stems from,", at.key.name),
                };
                let how = format!("{made} was made anew (init)");
                return Ok(Some(Lineage::Diverged(how)));
            }
            Some(Task::Clone { .. } | Task::CloneGit(_)) | None => return Ok(None),
        };
        let source = all.iter().find(|r| r.key.name == *source);
        if let Some(open) = open
            && let Some(onto) = based_anew(open, &at, source)?
        {
            let dir = open.layout.dir(&at.package);
            let lock = revision.upstream_lock.as_ref();
            return discover::lineage(open, &dir, onto, lock, old).map(Some);
        }
        match source {
            Some(source) => at = Arc::clone(source),
            None => return Ok(None),
        }
    }
}

/// The commit that a person's copy is based on since it was made (V20): what was merged into it, or where it leaves the branch, if
/// its upstream is another one than its source's (a rebase by git leaves no merge behind).
fn based_anew(
    open: &OpenRepository,
    copy: &Revision,
    source: Option<&Arc<Revision>>,
) -> Result<Option<CommitId>> {
    let dir = open.layout.dir(&copy.package);
    let is_upgrade = matches!(copy.tasks.first(), Some(Task::Upgrade { .. }));
    Ok(match discover::taken_in(open, &dir, copy.commit)? {
        Some(TakenIn::Merged(commit)) => Some(commit),
        Some(TakenIn::Left(commit)) if !is_upgrade => {
            let own = copy.upstream_lock.as_ref();
            let before = source.and_then(|source| source.upstream_lock.as_ref());
            let locks = own.zip(before);
            locks
                .is_some_and(|(own, before)| !own.same_content(before))
                .then_some(commit)
        }
        _ => None,
    })
}

/// Whether the content of a published revision stems from a machine commit of ours, by the records or else by git.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn is_traced(engine: &Engine, revision: &Arc<Revision>) -> Result<bool> {
    let siblings = engine.world(|w| w.revisions.of_package(&PackageKey::of(revision)));
    let registered = engine.world(|w| w.repository(&revision.key.namespace, &revision.repository));
    let open = registered.and_then(|stored| engine.inner.repos.get(&stored.key));
    let gone = || OldUpstream::Gone;
    match by_records(open.as_deref(), revision, &siblings, &gone)? {
        Some(Lineage::Trailer(_)) => return Ok(true),
        Some(_) => return Ok(false),
        None => {}
    }
    // What cannot be read now stays held.
    let Some(open) = open else {
        return Ok(false);
    };
    let dir = open.layout.dir(&revision.package);
    let lineage = discover::lineage(&open, &dir, revision.commit, None, gone)?;
    Ok(matches!(lineage, Lineage::Trailer(_)))
}

/// Whether what a lock names can still be had.
fn old_upstream(engine: &Engine, namespace: &Namespace, lock: Option<&GitLock>) -> OldUpstream {
    let Some(lock) = lock else {
        return OldUpstream::Gone;
    };
    if holder(engine, namespace, lock).is_some() {
        return OldUpstream::Commit;
    }
    match registered(engine, namespace, lock) {
        Some(name) => OldUpstream::Revision(name),
        None => OldUpstream::Gone,
    }
}

/// URLs with and without `.git` at their end are one (Porch adds it to locks).
fn bare(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix(".git").unwrap_or(url)
}

/// An open repository of the lock's URL that has its commit, and that this namespace may read.
fn holder(engine: &Engine, namespace: &Namespace, lock: &GitLock) -> Option<Arc<OpenRepository>> {
    let commit = lock.commit?;
    let keys: Vec<_> = engine.world(|w| {
        let same = |r: &&Arc<crate::ports::StoredRepository>| {
            let named = r.parsed.as_ref();
            r.key.namespace == *namespace
                && named.is_ok_and(|r| bare(&r.git.repo) == bare(&lock.repo))
        };
        w.repositories
            .iter()
            .filter(same)
            .map(|r| r.key.clone())
            .collect()
    });
    keys.iter()
        .filter_map(|key| engine.inner.repos.get(key))
        .filter(|open| opening::is_let_in(engine, open))
        .find(|open| open.repo.has_commit(commit).unwrap_or(false))
}

/// A registered revision that stands for what the lock names: same place, same ref.
fn registered(engine: &Engine, namespace: &Namespace, lock: &GitLock) -> Option<ObjectName> {
    engine.world(|w| {
        let mut revisions = w.repositories.iter().filter_map(|r| {
            let repository = r.parsed.as_ref().ok()?;
            (r.key.namespace == *namespace && bare(&repository.git.repo) == bare(&lock.repo))
                .then(|| w.revisions.of_repository(namespace, &repository.name))
        });
        revisions.find_map(|all| {
            let same = |r: &&Arc<Revision>| {
                r.self_lock.as_ref().is_some_and(|own| {
                    own.directory == lock.directory && own.git_ref == lock.git_ref
                })
            };
            all.iter().find(same).map(|r| r.key.name.clone())
        })
    })
}

/// The files that a lock names.
///
/// # Errors
/// They cannot be had any more: the way out is in `plan`.
pub(crate) fn old_files(engine: &Engine, namespace: &Namespace, lock: &GitLock) -> Result<Files> {
    let failed = |source| Error::Store {
        attempt: "read the old upstream",
        source,
    };
    let missing = || Error::Contents {
        attempt: "find the old upstream",
        class: model::Class::NotFound,
        message: format!(
            "commit {} of {} is in no registered repository",
            lock.commit
                .map_or_else(|| "(unknown)".to_owned(), |c| c.to_string()),
            lock.repo
        ),
    };
    let open = holder(engine, namespace, lock).ok_or_else(missing)?;
    let commit = lock.commit.ok_or_else(missing)?;
    let dir = Dir::parse(&lock.directory).map_err(|_| missing())?;
    let root = open.repo.commit(commit).map_err(failed)?.tree;
    let tree = open.repo.subtree(root, &dir).map_err(failed)?;
    let snapshot = open
        .repo
        .snapshot(tree.ok_or_else(missing)?)
        .map_err(failed)?;
    Ok(snapshot.files.clone())
}
