//! What tags say at once, whatever the records know. This never makes a record of it.

use std::sync::Arc;

use model::{CommitId, PackageName, Revision, RevisionNumber, WorkspaceName};
use store::{Dir, RefName};

use super::survey;
use crate::git::RefKind;
use crate::repos::OpenRepository;
use crate::{Error, Result};

/// The tag of a package at a commit; where there are several, that of the highest number.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn tag_at(
    open: &OpenRepository,
    package: &PackageName,
    commit: CommitId,
) -> Result<Option<WorkspaceName>> {
    let view = super::package_view(open, package)?;
    let tags = view
        .kinds
        .into_values()
        .filter_map(|(kind, at)| match kind {
            RefKind::Tag(_, tag) if at == commit => Some(tag),
            _ => None,
        });
    Ok(tags.max_by_key(|tag| RevisionNumber::of_tag(tag.as_str())))
}

/// Whether a tag approves a revision of which these records say that it is open: the look that tells is still to come, or
/// the approval is just being recorded.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn is_approved_already(
    open: &OpenRepository,
    package: &PackageName,
    records: &[Arc<Revision>],
) -> Result<bool> {
    let view = super::package_view(open, package)?;
    let mut still_open = records.iter().filter(|r| !r.lifecycle.is_published());
    Ok(still_open.any(|r| survey::approved(open, &view, &r.workspace, r.commit)))
}

/// Whether a tag gives a package a number and leads to it, whether or not a record tells of that. One whose commit is not here is
/// taken for such a tag.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn is_published(open: &OpenRepository, package: &PackageName) -> Result<bool> {
    let view = super::package_view(open, package)?;
    for (kind, commit) in view.kinds.into_values() {
        if let RefKind::Tag(_, tag) = kind
            && RevisionNumber::of_tag(tag.as_str()).is_numbered()
            && holds(open, package, commit)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds(open: &OpenRepository, package: &PackageName, commit: CommitId) -> Result<bool> {
    let failed = |source| Error::Store {
        attempt: "read what a tag publishes",
        source,
    };
    if !open.repo.has_commit(commit).map_err(failed)? {
        return Ok(true);
    }
    let Some(tree) = open.tree_at(commit, package)? else {
        return Ok(false);
    };
    let here = Dir::root();
    let found = open.repo.package(tree, &here, &here).map_err(failed)?;
    Ok(found.is_some())
}

/// The highest number that a tag gives a package, wherever it leads and whether or not a revision is served for it.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn highest_tag(open: &OpenRepository, package: &PackageName) -> Result<RevisionNumber> {
    let below = RefName::parse(&format!("refs/tags/{}", open.layout.dir(package)));
    let below: Vec<RefName> = below.into_iter().collect();
    let found = open.repo.refs_of(&below, &[]);
    let found = found.map_err(|source| Error::Store {
        attempt: "read the tags",
        source,
    })?;
    let number = |name: &RefName| match open.layout.read(name) {
        Ok(Some(RefKind::Tag(of, tag))) if of == *package => RevisionNumber::of_tag(tag.as_str()),
        _ => RevisionNumber::UNNUMBERED,
    };
    // What leads nowhere, or to no commit, has its name all the same.
    let broken = open.repo.broken_refs();
    let all = found.keys().chain(broken.keys()).map(number);
    Ok(all.max().unwrap_or(RevisionNumber::UNNUMBERED))
}
