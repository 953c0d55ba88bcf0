//! Git, the cluster and the clock of the model.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::holders::{Holder, LEASE, Members, PUSHES, RENEW, State};
use super::{Fleet, Mutant, SpreadReport, holder_of};
use crate::sim::dice::Dice;

/// Microseconds of one process for a draft, milliseconds of a push, and microseconds for each ref of it.
const DRAFT: u64 = 2_600;
const PUSH: u64 = 150;
const REF: u64 = 500;

/// How many refs one push moves at most.
const BATCH: usize = 50;

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A holder looks for work.
    Look(usize),
    /// A push is to leave, prepared in an epoch: holder, repository, variants.
    Leave(usize, u64, usize, Vec<usize>),
    /// A push arrives, with the versions that it expects.
    Arrive(usize, usize, Vec<(usize, u8)>),
    /// A holder heard what its push came to: the variants that it moved, none where it was stale.
    Answer(usize, usize, Vec<usize>),
    /// A holder renews its Lease.
    Renew(usize),
    /// A holder hears of an epoch.
    Hear(usize, Members),
    /// One holder looks whether another one is gone.
    Watch(usize),
    /// One wakes, or reaches the cluster again.
    Wake(usize),
    /// Another process comes in place of one that is gone.
    Join,
}

/// One variant.
#[derive(Debug, Clone, Copy, Default)]
struct Variant {
    /// The upstream version that its ref is made of: 0, then 1.
    version: u8,
    /// How often its ref moved.
    moves: u8,
    /// Whether its record says so.
    recorded: bool,
}

/// One seed's world.
pub(super) struct World {
    fleet: Fleet,
    dice: Dice,
    now: u64,
    order: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    variants: Vec<Variant>,
    holders: Vec<Holder>,
    members: Members,
    /// The latest epoch in which a push to a repository left.
    begun: Vec<u64>,
    owned: Vec<usize>,
    done: usize,
    lost: Option<(usize, u64)>,
    moved: Vec<usize>,
    away: u64,
    pushes: (usize, usize),
    found: usize,
}

impl World {
    pub(super) fn new(seed: u64, fleet: Fleet) -> Self {
        let members = Members {
            epoch: 1,
            all: (0..fleet.holders).collect(),
        };
        let mut world = Self {
            fleet,
            dice: Dice::new(seed),
            now: 0,
            order: 0,
            events: BinaryHeap::new(),
            variants: vec![Variant::default(); fleet.variants],
            holders: vec![Holder::new(&members); fleet.holders],
            begun: vec![0; fleet.repositories],
            owned: vec![0; fleet.holders],
            done: 0,
            lost: None,
            moved: Vec::new(),
            away: 0,
            pushes: (0, 0),
            found: 0,
            members,
        };
        for repository in 0..fleet.repositories {
            if let Some(holder) = owner(repository, &world.members) {
                world.owned[holder] += 1;
                world.holders[holder].queue.push(repository);
            }
        }
        for holder in 0..fleet.holders {
            let begins = world.dice.roll(RENEW);
            world.after(0, Event::Look(holder));
            world.after(begins, Event::Renew(holder));
            world.after(begins + RENEW, Event::Watch(holder));
        }
        world
    }

    /// How many variants are not upgraded.
    pub(super) fn open(&self) -> usize {
        self.fleet.variants - self.done
    }

    /// Lets the next thing happen; answers when that was, `None` once everything is done and nothing is on its way.
    pub(super) fn step(&mut self) -> Result<Option<u64>, String> {
        let Some(Reverse((now, _, event))) = self.events.pop() else {
            return Ok(None);
        };
        self.now = now;
        match event {
            Event::Look(holder) => self.look(holder),
            Event::Leave(holder, epoch, repository, all) => {
                self.leave(holder, epoch, repository, &all)?;
            }
            Event::Arrive(holder, repository, all) => self.arrive(holder, repository, &all)?,
            Event::Answer(holder, repository, made) => self.answer(holder, repository, &made),
            Event::Renew(holder) => self.renew(holder),
            Event::Hear(holder, members) => self.hear(holder, members),
            Event::Watch(holder) => self.watch(holder),
            Event::Wake(holder) => self.wake(holder),
            Event::Join => self.join(),
        }
        Ok(Some(now))
    }

    /// What came of it, if everything was kept.
    pub(super) fn report(self) -> Result<SpreadReport, String> {
        for (at, variant) in self.variants.iter().enumerate() {
            if (variant.version, variant.moves, variant.recorded) != (1, 1, true) {
                return Err(format!("variant {at} ends as {variant:?}"));
            }
        }
        Ok(SpreadReport {
            took: self.now,
            away: self.away,
            owned: self.owned,
            moved: self.moved.len(),
            pushes: self.pushes,
            found: self.found,
        })
    }

