//! What tags say at once, whatever the records know. This never makes a record of it.

use std::sync::Arc;

use model::{CommitId, PackageName, Revision, RevisionNumber, WorkspaceName};

use super::survey;
use crate::Result;
use crate::git::RefKind;
use crate::repos::OpenRepository;

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
