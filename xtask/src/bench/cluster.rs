//! What fleets cost on a cluster: `tests/peer/measure`, with the programs that it needs.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::cluster::{done, programs};
use crate::{fail, root};

/// Flags of `bench cluster`.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// How many targets, one fan-out each; the bare client makes the requests of the last.
    #[arg(long, value_delimiter = ',', default_value = "100,300,1000")]
    n: Vec<usize>,
    /// How long rest is watched, in seconds.
    #[arg(long, default_value_t = 60)]
    rest: u64,
    /// End with 1 where a figure is worse than what docs/scale.md promises.
    #[arg(long)]
    check: bool,
    /// Where kube-apiserver, etcd, controllers and helm are; built there if they are missing, which takes minutes and needs Go.
    #[arg(long, value_name = "DIR", default_value = "target/peer")]
    programs: PathBuf,
    /// The program under test; a release build if it is not named.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

/// Runs it.
pub(super) fn run(args: &ClusterArgs) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    }
}

fn try_run(args: &ClusterArgs) -> Result<(), String> {
    let root = root();
    let programs = programs(&root, &root.join(&args.programs))?;
    let server = match &args.server {
        Some(server) => server.clone(),
        None => {
            let build = ["build", "--release", "--locked", "--package", "offshoot"];
            done(Command::new("cargo").args(build).current_dir(&root))?;
            root.join("target/release/offshoot")
        }
    };
    let absolute = |path: &PathBuf| {
        std::fs::canonicalize(path).map_err(|e| format!("find {}: {e}", path.display()))
    };
    let (programs, server) = (absolute(&programs)?, absolute(&server)?);
    let sizes: Vec<String> = args.n.iter().map(usize::to_string).collect();
    let mut command = Command::new(root.join("tests/peer/run"));
    command
        .arg(&programs)
        .arg(root.join("tests/peer/measure"))
        .args([&programs, &server])
        .env("PEER_ROUTES", "endpoints")
        .env("SIZES", sizes.join(" "))
        .env("REST", args.rest.to_string());
    if args.check {
        command.env("CHECK", "yes");
    }
    done(&mut command)
}
