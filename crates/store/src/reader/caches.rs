//! What the reader remembers of directories and histories.

use std::collections::BTreeMap;

use gix::ObjectId;

use crate::lru::SLOT;

/// Whether there are packages below a tree, looked at down to so many levels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Below {
    pub(super) any: bool,
    /// Whether something lies deeper than was looked.
    pub(super) cut: bool,
    pub(super) levels: usize,
}

/// Which commit of a first-parent history last changed which directory.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) head: Option<ObjectId>,
    /// The newest commit that changed a directory, with its place in the history.
    pub(super) changed: BTreeMap<String, (i64, ObjectId)>,
    /// Commits that changed too much to be listed: each is asked about a directory on its own.
    pub(super) wide: BTreeMap<i64, WalkedCommit>,
    /// The place of the newest commit, and of the next older one: places grow towards the past.
    pub(super) newest: i64,
    pub(super) oldest: i64,
    /// The next older commit to look at.
    pub(super) next: Option<ObjectId>,
    /// What the list costs, in bytes.
    pub(super) bytes: usize,
}

/// A commit with its first parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkedCommit {
    pub(super) commit: ObjectId,
    pub(super) parent: Option<ObjectId>,
}

impl Walked {
    pub(super) fn of(head: ObjectId) -> Self {
        Self {
            head: Some(head),
            next: Some(head),
            ..Self::default()
        }
    }

    /// Notes what a commit at a place changed; of two the newer one counts.
    pub(super) fn note(&mut self, place: i64, step: WalkedCommit, paths: Option<Vec<String>>) {
        let Some(paths) = paths else {
            self.wide.insert(place, step);
            return;
        };
        for path in paths {
            self.bytes += path.len() + SLOT;
            let newest = self.changed.entry(path).or_insert((place, step.commit));
            if place < newest.0 {
                *newest = (place, step.commit);
            }
        }
    }
}
