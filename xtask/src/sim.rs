//! The seeded simulation, any number of seeds on request: runs them on all cores, prints what
//! struck where, and tells the story of the first seed that broke a promise. With `--matrix` the process
//! dies once in each run instead, at every failpoint of every scenario.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use testkit::sim::{Cell, Death, Matrix, Mutant, Scenario, SeedOutcome, Sim, Tally, print, zeros};
use testkit::spread::Fleet;

/// How many seeds strike with every fault at every side effect.
const WHOLE: u64 = 300;

/// Flags of `sim`.
#[derive(Debug, clap::Args)]
pub(crate) struct SimArgs {
    /// How many seeds.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// This seed alone, with its whole story.
    #[arg(long)]
    seed: Option<u64>,
    /// Break something on purpose: no-durability, no-lease, no-deduplication, reads-for-anybody, selects-unmarked, foreign-owners,
    /// taken-for-sent or believes; with --rollouts loses-marks, unpinned, forgets-rollouts, forgets-halts, forgets-before
    /// or forgets-takes; with --replicas no-term, no-lease or no-deduplication.
    #[arg(long)]
    mutant: Option<String>,
    /// Worlds whose set rolls out in steps, instead of the others.
    #[arg(long, conflicts_with = "matrix")]
    rollouts: bool,
    /// Worlds in which several processes live at once, one of which writes, instead of the others.
    #[arg(long, conflicts_with_all = ["matrix", "rollouts"])]
    replicas: bool,
    /// Go on after a broken promise, and count them.
    #[arg(long)]
    keep_going: bool,
    /// The crash matrix instead of seeds: every failpoint of every scenario, its first, a middle and its
    /// last hit.
    #[arg(long, conflicts_with_all = ["seed", "seeds", "from", "mutant"])]
    matrix: bool,
    /// This scenario of the matrix alone, such as `upgrade`.
    #[arg(long, requires = "matrix")]
    scenario: Option<String>,
    /// These deaths alone: those whose number this divides.
    #[arg(long, requires = "matrix", default_value_t = 1)]
    share: u64,
    /// Instead of all that, how git work would be spread over four holders by repository: 100,000 variants in 1,000 repositories,
    /// one holder lost in mid-upgrade.
    #[arg(long, conflicts_with_all = ["matrix", "mutant", "rollouts", "replicas"])]
    spread: bool,
    /// The death of this number alone, with its whole story.
    #[arg(long, requires = "matrix")]
    death: Option<u64>,
}

/// Runs it, in a release build: a debug build starts that instead.
pub(crate) fn run(args: &SimArgs) -> ExitCode {
    if args.spread {
        return spread(args);
    }
    if cfg!(debug_assertions) {
        return crate::bench::again_in_release();
    }
    match try_run(args) {
        Ok(code) => code,
        Err(why) => crate::fail(&why),
    }
}

fn try_run(args: &SimArgs) -> Result<ExitCode, String> {
    let mutant = match &args.mutant {
        Some(name) => {
            Some(Mutant::parse(name).ok_or_else(|| format!("there is no mutant {name:?}"))?)
        }
        None => None,
    };
    let sim = Sim::new().map_err(|e| e.to_string())?;
    if args.matrix {
        return matrix(&sim, args);
    }
    let walk = |seed| match (args.rollouts, args.replicas) {
        (true, _) => sim.run_rollout(seed, mutant),
        (_, true) => sim.run_replicas(seed, mutant),
        _ => sim.run(seed, mutant),
    };
    if let Some(seed) = args.seed {
        let outcome = walk(seed);
        say(&story(&outcome));
        return Ok(code(outcome.violation.is_none()));
    }
    let started = Instant::now();
    let seeds = args.from..args.from.saturating_add(args.seeds);
    let (tally, broken) = all(walk, seeds, args.keep_going);
    say(&print(&tally));
    let zeros = zeros(&tally);
    let other = args.rollouts || args.replicas;
    let whole = args.seeds >= WHOLE && broken.is_empty() && !other;
    if let Some(first) = broken.first() {
        say(&story(first));
    }
    for outcome in &broken {
        let violation = outcome.violation.as_ref().map(ToString::to_string);
        say(&format!(
            "seed {}: {}\n",
            outcome.seed,
            violation.unwrap_or_default()
        ));
    }
    for (effect, fault) in zeros.iter().filter(|_| whole) {
        say(&format!("never struck: {fault} at {effect}\n"));
    }
    let faults: u64 = tally.values().sum();
    say(&format!(
        "{} seeds, {faults} faults, {} broken, {:.1?}\n",
        args.seeds,
        broken.len(),
        started.elapsed()
    ));
    Ok(code(broken.is_empty() && (!whole || zeros.is_empty())))
}

