//! What tags say at once, whatever the records know. This never makes a record of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{CommitId, PackageName, Revision, RevisionNumber, WorkspaceName};

use super::{approval, survey};
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

/// Whether a tag gives a package a number, wherever it leads. One that cannot be read is taken for such a tag.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn is_numbered(open: &OpenRepository, package: &PackageName) -> Result<bool> {
    let view = super::package_view(open, package)?;
    let numbers = |kind: &RefKind| matches!(kind, RefKind::Tag(of, tag) if of == package && RevisionNumber::of_tag(tag.as_str()).is_numbered());
    let mut kinds = view.kinds.values().map(|(kind, _)| kind);
    let mut broken = view.broken.keys();
    Ok(kinds.any(numbers)
        || broken.any(|name| matches!(open.layout.read(name), Ok(Some(kind)) if numbers(&kind))))
}

/// Puts the tags of a package in the order in which their revisions are served. An approval has one name, also where several
/// tags are on it: its own number goes first, then other numbers.
///
/// # Errors
/// Git cannot be read.
pub(super) fn own_first(
    open: &OpenRepository,
    package: &PackageName,
    tags: &mut [(WorkspaceName, CommitId)],
) -> Result<()> {
    let mut count: BTreeMap<CommitId, usize> = BTreeMap::new();
    for (_, commit) in tags.iter() {
        *count.entry(*commit).or_default() += 1;
    }
    let dir = open.layout.dir(package);
    let mut own: BTreeMap<CommitId, RevisionNumber> = BTreeMap::new();
    for (commit, _) in count.into_iter().filter(|(_, count)| *count > 1) {
        let found = open.repo.commit(commit).map_err(|source| Error::Store {
            attempt: "read a tag",
            source,
        })?;
        if let Some((_, number)) = approval(open, &dir, &found.message) {
            own.insert(commit, RevisionNumber(number));
        }
    }
    tags.sort_by_key(|(tag, commit)| {
        let number = RevisionNumber::of_tag(tag.as_str());
        let of_approval = own.get(commit);
        let other = of_approval.is_some_and(|own| *own != number);
        (other, of_approval.is_some() && !number.is_numbered())
    });
    Ok(())
}
