//! `cargo xtask bench fanout`: one set over N targets, from nothing to a second release.

use std::process::{Command, Stdio};
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::measure::{Cost, Start};
use super::package::upstream;
use super::set::{REVISIONS, SET, prepare, ready};
use super::targets::{LABEL, Targets};
use super::world::{CONFIG, World};
use super::{Compare, FanoutArgs, Result, Workload, kill, plain, report};

pub(super) async fn run(args: &FanoutArgs) -> Result<()> {
    let mut all: Vec<(usize, Vec<Cost>)> = Vec::new();
    for n in &args.n {
        let mut runs = Vec::new();
        for _ in 0..args.runs.max(1) {
            runs.push(match (args.n.len(), args.runs) {
                (1, 0 | 1) => one(args, *n).await?,
                _ => apart(args, *n)?,
            });
        }
        let costs = report::medians(runs);
        report::table(*n, &costs);
        all.push((*n, costs));
    }
    report::exponents(&all);
    if let Some(path) = &args.json {
        let rows: Vec<Value> = all
            .iter()
            .flat_map(|(n, costs)| costs.iter().map(|c| c.json(*n)))
            .collect();
        let text = Value::Array(rows).to_string();
        std::fs::write(path, text).map_err(|e| format!("write {}: {e}", path.display()))?;
    }
    Ok(())
}

/// One run in a process of its own: what a server held is not given back before its process ends.
fn apart(args: &FanoutArgs, n: usize) -> Result<Vec<Cost>> {
    let failed = |e: std::io::Error| format!("run a bench of {n}: {e}");
    let figures = tempfile::NamedTempFile::new().map_err(failed)?;
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command
        .args(["bench", "fanout", "--n", &n.to_string()])
        .args(["--phases", &args.phases.to_string()])
        .args(["--workload", &word(args.workload)])
        .args(["--layout", &word(args.layout)])
        .arg("--json")
        .arg(figures.path())
        .args(args.no_kill.then_some("--no-kill"))
        .args(args.no_fsync.then_some("--no-fsync"))
        .stdout(Stdio::null());
    if let Some(packages) = &args.packages {
        command.arg("--packages").arg(packages);
    }
    if let Some(compare) = args.compare {
        command.args(["--compare", &word(compare)]);
    }
    let status = command.status().map_err(failed)?;
    if !status.success() {
        return Err(format!("a bench of {n} ended with {status}"));
    }
    report::read(figures.path(), n)
}

/// How a flag's value is written.
fn word(value: impl ValueEnum) -> String {
    let word = value.to_possible_value();
    word.map_or_else(String::new, |word| word.get_name().to_owned())
}

async fn one(args: &FanoutArgs, n: usize) -> Result<Vec<Cost>> {
    let targets = Targets::new(args, n);
    let world = Arc::new(World::start(args).await?);
    prepare(&world, args, targets).await?;
    let mut costs = Vec::new();
    for phase in 0..args.phases.min(5) {
        costs.push(match phase {
            0 => fan_out(&world, targets).await?,
            1 => publish_all(&world, targets).await?,
            2 => upgrade(&world, args, targets).await?,
            3 => resync(&world).await?,
            _ if args.workload == Workload::W1 => relabel(&world, targets).await?,
            _ => break,
        });
    }
    if let Some(world) = Arc::into_inner(world) {
        world.stop().await;
    }
    if !args.no_kill && args.phases > 5 {
        costs.push(kill::run(args, n).await?);
    }
    if args.compare == Some(Compare::Plain) {
        let start = Start::now(Vec::new());
        plain::drafts(n, &upstream(args, 1)?)?;
        costs.push(start.end("plain git, clone copy commit push", Vec::new()));
    }
    Ok(costs)
}

pub(super) async fn fan_out(world: &World, targets: Targets<'_>) -> Result<Cost> {
    let start = Start::now(world.counted());
    let sets = format!("{CONFIG}/v1alpha2/namespaces/default/packagevariantsets");
    world.create(&sets, &targets.set(1)).await?;
    ready(world, targets, 1).await?;
    Ok(start.end("fan out", world.counted()))
}

async fn upgrade(world: &World, args: &FanoutArgs, targets: Targets<'_>) -> Result<Cost> {
    world.push("v2", &upstream(args, 2)?)?;
    let second = format!("{REVISIONS}/blueprints.bench.v2");
    world.wait(&second, "/spec/revision", &json!(2)).await?;
    let start = Start::now(world.counted());
    let patch = json!({ "spec": { "upstream": { "revision": 2 } } });
    let patched = world.client.patch(SET, &patch).await;
    patched.map_err(|e| e.to_string())?;
    ready(world, targets, 2).await?;
    for i in 0..targets.n {
        let name = format!("{REVISIONS}/{}", targets.draft(i, 2));
        world
            .wait(&name, "/spec/lifecycle", &json!("Draft"))
            .await?;
    }
    Ok(start.end("upgrade", world.counted()))
}

async fn resync(world: &World) -> Result<Cost> {
    // A repository's status counts its packages at its next look, which may be this one.
    world.settle().await;
    world.look_at_everything();
    world.settle().await;
    let start = Start::now(world.counted());
    world.look_at_everything();
    world.settle().await;
    let rest = start.end("resync, nothing to do", world.counted());
    let writes = ["writes of objects", "git packs", "git ref_transactions"];
    if writes.iter().any(|name| rest.count(name) > 0) {
        return Err(format!("the resync wrote: {:?}", rest.counted));
    }
    Ok(rest)
}

/// One target leaves the selection: its variant goes, and nobody else is touched.
async fn relabel(world: &World, targets: Targets<'_>) -> Result<Cost> {
    world.settle().await;
    let start = Start::now(world.counted());
    let patch = json!({ "metadata": { "labels": { LABEL: null } } });
    let patched = world.client.patch(&targets.selected(0), &patch).await;
    patched.map_err(|e| e.to_string())?;
    world
        .wait(SET, "/status/variants", &json!(targets.n - 1))
        .await?;
    world.settle().await;
    Ok(start.end("relabel one target", world.counted()))
}

/// Proposes and approves every draft, 32 at a time.
async fn publish_all(world: &Arc<World>, targets: Targets<'_>) -> Result<Cost> {
    let start = Start::now(world.counted());
    let mut tasks = JoinSet::new();
    for i in 0..targets.n {
        let world = Arc::clone(world);
        let name = targets.draft(i, 1);
        while tasks.len() >= 32 {
            if let Some(done) = tasks.join_next().await {
                done.map_err(|e| e.to_string())??;
            }
        }
        tasks.spawn(async move { publish(&world, &name).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(|e| e.to_string())??;
    }
    world.settle().await;
    Ok(start.end("propose and approve", world.counted()))
}

async fn publish(world: &World, name: &str) -> Result<()> {
    let path = format!("{REVISIONS}/{name}");
    for (lifecycle, door) in [("Proposed", ""), ("Published", "/approval")] {
        let mut object = world.client.get(&path).await.map_err(|e| e.to_string())?;
        object["spec"]["lifecycle"] = lifecycle.into();
        world.put(&format!("{path}{door}"), &object).await?;
    }
    Ok(())
}
