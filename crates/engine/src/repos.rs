//! Registered repositories that are open, and what was seen of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use model::{CommitId, ObjectKey, PackageName, Repository, TreeId};
use store::{Beyond, Intent, IntentId, RefName, Snapshot};

use crate::error::BRANCH;
use crate::git::{Layout, RefKind};
use crate::{Error, Result};

/// A registered repository that is open.
pub(crate) struct OpenRepository {
    /// What it asks for.
    pub(crate) repository: Repository,
    /// Where things are in it.
    pub(crate) layout: Layout,
    /// The git repository.
    pub(crate) repo: Arc<dyn store::Repo>,
    /// What was seen of it at the last discovery.
    pub(crate) seen: Mutex<Seen>,
    /// Numbers that the branch's history gave.
    pub(crate) numbers: Mutex<Numbers>,
}

/// Numbers that the branch's history gave to packages, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Up to where.
    pub(crate) head: Option<CommitId>,
    /// By the package's path, as the trailer writes it.
    pub(crate) highest: BTreeMap<String, i64>,
}

/// What a discovery has seen: only what differs from it is looked at again.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// Refs of ours with their commits.
    pub(crate) refs: BTreeMap<RefName, CommitId>,
    /// Whether a discovery was finished.
    pub(crate) whole: bool,
    /// What of packages cannot be served, and why: it stays so until the package is looked into again.
    pub(crate) unserved: BTreeMap<PackageName, Vec<String>>,
    /// Which upkeep of the repository was last followed by a look for what is missing.
    pub(crate) tidied: Option<u64>,
    /// Packages that could not be read, to be tried again.
    pub(crate) again: BTreeSet<PackageName>,
    /// Packages to be looked into since the last discovery began: we moved a ref of one of which something is told, which may be so no
    /// more, or a record of it went.
    pub(crate) renewed: BTreeSet<PackageName>,
    /// What of the branch is beyond the limits.
    pub(crate) beyond: Vec<String>,
    /// Refs that we moved or took away since the last discovery began: what stands there later was not seen, wherever it leads.
    pub(crate) moved: BTreeSet<RefName>,
    /// The newest commit that we put on the branch since: who sets the branch back before anybody looks takes it away.
    pub(crate) made: Option<CommitId>,
}

impl OpenRepository {
    /// What the last discovery saw of it.
    pub(crate) fn last_seen(&self) -> Seen {
        lock(&self.seen).clone()
    }

    /// A discovery begins, before it reads the refs.
    pub(crate) fn begins_to_look(&self) {
        let mut seen = lock(&self.seen);
        seen.moved.clear();
        let renewed = std::mem::take(&mut seen.renewed);
        seen.again.extend(renewed);
    }

    /// We moved these refs, or took them away: who brings one back to where it was seen last is heard, too.
    pub(crate) fn has_moved(&self, names: Vec<RefName>) {
        let mut seen = lock(&self.seen);
        for name in &names {
            seen.refs.remove(name);
            let kind = self.layout.read(name).ok().flatten();
            let package = kind.as_ref().and_then(RefKind::package);
            let told = package.filter(|package| seen.unserved.contains_key(*package));
            seen.renewed.extend(told.cloned());
        }
        seen.moved.extend(names);
    }

    /// We put this commit on the branch.
    pub(crate) fn has_made(&self, commit: CommitId) {
        lock(&self.seen).made = Some(commit);
    }

    /// What a discovery has seen is what the next one compares with, but for what we moved meanwhile.
    pub(crate) fn has_looked(&self, mut now: Seen) {
        let mut seen = lock(&self.seen);
        now.tidied = seen.tidied;
        now.refs.retain(|name, _| !seen.moved.contains(name));
        now.moved = std::mem::take(&mut seen.moved);
        now.renewed = std::mem::take(&mut seen.renewed);
        now.made = seen.made.take().filter(|_| !now.moved.is_empty());
        *seen = now;
    }

    /// The namespace and name of the `Repository` object.
    pub(crate) fn key(&self) -> &ObjectKey {
        &self.repository.key
    }

