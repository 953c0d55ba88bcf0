//! Updating a revision: metadata on the record, mirrored fields in a commit, lifecycle by refs.

use std::sync::Arc;

use model::marks::LATEST;
use model::{Door, Files, Lifecycle, ObjectKey, ObjectMeta, Revision};
use package::render::Options;
use plan::revision::{APPROVED_CLASS, Action, EXPECTED_TREE, UpdateObserved, update as judge};
use store::Content;

use super::{Caller, Input, Made, Preconditions, approve, content, delete, lifecycle};
use super::{metadata, precondition, rebase, rejected};
use crate::git::Subject;
use crate::held::Held;
use crate::transaction::{Begun, DraftCommit, Follow, Tip, Transaction, told};
use crate::{Engine, Error, Result, conversation, held, registrations};

pub(super) async fn update(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    door: Door,
    input: Input,
) -> Result<Made> {
    let held = held::hold(engine, key).await?;
    update_held(engine, by, door, input, &held).await
}

/// The same for a revision that is held.
pub(super) async fn update_held(
    engine: &Engine,
    by: &Caller,
    door: Door,
    input: Input,
    held: &Held,
) -> Result<Made> {
    let before = held.revision.lifecycle;
    let made = Box::pin(change(engine, by, door, input, held)).await;
    let made = made.map_err(|error| held.race.tell(error))?;
    if !by.dry_run && made.revision.lifecycle != before {
        lifecycle::tell(engine, by, before, &made.revision);
    }
    Ok(made)
}

async fn change(
    engine: &Engine,
    by: &Caller,
    door: Door,
    input: Input,
    held: &Held,
) -> Result<Made> {
    let old = &held.revision;
    let want = Preconditions {
        uid: input.meta.uid.clone(),
        version: Some(input.meta.resource_version.clone()),
    };
    precondition(old, &want, &old.meta.resource_version)?;
    let mut new = wished(old, &input);
    if !by.is_ours() {
        keep_marks(old, &mut new);
    }
    let update = judge(&UpdateObserved {
        old: Arc::clone(old),
        new: Arc::new(new.clone()),
        door,
    })
    .map_err(rejected)?;
    new.tasks.clone_from(&old.tasks);
    if update.action.writes_git() {
        registrations::may_write(engine, &held.open)?;
    }
    let mut made = carry_out(engine, by, held, &input, (new, update.action)).await?;
    made.warnings.extend(update.warnings);
    if !by.is_ours() {
        made.warnings.extend(marked(&old.meta, &input.meta));
    }
    Ok(made)
}

/// The annotations that are the server's stay as they are, whatever was sent.
fn keep_marks(old: &Revision, new: &mut Revision) {
    for mark in model::marks::ANNOTATIONS {
        let annotations = &mut new.meta.annotations;
        match old.meta.annotations.get(mark) {
            Some(value) => annotations.insert(mark.to_owned(), value.clone()),
            None => annotations.remove(mark),
        };
    }
}

/// What whoever writes an annotation that is the server's is told; one who leaves it out knows nothing of it.
fn marked(old: &ObjectMeta, sent: &ObjectMeta) -> Vec<String> {
    let other = |mark: &&str| {
        let sent = sent.annotations.get(*mark);
        sent.is_some() && sent != old.annotations.get(*mark)
    };
    let told = model::marks::ANNOTATIONS.into_iter().filter(other);
    told.map(|mark| {
        format!("metadata.annotations: {mark} is set by the server, and stays as it is")
    })
    .collect()
}

/// Carries out what was found to be allowed.
async fn carry_out(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    input: &Input,
    (mut new, action): (Revision, Action),
) -> Result<Made> {
    match action {
        Action::Nothing => Ok(Made {
            revision: Arc::clone(&held.revision),
            ..Made::of(new)
        }),
        Action::Finish => {
            if !by.dry_run {
                delete::finish(engine, by, held).await?;
            }
            Ok(Made::of(new))
        }
        Action::Rebase => rebase::rebase(engine, by, held, new).await,
        Action::Approve => {
            // It is said of this approval, and nothing to be kept.
            let seen = approve::Seen {
                tree: new.meta.annotations.remove(EXPECTED_TREE),
                class: new.meta.annotations.remove(APPROVED_CLASS),
            };
            approve::approve(engine, by, held, new, seen).await
        }
        Action::Record | Action::Commit(_) | Action::Move(_) => {
            written(engine, by, held, input, (new, action)).await
        }
    }
}

/// The revision as the input wants it; what only the server says stays.
fn wished(old: &Arc<Revision>, input: &Input) -> Revision {
    let mut new = Revision::clone(old);
    new.meta.labels.clone_from(&input.meta.labels);
    new.meta.annotations.clone_from(&input.meta.annotations);
    new.meta.owners.clone_from(&input.meta.owners);
    new.meta.finalizers.clone_from(&input.meta.finalizers);
    // A client that read an older state sends this label along: it is ours either way.
    if let Some(value) = old.meta.labels.get(LATEST) {
        let labels = &mut new.meta.labels;
        labels
            .entry(LATEST.to_owned())
            .or_insert_with(|| value.clone());
    }
    new.repository = input.repository.clone();
    new.package = input.package.clone();
    new.workspace = input.workspace.clone();
    new.revision = model::RevisionNumber(input.revision);
    new.lifecycle = input.lifecycle;
    if !input.tasks.is_empty() {
        new.tasks.clone_from(&input.tasks);
    }
    new.readiness_gates.clone_from(&input.readiness_gates);
    if let Some(ids) = &input.resolved_conflicts {
        new.resolved_conflicts.clone_from(ids);
    }
    if let Some((labels, annotations)) = &input.package_metadata {
        new.package_labels.clone_from(labels);
        new.package_annotations.clone_from(annotations);
    }
    if let Some(conditions) = &input.conditions {
        new.conditions.clone_from(conditions);
    }
    new
}

