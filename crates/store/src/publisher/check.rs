//! Checking one submission against the refs as they are after those before it.
//!
//! Nothing is written here: what is found is a refusal, or the edits and the objects that would
//! make it true.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use gix::ObjectId;
use gix::objs::Kind;
use model::{CommitId, TreeId};

use super::Publisher;
use super::offer::Offer;
use super::round::{Accepted, Round};
use crate::disk::{Disk, View};
use crate::error::{Error, Result};
use crate::journal::Edit;
use crate::object::{CommitText, Oid as _, commit_id, tree_id};
use crate::staged::Parts;
use crate::{BranchEdit, Expect, RefEdit, RefName, Scope, Submission, SubmissionRefusal};
use crate::{build, tree};

/// What was found.
pub(crate) enum Checked {
    Fine(Accepted),
    No(SubmissionRefusal),
}

impl<D: Disk> Publisher<D> {
    /// Holds one submission against the refs as those before it in the batch leave them, makes its commit on the branch, and adds
    /// what it brings to the round; a refused one leaves the round as it was.
    pub(crate) fn check_one(
        &self,
        submission: &Submission,
        view: &dyn View,
        round: &mut Round,
    ) -> Result<Checked> {
        let mut candidate = Candidate {
            view,
            round,
            edits: BTreeMap::new(),
        };
        for edit in &submission.refs {
            self.check_target(edit.to, submission, candidate.round)?;
            if let Some(refusal) = self.try_ref(edit, &mut candidate)? {
                return Ok(Checked::No(refusal));
            }
        }
        let mut offer = Offer::default();
        // What a ref showed before this submission is certainly here, so nothing below it has to be offered.
        let shown: BTreeSet<ObjectId> = candidate.edits.values().filter_map(|e| e.old).collect();
        for written in &submission.written {
            offer.take_all(&written.bundle, &shown);
        }
        let mut made = Parts::default();
        let mut commit = None;
        if let Some(branch) = &submission.branch {
            self.check_target(branch.second_parent, submission, candidate.round)?;
            match self.try_branch(branch, &mut candidate, &mut made)? {
                Ok(id) => commit = Some(id),
                Err(refusal) => return Ok(Checked::No(refusal)),
            }
        }
        offer.take(&made);
        let edits: Vec<Edit> = candidate.edits.into_values().collect();
        if let Some(refusal) = self.take_offer(offer, round)? {
            return Ok(Checked::No(refusal));
        }
        for edit in &edits {
            // A ref that two submissions of one batch move is written once, from what it was before the batch to what
            // the last of them makes of it.
            let first = round
                .now
                .get(&edit.name)
                .map_or(edit.old, |before| before.old);
            round.now.insert(
                edit.name.clone(),
                Edit {
                    old: first,
                    ..edit.clone()
                },
            );
        }
        Ok(Checked::Fine(Accepted { commit, edits }))
    }

    /// A ref may only lead to a commit that is here or comes along.
    fn check_target(
        &self,
        to: Option<CommitId>,
        submission: &Submission,
        round: &Round,
    ) -> Result<()> {
        let Some(to) = to.map(|to| to.oid()).transpose()? else {
            return Ok(());
        };
        let comes = |w: &crate::Written| w.bundle.holds(&to);
        if round.offer.holds(&to) || submission.written.iter().any(comes) {
            return Ok(());
        }
        match self.reader.disk.kind(&to)? {
            Some(Kind::Commit) => Ok(()),
            _ => Err(self.reader.missing("commit", &to)),
        }
    }

    /// Moves one ref of the candidate, if it is what was expected and its name is free.
    fn try_ref(
        &self,
        edit: &RefEdit,
        candidate: &mut Candidate<'_>,
    ) -> Result<Option<SubmissionRefusal>> {
        if candidate.edits.contains_key(&edit.name) {
            let why = format!("{} is moved twice", edit.name);
            return Err(Error::Nonsense {
                attempt: "submit",
                why,
            });
        }
        let old = candidate.get(&edit.name)?;
        let found = match old {
            // Tags of people may be annotated: an expectation may name the tag or the commit that it stands for.
            Some(id) => Some(self.reader.peel(id)?.unwrap_or(id)),
            None => None,
        };
        let found = found.as_ref().map(commit_id);
        let raw = old.as_ref().map(commit_id);
        if !fits(&edit.expect, found) && !fits(&edit.expect, raw) {
            let (name, expected) = (edit.name.clone(), words(&edit.expect));
            return Ok(Some(SubmissionRefusal::Ref {
                name,
                expected,
                found,
            }));
        }
        // Files and directories cannot share a name: refs/x and refs/x/y exclude each other, also before either
        // is written.
        if old.is_none()
            && edit.to.is_some()
            && let Some(other) = candidate.shadow(&edit.name)?
        {
            return Ok(Some(SubmissionRefusal::Shadowed {
                name: edit.name.clone(),
                other,
            }));
        }
        let new = edit.to.map(|to| to.oid()).transpose()?;
        // Whatever moves or goes, a draft too: what is made anew is beneath nobody.
        if old.is_some()
            && old != new
            && let Some(refusal) = candidate.checked_out(&edit.name)
        {
            return Ok(Some(refusal));
        }
        candidate.set(&edit.name, old, new, edit.scope);
        Ok(None)
    }