    /// Whether it is a repository that can be written at all, or why not. Whether this registration may is
    /// [`Engine::writable`].
    pub(crate) fn bare(&self) -> Result<(), String> {
        if self.repo.writable() {
            return Ok(());
        }
        Err(
            "it has a working tree, so it serves as an upstream only; register a bare repository \
             (one whose files are gone is made bare by `git config core.bare true`, without core.worktree and the file index)"
                .to_owned(),
        )
    }

    /// The branch's head.
    ///
    /// # Errors
    /// The branch is not there.
    pub(crate) fn head(&self) -> Result<CommitId> {
        let branch = self.layout.branch_ref()?;
        let head = self.repo.find_ref(&branch).map_err(|source| Error::Store {
            attempt: "read the branch",
            source,
        })?;
        head.ok_or_else(|| Error::NotFound {
            what: BRANCH,
            name: self.layout.branch().to_owned(),
        })
    }

    /// The package's tree at a commit; `None` if the directory is not there.
    pub(crate) fn tree_at(
        &self,
        commit: CommitId,
        package: &PackageName,
    ) -> Result<Option<TreeId>> {
        let failed = |source| Error::Store {
            attempt: "read the package",
            source,
        };
        let root = self.repo.commit(commit).map_err(failed)?.tree;
        self.repo
            .subtree(root, &self.layout.dir(package))
            .map_err(failed)
    }

    /// A package's files by the id of its tree, without those that are beyond the limits.
    pub(crate) fn snapshot_within(&self, tree: TreeId) -> Result<(Arc<Snapshot>, Vec<Beyond>)> {
        self.repo
            .snapshot_within(tree)
            .map_err(|source| Error::Store {
                attempt: "read the package",
                source,
            })
    }

