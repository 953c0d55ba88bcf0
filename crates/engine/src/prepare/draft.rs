//! A new draft and the next commit of an open one: one atomic act each (V2).

use std::sync::Arc;

use model::marks::{ADOPTED_BY, REJECTED_BY};
use model::{DraftOwner, Machine, ObjectKey, PackedRenderStatus, Revision, Uid};
use package::derive::Derived;
use plan::variant::{CreateDraft, OnEqual, UpdateDraft};
use store::{Opaque, RefEdit};

use super::commits::{Commits, Noted};
use super::{Draft, Drafting, Equal, inputs, service};
use crate::discover::{apply_kptfile, by_person, chain};
use crate::git::Subject;
use crate::index::PackageKey;
use crate::repos::OpenRepository;
use crate::transaction::{Follow, Tip, Transaction};
use crate::usecase::{Carried, are_equal, merged_opaque, new_record, not_carried};
use crate::{Engine, Error, Result, conversation};

/// A new draft.
///
/// # Errors
/// What it is derived from cannot be read, or cannot be derived from.
pub(crate) async fn create<'e>(
    engine: &'e Engine,
    key: &ObjectKey,
    open: &'e OpenRepository,
    uid: Uid,
    step: &CreateDraft,
) -> Result<Drafting<'e>> {
    let package = PackageKey::new(&step.key.namespace, &step.repository, &step.package);
    let base = step.base.as_ref();
    let (input, theirs) =
        inputs::input(engine, open, &step.upstream, &step.recipe, base, None).await?;
    let mut announced = Some(open.repo.announce());
    let tenant = &step.key.namespace;
    let mut derived = conversation::derive(engine, tenant, input, &mut announced).await?;
    let opaque = inputs::opaque(open, base.map(|b| b.tree))?;
    derived.conditions.extend(not_carried(&theirs, &opaque));
    if derived.m_equals_p
        && let OnEqual::NoteDigest(revision) = &step.on_equal
    {
        return Ok(Drafting::Equal(Box::new(Equal {
            noted: revision.clone(),
            digest: step.digest.clone(),
            superseded: None,
        })));
    }
    let by = service(engine, key);
    let commits = Commits {
        engine,
        open,
        by: &by,
        package: &step.package,
        workspace: &step.workspace,
        of_base: &opaque,
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
        adopted: false,
    };
    let mut transaction = Transaction::begin(engine, open);
    transaction.as_announced(announced);
    let (tip, machine) = commits.fresh(
        &mut transaction,
        open.head()?,
        Subject::Task(&step.task),
        noted,
    )?;
    let mut record = new_record(
        engine,
        open,
        &package,
        &step.key,
        &step.workspace,
        (uid, tip),
    );
    record.tasks = vec![step.task.clone()];
    record.meta.labels.clone_from(&step.labels);
    record.meta.annotations.clone_from(&step.annotations);
    record.meta.owners = vec![step.owner.clone()];
    serve(&mut record, &derived, tip, machine)?;
    let shown = open.layout.draft(&step.package, &step.workspace)?;
    transaction.move_refs([RefEdit::create(shown, tip.commit)]);
    let follow = vec![Follow::put(record, None)];
    Ok(Drafting::Draft(Box::new(Draft {
        files: derived.tip,
        transaction: transaction.prepare(follow)?,
    })))
}

