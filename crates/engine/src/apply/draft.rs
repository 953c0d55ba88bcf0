//! Makes and updates drafts: one atomic act each (V2).

use std::sync::Arc;

use model::{
    Files, GitLock, GitUpstream, Machine, ObjectKey, Owner, PackedRenderStatus, Recipe, Revision,
    TreeId, Uid,
};
use package::derive::{Base, DeriveInput, Derived, MachineFiles, OpenDraft};
use package::kptfile::Kptfile;
use plan::variant::{
    BaseRef, CreateDraft, MachineBase, OnEqual, Outcome, RevisionRef, UpdateDraft, base_of,
};
use store::{Opaque, RefEdit, RefName, Written};
use tokio::sync::OwnedMutexGuard;

use super::commits::{Commits, Noted, tree_of};
use super::current::uncover;
use super::revision::{expected, note};
use super::variant::service;
use crate::discover::{apply_kptfile, by_person, chain, unseen};
use crate::git::Subject;
use crate::index::PackageKey;
use crate::observe::old_files;
use crate::ports::{EventType, OurKind};
use crate::publish::{Follow, Publication};
use crate::repos::Open;
use crate::usecase::{new_record, not_carried, registered};
use crate::{Engine, Error, Result};

/// Makes a draft, if nothing else stands there than what was `seen`.
pub(super) async fn create(
    engine: &Engine,
    key: &ObjectKey,
    seen: &[Arc<Revision>],
    step: &CreateDraft,
) -> Result<Outcome> {
    let package = PackageKey::new(&step.key.namespace, &step.repository, &step.package);
    let open = engine.open(&step.key.namespace, &step.repository).await?;
    let _held = sure(engine, &open, &package, seen).await?;
    let uid = engine.unrecorded(&step.key).await?;
    let base = step.base.as_ref();
    base_stands(engine, &package, base)?;
    let (input, theirs) = input(engine, &open, &step.upstream, &step.recipe, base, None).await?;
    let mut announced = Some(open.repo.announce());
    let mut derived = engine.derive(input, &mut announced).await?;
    let opaque = opaque(engine, &open, base.map(|b| b.tree))?;
    derived.conditions.extend(not_carried(&theirs, &opaque));
    if derived.m_equals_p
        && let OnEqual::NoteDigest(revision) = &step.on_equal
    {
        drop(announced);
        note(engine, revision, &step.digest).await?;
        return Ok(Outcome::Unchanged);
    }
    let by = service(engine, key);
    let commits = Commits {
        engine,
        open: &open,
        by: &by,
        package: &step.package,
        workspace: &step.workspace,
        opaque: &opaque,
        derived: &derived,
    };
    let noted = Noted {
        owner: owner(key, &step.owner.uid),
        digest: &step.digest,
        full_digest: &step.full_digest,
        base,
        directory: step.directory,
        recipe: &step.recipe,
    };
    let (drafted, machine) =
        commits.fresh(engine.head(&open)?, Subject::Task(&step.task), noted)?;
    let mut record = new_record(
        engine,
        &open,
        &package,
        &step.key,
        &step.workspace,
        (uid, &drafted.written),
    );
    record.tasks = vec![step.task.clone()];
    record.meta.labels.clone_from(&step.labels);
    record.meta.annotations.clone_from(&step.annotations);
    record.meta.owners = vec![step.owner.clone()];
    serve(&mut record, &derived, &drafted.written, machine)?;
    let mut publication = Publication {
        refs: vec![RefEdit::create(
            open.layout.draft(&step.package, &step.workspace)?,
            drafted.written.commit(),
        )],
        follow: vec![Follow::put(record, None)],
        announced,
        ..Publication::default()
    };
    drafted.publish(&mut publication);
    finish(engine, &open, publication, key, "DraftCreated").await
}

