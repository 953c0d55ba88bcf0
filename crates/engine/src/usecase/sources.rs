//! Where the content of a new revision comes from: nothing, a registered revision, or git anywhere.

use std::sync::Arc;

use model::{
    Class, CommitId, Condition, Conflict, ConflictPolicy, Decision, Files, GitLock, GitSource,
    GitUpstream, Namespace, PackageName, Revision, Status, Strategy,
};
use package::clone::{self, CloneSpec};
use package::init::{InitSpec, init};
use package::kptfile::{Edit, Kptfile};
use package::merge::{MergeError, MergeOptions, merge};
use plan::revision::ContentSource;
use store::{Dir, Opaque, RemoteSpec};

use super::carried::occupied;
use super::{Caller, PackageKey};
use crate::discover::chain;
use crate::ports::Reader;
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result, credentials, opening, waiting};

/// The condition that names what of the upstream is left out.
pub(super) const LEFT_OUT: &str = "UpstreamFilesLeftOut";

/// How many paths or conflicts a message names.
const NAMED: usize = 5;

/// Content for a new revision.
#[derive(Debug)]
pub(super) struct Content {
    /// The files.
    pub(super) files: Files,
    /// What is carried along unread; objects of the same repository only.
    pub(super) opaque: Vec<Opaque>,
    /// What a merge could not decide alone.
    pub(super) conflicts: Vec<model::Conflict>,
    /// What the caller should know.
    pub(super) warnings: Vec<String>,
    /// What the draft says of itself.
    pub(super) conditions: Vec<Condition>,
}

impl Content {
    fn of(files: Files) -> Self {
        Self {
            files,
            opaque: Vec::new(),
            conflicts: Vec::new(),
            warnings: Vec::new(),
            conditions: Vec::new(),
        }
    }
}

fn cannot(attempt: &'static str, class: Class, error: &dyn std::error::Error) -> Error {
    Error::Contents {
        attempt,
        class,
        message: chain(error),
    }
}

/// Makes the content.
pub(super) async fn content(
    engine: &Engine,
    by: &Caller,
    open: &Arc<OpenRepository>,
    key: &PackageKey,
    source: &ContentSource,
) -> Result<Content> {
    match source {
        ContentSource::Init {
            description,
            keywords,
            site,
        } => Ok(Content::of(init(
            &key.package,
            &InitSpec {
                description: description.clone(),
                keywords: keywords.clone(),
                site: site.clone(),
            },
        ))),
        ContentSource::Clone(upstream) => {
            let (files, opaque, lock) = registered(engine, &key.namespace, upstream).await?;
            cloned(open, &key.package, &files, &opaque, &lock)
        }
        ContentSource::CloneGit(git) => {
            let (files, opaque, lock) = elsewhere(engine, by, &key.namespace, git).await?;
            cloned(open, &key.package, &files, &opaque, &lock)
        }
        ContentSource::Edit(revision) => {
            let snapshot = open.snapshot(revision.tree)?;
            Ok(Content {
                opaque: snapshot.opaque.clone(),
                ..Content::of(snapshot.files.clone())
            })
        }
        ContentSource::Upgrade {
            old,
            new,
            local,
            strategy,
        } => upgraded(engine, open, key, (old, new, local), *strategy).await,
    }
}

/// The files of a registered revision, with the lock that names them.
pub(crate) async fn registered(
    engine: &Engine,
    namespace: &Namespace,
    revision: &Revision,
) -> Result<(Files, Vec<Opaque>, GitLock)> {
    let open = opening::here(engine, namespace, &revision.repository).await?;
    let snapshot = open.snapshot(revision.tree)?;
    let lock = revision.self_lock.clone().ok_or_else(|| Error::NotFound {
        what: "the git lock of package revision",
        name: revision.key.name.to_string(),
    })?;
    Ok((snapshot.files.clone(), snapshot.opaque.clone(), lock))
}

fn wanted(lock: &GitLock) -> GitUpstream {
    GitUpstream {
        repo: lock.repo.clone(),
        directory: lock.directory.clone(),
        git_ref: lock.git_ref.clone(),
    }
}

/// What of an upstream package does not come along, and why: git holds it in the upstream's
/// repository alone, and it is never followed (X1, M19). `has` says what the
/// downstream holds at that place already.
fn left_out(opaque: &[Opaque], has: &[Opaque]) -> Option<String> {
    let missing = |o: &&Opaque| !has.iter().any(|h| h.path == o.path);
    let mut named: Vec<String> = opaque
        .iter()
        .filter(missing)
        .map(|o| format!("{} `{}`", o.what(), shown(&o.path)))
        .collect();
    if named.is_empty() {
        return None;
    }
    named.sort();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    Some(format!(
        "not taken along from the upstream package, since only plain files with names that every system takes are; a file that stood in its place stays: {}",
        named.join(", ")
    ))
}

/// Says on a draft what of its upstream did not come along (M19: no silent skip).
pub(crate) fn not_carried(theirs: &[Opaque], ours: &[Opaque]) -> Option<Condition> {
    let what = left_out(theirs, ours)?;
    Some(Condition::new(
        LEFT_OUT,
        Status::True,
        "NotPlainFiles",
        what,
    ))
}

/// A path for people: whatever git allows in a name stays on one line.
fn shown(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => path.escape_ascii().to_string(),
    }
}

