//! `bench apiserver`: the embedded server as a process of its own, asked over TLS.
//!
//! Every figure stands beside the disk's own rate of the same run. The clients run on the same machine and take their share
//! of it.

mod fairness;
mod load;
mod watch;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use offshoot::client::Client;
use serde_json::{Value, json};

use super::ApiserverArgs;
use super::Result;
use super::kill::spawn;
use load::Load;

/// One figure.
struct Figure {
    what: String,
    value: String,
    goal: &'static str,
}

/// The figures so far, told as they come.
#[derive(Default)]
struct Table(Vec<Figure>);

impl Table {
    fn add(&mut self, what: &str, value: String, goal: &'static str) {
        crate::say(&format!("{what:<52} {value:>22}   {goal}"));
        self.0.push(Figure {
            what: what.to_owned(),
            value,
            goal,
        });
    }
}

/// Runs everything and prints one table.
pub(super) async fn run(args: &ApiserverArgs) -> Result<()> {
    let root = tempfile::tempdir().map_err(|e| format!("make a directory: {e}"))?;
    let mut table = Table::default();
    let floor = floor(root.path(), args.seconds)?;
    let what = "write and fsync of 2 KiB, one at a time";
    table.add(what, format!("{floor:.0}/s"), "");
    if let Some(kubeconfig) = &args.kubeconfig {
        elsewhere(args, kubeconfig, root.path(), floor, &mut table).await?;
    } else {
        // Rates and sizes each on a server of their own: what one leaves behind is no part of the other.
        sizes(args, &root.path().join("sizes"), &mut table).await?;
        let data = root.path().join("rates");
        let (mut child, _client) = spawn(&data, false).await?;
        rates(
            args,
            &data.join("kubeconfig"),
            root.path(),
            floor,
            &mut table,
        )
        .await?;
        stop(&mut child)?;
    }
    args.json
        .as_ref()
        .map_or(Ok(()), |path| write(path, &table.0))
}

/// The same of a server that runs already: what can be asked from outside.
async fn elsewhere(
    args: &ApiserverArgs,
    kubeconfig: &Path,
    root: &Path,
    floor: f64,
    table: &mut Table,
) -> Result<()> {
    let client = Client::with(kubeconfig).await.map_err(|e| e.to_string())?;
    let small = args.objects / 10;
    Load::new(kubeconfig).await?.fill(small).await?;
    lists(&client, small, table).await?;
    watches(args, kubeconfig, table).await?;
    rates(args, kubeconfig, root, floor, table).await
}

/// Lists, watches, memory and a start, at so many objects and no more.
async fn sizes(args: &ApiserverArgs, data: &Path, table: &mut Table) -> Result<()> {
    let (mut child, client) = spawn(data, false).await?;
    table.add("memory of an empty server", memory(&child), "");
    let kubeconfig = data.join("kubeconfig");
    let mut load = Load::new(&kubeconfig).await?;
    let small = args.objects / 10;
    load.fill(small).await?;
    let what = format!("memory at {small} objects, 64 clients connected");
    table.add(&what, memory(&child), "≤ 80 MB at 10,000");
    lists(&client, small, table).await?;
    table.add("memory after the lists", memory(&child), "");
    watches(args, &kubeconfig, table).await?;
    load.fill(args.objects).await?;
    let what = format!("memory at {} objects", args.objects);
    table.add(&what, memory(&child), "≤ 450 MB at 100,000");
    stop(&mut child)?;
    let started = Instant::now();
    let (mut child, _client) = spawn(data, false).await?;
    table.add(
        &format!("kill -9 and start at {} objects", args.objects),
        format!("{:.2} s", started.elapsed().as_secs_f64()),
        "≤ 2 s at 100,000",
    );
    table.add("memory after it", memory(&child), "");
    stop(&mut child)
}

/// Durable creates, and what one user's haste costs another.
async fn rates(
    args: &ApiserverArgs,
    kubeconfig: &Path,
    root: &Path,
    floor: f64,
    table: &mut Table,
) -> Result<()> {
    let time = Duration::from_secs(args.seconds);
    let seen = fairness::run(kubeconfig, root, time).await?;
    let told = |rate: &load::Rate| {
        format!(
            "{:.0}/s, {:.1} / {:.1} ms",
            rate.per_second, rate.p50, rate.p99
        )
    };
    table.add("one user alone: p50 / p99", told(&seen.alone), "");
    table.add(
        "  the same beside one with ten times the rate",
        told(&seen.beside),
        "p99 within 2×",
    );
    table.add("  and that one", told(&seen.hasty), "");
    let mut load = Load::starting_at(kubeconfig, 1_000_000).await?;
    writes(args, &mut load, floor, table).await
}

