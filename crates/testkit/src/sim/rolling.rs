//! The walk through a world whose set rolls out in steps: people publish, reject and edit members, upstream goes on, somebody
//! pauses and takes back, targets come and go, a remote is out of reach, and the process dies in any step.

use std::time::Duration;

use engine::usecase::Preconditions;
use model::{Door, Lifecycle, ObjectKey, Revision, RolloutState, VariantSet};
use plan::set::{PAUSE, RETRY, UNDO};
use tokio::time::Instant;

use super::Violation;
use super::chaos::Chaos;
use super::fixtures::{self, Derived, NS, REGIONS, TARGETS};
use super::mutant::Mutant;
use super::reached::Rolled;
use super::settled::Checked;
use super::steps::alice;
use super::world::World;
use crate::twin::key;

/// How many steps a walk has.
const STEPS: u64 = 40;
/// How often a process looks at its own repositories, as outside: nobody pushes to them all the time here.
const LOCAL_POLL: Duration = Duration::from_secs(2);
/// How many sites there are at most.
const SITES: u64 = 6;
/// The first seed of the worlds whose sites move to other packages, too: those before it stay what they were.
const MOVES: u64 = 500_000;
/// After how many of these something that is still open is rejected once.
const STUBBORN: usize = 8;
/// How many rounds of publishing bring any rollout to its end.
const ROUNDS: usize = 60;

/// The walk of one seed.
pub(super) async fn walk(world: &mut World) -> Checked {
    // Without faults nothing excuses anything for long.
    let faults = world.dice.one_in(2);
    world.durable.chaos.set_on(faults);
    for _ in 0..STEPS {
        world.roll_on().await?;
        let pause = match world.dice.roll(3) {
            0 => world.dice.roll(500),
            1 => world.dice.roll(4_000),
            _ => 3_000 + world.dice.roll(40_000),
        };
        world.pass(pause).await?;
        world.look()?;
        if !faults && world.dice.one_in(8) {
            world.at_rest().await?;
        }
    }
    world.durable.chaos.set_on(false);
    world.pass(30_000).await?;
    world.at_rest().await?;
    world.finish().await
}

impl World {
    /// A set in steps over both repositories and four sites.
    pub(super) async fn rolling(seed: u64, mutant: Option<Mutant>, complete: Derived) -> Self {
        let chaos = Chaos::new(seed);
        let mut world = Self::polling(chaos, seed, mutant, Some(complete), LOCAL_POLL);
        world.durable.ledger.open().rolled = Some(Rolled::default());
        world.furnish().await;
        for (name, url) in TARGETS {
            world.cold.insert(name.to_owned());
            world.put_target(name, url, "cold");
        }
        for n in [0, 2, 3, 4] {
            world.toggle(&format!("s{n}"));
        }
        world.moved = (seed >= MOVES).then_some(false);
        let set = fixtures::rolling_set("eu", false);
        world.calls(&set);
        world.durable.twin.put_set(set);
        world.note_wanted();
        world
    }

    async fn roll_on(&mut self) -> Checked {
        match self.dice.roll(28) {
            0..=8 => self.publish_one().await?,
            9 => self.reject_one().await?,
            10..=11 => self.edit_one().await?,
            12..=13 => self.release().await,
            14 => {
                let site = format!("s{}", self.dice.roll(SITES));
                self.toggle(&site);
            }
            15 => {
                let held = self.dice.one_in(2).then(|| "yes".to_owned());
                self.annotate(PAUSE, held);
            }
            16..=17 => self.retry(),
            18 => self.undo(),
            19 => self.resume(),
            20 if self.moved.is_some() && self.dice.one_in(2) => self.move_sites(),
            20 => self.want_region(),
            21 => self.part(),
            22 => self.rival_set(),
            23..=24 => self.by_hand(),
            25..=26 => self.exchange_names(),
            _ => self.durable.chaos.kill(),
        }
        Ok(())
    }

    /// The places of members, published or not.
    fn place(&mut self) -> Option<String> {
        let places: Vec<String> = self.wanted().into_iter().collect();
        self.dice.pick(&places).cloned()
    }

    async fn publish_one(&mut self) -> Checked {
        let Some(at) = self.place() else {
            return Ok(());
        };
        self.publish_draft(&at).await
    }

    async fn publish_draft(&mut self, at: &str) -> Checked {
        let Some(draft) = self.open(at) else {
            return Ok(());
        };
        if draft.lifecycle == Lifecycle::Draft {
            self.propose(at).await?;
        }
        self.publish(&draft.key).await
    }

