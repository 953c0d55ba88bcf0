//! Basing a person's draft on what the branch holds now, on request (V20).
//!
//! The variants controller does this for its own drafts (V18); a person asks for it by an annotation,
//! which goes once it is done.

use std::sync::Arc;

use model::{
    CommitId, Conflict, ConflictPolicy, ConflictState, Files, Lifecycle, Revision, TreeId,
};
use package::conflicts::{MergedDraft, carry};
use package::merge::{MergeError, MergeOptions, merge};
use package::place::sort;
use plan::OffBranch;
use plan::revision::REBASE;
use store::Content;

use super::carried::{Carried, merged_opaque, occupied};
use super::sources::not_carried;
use super::{Caller, Made, approve, content, lifecycle};
use crate::discover::chain;
use crate::discover::off_branch;
use crate::git::Subject;
use crate::held::Held;
use crate::repos::OpenRepository;
use crate::transaction::{Begun, DraftCommit, Follow, Transaction, told};
use crate::{Engine, Error, Result, conversation};

/// Merges what the branch got since into the draft; a commit with the branch's head as its second
/// parent says what it is based on now.
pub(super) async fn rebase(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    mut new: Revision,
) -> Result<Made> {
    let (open, old) = (&held.open, &held.revision);
    new.meta.annotations.remove(REBASE);
    let to_draft = |commit| lifecycle::refs(engine, open, old, Lifecycle::Draft, commit);
    let mut transaction = Transaction::begin(engine, open);
    let head = open.head()?;
    let Onto { trees, warning } = onto(open, old, head)?;
    let Some((was, now)) = trees else {
        if old.lifecycle != Lifecycle::Draft {
            transaction.move_refs(to_draft(old.commit)?);
            lifecycle::moved(open, &mut new, Lifecycle::Draft);
        }
        let mut made = finish(by, held, transaction, new).await?;
        made.warnings.extend(warning);
        return Ok(made);
    };
    let tip = open.snapshot(old.tree)?;
    let (was, now) = (open.snapshot(was)?, open.snapshot(now)?);
    let Carried { stays, left_out } = merged_opaque(&was.opaque, &tip.opaque, &now.opaque);
    let (base, local, upstream) = (was.files.clone(), tip.files.clone(), now.files.clone());
    let options = MergeOptions::in_draft(ConflictPolicy::Block);
    let (theirs, occupied) = (upstream.clone(), occupied(&stays));
    let merged = engine
        .inner
        .options
        .cpu
        .run(move || {
            let mut merged = merge(&base, &local, &theirs, &options)?;
            merged.beside(&occupied, [&base, &local, &theirs], &options);
            Ok(merged)
        })
        .await?
        .map_err(|error: MergeError| Error::Contents {
            attempt: "base the draft on the branch",
            class: error.class(),
            message: chain(&error),
        })?;
    new.conflicts = carried(&new, merged.conflicts, &upstream, &merged.files);
    let mut files = merged.files;
    content::settle_conflicts(&mut files, &mut new)?;
    if new.conflicts.is_empty() {
        // Neither the draft's own gate is left, nor one of the revision that it is based on.
        content::note_conflicts(&mut files, &new)?;
    }
    let rendered = conversation::render(engine, old.namespace(), files, Default::default()).await?;
    content::check(&rendered)?;
    let mut said = content::said(old);
    if let Some(told) = not_carried(&left_out, &stays) {
        said.retain(|condition| condition.kind != told.kind);
        said.push(told);
    }
    let tip = transaction.commit(
        by,
        &DraftCommit {
            package: &old.package,
            workspace: &old.workspace,
            content: Content::Files(&rendered.files, &stays),
            parents: &[old.commit, head],
            subject: Subject::Render,
            body: format!("based on {} anew", open.layout.branch()),
            machine: None,
            conditions: &said,
            // Where there were some, their end is said, too.
            conflicts: told(&new.conflicts).or_else(|| told(&old.conflicts).and(Some(&[]))),
        },
    )?;
    content::take(&mut new, &rendered.files, tip)?;
    content::say(&mut new, said);
    transaction.move_refs(to_draft(new.commit)?);
    lifecycle::moved(open, &mut new, Lifecycle::Draft);
    finish(by, held, transaction, new).await
}

/// What a draft is based on anew.
struct Onto {
    /// What it is based on, and what the branch holds now; nothing where that is the same, or no package of its own.
    trees: Option<(TreeId, TreeId)>,
    /// Why it cannot be based on what the branch holds.
    warning: Option<String>,
}

/// What a draft that is based anew is based on.
fn onto(open: &OpenRepository, old: &Revision, head: CommitId) -> Result<Onto> {
    let was = approve::based_on(open, old, head)?;
    let now = open.tree_at(head, &old.package)?;
    let off = off_branch(open, &old.package, was)?;
    // What lies within another package has a Kptfile of its own, unless somebody took it away.
    let can = match (&off, now) {
        (None, _) => true,
        (Some(OffBranch::Within(_)), Some(tree)) => {
            let found = open.snapshot(tree)?;
            found.files.contains_key(&package::kptfile::path())
        }
        _ => false,
    };
    if let Some(off) = off.filter(|_| !can) {
        let what = off.what(&old.package, open.layout.branch());
        let why = format!(
            "{REBASE}: it stays as it is, since {what}; put back, in git, what was published"
        );
        return Ok(Onto {
            trees: None,
            warning: Some(why),
        });
    }
    Ok(Onto {
        trees: was.zip(now).filter(|(was, now)| was != now),
        warning: None,
    })
}

/// The conflicts of a draft that was based anew: what nobody answered stays (V18), and so does the account of what was
/// decided when it was made.
fn carried(
    draft: &Revision,
    found: Vec<Conflict>,
    branch: &Files,
    merged: &Files,
) -> Vec<Conflict> {
    let now = MergedDraft {
        machine: branch,
        upstream: branch,
        tip: merged,
        policy: ConflictPolicy::Block,
        acknowledged: &draft.resolved_conflicts,
        is_stated: &|_| false,
        is_edited: &|_| false,
    };
    let mut all = carry(&draft.conflicts, Vec::new(), found, &now);
    let recorded = |c: &&Conflict| c.state == ConflictState::Recorded;
    for told in draft.conflicts.iter().filter(recorded) {
        if !all.iter().any(|c| c.place() == told.place()) {
            all.push(told.clone());
        }
    }
    sort(&mut all);
    all
}

async fn finish(
    by: &Caller,
    held: &Held,
    transaction: Transaction<'_, Begun>,
    new: Revision,
) -> Result<Made> {
    let follow = Follow::put(new.clone(), Some(Arc::clone(&held.revision)));
    let prepared = transaction.prepare(vec![follow])?;
    if by.dry_run {
        return Ok(Made::of(new));
    }
    let stored = prepared.publish().await?;
    Ok(Made::of(stored.unwrap_or_else(|| Arc::new(new))))
}
