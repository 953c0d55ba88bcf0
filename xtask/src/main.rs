//! The project's toolbox: `cargo xtask COMMAND`.

mod bench;
mod cluster;
mod differ;
mod finding;
mod merge_lab;
mod mutate;
mod protobuf;
mod requirements;
mod seeds;
mod sim;
mod tidy;
mod torture;
mod vectors;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What is measured here runs on the allocator that it ships with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The project's toolbox.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check what the compiler cannot: arrows between crates, sizes, module docs, words, links.
    Tidy,
    /// Hold the recorded results of real implementations against ours.
    Vectors(vectors::VectorsArgs),
    /// Measure.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Fuzz the targets of the package engine, each for so many seconds of CPU.
    Fuzz {
        /// Seconds of CPU for each target.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// The number that a run follows from.
        #[arg(long, default_value_t = 1)]
        number: u64,
        /// Which targets; all of them if none is named.
        targets: Vec<String>,
    },
    /// Write the table of protobuf fields anew from the Go modules of a Kubernetes release.
    Protobuf {
        /// The directory that holds `api@VERSION`, `apimachinery@VERSION` and so on: `$(go env GOMODCACHE)/k8s.io`.
        modules: PathBuf,
        /// Which release.
        #[arg(long, default_value = "v0.34.4")]
        release: String,
    },
    /// Break rules on purpose, one after the other, and show that tests notice; by hand only.
    Mutate(mutate::MutateArgs),
    /// Write docs/requirements.md: which requirement is shown by which tests.
    Requirements,
    /// Hold every example of the package variant documents against what their text says.
    Seeds(seeds::SeedsArgs),
    /// Test the WebAssembly runtime, which is behind a feature: builds wasmtime.
    Wasm,
    /// Let the real program, real git clients and a network that fails work on each other, and see what is left.
    Torture(torture::TortureArgs),
    /// Kill the real program in the middle of a fan-out, so many times, and see what is left.
    Kill(torture::kill::KillArgs),
    /// Cut its power so many times: what it did not have written is lost. Needs root, for a file system of its own.
    Power(torture::power::PowerArgs),
    /// Measure how long the real program takes to answer again beside many package revisions.
    Restart(torture::restart::RestartArgs),
    /// Send random requests to our API server and to a real kube-apiserver, and see where they answer differently.
    Differ(differ::DifferArgs),
    /// Run replicas on a real kube-apiserver and etcd: the chart, the story of a package, kills and other faults.
    Cluster(cluster::ClusterArgs),
    /// Make three-way merges of packages by the thousand, and judge each from its texts alone.
    MergeLab(merge_lab::MergeLabArgs),
    /// Run the seeded simulation: a walk under faults, promise by promise.
    Sim(sim::SimArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Command::Tidy => tidy::run(&root()),
        Command::Vectors(args) => vectors::run(&args),
        Command::Bench(bench) => bench::run(&bench),
        Command::Fuzz {
            seconds,
            number,
            targets,
        } => fuzz(seconds, number, &targets),
        Command::Protobuf { modules, release } => protobuf::run(&modules, &release),
        Command::Mutate(args) => mutate::run(&args, &root()),
        Command::Requirements => requirements::run(&root()),
        Command::Seeds(args) => seeds::run(&args),
        Command::Wasm => cargo(&[
            "test",
            "--locked",
            "--package",
            "functions",
            "--features",
            "wasm",
            "--test",
            "it",
            "wasm",
        ]),
        Command::MergeLab(args) => merge_lab::run(&args),
        Command::Sim(args) => sim::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Differ(args) => differ::run(&args),
        Command::Kill(args) => torture::kill::run(&args),
        Command::Power(args) => torture::power::run(&args),
        Command::Restart(args) => torture::restart::run(&args),
        Command::Torture(args) => torture::run(&args),
    }
}

/// Runs the fuzzer in a release build.
fn fuzz(seconds: u32, number: u64, targets: &[String]) -> ExitCode {
    let (seconds, number) = (seconds.to_string(), number.to_string());
    let mut arguments = vec![
        "run",
        "--quiet",
        "--release",
        "--locked",
        "--package",
        "fuzz",
        "--",
    ];
    arguments.extend([seconds.as_str(), "--number", &number]);
    arguments.extend(targets.iter().map(String::as_str));
    cargo(&arguments)
}

/// Runs Cargo in the workspace.
fn cargo(arguments: &[&str]) -> ExitCode {
    let status = std::process::Command::new("cargo")
        .args(arguments)
        .current_dir(root())
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => fail(&format!("run cargo: {error}")),
    }
}

/// Says something; a reader that went away is no failure.
fn say(line: &str) {
    drop(writeln!(std::io::stdout(), "{line}"));
}

/// Says why a command failed.
fn fail(why: &str) -> ExitCode {
    // Nobody is left to tell if standard error is gone.
    drop(writeln!(std::io::stderr(), "error: {why}"));
    ExitCode::FAILURE
}

/// The workspace's root: the directory above this crate.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}
