//! One seed's world: what is durable, and the process that runs over it and can be killed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Clock, Ids};
use engine::{Cpu, Engine, Options};
use model::{CommitId, Repository, VariantSet};
use store::{Copied, MemoryOptions, MemoryStore, RefName, Refs, Store};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Violation;
use super::chaos::Chaos;
use super::dice::Dice;
use super::faults::Fault;
use super::fixtures::{self, BLUEPRINTS, Derived, NS, TARGETS};
use super::gate::{Gate, Lease, Replicas};
use super::git::FaultyStore;
use super::ledger::Ledger;
use super::mutant::{Mutant, Unsafe};
use super::people;
use super::ports::{Pasts, Ports};
use crate::twin::{TestIds, Twin, key};

/// The runtime's own clock: it stands still unless everybody waits.
#[derive(Debug)]
struct Paused(Instant);

impl Clock for Paused {
    fn unix_seconds(&self) -> i64 {
        let passed = i64::try_from(self.0.elapsed().as_secs()).unwrap_or(0);
        1_770_000_000 + passed
    }
}

/// What outlives a process.
pub(super) struct Durable {
    pub(super) twin: Arc<Twin>,
    pub(super) store: Arc<MemoryStore>,
    pub(super) chaos: Arc<Chaos>,
    pub(super) ledger: Ledger,
    pasts: Pasts,
    ids: Arc<dyn Ids>,
    clock: Arc<dyn Clock>,
    loose: Unsafe,
    mutant: Option<Mutant>,
    /// How often a process looks at its own repositories.
    local_poll: Duration,
    /// Where several processes live at once.
    pub(super) lease: Option<Arc<Lease>>,
}

/// What a seed's world holds beside the first namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tenants {
    /// Nothing.
    #[default]
    None,
    /// Another namespace registers the same repositories later; the first one writes.
    Beside,
    /// Both write.
    Shared,
}

/// The world.
pub(super) struct World {
    pub(super) durable: Durable,
    pub(super) engine: Engine,
    pub(super) running: JoinHandle<()>,
    /// The others, where several live at once.
    pub(super) replicas: Option<Replicas>,
    pub(super) dice: Dice,
    /// What a complete draft looks like; `None` while that is found out.
    pub(super) complete: Option<Derived>,
    /// The upstream's latest version.
    pub(super) version: u64,
    /// All hosts that were ever injected; the last is the present one.
    pub(super) hosts: Vec<String>,
    /// Sites that are there and cold.
    pub(super) sites: BTreeSet<String>,
    /// Whether the packages of sites are in their other places now; `None` where they never move.
    pub(super) moved: Option<bool>,
    /// Repositories that are cold.
    pub(super) cold: BTreeSet<String>,
    /// Decides what the second namespace does and what befalls remotes, apart from the rest.
    pub(super) wide: Dice,
    /// Decides when sets may select sites, in worlds where these lie in no namespace.
    pub(super) marks: Option<Dice>,
    /// Decides when somebody takes all tags of a package away, in worlds where that happens.
    pub(super) untags: Option<Dice>,
    /// Decides when links and tags on trees come, in worlds that have them.
    pub(super) links: Option<Dice>,
    /// Decides when a repository is registered a second time beside itself, in worlds where that happens.
    pub(super) again: Option<Dice>,
    /// Decides when the deletion of something published is approved, in worlds where that happens.
    pub(super) ends: Option<Dice>,
    /// Decides when a copy of a repository is made and registered, in worlds where that happens; the refs that it was made with.
    pub(super) copy: Option<(Dice, Option<Arc<Refs>>)>,
    /// The tags that somebody took away, with where they were.
    pub(super) untagged: Vec<(RefName, CommitId)>,
    /// The second namespace.
    pub(super) tenants: Tenants,
    /// All hosts that were ever injected in the second namespace.
    pub(super) theirs: Vec<String>,
    /// Whether repositories are tidied, put back and made anew.
    pub(super) troubled: bool,
    /// Whether people push to refs that are ours to move.
    pub(super) pushers: bool,
    /// Older copies of repositories.
    pub(super) copies: BTreeMap<String, Copied>,
    /// Whether a repository was tidied since a look at everything: the next one looks up what records name.
    pub(super) pruned: bool,
    /// Refs that lead nowhere.
    pub(super) nowhere: BTreeSet<RefName>,
}