fn cloned(
    open: &OpenRepository,
    package: &PackageName,
    files: &Files,
    opaque: &[Opaque],
    lock: &GitLock,
) -> Result<Content> {
    let spec = CloneSpec {
        package: package.clone(),
        upstream: wanted(lock),
        lock: lock.clone(),
        deployment: open.repository.deployment,
    };
    let cloned = clone::clone(files, &spec)
        .map_err(|e| cannot("clone the upstream package", e.class(), &e))?;
    let mut warnings: Vec<_> = cloned.warnings.iter().map(|w| w.what.clone()).collect();
    let left_out = not_carried(opaque, &[]);
    warnings.extend(left_out.iter().map(|c| c.message.clone()));
    Ok(Content {
        warnings,
        conditions: left_out.into_iter().collect(),
        ..Content::of(cloned.files)
    })
}

/// A package in a repository that need not be registered: branch, tag or commit.
async fn elsewhere(
    engine: &Engine,
    by: &Caller,
    namespace: &Namespace,
    git: &GitSource,
) -> Result<(Files, Vec<Opaque>, GitLock)> {
    let failed = |source| Error::Store {
        attempt: "fetch the upstream package",
        source,
    };
    let reader = Reader::Caller {
        user: by.user.clone(),
        groups: by.groups.clone(),
    };
    let spec = RemoteSpec {
        credentials: credentials::of_secret(
            engine,
            namespace,
            git.secret.as_deref(),
            &git.repo,
            reader,
        ),
        ..RemoteSpec::new(&git.repo)
    };
    let opened = waiting::remote(engine, &git.repo, engine.inner.store.open(spec)).await;
    let repo = opened.map_err(failed)?;
    let refs = waiting::remote(engine, &git.repo, repo.fetch()).await;
    let refs = refs.map_err(failed)?;
    let missing = |what: &'static str, name: &str| Error::NotFound {
        what,
        name: name.to_owned(),
    };
    let by_name = |full: String| {
        let name = store::RefName::parse(&full).ok()?;
        refs.get(&name).copied()
    };
    let wanted_ref = &git.git_ref;
    let commit = by_name(format!("refs/tags/{wanted_ref}"))
        .or_else(|| by_name(format!("refs/heads/{wanted_ref}")))
        .or_else(|| by_name(wanted_ref.clone()))
        .or_else(|| CommitId::parse(wanted_ref))
        .ok_or_else(|| missing("git ref", wanted_ref))?;
    let dir = Dir::parse(&git.directory)
        .map_err(|e| Error::refused(Class::Invalid, "directory", e.to_string()))?;
    let root = repo.commit(commit).map_err(failed)?.tree;
    let tree = repo.subtree(root, &dir).map_err(failed)?;
    let tree = tree.ok_or_else(|| missing("directory", &git.directory))?;
    let snapshot = repo.snapshot(tree).map_err(failed)?;
    Ok((
        snapshot.files.clone(),
        snapshot.opaque.clone(),
        GitLock {
            repo: git.repo.clone(),
            directory: dir.to_string(),
            git_ref: wanted_ref.clone(),
            commit: Some(commit),
        },
    ))
}

/// The upgrade task as people ask for it: a three-way merge with the raw upstreams, as Porch's.
async fn upgraded(
    engine: &Engine,
    open: &Arc<OpenRepository>,
    key: &PackageKey,
    (old, new, local): (&Revision, &Revision, &Revision),
    strategy: Strategy,
) -> Result<Content> {
    let (old_files, _, _) = registered(engine, &key.namespace, old).await?;
    let (new_files, new_opaque, lock) = registered(engine, &key.namespace, new).await?;
    let local = open.snapshot(local.tree)?;
    let cpu = engine.inner.options.cpu.clone();
    let local_files = local.files.clone();
    let (here, theirs) = (occupied(&local.opaque), occupied(&new_opaque));
    let merged = cpu
        .run(move || {
            let options = MergeOptions::upgrade(strategy, ConflictPolicy::Upstream);
            let old_files = theirs
                .unknown_in(&old_files, &new_files)
                .unwrap_or(old_files);
            let mut merged = merge(&old_files, &local_files, &new_files, &options)?;
            merged.beside(&here, [&old_files, &local_files, &new_files], &options);
            Ok(merged)
        })
        .await?
        .map_err(|e: MergeError| cannot("upgrade the package", e.class(), &e))?;
    let marked = clone::mark(&merged.files);
    let mut files = marked.files;
    let edits = [
        Edit::SetUpstream(clone::normal_upstream(&wanted(&lock))),
        Edit::SetLock(clone::normal_lock(&lock)),
    ];
    Kptfile::of_files(&files)
        .map_err(|e| cannot("upgrade the package", Class::Invalid, &e))?
        .edit(&edits)
        .map_err(|e| cannot("write the upstream into the Kptfile", e.class(), &e))?
        .put(&mut files);
    let mut warnings: Vec<_> = marked.warnings.iter().map(|w| w.what.clone()).collect();
    let left_out = not_carried(&new_opaque, &local.opaque);
    warnings.extend(left_out.iter().map(|c| c.message.clone()));
    warnings.extend(decided(&merged.conflicts));
    Ok(Content {
        files,
        conditions: left_out.into_iter().collect(),
        opaque: local.opaque.clone(),
        conflicts: merged.conflicts,
        warnings,
    })
}

/// What both sides had changed, and the merge decided against the package: no gate holds it, so that whoever asked is told.
fn decided(conflicts: &[Conflict]) -> Option<String> {
    let lost = |c: &&Conflict| c.decision == Decision::Upstream;
    let lost: Vec<&Conflict> = conflicts.iter().filter(lost).collect();
    let mut named: Vec<String> = lost.iter().take(NAMED).map(ToString::to_string).collect();
    if let Some(more) = lost.len().checked_sub(NAMED).filter(|more| *more > 0) {
        named.push(format!("and {more} more"));
    }
    (!named.is_empty()).then(|| {
        format!(
            "what both sides changed is as upstream has it: {}; status.conflicts holds both values, and `offshoot rpkg edit` puts yours back",
            named.join("; ")
        )
    })
}
