//! What the history of a package says: who made it, with which task, and under which number.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use model::{CommitId, Condition, Conflict, Files, Machine, Revision, RevisionNumber, Task};
use package::conflicts::resolved_by_edit;
use store::Dir;

use crate::git::Notes;
use crate::repos::OpenRepository;
use crate::transaction::kept_conflicts;
use crate::{Error, Result};

/// How far back a history is read; longer ones are cut, which is said nowhere since nothing of
/// ours is that long: a draft has one commit for each change.
pub(super) const LIMIT: usize = 2_000;

/// How many foreign commits in a row may lie on top of one of ours.
const PATIENCE: usize = 256;

fn failed(source: store::Error) -> Error {
    Error::Store {
        attempt: "read the history",
        source,
    }
}

/// What the commits of one revision say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// The task that made it.
    pub(crate) task: Option<Task>,
    /// The machine's newest note.
    pub(crate) machine: Option<Machine>,
    /// What the machine says about its result, if nobody has changed it since.
    pub(crate) conditions: Vec<Condition>,
    /// The conflicts of its newest merge, as its newest commit of ours has them.
    pub(crate) conflicts: Vec<Conflict>,
    /// That commit, if others lie above it.
    pub(crate) below: Option<CommitId>,
    /// When the first of them was committed, in seconds since 1970.
    pub(crate) created: i64,
    /// Trailers of ours that cannot be read.
    pub(crate) unreadable: Vec<String>,
}

/// Whether a trailer's package is this one; Porch writes the path with and without the
/// repository's directory.
pub(super) fn is_package(open: &OpenRepository, dir: &Dir, named: &str) -> bool {
    let named = named.trim_matches('/');
    named == dir.as_str()
        || dir
            .below(open.layout.root())
            .is_some_and(|below| below.as_str() == named)
}

/// The workspace that an approval names; `None` for any other commit.
pub(crate) fn workspace_of(open: &OpenRepository, commit: CommitId) -> Option<String> {
    let commit = open.repo.commit(commit).ok()?;
    let notes = Notes::of(&commit.message);
    let approval = notes.kpt.into_iter().find(|k| k.revision > 0)?;
    Some(approval.workspace)
}

/// The approval in a commit: workspace and number of this package.
pub(crate) fn approval(open: &OpenRepository, dir: &Dir, message: &str) -> Option<(String, i64)> {
    let notes = Notes::of(message);
    let mine = notes
        .kpt
        .into_iter()
        .find(|k| k.revision > 0 && is_package(open, dir, &k.package))?;
    Some((mine.workspace, mine.revision))
}

/// An approval, as the branch's history tells it.
pub(crate) struct Approved {
    /// The commit on the branch, which its tag was on.
    pub(crate) commit: CommitId,
    /// The workspace.
    pub(crate) workspace: String,
    /// The number.
    pub(crate) number: i64,
    /// What was approved.
    pub(crate) draft: Option<CommitId>,
}

/// The newest approval of a package, those of some numbers left out. What was approved before its directory was taken away
/// went with that.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn approved_before(
    open: &OpenRepository,
    dir: &Dir,
    head: CommitId,
    is_left_out: impl Fn(i64) -> bool,
) -> Result<Option<Approved>> {
    let mut at = Some(head);
    for _ in 0..PATIENCE {
        let Some(id) = at else { break };
        let commit = open.repo.commit(id).map_err(failed)?;
        let there = open.repo.subtree(commit.tree, dir).map_err(failed)?;
        if there.is_none() {
            break;
        }
        if let Some((workspace, number)) = approval(open, dir, &commit.message)
            && !is_left_out(number)
        {
            return Ok(Some(Approved {
                commit: id,
                workspace,
                number,
                draft: commit.parents.get(1).copied(),
            }));
        }
        at = match commit.parents.first() {
            Some(parent) => open.repo.last_change(*parent, dir).map_err(failed)?,
            None => None,
        };
    }
    Ok(None)
}

/// Reads the commits of one workspace from its tip back to where it started.
pub(crate) fn told(
    open: &OpenRepository,
    dir: &Dir,
    tip: CommitId,
    workspace: Option<&str>,
) -> Result<Told> {
    let mut told = Told::default();
    let (mut foreign, mut conflicts) = (0, None);
    let commits = open.repo.first_parents(tip, LIMIT).map_err(failed)?;
    for (step, id) in commits.into_iter().enumerate() {
        let commit = open.repo.commit(id).map_err(failed)?;
        let notes = Notes::of(&commit.message);
        let mut mine = notes
            .kpt
            .iter()
            .filter(|k| k.revision <= 0 && is_package(open, dir, &k.package))
            .filter(|k| workspace.is_none_or(|w| w == k.workspace))
            .peekable();
        // A person's own commit on a draft has no trailer: it belongs to the draft if one of ours
        // lies below it, which the next rounds find out; also between two of ours.
        if mine.peek().is_none() {
            foreign += 1;
            let elsewhere = notes.kpt.iter().any(|k| k.revision > 0);
            if elsewhere || foreign > PATIENCE {
                break;
            }
            continue;
        }
        if told.created == 0 && step > 0 {
            told.below = Some(id);
        }
        foreign = 0;
        told.created = commit.committer.time.seconds;
        told.unreadable.extend(notes.unreadable.iter().cloned());
        if step == 0 {
            told.conditions.clone_from(&notes.conditions);
        }
        // A commit above the merge says what people said about its conflicts since (V4a).
        if told.machine.is_none() && conflicts.is_none() {
            conflicts = listed(
                open,
                notes.conflicts,
                notes.kept_conflicts,
                &mut told.unreadable,
            );
        }
        if told.machine.is_none() {
            told.machine.clone_from(&notes.machine);
        }
        if let Some(task) = mine.find_map(|k| k.task.clone()) {
            told.task = Some(task);
            break;
        }
    }
    told.conflicts = conflicts.unwrap_or_default();
    Ok(told)
}

