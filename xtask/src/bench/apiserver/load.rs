//! Writers, each with a connection of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use offshoot::client::Client;
use serde_json::{Value, json};

use super::Result;

/// Where the objects are.
pub(super) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// How many connections fill a store.
const FILLERS: usize = 64;

/// A rate, and how long requests took in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rate {
    pub(super) per_second: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
}

impl Rate {
    /// From how long each took.
    pub(super) fn of(mut taken: Vec<f64>, over: Duration) -> Self {
        taken.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let place = taken.len() * percent / 100;
            taken.get(place.min(taken.len().saturating_sub(1))).copied()
        };
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let count = taken.len() as f64;
        Self {
            per_second: count / over.as_secs_f64(),
            p50: at(50).unwrap_or_default(),
            p99: at(99).unwrap_or_default(),
        }
    }
}

/// Makes objects that have never been.
pub(super) struct Load {
    kubeconfig: PathBuf,
    made: Arc<AtomicUsize>,
    clients: Vec<Arc<Client>>,
}

impl Load {
    pub(super) async fn new(kubeconfig: &Path) -> Result<Self> {
        Self::starting_at(kubeconfig, 0).await
    }

    /// As [`Self::new`], with names that begin at a number.
    pub(super) async fn starting_at(kubeconfig: &Path, number: usize) -> Result<Self> {
        let mut load = Self {
            kubeconfig: kubeconfig.to_owned(),
            made: Arc::new(AtomicUsize::new(number)),
            clients: Vec::new(),
        };
        load.connect(1).await?;
        Ok(load)
    }

    async fn connect(&mut self, count: usize) -> Result<()> {
        while self.clients.len() < count {
            let client = Client::with(&self.kubeconfig).await;
            let client = client.map_err(|e| e.to_string())?;
            client.get("/version").await.map_err(|e| e.to_string())?;
            self.clients.push(Arc::new(client));
        }
        Ok(())
    }

    /// Creates from so many clients at once for a while.
    pub(super) async fn create_for(&mut self, clients: usize, time: Duration) -> Result<Rate> {
        self.connect(clients).await?;
        let started = Instant::now();
        let goes_on = move |_: usize| started.elapsed() < time;
        let taken = self.create(clients, goes_on).await?;
        Ok(Rate::of(taken, started.elapsed()))
    }

    /// Creates until there are so many objects.
    pub(super) async fn fill(&mut self, count: usize) -> Result<()> {
        self.connect(FILLERS).await?;
        self.create(FILLERS, move |made| made < count)
            .await
            .map(drop)
    }

    async fn create(
        &self,
        clients: usize,
        goes_on: impl Fn(usize) -> bool + Clone + Send + 'static,
    ) -> Result<Vec<f64>> {
        let mut work = tokio::task::JoinSet::new();
        for client in self.clients.iter().take(clients) {
            let (client, made, goes_on) =
                (Arc::clone(client), Arc::clone(&self.made), goes_on.clone());
            work.spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let number = made.fetch_add(1, Ordering::SeqCst);
                    if !goes_on(number) {
                        made.fetch_sub(1, Ordering::SeqCst);
                        return Ok::<_, String>(taken);
                    }
                    let started = Instant::now();
                    client
                        .post(MAPS, &map(number))
                        .await
                        .map_err(|e| e.to_string())?;
                    taken.push(started.elapsed().as_secs_f64() * 1000.0);
                }
            });
        }
        let mut all = Vec::new();
        while let Some(done) = work.join_next().await {
            all.extend(done.map_err(|e| e.to_string())??);
        }
        Ok(all)
    }
}

/// An object of 2 KiB.
pub(super) fn map(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("m-{number:07}"), "labels": {"bench": "yes", "shard": (number % 16).to_string()}},
        "data": {"text": "x".repeat(1700)},
    })
}

/// Reads an answer to its end; how long it was.
pub(super) async fn read(client: &Client, path: &str) -> Result<usize> {
    let mut frames = client.open(path).await.map_err(|e| e.to_string())?;
    let mut length = 0;
    while let Some(frame) = frames.next().await {
        length += frame.map_err(|e| e.to_string())?.len();
    }
    Ok(length)
}
