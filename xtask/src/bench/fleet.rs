//! `cargo xtask bench fleet`: what people do to a whole fleet, beside the fan-out of the same run.
//!
//! Requests are those of the command line: plans with the set as its manifest, changes in pieces of 2,500 with the tree of
//! each. What a plan foretold is held against what was then written.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use offshoot::client::{BULK, EXPLANATIONS, PLANS, RESOURCES, object};
use serde_json::{Value, json};

use super::measure::{Cost, Start};
use super::package::{upstream, wide};
use super::set::{self, REVISIONS, SET};
use super::targets::Targets;
use super::world::{CONFIG, World};
use super::{FanoutArgs, FleetArgs, Layout, Result, Workload, fanout, report};

/// Entries of one request, as the command line makes them.
const PIECE: usize = 2_500;
/// Revisions of one page of a list.
const PAGE: usize = 500;

pub(super) async fn run(args: &FleetArgs) -> Result<()> {
    let mut all: Vec<(usize, Vec<Cost>)> = Vec::new();
    for n in &args.n {
        let costs = match args.n.len() {
            1 => one(args, *n).await?,
            _ => apart(args, *n)?,
        };
        report::table(*n, &costs);
        beside(&costs);
        all.push((*n, costs));
    }
    report::exponents(&all);
    if let Some(path) = &args.json {
        let rows = all
            .iter()
            .flat_map(|(n, costs)| costs.iter().map(|c| c.json(*n)));
        let text = Value::Array(rows.collect()).to_string();
        std::fs::write(path, text).map_err(|e| format!("write {}: {e}", path.display()))?;
    }
    Ok(())
}

/// One run in a process of its own: what a server held is not given back before its process ends.
fn apart(args: &FleetArgs, n: usize) -> Result<Vec<Cost>> {
    let failed = |e: std::io::Error| format!("run a bench of {n}: {e}");
    let figures = tempfile::NamedTempFile::new().map_err(failed)?;
    let status = Command::new(std::env::current_exe().map_err(failed)?)
        .args(["bench", "fleet", "--n", &n.to_string()])
        .args(["--conflicts", &args.conflicts.to_string()])
        .arg("--json")
        .arg(figures.path())
        .args(args.no_fsync.then_some("--no-fsync"))
        .stdout(Stdio::null())
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(format!("a bench of {n} ended with {status}"));
    }
    report::read(figures.path(), n)
}

/// Ratios that the machine's speed leaves alone.
fn beside(costs: &[Cost]) {
    let of = |phase: &str| costs.iter().find(|c| c.phase.starts_with(phase));
    for yardstick in [FAN_OUT, UPGRADE] {
        let (Some(plan), Some(fan)) = (of(PLAN), of(yardstick)) else {
            continue;
        };
        crate::say(&format!(
            "the plan takes {:.2} of the CPU of the {yardstick}",
            plan.cpu / fan.cpu
        ));
    }
}

const FAN_OUT: &str = "fan out";
const PLAN: &str = "plan, a tenth edited";
const UPGRADE: &str = "upgrade";

async fn one(args: &FleetArgs, n: usize) -> Result<Vec<Cost>> {
    let fan = FanoutArgs {
        n: vec![n],
        workload: Workload::W1,
        layout: Layout::One,
        runs: 1,
        phases: usize::MAX,
        packages: None,
        no_kill: true,
        json: None,
        compare: None,
        no_fsync: args.no_fsync,
    };
    let targets = Targets::new(&fan, n);
    let world = World::start(&fan).await?;
    set::prepare(&world, &fan, targets).await?;
    let run = Run {
        world: &world,
        targets,
        conflicts: args.conflicts.min(n / 10),
    };
    let mut costs = vec![fanout::fan_out(&world, targets).await?];
    run.edit().await?;
    costs.extend(run.publish_first().await?);
    let (plan, cost) = run.plan(&fan).await?;
    costs.push(cost);
    costs.push(run.plan_nothing().await?);
    costs.push(run.upgrade(&plan).await?);
    if run.conflicts > 0 {
        costs.push(run.resolve().await?);
    }
    costs.extend(run.publish_classes(&plan).await?);
    costs.push(run.blame().await?);
    world.stop().await;
    Ok(costs)
}

struct Run<'a> {
    world: &'a World,
    targets: Targets<'a>,
    conflicts: usize,
}

