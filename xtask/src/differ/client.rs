//! The two servers: ours in this process, the real one over connections that stay open.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use apiserver::Limits;
use apiserver::Server;
use apiserver::gateway::User;
use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::Result;
use super::step::{Memory, Step};

/// The administrator's token at both servers (`tests/peer/run`).
const TOKEN: &str = "test-token";
/// A watch that has told nothing for so long is at rest.
const SILENCE: Duration = Duration::from_millis(250);
/// An answer that takes longer is none.
const ANSWER: Duration = Duration::from_secs(20);
/// A watch is given up after this.
const PATIENCE: Duration = Duration::from_secs(6);

/// A user as `tests/peer/run` names them to the real server.
fn user(name: &str, group: &str) -> User {
    User {
        uid: format!("{name}-uid"),
        ..User::new(name, &[group])
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// A header's text.
    pub(super) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).and_then(|v| v.to_str().ok());
        value.unwrap_or_default()
    }

    /// No answer: the connection was dropped, which says something of the server, too.
    fn none(why: &str) -> Self {
        Self {
            status: 0,
            headers: HeaderMap::new(),
            body: why.as_bytes().to_vec(),
        }
    }

    /// The body, if it is JSON.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// Our server.
pub(super) struct Ours {
    server: Server,
    router: Router,
    /// Whoever waits for housekeeping waits for what another has begun, too.
    settling: tokio::sync::Mutex<()>,
}

impl Ours {
    /// A fresh one in memory, with the users of the real one.
    pub(super) async fn start() -> Result<Self> {
        let limits = Limits {
            waiting: 4_096,
            ..Limits::default()
        };
        let server = Server::builder()
            .limits(limits)
            .token(TOKEN, user("admin", "system:masters"))
            .token("user-alice", user("alice", "shop-team"))
            .build()
            .await;
        let server = server.map_err(|e| format!("start our server: {e}"))?;
        let router = server.router("127.0.0.1:0");
        let settling = tokio::sync::Mutex::new(());
        Ok(Self {
            server,
            router,
            settling,
        })
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Body>> {
        let router = self.router.clone();
        let sent = router.oneshot(request.map(Body::from)).await;
        sent.map_err(|e| format!("ours: {e}"))
    }

    /// Has all housekeeping done that is due.
    pub(super) async fn settle(&self) {
        let _one = self.settling.lock().await;
        // What cannot be done yet shows in the answers.
        drop(self.server.handle().settle().await);
    }
}

/// The real server.
pub(super) struct Peer {
    client: kube::Client,
    store: Option<kube::Client>,
}

impl Peer {
    /// Clients of the server that a kubeconfig names, and of its store where it can be compacted.
    pub(super) async fn connect(server: &str, config: &str, etcd: Option<&str>) -> Result<Self> {
        let mut config = Kubeconfig::from_yaml(config).map_err(|e| format!("kubeconfig: {e}"))?;
        for cluster in config
            .clusters
            .iter_mut()
            .filter_map(|c| c.cluster.as_mut())
        {
            cluster.server = Some(server.to_owned());
        }
        // Each request carries the token of its user.
        let options = KubeConfigOptions {
            context: Some("anonymous".to_owned()),
            ..KubeConfigOptions::default()
        };
        let config = kube::Config::from_custom_kubeconfig(config, &options).await;
        let config = config.map_err(|e| format!("kubeconfig: {e}"))?;
        let store = match etcd {
            Some(url) => {
                let url = url.parse().map_err(|e| format!("{url}: {e}"))?;
                Some(client(kube::Config::new(url))?)
            }
            None => None,
        };
        Ok(Self {
            client: client(config)?,
            store,
        })
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Body>> {
        let request = request.map(kube::client::Body::from);
        let sent = self.client.send(request).await;
        let sent = sent.map_err(|e| format!("the real server: {e}"))?;
        Ok(sent.map(Body::new))
    }

    async fn store(&self, path: &str, body: Value) -> Result<Value> {
        let Some(client) = &self.store else {
            return Err("the store's address is not known (PEER_ETCD)".to_owned());
        };
        let request =
            Request::post(path).body(kube::client::Body::from(body.to_string().into_bytes()));
        let request = request.map_err(|e| e.to_string())?;
        let answer = client
            .send(request)
            .await
            .map_err(|e| format!("etcd: {e}"))?;
        let body = answer.into_body().collect().await;
        let body = body.map_err(|e| format!("etcd: {e}"))?.to_bytes();
        serde_json::from_slice(&body).map_err(|e| format!("etcd: {e}"))
    }
}

fn client(mut config: kube::Config) -> Result<kube::Client> {
    config.read_timeout = None;
    // An answer is compared, not tried again.
    config.default_retry = false;
    kube::Client::try_from(config).map_err(|e| format!("make a client: {e}"))
}

/// Both.
pub(super) struct Pair {
    pub(super) ours: Ours,
    pub(super) peer: Peer,
}

impl Pair {
    /// Sends a step to both at once.
    pub(super) async fn ask(&self, step: &Step, memories: &[Memory; 2]) -> Result<[Answer; 2]> {
        let (ours, peer) = tokio::join!(
            whole(self.ours.send(request(step, &memories[0])?)),
            whole(self.peer.send(request(step, &memories[1])?)),
        );
        Ok([ours?, peer.unwrap_or_else(|why| Answer::none(&why))])
    }

