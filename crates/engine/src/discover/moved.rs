//! Tags that somebody moved or deleted past us: what was published under a number is no longer what was approved.

use std::sync::Arc;

use model::Revision;

use super::{View, is_tagged};
use crate::discover::tag_of;
use crate::git::RefKind;

/// A tag that is not where its record says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moved {
    /// The reason of the event.
    pub(super) reason: &'static str,
    /// What happened, for people.
    pub(super) message: String,
}

/// The tags of a package that are not where the records of its published revisions say. Our own approvals and deletions are
/// recorded before anybody looks here: what differs, somebody else did.
pub(super) fn moved(view: &View, known: &[Arc<Revision>]) -> Vec<Moved> {
    let published =
        |r: &&Arc<Revision>| r.lifecycle.is_published() && !r.placeholder && !r.meta.is_deleting();
    known
        .iter()
        .filter(published)
        .filter_map(|r| one(view, r))
        .collect()
}

fn one(view: &View, record: &Revision) -> Option<Moved> {
    let mine = |kind: &RefKind| matches!(kind, RefKind::Tag(package, tag) if *package == record.package && is_tagged(record, tag));
    let now = view.kinds.values().find(|(kind, _)| mine(kind));
    let (name, tag) = (
        &record.key.name,
        format!("{}/{}", record.package, tag_of(record)),
    );
    match now {
        Some((_, commit)) if *commit == record.commit => None,
        Some((_, commit)) => Some(Moved {
            reason: "TagMoved",
            message: format!(
                "tag {tag} of {name} was moved in git from {} to {commit}: its content is not what was approved",
                record.commit
            ),
        }),
        // A ref that leads nowhere is told as a problem of the repository.
        None if !view.broken.is_empty() => None,
        None => Some(Moved {
            reason: "TagDeleted",
            message: format!(
                "tag {tag} of {name} was deleted in git, where it was at {}: it is no longer published",
                record.commit
            ),
        }),
    }
}
