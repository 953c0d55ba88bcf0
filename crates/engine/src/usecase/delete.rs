//! Deleting, by what the revision is: a ref, a tag, or a directory on the branch.

use std::sync::Arc;

use model::{Class, Lifecycle, ObjectKey, Revision};
use plan::revision::{DeleteObserved, DeletePlan, Follower, delete as judge, follows};
use store::{BranchEdit, Expect, RefEdit};

use super::approve::relabel;
use super::lifecycle::mark;
use super::noted::{Noting, noting};
use super::{Caller, Made, Preconditions, precondition, rejected};
use crate::discover::{by_person, tag_of};
use crate::git::{Message, Subject, author_of, committer};
use crate::held::Held;
use crate::index::PackageKey;
use crate::observe::is_traced;
use crate::ports::{EventType, OurKind};
use crate::transaction::{Follow, Transaction};
use crate::{Engine, Error, Result, held, kept, leaving, registrations, transaction};

pub(super) async fn delete(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    preconditions: &Preconditions,
) -> Result<Option<Made>> {
    let held = held::hold(engine, key).await?;
    let made = delete_held(engine, by, &held, preconditions).await;
    made.map_err(|error| held.race.tell(error))
}

pub(super) async fn delete_held(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    preconditions: &Preconditions,
) -> Result<Option<Made>> {
    let revision = &held.revision;
    precondition(revision, preconditions, &revision.meta.resource_version)?;
    if leaving::leaves(engine, &revision.key.namespace).await? {
        return forget(engine, by, revision).await;
    }
    registrations::may_write(engine, &held.open)?;
    collected(engine, by, revision)?;
    let plan = judge(&DeleteObserved {
        revision: Arc::clone(revision),
        followers: followers(engine, revision)?,
    })
    .map_err(rejected)?;
    if !revision.meta.finalizers.is_empty() {
        return wait_for_finalizers(engine, by, revision).await.map(Some);
    }
    if !by.dry_run {
        carry_out(engine, by, held, &plan).await?;
    }
    Ok(None)
}

/// Who deletes what has lost its owners, here and on a cluster. It has every right.
const COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";

/// What the garbage collector may delete: drafts that nobody sees to any more. What was published goes by an approver's word, and
/// whoever may write a revision may name an owner of it that goes; a variant that goes with its dependents first (`--cascade=foreground`)
/// has a policy, by which it leaves (V10).
fn collected(engine: &Engine, by: &Caller, revision: &Revision) -> Result<()> {
    if by.user != COLLECTOR {
        return Ok(());
    }
    let refuse = |why: String| Err(Error::refused(Class::Denied, "", why));
    if revision.lifecycle.is_published() {
        return refuse(
            "the garbage collector approves no deletion of what was published".to_owned(),
        );
    }
    let owners = &revision.meta.owners;
    let variant = engine.world(|w| {
        owners
            .iter()
            .find_map(|o| w.variant_of_uid(&o.uid).cloned())
    });
    match variant {
        Some(variant) => refuse(format!("packagevariant {} sees to it", variant.key)),
        None => Ok(()),
    }
}

/// The revisions that were made from a published one.
fn followers(engine: &Engine, upstream: &Revision) -> Result<Vec<Follower>> {
    if !upstream.lifecycle.is_published() {
        return Ok(Vec::new());
    }
    let namespace = &upstream.key.namespace;
    let mut named = engine.world(|w| w.revisions.of_namespace(namespace));
    named.retain(|r| follows(r, upstream));
    let follower = |revision: Arc<Revision>| {
        Ok(Follower {
            traced: revision.lifecycle.is_published() && is_traced(engine, &revision)?,
            revision,
        })
    };
    named.into_iter().map(follower).collect()
}

/// Removes the record and leaves its refs in place.
async fn forget(engine: &Engine, by: &Caller, revision: &Arc<Revision>) -> Result<Option<Made>> {
    if !revision.meta.finalizers.is_empty() {
        return wait_for_finalizers(engine, by, revision).await.map(Some);
    }
    if !by.dry_run {
        transaction::record(engine, vec![Follow::delete(revision)]).await?;
    }
    Ok(None)
}

/// Marks the object as going; it goes with its last finalizer.
async fn wait_for_finalizers(
    engine: &Engine,
    by: &Caller,
    revision: &Arc<Revision>,
) -> Result<Made> {
    let mut record = Revision::clone(revision);
    if record.meta.deleted.is_none() {
        record.meta.deleted = Some(model::utc(engine.now()));
    }
    if by.dry_run || record == **revision {
        return Ok(Made::of(record));
    }
    let stored = transaction::record(
        engine,
        vec![Follow::put(record, Some(Arc::clone(revision)))],
    )
    .await?;
    let stored = stored.into_iter().next().flatten();
    Ok(Made::of(stored.ok_or_else(|| {
        Error::conflict("the package revision was deleted meanwhile")
    })?))
}