    async fn reject_one(&mut self) -> Checked {
        let Some(at) = self.place() else {
            return Ok(());
        };
        if self.open(&at).is_some() {
            self.propose(&at).await?;
        }
        self.reject(&at).await
    }

    async fn edit_one(&mut self) -> Checked {
        let Some(at) = self.place() else {
            return Ok(());
        };
        if self.dice.one_in(3) {
            self.push_edit(&at).await;
            return Ok(());
        }
        let Some(draft) = self.open(&at) else {
            return Ok(());
        };
        let key: ObjectKey = draft.key;
        self.edit_of(&key, &at).await.map(drop)
    }

    /// A site comes or goes.
    fn toggle(&mut self, site: &str) {
        let place = self.place_of(site);
        let comes = !self.sites.remove(site);
        if comes {
            self.sites.insert(site.to_owned());
        } else {
            self.durable.ledger.open().forget_package(&place);
        }
        let zone = if comes { "cold" } else { "warm" };
        self.durable.chaos.say(format!("site {site} is {zone}"));
        let (kind, labels) = (fixtures::site(), [("zone", zone)]);
        let twin = &self.durable.twin;
        twin.put_object(&kind, &key(NS, site), &labels, None, Some("{}"));
        self.note_wanted();
    }

    /// The set as it is, changed as somebody wants it.
    fn change_set(&self, change: impl FnOnce(&mut VariantSet)) {
        let stored = self.durable.twin.set(NS, "fan");
        if let Some(mut set) = stored.and_then(|s| s.parsed.ok()) {
            change(&mut set);
            self.calls(&set);
            self.durable.twin.put_set(set);
        }
    }

    /// Notes what the steps are called from now on.
    fn calls(&self, set: &VariantSet) {
        if let Some(rolled) = &mut self.durable.ledger.open().rolled {
            rolled.called(set);
        }
    }

    /// Two steps exchange their names in mid-rollout: each stays the step that it was.
    fn exchange_names(&mut self) {
        let first = usize::try_from(self.dice.roll(2)).unwrap_or_default();
        let second = first + 1;
        self.durable
            .chaos
            .say(format!("steps {first} and {second} exchange their names"));
        self.change_set(|set| {
            let steps = set.spec.rollout.iter_mut().flat_map(|r| &mut r.steps);
            let mut names: Vec<&mut String> = steps.map(|step| &mut step.name).collect();
            if let [a, b] = &mut names[first..=second] {
                std::mem::swap(*a, *b);
            }
        });
    }

    fn annotate(&self, name: &str, value: Option<String>) {
        self.durable.chaos.say(format!("{name} is {value:?}"));
        self.change_set(|set| {
            let annotations = &mut set.meta.annotations;
            match value {
                Some(value) => drop(annotations.insert(name.to_owned(), value)),
                None => drop(annotations.remove(name)),
            }
        });
    }

    fn retry(&self) {
        let fresh = self.durable.ledger.open().fresh("retry");
        self.annotate(RETRY, Some(fresh));
    }

    fn undo(&self) {
        let rollout = self
            .durable
            .twin
            .set(NS, "fan")
            .and_then(|s| s.status.rollout);
        if let Some(rollout) = rollout {
            self.undoes();
            self.annotate(UNDO, Some(rollout.id));
        }
    }

    fn undoes(&self) {
        if let Some(rolled) = &mut self.durable.ledger.open().rolled {
            rolled.undone = Some(Instant::now());
        }
    }

    fn resume(&self) {
        self.undoes();
        self.annotate(UNDO, None);
        self.annotate(PAUSE, None);
    }

    /// Another spec: it goes through the steps, too.
    fn want_region(&mut self) {
        let Some(region) = self.dice.pick(&REGIONS).copied() else {
            return;
        };
        self.durable
            .chaos
            .say(format!("the set is to be in {region}"));
        let moved = self.moved.unwrap_or_default();
        self.change_set(|set| set.spec = fixtures::rolling_set(region, moved).spec);
    }

    /// The template puts the sites into other packages: into those of before, if that happened already.
    fn move_sites(&mut self) {
        let left: Vec<String> = self.sites.iter().map(|site| self.place_of(site)).collect();
        for place in &left {
            self.durable.ledger.open().forget_package(place);
        }
        let moved = !self.moved.unwrap_or_default();
        self.moved = Some(moved);
        let prefix = fixtures::package_of(moved);
        self.durable
            .chaos
            .say(format!("the sites move to {prefix}*"));
        self.change_set(|set| {
            for target in &mut set.spec.targets {
                let template = target.template.get_or_insert_default();
                if let Some(package) = &mut template.package_expr {
                    *package = format!("'{prefix}' + target.name");
                }
            }
        });
        self.note_wanted();
        let wanted = self.wanted();
        if let Some(rolled) = &mut self.durable.ledger.open().rolled {
            rolled.left.extend(left);
            rolled.left.retain(|place| !wanted.contains(place));
        }
    }

