//! What a change that was cut short left behind, completed from refs and trailers alone.
//!
//! The journal completes it first (X4). Where that is lost, or another tool's pushes are not
//! atomic, some refs of one change stand and others do not: the store makes what replaces a ref
//! durable before the ref goes, so nothing is missing, but something may stand too long. Only
//! forward, and only what nobody can miss: a ref goes if what it holds is
//! in the history of the one that took its place, a mark if what it marks is gone.

use std::collections::{BTreeMap, BTreeSet};

use model::{Class, CommitId, PackageName, RevisionNumber, WorkspaceName};
use store::{RefEdit, RefName};

use super::View;
use super::history::approval;
use super::survey::approved;
use crate::git::{Layout, RefKind};
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result, kept, registrations, transaction};

/// How many commits of a draft, and of a branch since a draft left it, are looked at.
const LIMIT: usize = 1_000;

/// Completes what is half done in a package; whether any ref moved.
///
/// # Errors
/// Git cannot be read or written now. Where we may not write, all stays as it is.
pub(super) async fn mend(
    engine: &Engine,
    open: &OpenRepository,
    package: &PackageName,
    view: &View,
) -> Result<bool> {
    if registrations::writable(engine, open).is_err() {
        return Ok(false);
    }
    let refs = half_done(engine, open, package, view)?;
    if refs.is_empty() {
        return Ok(false);
    }
    let named: Vec<&str> = refs.iter().map(|edit| edit.name.short()).collect();
    tracing::info!(url = open.repo.url(), refs = ?named, "completing what was cut short");
    match transaction::move_refs(engine, open, refs).await {
        Ok(()) => Ok(true),
        Err(error) if error.class() == Class::Denied => {
            tracing::warn!(url = open.repo.url(), error = %error.chain(), "refs stay left over");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// One workspace that is not published, as its refs tell.
#[derive(Default)]
struct Unpublished {
    draft: Option<(RefName, CommitId)>,
    proposed: Option<(RefName, CommitId)>,
}

fn half_done(
    engine: &Engine,
    open: &OpenRepository,
    package: &PackageName,
    view: &View,
) -> Result<Vec<RefEdit>> {
    let mut all: BTreeMap<&WorkspaceName, Unpublished> = BTreeMap::new();
    for (name, (kind, commit)) in &view.kinds {
        let at = (name.clone(), *commit);
        match kind {
            RefKind::Draft(_, ws) => all.entry(ws).or_default().draft = Some(at),
            RefKind::Proposed(_, ws) => all.entry(ws).or_default().proposed = Some(at),
            RefKind::Branch | RefKind::Tag(..) | RefKind::DeletionProposed(..) => {}
        }
    }
    let mut edits = Vec::new();
    for (ws, Unpublished { draft, proposed }) in all {
        let mut stands = proposed.clone().or_else(|| draft.clone());
        if let (Some((name, commit)), Some((proposal, at))) = (&draft, &proposed) {
            if reaches(open, *commit, *at)? {
                edits.push(RefEdit::delete(name.clone(), *commit));
            } else if reaches(open, *at, *commit)? {
                // A person went on with the draft: what they made of it was never proposed.
                edits.push(RefEdit::delete(proposal.clone(), *at));
                stands = None;
            }
        }
        // What is published was proposed before; a peer's draft may have been left as one.
        let Some((name, commit)) = stands else {
            continue;
        };
        if approved(open, view, ws, commit) {
            edits.push(RefEdit::delete(name, commit));
        } else if let Some(tag) = missing_tag(open, package, view, ws, commit)? {
            edits.push(tag);
            edits.push(RefEdit::delete(name, commit));
        }
    }
    edits.extend(marks(engine, open, package, view)?);
    Ok(edits)
}

/// Marks of deletion proposals of which nothing is left: the tag went, the mark did not. One that
/// alone still leads to its commit leaves a recovery ref behind.
fn marks(
    engine: &Engine,
    open: &OpenRepository,
    package: &PackageName,
    view: &View,
) -> Result<Vec<RefEdit>> {
    let head = view.refs.get(&open.layout.branch_ref()?).copied();
    let mut edits = Vec::new();
    for (name, (kind, commit)) in &view.kinds {
        let RefKind::DeletionProposed(_, what) = kind else {
            continue;
        };
        let tag = open.layout.tag(package, what.as_str())?;
        let stands = match head {
            // One that cannot be read now may lead to it all the same.
            _ if view.refs.contains_key(&tag) || view.broken.contains_key(&tag) => true,
            Some(head) if what.as_str() == open.layout.branch() => {
                let root = open.repo.commit(head).map_err(failed)?.tree;
                let dir = open.layout.dir(package);
                open.repo.subtree(root, &dir).map_err(failed)?.is_some()
            }
            _ => false,
        };
        if stands {
            continue;
        }
        edits.push(RefEdit::delete(name.clone(), *commit));
        let kept = match head {
            Some(head) => reaches(open, *commit, head)?,
            None => false,
        };
        if !kept && open.repo.has_commit(*commit).map_err(failed)? {
            edits.extend(kept::edit(engine, name.short(), *commit));
        }
    }
    Ok(edits)
}

/// The tag of a publish that only got as far as the branch: its merge says workspace and number,
/// and its second parent is what still stands as unpublished.
fn missing_tag(
    open: &OpenRepository,
    package: &PackageName,
    view: &View,
    workspace: &WorkspaceName,
    draft: CommitId,
) -> Result<Option<RefEdit>> {
    let dir = open.layout.dir(package);
    let mut at = view.refs.get(&open.layout.branch_ref()?).copied();
    let own = open.repo.first_parents(draft, LIMIT).map_err(failed)?;
    let own: BTreeSet<CommitId> = own.into_iter().collect();
    for _ in 0..LIMIT {
        // The draft left the branch here: it was merged after that, or never.
        let Some(id) = at.filter(|id| !own.contains(id)) else {
            break;
        };
        let commit = open.repo.commit(id).map_err(failed)?;
        if commit.parents.get(1) == Some(&draft)
            && let Some((ws, number)) = approval(open, &dir, &commit.message)
            && ws == workspace.as_str()
        {
            let tag = Layout::tag_of(RevisionNumber(number));
            let tag = open.layout.tag(package, &tag)?;
            let is_there = view.refs.contains_key(&tag) || view.broken.contains_key(&tag);
            return Ok((!is_there).then(|| RefEdit::create(tag, id)));
        }
        at = commit.parents.first().copied();
    }
    Ok(None)
}

fn reaches(open: &OpenRepository, ancestor: CommitId, of: CommitId) -> Result<bool> {
    Ok(ancestor == of || open.repo.is_ancestor(ancestor, of).map_err(failed)?)
}

fn failed(source: store::Error) -> Error {
    Error::Store {
        attempt: "look for what was cut short",
        source,
    }
}
