//! Which machine output the content of a package stems from, as the branch's history tells it (V20).

use model::{CommitId, GitLock, Machine, Task, TreeId};
use package::kptfile::Kptfile;
use plan::variant::{Lineage, OldUpstream};
use store::{Commit, Dir};

use super::history::{LIMIT, approval, approved_before, is_package, told};
use crate::git::Notes;
use crate::repos::OpenRepository;
use crate::{Error, Result};

fn failed(source: store::Error) -> Error {
    Error::Store {
        attempt: "read the history",
        source,
    }
}

/// Where the content of a directory at a commit of the branch stems from (V20): the
/// newest machine note in its history, unless an init or a clone without one lies in between.
pub(crate) fn lineage(
    open: &OpenRepository,
    dir: &Dir,
    commit: CommitId,
    lock: Option<&GitLock>,
    old_upstream: impl Fn() -> OldUpstream,
) -> Result<Lineage> {
    let mut at = Some(commit);
    for _ in 0..LIMIT {
        let Some(id) = at else { break };
        let found = open.repo.commit(id).map_err(failed)?;
        let notes = Notes::of(&found.message);
        let is_its = notes.kpt.iter().all(|k| is_package(open, dir, &k.package));
        if let Some(machine) = notes.machine.filter(|_| is_its) {
            return Ok(Lineage::Trailer(machine));
        }
        match (approval(open, dir, &found.message), found.parents.get(1)) {
            (Some((workspace, _)), Some(draft)) => {
                let told = told(open, dir, *draft, Some(&workspace))?;
                if let Some(machine) = told.machine {
                    return Ok(Lineage::Trailer(machine));
                }
                match told.task {
                    Some(Task::Init { .. }) => {
                        return Ok(Lineage::Diverged("it was made anew (init)".to_owned()));
                    }
                    Some(Task::Clone { .. } | Task::CloneGit(_)) => break,
                    _ => {}
                }
            }
            (None, Some(_)) => {
                if let Some(machine) = merged(open, dir, &found)? {
                    return Ok(Lineage::Trailer(machine));
                }
            }
            (_, None) => {}
        }
        at = match found.parents.first() {
            Some(parent) => open.repo.last_change(*parent, dir).map_err(failed)?,
            None => None,
        };
    }
    Ok(Lineage::NoTrailer {
        lock: lock.cloned(),
        old_upstream: old_upstream(),
    })
}

/// What the machine had made for a draft that somebody merged into the branch by git: since then the branch holds that, and what
/// people made of it. `None` where no draft was merged, or an older one than what the branch had.
fn merged(open: &OpenRepository, dir: &Dir, merge: &Commit) -> Result<Option<Machine>> {
    let [into, others @ ..] = merge.parents.as_slice() else {
        return Ok(None);
    };
    for draft in others {
        if let Some(machine) = told(open, dir, *draft, None)?.machine
            && is_newer(open, dir, (*into, merge), &machine)?
        {
            return Ok(Some(machine));
        }
    }
    Ok(None)
}

/// Whether a draft is newer than what the branch had when it was merged: it was derived from what had been approved last, or the
/// merge brought its upstream along.
fn is_newer(
    open: &OpenRepository,
    dir: &Dir,
    (into, merge): (CommitId, &Commit),
    machine: &Machine,
) -> Result<bool> {
    let Some(last) = approved_before(open, dir, into, |_| false)? else {
        return Ok(true);
    };
    // Of a base that is gone nobody knows what it was.
    let derived_from = |base| open.repo.is_ancestor(last.commit, base).unwrap_or(false);
    if machine.base.is_some_and(derived_from) {
        return Ok(true);
    }
    let before = open.repo.commit(into).map_err(failed)?;
    let at = |root| open.repo.subtree(root, dir).map_err(failed);
    let locks = [at(merge.tree)?, at(before.tree)?, Some(machine.v_tree)];
    let [now, before, drafted] = locks.map(|tree| tree.and_then(|tree| lock_of(open, tree)));
    let same = |a: &Option<GitLock>, b: &Option<GitLock>| {
        let both = a.as_ref().zip(b.as_ref());
        both.is_some_and(|(a, b)| a.same_content(b))
    };
    Ok(same(&now, &drafted) && !same(&now, &before))
}

/// The upstream lock of a package; `None` where none can be read.
pub(crate) fn lock_of(open: &OpenRepository, tree: TreeId) -> Option<GitLock> {
    let snapshot = open.repo.snapshot(tree).ok()?;
    let kptfile = Kptfile::of_files(&snapshot.files).ok()?;
    kptfile.fields().upstream_lock.as_ref()?.git.clone()
}
