//! `cargo xtask kill`: the real program is killed in the middle of a fan-out, again and again.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::fleet::Fleet;
use super::world::{Dice, World};
use super::{Result, ending, program, runtime};

/// After so many kills a new world begins: what was published stays, and is read each time.
const OF_A_WORLD: u64 = 25;

/// Flags of `kill`.
#[derive(Debug, clap::Args)]
pub(crate) struct KillArgs {
    /// How many kills.
    #[arg(long, default_value_t = 60)]
    times: u64,
    /// The number that decides when they come and what people try.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many targets each fan-out has.
    #[arg(long, default_value_t = 30)]
    targets: usize,
    /// Where to write what everybody did, also when nothing broke.
    #[arg(long, value_name = "FILE")]
    story: Option<PathBuf>,
    /// The program; the workspace's release build by default.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

/// What all worlds together came to.
#[derive(Debug, Default)]
struct Sum {
    kills: u64,
    midway: u64,
    kept: usize,
    worst: std::time::Duration,
}

/// Kills so many times, or until a promise is broken.
pub(crate) fn run(args: &KillArgs) -> ExitCode {
    let (program, runtime) = match program(args.server.as_ref()).and_then(|p| Ok((p, runtime()?))) {
        Ok(both) => both,
        Err(why) => return crate::fail(&why),
    };
    let mut sum = Sum::default();
    while sum.kills < args.times {
        // Small batches have a fan-out take longer than it would.
        let flags: &[&str] = match (sum.kills / OF_A_WORLD) % 2 {
            0 => &["--batch-limit", "4"],
            _ => &[],
        };
        let world = match World::start(&program, runtime.handle().clone(), flags) {
            Ok(world) => Arc::new(world),
            Err(why) => return crate::fail(&why),
        };
        let done = life(&world, args, &mut sum);
        if done.is_err() {
            return ending(&world, args.seed, done);
        }
        if let Some(story) = &args.story {
            world.ledger.write(story);
        }
        world.remove();
    }
    crate::say(&format!(
        "kill: {} kills, {} of them midway of a fan-out, nothing broken; {} acknowledged writes of a clerk are there; at rest \
         after {:.1} s at most",
        sum.kills,
        sum.midway,
        sum.kept,
        sum.worst.as_secs_f64()
    ));
    ExitCode::SUCCESS
}

fn life(world: &Arc<World>, args: &KillArgs, sum: &mut Sum) -> Result<()> {
    let mut fleet = Fleet::new(args.targets);
    let mut dice = Dice::new(args.seed ^ (sum.kills << 24));
    let last = args.times.min(sum.kills + OF_A_WORLD);
    while sum.kills < last {
        let crew = fleet.begin(world, args.seed)?;
        // Some die again while they make up for the last death.
        let deaths = 1 + dice.roll(3);
        let mut seen = Vec::new();
        for _ in 0..deaths.min(last - sum.kills) {
            fleet.moment(world, &mut dice);
            world.server.kill();
            let drafts = fleet.drafts(world);
            world.ledger.ended(&format!("kill -9, {drafts} drafts"));
            sum.kills += 1;
            sum.midway += u64::from((1..fleet.near()).contains(&drafts));
            seen.push(drafts);
            world.server.start()?;
        }
        dice.pause(2_500);
        crew.end(world);
        let rested = fleet.examine(world)?;
        sum.worst = sum.worst.max(rested);
        crate::say(&format!(
            "{} kills with {seen:?} of {} drafts made, at rest after {:.1} s; {}",
            sum.kills,
            fleet.near(),
            rested.as_secs_f64(),
            world.ledger.summary()
        ));
    }
    sum.kept += fleet.kept();
    Ok(())
}
