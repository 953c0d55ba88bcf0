//! Watchers: how long it takes from a request to write until everybody who watches has the event.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use offshoot::client::Client;
use serde_json::json;

use super::Result;
use super::load::{MAPS, Rate};

/// Where an event says when its write was sent, in microseconds.
const SENT: &[u8] = b"\"sent\":\"";

/// How many connections the watchers share.
const CONNECTIONS: usize = 10;

/// Runs watchers and one writer at the rate that makes so many deliveries a second.
pub(super) async fn run(
    kubeconfig: &Path,
    watchers: usize,
    deliveries: usize,
    time: Duration,
) -> Result<Rate> {
    let zero = Instant::now();
    let connect = async || Client::with(kubeconfig).await.map_err(|e| e.to_string());
    let writer = connect().await?;
    let target = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "watched"}, "data": {}});
    // It may be there from the round before.
    drop(writer.post(MAPS, &target).await);
    let there = writer
        .get(&format!("{MAPS}/watched"))
        .await
        .map_err(|e| e.to_string())?;
    let from = there["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or("0")
        .to_owned();
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(Arc::new(connect().await?));
    }
    let ends = tokio::time::Instant::now() + time + Duration::from_secs(1);
    let mut watching = tokio::task::JoinSet::new();
    let seconds = time.as_secs() + 10;
    for i in 0..watchers {
        let Some(client) = clients.get(i % CONNECTIONS).cloned() else {
            continue;
        };
        let path = format!("{MAPS}?watch=1&resourceVersion={from}&timeoutSeconds={seconds}");
        watching.spawn(async move {
            let mut stream = client.open(&path).await.map_err(|e| e.to_string())?;
            let mut taken = Vec::new();
            while let Ok(Some(frame)) = tokio::time::timeout_at(ends, stream.next()).await {
                let frame = frame.map_err(|e| e.to_string())?;
                let now = zero.elapsed();
                taken.extend(delays(&frame, now));
            }
            Ok::<_, String>(taken)
        });
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let started = Instant::now();
    let mut ticks = tokio::time::interval(
        Duration::from_secs(1) / u32::try_from((deliveries / watchers.max(1)).max(1)).unwrap_or(1),
    );
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    while started.elapsed() < time {
        ticks.tick().await;
        let change = json!({"data": {"sent": zero.elapsed().as_micros().to_string()}});
        writer
            .patch(&format!("{MAPS}/watched"), &change)
            .await
            .map_err(|e| e.to_string())?;
    }
    let over = started.elapsed();
    let mut all = Vec::new();
    while let Some(done) = watching.join_next().await {
        all.extend(done.map_err(|e| e.to_string())??);
    }
    Ok(Rate::of(all, over))
}

/// How long ago the writes of the events in a piece of a stream were sent, in milliseconds.
fn delays(frame: &[u8], now: Duration) -> Vec<f64> {
    let mut found = Vec::new();
    let mut rest = frame;
    while let Some(at) = rest.windows(SENT.len()).position(|w| w == SENT) {
        rest = rest.get(at + SENT.len()..).unwrap_or_default();
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let text = rest.get(..digits).and_then(|d| std::str::from_utf8(d).ok());
        if let Some(sent) = text.and_then(|t| t.parse().ok()) {
            let sent = Duration::from_micros(sent);
            found.push(now.saturating_sub(sent).as_secs_f64() * 1000.0);
        }
    }
    found
}
