//! The seeded simulation: some seeds, those that once failed, and mutants that it must notice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use testkit::sim::{Cell, Matrix, Mutant, Scenario, SeedOutcome, Sim, Tally, print, zeros};

/// Seeds of one run; `OFFSHOOT_SIM_SEEDS` asks for others (`FROM..TO` or a number), `cargo xtask sim`
/// for any. So many strike with every fault at every side effect, which is asserted.
const SEEDS: u64 = 300;

/// Seeds that broke a promise once, and with what (each has a test of its own beside what was mended).
const PINNED: [u64; 38] = [
    92,      // a list without a repository that is there: its records forgotten
    144,     // a list without a variant: the draft that git brought back was nobody's
    169,     // a list without a record that is there: a draft left behind
    182, // a list without a draft and one without its repository's state: left behind as its variant went
    199, // a publish cut short beside its tag: two open drafts
    234, // a list from the past: a draft for a variant that was gone
    275, // as 199
    276, // as 182
    288, // a proposal torn: the draft's ref gone, the proposal's not there
    308, // a proposal torn: a person went on with the draft that was left, and it outlived the publish
    1448, // a variant went while the record of its draft could not be written
    1505, // a person went on with a proposal whose publish was cut short: their push stays beside it
    3342, // a list from the past gave a new draft to the variant that had gone
    6526, // a status from the past was put right by a watch, and nobody looked at the set again
    9691, // a variant that waits for approval was looked at for ever, since something had failed before
    385,  // a copy beside a commit of somebody's on the branch was approved over it
    878,  // as 385
    427,  // another namespace's leavings, which a person kept, are in the way
    967,  // two namespaces brought one draft in line with their own inputs by turns, for ever
    860,  // a repository put back while a variant was decided: nobody looked again
    1173, // as 860
    10076, // a person pushed to the draft beside a proposal, which could never be taken back
    12650, // an approval that had got as far as the branch, tried again: a second number for one revision
    9155,  // a draft that an older copy brought back to where it was seen last: never recorded
    9411,  // a deletion heard of before its object: the object was there for good
    14201, // a draft beside a proposal of its name that went another way: told nowhere
    15724, // a mark of deletion that only a look at its package saw: proposed for deletion for ever
    4190,  // a branch that was gone for a moment: its variant gave up
    202_513, // an approved deletion whose note could not be written: its tag was missed
    202_409, // as 202513, beside an open draft that went later
    201_305, // what was published was deleted beside a person's commit: the variant said that it never was
    206_161, // as 201305, beside a tag on a tree
    201_459, // a copy made while a proposal by git stood beside its draft: a look at it completes that
    200_753, // a revision of a repository that was made anew was proposed to go: the check's own mistake
    207_282, // tags put back behind a list of records from the past: never recorded
    307_321, // a record that a list from the past hid outlived its registration
    306_305, // an approved deletion was not noted, since what somebody had pushed took the record over
    314_114, // tags put back had no record yet: an open draft was made of upstream alone, and published
];

fn asked() -> Option<Vec<u64>> {
    let text = std::env::var("OFFSHOOT_SIM_SEEDS").ok()?;
    let (from, to) = text.split_once("..").unwrap_or(("0", &text));
    Some((from.parse().ok()?..to.parse().ok()?).collect())
}

fn fail(outcome: &SeedOutcome, why: &str) -> ! {
    let story = outcome.story.join("\n  ");
    panic!("seed {}: {why}\n  {story}", outcome.seed);
}

/// Runs seeds on all cores, each seed on one thread.
fn run(sim: &Sim, seeds: Vec<u64>, mutant: Option<Mutant>, first: bool) -> Vec<SeedOutcome> {
    run_by(sim, seeds, first, move |sim, seed| sim.run(seed, mutant))
}

