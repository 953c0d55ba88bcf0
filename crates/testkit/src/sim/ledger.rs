//! What was promised: every write that somebody was told is done. Never asks the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{CommitId, ObjectKey, RevisionNumber, TreeId, Uid};
use store::RefName;
use tokio::time::Instant;

use super::fixtures::TENANT;
use super::reached::Rolled;

/// How long ago the last look before a deletion may be.
const LAST_LOOK: Duration = Duration::from_millis(50);

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

/// An edit that a person made on the branch itself.
#[derive(Debug, Clone)]
pub(super) struct OnBranch {
    /// Names the edit.
    pub(super) marker: String,
    /// The repository.
    pub(super) repo: String,
    /// The package.
    pub(super) package: String,
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
    /// Edits on the branch itself.
    pub(super) on_branch: Vec<OnBranch>,
    /// Labels on records.
    pub(super) labels: Vec<Label>,
    /// Approvals.
    pub(super) published: BTreeMap<ObjectKey, Published>,
    /// Revisions that a person made by hand.
    pub(super) made: Vec<ObjectKey>,
    /// What the set selects, as `repository/package`, and since when.
    wanted: BTreeMap<String, Instant>,
    /// Hosts that were made while the writer of a variant might not read them.
    pub(super) rights: BTreeMap<ObjectKey, BTreeSet<String>>,
    /// Variants whose writer might not read at some time: their packages may lack what is injected.
    pub(super) denied: BTreeSet<ObjectKey>,
    /// Repositories that others stand in the place of: a label of theirs may be of a record that has to go.
    replaced: BTreeSet<String>,
    /// Whether records of the second namespace went with their registration: nothing is promised of them.
    pub(super) fleeting: bool,
    /// What is known of the rollouts of a set, in worlds that have one.
    pub(super) rolled: Option<Rolled>,
    /// When people proposed by git beside an open draft, by address and ref.
    pub(super) proposed: BTreeMap<(String, String), Instant>,
    /// When an older copy of a repository brought open drafts back, by address and ref.
    pub(super) brought_back: BTreeMap<(String, String), Instant>,
    /// Packages of which a person marked something for deletion by git, as `repository/package`.
    pub(super) marked: BTreeSet<String>,
    /// Since when the first namespace lacks the mark that lets its sets select what lies in no namespace (S5).
    pub(super) unmarked: Option<Instant>,
    /// What was done and should not have been.
    pub(super) wrong: Vec<String>,
    /// Where each tag stood when it was first seen.
    tags: BTreeMap<String, CommitId>,
    /// The highest number of each package.
    numbers: BTreeMap<String, i64>,
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

    /// Notes what the set selects from now on.
    pub(super) fn want(&mut self, all: &BTreeSet<String>) {
        self.wanted.retain(|place, _| all.contains(place));
        for place in all {
            let now = Instant::now();
            self.wanted.entry(place.clone()).or_insert(now);
        }
    }

    /// Since when the set selects a place.
    pub(super) fn wanted_since(&self, place: &str) -> Option<Instant> {
        self.wanted.get(place).copied()
    }

    /// The places that are wanted for as long as this.
    pub(super) fn wanted_for(&self, long: Duration) -> impl Iterator<Item = &String> {
        let old = self
            .wanted
            .iter()
            .filter(move |(_, at)| at.elapsed() > long);
        old.map(|(place, _)| place)
    }

    /// Notes that a variant of the set is deleted: never one that is selected, and was when whoever
    /// does it last looked.
    pub(super) fn deletes(&mut self, place: &str) {
        let since = self.wanted.get(place);
        if since.is_some_and(|since| since.elapsed() > LAST_LOOK) {
            let what = format!("S2: the variant of {place} was deleted, and is still selected");
            self.wrong.push(what);
        }
    }