impl Durable {
    /// What git is to a process: one of several has mirrors of its own.
    fn store_of(&self, gate: Option<&Arc<Gate>>) -> Arc<MemoryStore> {
        let Some(gate) = gate else {
            return Arc::clone(&self.store);
        };
        let options = MemoryOptions {
            faults: Arc::clone(gate) as Arc<dyn store::Faults>,
            ..MemoryOptions::default()
        };
        Arc::new(self.store.beside(options))
    }

    pub(super) fn start(&self) -> (Engine, JoinHandle<()>, Option<Arc<Gate>>) {
        let process = self.chaos.start();
        let endless = self.mutant == Some(Mutant::NoTerm);
        let lease = self.lease.as_ref();
        let gate = lease.map(|lease| Gate::take(lease, &self.chaos, endless));
        let store = self.store_of(gate.as_ref());
        let outside = Arc::new(Ports {
            gate: gate.clone(),
            twin: Arc::clone(&self.twin),
            store: Arc::clone(&store),
            chaos: Arc::clone(&self.chaos),
            ledger: self.ledger.clone(),
            pasts: self.pasts.clone(),
            process,
            mutant: self.mutant,
            loose: self.loose.clone(),
        });
        let ports = engine::ports::Ports {
            records: Arc::clone(&outside) as Arc<dyn engine::ports::Records>,
            variants: Arc::clone(&outside) as Arc<dyn engine::ports::Variants>,
            sets: Arc::clone(&outside) as Arc<dyn engine::ports::Objects<VariantSet>>,
            repositories: Arc::clone(&outside) as Arc<dyn engine::ports::Objects<Repository>>,
            secrets: Arc::clone(&outside) as Arc<dyn engine::ports::Secrets>,
            cluster: Arc::clone(&outside) as Arc<dyn engine::ports::Cluster>,
            events: Arc::clone(&outside) as Arc<dyn engine::ports::Events>,
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            functions: Arc::new(functions::BuiltIns),
            faults: outside,
        };
        let faulty = FaultyStore {
            gate: gate.clone(),
            store,
            chaos: Arc::clone(&self.chaos),
            ledger: self.ledger.clone(),
            mutant: self.mutant,
            loose: self.loose.clone(),
        };
        let options = Options {
            cpu: Cpu::Inline,
            local_poll: self.local_poll,
            remote_poll: Duration::from_secs(2),
            resync: Duration::from_secs(20),
            ..Options::default()
        };
        let engine = Engine::new(ports, Arc::new(faulty) as Arc<dyn Store>, options);
        let runs = engine.clone();
        (engine, tokio::spawn(async move { runs.run().await }), gate)
    }
}

impl World {
    /// Repositories, upstream v1, something to inject, two variants; a process that runs.
    pub(super) async fn new(seed: u64, mutant: Option<Mutant>, complete: Option<Derived>) -> Self {
        let mut world = Self::over(Chaos::new(seed), seed, mutant, complete);
        if world.complete.is_some() {
            world.tenants = match world.wide.roll(4) {
                0 => Tenants::Beside,
                1 => Tenants::Shared,
                _ => Tenants::None,
            };
            world.pushers = world.wide.one_in(3);
            world.troubled = world.wide.one_in(3) || world.durable.chaos.is_about_remotes();
        }
        world.settle_sites(seed);
        world.settle_tags(seed);
        world.settle_links(seed);
        world.settle_registration(seed);
        world.settle_ends(seed);
        world.settle_copy(seed);
        world.furnish().await;
        let twin = &world.durable.twin;
        twin.put_variant(fixtures::variant("shop", "deploy", "eu"));
        twin.put_variant(fixtures::variant("cafe", "edge", "eu"));
        let about_sets = world.durable.chaos.is_about_sets();
        if world.complete.is_some() && (about_sets || world.dice.one_in(2)) {
            world.start_with_set();
        }
        world.settle_tenants();
        world
    }

    /// Repositories, upstream v1 and something to inject: what a story starts from.
    pub(super) async fn bare(chaos: Arc<Chaos>, complete: Derived) -> Self {
        let mut world = Self::over(chaos, 0, None, Some(complete));
        world.furnish().await;
        world
    }