    /// The remote cannot be reached for a while.
    fn part(&mut self) {
        let [_, (_, url)] = TARGETS;
        let pause = Duration::from_millis(2_000 + self.dice.roll(60_000));
        self.durable
            .chaos
            .say(format!("{url} is away for {pause:?}"));
        self.durable.chaos.go_away(url, Instant::now() + pause);
    }

    /// Another set over the same places comes, once, or goes.
    fn rival_set(&self) {
        let twin = &self.durable.twin;
        let mut promises = self.durable.ledger.open();
        let rolled = promises.rolled.get_or_insert_default();
        let was_there = std::mem::replace(&mut rolled.rivalled, true);
        drop(promises);
        if was_there {
            self.rival_goes();
        } else {
            twin.put_set(fixtures::rival_set());
            self.durable.chaos.say("a rival set comes");
        }
    }

    /// What the rival made stays, and is taken over.
    fn rival_goes(&self) {
        if self.durable.twin.set(NS, "rival").is_some() {
            self.durable.chaos.say("the rival set goes");
            self.durable.twin.delete_set(NS, "rival");
        }
    }

    async fn at_rest(&mut self) -> Checked {
        if !self.rest().await? {
            return Err(Violation("convergence: no rest".to_owned()));
        }
        self.look()?;
        self.put_back()?;
        self.rolled()
    }

    /// What variants say that are not as they shall be.
    fn failures(&self) -> Vec<String> {
        let all = self.durable.twin.variants().into_iter();
        all.filter_map(|v| {
            let ready = v.status.condition("Ready")?;
            let failed = ready.status != model::Status::True;
            failed.then(|| format!("{} {}: {}", v.key, ready.reason, ready.message))
        })
        .collect()
    }

    /// A draft that no variant has any more is deleted: it stands beside that of the variant that is there now.
    async fn discard(&self, left: Revision) -> Checked {
        self.durable.ledger.open().forget_revision(&left.key);
        let (engine, by) = (self.engine.clone(), alice());
        let anything = Preconditions::default();
        let delete = engine.delete(&by, &left.key, &anything);
        self.ask(&format!("delete {}", left.key), delete)
            .await
            .map(drop)
    }

    /// Whoever approves deletions keeps a package that is wanted: nobody knows any more who wanted it gone.
    async fn keep(&mut self, at: &str) -> Checked {
        let mut stands = self.durable.twin.revisions();
        stands.retain(|r| {
            let place = format!("{}/{}", r.repository, r.package);
            place == at && r.lifecycle == Lifecycle::DeletionProposed
        });
        for revision in stands {
            self.move_to(&revision.key, Door::Approval, Lifecycle::Published)
                .await?;
        }
        Ok(())
    }

    /// Everybody finishes what they were at: the rollout comes to its end, and then nothing is written any more.
    async fn finish(&mut self) -> Checked {
        self.rival_goes();
        self.resume();
        let mut last = Violation("F7: the rollout does not end".to_owned());
        for round in 0..ROUNDS {
            self.at_rest().await?;
            let set = self.durable.twin.set(NS, "fan");
            let rollout = set.and_then(|s| s.status.rollout).unwrap_or_default();
            let places: Vec<String> = self.wanted().into_iter().collect();
            let open = places.iter().filter(|at| self.open(at).is_some()).count();
            if rollout.state == RolloutState::Complete && open == 0 {
                match self.settled() {
                    Ok(()) => return self.calm().await,
                    Err(violation) => last = violation,
                }
            } else {
                let told = format!("F7: the rollout does not end: {}", rollout.progress());
                let failed = self.failures();
                last = Violation(format!("{told}: {}: {failed:?}", rollout.message));
            }
            for at in places {
                self.publish_draft(&at).await?;
                // What cannot be approved, as its branch went on without it, is rejected and brought in line.
                if round % STUBBORN == STUBBORN - 1 {
                    match self.open(&at) {
                        Some(left) if left.meta.controller().is_none() => {
                            self.discard(left).await?
                        }
                        Some(_) => self.reject(&at).await?,
                        None => self.keep(&at).await?,
                    }
                }
            }
            if rollout.halted.is_some() {
                self.retry();
            } else if rollout.message.starts_with("no member of") {
                // A step whose members all went stands for good: another upstream begins anew.
                self.publish_upstream().await;
            }
            self.pass(30_000).await?;
        }
        Err(last)
    }
}
