//! Benchmarks: commands that print tables, never tests.

mod fanout;
mod measure;
mod package;
mod world;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Subcommand;

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// One set over many targets: fan-out, approval, upgrade, rest (engine.md "The benchmark that decides").
    Fanout(FanoutArgs),
}

/// Flags of `bench fanout`.
#[derive(Debug, clap::Args)]
pub(crate) struct FanoutArgs {
    /// How many targets, one run each.
    #[arg(long, value_delimiter = ',', default_value = "100,300,1000")]
    pub(crate) n: Vec<usize>,
    /// The workload: w0 (12 files, no pipeline) or w1 (pipeline, injection, comments).
    #[arg(long, default_value = "w1")]
    pub(crate) workload: String,
    /// one repository, or many on the file system.
    #[arg(long, default_value = "one")]
    pub(crate) layout: String,
    /// Where to write the figures as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Do the same drafts through the plain git command, too, as a yardstick.
    #[arg(long)]
    pub(crate) compare: Option<String>,
    /// Do not wait for the disk.
    #[arg(long)]
    pub(crate) no_fsync: bool,
}

/// Runs one, in a release build: a debug build starts that instead.
pub(crate) fn run(bench: &Bench) -> ExitCode {
    if cfg!(debug_assertions) {
        return again_in_release();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return crate::fail(&format!("start: {error}")),
    };
    let result = match bench {
        Bench::Fanout(args) => runtime.block_on(fanout::run(args)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => crate::fail(&why),
    }
}

/// Starts the same command in a release build.
pub(crate) fn again_in_release() -> ExitCode {
    let arguments = std::env::args().skip(1);
    let status = Command::new("cargo")
        .args([
            "run",
            "--quiet",
            "--release",
            "--locked",
            "--package",
            "xtask",
            "--",
        ])
        .args(arguments)
        .current_dir(crate::root())
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => crate::fail(&format!("run cargo: {error}")),
    }
}
