//! Wakes reconciles by keys: watches feed what is known, what is known names keys, keys take turns.
//!
//! The only trigger is a key (the engine never asks what changed); a periodic look at everything repairs lost events. Many
//! keys are worked on at once, since most of them wait for the store, which makes batches of them.

mod cron;
mod repository;
mod set;
mod variant;
mod watch;

use std::time::Duration;

use model::Class;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::index::World;
use crate::queue::{Done, Key};
use crate::stats::count;
use crate::{Engine, Error, Result, followed, observe, waits};
pub use cron::schedule_problem;

/// How long variants and sets wait for a first look at repositories after records were thrown away.
const LONGEST_FIRST_LOOK: Duration = Duration::from_secs(30);
/// How often they ask.
const PAUSE: Duration = Duration::from_millis(500);

/// A turn of a key, which takes a place in the queue until it ends: also where it breaks.
struct Turning {
    engine: Engine,
    key: Key,
    done: Done,
}

impl Turning {
    fn end(mut self, done: Done) {
        self.done = done;
    }
}

impl Drop for Turning {
    fn drop(&mut self) {
        self.engine.inner.turns.note(&self.key, self.done);
        self.engine.inner.queue.done(&self.key, self.done);
    }
}

/// Runs watches and controllers until [`Engine::stop`]; ends once every turn has ended.
pub(crate) async fn run(engine: &Engine) {
    let mut tasks = JoinSet::new();
    watch::start(engine, &mut tasks);
    let all = engine.clone();
    tasks.spawn(async move { resync(&all).await });
    work(engine).await;
    // Watches wait for news that need not come.
    tasks.abort_all();
    while tasks.join_next().await.is_some() {}
    followed::stop(engine);
}

async fn work(engine: &Engine) {
    loaded(engine).await;
    forget_unregistered(engine);
    let until = Instant::now() + LONGEST_FIRST_LOOK;
    let mut turns = JoinSet::new();
    while let Some(key) = engine.inner.queue.next().await {
        let turn = Turning {
            engine: engine.clone(),
            key,
            done: Done::Failed,
        };
        turns.spawn(async move {
            let work = self::turn(&turn.engine, &turn.key, until);
            let done = waits::turn(&turn.key, work).await;
            turn.end(done);
        });
        while let Some(ended) = turns.try_join_next() {
            if let Err(error) = ended {
                tracing::error!(%error, "a turn broke; its key is tried again");
            }
        }
    }
    while turns.join_next().await.is_some() {}
}

/// Waits until everything was seen once: decisions on half a picture would undo the other half.
async fn loaded(engine: &Engine) {
    while !engine.world(World::is_loaded) && engine.alive().is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether records are still to be brought back from git: decisions on those that are there would be on half a
/// picture, too. Repositories that cannot be read say so, and hold nobody up.
fn comes_back(engine: &Engine, until: Instant) -> bool {
    if !engine.inner.options.rebuild || Instant::now() >= until {
        return false;
    }
    engine.world(|w| {
        let mut ready = w
            .repositories
            .iter()
            .filter(|r| !r.meta.is_deleting() && r.parsed.is_ok() && r.status.is_ready());
        ready.any(|r| !engine.inner.repos.is_seen(&r.key))
    })
}

/// Whether it lacks an upstream only since nobody has looked at that repository after the start.
async fn is_unread(engine: &Engine, key: &Key, until: Instant) -> bool {
    if Instant::now() >= until {
        return false;
    }
    match key {
        Key::Variant(key) => observe::variant_is_unread(engine, key),
        Key::Set(key) => observe::set_is_unread(engine, key).await,
        Key::Repository(_) => false,
    }
}

async fn turn(engine: &Engine, key: &Key, until: Instant) -> Done {
    let before = Instant::now();
    let waits = is_unread(engine, key, until).await;
    // Each turn is moved several times before it runs: on the heap, what it will hold stays where it is.
    let result = match key {
        _ if engine.holds_off() => Ok(Done::After(PAUSE)),
        Key::Repository(key) => {
            count(&engine.counters().repository_reconciles);
            Box::pin(repository::reconcile(engine, key)).await
        }
        // Somebody else looks after them, or nobody.
        Key::Variant(_) if !engine.inner.options.variants => Ok(Done::Rest),
        Key::Set(_) if !engine.inner.options.sets => Ok(Done::Rest),
        Key::Variant(_) | Key::Set(_) if comes_back(engine, until) => Ok(Done::After(PAUSE)),
        Key::Variant(_) | Key::Set(_) if waits => Ok(Done::After(PAUSE)),
        Key::Variant(key) => {
            count(&engine.counters().variant_reconciles);
            Box::pin(variant::reconcile(engine, key)).await
        }
        Key::Set(key) => {
            count(&engine.counters().set_reconciles);
            Box::pin(set::reconcile(engine, key)).await
        }
    };
    tracing::debug!(%key, elapsed = ?before.elapsed(), ok = result.is_ok(), "turn");
    match result {
        Ok(done) => done,
        Err(Error::Stopped) => Done::Rest,
        Err(error) if error.class() == Class::Conflict => {
            count(&engine.counters().conflicts);
            Done::Again
        }
        Err(error) => {
            count(&engine.counters().failures);
            tracing::warn!(%key, error = %error.chain(), "a turn failed");
            Done::Failed
        }
    }
}

async fn resync(engine: &Engine) {
    loop {
        tokio::time::sleep(engine.inner.options.resync).await;
        look_at_everything(engine);
    }
}

/// Puts the repositories in line that are not registered and have records: whoever took them away died before those went.
fn forget_unregistered(engine: &Engine) {
    let gone: Vec<_> = engine.world(|w| {
        let all = w.revisions.repositories();
        all.filter(|key| w.repositories.get(key).is_none())
            .collect()
    });
    for key in gone {
        engine.inner.queue.add(Key::Repository(key));
    }
}

/// Puts every key in line.
pub(crate) fn look_at_everything(engine: &Engine) {
    forget_unregistered(engine);
    let keys: Vec<Key> = engine.world(|w| {
        let repositories = w
            .repositories
            .iter()
            .map(|r| Key::Repository(r.key.clone()));
        let sets = w.sets.iter().map(|s| Key::Set(s.key.clone()));
        let variants = w.variants().map(|v| Key::Variant(v.key.clone()));
        repositories.chain(sets).chain(variants).collect()
    });
    for key in keys {
        engine.inner.queue.add(key);
    }
}

/// What a turn came to.
pub(crate) type Turn = Result<Done>;
