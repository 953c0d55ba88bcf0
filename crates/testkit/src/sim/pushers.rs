//! People with git who push to refs that are ours to move: they take drafts away or back to an earlier commit, propose
//! and tag by hand, mark for deletion, and work on the branch itself.

use engine::usecase::Made;
use model::{CommitId, Lifecycle, ObjectKey, Revision};
use store::{Expect, RefEdit, RefName, Scope, Submission};
use tokio::time::Instant;

use super::Violation;
use super::fixtures::TARGETS;
use super::ledger::OnBranch;
use super::people;
use super::reading::{Seen, carries, names};
use super::settled::{Checked, broken};
use super::world::World;

/// The packages whose variants never go by a step of the set.
const PACKAGES: [(&str, &str); 2] = [("deploy", "shop"), ("edge", "cafe")];

impl World {
    /// One push.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub(super) async fn push_anywhere(&mut self) -> Checked {
        let Some((repo, package)) = self.wide.pick(&PACKAGES).copied() else {
            return Ok(());
        };
        let seen = self.seen_as(repo)?;
        let open = self.open(&format!("{repo}/{package}"));
        let tip = open
            .as_ref()
            .map(|r| self.tip(&seen, r))
            .transpose()?
            .flatten();
        match (self.wide.roll(6), open, tip) {
            (0, Some(record), Some((name, at))) => self.take_away(&seen, &record, &name, at).await,
            (1, Some(record), Some((name, at))) => {
                self.take_back(&seen, &record, &name, at).await?
            }
            (2, _, Some((name, at))) => self.propose_by_hand(&seen, &name, at).await,
            (3, ..) => self.tag_by_hand(&seen, package).await,
            (4, ..) => self.mark_by_hand(&seen, repo, package).await,
            (5, ..) => self.work_on_branch(repo, package).await,
            _ => {}
        }
        Ok(())
    }

    /// Where the ref of an open draft stands.
    fn tip(
        &self,
        seen: &Seen,
        record: &Revision,
    ) -> Result<Option<(RefName, CommitId)>, Violation> {
        let lock = record.self_lock.as_ref();
        let short = lock.map(|l| l.git_ref.clone()).unwrap_or_default();
        let name = RefName::branch(&short).map_err(|e| Violation(e.to_string()))?;
        Ok(seen.refs.get(&name).map(|at| (name.clone(), *at)))
    }

    async fn edit_ref(
        &self,
        seen: &Seen,
        name: &RefName,
        from: Option<CommitId>,
        to: Option<CommitId>,
    ) -> bool {
        let edit = RefEdit {
            name: name.clone(),
            expect: from.map_or(Expect::Absent, Expect::Is),
            to,
            scope: Scope::Remote,
        };
        let submission = Submission {
            refs: vec![edit],
            ..Submission::default()
        };
        let answer = seen.repo.submit(submission).await;
        let taken = matches!(answer, Ok(store::Answer::Published(_)));
        let to = to.map_or_else(|| "nowhere".to_owned(), |to| to.to_string());
        self.durable
            .chaos
            .say(format!("a person moves {name} to {to}: {taken}"));
        taken
    }

    async fn take_away(&self, seen: &Seen, record: &Revision, name: &RefName, at: CommitId) {
        if self.edit_ref(seen, name, Some(at), None).await {
            self.durable.ledger.open().forget_revision(&record.key);
        }
    }

    /// The draft goes back to the commit before, if that has the package.
    async fn take_back(
        &self,
        seen: &Seen,
        record: &Revision,
        name: &RefName,
        at: CommitId,
    ) -> Checked {
        let commit = seen.repo.commit(at);
        let commit = commit.map_err(|e| Violation(format!("I6: {at}: {e}")))?;
        let before = commit.parents.first().copied();
        let has = |at: &CommitId| seen.files(*at, record.package.as_str()).is_ok();
        if let Some(before) = before.filter(has)
            && self.edit_ref(seen, name, Some(at), Some(before)).await
        {
            self.durable.ledger.open().forget_revision(&record.key);
        }
        Ok(())
    }

    async fn propose_by_hand(&self, seen: &Seen, name: &RefName, at: CommitId) {
        let proposed = name.short().replacen("drafts/", "proposed/", 1);
        if let Ok(proposed) = RefName::branch(&proposed)
            && !seen.refs.contains_key(&proposed)
        {
            let taken = self.edit_ref(seen, &proposed, None, Some(at)).await;
            if taken {
                let of = (seen.url.clone(), proposed.to_string());
                let mut promises = self.durable.ledger.open();
                promises.proposed.insert(of, Instant::now());
            }
        }
    }

    /// A number is tagged by hand where the branch stands.
    async fn tag_by_hand(&self, seen: &Seen, package: &str) {
        // Whoever sees none takes a number that was used.
        if !self.untagged.is_empty() || self.ends.is_some() {
            return;
        }
        let of_it = format!("refs/tags/{package}/v");
        let numbers = seen
            .refs
            .keys()
            .filter_map(|n| n.as_str().strip_prefix(&of_it));
        let highest = numbers
            .filter_map(|n| n.parse::<u64>().ok())
            .max()
            .unwrap_or(0);
        let head = seen.refs.get(&people::main()).copied();
        let head = head.filter(|head| seen.files(*head, package).is_ok());
        if let (Some(head), Ok(tag)) = (head, RefName::tag(&format!("{package}/v{}", highest + 1)))
        {
            self.edit_ref(seen, &tag, None, Some(head)).await;
        }
    }

    /// What is published is marked for deletion by hand, as a person's proposal.
    async fn mark_by_hand(&self, seen: &Seen, repo: &str, package: &str) {
        let of_it = format!("{package}/v");
        let is = |name: &&RefName| {
            name.as_str().starts_with("refs/tags/") && name.short().starts_with(&of_it)
        };
        let Some(tag) = seen.refs.keys().rfind(is) else {
            return;
        };
        let at = seen.refs.get(tag).copied();
        if let Ok(mark) = RefName::branch(&format!("deletionProposed/{}", tag.short()))
            && !seen.refs.contains_key(&mark)
        {
            let taken = self.edit_ref(seen, &mark, None, at).await;
            if taken {
                let of = format!("{repo}/{package}");
                self.durable.ledger.open().marked.insert(of);
            }
        }
    }

    /// Somebody asks for a move: what is marked for deletion may go with its repository, also where nobody was answered.
    pub(super) fn note_mark(&self, key: &ObjectKey, to: Lifecycle) {
        let marked = self
            .record(key)
            .filter(|_| to == Lifecycle::DeletionProposed);
        if let Some(record) = marked {
            let of = format!("{}/{}", record.repository, record.package);
            self.durable.ledger.open().marked.insert(of);
        }
    }

    /// Whoever moved a revision was told where what somebody pushed beside it is kept: it is not in the revision any more.
    pub(super) fn note_kept(&self, key: &ObjectKey, made: Option<&Made>) {
        let kept = |made: &Made| made.warnings.iter().any(|w| w.contains("it is kept as"));
        if made.is_some_and(kept) {
            self.durable.ledger.open().forget_revision(key);
        }
    }

    /// A person edits a published package on the branch itself.
    async fn work_on_branch(&self, repo: &str, package: &str) {
        let Some((_, url)) = TARGETS.iter().find(|(name, _)| *name == repo) else {
            return;
        };
        let marker = people::push_to_branch(
            &self.durable.store,
            &self.durable.ledger,
            url,
            package,
            people::Put::Annotation,
        )
        .await;
        self.durable.chaos.say(format!(
            "a person works on {package} on the branch: {marker:?}"
        ));
        if let Some(marker) = marker {
            self.promise_on_branch(marker, repo, package);
        }
    }

    /// What is there of a person's on the branch is promised.
    pub(super) fn promise_on_branch(&self, marker: String, repo: &str, package: &str) {
        let promise = OnBranch {
            marker,
            repo: repo.to_owned(),
            package: package.to_owned(),
        };
        self.durable.ledger.open().on_branch.push(promise);
    }

    /// What people did on the branch itself is on it, or in what is open, or named by a conflict there (I10, V20).
    pub(super) fn on_branch(&self) -> Checked {
        let promises = self.durable.ledger.open().on_branch.clone();
        for OnBranch {
            marker,
            repo,
            package,
        } in promises
        {
            let seen = self.seen_as(&repo)?;
            let head = seen.refs.get(&people::main()).copied();
            let head = head.ok_or_else(|| Violation(format!("I6: {repo} has no branch")))?;
            if carries(&seen.snapshot(head, &package)?, &marker) {
                continue;
            }
            let of_it =
                |r: &&Revision| r.repository.as_str() == repo && r.package.as_str() == package;
            let named = |r: &Revision| r.conflicts.iter().any(|c| names(c, &marker));
            // Tagged, it is published: who goes back to an older revision replaces it knowingly.
            let tagged = format!("refs/tags/{package}/");
            let mut published = false;
            for (name, at) in seen.refs.iter() {
                let of_it = name.as_str().starts_with(&tagged);
                published |= of_it && carries(&seen.snapshot(*at, &package)?, &marker);
            }
            if !published && !self.records().iter().filter(of_it).any(named) {
                return broken(format!(
                    "I10: the branch of {repo} has lost {marker} of {package}"
                ));
            }
        }
        Ok(())
    }
}
