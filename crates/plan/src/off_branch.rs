//! What the branch holds in the place of a published package, where that is no package of its own, or knows nothing of what was
//! published: whatever is drafted of it cannot be approved before somebody puts that on the branch, in git.

use model::{ObjectName, PackageName, Revision};

/// Why what the branch holds in a package's place does not stem from what was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OffBranch {
    /// A tag publishes this revision on a commit that the branch does not lead to, and the branch holds something else.
    NotMerged(ObjectName),
    /// There is no such directory.
    Gone,
    /// The directory holds no Kptfile.
    NoKptfile,
    /// It lies within this package, and something else stands there than was published.
    Within(PackageName),
}

impl OffBranch {
    /// The reason of a condition.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::NotMerged(_) => "NotMerged",
            Self::Gone => "DirectoryGone",
            Self::NoKptfile => "NoKptfile",
            Self::Within(_) => "WithinAnotherPackage",
        }
    }

    /// What is so.
    pub fn what(&self, package: &PackageName, branch: &str) -> String {
        match self {
            Self::NotMerged(published) => format!(
                "'{published}' is published by a tag on a commit that branch '{branch}' does not lead to, and the branch holds another state of package '{package}'"
            ),
            Self::Gone => {
                format!("branch '{branch}' holds no directory of package '{package}' any more")
            }
            Self::NoKptfile => {
                format!(
                    "branch '{branch}' holds a directory without a Kptfile as package '{package}'"
                )
            }
            Self::Within(outer) => format!(
                "branch '{branch}' holds package '{package}' within package '{outer}', otherwise than it was published"
            ),
        }
    }
}

impl OffBranch {
    /// What a person does about it, by what was published last.
    pub fn way_out(&self, published: &Revision) -> String {
        let lock = published.self_lock.as_ref();
        match (self, lock.filter(|_| !published.placeholder)) {
            (Self::NotMerged(_), Some(lock)) => format!(
                "merge it, in git: `git merge {}` on the branch, and push; or delete the tag, if it is not to be published",
                lock.git_ref
            ),
            // What people committed to it past the tag went with it.
            (Self::Gone, Some(lock)) => format!(
                "{}; what was committed to it since is not in that: `git log {}.. -- {}` on the branch lists it",
                put_back(published),
                lock.git_ref,
                lock.directory
            ),
            _ => put_back(published),
        }
    }
}

/// What a person does about it: the branch is to hold what was published last.
fn put_back(published: &Revision) -> String {
    let name = &published.key.name;
    match &published.self_lock {
        Some(lock) if !published.placeholder => format!(
            "put back, in git, what was published as '{name}': `git checkout {} -- {}` on the branch, commit and push",
            lock.git_ref, lock.directory
        ),
        _ => format!("put back, in git, what was published as '{name}'"),
    }
}
