//! Saving a draft's files: texts come from people, everything else stays.

use std::sync::Arc;

use model::{
    CommitId, Condition, Files, ObjectKey, ObjectMeta, PackedRenderStatus, RenderStatus, Revision,
    Status,
};
use package::conflicts;
use package::kptfile::Kptfile;
use package::render::{Options, Rendered};
use plan::revision::save as judge;
use store::{Content, Opaque};

use super::sources::LEFT_OUT;
use super::{Caller, Made, Preconditions, Save, lifecycle, precondition, rejected, unshown};
use crate::discover::{apply_kptfile, chain, is_unrendered};
use crate::git::Subject;
use crate::held::Held;
use crate::repos::OpenRepository;
use crate::transaction::{Begun, DraftCommit, Follow, Tip, Transaction, fits, told};
use crate::{Engine, Error, Result, conversation, held, registrations};

/// The annotations that ask to keep a draft although its render failed; the second is Porch's.
const KEEP: [&str; 2] = [
    "offshoot.dev/push-on-render-failure",
    "porch.kpt.dev/push-on-render-failure",
];

/// Whether a draft is to be kept although its render failed.
pub(super) fn keeps_failures(meta: &ObjectMeta) -> bool {
    let annotations = &meta.annotations;
    KEEP.iter()
        .any(|a| annotations.get(*a).is_some_and(|v| v == "true"))
}

pub(super) async fn save(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    preconditions: &Preconditions,
    save: Save,
) -> Result<Made> {
    let held = held::hold(engine, key).await?;
    let made = save_held(engine, by, &held, preconditions, save).await;
    made.map_err(|error| held.race.tell(error))
}

async fn save_held(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    preconditions: &Preconditions,
    save: Save,
) -> Result<Made> {
    let (open, old) = (&held.open, &held.revision);
    precondition(old, preconditions, &old.content_version)?;
    judge(old).map_err(rejected)?;
    let (snapshot, beyond) = open.snapshot_within(old.tree)?;
    let kept = unshown::merge(&snapshot, save)?;
    readable(&kept.files)?;
    fits(open, &kept.files, &kept.opaque)?;
    let left_out = beyond
        .into_iter()
        .filter(|b| kept.carries(&b.path))
        .map(|b| (b.path, b.why))
        .collect();
    let done = !is_unrendered(old) && !is_failed(old) && !settled_by_push(old);
    if kept.files == snapshot.files && kept.opaque == snapshot.opaque && done {
        return Ok(Made {
            files: Some(kept.files),
            render: old.render_status.as_ref().map(PackedRenderStatus::unpack),
            warnings: kept.warnings,
            left_out,
            ..Made::of(Arc::clone(old))
        });
    }
    let before = (&snapshot.files, kept.opaque.as_slice());
    let mut made = put(engine, by, held, kept.files, before).await?;
    render_told(made.render.as_ref(), true)?;
    made.warnings.extend(kept.warnings);
    made.left_out = left_out;
    Ok(made)
}

/// Renders a draft as it stands.
pub(super) async fn render(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    at: CommitId,
) -> Result<Made> {
    let held = held::hold(engine, key).await?;
    let (open, old) = (&held.open, &held.revision);
    if old.commit != at {
        return Err(Error::conflict(format!(
            "{} is not as it was seen",
            key.name
        )));
    }
    judge(old).map_err(rejected)?;
    let (snapshot, _) = open.snapshot_within(old.tree)?;
    let before = (&snapshot.files, snapshot.opaque.as_slice());
    put(engine, by, &held, snapshot.files.clone(), before).await
}

/// Renders these files and makes them the draft's, in place of its former ones and beside what is carried unread.
async fn put(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    files: Files,
    before: (&Files, &[Opaque]),
) -> Result<Made> {
    let (open, old) = (&held.open, &held.revision);
    registrations::may_write(engine, open)?;
    let mut transaction = Transaction::begin(engine, open);
    let rewritten = rewrite(by, &mut transaction, old, files, before).await?;
    let Rewritten { record, mut made } = rewritten;
    // What failed fails again, and in the same way: there is nothing to write.
    let same = record.tree == old.tree && record.conflicts == old.conflicts;
    if same && is_failed(old) {
        made.revision = Arc::clone(old);
        return Ok(made);
    }
    transaction.move_refs(lifecycle::refs(
        engine,
        open,
        old,
        old.lifecycle,
        record.commit,
    )?);
    let prepared = transaction.prepare(vec![Follow::put(record, Some(Arc::clone(old)))])?;
    if by.dry_run {
        return Ok(made);
    }
    if let Some(stored) = prepared.publish().await? {
        made.revision = stored;
    }
    Ok(made)
}

/// What rendering a draft as it stands would make of it: its record and its files. Nothing is published.
///
/// # Errors
/// Git cannot be read, or the render fails.
pub(crate) async fn rendered(
    engine: &Engine,
    by: &Caller,
    open: &OpenRepository,
    old: &Arc<Revision>,
) -> Result<(Revision, Files)> {
    let (snapshot, _) = open.snapshot_within(old.tree)?;
    let before = (&snapshot.files, snapshot.opaque.as_slice());
    let files = snapshot.files.clone();
    let mut nowhere = Transaction::begin(engine, open);
    let rewritten = rewrite(by, &mut nowhere, old, files, before).await?;
    let files = rewritten.made.files.unwrap_or_default();
    Ok((rewritten.record, files))
}

