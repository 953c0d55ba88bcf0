//! `cargo xtask cluster`: the real program on a real API server, with the chart's account, rules and policies.
//!
//! The scripts below `tests/peer` do the work; here they get the programs that they need, built once.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, ValueEnum};

use crate::{fail, root, say};

/// What is run on the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// The chart: its objects, rights and policies, by the API server's own judgement.
    Chart,
    /// Who asks, what they may, who wrote an object, and the certificate that is shown.
    Access,
    /// The story of a package over two replicas, with one killed, one stopped and one told to go.
    Serve,
    /// A rollout in steps, a plan, the board of who may write and of who may only look, and the way back.
    Fleet,
    /// What Porch left is taken over: no commit, no draft, every owner.
    Import,
    /// Replicas that are killed again and again amid work, a Lease that is deleted, a holder that sleeps in mid-push.
    Faults,
    /// Answers that are late, lost or cut off between replicas and the API server, git, and each other.
    Losses,
    /// Each right of the chart's account is used, and missed when it is taken away.
    Rights,
}

impl Suite {
    const ALL: [Self; 8] = [
        Self::Chart,
        Self::Access,
        Self::Serve,
        Self::Fleet,
        Self::Import,
        Self::Faults,
        Self::Losses,
        Self::Rights,
    ];

    /// The script that runs it, below `tests/peer`.
    fn script(self) -> &'static str {
        match self {
            Self::Chart => "chart",
            Self::Access => "access",
            Self::Serve => "serve",
            Self::Fleet => "fleet",
            Self::Import => "import",
            Self::Faults => "faults",
            Self::Losses => "losses",
            Self::Rights => "rights",
        }
    }
}

/// Flags of `cluster`.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// Where kube-apiserver, etcd, controllers and helm are; built there if they are missing, which takes minutes and needs Go.
    #[arg(long, value_name = "DIR", default_value = "target/peer")]
    programs: PathBuf,
    /// The program under test; built if it is not named.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Takes each verb on each resource away by itself, not only whole rules.
    #[arg(long)]
    verbs: bool,
    /// How often the holder is killed.
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Variants of the fan-out amid which it is killed.
    #[arg(long, default_value_t = 300)]
    variants: u32,
    /// Writes through one replica that are read through the other.
    #[arg(long, default_value_t = 10_000)]
    pairs: u32,
    /// Which suites; all of them if none is named.
    suites: Vec<Suite>,
}

/// Runs the suites, one after the other.
pub(crate) fn run(args: &ClusterArgs) -> ExitCode {
    match suites(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    }
}

fn suites(args: &ClusterArgs) -> Result<(), String> {
    let root = root();
    let programs = programs(&root, &root.join(&args.programs))?;
    let server = match &args.server {
        Some(server) => server.clone(),
        None => {
            let build = ["build", "--locked", "--package", "offshoot"];
            done(Command::new("cargo").args(build).current_dir(&root))?;
            root.join("target/debug/offshoot")
        }
    };
    let absolute = |path: &Path| {
        std::fs::canonicalize(path).map_err(|e| format!("find {}: {e}", path.display()))
    };
    let (programs, server) = (absolute(&programs)?, absolute(&server)?);
    let chosen = match args.suites.as_slice() {
        [] => &Suite::ALL[..],
        chosen => chosen,
    };
    for suite in chosen {
        say(&format!("== {suite:?}"));
        let script = root.join("tests/peer").join(suite.script());
        let mut command = Command::new(root.join("tests/peer/run"));
        command.arg(&programs).arg(script).arg(&programs);
        if *suite != Suite::Chart {
            command.arg(&server).env("PEER_ROUTES", "endpoints");
        }
        if *suite == Suite::Rights {
            command.env("PEER_AUDIT", "yes");
        }
        command
            .env("KILLS", args.kills.to_string())
            .env("VARIANTS", args.variants.to_string())
            .env("PAIRS", args.pairs.to_string())
            .env("EACH", if args.verbs { "verb" } else { "rule" });
        done(&mut command)?;
    }
    Ok(())
}

/// The programs that make a cluster.
pub(crate) fn programs(root: &Path, at: &Path) -> Result<PathBuf, String> {
    let whole = ["kube-apiserver", "etcd", "controllers", "helm"]
        .iter()
        .all(|program| at.join(program).exists());
    if !whole {
        done(Command::new(root.join("tests/peer/build")).arg(at))?;
    }
    Ok(at.to_owned())
}

pub(crate) fn done(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}")),
        Err(error) => Err(format!("run {program}: {error}")),
    }
}