    fn after(&mut self, pause: u64, event: Event) {
        // Renewals and looks at others end with the work: nothing is to be seen after it.
        let goes_on = matches!(
            event,
            Event::Renew(_) | Event::Watch(_) | Event::Wake(_) | Event::Join
        );
        if goes_on && self.open() == 0 {
            return;
        }
        self.order += 1;
        let event = Reverse((self.now + pause, self.order, event));
        self.events.push(event);
    }

    fn of(&self, repository: usize) -> std::ops::Range<usize> {
        let each = self.fleet.variants / self.fleet.repositories;
        let last = repository + 1 == self.fleet.repositories;
        let end = if last {
            self.fleet.variants
        } else {
            (repository + 1) * each
        };
        repository * each..end
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.fleet.mutant == Some(mutant)
    }

    /// Takes the next repository that may be begun, reads what stands there, and prepares what is missing.
    fn look(&mut self, at: usize) {
        let holder = &self.holders[at];
        if !holder.runs() || holder.flying >= PUSHES || holder.busy > self.now {
            return;
        }
        let open = (0..holder.queue.len()).find(|one| self.may_begin(at, holder.queue[*one]));
        let Some(open) = open else {
            if !self.holders[at].queue.is_empty() {
                self.after(500, Event::Look(at));
            }
            return;
        };
        let repository = self.holders[at].queue.remove(open);
        let mut missing = Vec::new();
        for one in self.of(repository) {
            let variant = self.variants[one];
            if variant.version == 0 || (self.is(Mutant::NoTrailers) && !variant.recorded) {
                missing.push(one);
            } else if !variant.recorded {
                // Somebody made it, and could not record it any more.
                self.record(one);
                self.found += 1;
            }
        }
        missing.truncate(BATCH);
        let took = 20 + u64::try_from(missing.len()).unwrap_or(0) * DRAFT / 1_000;
        let epoch = self.holders[at].heard.epoch;
        self.holders[at].busy = self.now + took;
        if !missing.is_empty() {
            self.holders[at].flying += 1;
            self.after(took, Event::Leave(at, epoch, repository, missing));
        }
        self.after(took, Event::Look(at));
    }

    /// Whether a repository that is a holder's now was given up by whoever had it.
    fn may_begin(&self, at: usize, repository: usize) -> bool {
        let epoch = self.holders[at].heard.epoch;
        if self.begun[repository] == epoch || epoch == 1 || self.is(Mutant::NoHandingOver) {
            return true;
        }
        let others = self
            .holders
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        others
            .map(|(_, other)| other)
            .all(|other| other.says >= epoch || other.is_over(self.now))
    }

    fn leave(
        &mut self,
        at: usize,
        epoch: u64,
        repository: usize,
        all: &[usize],
    ) -> Result<(), String> {
        let holder = &self.holders[at];
        let still = owner(repository, &holder.heard) == Some(at);
        let may = holder.may(self.now) || (holder.runs() && self.is(Mutant::NoGrace));
        if !may || !still {
            self.holders[at].flying -= 1;
            return Ok(());
        }
        let epoch = epoch.max(holder.heard.epoch);
        if self.begun[repository] > epoch {
            return Err(format!(
                "holder {at} begins repository {repository} in epoch {epoch}, which epoch {} began",
                self.begun[repository]
            ));
        }
        self.begun[repository] = epoch;
        if let Some((lost, when)) = self.lost
            && (self.away, at == lost) == (0, false)
            && self.moved.contains(&repository)
        {
            self.away = self.now - when;
        }
        self.pushes.0 += 1;
        let expected = all.iter().map(|one| (*one, self.variants[*one].version));
        let expected = expected.collect();
        let refs = u64::try_from(all.len()).unwrap_or(0);
        // Some are on their way for longer than any Lease lasts.
        let slow = if self.dice.one_in(500) { LEASE * 2 } else { 0 };
        let way = PUSH + refs * REF / 1_000 + self.dice.roll(PUSH) + slow;
        self.after(way, Event::Arrive(at, repository, expected));
        Ok(())
    }

    fn arrive(&mut self, at: usize, repository: usize, all: &[(usize, u8)]) -> Result<(), String> {
        let stands = all
            .iter()
            .all(|(one, version)| self.variants[*one].version == *version);
        let mut made = Vec::new();
        if stands || self.is(Mutant::NoCompare) {
            for (one, _) in all {
                let variant = &mut self.variants[*one];
                variant.version = 1;
                variant.moves += 1;
                if variant.moves > 1 {
                    return Err(format!(
                        "variant {one} was upgraded {} times",
                        variant.moves
                    ));
                }
                made.push(*one);
            }
        } else {
            self.pushes.1 += 1;
        }
        let back = 5 + self.dice.roll(40);
        self.after(back, Event::Answer(at, repository, made));
        Ok(())
    }