    /// Opens a watch at both and reads until neither tells anything for a while.
    pub(super) async fn watch(&self, step: &Step, memories: &[Memory; 2]) -> Result<[Answer; 2]> {
        let (ours, peer) = tokio::join!(
            self.ours.send(request(step, &memories[0])?),
            self.peer.send(request(step, &memories[1])?),
        );
        let streams = [Stream::read(ours?), Stream::read(peer?)];
        let started = Instant::now();
        let mut changed = Instant::now();
        let mut seen = [0; 2];
        while started.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = [streams[0].len(), streams[1].len()];
            if now != seen {
                (seen, changed) = (now, Instant::now());
            }
            if streams.iter().all(Stream::ended) {
                break;
            }
            let lines = [streams[0].lines(), streams[1].lines()];
            // A stream that lags behind the other is waited for.
            let silence = if lines[0] == lines[1] {
                SILENCE
            } else {
                SILENCE * 6
            };
            if changed.elapsed() > silence {
                break;
            }
        }
        let [ours, peer] = streams;
        Ok([ours.end(), peer.end()])
    }

    /// Has the real server's store forget what is older than now. What it still holds in memory it goes on serving, as ours does:
    /// how long is each server's own choice, so ours forgets nothing here.
    pub(super) async fn compact(&self) -> Result<()> {
        let found = self
            .peer
            .store("/v3/kv/range", json!({"key": "AA=="}))
            .await?;
        let revision = found.pointer("/header/revision").cloned();
        let revision = revision.ok_or("etcd tells no revision")?;
        let told = json!({"revision": revision, "physical": true});
        self.peer.store("/v3/kv/compaction", told).await.map(drop)
    }
}

/// The request of a step as one server gets it.
fn request(step: &Step, memory: &Memory) -> Result<Request<Vec<u8>>> {
    let path = memory.fill(&step.path);
    let mut builder = Request::builder().method(step.method.as_str()).uri(&path);
    for (name, value) in &step.headers {
        builder = builder.header(name, memory.fill(value));
    }
    let token = match step.user.as_str() {
        "admin" => Some(TOKEN.to_owned()),
        "anonymous" => None,
        other => Some(format!("user-{other}")),
    };
    if let Some(token) = token {
        builder = builder.header("authorization", format!("Bearer {token}"));
    }
    if !step.headers.iter().any(|(name, _)| name == "user-agent") {
        builder = builder.header("user-agent", "differ/v1");
    }
    let body = memory.bytes(&step.body);
    builder.body(body).map_err(|e| format!("{path}: {e}"))
}

/// The whole answer; one that does not end is none.
async fn whole(sent: impl Future<Output = Result<Response<Body>>>) -> Result<Answer> {
    let read = tokio::time::timeout(ANSWER, read(sent)).await;
    read.unwrap_or_else(|_| Ok(Answer::none("the answer did not end in time")))
}

async fn read(sent: impl Future<Output = Result<Response<Body>>>) -> Result<Answer> {
    let (parts, body) = sent.await?.into_parts();
    let body = body
        .collect()
        .await
        .map_err(|e| format!("read an answer: {e}"))?;
    Ok(Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.to_bytes().to_vec(),
    })
}

/// A watch that is being read.
struct Stream {
    status: u16,
    headers: HeaderMap,
    read: Arc<Mutex<(Vec<u8>, bool)>>,
    task: tokio::task::JoinHandle<()>,
}

impl Stream {
    fn read(response: Response<Body>) -> Self {
        let (parts, mut body) = response.into_parts();
        let read = Arc::new(Mutex::new((Vec::new(), false)));
        let into = Arc::clone(&read);
        let task = tokio::spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                if let (Ok(mut into), Some(data)) = (into.lock(), frame.data_ref()) {
                    into.0.extend_from_slice(data);
                }
            }
            if let Ok(mut into) = into.lock() {
                into.1 = true;
            }
        });
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            read,
            task,
        }
    }

    fn len(&self) -> usize {
        self.read.lock().map_or(0, |read| read.0.len())
    }

    fn lines(&self) -> usize {
        let count = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'\n').count();
        self.read.lock().map_or(0, |read| count(&read.0))
    }

    fn ended(&self) -> bool {
        self.read.lock().is_ok_and(|read| read.1)
    }

    fn end(self) -> Answer {
        self.task.abort();
        let body = self.read.lock().map(|read| read.0.clone());
        Answer {
            status: self.status,
            headers: self.headers,
            body: body.unwrap_or_default(),
        }
    }
}
