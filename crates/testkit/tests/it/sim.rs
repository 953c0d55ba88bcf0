//! The seeded simulation: some seeds, and mutants that it must notice.

use testkit::sim::{Mutant, Outcome, Sim, Tally, print, zeros};

/// Seeds of one run; `OFFSHOOT_SIM_SEEDS` asks for another number, `cargo xtask sim` for any.
const SEEDS: u64 = 40;
/// From this many seeds on, every fault must have struck at every side effect.
const WHOLE: u64 = 300;

fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("OFFSHOOT_SIM_SEEDS").ok();
    let asked = asked
        .as_deref()
        .map(|text| text.split_once("..").unwrap_or(("0", text)));
    let number = |text: &str| text.parse().ok();
    match asked.and_then(|(from, to)| Some((number(from)?, number(to)?))) {
        Some((from, to)) => from..to,
        None => 0..SEEDS,
    }
}

fn fail(outcome: &Outcome, why: &str) -> ! {
    let story = outcome.story.join("\n  ");
    panic!("seed {}: {why}\n  {story}", outcome.seed);
}

/// Runs seeds on two threads, each seed on one.
fn run(sim: &Sim, seeds: std::ops::Range<u64>) -> Vec<Outcome> {
    let half = |odd: u64| {
        let sim = sim.clone();
        let mine = seeds.clone().filter(move |seed| seed % 2 == odd);
        std::thread::spawn(move || mine.map(|seed| sim.run(seed, None)).collect::<Vec<_>>())
    };
    let halves = [half(0), half(1)].map(|thread| thread.join().expect("no panic"));
    let mut all = halves.concat();
    all.sort_by_key(|outcome| outcome.seed);
    all
}

#[test]
fn nothing_is_lost_and_everything_comes_to_rest_whatever_strikes() {
    let sim = Sim::new().expect("a world without faults");
    let seeds = seeds();
    let whole = seeds.end - seeds.start >= WHOLE;
    let outcomes = run(&sim, seeds);
    let mut tally = Tally::new();
    for (strike, count) in outcomes.iter().flat_map(|o| &o.tally) {
        *tally.entry(strike.clone()).or_default() += count;
    }
    println!("{}", print(&tally));
    let broken: Vec<&Outcome> = outcomes.iter().filter(|o| o.violation.is_some()).collect();
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

#[test]
fn mutants_are_noticed() {
    let sim = Sim::new().expect("a world without faults");
    for mutant in [Mutant::NoDurability, Mutant::NoLease] {
        let noticed = (0..100).find_map(|seed| sim.run(seed, Some(mutant)).violation);
        println!("{}: {noticed:?}", mutant.name());
        assert!(noticed.is_some(), "{} was not noticed", mutant.name());
    }
}
