//! `cargo xtask torture`: the real program among real git clients, a real `git http-backend`, and everything that goes wrong
//! between them, for so many minutes.
//!
//! Nothing here knows how the product works inside: what is held against it is what it acknowledged, and what git says. In
//! each round everybody works at once for some seconds (authors, reviewers, people with clones of every kind, upkeep of
//! repositories, a network that cuts and refuses, kills); then everything is left alone until it rests, and is examined. What
//! a seed decides is what everybody tries; what meets what is the machine's doing, so a failure keeps its directory.

mod examine;
mod fleet;
pub(crate) mod kill;
mod ledger;
mod outsiders;
mod people;
pub(crate) mod power;
pub(crate) mod restart;
mod server;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use world::{Dice, World};

type Result<T> = std::result::Result<T, String>;

/// Flags of `torture`.
#[derive(Debug, clap::Args)]
pub(crate) struct TortureArgs {
    /// For how long, in minutes; at least one round.
    #[arg(long, default_value_t = 2)]
    minutes: u64,
    /// How long everybody works at once in a round, in seconds.
    #[arg(long, default_value_t = 8)]
    round: u64,
    /// The number that decides what everybody tries.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The program; the workspace's release build by default.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Where to write what everybody did, also when nothing broke.
    #[arg(long, value_name = "FILE")]
    story: Option<PathBuf>,
}

/// Runs rounds until the time is over or a promise is broken.
pub(crate) fn run(args: &TortureArgs) -> ExitCode {
    let (program, runtime) = match program(args.server.as_ref()).and_then(|p| Ok((p, runtime()?))) {
        Ok(both) => both,
        Err(why) => return crate::fail(&why),
    };
    let world = match World::start(&program, runtime.handle().clone(), &[]) {
        Ok(world) => Arc::new(world),
        Err(why) => return crate::fail(&why),
    };
    let done = rounds(&world, args);
    if let Some(story) = &args.story {
        world.ledger.write(story);
    }
    match done {
        Ok(rounds) => {
            crate::say(&format!(
                "torture: {rounds} rounds, nothing broken; {}",
                world.ledger.summary()
            ));
            world.remove();
            ExitCode::SUCCESS
        }
        Err(why) => ending(&world, args.seed, Err(why)),
    }
}

/// The program that is tried.
fn program(given: Option<&PathBuf>) -> Result<PathBuf> {
    let program = given
        .cloned()
        .unwrap_or_else(|| crate::root().join("target/release/offshoot"));
    if program.is_file() {
        return Ok(program);
    }
    let program = program.display();
    Err(format!(
        "{program} is not there: cargo build --release --locked, or --server FILE"
    ))
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Runtime::new().map_err(|e| format!("start: {e}"))
}

/// Keeps a world in which a promise was broken, and says where.
fn ending(world: &World, seed: u64, done: Result<()>) -> ExitCode {
    let Err(why) = done else {
        return ExitCode::SUCCESS;
    };
    world.ledger.write(&world.root.join("torture.log"));
    world.server.kill();
    crate::fail(&format!(
        "seed {seed}: {why}\nkept: {} (torture.log there tells what everybody did)",
        world.root.display()
    ))
}

fn rounds(world: &Arc<World>, args: &TortureArgs) -> Result<u64> {
    let end = Instant::now() + Duration::from_secs(args.minutes * 60);
    let mut number = 0;
    while number == 0 || Instant::now() < end {
        number += 1;
        world.ledger.note(&format!("round {number}"));
        let began = Instant::now();
        work(world, args, number);
        world.calm()?;
        let rested = examine::rest(world)?;
        examine::everything(world)?;
        if number % 2 == 0 {
            prune_and_go_on(world)?;
        }
        crate::say(&format!(
            "round {number}: {:.1} s, at rest after {:.1} s; {}",
            began.elapsed().as_secs_f64(),
            rested.as_secs_f64(),
            world.ledger.summary()
        ));
    }
    Ok(number)
}

/// Everybody works at once.
fn work(world: &Arc<World>, args: &TortureArgs, number: u64) {
    let over = Arc::new(AtomicBool::new(false));
    let roles: &[fn(&World, &mut Dice)] = &[
        people::author,
        people::reviewer,
        people::reviewer,
        people::with_a_clone,
        people::with_a_clone,
        outsiders::upkeep,
        outsiders::network,
        outsiders::end_the_server,
    ];
    let working: Vec<_> = (0_u64..)
        .zip(roles)
        .map(|(role, act)| {
            let (world, over, act) = (Arc::clone(world), Arc::clone(&over), *act);
            let mut dice = Dice::new(args.seed ^ (number << 20) ^ (role << 40));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    act(&world, &mut dice);
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_secs(args.round));
    over.store(true, Ordering::Relaxed);
    for thread in working {
        if thread.join().is_err() {
            world.ledger.note("somebody's thread panicked");
        }
    }
}

/// At rest, everything that no ref needs is thrown away; then somebody works on, and everything is examined again.
fn prune_and_go_on(world: &Arc<World>) -> Result<()> {
    for repository in world.repositories() {
        world.git(&repository, &["gc", "--quiet", "--prune=now"])?;
    }
    world.ledger.note("gc --prune=now everywhere");
    let mut dice = Dice::new(world.ledger.marks());
    for _ in 0..4 {
        people::reviewer(world, &mut dice);
    }
    people::author(world, &mut dice);
    examine::rest(world)?;
    examine::everything(world)
}