/// Brings an open draft in line.
pub(super) async fn update(
    engine: &Engine,
    key: &ObjectKey,
    uid: Option<&Uid>,
    step: &UpdateDraft,
) -> Result<Outcome> {
    let package = PackageKey::of(&*expected(engine, &step.draft)?);
    let _held = engine.earlier(engine.inner.locks.package(&package)).await;
    engine.alive()?;
    let old = expected(engine, &step.draft)?;
    let open = engine.open(&old.key.namespace, &old.repository).await?;
    let base = step.base.as_ref();
    base_stands(engine, &package, base)?;
    let draft = open_draft(engine, &open, &old, step).await?;
    let (input, theirs) = input(
        engine,
        &open,
        &step.upstream,
        &step.recipe,
        base,
        Some(draft),
    )
    .await?;
    let mut announced = Some(open.repo.announce());
    let mut derived = engine.derive(input, &mut announced).await?;
    let opaque = opaque(engine, &open, Some(old.tree))?;
    derived.conditions.extend(not_carried(&theirs, &opaque));
    if derived.m_equals_p
        && let OnEqual::DeleteDraft(revision) = &step.on_equal
        && !by_person(&open, &old)?
    {
        drop(announced);
        return superseded(engine, &open, key, &old, revision, step).await;
    }
    let by = service(engine, key);
    let commits = Commits {
        engine,
        open: &open,
        by: &by,
        package: &old.package,
        workspace: &old.workspace,
        opaque: &opaque,
        derived: &derived,
    };
    let uid = uid.ok_or_else(|| Error::conflict("the variant has no uid"))?;
    let noted = Noted {
        owner: owner(key, uid),
        digest: &step.digest,
        full_digest: &step.full_digest,
        base,
        directory: step.machine.as_ref().and_then(|m| m.base_tree),
        recipe: &step.recipe,
    };
    let (drafted, machine) = commits.again(&old, &step.why, noted)?;
    let mut record = Revision::clone(&old);
    serve(&mut record, &derived, &drafted.written, machine)?;
    let mut publication = Publication {
        refs: vec![RefEdit::update(
            open.layout.draft(&old.package, &old.workspace)?,
            old.commit,
            drafted.written.commit(),
        )],
        follow: vec![Follow::put(record, Some(old))],
        announced,
        ..Publication::default()
    };
    drafted.publish(&mut publication);
    finish(engine, &open, publication, key, "DraftUpdated").await
}

/// Holds the package once git is sure to have no revision of it that was not seen: a second draft
/// would be made beside one that a late list of records hides.
///
/// # Errors
/// `Conflict` if there was one, which is known from then on.
async fn sure(
    engine: &Engine,
    open: &Arc<Open>,
    package: &PackageKey,
    seen: &[Arc<Revision>],
) -> Result<OwnedMutexGuard<()>> {
    let strange = uncover(engine, open, package, seen).await?;
    let held = engine.earlier(engine.inner.locks.package(package)).await;
    engine.alive()?;
    let hidden = unseen(open, &package.package, seen)?;
    if hidden.iter().all(|name| strange.contains(name)) {
        return Ok(held);
    }
    Err(Error::conflict(format!("{package} has changed")))
}

fn owner(key: &ObjectKey, uid: &Uid) -> Owner {
    Owner {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        uid: uid.clone(),
    }
}

async fn finish(
    engine: &Engine,
    open: &Open,
    publication: Publication,
    key: &ObjectKey,
    reason: &str,
) -> Result<Outcome> {
    let stored = engine.publish(open, publication).await?;
    let record = stored.into_iter().next().flatten();
    let record = record.ok_or_else(|| Error::conflict("the draft was deleted meanwhile"))?;
    let from = record.upstream_lock.as_ref();
    let from = from.map_or_else(String::new, |lock| {
        format!(" from {} of {}", lock.git_ref, lock.repo)
    });
    let message = format!("draft {} is made{from}", record.key.name);
    engine
        .tell(OurKind::Variant, key, EventType::Normal, reason, message)
        .await;
    let open = record.conflicts.iter().filter(|c| c.blocks()).count();
    if open > 0 {
        let message = format!(
            "draft {} has {open} conflict(s) to acknowledge or resolve; its status.conflicts lists them",
            record.key.name
        );
        engine
            .tell(
                OurKind::Variant,
                key,
                EventType::Warning,
                "DraftConflicted",
                message,
            )
            .await;
    }
    Ok(Outcome::Draft(record))
}