/// The next commit of an open draft.
///
/// # Errors
/// As [`create`].
pub(crate) async fn update<'e>(
    engine: &'e Engine,
    key: &ObjectKey,
    uid: Option<&Uid>,
    (open, old): (&'e OpenRepository, &Arc<Revision>),
    step: &UpdateDraft,
) -> Result<Drafting<'e>> {
    let base = step.base.as_ref();
    let there = inputs::opaque(open, Some(old.tree))?;
    let (of_base, Carried { stays, left_out }) = carried_on(open, &there, step)?;
    let draft = inputs::open_draft(engine, open, old, step, &stays).await?;
    let (upstream, recipe) = (&step.upstream, &step.recipe);
    let (input, mut theirs) =
        inputs::input(engine, open, upstream, recipe, base, Some(draft)).await?;
    theirs.extend(left_out);
    let mut announced = Some(open.repo.announce());
    let tenant = old.namespace();
    let mut derived = conversation::derive(engine, tenant, input, &mut announced).await?;
    derived.conditions.extend(not_carried(&theirs, &stays));
    let shown = open.layout.draft(&old.package, &old.workspace)?;
    if derived.m_equals_p
        && let OnEqual::DeleteDraft(revision) = &step.on_equal
        && !by_person(open, old)?
    {
        let goes = RefEdit::delete(shown, old.commit);
        return Ok(Drafting::Equal(Box::new(Equal {
            noted: revision.clone(),
            digest: step.digest.clone(),
            superseded: Some((Arc::clone(old), goes)),
        })));
    }
    if derived.tip_equals_draft
        && are_equal(&stays, &there)
        && derived.conflicts.is_empty()
        && let OnEqual::NoteDigest(draft) = &step.on_equal
    {
        return Ok(Drafting::Equal(Box::new(Equal {
            noted: draft.clone(),
            digest: step.full_digest.clone(),
            superseded: None,
        })));
    }
    let by = service(engine, key);
    let commits = Commits {
        engine,
        open,
        by: &by,
        package: &old.package,
        workspace: &old.workspace,
        of_base: &of_base,
        opaque: &stays,
        derived: &derived,
    };
    let uid = uid.ok_or_else(|| Error::conflict("the variant has no uid"))?;
    let noted = Noted {
        owner: owner(key, uid),
        digest: &step.digest,
        full_digest: &step.full_digest,
        base,
        // Without *p* an approval still expects what the branch held when the draft was made, not what it holds now (V20).
        directory: step.machine.as_ref().and_then(|m| m.base_tree),
        recipe,
        adopted: old.meta.annotations.contains_key(ADOPTED_BY),
    };
    let mut transaction = Transaction::begin(engine, open);
    transaction.as_announced(announced);
    let (tip, machine) = commits.again(&mut transaction, old, &step.why, noted)?;
    let mut record = Revision::clone(old);
    serve(&mut record, &derived, tip, machine)?;
    forget_rejection(&mut record, old);
    transaction.move_refs([RefEdit::update(shown, old.commit, tip.commit)]);
    let follow = vec![Follow::put(record, Some(Arc::clone(old)))];
    Ok(Drafting::Draft(Box::new(Draft {
        files: derived.tip,
        transaction: transaction.prepare(follow)?,
    })))
}

/// What was rejected is not in a draft any more that has another upstream commit than before (F7).
fn forget_rejection(record: &mut Revision, old: &Revision) {
    let commit = |r: &Revision| r.upstream_lock.as_ref().and_then(|lock| lock.commit);
    if commit(record) != commit(old) {
        record.meta.annotations.remove(REJECTED_BY);
    }
}

/// What *M* holds that is no file, and what the draft goes on with.
fn carried_on(
    open: &OpenRepository,
    there: &[Opaque],
    step: &UpdateDraft,
) -> Result<(Vec<Opaque>, Carried)> {
    // Without *p* nobody but the draft holds such a thing.
    let Some(base) = &step.base else {
        return Ok((Vec::new(), merged_opaque(there, there, there)));
    };
    let now = inputs::opaque(open, Some(base.tree))?;
    let before = match &step.machine {
        Some(machine) => inputs::opaque(open, Some(machine.m_tree))?,
        None => now.clone(),
    };
    let carried = merged_opaque(&before, there, &now);
    Ok((now, carried))
}

fn owner(key: &ObjectKey, uid: &Uid) -> DraftOwner {
    DraftOwner {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        uid: uid.clone(),
    }
}

/// Takes what was derived into a record.
fn serve(record: &mut Revision, derived: &Derived, tip: Tip, machine: Machine) -> Result<()> {
    record.commit = tip.commit;
    if record.tree != tip.tree {
        record.tree = tip.tree;
        // None asks the store of records for a new one: it grows with every change of content (A6).
        record.content_version = String::new();
    }
    if let Some(lock) = &mut record.self_lock {
        lock.commit = Some(record.commit);
    }
    let kptfile = derived.kptfile().map_err(|error| Error::Contents {
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
