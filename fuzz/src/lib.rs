//! Fuzzing without a nightly compiler: targets, seeds, and a mutator that learns which inputs do something new.
//!
//! A target is a function that takes bytes, checks the laws of what it drives, and answers with a signature of what
//! happened. Inputs with a new signature join the pool that further inputs are made of. Everything follows from a
//! number, so that a run can be repeated: `cargo test -p fuzz` replays the corpus and a fixed share, `cargo xtask
//! fuzz` runs as long as it is told. A broken law is a panic; this crate never catches one.

mod mutate;
mod seeds;
mod targets;

use std::collections::BTreeSet;

pub use targets::{TARGETS, Target, find};

use mutate::{Numbers, mutated};

/// The longest input that is made.
pub const LONGEST: usize = 64 << 10;

/// Inputs that are kept to make others of.
const POOL: usize = 2_000;

/// An endless row of inputs for a target.
#[derive(Debug)]
pub struct Run {
    target: &'static Target,
    pool: Vec<Vec<u8>>,
    seen: BTreeSet<u64>,
    numbers: Numbers,
    next: usize,
}

impl Run {
    /// Begins a run with the seeds of the target and further inputs, such as a corpus.
    pub fn new(target: &'static Target, number: u64, corpus: Vec<Vec<u8>>) -> Self {
        let mut pool: Vec<Vec<u8>> = (target.seeds)();
        pool.extend(corpus);
        Self {
            target,
            pool,
            seen: BTreeSet::new(),
            numbers: Numbers::new(number),
            next: 0,
        }
    }

    /// The next input: first the seeds as they are, then what is made of them.
    pub fn input(&mut self) -> Vec<u8> {
        let at = self.next;
        self.next += 1;
        match self.pool.get(at) {
            Some(seed) if at < self.pool.len().min(POOL) && self.seen.len() <= at => seed.clone(),
            _ => mutated(&self.pool, &mut self.numbers),
        }
    }

    /// Runs an input and keeps it if it did something new; answers whether it did.
    ///
    /// # Panics
    /// When the target's laws do not hold.
    pub fn feed(&mut self, input: Vec<u8>) -> bool {
        let signature = (self.target.run)(&input);
        let new = self.seen.insert(signature);
        if new && self.pool.len() < POOL {
            self.pool.push(input);
        }
        new
    }

    /// How many different things happened so far.
    pub fn signatures(&self) -> usize {
        self.seen.len()
    }
}