    /// Records what was pushed, as far as the holder may; what is left of the repository comes next.
    fn answer(&mut self, at: usize, repository: usize, made: &[usize]) {
        self.holders[at].flying -= 1;
        let reaches = self.holders[at].state == State::Well;
        if self.holders[at].may(self.now) && reaches {
            for one in made {
                self.record(*one);
            }
        }
        let holder = &mut self.holders[at];
        if owner(repository, &holder.heard) == Some(at) && !holder.queue.contains(&repository) {
            holder.queue.push(repository);
        }
        self.after(0, Event::Look(at));
        self.lose();
    }

    fn record(&mut self, one: usize) {
        if !self.variants[one].recorded {
            self.variants[one].recorded = true;
            self.done += 1;
        }
    }

    /// One is lost in the middle, in one of three ways.
    fn lose(&mut self) {
        if !self.fleet.loses || self.lost.is_some() || self.open() * 2 > self.fleet.variants {
            return;
        }
        let sides = u64::try_from(self.fleet.holders).unwrap_or(1);
        let at = usize::try_from(self.dice.roll(sides)).unwrap_or(0);
        self.holders[at].state = match self.dice.roll(3) {
            0 => State::Dead,
            1 => State::Asleep,
            _ => State::CutOff,
        };
        self.lost = Some((at, self.now));
        let all = (0..self.fleet.repositories).filter(|one| owner(*one, &self.members) == Some(at));
        self.moved = all.collect();
        self.after(LEASE * 2, Event::Wake(at));
    }

    fn renew(&mut self, at: usize) {
        let now = self.now;
        let holder = &mut self.holders[at];
        if holder.state == State::Well {
            holder.renewed = now;
            holder.says = holder.heard.epoch;
        }
        if holder.state != State::Dead {
            self.after(RENEW, Event::Renew(at));
        }
    }

    /// Takes whoever is over out of the members; each hears of it a little later.
    fn watch(&mut self, at: usize) {
        if self.holders[at].state == State::Well {
            let over = |one: &usize| self.holders[*one].is_over(self.now);
            if let Some(gone) = self.members.all.iter().copied().find(over) {
                self.members.all.retain(|one| *one != gone);
                self.tell();
                self.after(1_000, Event::Join);
            }
        }
        if self.holders[at].state != State::Dead {
            self.after(500, Event::Watch(at));
        }
    }

    /// The members are others: each hears of it a little later.
    fn tell(&mut self) {
        self.members.epoch += 1;
        for one in 0..self.holders.len() {
            let late = self.dice.roll(2_000);
            let members = self.members.clone();
            self.after(late, Event::Hear(one, members));
        }
    }

    /// A new process takes its share of what the others have.
    fn join(&mut self) {
        let at = self.holders.len();
        self.members.all.push(at);
        self.tell();
        let mut holder = Holder::new(&self.members);
        holder.renewed = self.now;
        let own = |one: &usize| owner(*one, &self.members) == Some(at);
        holder.queue = (0..self.fleet.repositories).filter(own).collect();
        self.holders.push(holder);
        self.after(0, Event::Look(at));
        self.after(RENEW, Event::Renew(at));
        self.after(500, Event::Watch(at));
    }

    fn hear(&mut self, at: usize, members: Members) {
        let holder = &mut self.holders[at];
        if holder.state != State::Well || members.epoch <= holder.heard.epoch {
            return;
        }
        let before = std::mem::replace(&mut holder.heard, members);
        let after = &self.holders[at].heard;
        let is_new =
            |one: &usize| owner(*one, after) == Some(at) && owner(*one, &before) != Some(at);
        let new: Vec<usize> = (0..self.fleet.repositories).filter(is_new).collect();
        let kept = |one: &usize| owner(*one, &self.holders[at].heard) == Some(at);
        let mut queue: Vec<usize> = self.holders[at]
            .queue
            .iter()
            .copied()
            .filter(kept)
            .collect();
        queue.extend(new);
        self.holders[at].queue = queue;
        self.after(0, Event::Look(at));
    }

    /// Whoever slept or was cut off is a member no more: it ends.
    fn wake(&mut self, at: usize) {
        let is_member = self.members.all.contains(&at);
        let holder = &mut self.holders[at];
        match holder.state {
            // For a moment it goes on where it stood.
            State::Asleep | State::CutOff if is_member => {
                holder.state = State::Well;
                self.after(0, Event::Look(at));
            }
            State::Asleep => {
                holder.state = State::CutOff;
                self.after(0, Event::Look(at));
                self.after(RENEW, Event::Wake(at));
            }
            State::CutOff => holder.state = State::Dead,
            State::Well | State::Dead => {}
        }
    }
}

fn owner(repository: usize, members: &Members) -> Option<usize> {
    holder_of(
        &format!("https://git.example.com/fleet/{repository}.git"),
        &members.all,
    )
}