/// The same with another walk.
fn run_by(
    sim: &Sim,
    seeds: Vec<u64>,
    first: bool,
    walk: impl Fn(&Sim, u64) -> SeedOutcome + Copy + Send + 'static,
) -> Vec<SeedOutcome> {
    let next = Arc::new(AtomicU64::new(0));
    let seeds = Arc::new(seeds);
    let found = Arc::new(Mutex::new(Vec::new()));
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let threads: Vec<_> = (0..cores)
        .map(|_| {
            let (sim, seeds) = (sim.clone(), Arc::clone(&seeds));
            let (next, found) = (Arc::clone(&next), Arc::clone(&found));
            std::thread::spawn(move || {
                loop {
                    let at = usize::try_from(next.fetch_add(1, Ordering::SeqCst)).expect("few");
                    let Some(seed) = seeds.get(at) else { return };
                    let outcome = walk(&sim, *seed);
                    let broken = outcome.violation.is_some();
                    found.lock().expect("no panic").push(outcome);
                    if first && broken {
                        next.store(u64::from(u32::MAX), Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let mut all = std::mem::take(&mut *found.lock().expect("no panic"));
    all.sort_by_key(|outcome| outcome.seed);
    all
}

#[test]
fn nothing_is_lost_and_everything_comes_to_rest_whatever_strikes() {
    let sim = Sim::new().expect("a world without faults");
    let asked = asked();
    let whole = asked.is_none();
    let seeds = asked.unwrap_or_else(|| {
        let more = PINNED.iter().copied().filter(|seed| *seed >= SEEDS);
        (0..SEEDS).chain(more).collect()
    });
    let outcomes = run(&sim, seeds, None, false);
    let mut tally = Tally::new();
    for (strike, count) in outcomes.iter().flat_map(|o| &o.tally) {
        *tally.entry(strike.clone()).or_default() += count;
    }
    println!("{}", print(&tally));
    let broken: Vec<&SeedOutcome> = outcomes.iter().filter(|o| o.violation.is_some()).collect();
    for outcome in &broken {
        println!("seed {}: {:?}", outcome.seed, outcome.violation);
    }
    if let Some(outcome) = broken.first() {
        fail(outcome, &format!("{:?}", outcome.violation));
    }
    assert!(
        !whole || zeros(&tally).is_empty(),
        "never struck: {:?}",
        zeros(&tally)
    );
}

#[test]
fn the_same_seed_is_the_same_walk() {
    let sim = Sim::new().expect("a world without faults");
    for seed in [3, 17] {
        assert_eq!(sim.run(seed, None), sim.run(seed, None));
    }
}

/// What only some worlds have comes about there: a walk whose every push is refused would hold all that it promises.
#[test]
fn what_some_worlds_have_is_seen_in_their_stories() {
    let sim = Sim::new().expect("a world without faults");
    let such = |seed: &u64| [4, 5, 6, 13, 17, 23, 24, 26].contains(&(seed % 32));
    let seeds = (0..128).filter(such).collect();
    let outcomes = run(&sim, seeds, None, false);
    let stories: Vec<&String> = outcomes.iter().flat_map(|o| &o.story).collect();
    for (what, how) in [
        ("a person links", "true"),
        ("on the branch: Some", "link"),
        ("a person tags a tree", "true"),
        ("deploy is registered again", ""),
        ("deploy is registered no more", ""),
        ("deploy has a second variant", ""),
        ("approve the deletion of default/deploy.shop", "done"),
        ("approve the deletion of default/edge.cafe", "done"),
        ("copy is made", ""),
        ("copy is registered no more", ""),
    ] {
        let seen = |line: &&&String| line.contains(what) && line.contains(how);
        assert!(stories.iter().any(|line| seen(&line)), "{what}");
    }
}

#[test]
fn mutants_are_noticed() {
    let sim = Sim::new().expect("a world without faults");
    for mutant in Mutant::ALL {
        let outcomes = run(&sim, (0..SEEDS).collect(), Some(mutant), true);
        let noticed = outcomes.into_iter().find_map(|o| o.violation);
        println!("{}: {noticed:?}", mutant.name());
        assert!(noticed.is_some(), "{} was not noticed", mutant.name());
    }
}

/// Seeds of worlds with a rollout in one run; `OFFSHOOT_ROLLOUT_SEEDS` asks for others, as above.
const ROLLOUTS: u64 = 60;

/// The first seed of the worlds whose sites move to other packages, too.
const MOVES: u64 = 500_000;

/// Seeds of such worlds that broke a promise once, and with what.
const PINNED_ROLLOUTS: [u64; 20] = [
    25_379, // a draft of a variant that went was adopted beside the variant's own: it could never be brought in line
    40_219, // as 25379
    97_436, // as 25379
    520_991, // the sites moved while a rollout was taken back: what they left went at once
    512_890, // a list of variants from the past: what a target left was forgotten, and somebody's change of it stayed
    513_540, // as 512890
    500_032, // somebody changed a variant that its target left: it was not put back while it stays
    100_074, // the deletion of a package went on in the name of a variant that was gone
    201_581, // as 100074
    201_175, // a list of records from the past: a pinned commit was drafted without its tag
    201_688, // as 201175
    51_823, // a publish died between branch and tag, and its proposal was pushed to: it could never be approved
    57_336, // a pinned commit whose tag had no record yet was taken for the branch's head
    9_696, // a list without a repository: a variant was let go, and what it owned there was left behind
    9_738, // a list of records from the past: as 9696
    70_560, // a list of records from the past: a member that was reached had nothing to go back to
    300_485, // somebody published between a write that failed and the one that reached a member: the check's own mistake
    532_528, // a list of records from the past: a draft that was taken over was hidden, and a second one stood beside it; not broken since
    610_369, // a target that came after its rollout had begun, at a variant of before: the check's own mistake
    201_928, // a list without repositories and variants: a step was emptied, and the next ones opened
];

/// Seeds that a variable of the environment names, or so many.
fn seeds_of(variable: &str, asked: u64) -> Vec<u64> {
    match std::env::var(variable) {
        Ok(text) => {
            let (from, to) = text.split_once("..").unwrap_or(("0", &text));
            (from.parse().expect("a seed")..to.parse().expect("a seed")).collect()
        }
        Err(_) => (0..asked).collect(),
    }
}

#[test]
fn no_target_is_ahead_of_its_step_whatever_strikes() {
    let sim = Sim::new().expect("a world without faults");
    let mut seeds = seeds_of("OFFSHOOT_ROLLOUT_SEEDS", ROLLOUTS);
    seeds.extend(PINNED_ROLLOUTS);
    let outcomes = run_by(&sim, seeds, false, |sim, seed| sim.run_rollout(seed, None));
    let broken: Vec<&SeedOutcome> = outcomes.iter().filter(|o| o.violation.is_some()).collect();
    for outcome in &broken {
        println!("seed {}: {:?}", outcome.seed, outcome.violation);
    }
    println!("{} of {} seeds are broken", broken.len(), outcomes.len());
    if let Some(outcome) = broken.first() {
        fail(outcome, &format!("{:?}", outcome.violation));
    }
}

#[test]
fn mutants_of_rollouts_are_noticed() {
    let sim = Sim::new().expect("a world without faults");
    let moving = MOVES..MOVES + ROLLOUTS;
    let worlds = Mutant::OF_ROLLOUTS.map(|mutant| (mutant, 0..ROLLOUTS));
    let moved = Mutant::OF_MOVES.map(|mutant| (mutant, moving.clone()));
    for (mutant, seeds) in worlds.into_iter().chain(moved) {
        let walk = move |sim: &Sim, seed| sim.run_rollout(seed, Some(mutant));
        let outcomes = run_by(&sim, seeds.collect(), true, walk);
        let noticed = outcomes.into_iter().find_map(|o| o.violation);
        println!("{}: {noticed:?}", mutant.name());
        assert!(noticed.is_some(), "{} was not noticed", mutant.name());
    }
}

/// Seeds of worlds with several processes in one run; `OFFSHOOT_REPLICA_SEEDS` asks for others, as above.
const REPLICAS: u64 = 60;

/// C2: whoever sleeps, is cut off or told to go amid what it is at, and wakes up late, does nothing out of its term; what was on its
/// way arrives whole or is stale, and nothing is made twice.
#[test]
fn nothing_of_an_old_term_lands_and_nothing_is_made_twice() {
    let sim = Sim::new().expect("a world without faults");
    let seeds = seeds_of("OFFSHOOT_REPLICA_SEEDS", REPLICAS);
    let whole = seeds.len() >= usize::try_from(REPLICAS).expect("few");
    let outcomes = run_by(&sim, seeds, false, |sim, seed| sim.run_replicas(seed, None));
    let mut tally = Tally::new();
    for (strike, count) in outcomes.iter().flat_map(|o| &o.tally) {
        *tally.entry(strike.clone()).or_default() += count;
    }
    println!("{}", print(&tally));
    let broken: Vec<&SeedOutcome> = outcomes.iter().filter(|o| o.violation.is_some()).collect();
    for outcome in &broken {
        println!("seed {}: {:?}", outcome.seed, outcome.violation);
    }
    println!("{} of {} seeds are broken", broken.len(), outcomes.len());
    if let Some(outcome) = broken.first() {
        fail(outcome, &format!("{:?}", outcome.violation));
    }
    for what in ["push", "record", "variant status"] {
        let late = tally
            .keys()
            .any(|(effect, _)| *effect == format!("{what} of an older term"));
        assert!(late || !whole, "no {what} arrived after its term");
    }
}

#[test]
fn a_walk_of_several_processes_is_the_same_for_the_same_seed() {
    let sim = Sim::new().expect("a world without faults");
    assert_eq!(sim.run_replicas(5, None), sim.run_replicas(5, None));
}

#[test]
fn mutants_of_several_processes_are_noticed() {
    let sim = Sim::new().expect("a world without faults");
    for mutant in Mutant::OF_REPLICAS {
        let walk = move |sim: &Sim, seed| sim.run_replicas(seed, Some(mutant));
        let outcomes = run_by(&sim, (0..SEEDS).collect(), true, walk);
        let noticed = outcomes.into_iter().find_map(|o| o.violation);
        println!("{}: {noticed:?}", mutant.name());
        assert!(noticed.is_some(), "{} was not noticed", mutant.name());
    }
}

/// One death in so many is played here; `cargo xtask sim --matrix` plays them all. Prime, so that the
/// hits of a failpoint, and the failpoints of a scenario, take turns.
const SHARE: u64 = 31;

/// Which deaths to play: `OFFSHOOT_SIM_MATRIX` may name a scenario, or a share.
fn deaths(matrix: &Matrix) -> Vec<&Cell> {
    let Ok(asked) = std::env::var("OFFSHOOT_SIM_MATRIX") else {
        return matrix.share(SHARE);
    };
    match Scenario::parse(&asked) {
        Some(scenario) => {
            let of = |c: &&Cell| c.scenario == scenario;
            matrix.cells().iter().filter(of).collect()
        }
        None => matrix.share(asked.parse().expect("a scenario, or a share")),
    }
}

#[test]
fn a_death_at_any_failpoint_changes_nothing_in_the_end() {
    let sim = Sim::new().expect("a world without faults");
    let matrix = Matrix::new(&sim).expect("every scenario ends well in peace");
    println!("{}", matrix.print());
    let (points, cells) = matrix.reached();
    assert!(points >= 60, "{points} failpoints");
    assert!(cells >= 400, "{cells} cells");
    let mut broken = Vec::new();
    for cell in deaths(&matrix) {
        let death = matrix.die(cell);
        if let Some(violation) = &death.violation {
            println!("{cell:?}: {violation}\n  {}", death.story.join("\n  "));
            broken.push(cell);
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}