/// *p* is still the latest published state.
fn base_stands(engine: &Engine, package: &PackageKey, base: Option<&BaseRef>) -> Result<()> {
    let now = base_of(&engine.world(|w| w.revisions.of_package(package)));
    let same = match (&now, base) {
        (None, None) => true,
        (Some(now), Some(base)) => now.commit == base.commit && now.tree == base.tree,
        _ => false,
    };
    if same {
        return Ok(());
    }
    let message = format!("the published state of {package} has changed");
    Err(Error::conflict(message))
}

/// A draft without a person's commit whose content is *p*'s: it goes (V20).
async fn superseded(
    engine: &Engine,
    open: &Open,
    key: &ObjectKey,
    old: &Arc<Revision>,
    published: &RevisionRef,
    step: &UpdateDraft,
) -> Result<Outcome> {
    note(engine, published, &step.digest).await?;
    let publication = Publication {
        refs: vec![RefEdit::delete(
            open.layout.draft(&old.package, &old.workspace)?,
            old.commit,
        )],
        follow: vec![Follow::delete(old)],
        ..Publication::default()
    };
    engine.publish(open, publication).await?;
    let (draft, same) = (&old.key.name, &published.key.name);
    let message = format!("draft {draft} is deleted: it equals {same}");
    engine
        .tell(
            OurKind::Variant,
            key,
            EventType::Normal,
            "DraftSuperseded",
            message,
        )
        .await;
    Ok(Outcome::Unchanged)
}

async fn open_draft(
    engine: &Engine,
    open: &Open,
    old: &Revision,
    step: &UpdateDraft,
) -> Result<OpenDraft> {
    let machine = match &step.machine {
        Some(machine) => known(engine, open, machine, machine.m_tree)?,
        None => machine_files(engine, open, &step.draft_base).await?,
    };
    Ok(OpenDraft {
        machine,
        tip: engine.snapshot(open, old.tree)?.files.clone(),
        conflicts: old.conflicts.clone(),
        acknowledged: old.resolved_conflicts.clone(),
    })
}

async fn input(
    engine: &Engine,
    open: &Open,
    upstream: &Revision,
    recipe: &Recipe,
    base: Option<&BaseRef>,
    draft: Option<OpenDraft>,
) -> Result<(DeriveInput, Vec<Opaque>)> {
    let (files, theirs, lock) = registered(engine, &upstream.key.namespace, upstream).await?;
    pin(engine, upstream).await?;
    let base = match base {
        None => None,
        Some(base) => Some(Base {
            published: engine.snapshot(open, base.tree)?.files.clone(),
            machine: machine_files(engine, open, &base.machine).await?,
        }),
    };
    let input = DeriveInput {
        marked: marked(engine, upstream, &files).await?,
        upstream: files,
        git_upstream: wanted(&lock),
        lock,
        recipe: recipe.clone(),
        base,
        draft,
        package_bytes: Some(engine.inner.options.package_bytes),
    };
    Ok((input, theirs))
}

/// The upstream's files with their identity marks, which are the same in all its downstream packages.
async fn marked(engine: &Engine, upstream: &Revision, files: &Files) -> Result<Option<Arc<Files>>> {
    let cache = &engine.inner.marked;
    let bytes = files.values().map(|file| file.bytes().len() + 256).sum();
    if !cache.fits(bytes) {
        return Ok(None);
    }
    if let Some(known) = cache.get(&upstream.tree) {
        return Ok(Some(known));
    }
    let (cpu, files) = (engine.inner.options.cpu.clone(), files.clone());
    let marked = cpu.run(move || package::clone::mark(&files).files).await?;
    let marked = Arc::new(marked);
    cache.put(upstream.tree, Arc::clone(&marked), bytes);
    Ok(Some(marked))
}

