//! A level-triggered work queue: a key is all there is, and it is in line at most once.
//!
//! A key that is worked on is not handed out again; what arrives meanwhile puts it in line once
//! more afterwards. Namespaces take turns, so that one tenant's thousand keys do not
//! hold up another's one, and none holds all slots: keys whose git or function hangs leave some to the
//! others (I11). Failures back off for each key alone (V16). Order depends on nothing but the order of
//! calls and tokio's clock: a paused runtime replays it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use model::{Namespace, ObjectKey};
use tokio::sync::Notify;
use tokio::time::Instant;

/// What is reconciled. The order of the variants counts where timers run out at the same moment: repositories first, since
/// others wait for what they hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    /// A registered repository.
    Repository(ObjectKey),
    /// A set.
    Set(ObjectKey),
    /// A variant.
    Variant(ObjectKey),
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Repository(key) => write!(f, "Repository {key}"),
            Self::Set(key) => write!(f, "PackageVariantSet {key}"),
            Self::Variant(key) => write!(f, "PackageVariant {key}"),
        }
    }
}

impl Key {
    fn namespace(&self) -> &Namespace {
        match self {
            Self::Repository(key) | Self::Set(key) | Self::Variant(key) => &key.namespace,
        }
    }
}

/// What became of a key's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// Rest until something wakes it.
    Rest,
    /// Again at once: something else was found than expected.
    Again,
    /// Again after this time, unless something wakes it before.
    After(Duration),
    /// It failed, or waits for what nothing tells of: its plan says when to try again.
    Retry(Duration),
    /// It failed: again after a time that grows with each failure in a row.
    Failed,
}

const FIRST_BACKOFF: Duration = Duration::from_millis(200);
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);
/// How many slots a namespace may hold for each one that is free. Alone it gets three of four; the more are taken, the
/// fewer it may hold, so that the next namespace finds a slot however many hang.
const SHARE: usize = 3;
/// Conflicts in a row before they back off as failures do: two writers that never agree must not spin.
const PATIENCE: u32 = 8;

/// Turns of a key in a row that came to nothing. They are counted apart: a failure after many conflicts is the
/// first one all the same.
#[derive(Debug, Default, Clone, Copy)]
struct Missed {
    conflicts: u32,
    failures: u32,
}

#[derive(Debug, Default)]
struct Inner {
    lines: BTreeMap<Namespace, VecDeque<Key>>,
    /// Namespaces with keys in line, the next one first.
    turns: VecDeque<Namespace>,
    waiting: BTreeSet<Key>,
    running: BTreeSet<Key>,
    /// How many keys may be worked on at once.
    slots: usize,
    /// How many of a namespace are.
    held: BTreeMap<Namespace, usize>,
    /// Keys that are worked on and gave their slots back.
    lent: BTreeSet<Key>,
    again: BTreeSet<Key>,
    timers: BTreeSet<(Instant, Key)>,
    due: BTreeMap<Key, Instant>,
    missed: BTreeMap<Key, Missed>,
    closed: bool,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    changed: Notify,
}

impl Queue {
    /// A queue that hands out this many keys at once, at least one.
    pub(crate) fn of(slots: usize) -> Self {
        Self {
            inner: Mutex::new(Inner {
                slots: slots.max(1),
                ..Inner::default()
            }),
            changed: Notify::new(),
        }
    }

    /// Puts a key in line, unless it is there.
    pub(crate) fn add(&self, key: Key) {
        self.with(|inner| inner.add(key));
        self.changed.notify_one();
    }

    /// Puts a key in line after a time, unless it is to come sooner.
    pub(crate) fn add_after(&self, key: Key, after: Duration) {
        self.with(|inner| inner.add_after(key, Instant::now() + after));
        self.changed.notify_one();
    }

