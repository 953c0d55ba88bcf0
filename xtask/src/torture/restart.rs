//! `cargo xtask restart`: how long the real program takes to answer again beside many package revisions.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Handle;

use super::server::Server;
use super::world::{REPOSITORIES, REVISIONS};
use super::{Result, program, runtime};

/// How long the first look at all of them may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Flags of `restart`.
#[derive(Debug, clap::Args)]
pub(crate) struct RestartArgs {
    /// How many package revisions.
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
    /// How many starts after each kind of end; the medians are told.
    #[arg(long, default_value_t = 5)]
    times: usize,
    /// The program; the workspace's release build by default.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

/// Measures, and tells.
pub(crate) fn run(args: &RestartArgs) -> ExitCode {
    let measured = program(args.server.as_ref()).and_then(|program| {
        let runtime = runtime()?;
        let root = tempfile::Builder::new()
            .prefix("offshoot-restart-")
            .tempdir();
        let root = root.map_err(|e| format!("make a directory: {e}"))?;
        let server = Server::new(&program, root.path(), &[], runtime.handle().clone())?;
        let told = measure(&server, root.path(), args, runtime.handle());
        server.kill();
        told
    });
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => crate::fail(&why),
    }
}

fn measure(server: &Server, root: &Path, args: &RestartArgs, handle: &Handle) -> Result<()> {
    let bare = root.join("blueprints.git");
    // Each package is listed twice: what the tag says, and what the branch holds.
    let objects = args.objects / 2 * 2;
    publish(&bare, objects / 2)?;
    server.start()?;
    let repository = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "Repository",
        "metadata": { "name": "blueprints" },
        "spec": { "type": "git", "git": { "repo": format!("file://{}", bare.display()) } },
    });
    let client = server.client()?;
    let made = handle.block_on(client.post(REPOSITORIES, &repository));
    made.map_err(|e| e.to_string())?;
    let began = Instant::now();
    while listed(server, handle)? < objects {
        if began.elapsed() > PATIENCE {
            return Err("the first look does not end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let first = began.elapsed().as_secs_f64();
    crate::say(&format!(
        "{objects} package revisions, seen for the first time in {first:.1} s"
    ));
    for (how, kill) in [("kill -9", true), ("SIGTERM", false)] {
        let mut answers = Vec::new();
        let mut lists = Vec::new();
        for _ in 0..args.times.max(1) {
            if kill {
                server.kill();
            } else {
                server.ask_to_end();
            }
            let began = Instant::now();
            server.start()?;
            answers.push(began.elapsed());
            let found = listed(server, handle)?;
            lists.push(began.elapsed());
            if found != objects {
                return Err(format!("{found} of {objects} after {how}"));
            }
        }
        let memory = server.memory().unwrap_or(0) / 1024;
        let (answer, list) = (median(answers), median(lists));
        crate::say(&format!(
            "after {how}: the first answer in {answer:.2} s, all listed in {list:.2} s, {memory} MiB"
        ));
    }
    Ok(())
}

fn median(mut of: Vec<Duration>) -> f64 {
    of.sort_unstable();
    of.get(of.len() / 2).map_or(0.0, Duration::as_secs_f64)
}

/// How many package revisions the server lists.
fn listed(server: &Server, handle: &Handle) -> Result<usize> {
    let client = server.client()?;
    let list = handle.block_on(client.get(REVISIONS));
    let list = list.map_err(|e| e.to_string())?;
    Ok(list["items"].as_array().map_or(0, Vec::len))
}

/// A repository with so many packages, each published once.
fn publish(bare: &Path, count: usize) -> Result<()> {
    let failed = |e: std::io::Error| format!("make a repository: {e}");
    let init = Command::new("git")
        .args(["init", "--quiet", "--bare", "--initial-branch", "main"])
        .arg(bare)
        .status();
    init.map_err(failed)?;
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(bare)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut stream = String::new();
    for n in 0..count {
        let kptfile = format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p{n}\n");
        let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m{n}\n");
        stream += "commit refs/heads/main\n";
        stream += &format!("mark :{}\n", n + 1);
        stream += "committer Ada <ada@example.com> 1700000000 +0000\ndata 1\nv\n";
        for (name, text) in [("Kptfile", kptfile), ("map.yaml", map)] {
            stream += &format!("M 644 inline p{n}/{name}\ndata {}\n{text}\n", text.len());
        }
        stream += &format!("\nreset refs/tags/p{n}/v1\nfrom :{}\n\n", n + 1);
    }
    if let Some(mut input) = import.stdin.take() {
        input.write_all(stream.as_bytes()).map_err(failed)?;
    }
    let done = import.wait().map_err(failed)?;
    let packed = Command::new("git")
        .args(["pack-refs", "--all"])
        .current_dir(bare)
        .status();
    if done.success() && packed.map_err(failed)?.success() {
        Ok(())
    } else {
        Err("git could not make the repository".to_owned())
    }
}
