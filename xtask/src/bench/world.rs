//! A bench's world: a fresh directory, repositories, an upstream package, and the embedded server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use http::Method;
use offshoot::client::Client;
use offshoot::up::{self, Running};
use serde_json::{Value, json};

use super::package::Files;

pub(super) type Result<T> = std::result::Result<T, String>;

/// How long a phase may take.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) struct World {
    root: tempfile::TempDir,
    pub(super) server: Running,
    pub(super) client: Client,
}

impl World {
    pub(super) async fn start(durable: bool) -> Result<Self> {
        let root = tempfile::Builder::new().prefix("offshoot-bench-").tempdir();
        let root = root.map_err(|e| format!("make a directory: {e}"))?;
        let mut options = up::Options::at(&root.path().join("data"));
        options.durable = durable;
        options.sync_every = Duration::from_secs(1);
        let server = up::start(options).await.map_err(|e| e.to_string())?;
        let client = Client::with(server.kubeconfig())
            .await
            .map_err(|e| e.to_string())?;
        Ok(Self {
            root,
            server,
            client,
        })
    }

    pub(super) fn path(&self, repository: &str) -> PathBuf {
        self.root.path().join(format!("{repository}.git"))
    }

    pub(super) async fn create(&self, path: &str, object: &Value) -> Result<()> {
        self.client
            .post(path, object)
            .await
            .map(drop)
            .map_err(|e| format!("{path}: {e}"))
    }

    pub(super) async fn repository(
        &self,
        name: &str,
        deployment: bool,
        labels: &Value,
    ) -> Result<()> {
        let address = format!("file://{}", self.path(name).display());
        self.create(
            &format!("{CONFIG}/v1alpha1/namespaces/default/repositories"),
            &json!({
                "apiVersion": "config.porch.kpt.dev/v1alpha1",
                "kind": "Repository",
                "metadata": { "name": name, "labels": labels },
                "spec": {
                    "type": "git",
                    "deployment": deployment,
                    "git": { "repo": address, "create": true, "createBranch": true },
                },
            }),
        )
        .await
    }

    /// Waits until a pointer into an object has a value.
    pub(super) async fn wait(&self, path: &str, pointer: &str, want: &Value) -> Result<()> {
        let started = Instant::now();
        loop {
            let found = self.client.get(path).await.unwrap_or(Value::Null);
            if found.pointer(pointer) == Some(want) {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                return Err(format!(
                    "waited in vain for {pointer} = {want} of {path}: {found}"
                ));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Commits and tags a revision of the upstream package, with plain git.
    pub(super) fn push(&self, tag: &str, files: &Files) -> Result<()> {
        let desk = self.root.path().join("desk");
        if !desk.exists() {
            git(
                self.root.path(),
                &[
                    "clone",
                    "--quiet",
                    &self.path("blueprints").display().to_string(),
                    "desk",
                ],
            )?;
        }
        let package = desk.join("bench");
        if package.exists() {
            std::fs::remove_dir_all(&package).map_err(|e| e.to_string())?;
        }
        std::fs::create_dir_all(&package).map_err(|e| e.to_string())?;
        for (path, text) in files {
            std::fs::write(package.join(path), text).map_err(|e| e.to_string())?;
        }
        git(&desk, &["add", "--all"])?;
        git(&desk, &["commit", "--quiet", "--message", tag])?;
        git(&desk, &["tag", &format!("bench/{tag}")])?;
        git(&desk, &["push", "--quiet", "--tags", "origin", "HEAD"])
    }

    /// Puts an object.
    pub(super) async fn put(&self, path: &str, object: &Value) -> Result<()> {
        let put = self
            .client
            .request(Method::PUT, path, "application/json", Some(object))
            .await;
        put.map(drop).map_err(|e| format!("{path}: {e}"))
    }
}

/// The group of our kinds.
pub(super) const CONFIG: &str = "/apis/config.porch.kpt.dev";

pub(super) fn git(directory: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Bench",
            "-c",
            "user.email=bench@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("run git: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}