impl Run<'_> {
    fn start(&self) -> Start {
        Start::now(self.world.counted())
    }

    fn end(&self, start: Start, phase: &str) -> Cost {
        start.end(phase, self.world.counted())
    }

    async fn post(&self, kind: (&str, &str), body: &Value) -> Result<Value> {
        let path = format!("{}/namespaces/default/{}", kind.0, kind.1);
        let answer = self.world.client.post(&path, body).await;
        answer.map_err(|e| format!("{path}: {e}"))
    }

    /// A person edits every tenth draft: the first of them what the next upstream changes, too.
    async fn edit(&self) -> Result<()> {
        for (at, i) in (0..self.targets.n).step_by(10).enumerate() {
            let path = object(RESOURCES, "default", &self.targets.draft(i, 1));
            let (from, to) = match at < self.conflicts {
                true => ("SIZE: \"11\"", "SIZE: \"20\""),
                false => ("LOG_LEVEL: info", "LOG_LEVEL: debug"),
            };
            self.edit_one(&path, from, to).await?;
        }
        self.world.settle().await;
        Ok(())
    }

    async fn edit_one(&self, path: &str, from: &str, to: &str) -> Result<()> {
        let got = self.world.client.get(path).await;
        let mut files = got.map_err(|e| format!("{path}: {e}"))?;
        let file = &mut files["spec"]["resources"]["config-0.yaml"];
        let edited = file.as_str().unwrap_or_default().replace(from, to);
        *file = edited.into();
        self.world.put(path, &files).await
    }

    /// The drafts with their statuses, a page at a time: all revisions at once, read and parsed in this very process,
    /// would be most of what a phase is then seen to hold.
    async fn drafts(&self) -> Result<BTreeMap<String, Value>> {
        let mut drafts = BTreeMap::new();
        let mut from = String::new();
        loop {
            let page = format!(
                "{REVISIONS}?fieldSelector=spec.repository=deploy&limit={PAGE}&continue={from}"
            );
            let list = self.world.client.get(&page).await;
            let list = list.map_err(|e| e.to_string())?;
            for revision in self::list(&list, "items") {
                let name = revision["metadata"]["name"].as_str();
                if let Some(name) = name.filter(|_| revision["spec"]["lifecycle"] == "Draft") {
                    let kept = json!({ "status": revision["status"] });
                    drafts.insert(name.to_owned(), kept);
                }
            }
            match list["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => next.clone_into(&mut from),
                _ => return Ok(drafts),
            }
        }
    }

    /// One verb for many, in pieces; all of them must have been done.
    async fn change(&self, verb: &str, seen: &[(String, Value)], decisions: &Value) -> Result<()> {
        for piece in seen.chunks(PIECE) {
            let changes = piece
                .iter()
                .map(|(name, tree)| json!({ "name": name, "verb": verb, "tree": tree }));
            let mut body = json!({
                "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "BulkChange",
                "spec": { "changes": changes.collect::<Vec<_>>() },
            });
            if !decisions.is_null() {
                body["spec"]["resolutions"] = decisions.clone();
            }
            let answer = self.post(BULK, &body).await?;
            let done = answer["status"]["done"].as_u64();
            if done != Some(piece.len() as u64) {
                let first = answer["status"]["results"].as_array();
                let first = first.and_then(|all| all.iter().find(|r| r["result"] != "Done"));
                return Err(format!("{verb}: {done:?} of {}: {first:?}", piece.len()));
            }
        }
        Ok(())
    }

    async fn publish(&self, seen: &[(String, Value)], what: &str) -> Result<Vec<Cost>> {
        let mut costs = Vec::new();
        for verb in ["propose", "approve"] {
            let start = self.start();
            self.change(verb, seen, &Value::Null).await?;
            costs.push(self.end(start, &format!("{verb} {what}")));
        }
        self.world.settle().await;
        Ok(costs)
    }

    async fn publish_first(&self) -> Result<Vec<Cost>> {
        let seen: Vec<(String, Value)> = self.drafts().await?.into_iter().map(bound).collect();
        self.publish(&seen, "by a selection").await
    }

    /// What the set at the next revision would make.
    async fn plan(&self, fan: &FanoutArgs) -> Result<(Value, Cost)> {
        self.world.push("v2", &upstream(fan, 2)?)?;
        let second = format!("{REVISIONS}/blueprints.bench.v2");
        self.world
            .wait(&second, "/spec/revision", &json!(2))
            .await?;
        self.world.settle().await;
        let start = self.start();
        let answer = self
            .post(PLANS, &plan(&json!({ "objects": [self.targets.set(2)] })))
            .await?;
        let cost = self.end(start, PLAN);
        let document = answer["status"]["document"].clone();
        let targets = document["targets"].as_array().map_or(0, Vec::len);
        match targets == self.targets.n {
            true => Ok((document, cost)),
            false => Err(format!("{targets} targets are planned")),
        }
    }

    async fn plan_nothing(&self) -> Result<Cost> {
        let start = self.start();
        let answer = self.post(PLANS, &plan(&json!({}))).await?;
        let cost = self.end(start, "plan, nothing to do");
        let set = &answer["status"]["document"]["sets"][0]["counts"];
        if set["unchanged"] != self.targets.n || cost.count("derivations") > 0 {
            return Err(format!("something is to be done: {set}"));
        }
        Ok(cost)
    }

    /// The upgrade that was planned; each draft holds what the plan foretold.
    async fn upgrade(&self, plan: &Value) -> Result<Cost> {
        let start = self.start();
        let patch = json!({ "spec": { "upstream": { "revision": 2 } } });
        let patched = self.world.client.patch(SET, &patch).await;
        patched.map_err(|e| e.to_string())?;
        for i in 0..self.targets.n {
            let name = format!("{REVISIONS}/{}", self.targets.draft(i, 2));
            let lifecycle = json!("Draft");
            self.world
                .wait(&name, "/spec/lifecycle", &lifecycle)
                .await?;
        }
        self.world.settle().await;
        let cost = self.end(start, UPGRADE);
        let written = self.drafts().await?;
        for target in list(plan, "targets") {
            let draft = target["draft"].as_str().unwrap_or_default();
            let tree = written.get(draft).map(|r| &r["status"]["offshoot"]["tree"]);
            if tree != Some(&target["tree"]) {
                return Err(format!("{draft} holds {tree:?}, and was planned: {target}"));
            }
        }
        Ok(cost)
    }

    /// One decision for all equal conflicts.
    async fn resolve(&self) -> Result<Cost> {
        let conflicted = |r: &Value| {
            r["status"]["conflicts"]
                .as_array()
                .is_some_and(|c| !c.is_empty())
        };
        let drafts = self.drafts().await?;
        let all: Vec<_> = drafts.into_iter().filter(|(_, r)| conflicted(r)).collect();
        if all.len() != self.conflicts {
            return Err(format!("{} drafts have conflicts", all.len()));
        }
        let first = all
            .first()
            .map_or(&Value::Null, |(_, r)| &r["status"]["conflicts"][0]);
        let decisions = json!([{
            "file": first["file"], "resource": first["resource"], "path": first["path"],
            "base": first["base"], "upstream": first["upstream"], "take": "local",
        }]);
        let seen: Vec<_> = all.into_iter().map(bound).collect();
        let start = self.start();
        self.change("resolve", &seen, &decisions).await?;
        let cost = self.end(start, &format!("resolve {} equal conflicts", seen.len()));
        self.world.settle().await;
        Ok(cost)
    }

    /// The drafts of the plan, class by class, bound to what the plan says; what was decided since is left aside.
    async fn publish_classes(&self, plan: &Value) -> Result<Vec<Cost>> {
        let mut seen = Vec::new();
        for class in list(plan, "classes") {
            let mine = list(plan, "targets").filter(|t| t["class"] == class["id"]);
            let clean = mine.filter(|t| t["verdict"] != "conflict");
            seen.extend(
                clean.filter_map(|t| Some((t["draft"].as_str()?.to_owned(), t["tree"].clone()))),
            );
        }
        let classes = list(plan, "classes").count();
        self.publish(&seen, &format!("by {classes} classes")).await
    }

    /// Who wrote what in a package of 60 files, of which a person edited one.
    async fn blame(&self) -> Result<Cost> {
        self.world.push_package("wide", "v1", &wide())?;
        let first = format!("{REVISIONS}/blueprints.wide.v1");
        self.world.wait(&first, "/spec/revision", &json!(1)).await?;
        let variants = format!("{CONFIG}/v1alpha1/namespaces/default/packagevariants");
        let variant = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "PackageVariant", "metadata": { "name": "wide" },
            "spec": {
                "upstream": { "repo": "blueprints", "package": "wide", "revision": 1 },
                "downstream": { "repo": "deploy", "package": "wide" },
            },
        });
        self.world.create(&variants, &variant).await?;
        let name = "deploy.wide.packagevariant-1";
        let lifecycle = json!("Draft");
        let path = format!("{REVISIONS}/{name}");
        self.world
            .wait(&path, "/spec/lifecycle", &lifecycle)
            .await?;
        let path = object(RESOURCES, "default", name);
        self.edit_one(&path, "LOG_LEVEL: info", "LOG_LEVEL: debug")
            .await?;
        self.world.settle().await;
        let start = self.start();
        let path = object(EXPLANATIONS, "default", &format!("blame.{name}"));
        let answer = self.world.client.get(&path).await;
        let answer = answer.map_err(|e| e.to_string())?;
        let fields = answer["status"]["fields"].as_array().map_or(0, Vec::len);
        Ok(self.end(start, &format!("blame of 60 files, {fields} fields")))
    }
}

/// A draft with its tree.
fn bound((name, revision): (String, Value)) -> (String, Value) {
    (name, revision["status"]["offshoot"]["tree"].clone())
}

fn plan(spec: &Value) -> Value {
    json!({
        "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "Plan",
        "metadata": { "name": "plan" }, "spec": spec,
    })
}

fn list<'a>(document: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    document[key].as_array().into_iter().flatten()
}