/// Durable creates, alone and many at once.
async fn writes(
    args: &ApiserverArgs,
    load: &mut Load,
    floor: f64,
    table: &mut Table,
) -> Result<()> {
    let rounds = [
        (1, "≥ 500/s, or 60 % of the first line"),
        (32, "≥ 2500/s"),
        (128, "5000/s"),
    ];
    for (clients, goal) in rounds {
        let time = Duration::from_secs(args.seconds);
        let rate = load.create_for(clients, time).await?;
        let what = format!("durable creates of 2 KiB, {clients} in flight");
        let share = rate.per_second / floor * 100.0;
        let value = format!("{:.0}/s ({share:.0} %)", rate.per_second);
        table.add(&what, value, goal);
        let value = format!("{:.1} / {:.1} ms", rate.p50, rate.p99);
        table.add("  p50 / p99", value, "");
    }
    Ok(())
}

/// Watchers at growing rates.
async fn watches(args: &ApiserverArgs, kubeconfig: &Path, table: &mut Table) -> Result<()> {
    for deliveries in [10_000, 20_000, 40_000] {
        let time = Duration::from_secs(args.seconds);
        let seen = watch::run(kubeconfig, args.watchers, deliveries, time).await?;
        let what = format!(
            "{} watchers, {deliveries} deliveries/s: p50 / p99",
            args.watchers
        );
        let value = format!("{:.1} / {:.1} ms", seen.p50, seen.p99);
        table.add(&what, value, "2 / 20 ms at 10,000/s");
        table.add("  delivered", format!("{:.0}/s", seen.per_second), "");
    }
    Ok(())
}

/// Lists of everything and of a page, medians.
async fn lists(client: &Client, count: usize, table: &mut Table) -> Result<()> {
    let all = format!("{}?limit=0", load::MAPS);
    let page = format!("{}?limit=500", load::MAPS);
    for (what, path, times, goal) in [
        (format!("list of {count}"), all, 5, "≤ 150 ms at 10,000"),
        ("page of 500".to_owned(), page, 20, "≤ 8 ms"),
    ] {
        let mut taken = Vec::new();
        let mut bytes = 0;
        for _ in 0..times {
            let started = Instant::now();
            bytes = load::read(client, &path).await?;
            taken.push(started.elapsed().as_secs_f64() * 1000.0);
        }
        taken.sort_by(f64::total_cmp);
        let median = taken.get(taken.len() / 2).copied().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "a size for people")]
        let megabytes = bytes as f64 / 1e6;
        table.add(&what, format!("{median:.1} ms, {megabytes:.1} MB"), goal);
    }
    Ok(())
}

/// How often this disk makes 2 KiB durable, one at a time.
fn floor(directory: &Path, seconds: u64) -> Result<f64> {
    use std::io::Write as _;
    let failed = |e: std::io::Error| format!("measure the disk: {e}");
    let mut file = std::fs::File::create(directory.join("floor")).map_err(failed)?;
    let started = Instant::now();
    let mut count = 0_u32;
    while started.elapsed() < Duration::from_secs(seconds) {
        file.write_all(&[7; 2048])
            .and_then(|()| file.sync_data())
            .map_err(failed)?;
        count += 1;
    }
    Ok(f64::from(count) / started.elapsed().as_secs_f64())
}

/// Resident memory of a process.
fn memory(child: &Child) -> String {
    let path = format!("/proc/{}/status", child.id());
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.map_or_else(|| "unknown".to_owned(), |k| format!("{} MB", k / 1024))
}

fn stop(child: &mut Child) -> Result<()> {
    child.kill().map_err(|e| format!("kill the server: {e}"))?;
    child.wait().map(drop).map_err(|e| format!("wait: {e}"))
}

fn write(path: &Path, table: &[Figure]) -> Result<()> {
    let rows: Vec<Value> = table
        .iter()
        .map(|f| json!({"what": f.what.trim(), "value": f.value, "goal": f.goal}))
        .collect();
    std::fs::write(path, Value::from(rows).to_string())
        .map_err(|e| format!("write {}: {e}", path.display()))
}
