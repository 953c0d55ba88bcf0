//! What came of one verb on one of many revisions.

use std::sync::Arc;

use model::Revision;
use plan::revision::RejectionReason;

/// What came of a wish.
#[derive(Debug, Clone)]
pub enum Acted {
    /// It was carried out (or would be, in a dry run); the revision as it is now, if there still is one.
    Done(Option<Arc<Revision>>),
    /// It was so already.
    Already,
    /// The verb is not for this revision; why, and in words.
    Skipped(RejectionReason, String),
}
