//! `cargo xtask differ`: random requests to our API server and to a real kube-apiserver, and where they answer differently.
//!
//! A seed decides every sequence ([`grammar`]). Each runs under a name of its own, some at a time, at both servers at once; answers
//! are compared as recordings are ([`compare`]). A difference that `tests/peer/differences.toml` does not explain is tried again, cut
//! down to what it needs ([`shrink`]) and printed so that `--replay` plays it; one that never comes again is told apart.

mod bind;
mod client;
mod compare;
mod grammar;
mod known;
mod packed;
mod play;
mod report;
mod shrink;
mod step;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use tokio::sync::{Mutex, RwLock};

use client::{Ours, Pair, Peer};
use grammar::Sequence;
use known::Known;
use play::{Found, play};
use report::{Report, Shown};
use shrink::Shrink;
use step::Step;

type Result<T> = std::result::Result<T, String>;

/// Flags of `differ`.
#[derive(Debug, clap::Args)]
pub(crate) struct DifferArgs {
    /// For how long at most, in minutes.
    #[arg(long, default_value_t = 2)]
    minutes: u64,
    /// How many steps at most.
    #[arg(long)]
    steps: Option<u64>,
    /// The number that every sequence follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many sequences at a time.
    #[arg(long, default_value_t = 6)]
    width: usize,
    /// Sequences of this theme alone.
    #[arg(long)]
    theme: Option<String>,
    /// Play the steps of this file (one in a line, as they are printed) instead.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// The real server; `tests/peer/run` says where it is.
    #[arg(long, value_name = "URL", env = "PEER_SERVER")]
    server: String,
    /// Its kubeconfig, with a context anonymous.
    #[arg(long, value_name = "FILE", env = "PEER_KUBECONFIG")]
    kubeconfig: PathBuf,
    /// Its store, to compact it; without it no sequence does.
    #[arg(long, value_name = "URL", env = "PEER_ETCD")]
    etcd: Option<String>,
}

/// Runs until the time or the steps are over.
pub(crate) fn run(args: &DifferArgs) -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return crate::fail(&format!("start: {error}")),
    };
    match runtime.block_on(everything(args)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(count) => crate::fail(&format!("{count} kinds of differences are not explained")),
        Err(why) => crate::fail(&why),
    }
}

struct World<'a> {
    args: &'a DifferArgs,
    pair: Pair,
    known: Known,
    /// Sequences that look at what all share run alone.
    alone: RwLock<()>,
    report: Mutex<Report>,
    steps: AtomicU64,
    started: Instant,
}

async fn everything(args: &DifferArgs) -> Result<usize> {
    let config = std::fs::read_to_string(&args.kubeconfig);
    let config = config.map_err(|e| format!("{}: {e}", args.kubeconfig.display()))?;
    let pair = Pair {
        ours: Ours::start().await?,
        peer: Peer::connect(&args.server, &config, args.etcd.as_deref()).await?,
    };
    let world = World {
        args,
        pair,
        known: Known::read(&crate::root().join("tests/peer/differences.toml"))?,
        alone: RwLock::new(()),
        report: Mutex::new(Report::default()),
        steps: AtomicU64::new(0),
        started: Instant::now(),
    };
    // The kinds that most sequences use; a server that was used before has them already.
    let prepared = play(&world.pair, &world.known, &grammar::kinds(), "kinds").await?;
    if let Some(found) = prepared.found.first() {
        let line = format!("the kinds cannot be prepared: {:?}", found.differences);
        crate::say(&line);
    }
    if let Some(path) = &args.replay {
        return replayed(&world, path).await;
    }
    let numbers = (0_u64..).take_while(|_| world.goes_on());
    let all = futures::stream::iter(numbers).map(|number| world.sequence(number));
    let mut all = std::pin::pin!(all.buffer_unordered(args.width.max(1)));
    while let Some(done) = all.next().await {
        done?;
    }
    let report = world.report.lock().await;
    report.print(
        args.seed,
        world.steps.load(Ordering::Relaxed),
        world.started.elapsed(),
        &world.known,
    );
    Ok(report.unexplained())
}

impl World<'_> {
    fn goes_on(&self) -> bool {
        let steps = self.steps.load(Ordering::Relaxed);
        self.started.elapsed() < Duration::from_secs(self.args.minutes * 60)
            && self.args.steps.is_none_or(|most| steps < most)
    }

    async fn sequence(&self, number: u64) -> Result<()> {
        let compacts = self.args.etcd.is_some();
        let sequence =
            grammar::sequence(self.args.seed, number, self.args.theme.as_deref(), compacts)?;
        if sequence.alone {
            let _all = self.alone.write().await;
            self.played(number, &sequence).await
        } else {
            let _some = self.alone.read().await;
            self.played(number, &sequence).await
        }
    }

    async fn played(&self, number: u64, sequence: &Sequence) -> Result<()> {
        let steps = &sequence.steps;
        // The same letters as the names of the tries: what differs is told apart by its text without digits.
        let name = format!("d{number}x0x0");
        let played = play(&self.pair, &self.known, steps, &name).await?;
        let done = self.steps.fetch_add(played.steps, Ordering::Relaxed);
        if done / 10_000 != (done + played.steps) / 10_000 {
            crate::say(&format!("{} steps", done + played.steps));
        }
        let mut report = self.report.lock().await;
        report.add(sequence.theme, played.steps, &played.explained);
        let mut fresh = Vec::new();
        for found in played.found {
            let signature = found.signature(steps);
            if report.first(&signature) {
                fresh.push((signature, found));
            }
        }
        // Others may find the same while these are cut down: they only count.
        drop(report);
        for (signature, found) in fresh {
            self.told(number, sequence, signature, found).await?;
        }
        Ok(())
    }

    /// Tries a difference again, cuts it down and prints it.
    async fn told(
        &self,
        number: u64,
        sequence: &Sequence,
        signature: String,
        found: Found,
    ) -> Result<()> {
        let steps = &sequence.steps;
        let mut shrink = Shrink {
            pair: &self.pair,
            known: &self.known,
            name: format!("d{number}x{}", found.at),
            tried: 0,
            started: Instant::now(),
        };
        let mut repeated = None;
        for _ in 0..2 {
            repeated = repeated.or(shrink.again(steps, &signature).await?);
        }
        let shown = match repeated {
            Some(found) => {
                let (steps, found) = shrink.run(steps, found).await?;
                Shown::new(number, sequence.theme, &steps, &found, true)
            }
            None => Shown::new(number, sequence.theme, &steps[..=found.at], &found, false),
        };
        shown.print();
        self.report.lock().await.keep(signature, shown);
        Ok(())
    }
}

/// Plays a file's steps.
async fn replayed(world: &World<'_>, path: &std::path::Path) -> Result<usize> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let lines = text
        .lines()
        .filter(|line| line.trim_start().starts_with('{'));
    let steps: std::result::Result<Vec<Step>, _> = lines.map(serde_json::from_str).collect();
    let steps = steps.map_err(|e| format!("{}: {e}", path.display()))?;
    let played = play(&world.pair, &world.known, &steps, "replay").await?;
    for found in &played.found {
        Shown::new(0, "replay", &steps[..=found.at], found, true).print();
    }
    crate::say(&format!(
        "{} steps, {} differ",
        played.steps,
        played.found.len()
    ));
    Ok(played.found.len())
}
