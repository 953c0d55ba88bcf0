//! A walk over several processes that live at once: the one that writes sleeps, is cut off, dies or is told to go, and another takes
//! the Lease; the old one wakes up later, amid what it was at (C2).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Violation;
use super::chaos::Chaos;
use super::fixtures::{self, Derived};
use super::gate::{Gate, LEASE, Lease, Old, Replicas};
use super::mutant::Mutant;
use super::settled::{Checked, broken};
use super::world::World;

/// How many steps a walk has.
const STEPS: u64 = 24;
/// Variants, all of them in the repository that is pushed to.
const VARIANTS: [&str; 3] = ["cafe", "milk", "tea"];

impl World {
    /// Repositories, upstream v1, something to inject, variants; a process that holds the Lease.
    pub(super) async fn replicated(seed: u64, mutant: Option<Mutant>, complete: Derived) -> Self {
        let mut world = Self::over(Chaos::new(seed), seed, mutant, Some(complete));
        world.furnish().await;
        for name in VARIANTS {
            let variant = fixtures::variant(name, "edge", "eu");
            world.durable.twin.put_variant(variant);
        }
        // What made the world is no replica: all of them have stores of their own.
        world.end();
        world.durable.store.crash(|_, _| true);
        world.durable.lease = Some(Arc::new(Lease::default()));
        world.take_over();
        world
    }

    /// Another process takes the Lease.
    fn take_over(&mut self) {
        let (engine, running, gate) = self.durable.start();
        let engine = std::mem::replace(&mut self.engine, engine);
        let running = std::mem::replace(&mut self.running, running);
        let Some(gate) = gate else { return };
        match &mut self.replicas {
            None => {
                self.replicas = Some(Replicas {
                    gate,
                    old: Vec::new(),
                })
            }
            Some(replicas) => {
                let gate = std::mem::replace(&mut replicas.gate, gate);
                replicas.old.push(Old {
                    engine,
                    running,
                    gate,
                });
            }
        }
    }

    fn gate(&self) -> Option<Arc<Gate>> {
        self.replicas.as_ref().map(|r| Arc::clone(&r.gate))
    }

    /// The holder is lost, or nearly so, amid work.
    async fn lose_holder(&mut self) -> Checked {
        let Some(gate) = self.gate() else {
            return Ok(());
        };
        match self.dice.roll(3) {
            0 => self.release().await,
            1 => self.host(),
            _ => self.any_spec(),
        }
        let amid = self.dice.roll(900);
        self.pass(amid).await?;
        let said = |what: &str| self.durable.chaos.say(format!("the holder {what}"));
        match self.dice.roll(5) {
            0 => {
                said("sleeps for a moment");
                gate.fall_asleep();
                let moment = self.dice.roll(12_000);
                self.pass(moment).await?;
                gate.wake();
                return Ok(());
            }
            1 => {
                said("sleeps");
                gate.fall_asleep();
                self.pass(LEASE).await?;
            }
            2 => {
                said("is cut off");
                gate.cut_off();
                self.pass(LEASE).await?;
            }
            3 => {
                said("is killed");
                gate.end();
                self.running.abort();
                self.engine.stop();
                self.pass(LEASE).await?;
            }
            _ => {
                said("is told to go");
                gate.hand_over();
            }
        }
        self.take_over();
        Ok(())
    }

    fn any_spec(&mut self) {
        if let Some(at) = self.any_package() {
            self.spec(&at);
        }
    }

    fn any_package(&mut self) -> Option<String> {
        let name = self.dice.pick(&VARIANTS)?;
        Some(format!("edge/{name}"))
    }

    /// One of those that slept goes on.
    fn wake_one(&mut self) {
        let which = self.dice.roll(4);
        let Some(replicas) = &mut self.replicas else {
            return;
        };
        let which = usize::try_from(which).unwrap_or(0);
        if let Some(old) = replicas.old.get(which) {
            old.gate.wake();
        }
        // Whoever is awake without the Lease ends, sooner or later.
        if replicas.old.len() > 3 {
            replicas.old.remove(0).end();
        }
    }

    async fn replica_step(&mut self) -> Checked {
        let Some(at) = self.any_package() else {
            return Ok(());
        };
        match self.dice.roll(13) {
            0 => self.release().await,
            1 => self.host(),
            2 => self.spec(&at),
            3..=4 => self.edit(&at).await?,
            5 => self.push_edit(&at).await,
            6 => self.propose(&at).await?,
            7..=8 => self.approve(&at).await?,
            _ => self.lose_holder().await?,
        }
        Ok(())
    }

    /// What must hold at every moment, beside the rest: no effect starts out of its term.
    fn in_term(&self) -> Checked {
        let lease = self.durable.lease.as_ref();
        match lease.and_then(|lease| lease.wrong()) {
            Some(what) => broken(what),
            None => Ok(()),
        }
    }

    /// Nothing was made twice: of one input there is one revision of a package, whoever made it.
    fn once(&self) -> Checked {
        let mut made = BTreeMap::new();
        for record in self.durable.twin.revisions() {
            let machine = record.machine.as_ref().filter(|_| !record.placeholder);
            let Some(machine) = machine else { continue };
            let input = (record.package.clone(), machine.full_digest.clone());
            if let Some(other) = made.insert(input, record.key.name.clone()) {
                let name = &record.key.name;
                return broken(format!("C2: {other} and {name} were made for one input"));
            }
        }
        Ok(())
    }
}

/// The walk of one seed.
pub(super) async fn walk(world: &mut World) -> Result<(), Violation> {
    for _ in 0..STEPS {
        world.replica_step().await?;
        if world.dice.one_in(2) {
            world.wake_one();
        }
        let pause = match world.dice.roll(3) {
            0 => world.dice.roll(60),
            1 => world.dice.roll(1_500),
            _ => 800 + world.dice.roll(5_000),
        };
        world.pass(pause).await?;
        world.look()?;
        world.in_term()?;
    }
    // Everybody wakes up, and what is on its way arrives.
    for old in world.replicas.iter().flat_map(|r| &r.old) {
        old.gate.wake();
    }
    world.pass(40_000).await?;
    world.in_term()?;
    let old = world.replicas.as_mut().map(|r| std::mem::take(&mut r.old));
    old.into_iter().flatten().for_each(Old::end);
    world.finale().await?;
    world.in_term()?;
    world.once()
}
