//! Benchmarks: commands that print tables, never tests.

mod apiserver;
mod cluster;
mod fanout;
mod fleet;
mod kill;
mod measure;
mod package;
mod plain;
mod report;
mod set;
mod targets;
mod world;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Subcommand, ValueEnum};

type Result<T> = std::result::Result<T, String>;

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// One set over many targets: fan-out, approval, upgrade, rest.
    Fanout(FanoutArgs),
    /// What people do to a whole fleet: plan, approve by classes, resolve, blame; beside the fan-out of the same run.
    Fleet(FleetArgs),
    /// The API server of a process of its own: durable writes, lists, watches, memory, cold starts, beside the disk's own rate.
    Apiserver(ApiserverArgs),
    /// Fleets on a real kube-apiserver and etcd, beside a bare client that makes the same requests; at rest; lists; a standby.
    Cluster(cluster::ClusterArgs),
    /// The package engine alone on one core: parse, edit, merge, render, derive, and how they grow.
    Package {
        /// Only the lines that hold this text.
        only: Option<String>,
    },
    /// The embedded server by itself, to be killed.
    #[command(hide = true)]
    Serve(Serve),
}

/// Flags of `bench serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// The data directory.
    #[arg(long)]
    data: PathBuf,
    /// Do not wait for the disk.
    #[arg(long)]
    no_fsync: bool,
}

/// What the packages hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// 12 files, no pipeline.
    W0,
    /// 12 files of about 8 KB with comments, a pipeline of three functions and a required injection
    /// point, one more function and one context key by CEL.
    W1,
}

/// Where the downstream packages lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// All in one repository on the file system.
    One,
    /// Each in a repository of its own on the file system.
    Many,
    /// All in one repository behind smart HTTP on loopback.
    OneHttp,
    /// Each in a repository of its own behind smart HTTP on loopback.
    ManyHttp,
}

/// Flags of `bench fanout`.
#[derive(Debug, clap::Args)]
pub(crate) struct FanoutArgs {
    /// How many targets, one run each.
    #[arg(long, value_delimiter = ',', default_value = "100,300,1000")]
    pub(crate) n: Vec<usize>,
    /// What the packages hold.
    #[arg(long, value_enum, default_value = "w1")]
    pub(crate) workload: Workload,
    /// Where the downstream packages lie.
    #[arg(long, value_enum, default_value = "one")]
    pub(crate) layout: Layout,
    /// How often each size is run; the medians are printed.
    #[arg(long, default_value_t = 1)]
    pub(crate) runs: usize,
    /// How many of the phases to run, in their order: 1 is the fan-out alone.
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    pub(crate) phases: usize,
    /// A folder with `app-v1` and `app-v2`: recorded packages that W0 takes instead of its own.
    #[arg(long)]
    pub(crate) packages: Option<PathBuf>,
    /// Leave out the phase that kills the server.
    #[arg(long)]
    pub(crate) no_kill: bool,
    /// Where to write the figures as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Do the same drafts through the plain git command, too, as a yardstick.
    #[arg(long, value_enum)]
    pub(crate) compare: Option<Compare>,
    /// Do not wait for the disk.
    #[arg(long)]
    pub(crate) no_fsync: bool,
}

/// Flags of `bench fleet`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetArgs {
    /// How many targets, one run each.
    #[arg(long, value_delimiter = ',', default_value = "300,1000")]
    pub(crate) n: Vec<usize>,
    /// How many equal conflicts are resolved; as many as there are edited targets at most.
    #[arg(long, default_value_t = 200)]
    pub(crate) conflicts: usize,
    /// Where to write the figures as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Do not wait for the disk.
    #[arg(long)]
    pub(crate) no_fsync: bool,
}

/// Flags of `bench apiserver`.
#[derive(Debug, clap::Args)]
pub(crate) struct ApiserverArgs {
    /// How many objects the large store holds; the small one holds a tenth.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) objects: usize,
    /// How long each rate is measured, in seconds.
    #[arg(long, default_value_t = 3)]
    pub(crate) seconds: u64,
    /// How many watchers follow.
    #[arg(long, default_value_t = 100)]
    pub(crate) watchers: usize,
    /// Measure the server of this kubeconfig instead of starting one: a kube-apiserver, for comparison.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Where to write the figures as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

/// What the figures are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compare {
    /// The plain git command: clone, copy, commit, push.
    Plain,
}

/// Runs one, in a release build: a debug build starts that instead.
pub(crate) fn run(bench: &Bench) -> ExitCode {
    if let Bench::Package { only } = bench {
        return package_rates(only.as_deref());
    }
    if let Bench::Cluster(args) = bench {
        return cluster::run(args);
    }
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
        Bench::Apiserver(args) => runtime.block_on(apiserver::run(args)),
        Bench::Fanout(args) => runtime.block_on(fanout::run(args)),
        Bench::Fleet(args) => runtime.block_on(fleet::run(args)),
        Bench::Serve(args) => runtime.block_on(kill::serve(args)),
        Bench::Package { .. } | Bench::Cluster(_) => Ok(()),
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

/// Runs the package engine's own bench, which needs nothing of the rest.
fn package_rates(only: Option<&str>) -> ExitCode {
    let arguments = "run --quiet --release --locked --package package --example rates --";
    let status = Command::new("cargo")
        .args(arguments.split(' '))
        .args(only)
        .current_dir(crate::root())
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => crate::fail(&format!("run cargo: {error}")),
    }
}