/// Keeps the commit that a lock will name in our mirror, whatever becomes of its ref (V1).
async fn pin(engine: &Engine, upstream: &Revision) -> Result<()> {
    let open = engine
        .open(&upstream.key.namespace, &upstream.repository)
        .await?;
    // A local repository is its owner's own: no refs of ours appear in an upstream.
    if open.repo.url().starts_with("file://") {
        return Ok(());
    }
    let failed = |source| Error::Store {
        attempt: "pin the upstream commit",
        source,
    };
    let name = format!("refs/offshoot/pins/{}", upstream.commit);
    let Ok(name) = RefName::parse(&name) else {
        return Ok(());
    };
    if open.repo.find_ref(&name).map_err(failed)?.is_some() {
        return Ok(());
    }
    let edit = RefEdit {
        name,
        expect: store::Expect::Any,
        to: Some(upstream.commit),
        scope: store::Scope::Local,
    };
    let submission = store::Submission {
        refs: vec![edit],
        ..store::Submission::default()
    };
    // A pin that is refused costs nothing now: the commit is there.
    let submitted = engine
        .remote(open.repo.url(), open.repo.submit(submission))
        .await;
    let answer = submitted.map_err(failed)?;
    tracing::debug!(?answer, "pinned");
    Ok(())
}

fn wanted(lock: &GitLock) -> GitUpstream {
    GitUpstream {
        repo: lock.repo.clone(),
        directory: lock.directory.clone(),
        git_ref: lock.git_ref.clone(),
    }
}

/// The machine's output that a package stems from (V19a).
async fn machine_files(engine: &Engine, open: &Open, base: &MachineBase) -> Result<MachineFiles> {
    Ok(match base {
        MachineBase::Fresh | MachineBase::Wanted => MachineFiles::Wanted,
        MachineBase::Known(machine) => known(engine, open, machine, machine.v_tree)?,
        MachineBase::Anew(lock) => MachineFiles::Anew {
            upstream: old_files(engine, &open.key().namespace, lock)?,
            git_upstream: wanted(lock),
            lock: lock.clone(),
        },
        MachineBase::Raw(name) => {
            let key = ObjectKey::new(open.key().namespace.clone(), name.clone());
            let revision = engine.revision(&key).await?;
            let (files, ..) = registered(engine, &key.namespace, &revision).await?;
            MachineFiles::Raw(files)
        }
    })
}

/// The machine's own files, by the tree that its trailer names.
fn known(engine: &Engine, open: &Open, machine: &Machine, tree: TreeId) -> Result<MachineFiles> {
    Ok(MachineFiles::Known {
        files: engine.snapshot(open, tree)?.files.clone(),
        gates: machine.gates.clone(),
    })
}

/// What is carried along unread: only of the downstream's own repository, since git holds it there
/// alone.
fn opaque(engine: &Engine, open: &Open, tree: Option<TreeId>) -> Result<Vec<Opaque>> {
    match tree {
        Some(tree) => Ok(engine.snapshot(open, tree)?.opaque.clone()),
        None => Ok(Vec::new()),
    }
}

/// Takes what was derived into a record.
fn serve(
    record: &mut Revision,
    derived: &Derived,
    written: &Written,
    machine: Machine,
) -> Result<()> {
    record.commit = written.commit();
    let tree = tree_of(written)?;
    if record.tree != tree {
        record.tree = tree;
        record.content_version = String::new();
    }
    if let Some(lock) = &mut record.self_lock {
        lock.commit = Some(record.commit);
    }
    let kptfile = Kptfile::of_rendered(&derived.tip).map_err(|error| Error::Contents {
        attempt: "read the Kptfile",
        class: model::Class::Invalid,
        message: chain(&error),
    })?;
    apply_kptfile(record, &kptfile);
    record.conditions.extend(derived.conditions.iter().cloned());
    record.render_status = Some(PackedRenderStatus::from(&derived.render));
    record.conflicts.clone_from(&derived.conflicts);
    record.machine = Some(machine);
    Ok(())
}
