//! One process among several that live at once: the Lease, the term that it gives, and effects that are still on their way when the
//! term is over (C2).
//!
//! A process asks its gate before each effect, as engine, store and host ask the term. What has started takes its time, now and then
//! longer than a Lease lasts, and arrives whoever writes by then: versions and the compare-and-swap of refs decide what comes of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Engine;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::chaos::Chaos;
use super::faults::Fault;

/// How long after its last renewal a process may start effects.
const GRACE: Duration = Duration::from_secs(10);
/// How long a Lease must be seen unchanged before another takes it, in milliseconds.
pub(super) const LEASE: u64 = 15_000;
/// How often it is renewed, in milliseconds.
const RENEWED: u64 = 3_000;
/// Of so many effects one arrives late, and how late at most, in milliseconds.
const LATE: (u64, u64) = (20, 25_000);

/// The Lease that all processes see.
#[derive(Debug, Default)]
pub(super) struct Lease(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    /// The present term.
    term: u64,
    /// What was done out of its term.
    wrong: Vec<String>,
}

impl Lease {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first effect that started out of its term.
    pub(super) fn wrong(&self) -> Option<String> {
        self.held().wrong.first().cloned()
    }
}

/// What a process may do now.
#[derive(Debug)]
pub(super) struct Gate {
    lease: Arc<Lease>,
    chaos: Arc<Chaos>,
    term: u64,
    asleep: watch::Sender<bool>,
    /// When it renewed the Lease last, if it does not go on with that.
    renewed: Mutex<Option<Instant>>,
    /// Whether the process is gone.
    gone: AtomicBool,
    /// How many effects are on their way.
    flights: AtomicU64,
    /// Whether it does not look at the clock: a mutant.
    endless: bool,
}

/// An effect that is on its way.
#[derive(Debug)]
pub(super) struct Flight(Arc<Gate>);

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.flights.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Gate {
    /// The next term begins.
    pub(super) fn take(lease: &Arc<Lease>, chaos: &Arc<Chaos>, endless: bool) -> Arc<Self> {
        let term = {
            let mut held = lease.held();
            held.term += 1;
            held.term
        };
        chaos.say(format!("term {term} begins"));
        Arc::new(Self {
            lease: Arc::clone(lease),
            chaos: Arc::clone(chaos),
            term,
            asleep: watch::Sender::new(false),
            renewed: Mutex::new(None),
            gone: AtomicBool::new(false),
            flights: AtomicU64::new(0),
            endless,
        })
    }

    fn renewed(&self) -> MutexGuard<'_, Option<Instant>> {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it finds out now that its term is over; whoever sleeps finds out nothing.
    pub(super) fn ends(&self) -> bool {
        self.gone.load(Ordering::SeqCst) || (!*self.asleep.borrow() && !self.is_on())
    }

    /// Whether an effect may start.
    fn is_on(&self) -> bool {
        let renewed = *self.renewed();
        let in_time = renewed.is_none_or(|at| at.elapsed() < GRACE);
        !self.gone.load(Ordering::SeqCst) && (in_time || self.endless)
    }

    /// It does not reach the Lease any more, and goes on until its time is over.
    pub(super) fn cut_off(&self) {
        let ago = Duration::from_millis(self.chaos.roll(RENEWED));
        let now = Instant::now();
        *self.renewed() = Some(now.checked_sub(ago).unwrap_or(now));
    }

    /// It is stopped where it stands: what is on its way goes on.
    pub(super) fn fall_asleep(&self) {
        self.cut_off();
        self.asleep.send_replace(true);
    }

    /// It goes on, in its term if nobody took the Lease.
    pub(super) fn wake(&self) {
        if self.lease.held().term == self.term {
            *self.renewed() = None;
        }
        self.asleep.send_replace(false);
    }

    /// It starts nothing more: it was told to go, and hands the Lease over.
    pub(super) fn hand_over(&self) {
        let now = Instant::now();
        *self.renewed() = Some(now.checked_sub(GRACE).unwrap_or(now));
    }

    /// The process is gone.
    pub(super) fn end(&self) {
        self.gone.store(true, Ordering::SeqCst);
        self.asleep.send_replace(false);
    }

    async fn awake(&self) {
        let mut asleep = self.asleep.subscribe();
        // The sender lives as long as this.
        drop(asleep.wait_for(|asleep| !asleep).await);
    }

    /// Starts an effect, which arrives when this returns; `None`: not in this term.
    pub(super) async fn start(self: &Arc<Self>, what: &str) -> Option<Flight> {
        self.awake().await;
        if !self.is_on() {
            return None;
        }
        let now = {
            let mut held = self.lease.held();
            let now = held.term;
            if now != self.term {
                held.wrong.push(format!(
                    "C2: {what} of term {} was started in term {now}",
                    self.term
                ));
            }
            now
        };
        self.flights.fetch_add(1, Ordering::SeqCst);
        let flight = Flight(Arc::clone(self));
        let (often, latest) = LATE;
        let most = if self.chaos.roll(often) == 0 {
            latest
        } else {
            40
        };
        tokio::time::sleep(Duration::from_millis(1 + self.chaos.roll(most))).await;
        let then = self.lease.held().term;
        if then != now {
            self.chaos
                .struck(&format!("{what} of an older term"), Fault::Late);
        }
        Some(flight)
    }

    /// Hears the answer; whether there is still somebody to hear it.
    pub(super) async fn hears(&self) -> bool {
        self.awake().await;
        !self.gone.load(Ordering::SeqCst)
    }
}

/// The processes of a world that has several.
pub(super) struct Replicas {
    /// Of the one that holds the Lease.
    pub(super) gate: Arc<Gate>,
    /// Those that held it before, and are not gone.
    pub(super) old: Vec<Old>,
}

/// One that held the Lease before.
pub(super) struct Old {
    pub(super) engine: Engine,
    pub(super) running: JoinHandle<()>,
    pub(super) gate: Arc<Gate>,
}

impl Old {
    pub(super) fn end(self) {
        self.gate.end();
        self.running.abort();
        self.engine.stop();
    }
}

/// The store asks before each step; a push that is on its way asks nobody.
impl store::Faults for Gate {
    fn at(&self, _url: &str, _point: store::Point) -> store::FaultVerdict {
        if !self.ends() || self.flights.load(Ordering::SeqCst) > 0 {
            store::FaultVerdict::Go
        } else {
            store::FaultVerdict::Die
        }
    }
}
