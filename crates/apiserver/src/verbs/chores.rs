//! Which objects housekeeping looks at, and when again after a failure: each fails alone.
//!
//! The store names what changed; what failed waits longer each time. Nothing here knows what is done to an object
//! (`keep`), and no object keeps another one waiting but by the time that its own turn takes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use objects::Failure;
use objectstore::Touched;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Core;
use crate::lock::lock;

/// How long an object waits after its first failure; twice as long after each further one.
const FIRST: Duration = Duration::from_millis(500);

/// How long it waits at most.
const LONGEST: Duration = Duration::from_secs(300);

/// Housekeeping never looks for what is due more often than this.
const SHORTEST: Duration = Duration::from_millis(10);

/// How many objects are worked on at once: one whose gateway hangs takes one of these places.
const AT_ONCE: usize = 16;

/// What waits to be tried again.
#[derive(Debug, Default)]
pub(crate) struct Chores(Mutex<BTreeMap<Touched, Retry>>);

#[derive(Debug)]
struct Retry {
    failures: u32,
    due: Timestamp,
    /// What was told of it last: the same is not told again.
    told: String,
}

/// How long to wait after so many failures.
fn pause(failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1));
    FIRST
        .saturating_mul(doubled.unwrap_or(u32::MAX))
        .min(LONGEST)
}

impl Chores {
    /// What is due again.
    fn due(&self, now: Timestamp) -> BTreeSet<Touched> {
        let all = lock(&self.0);
        let due = all.iter().filter(|(_, retry)| retry.due <= now);
        due.map(|(item, _)| item.clone()).collect()
    }

    /// How long until something is due.
    fn next(&self, now: Timestamp) -> Option<Duration> {
        let first = lock(&self.0).values().map(|retry| retry.due).min()?;
        Some(Duration::try_from(first - now).unwrap_or_default())
    }

    /// Notes how a turn ended.
    fn ended(&self, item: &Touched, failure: Option<&Failure>, now: Timestamp) {
        let mut all = lock(&self.0);
        let Some(failure) = failure else {
            all.remove(item);
            return;
        };
        let retry = all.entry(item.clone()).or_insert_with(|| Retry {
            failures: 0,
            due: now,
            told: String::new(),
        });
        retry.failures = retry.failures.saturating_add(1);
        let pause = pause(retry.failures);
        retry.due = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
        let text = failure.to_string();
        if retry.told != text {
            tracing::warn!(object = %name_of(item), failure = %text, ?pause, "housekeeping of this object will be tried again");
            retry.told = text;
        }
    }
}

fn name_of(item: &Touched) -> String {
    match item {
        Touched::Gone(uid) => format!("dependents of {uid}"),
        Touched::Look((resource, key)) => format!("{resource} {key}"),
    }
}

impl Core {
    /// What housekeeping has to look at now: what changed since the last call, and what failed and is due again.
    /// Dependents of an object that is gone are looked at one by one.
    fn due(&self) -> BTreeSet<Touched> {
        let mut due = self.chores.due(self.now());
        for item in self.store.take_touched() {
            match item {
                Touched::Gone(uid) => {
                    due.extend(self.store.dependents(&uid).into_iter().map(Touched::Look));
                }
                look @ Touched::Look(_) => drop(due.insert(look)),
            }
        }
        // The store notes owners and deletions alone: namespaces and roles that ask for something are followed apart.
        let homes = self.without_account().into_iter();
        let homes = homes.map(|name| ("namespaces".into(), name.into()));
        due.extend(homes.chain(self.gathering_roles()).map(Touched::Look));
        due
    }

    /// Looks at one object; answers how much was done.
    async fn turn(&self, item: &Touched) -> Result<usize, Failure> {
        let step = match item {
            Touched::Gone(_) => Ok(0),
            Touched::Look(at) => self.look(at).await,
        };
        self.chores.ended(item, step.as_ref().err(), self.now());
        step
    }

    /// Looks at everything that is due, one after the other; returns how much was done, and the first failure. What fails
    /// keeps nothing else, and is due again later.
    pub(crate) async fn housekeeping(&self) -> (usize, Option<Failure>) {
        let (mut done, mut failed) = (0, None);
        for item in self.due() {
            match self.turn(&item).await {
                Ok(count) => done += count,
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        (done, failed)
    }
}

/// Does the housekeeping of a running server until it stops; what has begun then is waited for.
pub(crate) async fn keep(core: Arc<Core>, mut stopped: watch::Receiver<bool>) {
    let mut queue: VecDeque<Touched> = VecDeque::new();
    let mut queued: BTreeSet<Touched> = BTreeSet::new();
    let mut running: JoinSet<()> = JoinSet::new();
    let mut busy: BTreeMap<tokio::task::Id, Touched> = BTreeMap::new();
    loop {
        for item in core.due() {
            if queued.insert(item.clone()) {
                queue.push_back(item);
            }
        }
        // One that is worked on, and has changed since, gets another turn: it may have been read before.
        for _ in 0..queue.len() {
            if running.len() >= AT_ONCE {
                break;
            }
            let Some(item) = queue.pop_front() else { break };
            if busy.values().any(|other| *other == item) {
                queue.push_back(item);
                continue;
            }
            queued.remove(&item);
            let (core, of) = (Arc::clone(&core), item.clone());
            // What became of it is noted there.
            let started = running.spawn(async move { drop(core.turn(&of).await) });
            busy.insert(started.id(), item);
        }
        let next = core.chores.next(core.now()).unwrap_or(LONGEST);
        tokio::select! {
            biased;
            _ = stopped.changed() => break,
            Some(ended) = running.join_next_with_id() => {
                let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                busy.remove(&id);
            }
            () = core.store.changed() => {}
            () = tokio::time::sleep(next.max(SHORTEST)) => {}
        }
    }
    while running.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_waits_twice_as_long_as_the_one_before() {
        let chores = Chores::default();
        let item = Touched::Gone("uid".to_owned());
        let failure = Failure::internal("no");
        let mut now = Timestamp::UNIX_EPOCH;
        for seconds in [
            0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0,
        ] {
            chores.ended(&item, Some(&failure), now);
            assert_eq!(chores.next(now), Some(Duration::from_secs_f64(seconds)));
            assert!(chores.due(now).is_empty());
            now += Duration::from_secs_f64(seconds);
            assert_eq!(chores.due(now).len(), 1);
        }
        chores.ended(&item, None, now);
        assert_eq!(chores.next(now), None);
        assert_eq!(pause(u32::MAX), LONGEST);
    }
}
