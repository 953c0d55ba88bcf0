//! Reading the world as everybody sees it. What cannot be read is a violation: a check that leaves it out
//! would hold for a world in which nothing can be read.

use std::sync::Arc;

use model::{CommitId, Conflict, Files, ObjectKey, Revision};
use store::{RefName, Refs, Repo, Snapshot};

use super::Violation;
use super::fixtures::{EDITED, NS, TARGETS, is_again, is_marked, path};
use super::people;
use super::world::World;

/// A repository as it stands now.
pub(super) struct Seen {
    pub(super) url: String,
    pub(super) repo: Arc<dyn Repo>,
    pub(super) refs: Arc<Refs>,
}

impl Seen {
    /// Whether one commit leads to another.
    ///
    /// # Errors
    /// A commit between them cannot be read.
    pub(super) fn leads(&self, ancestor: CommitId, of: CommitId) -> Result<bool, Violation> {
        let leads = self.repo.is_ancestor(ancestor, of);
        leads.map_err(|e| self.unreadable(&format!("whether {ancestor} leads to {of}"), e))
    }

    /// Where a branch stands.
    ///
    /// # Errors
    /// A text that is no name.
    pub(super) fn branch(&self, short: &str) -> Result<Option<CommitId>, Violation> {
        let name = RefName::branch(short).map_err(|e| self.unreadable(short, e))?;
        Ok(self.refs.get(&name).copied())
    }

    /// The files of a package at a commit.
    ///
    /// # Errors
    /// They cannot be read, or there are none.
    pub(super) fn files(&self, at: CommitId, dir: &str) -> Result<Files, Violation> {
        self.snapshot(at, dir).map(|found| found.files.clone())
    }

    /// All that a package holds at a commit.
    ///
    /// # Errors
    /// As [`Self::files`].
    pub(super) fn snapshot(&self, at: CommitId, dir: &str) -> Result<Arc<Snapshot>, Violation> {
        people::snapshot(&*self.repo, at, dir)
            .map_err(|why| self.unreadable(&format!("{dir} at {at}"), why))
    }

    fn unreadable(&self, what: &str, why: impl std::fmt::Display) -> Violation {
        Violation(format!("I6: {what} of {} cannot be read: {why}", self.url))
    }
}

/// Whether a package holds what a person put there: an annotation in the edited file, or a link.
pub(super) fn carries(package: &Arc<Snapshot>, marker: &str) -> bool {
    let file = package
        .files
        .get(&path(EDITED))
        .and_then(model::File::as_text);
    file.is_some_and(|text| is_marked(text, marker))
        || package.opaque.iter().any(|o| o.path == marker.as_bytes())
}

/// Whether a conflict names it.
pub(super) fn names(conflict: &Conflict, marker: &str) -> bool {
    let whole = conflict.path.is_empty() || conflict.path.contains(marker);
    conflict.file.as_str() == marker || (conflict.file == path(EDITED) && whole)
}

impl World {
    /// A repository as it stands now.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn seen(&self, url: &str) -> Result<Seen, Violation> {
        let fail = |e: store::Error| Violation(format!("I6: {url} cannot be read: {e}"));
        let repo = self.durable.store.outside(url).map_err(fail)?;
        let refs = repo.refs().map_err(fail)?;
        Ok(Seen {
            url: url.to_owned(),
            repo,
            refs,
        })
    }

    /// The repository of a registration.
    ///
    /// # Errors
    /// Nobody registered it, or it cannot be read.
    pub(super) fn seen_as(&self, repository: &str) -> Result<Seen, Violation> {
        let target = TARGETS.iter().find(|(name, _)| *name == repository);
        let (_, url) =
            target.ok_or_else(|| Violation(format!("nobody registered {repository}")))?;
        self.seen(url)
    }

    /// The files of a revision.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn files(&self, revision: &Revision) -> Result<Files, Violation> {
        self.snapshot(revision).map(|found| found.files.clone())
    }

    /// All that a revision holds.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn snapshot(&self, revision: &Revision) -> Result<Arc<Snapshot>, Violation> {
        let seen = self.seen_as(revision.repository.as_str())?;
        seen.snapshot(revision.commit, revision.package.as_str())
    }

    /// The records of the first namespace that stand for revisions, each once.
    pub(super) fn records(&self) -> Vec<Revision> {
        let mut all = self.durable.twin.revisions();
        all.retain(|r| !r.placeholder && r.key.namespace.as_str() == NS && !is_again(r));
        all
    }

    /// A record.
    pub(super) fn record(&self, key: &ObjectKey) -> Option<Revision> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        self.durable.twin.revision(namespace, name)
    }
}