/// Deletes a revision whose finalizers are gone; it was judged when its deletion was asked for.
pub(super) async fn finish(engine: &Engine, by: &Caller, held: &Held) -> Result<()> {
    if leaving::leaves(engine, &held.revision.key.namespace).await? {
        transaction::record(engine, vec![Follow::delete(&held.revision)]).await?;
        return Ok(());
    }
    let expected = plan::variant::RevisionRef::of(&held.revision);
    let plan = match held.revision.lifecycle {
        _ if held.revision.placeholder => DeletePlan::RemoveDirectory(expected),
        Lifecycle::Draft | Lifecycle::Proposed => DeletePlan::DropDraft(expected),
        Lifecycle::Published | Lifecycle::DeletionProposed => DeletePlan::DropTag(expected),
    };
    carry_out(engine, by, held, &plan).await
}

async fn carry_out(engine: &Engine, by: &Caller, held: &Held, plan: &DeletePlan) -> Result<()> {
    let (open, revision) = (&held.open, &held.revision);
    let (package, workspace) = (&revision.package, &revision.workspace);
    let mut follow = vec![Follow::delete(revision)];
    let mut transaction = Transaction::begin(engine, open);
    transaction.as_announced(held.announced());
    let (mut kept, mut left) = (None, false);
    match plan {
        DeletePlan::DropDraft(_) => {
            let name = if revision.lifecycle == Lifecycle::Proposed {
                open.layout.proposed(package, workspace)?
            } else {
                open.layout.draft(package, workspace)?
            };
            transaction.move_refs([RefEdit::delete(name, revision.commit)]);
            kept = keep_people(engine, by, held)?;
            transaction.move_refs(kept.clone());
        }
        DeletePlan::DropTag(_) => {
            let tag = open.layout.tag(package, &tag_of(revision))?;
            transaction.move_refs([RefEdit::delete(tag, revision.commit)]);
            transaction.move_refs(deletion_mark(held)?);
            let siblings = engine.world(|w| w.revisions.of_package(&PackageKey::of(revision)));
            let latest = siblings
                .iter()
                .filter(|s| s.key != revision.key && !s.placeholder)
                .filter(|s| s.lifecycle.is_published() && s.revision.is_numbered())
                .map(|s| s.revision)
                .max();
            if let Some(latest) = latest {
                follow.extend(relabel(&siblings, &revision.key, latest));
            }
            match noting(engine, open, &siblings, revision).await? {
                Noting::On(head) => follow.push(*head),
                Noting::Needless => {}
                Noting::Later => {
                    follow.retain(|f| !f.is_removal());
                    left = true;
                }
            }
        }
        DeletePlan::RemoveDirectory(_) => {
            transaction.move_refs(deletion_mark(held)?);
            transaction.change_branch(removal(engine, by, held)?);
        }
    }
    transaction.prepare(follow)?.publish().await?;
    if left {
        transaction::unfinished(engine, open);
    }
    if let Some(kept) = kept {
        let message = format!(
            "draft {} is deleted; what people committed to it is kept as {}",
            revision.key.name,
            kept.name.as_str()
        );
        let (kind, normal) = (OurKind::Repository, EventType::Normal);
        let reason = "DraftKept";
        engine.tell(kind, open.key(), normal, reason, message).await;
    }
    Ok(())
}

/// The ref that marks a deletion, if it is there.
fn deletion_mark(held: &Held) -> Result<Option<RefEdit>> {
    let (open, revision) = (&held.open, &held.revision);
    let name = open
        .layout
        .deletion(&revision.package, &mark(open, revision))?;
    let at = open.repo.find_ref(&name).map_err(|source| Error::Store {
        attempt: "read the refs",
        source,
    })?;
    Ok(at.map(|at| RefEdit::delete(name, at)))
}

/// What people committed to a draft that is deleted stays reachable: to a variant's, whoever deletes it, and to any that a machine
/// deletes (V23). Whoever deletes a draft that people alone made wants it gone.
fn keep_people(engine: &Engine, by: &Caller, held: &Held) -> Result<Option<RefEdit>> {
    let (open, revision) = (&held.open, &held.revision);
    let by_machine = by.user == engine.inner.options.service || by.user == COLLECTOR;
    if !by_machine && revision.machine.is_none() {
        return Ok(None);
    }
    let by_person = by_person(open, revision)?;
    Ok(by_person
        .then(|| kept::edit(engine, revision.key.name.as_str(), revision.commit))
        .flatten())
}

fn removal(engine: &Engine, by: &Caller, held: &Held) -> Result<BranchEdit> {
    let (open, revision) = (&held.open, &held.revision);
    let dir = open.layout.dir(&revision.package);
    let now = engine.now();
    let message = Message {
        subject: Subject::Delete(dir.as_str()),
        body: String::new(),
        path: dir.as_str(),
        workspace: revision.workspace.as_str(),
        machine: None,
        conditions: &[],
        conflicts: None,
        class: None,
        acting_for: &by.acting_for,
    };
    Ok(BranchEdit {
        branch: open.layout.branch_ref()?,
        dir: dir.clone(),
        expect: Expect::Is(revision.tree),
        content: None,
        second_parent: None,
        author: author_of(&by.user, Some(&open.repository), now),
        committer: committer(now),
        message: message.text(),
        tags: Vec::new(),
    })
}
