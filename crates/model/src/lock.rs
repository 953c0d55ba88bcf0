//! Where a package's content comes from: the upstream reference and lock of a Kptfile.

use crate::CommitId;

/// A Kptfile's `upstream.git`: what is wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitUpstream {
    /// The repository's URL.
    pub repo: String,
    /// The package's directory in the repository, without a leading slash.
    pub directory: String,
    /// The short ref, such as `app/v1`.
    pub git_ref: String,
}

impl GitUpstream {
    /// Whether a lock says that just this was taken, whoever wrote either.
    pub fn is_of(&self, lock: &GitLock) -> bool {
        (normal_repo(&self.repo), self.directory.trim_matches('/')) == lock.place()
            && self.git_ref == lock.git_ref
    }
}

/// A Kptfile's `upstreamLock.git`, or a revision's `selfLock`: what was taken.
///
/// Up to date means equal in (repo, directory, commit); the ref is for display (V1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GitLock {
    /// The repository's URL.
    pub repo: String,
    /// The package's directory in the repository, without a leading slash.
    pub directory: String,
    /// The short ref, such as `app/v1` or `drafts/app/ws`.
    pub git_ref: String,
    /// The commit; `None` where a foreign tool left it out.
    pub commit: Option<CommitId>,
}

impl GitLock {
    /// Whether both name the same content (V1). Unknown commits are never the same.
    pub fn same_content(&self, other: &Self) -> bool {
        self.commit.is_some() && self.place() == other.place() && self.commit == other.commit
    }

    /// The repository and directory in one spelling, whoever wrote the lock.
    pub fn place(&self) -> (&str, &str) {
        (normal_repo(&self.repo), self.directory.trim_matches('/'))
    }
}

/// Porch forces `.git` onto locks that clones write and leaves it off elsewhere.
fn normal_repo(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix(".git").unwrap_or(url)
}
