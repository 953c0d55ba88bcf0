//! Whether what the branch holds in a package's place is a package of its own. Reads the branch; never a record.

use model::{CommitId, PackageName, TreeId};
use plan::OffBranch;
use store::Dir;

use crate::repos::OpenRepository;
use crate::{Error, Result};

/// The branch's head, if there is a branch.
pub(crate) fn head_of(open: &OpenRepository) -> Result<Option<CommitId>> {
    match open.head() {
        Ok(head) => Ok(Some(head)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why what the branch holds in a package's place is no package of its own; nothing where it is one, or where it holds this.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn off_branch(
    open: &OpenRepository,
    package: &PackageName,
    expected: Option<TreeId>,
) -> Result<Option<OffBranch>> {
    let failed = |source| Error::Store {
        attempt: "read the branch",
        source,
    };
    let Some(head) = head_of(open)? else {
        return Ok(None);
    };
    let found = open.tree_at(head, package)?;
    if found == expected {
        return Ok(None);
    }
    let root = open.repo.commit(head).map_err(failed)?.tree;
    let is_package = |root, under: &Dir, at: &Dir| {
        let found = open.repo.package(root, under, at).map_err(failed)?;
        Ok::<_, Error>(found.is_some())
    };
    let under = open.layout.root();
    if is_package(root, under, &Dir::from(package))? {
        return Ok(None);
    }
    let path = package.as_str();
    let above = path
        .match_indices('/')
        .filter_map(|(end, _)| path.get(..end));
    for outer in above.filter_map(|path| PackageName::parse(path).ok()) {
        if is_package(root, under, &Dir::from(&outer))? {
            return Ok(Some(OffBranch::Within(outer)));
        }
    }
    let Some(tree) = found else {
        return Ok(Some(OffBranch::Gone));
    };
    let here = Dir::root();
    // A package of the whole repository lies above every other one, and none of them is served.
    Ok((!is_package(tree, &here, &here)?).then_some(OffBranch::NoKptfile))
}