/// One holder and four, and four of which one is lost: 100,000 variants each.
fn spread(args: &SimArgs) -> ExitCode {
    let whole = |holders, loses| Fleet {
        holders,
        repositories: 1_000,
        variants: 100_000,
        loses,
        mutant: None,
    };
    let run = |what: &str, seed, fleet| match testkit::spread::run(seed, fleet) {
        Ok(report) => {
            say(&format!("{what}: {report}\n"));
            Ok(())
        }
        Err(why) => Err(format!("{what}, seed {seed}: {why}")),
    };
    let seeds = match args.seed {
        Some(seed) => seed..seed.saturating_add(1),
        None => args.from..args.from.saturating_add(args.seeds.min(100)),
    };
    let all = || -> Result<(), String> {
        run("one holder", seeds.start, whole(1, false))?;
        run("four holders", seeds.start, whole(4, false))?;
        for seed in seeds.clone() {
            run("four holders, one lost", seed, whole(4, true))?;
        }
        Ok(())
    };
    match all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => crate::fail(&why),
    }
}

/// The crash matrix.
fn matrix(sim: &Sim, args: &SimArgs) -> Result<ExitCode, String> {
    let scenario = match &args.scenario {
        Some(name) => {
            let parsed = Scenario::parse(name);
            Some(parsed.ok_or_else(|| format!("there is no scenario {name:?}"))?)
        }
        None => None,
    };
    let started = Instant::now();
    let matrix = Matrix::new(sim).map_err(|e| e.to_string())?;
    if let Some(number) = args.death {
        let cell = matrix.cells().iter().find(|c| c.number == number);
        let cell = cell.ok_or_else(|| format!("there is no death {number}"))?;
        let death = matrix.die(cell);
        say(&told(&death));
        return Ok(code(death.violation.is_none()));
    }
    say(&matrix.print());
    let mut cells = matrix.share(args.share);
    cells.retain(|cell| scenario.is_none_or(|scenario| scenario == cell.scenario));
    let (died, broken) = deaths(&matrix, &cells, args.keep_going);
    for death in &broken {
        say(&told(death));
    }
    say(&format!(
        "{} runs, {died} deaths, {} broken, {:.1?}\n",
        cells.len(),
        broken.len(),
        started.elapsed()
    ));
    Ok(code(broken.is_empty()))
}

/// Plays these deaths on all cores: how many processes died, and the runs that broke a promise.
fn deaths(matrix: &Matrix, cells: &[&Cell], keep_going: bool) -> (usize, Vec<Death>) {
    let next = AtomicUsize::new(0);
    let found = Mutex::new((0, Vec::new()));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let death = matrix.die(cell);
                    let Ok(mut found) = found.lock() else { return };
                    found.0 += usize::from(death.died);
                    if death.violation.is_some() {
                        found.1.push(death);
                        if !keep_going {
                            next.store(cells.len(), Ordering::SeqCst);
                        }
                    }
                }
            });
        }
    });
    let (died, mut broken) = found.into_inner().unwrap_or_default();
    broken.sort_by_key(|death| death.cell.number);
    (died, broken)
}

fn told(death: &Death) -> String {
    let Cell {
        scenario,
        point,
        hit,
        number,
    } = &death.cell;
    let lines = death.story.join("\n  ");
    let end = death
        .violation
        .as_ref()
        .map_or_else(|| "every promise was kept".to_owned(), ToString::to_string);
    let name = scenario.name();
    format!("death {number}: {name}, {point}, hit {hit}:\n  {lines}\n{end}\n")
}

/// All seeds, on all cores; the broken ones in the order of their seeds.
fn all(
    walk: impl Fn(u64) -> SeedOutcome + Sync,
    seeds: std::ops::Range<u64>,
    keep_going: bool,
) -> (Tally, Vec<SeedOutcome>) {
    let next = AtomicU64::new(seeds.start);
    let stop = AtomicBool::new(false);
    let found = Mutex::new((Tally::new(), Vec::new()));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds.end || stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let outcome = walk(seed);
                    let Ok(mut found) = found.lock() else { return };
                    for (strike, count) in &outcome.tally {
                        *found.0.entry(strike.clone()).or_default() += count;
                    }
                    if outcome.violation.is_some() {
                        found.1.push(outcome);
                        stop.fetch_or(!keep_going, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let (tally, mut broken) = found.into_inner().unwrap_or_default();
    broken.sort_by_key(|o| o.seed);
    (tally, broken)
}

fn story(outcome: &SeedOutcome) -> String {
    let lines = outcome.story.join("\n  ");
    let end = outcome
        .violation
        .as_ref()
        .map_or_else(|| "every promise was kept".to_owned(), ToString::to_string);
    format!("seed {}:\n  {lines}\n{end}\n", outcome.seed)
}

fn code(good: bool) -> ExitCode {
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn say(text: &str) {
    // Nobody is left to tell if standard output is gone.
    drop(write!(std::io::stdout(), "{text}"));
}
