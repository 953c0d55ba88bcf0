//! The tag that stands at a commit. This never makes a record of it.

use model::{CommitId, PackageName, RevisionNumber, WorkspaceName};

use crate::Result;
use crate::git::RefKind;
use crate::repos::Open;

/// The tag of a package at a commit; where there are several, that of the highest number.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn tag_at(
    open: &Open,
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