    /// Nothing but a process that runs.
    pub(super) fn over(
        chaos: Arc<Chaos>,
        seed: u64,
        mutant: Option<Mutant>,
        complete: Option<Derived>,
    ) -> Self {
        Self::polling(chaos, seed, mutant, complete, Duration::from_millis(400))
    }

    /// The same, with a process that looks at its own repositories this often.
    pub(super) fn polling(
        chaos: Arc<Chaos>,
        seed: u64,
        mutant: Option<Mutant>,
        complete: Option<Derived>,
        local_poll: Duration,
    ) -> Self {
        let store = Arc::new(MemoryStore::new(MemoryOptions {
            faults: Arc::clone(&chaos) as Arc<dyn store::Faults>,
            wire: Arc::clone(&chaos) as Arc<dyn store::Wire>,
            ..MemoryOptions::default()
        }));
        let durable = Durable {
            twin: Twin::new(),
            store,
            chaos,
            ledger: Ledger::default(),
            pasts: Pasts::default(),
            ids: Arc::new(TestIds::default()),
            clock: Arc::new(Paused(Instant::now())),
            loose: Unsafe::default(),
            mutant,
            local_poll,
            lease: None,
        };
        let (engine, running, _) = durable.start();
        Self {
            durable,
            engine,
            running,
            replicas: None,
            dice: Dice::new(seed ^ 0x0ff5_4007),
            complete,
            version: 1,
            hosts: Vec::new(),
            sites: BTreeSet::new(),
            moved: None,
            cold: BTreeSet::new(),
            wide: Dice::new(seed ^ 0x7e4a_4715),
            marks: None,
            untags: None,
            links: None,
            again: None,
            ends: None,
            copy: None,
            untagged: Vec::new(),
            tenants: Tenants::None,
            theirs: Vec::new(),
            troubled: false,
            pushers: false,
            copies: BTreeMap::new(),
            pruned: false,
            nowhere: BTreeSet::new(),
        }
    }

    pub(super) async fn furnish(&mut self) {
        let Durable { twin, store, .. } = &self.durable;
        people::found(store, BLUEPRINTS).await;
        people::release(store, BLUEPRINTS, 1, self.links.is_some()).await;
        self.serve_sites();
        twin.put_repository(fixtures::repository("blueprints", BLUEPRINTS, "none"));
        for (name, url) in TARGETS {
            people::found(store, url).await;
            self.put_target(name, url, "warm");
        }
        self.inject("first.example.test");
    }

    /// A set that selects something from the start.
    fn start_with_set(&mut self) {
        let [(name, url), _] = TARGETS;
        self.cold.insert(name.to_owned());
        self.put_target(name, url, "cold");
        self.durable.twin.put_set(fixtures::set("eu"));
        self.note_wanted();
    }

    /// Registers a target for the first namespace, or changes how it is labelled.
    pub(super) fn put_target(&self, name: &str, url: &str, zone: &str) {
        let mut repository = fixtures::repository(name, url, zone);
        fixtures::share(&mut repository, self.tenants == Tenants::Shared);
        self.durable.twin.put_repository(repository);
    }

    /// A step of what only some worlds have; false: this is no such world, or not now.
    pub(super) async fn wide_step(&mut self) -> Result<bool, Violation> {
        self.remark();
        self.retag().await?;
        self.link().await?;
        self.register_again();
        self.end_one().await?;
        self.register_copy()?;
        if self.wide.one_in(4) && self.tenants != Tenants::None {
            self.tenant_step().await?;
            return Ok(true);
        }
        if self.wide.one_in(25) {
            self.rights();
            return Ok(true);
        }
        if self.pushers && self.wide.one_in(5) {
            self.push_anywhere().await?;
            return Ok(true);
        }
        let often = if self.durable.chaos.is_about_remotes() {
            3
        } else {
            6
        };
        if self.troubled && self.wide.one_in(often) {
            self.trouble().await;
            return Ok(true);
        }
        Ok(false)
    }

    /// What the set selects, as `repository/package`.
    pub(super) fn wanted(&self) -> BTreeSet<String> {
        let mut want = BTreeSet::new();
        let set = self.durable.twin.set(NS, "fan");
        if set.is_some_and(|s| s.meta.deleted.is_none()) {
            want.extend(self.cold.iter().map(|r| format!("{r}/fan")));
            want.extend(self.sites.iter().map(|s| self.place_of(s)));
        }
        want
    }

