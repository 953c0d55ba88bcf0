//! Which of several tags of a package on one commit tells its number. Reads commits that such tags are on, and no others.

use std::collections::BTreeMap;

use model::{CommitId, PackageName, RevisionNumber, WorkspaceName};

use super::approval;
use crate::repos::OpenRepository;
use crate::{Error, Result};

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
