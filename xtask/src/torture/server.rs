//! The server under torture: the real program, a process of its own, which is ended and started again at one address.

use std::fs::OpenOptions;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use offshoot::client::Client;
use tokio::runtime::Handle;

use super::Result;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long an end that was asked for may take.
const FAREWELL: Duration = Duration::from_secs(10);

#[derive(Default)]
struct State {
    child: Option<Child>,
    client: Option<Arc<Client>>,
}

pub(super) struct Server {
    program: PathBuf,
    root: PathBuf,
    address: String,
    flags: Vec<String>,
    handle: Handle,
    state: Mutex<State>,
}

impl Server {
    pub(super) fn new(program: &Path, root: &Path, flags: &[&str], handle: Handle) -> Result<Self> {
        // The same address after each start: clients need not be told.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let free = free.map_err(|e| format!("find a free port: {e}"))?;
        Ok(Self {
            program: program.to_owned(),
            root: root.to_owned(),
            address: free.to_string(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            handle,
            state: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who to ask.
    pub(super) fn client(&self) -> Result<Arc<Client>> {
        let client = self.lock().client.clone();
        client.ok_or_else(|| "the server was never started".to_owned())
    }

    /// Where the server says what it cannot say to a client.
    pub(super) fn said(&self) -> PathBuf {
        self.root.join("stderr")
    }

    /// Starts it, and waits until it answers.
    pub(super) fn start(&self) -> Result<()> {
        let said = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.said());
        let said = said.map_err(|e| format!("open the log: {e}"))?;
        let data = self.root.join("data");
        let child = Command::new(&self.program)
            .args(["up", "--sync-seconds", "1", "--listen", &self.address])
            .arg("--data")
            .arg(&data)
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .map_err(|e| format!("start {}: {e}", self.program.display()))?;
        self.lock().child = Some(child);
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(client) = self.connect(&data.join("kubeconfig")) {
                self.lock().client = Some(client);
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("the server does not answer a minute after its start".to_owned())
    }

    fn connect(&self, kubeconfig: &Path) -> Option<Arc<Client>> {
        if !kubeconfig.exists() {
            return None;
        }
        let client = self.handle.block_on(Client::with(kubeconfig)).ok()?;
        self.handle.block_on(client.get("/version")).ok()?;
        Some(Arc::new(client))
    }

    /// Starts it where it is not running.
    pub(super) fn ensure(&self) -> Result<()> {
        let running = match &mut self.lock().child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => false,
        };
        if running { Ok(()) } else { self.start() }
    }

    /// Ends it at once, as the loss of its machine would.
    pub(super) fn kill(&self) {
        let child = self.lock().child.take();
        if let Some(mut child) = child {
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Asks it to end; how long that took. One that does not go is killed.
    pub(super) fn ask_to_end(&self) -> Duration {
        let began = Instant::now();
        let child = self.lock().child.take();
        let Some(mut child) = child else {
            return began.elapsed();
        };
        drop(
            Command::new("kill")
                .args(["-TERM", &child.id().to_string()])
                .status(),
        );
        while began.elapsed() < FAREWELL {
            if !matches!(child.try_wait(), Ok(None)) {
                return began.elapsed();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(child.kill());
        drop(child.wait());
        began.elapsed()
    }

    /// Its process.
    pub(super) fn process(&self) -> Option<u32> {
        self.lock().child.as_ref().map(Child::id)
    }

    /// The memory that it holds now, in KiB.
    pub(super) fn memory(&self) -> Option<u64> {
        let process = self.process()?;
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}