    /// Notes a tag that stands; a tag never moves, and numbers only grow (I4).
    ///
    /// # Errors
    /// It moved, or its number was used or passed over before.
    pub(super) fn see_tag(&mut self, url: &str, tag: &str, at: CommitId) -> Result<(), String> {
        let name = format!("{url} {tag}");
        match self.tags.get(&name) {
            Some(before) if *before == at => return Ok(()),
            Some(before) => return Err(format!("I4: {name} moved from {before} to {at}")),
            None => {}
        }
        self.tags.insert(name.clone(), at);
        let Some((package, number)) = name.rsplit_once("/v") else {
            return Ok(());
        };
        let Ok(number) = number.parse::<i64>() else {
            return Ok(());
        };
        let highest = self.numbers.entry(package.to_owned()).or_insert(0);
        if number <= *highest {
            return Err(format!("I4: {name} comes after v{highest}"));
        }
        *highest = number;
        Ok(())
    }

    /// Whether an older copy of its repository brought an open draft back.
    pub(super) fn is_brought_back(&self, url: &str, name: &RefName) -> bool {
        let of = (url.to_owned(), name.to_string());
        self.brought_back.contains_key(&of)
    }

    /// Nothing is promised any more about what a variant made of a package: it was told to go.
    pub(super) fn forget_package(&mut self, package: &str) {
        self.edits.retain(|e| e.package != package);
        self.gone.insert(package.to_owned());
    }

    /// Notes a host that may be injected in a namespace: whoever may not read now never reads this one, until they may.
    pub(super) fn made_host(&mut self, namespace: &str, host: &str) {
        for (variant, hidden) in &mut self.rights {
            if variant.namespace.as_str() == namespace {
                hidden.insert(host.to_owned());
            }
        }
    }

    /// Nothing is promised any more about an open revision: a person took its ref away, or back.
    pub(super) fn forget_revision(&mut self, key: &ObjectKey) {
        self.edits.retain(|e| e.revision.name != key.name);
        self.labels.retain(|l| l.record.name != key.name);
        self.made.retain(|made| made.name != key.name);
    }

    /// Nothing is promised any more about what was in a repository.
    pub(super) fn forget_repository(&mut self, name: &str, url: &str) {
        let within = format!("{name}/");
        let of_it = format!("{name}.");
        let named = |key: &ObjectKey| key.name.as_str().starts_with(&of_it);
        self.edits.retain(|e| !e.package.starts_with(&within));
        self.labels.retain(|l| !named(&l.record));
        self.published.retain(|key, _| !named(key));
        self.made.retain(|key| !named(key));
        self.on_branch.retain(|e| e.repo != name);
        let of_url = format!("{url} ");
        self.tags.retain(|tag, _| !tag.starts_with(&of_url));
        self.numbers.retain(|tag, _| !tag.starts_with(&of_url));
        self.replaced.insert(name.to_owned());
    }

    /// Nothing is promised about labels of a namespace.
    pub(super) fn forget_labels(&mut self, namespace: &str) {
        self.labels
            .retain(|l| l.record.namespace.as_str() != namespace);
    }

    /// Nothing is promised about labels of what a registration shows: its records go with it.
    pub(super) fn forget_labels_of(&mut self, repository: &str) {
        let of_it = format!("{repository}.");
        self.labels
            .retain(|l| !l.record.name.as_str().starts_with(&of_it));
        self.replaced.insert(repository.to_owned());
    }

    /// Promises a label, unless its record may go at any moment.
    pub(super) fn promise_label(&mut self, label: Label) {
        let name = label.record.name.as_str();
        let replaced = name
            .split('.')
            .next()
            .is_some_and(|r| self.replaced.contains(r));
        let fleeting = self.fleeting && label.record.namespace.as_str() == TENANT;
        if !replaced && !fleeting {
            self.labels.push(label);
        }
    }

    /// Promises an edit, unless the variant that made the draft may go at any moment.
    pub(super) fn promise(&mut self, edit: Edit) {
        let stays = ["deploy/shop", "edge/cafe", "deploy/kiosk"].contains(&edit.package.as_str());
        if (stays || self.rolled.is_some()) && !self.gone.contains(&edit.package) {
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