    /// Whether the set of this world rolls out in steps.
    pub(super) fn rolls(&self) -> bool {
        self.durable.ledger.open().rolled.is_some()
    }

    /// Where the set puts a site, as `repository/package`.
    pub(super) fn place_of(&self, site: &str) -> String {
        let rolls = self.durable.ledger.open().rolled.is_some();
        let repository = if rolls && site < "s2" {
            "edge"
        } else {
            "deploy"
        };
        let package = fixtures::package_of(self.moved.unwrap_or_default());
        format!("{repository}/{package}{site}")
    }

    /// Tells the ledger what the set selects by now.
    pub(super) fn note_wanted(&self) {
        let wanted = self.wanted();
        self.durable.ledger.open().want(&wanted);
    }

    /// Changes the object that is injected.
    pub(super) fn inject(&mut self, host: &str) {
        let data = format!("{{\"host\":\"{host}\"}}");
        let (kind, object) = (fixtures::config_map(), key(NS, "endpoint"));
        let twin = &self.durable.twin;
        twin.put_object(&kind, &object, &[], Some(&data), None);
        self.durable.ledger.open().made_host(NS, host);
        self.hosts.push(host.to_owned());
    }

    /// Lets time pass; a process that dies is started again.
    pub(super) async fn pass(&mut self, millis: u64) -> Result<(), Violation> {
        let until = Instant::now() + Duration::from_millis(millis);
        loop {
            if !self.durable.chaos.alive() {
                self.restart().await?;
            }
            tokio::select! {
                biased;
                () = self.durable.chaos.died.notified() => {}
                () = tokio::time::sleep_until(until) => {
                    if self.durable.chaos.alive() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Starts a process on what the dead one left.
    async fn restart(&mut self) -> Result<(), Violation> {
        self.running.abort();
        self.engine.stop();
        self.durable.twin.drop_watches();
        if self.durable.chaos.spins() {
            return Err(Violation("I9: something is written without end".to_owned()));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        let Durable {
            store,
            chaos,
            twin,
            loose,
            ..
        } = &self.durable;
        let mut torn = false;
        store.crash(|_, _| {
            torn = true;
            chaos.roll(2) == 0
        });
        if torn {
            chaos.struck("restart", Fault::Torn);
        }
        loose.crash(twin, store).await;
        if chaos.roll(4) == 0 {
            store.lose_journals();
            chaos.struck("restart", Fault::JournalLost);
        }
        self.look()?;
        (self.engine, self.running, _) = self.durable.start();
        Ok(())
    }

    /// Waits until nothing is in line, and nothing was written for longer than anybody waits to try again (3 s); false: it never rests.
    pub(super) async fn rest(&mut self) -> Result<bool, Violation> {
        let mut before = (u64::MAX, 0, 0);
        let mut same = 0;
        // Longer than the longest time between two tries: five minutes.
        for _ in 0..800 {
            self.pass(700).await?;
            self.collect();
            let stats = self.engine.stats();
            let now = (self.writes(), stats.published, stats.failures);
            let waits = self.engine.busy() + self.engine.retrying().len();
            let quiet = waits == 0 && now == before;
            same = if quiet { same + 1 } else { 0 };
            if same >= 5 {
                return Ok(true);
            }
            before = now;
        }
        let waits = self.engine.retrying();
        self.durable
            .chaos
            .say(format!("still tried again: {waits:?}"));
        Ok(false)
    }

    /// What a cluster's garbage collector does, now and then: what belongs to nobody goes.
    pub(super) fn collect(&self) {
        let twin = &self.durable.twin;
        let sets = ["fan", "rival"].map(|name| twin.set(NS, name));
        let sets = sets.map(|set| set.and_then(|s| s.meta.uid.clone()));
        for variant in twin.variants() {
            // Their variants belong to nobody.
            let orphan = variant
                .meta
                .owners
                .iter()
                .any(|o| !sets.contains(&Some(o.uid.clone())));
            if orphan && variant.meta.deleted.is_none() {
                twin.delete_variant(NS, variant.key.name.as_str());
            }
        }
    }

    /// Writes of the object store.
    pub(super) fn writes(&self) -> u64 {
        self.durable.twin.writes()
    }

    /// Ends the process for good.
    pub(super) fn end(&self) {
        self.running.abort();
        self.engine.stop();
        self.durable.twin.drop_watches();
    }
}