/// The next commit of a draft, built and not visible.
struct Rewritten {
    /// The record that tells of it.
    record: Revision,
    /// What whoever asked is answered.
    made: Made,
}

/// Renders these files and builds the commit that holds them. Nothing outside of memory changes.
async fn rewrite(
    by: &Caller,
    transaction: &mut Transaction<'_, Begun>,
    old: &Arc<Revision>,
    files: Files,
    (before, opaque): (&Files, &[Opaque]),
) -> Result<Rewritten> {
    let mut new = Revision::clone(old);
    let keep = keeps_failures(&old.meta);
    let options = Options {
        gate_failure: keep,
        package_bytes: Some(transaction.engine().inner.options.package_bytes),
        tell_unread: true,
        ..Options::default()
    };
    let rendered =
        conversation::render(transaction.engine(), old.namespace(), files, options).await?;
    if !keep {
        check(&rendered)?;
    }
    let mut files = rendered.files;
    resolve(before, &files, &mut new);
    settle_conflicts(&mut files, &mut new)?;
    let said = said(old);
    let tip = transaction.commit(
        by,
        &DraftCommit {
            package: &old.package,
            workspace: &old.workspace,
            content: Content::Files(&files, opaque),
            parents: &[old.commit],
            subject: Subject::Render,
            body: String::new(),
            machine: None,
            conditions: &said,
            conflicts: told(&new.conflicts),
        },
    )?;
    take(&mut new, &files, tip)?;
    say(&mut new, said);
    let made = Made {
        render: Some(rendered.status),
        warnings: rendered.warnings,
        files: Some(files),
        ..Made::of(new.clone())
    };
    Ok(Rewritten { record: new, made })
}

/// What stays true of a draft whatever is saved into it: it was made without some of its upstream's files.
pub(super) fn said(old: &Revision) -> Vec<Condition> {
    old.condition(LEFT_OUT).cloned().into_iter().collect()
}

/// Puts what is said beside what the Kptfile says.
pub(super) fn say(record: &mut Revision, said: Vec<Condition>) {
    for condition in said {
        record.conditions.retain(|c| c.kind != condition.kind);
        record.conditions.push(condition);
    }
}

/// A package needs a Kptfile that can be read (M5).
fn readable(files: &Files) -> Result<Kptfile> {
    Kptfile::of_files(files).map_err(|error| Error::Contents {
        attempt: "save the package",
        class: model::Class::Invalid,
        message: chain(&error),
    })
}

/// A failed render stores nothing.
pub(super) fn check(rendered: &Rendered) -> Result<()> {
    render_told(Some(&rendered.status), false)
}

/// Whoever saves files is told that their render failed, also where they are kept (V2).
pub(super) fn render_told(status: Option<&RenderStatus>, pushed: bool) -> Result<()> {
    match status.filter(|status| !status.succeeded()) {
        None => Ok(()),
        Some(status) => Err(Error::Render {
            status: Box::new(status.clone()),
            pushed,
        }),
    }
}

/// Whether a draft's last render failed. It may succeed now without any change of the files: a function was out of
/// reach.
fn is_failed(record: &Revision) -> bool {
    let rendered = record.condition("Rendered");
    rendered.is_some_and(|condition| condition.status == Status::False)
}

/// Takes a written commit and its files into the record.
pub(super) fn take(record: &mut Revision, files: &Files, tip: Tip) -> Result<()> {
    let kptfile = readable(files)?;
    record.commit = tip.commit;
    if record.tree != tip.tree {
        record.tree = tip.tree;
        record.content_version = String::new();
    }
    if let Some(lock) = &mut record.self_lock {
        lock.commit = Some(record.commit);
    }
    apply_kptfile(record, &kptfile);
    Ok(())
}

/// Marks the conflicts whose fields a person edited as resolved (V4a).
fn resolve(before: &Files, after: &Files, record: &mut Revision) {
    if record.conflicts.iter().any(model::Conflict::blocks) {
        conflicts::resolved_by_edit(&mut record.conflicts, before, after);
    }
}

/// Whether the gate of conflicts is closed although they are all answered: by an edit that came by git.
fn settled_by_push(old: &Revision) -> bool {
    let closed = |c: &model::Condition| c.status != model::Status::True;
    old.condition(conflicts::GATE).is_some_and(closed)
        && !old.conflicts.iter().any(model::Conflict::blocks)
}

/// Takes what people said about conflicts into their states, and those into gate and condition.
pub(super) fn settle_conflicts(files: &mut Files, record: &mut Revision) -> Result<()> {
    if record.conflicts.is_empty() {
        return Ok(());
    }
    let ids = record.resolved_conflicts.clone();
    conflicts::acknowledge(&mut record.conflicts, &ids);
    note_conflicts(files, record)
}

/// Writes gate and condition of a draft's conflicts into its Kptfile, or takes them off where there are none.
pub(super) fn note_conflicts(files: &mut Files, record: &Revision) -> Result<()> {
    let noted = conflicts::put_gate(&readable(files)?, &record.conflicts);
    let noted = noted.map_err(|error| Error::Contents {
        attempt: "note the conflicts in the Kptfile",
        class: error.class(),
        message: chain(&error),
    })?;
    noted.put(files);
    Ok(())
}
