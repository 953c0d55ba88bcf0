//! What a person's draft took in of the branch since it was made: based anew by us or merged by git, it holds another machine
//! output than the revision that it was copied from (V20).

use model::CommitId;
use store::Dir;

use super::history::{LIMIT, approval, is_package};
use crate::git::Notes;
use crate::repos::OpenRepository;
use crate::{Error, Result};

/// What an approval's draft is based on, as its commits tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenIn {
    /// A commit that was merged into it, the newest one.
    Merged(CommitId),
    /// It left the branch here, and nothing was merged into it since.
    Left(CommitId),
}

/// What the draft took in that was approved with this commit; `None` where that is no approval of a draft.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn taken_in(
    open: &OpenRepository,
    dir: &Dir,
    published: CommitId,
) -> Result<Option<TakenIn>> {
    let failed = |source| Error::Store {
        attempt: "read the history of the draft",
        source,
    };
    let approved = open.repo.commit(published).map_err(failed)?;
    if approval(open, dir, &approved.message).is_none() {
        return Ok(None);
    }
    let [branch, draft, ..] = *approved.parents.as_slice() else {
        return Ok(None);
    };
    for id in open.repo.first_parents(draft, LIMIT).map_err(failed)? {
        let commit = open.repo.commit(id).map_err(failed)?;
        if commit.parents.len() > 1 {
            let mut merged = None;
            for parent in &commit.parents {
                if open.repo.is_ancestor(*parent, branch).map_err(failed)? {
                    return Ok(Some(TakenIn::Merged(*parent)));
                }
                let root = open.repo.commit(*parent).map_err(failed)?.tree;
                if open.repo.subtree(root, dir).map_err(failed)?.is_some() {
                    merged = Some(*parent);
                }
            }
            // Another draft, which holds what its own history tells.
            if let Some(merged) = merged.filter(|merged| Some(merged) != commit.parents.first()) {
                return Ok(Some(TakenIn::Merged(merged)));
            }
        }
        let notes = Notes::of(&commit.message);
        let mut of_draft = notes
            .kpt
            .iter()
            .filter(|k| k.revision <= 0 && is_package(open, dir, &k.package));
        if of_draft.any(|k| k.task.is_some()) {
            return Ok(commit.parents.first().copied().map(TakenIn::Left));
        }
    }
    Ok(None)
}
