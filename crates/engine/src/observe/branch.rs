//! Whether the branch really differs from what is published. An approval moves branch and tag at once, but its records are
//! written and heard of one after another: who looks in between sees a new tag beside an old branch, or the reverse, which
//! would pass for work of somebody's own. Where records say that they differ, git is asked.

use std::sync::Arc;

use model::Revision;
use plan::variant::base_of;

use crate::discover::is_approved_already;
use crate::repos::OpenRepository;
use crate::{Error, Result};

/// Brings the record of the branch in line with git where an approval is not wholly recorded.
///
/// # Errors
/// `Conflict` where git has approved a revision that its record still shows as open; git cannot be read.
pub(super) fn agree(open: &OpenRepository, revisions: &mut [Arc<Revision>]) -> Result<()> {
    let Some(choice) = base_of(revisions).filter(|choice| choice.from_branch) else {
        return Ok(());
    };
    let published = choice.revision;
    let head = match open.head() {
        Ok(head) => head,
        // What is gone altogether is the next look's to find out.
        Err(Error::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    if open.tree_at(head, &published.package)? == Some(published.tree) {
        for record in revisions.iter_mut().filter(|r| r.placeholder) {
            let mut now = Revision::clone(record);
            (now.tree, now.commit) = (published.tree, published.commit);
            *record = Arc::new(now);
        }
        return Ok(());
    }
    if is_approved_already(open, &published.package, revisions)? {
        let what = format!("an approval of {} is being recorded", published.package);
        return Err(Error::conflict(what));
    }
    Ok(())
}
