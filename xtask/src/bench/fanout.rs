//! `cargo xtask bench fanout`: one set over N targets, from nothing to a second release.

use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::FanoutArgs;
use super::measure::{Cost, Start, exponent};
use super::package::{w0, w1};
use super::world::{CONFIG, Result, World, git};

const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";

pub(super) async fn run(args: &FanoutArgs) -> Result<()> {
    let mut all: Vec<(usize, Vec<Cost>)> = Vec::new();
    for n in &args.n {
        let costs = one(args, *n).await?;
        table(*n, &costs)?;
        all.push((*n, costs));
    }
    exponents(&all)?;
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

async fn one(args: &FanoutArgs, n: usize) -> Result<Vec<Cost>> {
    let with_pipeline = args.workload != "w0";
    let world = Arc::new(World::start(!args.no_fsync).await?);
    prepare(&world, args, n, with_pipeline).await?;
    let set = format!("{CONFIG}/v1alpha2/namespaces/default/packagevariantsets");
    let mut costs = Vec::new();

    let start = Start::now(world.server.counted());
    world
        .create(&set, &set_object(args, n, with_pipeline, 1))
        .await?;
    ready(&world, n, 1).await?;
    costs.push(start.end("fan out", world.server.counted()));

    let start = Start::now(world.server.counted());
    publish_all(&world, args, n).await?;
    costs.push(start.end("propose and approve", world.server.counted()));

    world.push("v2", &if with_pipeline { w1(2) } else { w0(2) })?;
    world
        .wait(
            &format!("{REVISIONS}/blueprints.bench.v2"),
            "/spec/revision",
            &json!(2),
        )
        .await?;
    let start = Start::now(world.server.counted());
    let patch = json!({ "spec": { "upstream": { "revision": 2 } } });
    let patched = world.client.patch(&format!("{set}/bench"), &patch).await;
    patched.map_err(|e| e.to_string())?;
    ready(&world, n, 2).await?;
    drafts(&world, args, n).await?;
    costs.push(start.end("upgrade", world.server.counted()));

    settle(&world).await;
    let start = Start::now(world.server.counted());
    world.server.look_at_everything();
    settle(&world).await;
    let rest = start.end("resync, nothing to do", world.server.counted());
    if rest.count("writes of objects")
        + rest.count("git packs")
        + rest.count("git ref_transactions")
        > 0
    {
        return Err(format!("the resync wrote: {:?}", rest.counted));
    }
    costs.push(rest);
    if args.compare.as_deref() == Some("plain") {
        let start = Start::now(Vec::new());
        plain(n, with_pipeline)?;
        costs.push(start.end("plain git, clone copy commit push", Vec::new()));
    }
    Ok(costs)
}

fn repository(args: &FanoutArgs, i: usize) -> String {
    if args.layout == "one" {
        "deploy".to_owned()
    } else {
        format!("deploy-{i}")
    }
}

fn package(args: &FanoutArgs, i: usize) -> String {
    if args.layout == "one" {
        format!("bench-{i}")
    } else {
        "bench".to_owned()
    }
}

async fn prepare(
    world: &Arc<World>,
    args: &FanoutArgs,
    n: usize,
    with_pipeline: bool,
) -> Result<()> {
    world.repository("blueprints", false, &json!({})).await?;
    let count = if args.layout == "one" { 1 } else { n };
    for i in 0..count {
        world
            .repository(&repository(args, i), true, &json!({}))
            .await?;
    }
    let last = format!(
        "{CONFIG}/v1alpha1/namespaces/default/repositories/{}",
        repository(args, count - 1)
    );
    world
        .wait(&last, "/status/conditions/0/status", &json!("True"))
        .await?;
    world.push("v1", &if with_pipeline { w1(1) } else { w0(1) })?;
    world
        .wait(
            &format!("{REVISIONS}/blueprints.bench.v1"),
            "/spec/revision",
            &json!(1),
        )
        .await?;
    if with_pipeline {
        for i in 0..n {
            let object = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "name": format!("site-{}-{}", repository(args, i), package(args, i)) },
                "data": { "region": format!("region-{i}") },
            });
            world
                .create("/api/v1/namespaces/default/configmaps", &object)
                .await?;
        }
    }
    settle(world).await;
    Ok(())
}

fn set_object(args: &FanoutArgs, n: usize, with_pipeline: bool, revision: u32) -> Value {
    let repositories: Vec<Value> = if args.layout == "one" {
        let names: Vec<String> = (0..n).map(|i| package(args, i)).collect();
        vec![json!({ "name": "deploy", "packageNames": names })]
    } else {
        (0..n)
            .map(|i| json!({ "name": repository(args, i) }))
            .collect()
    };
    let mut target = json!({ "repositories": repositories });
    if with_pipeline {
        target["template"] = json!({
            "packageContext": { "dataExprs": [{ "key": "site", "valueExpr": "target.repo + '-' + target.package" }] },
            "pipeline": { "mutators": [{
                "name": "site",
                "image": "set-annotations:v0.1.4",
                "configMapExprs": [{ "key": "example.com/site", "valueExpr": "target.package" }],
            }] },
            "injectors": [{ "kind": "ConfigMap", "nameExpr": "'site-' + target.repo + '-' + target.package" }],
        });
    }
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "bench" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "bench", "revision": revision },
            "targets": [target],
        },
    })
}