/// A content change under way.
struct Commit {
    tip: Tip,
    files: Files,
    render: model::RenderStatus,
}

/// Writes the record, with what goes before it: a commit, and the refs of the lifecycle that it is to have.
async fn written(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    input: &Input,
    (mut new, action): (Revision, Action),
) -> Result<Made> {
    let (open, old) = (&held.open, &held.revision);
    let mut made = Made::of(new.clone());
    let mut transaction = Transaction::begin(engine, open);
    if let Action::Commit(_) = action
        && let Some(commit) = commit(engine, by, held, input, (&mut transaction, &mut new)).await?
    {
        content::take(&mut new, &commit.files, commit.tip)?;
        content::say(&mut new, content::said(old));
        made.render = Some(commit.render);
        made.files = Some(commit.files);
    }
    let to = match action {
        Action::Commit(to) | Action::Move(to) => to,
        _ => old.lifecycle,
    };
    if new.commit != old.commit || to != old.lifecycle {
        let refs = lifecycle::refs(engine, open, old, to, new.commit)?;
        made.warnings.extend(lifecycle::told_of(&refs));
        made.warnings.extend(unread(old.lifecycle, &new, to));
        transaction.move_refs(refs).as_announced(held.announced());
        lifecycle::moved(open, &mut new, to);
        note_rejection(engine, by, old, &mut new);
    }
    made.revision = Arc::new(new.clone());
    let prepared = transaction.prepare(vec![Follow::put(new, Some(Arc::clone(old)))])?;
    if by.dry_run {
        return Ok(made);
    }
    if let Some(stored) = prepared.publish().await? {
        made.revision = stored;
    }
    Ok(made)
}

/// What whoever proposes or approves a revision is told of files in it that cannot be read: a cluster that is to apply them cannot
/// either, and no gate waits for them.
fn unread(from: Lifecycle, revision: &Revision, to: Lifecycle) -> Option<String> {
    let goes_on = !from.is_published() && matches!(to, Lifecycle::Proposed | Lifecycle::Published);
    let rendered = revision.condition("Rendered").filter(|_| goes_on)?;
    let message = &rendered.message;
    (rendered.reason == package::render::NOT_READ)
        .then(|| format!("some of its files cannot be read: {message}"))
}

/// Notes on a draft of a variant under a rollout who rejected its proposal, until it is proposed again (F7).
fn note_rejection(engine: &Engine, by: &Caller, old: &Revision, new: &mut Revision) {
    match (old.lifecycle, new.lifecycle) {
        (Lifecycle::Proposed, Lifecycle::Draft) => {
            let mut uids = new.meta.owners.iter().map(|owner| &owner.uid);
            let rolled = engine.world(|w| {
                let variant = uids.find_map(|uid| w.variant_of_uid(uid));
                variant.is_some_and(|v| w.rolls_out(&v.meta, &v.key.namespace))
            });
            if rolled {
                let note = (model::marks::REJECTED_BY.to_owned(), by.user.clone());
                new.meta.annotations.extend([note]);
            }
        }
        (Lifecycle::Draft, Lifecycle::Proposed) => {
            new.meta.annotations.remove(model::marks::REJECTED_BY);
        }
        _ => {}
    }
}

/// Writes what the Kptfile mirrors, and renders; `None` where no byte changes.
async fn commit(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    input: &Input,
    (transaction, new): (&mut Transaction<'_, Begun>, &mut Revision),
) -> Result<Option<Commit>> {
    let (open, old) = (&held.open, &held.revision);
    let (snapshot, _) = open.snapshot_within(old.tree)?;
    let mut files = snapshot.files.clone();
    metadata::apply(&mut files, &metadata::edits(input, Some(old)))?;
    content::settle_conflicts(&mut files, new)?;
    let said = new.conflicts != old.conflicts;
    if files == snapshot.files && !said {
        return Ok(None);
    }
    let options = Options {
        tell_unread: true,
        ..Options::default()
    };
    let rendered = conversation::render(engine, old.namespace(), files, options).await?;
    content::check(&rendered)?;
    let told_before = content::said(old);
    let tip = transaction.commit(
        by,
        &DraftCommit {
            package: &old.package,
            workspace: &old.workspace,
            content: Content::Files(&rendered.files, &snapshot.opaque),
            parents: &[old.commit],
            subject: Subject::Render,
            body: String::new(),
            machine: None,
            conditions: &told_before,
            conflicts: told(&new.conflicts),
        },
    )?;
    if tip.tree == old.tree && !said {
        return Err(Error::conflict("nothing would change"));
    }
    Ok(Some(Commit {
        tip,
        files: rendered.files,
        render: rendered.status,
    }))
}