    /// The next key, once one may be worked on; `None` once the queue is closed. The caller must answer with [`Queue::done`].
    pub(crate) async fn next(&self) -> Option<Key> {
        loop {
            // Listening begins before the look: what comes in between is not slept through.
            let changed = self.changed.notified();
            let until = match self.with(Inner::take) {
                Take::Key(key) => {
                    // Another waiter may have work, too.
                    self.changed.notify_one();
                    return Some(key);
                }
                Take::Closed => {
                    self.changed.notify_waiters();
                    self.changed.notify_one();
                    return None;
                }
                Take::Wait(until) => until,
            };
            match until {
                Some(until) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = tokio::time::sleep_until(until) => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// Says what became of a key's turn.
    pub(crate) fn done(&self, key: &Key, done: Done) {
        self.with(|inner| inner.done(key, done));
        self.changed.notify_one();
    }

    /// Gives back the slot of a key that is worked on and waits for somebody else; it is handed out to no other turn
    /// until [`Queue::done`] all the same.
    pub(crate) fn lend(&self, key: &Key) {
        self.with(|inner| {
            if inner.running.contains(key) && inner.lent.insert(key.clone()) {
                inner.give_back(key);
            }
        });
        self.changed.notify_one();
    }

    /// Ends every wait; nothing is handed out any more.
    pub(crate) fn close(&self) {
        self.with(|inner| inner.closed = true);
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// Keys that are in line or worked on; timers do not count.
    pub(crate) fn busy(&self) -> usize {
        self.with(|inner| inner.waiting.len() + inner.running.len())
    }

    /// What is noted of keys beyond those that are in line or worked on: marks, timers and turns that came to nothing.
    pub(crate) fn held(&self) -> Vec<(&'static str, usize)> {
        self.with(|inner| {
            let marks = inner.lines.len() + inner.turns.len() + inner.held.len();
            vec![
                ("marks", marks + inner.lent.len() + inner.again.len()),
                ("timers", inner.timers.len().max(inner.due.len())),
                ("missed", inner.missed.len()),
            ]
        })
    }

    /// Keys that will be tried again because they failed.
    pub(crate) fn retries(&self) -> Vec<String> {
        self.with(|inner| {
            let due = |key: &&Key| inner.due.contains_key(*key);
            let keys = inner.missed.keys().filter(due);
            keys.map(Key::to_string).collect()
        })
    }

    fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self
            .inner
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        f(&mut inner)
    }
}

enum Take {
    Key(Key),
    Wait(Option<Instant>),
    Closed,
}

impl Inner {
    fn add(&mut self, key: Key) {
        // What it looks at may have changed behind its back: one more turn, not two at once.
        if self.running.contains(&key) {
            self.again.insert(key);
            return;
        }
        self.cancel_timer(&key);
        if !self.waiting.insert(key.clone()) {
            return;
        }
        let namespace = key.namespace().clone();
        let line = self.lines.entry(namespace.clone()).or_default();
        if line.is_empty() {
            self.turns.push_back(namespace);
        }
        line.push_back(key);
    }

    fn add_after(&mut self, key: Key, at: Instant) {
        // What is worked on now may have looked already: the timer stays, and `take` sorts it out.
        if self.waiting.contains(&key) || self.due.get(&key).is_some_and(|due| *due <= at) {
            return;
        }
        self.cancel_timer(&key);
        self.due.insert(key.clone(), at);
        self.timers.insert((at, key));
    }

    fn cancel_timer(&mut self, key: &Key) {
        if let Some(at) = self.due.remove(key) {
            self.timers.remove(&(at, key.clone()));
        }
    }

    fn take(&mut self) -> Take {
        if self.closed {
            return Take::Closed;
        }
        let now = Instant::now();
        while let Some((at, key)) = self.timers.first().cloned() {
            if at > now {
                break;
            }
            self.add(key.clone());
            // A key that is worked on keeps no timer beside its mark.
            self.cancel_timer(&key);
        }
        // The first that may have a slot, not the first in line: a namespace that holds its share keeps nobody waiting.
        let next = self.turns.iter().position(|n| self.has_room(n));
        let Some(namespace) = next.and_then(|at| self.turns.remove(at)) else {
            return Take::Wait(self.timers.first().map(|(at, _)| *at));
        };
        let line = self.lines.entry(namespace.clone()).or_default();
        let key = line.pop_front();
        if line.is_empty() {
            self.lines.remove(&namespace);
        } else {
            self.turns.push_back(namespace.clone());
        }
        match key {
            Some(key) => {
                *self.held.entry(namespace).or_default() += 1;
                self.waiting.remove(&key);
                self.running.insert(key.clone());
                Take::Key(key)
            }
            None => Take::Wait(self.timers.first().map(|(at, _)| *at)),
        }
    }

    /// Whether one more key of a namespace may be worked on.
    fn has_room(&self, namespace: &Namespace) -> bool {
        let taken = self.running.len() - self.lent.len();
        let free = self.slots.saturating_sub(taken);
        let held = self.held.get(namespace).copied().unwrap_or_default();
        free > 0 && (held == 0 || held < free.saturating_mul(SHARE))
    }

    fn give_back(&mut self, key: &Key) {
        if let Some(held) = self.held.get_mut(key.namespace()) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(key.namespace());
            }
        }
    }

    fn done(&mut self, key: &Key, done: Done) {
        if self.running.remove(key) && !self.lent.remove(key) {
            self.give_back(key);
        }
        let woken = self.again.remove(key);
        let now = Instant::now();
        match done {
            Done::Rest | Done::After(_) => drop(self.missed.remove(key)),
            // Its plan says when: it counts as tried again, and not as one more failure in a row.
            Done::Retry(_) => drop(self.missed.insert(key.clone(), Missed::default())),
            Done::Again => self.missed.entry(key.clone()).or_default().conflicts += 1,
            Done::Failed => self.missed.entry(key.clone()).or_default().failures += 1,
        }
        let missed = self.missed.get(key).copied().unwrap_or_default();
        match done {
            Done::Rest => {}
            Done::Again if missed.conflicts <= PATIENCE => self.add(key.clone()),
            Done::Again => self.add_after(key.clone(), now + backoff(missed.conflicts - PATIENCE)),
            Done::After(time) | Done::Retry(time) => self.add_after(key.clone(), now + time),
            Done::Failed => self.add_after(key.clone(), now + backoff(missed.failures)),
        }
        // Whoever woke it saw something that this turn may have missed: no back-off holds that up.
        if woken {
            self.add(key.clone());
        }
    }
}

fn backoff(failures: u32) -> Duration {
    let doubled = FIRST_BACKOFF.saturating_mul(1_u32 << failures.saturating_sub(1).min(16));
    doubled.min(LONGEST_BACKOFF)
}

#[cfg(test)]
mod tests;
