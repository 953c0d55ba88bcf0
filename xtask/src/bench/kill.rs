//! `kill -9` in the middle of a fan-out; how long it takes from the next start to rest.
//!
//! The server is a process of its own here: this program again, with the hidden command `serve`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use offshoot::client::Client;
use offshoot::up;
use serde_json::Value;

use super::measure::{Cost, Start};
use super::set::{REVISIONS, prepare, ready};
use super::targets::Targets;
use super::world::{CONFIG, World, git};
use super::{FanoutArgs, Result, Serve};

/// Runs the embedded server until it is killed.
pub(super) async fn serve(args: &Serve) -> Result<()> {
    let mut options = up::Options::at(&args.data);
    options.durable = !args.no_fsync;
    let running = up::start(options).await.map_err(|e| e.to_string())?;
    std::future::pending::<()>().await;
    running.stop().await;
    Ok(())
}

/// Kills a fan-out when a third of its drafts are in git, starts again, and waits until all are
/// Ready; nothing may be doubled.
pub(super) async fn run(args: &FanoutArgs, n: usize) -> Result<Cost> {
    let targets = Targets::new(args, n);
    let mut world = World::elsewhere(args).await?;
    let mut child = start(&mut world, args.no_fsync).await?;
    prepare(&world, args, targets).await?;
    let sets = format!("{CONFIG}/v1alpha2/namespaces/default/packagevariantsets");
    world.create(&sets, &targets.set(1)).await?;
    while made(&world, targets)? < n / 3 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // Nothing can be done about a process that is gone already.
    drop(child.kill());
    child.wait().map_err(|e| format!("wait: {e}"))?;
    let durable = made(&world, targets)?;

    let began = Start::now(Vec::new());
    let mut child = start(&mut world, args.no_fsync).await?;
    ready(&world, targets, 1).await?;
    let mut cost = began.end("restart after a kill", Vec::new());
    cost.phase = format!("kill -9 at {durable} of {n}, restart");
    let revisions = world.client.get(REVISIONS).await;
    let revisions = revisions.map_err(|e| e.to_string())?;
    drop(child.kill());
    child.wait().map_err(|e| format!("wait: {e}"))?;
    let all = revisions["items"].as_array().map_or(0, |items| {
        let ours = |r: &&Value| r["spec"]["repository"] != "blueprints";
        items.iter().filter(ours).count()
    });
    if all != n {
        return Err(format!("{all} drafts for {n} targets after the restart"));
    }
    Ok(cost)
}

async fn start(world: &mut World, no_fsync: bool) -> Result<Child> {
    let (child, client) = spawn(&world.data(), no_fsync).await?;
    world.client = client;
    Ok(child)
}

/// Starts a server of its own on a data directory, and connects once it answers.
pub(super) async fn spawn(data: &Path, no_fsync: bool) -> Result<(Child, Client)> {
    let program = std::env::current_exe().map_err(|e| format!("find this program: {e}"))?;
    let kubeconfig = data.join("kubeconfig");
    // The one of a server that is gone would be read too early.
    drop(std::fs::remove_file(&kubeconfig));
    let mut command = Command::new(program);
    command.args(["bench", "serve", "--data"]).arg(data);
    if no_fsync {
        command.arg("--no-fsync");
    }
    let child = command.stdin(Stdio::null()).spawn();
    let child = child.map_err(|e| format!("start the server: {e}"))?;
    Ok((child, connect(&kubeconfig).await?))
}

async fn connect(kubeconfig: &Path) -> Result<Client> {
    let started = Instant::now();
    loop {
        if kubeconfig.exists()
            && let Ok(client) = Client::with(kubeconfig).await
            && client.get("/version").await.is_ok()
        {
            return Ok(client);
        }
        if started.elapsed() > Duration::from_secs(60) {
            return Err("the server does not answer".to_owned());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Drafts that are in git.
fn made(world: &World, targets: Targets<'_>) -> Result<usize> {
    let mut all = 0;
    for i in 0..targets.repositories() {
        let repository = world.path(&targets.repository(i));
        let refs = git(
            &repository,
            &["for-each-ref", "--format=%(refname)", "refs/heads/drafts"],
        )?;
        all += refs.lines().count();
    }
    Ok(all)
}