/// The conflicts that a commit lists, in its message or in a commit of their own.
fn listed(
    open: &OpenRepository,
    line: Option<Vec<Conflict>>,
    kept: Option<CommitId>,
    unreadable: &mut Vec<String>,
) -> Option<Vec<Conflict>> {
    let Some(kept) = kept else { return line };
    match kept_conflicts(open, kept) {
        Ok(conflicts) => Some(conflicts),
        Err(e) => {
            unreadable.push(format!("trailer offshoot-conflicts: {e}"));
            None
        }
    }
}

/// Marks the open conflicts whose fields somebody edited in commits above ours: those have no list of their own (V4a).
pub(crate) fn resolved_by_push(
    open: &OpenRepository,
    dir: &Dir,
    told: &mut Told,
    tip: &Files,
) -> Result<()> {
    let Some(below) = told
        .below
        .filter(|_| told.conflicts.iter().any(Conflict::blocks))
    else {
        return Ok(());
    };
    let root = open.repo.commit(below).map_err(failed)?.tree;
    if let Some(tree) = open.repo.subtree(root, dir).map_err(failed)? {
        let left = open.repo.snapshot(tree).map_err(failed)?;
        resolved_by_edit(&mut told.conflicts, &left.files, tip);
    }
    Ok(())
}

/// Whether a draft holds anything of a person's: a commit on top of the machine's, or an edit that
/// a later commit of the machine carried along.
pub(crate) fn by_person(open: &OpenRepository, draft: &Revision) -> Result<bool> {
    let machine = draft.machine.as_ref();
    if machine.is_none_or(|machine| machine.m_tree != draft.tree) {
        return Ok(true);
    }
    let tip = open.repo.commit(draft.commit).map_err(failed)?;
    Ok(Notes::of(&tip.message).machine.is_none())
}

/// The machine note behind the last change of a package on the branch: an approval of a draft of
/// ours. A change by hand has none.
pub(crate) fn behind(
    open: &OpenRepository,
    dir: &Dir,
    commit: &store::Commit,
) -> Result<Option<Machine>> {
    let Some((workspace, _)) = approval(open, dir, &commit.message) else {
        return Ok(None);
    };
    match commit.parents.get(1) {
        Some(draft) => Ok(told(open, dir, *draft, Some(&workspace))?.machine),
        None => Ok(None),
    }
}

/// Whether the last change of a package on the branch was an approval, and no work of somebody's own.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn approved_last(open: &OpenRepository, dir: &Dir, head: CommitId) -> Result<bool> {
    let Some(last) = open.repo.last_change(head, dir).map_err(failed)? else {
        return Ok(true);
    };
    let commit = open.repo.commit(last).map_err(failed)?;
    Ok(approval(open, dir, &commit.message).is_some())
}

/// The highest number that the branch's history ever gave to a package (X5).
///
/// Each commit of the branch is read once: what was read is kept with the repository.
pub(crate) fn highest_number(
    open: &OpenRepository,
    dir: &Dir,
    head: CommitId,
) -> Result<RevisionNumber> {
    let numbers = &mut *open.numbers.lock().unwrap_or_else(PoisonError::into_inner);
    let mut at = Some(head);
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    while let Some(id) = at.filter(|id| numbers.head != Some(*id)) {
        let commit = open.repo.commit(id).map_err(failed)?;
        for approval in Notes::of(&commit.message).kpt {
            if approval.revision > 0 {
                let path = approval.package.trim_matches('/').to_owned();
                let highest = found.entry(path).or_default();
                *highest = approval.revision.max(*highest);
            }
        }
        at = commit.parents.first().copied();
    }
    for (path, number) in found {
        let highest = numbers.highest.entry(path).or_default();
        *highest = number.max(*highest);
    }
    numbers.head = Some(head);
    // Porch writes the path with and without the repository's directory.
    let below = dir.below(open.layout.root());
    let paths = [Some(dir), below.as_ref()];
    let highest = paths
        .into_iter()
        .flatten()
        .filter_map(|path| numbers.highest.get(path.as_str()))
        .max();
    Ok(RevisionNumber(highest.copied().unwrap_or(0)))
}
