//! What was promised: every write that somebody was told is done. Never asks the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{ObjectKey, RevisionNumber, TreeId, Uid};

/// An edit of a person that was acknowledged: by the engine, or by git.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// Names the edit: the key of an annotation that nobody else writes.
    pub(super) marker: String,
    /// The package, as `repository/package`.
    pub(super) package: String,
    /// The revision that was edited.
    pub(super) revision: ObjectKey,
}

/// A label that was put on a record. It is promised as long as that object lives: one that is made
/// under the same name later has another uid.
#[derive(Debug, Clone)]
pub(super) struct Label {
    /// The record.
    pub(super) record: ObjectKey,
    /// Its uid.
    pub(super) uid: Option<Uid>,
    /// The label; its value is `yes`.
    pub(super) label: String,
}

/// A published revision that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Published {
    /// Its number, for good (I4).
    pub(super) number: RevisionNumber,
    /// Its content, for good.
    pub(super) tree: TreeId,
}

/// Everything that was promised.
#[derive(Debug, Default)]
pub(super) struct Promises {
    /// Edits.
    pub(super) edits: Vec<Edit>,
    /// Labels on records.
    pub(super) labels: Vec<Label>,
    /// Approvals.
    pub(super) published: BTreeMap<ObjectKey, Published>,
    /// Revisions that a person made by hand.
    pub(super) made: Vec<ObjectKey>,
    /// Writes of a repository's status that only say when it was last asked.
    pub(super) sync_notes: u64,
    /// Packages whose variant was told to go.
    gone: BTreeSet<String>,
    /// Counts names.
    count: u64,
}

impl Promises {
    /// A name that was not used before.
    pub(super) fn fresh(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}-{}", self.count)
    }

    /// Nothing is promised any more about what a variant made of a package: it was told to go.
    pub(super) fn forget_package(&mut self, package: &str) {
        self.edits.retain(|e| e.package != package);
        self.gone.insert(package.to_owned());
    }

    /// Promises an edit, unless the variant that made the draft may go at any moment.
    pub(super) fn promise(&mut self, edit: Edit) {
        let stays = ["deploy/shop", "edge/cafe"].contains(&edit.package.as_str());
        if stays && !self.gone.contains(&edit.package) {
            self.edits.push(edit);
        }
    }
}

/// The promises, shared by everybody who makes some.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Promises>>);

impl Ledger {
    /// Looks at them, or adds one.
    pub(super) fn open(&self) -> MutexGuard<'_, Promises> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
