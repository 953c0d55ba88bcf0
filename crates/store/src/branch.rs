//! The branch that a repository is registered with: it exists, or it is made as Porch makes it.

use std::sync::Arc;

use model::{Files, PackagePath};

use crate::build::write_commit;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::writer::{Job, RepoWriter};
use crate::{Answer, CommitSpec, Content, Dir, Expect, RefEdit, RefName, RemoteSpec, Submission};

/// The message that Porch gives a branch's first commit.
const MESSAGE: &str = "Initial commit: Creating main branch";

impl<D: Disk> RepoWriter<D> {
    /// Whether the branch is there. What a mirror holds may be of before somebody made it, and nothing is fetched into what cannot be
    /// opened: so its remote is asked.
    async fn has(self: &Arc<Self>, name: &RefName, spec: &RemoteSpec) -> Result<bool> {
        let there = || Ok(self.reader().disk.view()?.get(name)?.is_some());
        if there()? || self.reader().disk.upstream().is_none() {
            return there();
        }
        let who = Arc::clone(&spec.credentials);
        self.enqueue(None, |answer| Job::Fetch(answer, who))
            .await??;
        there()
    }

    /// Whether a branch or tag that is there tells that the missing branch was there, too.
    fn was_there(&self, spec: &RemoteSpec) -> Result<bool> {
        let refs = self.reader().disk.list()?;
        let of_git = |name: &&RefName| {
            let name = name.as_str();
            name.starts_with("refs/heads/") || name.starts_with("refs/tags/")
        };
        Ok(refs.keys().filter(of_git).any(spec.branch_was_there))
    }

    pub(crate) async fn ensure_branch(self: &Arc<Self>, spec: &RemoteSpec) -> Result<()> {
        let Some(branch) = &spec.branch else {
            return Ok(());
        };
        let name = RefName::branch(branch).map_err(|e| Error::Nonsense {
            attempt: "open a branch",
            why: e.to_string(),
        })?;
        if self.has(&name, spec).await? {
            return Ok(());
        }
        let none = || Error::NoBranch {
            url: self.reader().url.clone(),
            branch: branch.clone(),
        };
        let Some(author) = spec
            .create_branch
            .as_ref()
            .filter(|_| self.reader().writable)
        else {
            return Err(none());
        };
        if self.was_there(spec)? {
            return Err(Error::BranchGone {
                url: self.reader().url.clone(),
                branch: branch.clone(),
            });
        }
        let readme = PackagePath::parse("README.md").map_err(|e| Error::Nonsense {
            attempt: "make a branch",
            why: e.to_string(),
        })?;
        let files = Files::from([(readme, model::File::text("# Packages\n"))]);
        let written = write_commit(
            self.reader(),
            &CommitSpec {
                base: None,
                dir: &Dir::root(),
                content: Content::Files(&files, &[]),
                parents: &[],
                author,
                committer: author,
                message: MESSAGE,
            },
        )?;
        let create = RefEdit {
            expect: Expect::Absent,
            ..RefEdit::create(name, written.commit())
        };
        let submission = Submission {
            written: vec![written],
            refs: vec![create],
            ..Submission::default()
        };
        match self
            .enqueue(None, |answer| {
                Job::Submit(Box::new(submission), answer, Arc::clone(&spec.credentials))
            })
            .await??
        {
            Answer::Published(_) => Ok(()),
            // Somebody else made it first: it exists.
            Answer::Refused(r) if r.class() == model::Class::Conflict => Ok(()),
            Answer::Refused(refusal) => {
                tracing::warn!(url = self.reader().url, %refusal, "the branch could not be made");
                Err(none())
            }
            Answer::Pending(_) => Err(self.publisher.unreachable("make a branch at")),
        }
    }
}