/// All variants are Ready, and the set has seen this generation.
async fn ready(world: &World, n: usize, generation: u64) -> Result<()> {
    let path = format!("{CONFIG}/v1alpha2/namespaces/default/packagevariantsets/bench");
    world
        .wait(&path, "/status/observedGeneration", &json!(generation))
        .await?;
    world.wait(&path, "/status/readyVariants", &json!(n)).await
}

/// Every upgrade draft is there, whatever the set has counted.
async fn drafts(world: &World, args: &FanoutArgs, n: usize) -> Result<()> {
    for i in 0..n {
        let (repository, package) = (repository(args, i), package(args, i));
        let name = format!("{REVISIONS}/{repository}.{package}.packagevariant-2");
        world
            .wait(&name, "/spec/lifecycle", &json!("Draft"))
            .await?;
    }
    settle(world).await;
    Ok(())
}

/// Proposes and approves every draft, 32 at a time.
async fn publish_all(world: &Arc<World>, args: &FanoutArgs, n: usize) -> Result<()> {
    let mut tasks = JoinSet::new();
    for i in 0..n {
        let world = Arc::clone(world);
        let name = format!(
            "{}.{}.packagevariant-1",
            repository(args, i),
            package(args, i)
        );
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
    settle(world).await;
    Ok(())
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

async fn settle(world: &World) {
    let mut quiet = 0;
    while quiet < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        quiet = if world.server.busy() == 0 {
            quiet + 1
        } else {
            0
        };
    }
}

/// The same number of drafts by the plain git command: one clone, then copy, commit and push each.
fn plain(n: usize, with_pipeline: bool) -> Result<()> {
    let root = tempfile::tempdir().map_err(|e| e.to_string())?;
    git(root.path(), &["init", "--quiet", "--bare", "deploy.git"])?;
    git(root.path(), &["clone", "--quiet", "deploy.git", "desk"])?;
    let desk = root.path().join("desk");
    let files = if with_pipeline { w1(1) } else { w0(1) };
    git(
        &desk,
        &["commit", "--quiet", "--allow-empty", "--message", "start"],
    )?;
    for i in 0..n {
        let branch = format!("drafts/bench-{i}/packagevariant-1");
        git(&desk, &["checkout", "--quiet", "-b", &branch, "HEAD"])?;
        let package = desk.join(format!("bench-{i}"));
        std::fs::create_dir_all(&package).map_err(|e| e.to_string())?;
        for (path, text) in &files {
            std::fs::write(package.join(path), text).map_err(|e| e.to_string())?;
        }
        git(&desk, &["add", "--all"])?;
        git(&desk, &["commit", "--quiet", "--message", "draft"])?;
        git(&desk, &["push", "--quiet", "origin", &branch])?;
    }
    Ok(())
}

fn table(n: usize, costs: &[Cost]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let mut lines = vec![format!(
        "\nN = {n}\n{:<36} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>8} {:>10} {:>7}",
        "phase",
        "wall s",
        "CPU s",
        "peak MB",
        "packs",
        "ref tx",
        "pushes",
        "fsyncs",
        "reconciles",
        "writes"
    )];
    for cost in costs {
        let reconciles = cost.count("variant_reconciles") + cost.count("set_reconciles");
        lines.push(format!(
            "{:<36} {:>8.2} {:>8.2} {:>8.0} {:>7} {:>7} {:>7} {:>8} {:>10} {:>7}",
            cost.phase,
            cost.wall,
            cost.cpu,
            cost.peak,
            cost.count("git packs"),
            cost.count("git ref_transactions"),
            cost.count("git pushes"),
            cost.count("git fsyncs"),
            reconciles,
            cost.count("writes of objects"),
        ));
    }
    lines
        .iter()
        .try_for_each(|line| writeln!(out, "{line}"))
        .map_err(|e| e.to_string())
}

fn exponents(all: &[(usize, Vec<Cost>)]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let phases = all
        .first()
        .map(|(_, costs)| costs.iter().map(|c| c.phase).collect::<Vec<_>>());
    for phase in phases.unwrap_or_default() {
        let wall = |costs: &Vec<Cost>| costs.iter().find(|c| c.phase == phase).map(|c| c.wall);
        let points: Vec<_> = all
            .iter()
            .filter_map(|(n, costs)| Some((*n, wall(costs)?)))
            .collect();
        if let Some(b) = exponent(&points) {
            writeln!(out, "growth of {phase}: N^{b:.2}").map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}
