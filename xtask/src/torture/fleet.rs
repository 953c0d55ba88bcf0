//! A fan-out that is under way while the server ends: one set after the other, and a clerk who keeps count.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::world::{DOWNSTREAMS, Dice, SET, VARIANTS, World};
use super::{Result, examine, people};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// How long a fan-out may take after the server's last end.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long its first drafts are waited for.
const SOON: Duration = Duration::from_secs(5);

/// What was acknowledged of config maps.
type Kept = Arc<Mutex<BTreeSet<String>>>;

/// The sets of a world, of which the newest is there at a time.
pub(super) struct Fleet {
    targets: usize,
    number: u64,
    kept: Kept,
}

/// Those who work while the server ends.
pub(super) struct Crew {
    over: Arc<AtomicBool>,
    working: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Lets them go home.
    pub(super) fn end(self, world: &World) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.working {
            if thread.join().is_err() {
                world.ledger.note("somebody's thread panicked");
            }
        }
    }
}

impl Fleet {
    /// So many targets for each set.
    pub(super) fn new(targets: usize) -> Self {
        Self {
            targets: targets.div_ceil(DOWNSTREAMS.len()),
            number: 0,
            kept: Kept::default(),
        }
    }

    fn all(&self) -> usize {
        self.targets * DOWNSTREAMS.len()
    }

    /// Makes the next set and takes the last one away, both acknowledged; reviewers and a clerk begin to work.
    pub(super) fn begin(&mut self, world: &Arc<World>, seed: u64) -> Result<Crew> {
        let sets = SET.trim_end_matches("/web");
        self.number += 1;
        let number = self.number;
        world.create(sets, &self.set())?;
        if number > 1 {
            world.delete(&format!("{sets}/fleet-{}", number - 1))?;
        }
        world.ledger.note(&format!("fleet-{number} is to come"));
        Ok(self.work_on(world, seed))
    }

    /// Reviewers and a clerk work on.
    pub(super) fn work_on(&self, world: &Arc<World>, seed: u64) -> Crew {
        let number = self.number;
        let over = Arc::new(AtomicBool::new(false));
        let mut working = Vec::new();
        for role in 0..3 {
            let (world, over, kept) =
                (Arc::clone(world), Arc::clone(&over), Arc::clone(&self.kept));
            let mut dice = Dice::new(seed ^ (number << 20) ^ (role << 40));
            working.push(std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    match role {
                        0 => clerk(&world, &mut dice, &kept),
                        _ => people::reviewer(&world, &mut dice),
                    }
                }
            }));
        }
        Crew { over, working }
    }

    fn set(&self) -> Value {
        let number = self.number;
        let names: Vec<_> = (0..self.targets)
            .map(|n| format!("p{number}-{n}"))
            .collect();
        let targets = DOWNSTREAMS.map(|name| json!({ "name": name, "packageNames": names }));
        json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha2",
            "kind": "PackageVariantSet",
            "metadata": { "name": format!("fleet-{number}") },
            "spec": {
                "upstream": { "repo": "blueprints", "package": "web", "revision": "v1" },
                "targets": [{ "repositories": targets }],
            },
        })
    }

    /// How many of the newest set's drafts are in the repository on the file system.
    pub(super) fn drafts(&self, world: &World) -> usize {
        let drafts = format!("refs/heads/drafts/p{}-*/*", self.number);
        let refs = world.git(&world.bare("near"), &["for-each-ref", &drafts]);
        refs.map_or(0, |refs| refs.lines().count())
    }

    /// Waits for a moment that the dice decide: after some time, or when some of the newest set's drafts are made.
    pub(super) fn moment(&self, world: &World, dice: &mut Dice) {
        if dice.roll(3) == 0 {
            return dice.pause(1_500);
        }
        let some = dice.roll(u64::try_from(self.targets).unwrap_or(1)).max(1);
        let began = Instant::now();
        while u64::try_from(self.drafts(world)).is_ok_and(|n| n < some) && began.elapsed() < SOON {
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// How many those may be.
    pub(super) fn near(&self) -> usize {
        self.targets
    }

    /// Waits until the newest set is complete and nothing moves, and holds everything against what was acknowledged.
    pub(super) fn examine(&self, world: &World) -> Result<Duration> {
        let began = Instant::now();
        self.complete(world)?;
        let rested = began.elapsed() + examine::rest(world)?;
        // Its drafts went with it, and what was published of it may be proposed for deletion.
        if let Some(last) = self.number.checked_sub(1) {
            world.ledger.forget(&format!(".p{last}-"));
        }
        examine::everything(world)?;
        self.one_set(world)?;
        self.counted(world)?;
        Ok(rested)
    }

    fn complete(&self, world: &World) -> Result<()> {
        let path = format!("{}/fleet-{}", SET.trim_end_matches("/web"), self.number);
        let began = Instant::now();
        loop {
            let found = world.get(&path)?;
            if found.pointer("/status/readyVariants") == Some(&json!(self.all())) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("the fan-out does not end: {}", found["status"]));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The newest set has one variant for each target, and the last one's are gone.
    fn one_set(&self, world: &World) -> Result<()> {
        let list = world.get(VARIANTS)?;
        let owners = list["items"].as_array().into_iter().flatten();
        let owners = owners.filter_map(|v| v.pointer("/metadata/ownerReferences/0/name")?.as_str());
        let (mut ours, newest) = (0, format!("fleet-{}", self.number));
        for owner in owners.filter(|owner| owner.starts_with("fleet-")) {
            if owner != newest {
                return Err(format!("a variant of {owner}, which was deleted, is there"));
            }
            ours += 1;
        }
        if ours != self.all() {
            return Err(format!("{ours} variants for {} targets", self.all()));
        }
        Ok(())
    }

    /// Every config map that was acknowledged is there.
    fn counted(&self, world: &World) -> Result<()> {
        let list = world.get(MAPS)?;
        let there: BTreeSet<&str> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|map| map["metadata"]["name"].as_str())
            .collect();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let lost: Vec<_> = kept
            .iter()
            .filter(|name| !there.contains(name.as_str()))
            .collect();
        if lost.is_empty() {
            Ok(())
        } else {
            Err(format!("acknowledged and lost: {lost:?}"))
        }
    }

    /// How many writes of the clerk were acknowledged.
    pub(super) fn kept(&self) -> usize {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

/// Writes one config map, and remembers it when it was acknowledged.
fn clerk(world: &World, dice: &mut Dice, kept: &Kept) {
    let name = format!("note-{}", world.ledger.number());
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    match world.create(MAPS, &map) {
        Ok(_) => drop(
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name),
        ),
        Err(_) => dice.pause(40),
    }
    dice.pause(20);
}
