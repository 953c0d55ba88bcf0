//! Names of refs and directories.

use model::{PackageName, Repository, RevisionNumber, WorkspaceName};
use store::{Dir, RefName};

use crate::{Error, Result};

/// How one registered repository lays out its packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    dir: Dir,
    branch: String,
}

/// What a ref is to a registered repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RefKind {
    /// The branch that packages are published on.
    Branch,
    /// `drafts/<dir>/<package>/<workspace>`
    Draft(PackageName, WorkspaceName),
    /// `proposed/<dir>/<package>/<workspace>`
    Proposed(PackageName, WorkspaceName),
    /// `<dir>/<package>/<tag>`; the last segment obeys a workspace's law.
    Tag(PackageName, WorkspaceName),
    /// `deletionProposed/<dir>/<package>/<tag or branch>`
    DeletionProposed(PackageName, WorkspaceName),
}

impl RefKind {
    /// The package that a ref is of.
    pub(crate) fn package(&self) -> Option<&PackageName> {
        match self {
            Self::Branch => None,
            Self::Draft(package, _)
            | Self::Proposed(package, _)
            | Self::Tag(package, _)
            | Self::DeletionProposed(package, _) => Some(package),
        }
    }
}

impl Layout {
    /// Of a registered repository.
    ///
    /// # Errors
    /// A directory that is no clean path.
    pub(crate) fn of(repository: &Repository) -> Result<Self> {
        let dir = Dir::parse(&repository.git.directory).map_err(|e| {
            Error::refused(model::Class::Invalid, "spec.git.directory", e.to_string())
        })?;
        Ok(Self {
            dir,
            branch: repository.git.branch.clone(),
        })
    }

    /// The directory that packages lie below.
    pub(crate) fn root(&self) -> &Dir {
        &self.dir
    }

    /// The package's directory in the repository.
    pub(crate) fn dir(&self, package: &PackageName) -> Dir {
        self.dir.join(&Dir::from(package))
    }

    /// The branch's short name.
    pub(crate) fn branch(&self) -> &str {
        &self.branch
    }

    /// The branch.
    pub(crate) fn branch_ref(&self) -> Result<RefName> {
        named(RefName::branch(&self.branch))
    }

    /// The ref of a draft.
    pub(crate) fn draft(&self, package: &PackageName, ws: &WorkspaceName) -> Result<RefName> {
        named(RefName::branch(&format!(
            "drafts/{}/{ws}",
            self.dir(package)
        )))
    }

    /// The ref of a proposed revision.
    pub(crate) fn proposed(&self, package: &PackageName, ws: &WorkspaceName) -> Result<RefName> {
        named(RefName::branch(&format!(
            "proposed/{}/{ws}",
            self.dir(package)
        )))
    }

    /// A published revision's tag by its last segment.
    pub(crate) fn tag(&self, package: &PackageName, tag: &str) -> Result<RefName> {
        named(RefName::tag(&format!("{}/{tag}", self.dir(package))))
    }

    /// The ref that marks a published revision (by its tag) or a branch head (by the branch) for
    /// deletion.
    pub(crate) fn deletion(&self, package: &PackageName, what: &str) -> Result<RefName> {
        named(RefName::branch(&format!(
            "deletionProposed/{}/{what}",
            self.dir(package)
        )))
    }

    /// The last segment of a number's tag.
    pub(crate) fn tag_of(number: RevisionNumber) -> String {
        format!("v{number}")
    }

    /// What a ref is to this repository; `None` for one that means nothing here.
    ///
    /// # Errors
    /// A ref that stands where packages have theirs, with a name that cannot be served (A5: said
    /// on the Repository).
    pub(crate) fn read(&self, name: &RefName) -> Result<Option<RefKind>, String> {
        if let Some(short) = name.as_str().strip_prefix("refs/tags/") {
            return self.split(short, RefKind::Tag);
        }
        let Some(short) = name.as_str().strip_prefix("refs/heads/") else {
            return Ok(None);
        };
        if short == self.branch {
            return Ok(Some(RefKind::Branch));
        }
        if let Some(rest) = short.strip_prefix("drafts/") {
            return self.split(rest, RefKind::Draft);
        }
        if let Some(rest) = short.strip_prefix("proposed/") {
            return self.split(rest, RefKind::Proposed);
        }
        if let Some(rest) = short.strip_prefix("deletionProposed/") {
            return self.split(rest, RefKind::DeletionProposed);
        }
        Ok(None)
    }

    fn split(
        &self,
        path: &str,
        kind: fn(PackageName, WorkspaceName) -> RefKind,
    ) -> Result<Option<RefKind>, String> {
        let Some((dir, last)) = path.rsplit_once('/') else {
            return Ok(None);
        };
        let Some(below) = Dir::parse(dir).ok().and_then(|d| d.below(&self.dir)) else {
            return Ok(None);
        };
        if below.is_root() {
            return Ok(None);
        }
        let package = PackageName::parse(below.as_str()).map_err(|e| e.to_string())?;
        let last = WorkspaceName::parse(last).map_err(|e| e.to_string())?;
        Ok(Some(kind(package, last)))
    }
}

fn named(name: Result<RefName, store::RefNameError>) -> Result<RefName> {
    name.map_err(|e| Error::refused(model::Class::Invalid, "spec.workspaceName", e.to_string()))
}