    /// Makes the commit on the branch as it is by now.
    fn try_branch(
        &self,
        edit: &BranchEdit,
        candidate: &mut Candidate<'_>,
        made: &mut Parts,
    ) -> Result<Result<ObjectId, SubmissionRefusal>> {
        let Some(head) = candidate.get(&edit.branch)? else {
            return Ok(Err(SubmissionRefusal::NoBranch {
                branch: edit.branch.clone(),
            }));
        };
        if let Some(refusal) = candidate.checked_out(&edit.branch) {
            return Ok(Err(refusal));
        }
        // Only the package's own directory is compared: others may have published to the same branch meanwhile, and
        // that is no conflict.
        let root = self.reader.read_commit(&head)?.tree.oid()?;
        if edit.content.is_some()
            && let Some(path) = self.reader.in_the_way(&root, &edit.dir)?
        {
            let branch = edit.branch.clone();
            return Ok(Err(SubmissionRefusal::InTheWay { branch, path }));
        }
        let found = self
            .reader
            .find_subtree(&root, &edit.dir)?
            .as_ref()
            .map(tree_id);
        if !fits(&edit.expect, found) {
            return Ok(Err(SubmissionRefusal::Directory {
                branch: edit.branch.clone(),
                dir: edit.dir.clone(),
                expected: words(&edit.expect),
                found,
            }));
        }
        let content = edit.content.map(|tree: TreeId| tree.oid()).transpose()?;
        if let Some(content) = &content {
            build::gather(&self.reader, content, made);
        }
        // What both trees have in common is noted so that it is neither packed nor pushed again.
        build::note_held(&self.reader, Some(root), &edit.dir, content.as_ref(), made)?;
        let root = tree::graft(&self.reader, Some(root), &edit.dir, content, made)?;
        let mut parents = vec![head];
        parents.extend(edit.second_parent.map(|p| p.oid()).transpose()?);
        let commit = build::commit_object(
            &self.reader,
            CommitText {
                tree: &root,
                parents: &parents,
                author: &edit.author,
                committer: &edit.committer,
                message: &edit.message,
            },
        )?;
        let id = commit.id;
        made.build(commit);
        // The next submission of the batch stands on this commit: approvals of one batch are a chain, not a race.
        candidate.set(&edit.branch, Some(head), Some(id), Scope::Remote);
        for tag in &edit.tags {
            let create = RefEdit::create(tag.clone(), commit_id(&id));
            if let Some(refusal) = self.try_ref(&create, candidate)? {
                return Ok(Err(refusal));
            }
        }
        Ok(Ok(id))
    }
}

/// A submission while it is checked, on top of those before it.
struct Candidate<'a> {
    view: &'a dyn View,
    round: &'a Round,
    edits: BTreeMap<RefName, Edit>,
}

impl Candidate<'_> {
    fn get(&self, name: &RefName) -> Result<Option<ObjectId>> {
        // Own edits over those of earlier submissions over what is on disk.
        match self.edits.get(name).or_else(|| self.round.now.get(name)) {
            Some(edit) => Ok(edit.new),
            None => self.view.get(name),
        }
    }

    fn set(&mut self, name: &RefName, old: Option<ObjectId>, new: Option<ObjectId>, scope: Scope) {
        self.edits.insert(
            name.clone(),
            Edit {
                name: name.clone(),
                old,
                new,
                scope,
            },
        );
    }

    /// Why a branch stays as it is that somebody works on.
    fn checked_out(&self, name: &RefName) -> Option<SubmissionRefusal> {
        let at = self.round.checked_out.get(name)?;
        Some(SubmissionRefusal::CheckedOut {
            branch: name.clone(),
            at: at.clone(),
        })
    }

    /// A ref that would have to be a directory for this one, or the other way round.
    fn shadow(&self, name: &RefName) -> Result<Option<String>> {
        let below = format!("{name}/");
        for edits in [&self.edits, &self.round.now] {
            let made = |n: &str| edits.get(n).is_some_and(|e| e.new.is_some());
            if let Some(above) = name.ancestors().find(|above| made(above)) {
                return Ok(Some(above.to_owned()));
            }
            let mut inside =
                edits.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded));
            let inside = inside.find(|(n, e)| !n.as_str().starts_with(&below) || e.new.is_some());
            if let Some((other, _)) = inside.filter(|(n, _)| n.as_str().starts_with(&below)) {
                return Ok(Some(other.to_string()));
            }
        }
        self.view.shadow(name)
    }
}

fn fits<T: PartialEq>(expect: &Expect<T>, found: Option<T>) -> bool {
    match expect {
        Expect::Absent => found.is_none(),
        Expect::Is(wanted) => found.as_ref() == Some(wanted),
        Expect::Any => true,
    }
}

fn words<T: std::fmt::Display>(expect: &Expect<T>) -> String {
    match expect {
        Expect::Absent => "absent".to_owned(),
        Expect::Is(wanted) => wanted.to_string(),
        Expect::Any => "anything".to_owned(),
    }
}
