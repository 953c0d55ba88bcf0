//! What a draft is derived from: contents by object id, read from the repositories that hold them.

use std::sync::Arc;

use model::{Files, GitLock, GitUpstream, Machine, ObjectKey, Recipe, Revision, TreeId};
use package::clone::Marked;
use package::derive::{Base, DeriveInput, MachineFiles, OpenDraft};
use plan::variant::{BaseRef, MachineBase, UpdateDraft};
use store::{Opaque, Snapshot};

use crate::discover::chain;
use crate::observe::old_files;
use crate::repos::OpenRepository;
use crate::usecase::{occupied, registered};
use crate::{Engine, Error, Result, held};

pub(super) async fn open_draft(
    engine: &Engine,
    open: &OpenRepository,
    old: &Revision,
    step: &UpdateDraft,
    carried: &[Opaque],
) -> Result<OpenDraft> {
    let machine = match &step.machine {
        Some(machine) => known(open, machine, machine.m_tree)?,
        None => machine_files(engine, open, &step.draft_base).await?,
    };
    Ok(OpenDraft {
        machine,
        tip: contents(open, old.tree)?.files.clone(),
        occupied: occupied(carried),
        conflicts: old.conflicts.clone(),
        acknowledged: old.resolved_conflicts.clone(),
    })
}

pub(super) async fn input(
    engine: &Engine,
    open: &OpenRepository,
    upstream: &Revision,
    recipe: &Recipe,
    base: Option<&BaseRef>,
    draft: Option<OpenDraft>,
) -> Result<(DeriveInput, Vec<Opaque>)> {
    let (files, theirs, lock) = registered(engine, &upstream.key.namespace, upstream).await?;
    let base = match base {
        None => None,
        Some(base) => {
            let published = contents(open, base.tree)?;
            Some(Base {
                published: published.files.clone(),
                occupied: occupied(&published.opaque),
                machine: machine_files(engine, open, &base.machine).await?,
            })
        }
    };
    let input = DeriveInput {
        marked: marked(engine, upstream, &files, &lock).await?,
        upstream: files,
        upstream_occupied: occupied(&theirs),
        git_upstream: wanted(&lock),
        lock,
        recipe: recipe.clone(),
        base,
        draft,
        package_bytes: Some(engine.inner.options.package_bytes),
    };
    Ok((input, theirs))
}

/// What is published of the downstream package, or stands in its draft.
fn contents(open: &OpenRepository, tree: TreeId) -> Result<Arc<Snapshot>> {
    open.snapshot(tree).map_err(|error| match &error {
        // What is missing may be there again by the next look; what is too large is so until somebody mends it.
        Error::Store {
            source: store::Error::TooLarge { .. },
            ..
        } => Error::Derive {
            reason: "DownstreamUnreadable",
            class: error.class(),
            message: format!("in repo '{}': {}", open.key().name, chain(&error)),
        },
        _ => error,
    })
}

/// What is the same in all downstream packages of an upstream one.
async fn marked(
    engine: &Engine,
    upstream: &Revision,
    files: &Files,
    lock: &GitLock,
) -> Result<Option<Arc<Marked>>> {
    let cache = &engine.inner.trees.marked;
    let bytes = Marked::weight(files);
    if !cache.fits(bytes) {
        return Ok(None);
    }
    let key = (upstream.tree, lock.clone());
    if let Some(known) = cache.get(&key) {
        return Ok(Some(known));
    }
    let (cpu, files) = (engine.inner.options.cpu.clone(), files.clone());
    let lock = lock.clone();
    let marked = cpu.run(move || Marked::of(&files, &wanted(&lock), &lock));
    let marked = Arc::new(marked.await?);
    cache.put(key, Arc::clone(&marked), bytes);
    Ok(Some(marked))
}

fn wanted(lock: &GitLock) -> GitUpstream {
    GitUpstream {
        repo: lock.repo.clone(),
        directory: lock.directory.clone(),
        git_ref: lock.git_ref.clone(),
    }
}

/// The machine's output that a package stems from (V19a).
async fn machine_files(
    engine: &Engine,
    open: &OpenRepository,
    base: &MachineBase,
) -> Result<MachineFiles> {
    Ok(match base {
        MachineBase::Fresh | MachineBase::Wanted => MachineFiles::Wanted,
        MachineBase::Known(machine) => known(open, machine, machine.v_tree)?,
        MachineBase::Anew(lock) => MachineFiles::Anew {
            upstream: old_files(engine, &open.key().namespace, lock)?,
            git_upstream: wanted(lock),
            lock: lock.clone(),
        },
        MachineBase::Raw(name) => {
            let key = ObjectKey::new(open.key().namespace.clone(), name.clone());
            let revision = held::revision(engine, &key).await?;
            let (files, ..) = registered(engine, &key.namespace, &revision).await?;
            MachineFiles::Raw(files)
        }
    })
}

/// The machine's own files, by the tree that its trailer names.
fn known(open: &OpenRepository, machine: &Machine, tree: TreeId) -> Result<MachineFiles> {
    Ok(MachineFiles::Known {
        files: open.snapshot(tree)?.files.clone(),
        gates: machine.gates.clone(),
    })
}

/// What is carried along unread: only of the downstream's own repository, since git holds it there
/// alone.
pub(super) fn opaque(open: &OpenRepository, tree: Option<TreeId>) -> Result<Vec<Opaque>> {
    match tree {
        Some(tree) => Ok(contents(open, tree)?.opaque.clone()),
        None => Ok(Vec::new()),
    }
}
