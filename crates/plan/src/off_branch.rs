//! What the branch holds in the place of a published package, where that is no package of its own: whatever is drafted of it
//! cannot be approved before somebody puts back, in git, what was published.

use model::{PackageName, Revision};

/// Why what the branch holds in a package's place is no package of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OffBranch {
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
            Self::Gone => "DirectoryGone",
            Self::NoKptfile => "NoKptfile",
            Self::Within(_) => "WithinAnotherPackage",
        }
    }

    /// What is so.
    pub fn what(&self, package: &PackageName, branch: &str) -> String {
        match self {
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

/// What a person does about it: the branch is to hold what was published last.
pub fn put_back(published: &Revision) -> String {
    let name = &published.key.name;
    match &published.self_lock {
        Some(lock) if !published.placeholder => format!(
            "put back, in git, what was published as '{name}': `git checkout {} -- {}` on the branch, commit and push",
            lock.git_ref, lock.directory
        ),
        _ => format!("put back, in git, what was published as '{name}'"),
    }
}
