//! Two users of one server: what the second's haste costs the first.
//!
//! Requests are sent by the clock, whatever became of those before, and a request's time counts from when it was due: so a
//! queue that grows is seen.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use offshoot::client::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Result;
use super::load::{MAPS, Rate, map};

/// Requests of the quiet user in a second.
const QUIET: u32 = 100;
/// How many times as many the hasty one sends.
const TIMES: u32 = 10;
/// Connections of each.
const CONNECTIONS: u32 = 20;

/// What the quiet user saw.
pub(super) struct Seen {
    /// Alone.
    pub(super) alone: Rate,
    /// Beside the hasty one.
    pub(super) beside: Rate,
    /// What the hasty one got.
    pub(super) hasty: Rate,
}

/// Measures the quiet user alone, then beside the hasty one.
pub(super) async fn run(kubeconfig: &Path, directory: &Path, time: Duration) -> Result<Seen> {
    let admin = Client::with(kubeconfig).await.map_err(|e| e.to_string())?;
    let quiet = user(&admin, kubeconfig, directory, "quiet").await?;
    let hasty = user(&admin, kubeconfig, directory, "hasty").await?;
    let numbers = Arc::new(AtomicUsize::new(10_000_000));
    let alone = send(&quiet, QUIET, time, &numbers).await?;
    let together = tokio::join!(
        send(&quiet, QUIET, time, &numbers),
        send(&hasty, QUIET * TIMES, time, &numbers)
    );
    Ok(Seen {
        alone,
        beside: together.0?,
        hasty: together.1?,
    })
}

/// An account that may write ConfigMaps, and its kubeconfig.
async fn user(admin: &Client, kubeconfig: &Path, directory: &Path, name: &str) -> Result<PathBuf> {
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let post =
        async |path: &str, body: Value| admin.post(path, &body).await.map_err(|e| e.to_string());
    post(accounts, json!({"metadata": {"name": name}})).await?;
    // A role of its own: the default ones are empty where nobody aggregates them.
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]});
    let role = json!({"metadata": {"name": name}, "rules": [rule]});
    post(&format!("{rights}/roles"), role).await?;
    let binding = json!({
        "metadata": {"name": name}, "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
    });
    post(&format!("{rights}/rolebindings"), binding).await?;
    let made = post(&format!("{accounts}/{name}/token"), json!({"spec": {}})).await?;
    let token = made.pointer("/status/token").and_then(Value::as_str);
    let token = token.ok_or("no token was given out")?;
    let text = std::fs::read_to_string(kubeconfig).map_err(|e| e.to_string())?;
    let lines = text.lines().map(|line| match line.split_once("token: ") {
        Some((before, _)) => format!("{before}token: {token}\n"),
        None => format!("{line}\n"),
    });
    let path = directory.join(format!("{name}.kubeconfig"));
    std::fs::write(&path, lines.collect::<String>()).map_err(|e| e.to_string())?;
    Ok(path)
}

/// Creates so many objects a second for a while, spread over connections.
async fn send(
    kubeconfig: &Path,
    rate: u32,
    time: Duration,
    numbers: &Arc<AtomicUsize>,
) -> Result<Rate> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::with(kubeconfig).await.map_err(|e| e.to_string())?;
        client
            .get(&format!("{MAPS}?limit=1"))
            .await
            .map_err(|e| e.to_string())?;
        clients.push(Arc::new(client));
    }
    let started = Instant::now();
    let mut work = tokio::task::JoinSet::new();
    let mut due = started;
    let mut turn = clients.iter().cycle();
    while due < started + time {
        tokio::time::sleep_until(due).await;
        let (Some(client), number) = (turn.next().cloned(), numbers.fetch_add(1, Ordering::SeqCst))
        else {
            break;
        };
        work.spawn(async move {
            create(&client, number).await?;
            Ok::<_, String>(due.elapsed().as_secs_f64() * 1000.0)
        });
        due += Duration::from_secs(1) / rate;
    }
    let mut taken = Vec::new();
    while let Some(done) = work.join_next().await {
        taken.push(done.map_err(|e| e.to_string())??);
    }
    Ok(Rate::of(taken, started.elapsed()))
}

/// Creates an object; who is told to come again later does.
async fn create(client: &Client, number: usize) -> Result<()> {
    loop {
        let made = client.post(MAPS, &map(number)).await;
        match made.map_err(|e| e.to_string()) {
            Err(why) if why.contains("Too many requests") => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            other => return other.map(drop),
        }
    }
}
