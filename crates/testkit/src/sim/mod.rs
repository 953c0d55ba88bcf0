//! A seeded simulation of the whole house over its twins: the walk of a person, a platform and git,
//! under every fault that a side effect can meet.
//!
//! A seed decides everything: one thread, a clock that stands still unless everybody waits, one
//! generator. So a failing seed replays exactly. Nothing here knows how the engine works; it drives
//! it through its doors, breaks what lies outside, and holds what was promised against what stands
//! (the invariants I1 to I12 of docs/reliability.md, each named in the violation; that one tenant
//! does not delay another, I11, is the queue's to show).
//!
//! Two ways lead through it: a walk that a seed decides, under every fault at once ([`Sim`]; also in a world whose set rolls
//! out in steps, and in one where several processes live at once), and short stories in each of which the process dies once, at every failpoint in turn ([`Matrix`]).

mod by_hand;
mod chaos;
mod check;
mod copied;
pub(crate) mod dice;
mod ended;
mod farewell;
mod faults;
pub(crate) mod fixtures;
mod gate;
mod git;
mod holding;
mod ledger;
mod links;
mod marks;
mod matrix;
mod mutant;
mod ours;
mod people;
mod ports;
mod promised;
mod pushers;
mod reached;
mod reading;
mod remotes;
mod replicas;
mod rolled;
mod rolling;
mod scenario;
mod settled;
mod steps;
mod table;
mod tenants;
mod touch;
mod twice;
mod unread;
mod untagged;
mod watch;
mod world;

use fixtures::Derived;
use world::World;

pub use faults::{Fault, Strike, Tally, all};
pub use matrix::{Cell, Death, Matrix};
pub use mutant::Mutant;
pub use scenario::Scenario;
pub use table::{print, zeros};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(String);

/// What came of one seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedOutcome {
    /// Which.
    pub seed: u64,
    /// The broken promise, if any.
    pub violation: Option<Violation>,
    /// What struck where.
    pub tally: Tally,
    /// A digest of everything that happened: the same for the same seed.
    pub trace: u64,
    /// What happened, in order.
    pub story: Vec<String>,
}

/// The simulation, with what it needs to know beforehand.
#[derive(Debug, Clone)]
pub struct Sim {
    complete: Derived,
}

impl Sim {
    /// Finds out what a complete draft looks like, in a world without faults.
    ///
    /// # Errors
    /// Not even that world comes to rest.
    pub fn new() -> Result<Self, Violation> {
        let complete = runtime()?.block_on(steps::golden())?;
        Ok(Self { complete })
    }

    /// Runs one seed.
    pub fn run(&self, seed: u64, mutant: Option<Mutant>) -> SeedOutcome {
        let complete = self.complete.clone();
        told(seed, async {
            let mut world = World::new(seed, mutant, Some(complete)).await;
            let result = steps::walk(&mut world).await;
            world.end();
            (result, world.durable.chaos.read())
        })
    }

    /// Runs one seed in a world where several processes live at once, and one of them writes (C2).
    pub fn run_replicas(&self, seed: u64, mutant: Option<Mutant>) -> SeedOutcome {
        let complete = self.complete.clone();
        told(seed, async {
            let mut world = World::replicated(seed, mutant, complete).await;
            let result = replicas::walk(&mut world).await;
            world.end();
            (result, world.durable.chaos.read())
        })
    }

    /// Runs one seed in a world whose set rolls out in steps (F7, F8).
    pub fn run_rollout(&self, seed: u64, mutant: Option<Mutant>) -> SeedOutcome {
        let complete = self.complete.clone();
        told(seed, async {
            let mut world = World::rolling(seed, mutant, complete).await;
            let result = rolling::walk(&mut world).await;
            world.end();
            (result, world.durable.chaos.read())
        })
    }
}

/// What a walk came to, and what was read of it.
type Ran = (Result<(), Violation>, (Tally, u64, Vec<String>));

fn told(seed: u64, walk: impl Future<Output = Ran>) -> SeedOutcome {
    match runtime().map(|runtime| runtime.block_on(walk)) {
        Ok((result, (tally, trace, story))) => SeedOutcome {
            seed,
            violation: result.err(),
            tally,
            trace,
            story,
        },
        Err(violation) => SeedOutcome {
            seed,
            violation: Some(violation),
            tally: Tally::new(),
            trace: 0,
            story: Vec::new(),
        },
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Violation> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|e| Violation(format!("the runtime cannot be built: {e}")))
}
