//! Whether the branch really differs from what is published. An approval moves branch and tag at once, but its records are
//! written and heard of one after another: who looks in between sees a new tag beside an old branch, or the reverse, which
//! would pass for work of somebody's own. Where records say that they differ, git is asked.

use std::sync::Arc;

use model::{CommitId, Revision};
use plan::OffBranch;
use plan::variant::base_of;

use crate::discover::{head_of, is_approved_already, off_branch};
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result};

/// Brings the record of the branch in line with git where an approval is not wholly recorded. Where a tag publishes what the branch
/// does not lead to, that is what drafts start from, whatever the branch holds, and is answered (V20).
///
/// # Errors
/// `Conflict` where git has approved a revision that its record still shows as open; git cannot be read.
pub(crate) fn agree(
    engine: &Engine,
    open: &OpenRepository,
    revisions: &mut [Arc<Revision>],
) -> Result<Option<OffBranch>> {
    let Some(choice) = base_of(revisions).filter(|choice| choice.from_branch) else {
        return Ok(None);
    };
    let published = choice.revision;
    // What is gone altogether is the next look's to find out.
    let Some(head) = head_of(open)? else {
        return Ok(None);
    };
    if open.tree_at(head, &published.package)? == Some(published.tree) {
        holds(revisions, &published);
        return Ok(None);
    }
    if is_approved_already(open, &published.package, revisions)? {
        let what = format!("an approval of {} is being recorded", published.package);
        return Err(Error::conflict(what));
    }
    let apart = not_merged(engine, open, &published, head)?;
    if apart.is_some() {
        holds(revisions, &published);
    }
    Ok(apart)
}

/// Takes the branch for what holds what is published.
fn holds(revisions: &mut [Arc<Revision>], published: &Revision) {
    for record in revisions.iter_mut().filter(|r| r.placeholder) {
        let mut now = Revision::clone(record);
        (now.tree, now.commit) = (published.tree, published.commit);
        *record = Arc::new(now);
    }
}

/// That a branch does not lead to what a tag publishes. Where a place is registered with several branches, a tag may be of
/// another one.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn not_merged(
    engine: &Engine,
    open: &OpenRepository,
    published: &Revision,
    head: CommitId,
) -> Result<Option<OffBranch>> {
    let git = &open.repository.git;
    let is_of_one_branch = engine.world(|w| {
        let mut all = w.repositories.at(&git.repo);
        all.all(|stored| {
            let parsed = stored.parsed.as_ref();
            parsed.is_ok_and(|other| other.git.branch == git.branch)
        })
    });
    let failed = |source| Error::Store {
        attempt: "read the branch",
        source,
    };
    let leads = || open.repo.is_ancestor(published.commit, head);
    if !is_of_one_branch || leads().map_err(failed)? {
        return Ok(None);
    }
    Ok(Some(OffBranch::NotMerged(published.key.name.clone())))
}

/// Why what the branch holds in the place of a published package is no package of its own. Where it has a record it is one.
///
/// # Errors
/// Git cannot be read.
pub(super) fn of_published(
    open: &OpenRepository,
    revisions: &[Arc<Revision>],
) -> Result<Option<OffBranch>> {
    if revisions.iter().any(|r| r.placeholder) {
        return Ok(None);
    }
    match base_of(revisions) {
        Some(choice) => off_branch(open, &choice.revision.package, Some(choice.tree)),
        None => Ok(None),
    }
}