    /// A package's files by the id of its tree.
    pub(crate) fn snapshot(&self, tree: TreeId) -> Result<Arc<Snapshot>> {
        self.repo.snapshot(tree).map_err(|source| Error::Store {
            attempt: "read the package",
            source,
        })
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Repos {
    open: Mutex<BTreeMap<ObjectKey, Arc<OpenRepository>>>,
    /// The intents of the last process, and those of this one whose records could not be written, by URL, until each was
    /// looked at; none left is an empty set.
    recovered: Mutex<BTreeMap<String, BTreeSet<IntentId>>>,
    /// One opening at a time for each repository: a slow remote holds up its own callers alone. What nobody opens now takes no room.
    opening: Mutex<BTreeMap<ObjectKey, Weak<tokio::sync::Mutex<()>>>>,
    /// Repositories that are to be fetched although it is not time.
    hints: Mutex<BTreeSet<ObjectKey>>,
    /// When each remote is to be asked again, in Unix seconds: no object is written to remember a look that found
    /// nothing.
    polls: Mutex<BTreeMap<ObjectKey, i64>>,
}

impl Repos {
    /// The open repository of an object, if it is open with this very spec.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<OpenRepository>> {
        lock(&self.open).get(key).cloned()
    }

    /// Every open repository.
    pub(crate) fn all(&self) -> Vec<Arc<OpenRepository>> {
        lock(&self.open).values().map(Arc::clone).collect()
    }

    /// Takes a repository that is open somewhere else.
    pub(crate) fn take(&self, open: OpenRepository) -> Arc<OpenRepository> {
        let open = Arc::new(open);
        lock(&self.open).insert(open.key().clone(), Arc::clone(&open));
        open
    }

    /// One open repository of each URL.
    pub(crate) fn urls(&self) -> Vec<Arc<dyn store::Repo>> {
        let open = lock(&self.open);
        let by_url: BTreeMap<&str, &Arc<dyn store::Repo>> =
            open.values().map(|o| (o.repo.url(), &o.repo)).collect();
        by_url.into_values().map(Arc::clone).collect()
    }

    /// Waits until nobody else opens this repository.
    pub(crate) async fn turn(&self, key: &ObjectKey) -> tokio::sync::OwnedMutexGuard<()> {
        self.opening_of(key).lock_owned().await
    }

    fn opening_of(&self, key: &ObjectKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = lock(&self.opening);
        if let Some(turn) = opening.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        opening.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        opening.insert(key.clone(), Arc::downgrade(&turn));
        turn
    }

    /// Forgets a repository; nothing in git changes.
    pub(crate) fn close(&self, key: &ObjectKey) {
        lock(&self.open).remove(key);
        lock(&self.polls).remove(key);
    }

    /// How much is remembered of registrations and their addresses, by name.
    pub(crate) fn held(&self) -> Vec<(&'static str, usize)> {
        let left = lock(&self.recovered);
        let opening = lock(&self.opening);
        let opening = opening.values().filter(|turn| turn.strong_count() > 0);
        vec![
            ("open", lock(&self.open).len()),
            ("opening", opening.count()),
            ("hints", lock(&self.hints).len()),
            ("polls", lock(&self.polls).len()),
            ("journals", left.len()),
            ("left_intents", left.values().map(BTreeSet::len).sum()),
        ]
    }

    /// Whether it is time to ask a remote: always until this process did.
    pub(crate) fn is_due(&self, key: &ObjectKey, now: i64) -> bool {
        lock(&self.polls).get(key).is_none_or(|next| *next <= now)
    }

    /// When a remote is to be asked again, in Unix seconds; `None` until this process asked.
    pub(crate) fn next_poll(&self, key: &ObjectKey) -> Option<i64> {
        lock(&self.polls).get(key).copied()
    }

    /// Notes when a remote that was asked is to be asked again.
    pub(crate) fn polled(&self, key: &ObjectKey, next: i64) {
        lock(&self.polls).insert(key.clone(), next);
    }

    /// Whether everything in a repository was looked at, and nothing of ours is unrecorded since.
    pub(crate) fn is_seen(&self, key: &ObjectKey) -> bool {
        self.get(key).is_some_and(|open| lock(&open.seen).whole)
    }

    /// Notes that git may hold something of ours that no record tells of.
    pub(crate) fn unrecorded(&self, key: &ObjectKey) {
        if let Some(open) = self.get(key) {
            lock(&open.seen).whole = false;
        }
        self.look_again(key);
    }

    /// Notes that a package is to be looked into, whatever was seen of its refs.
    pub(crate) fn renew(&self, key: &ObjectKey, package: &PackageName) {
        if let Some(open) = self.get(key) {
            lock(&open.seen).renewed.insert(package.clone());
        }
    }

    /// Notes that somebody hinted at news.
    pub(crate) fn look_again(&self, key: &ObjectKey) {
        lock(&self.hints).insert(key.clone());
    }

    /// Whether somebody hinted at news since the last question.
    pub(crate) fn take_hint(&self, key: &ObjectKey) -> bool {
        lock(&self.hints).remove(key)
    }

    /// Whether this URL's journal has still to be looked at.
    pub(crate) fn needs_recovery(&self, url: &str) -> bool {
        let recovered = lock(&self.recovered);
        recovered.get(url).is_none_or(|left| !left.is_empty())
    }

    /// The intents that the last process left open: those that are open at the first look.
    pub(crate) fn left_open(&self, url: &str, open: &[Intent]) -> BTreeSet<IntentId> {
        let mut recovered = lock(&self.recovered);
        let left = recovered.entry(url.to_owned());
        left.or_insert_with(|| open.iter().map(|i| i.id).collect())
            .clone()
    }

    /// Notes which intents of a URL's journal were looked at.
    pub(crate) fn recovered(&self, url: &str, seen: BTreeSet<IntentId>) {
        let mut recovered = lock(&self.recovered);
        let left = recovered.entry(url.to_owned()).or_default();
        left.retain(|id| !seen.contains(id));
    }

    /// Notes that an intent's records could not be written: the next look completes it. Before the first look at the journal
    /// everything in it is left anyway.
    pub(crate) fn leave_open(&self, url: &str, intent: IntentId) {
        if let Some(left) = lock(&self.recovered).get_mut(url) {
            left.insert(intent);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
