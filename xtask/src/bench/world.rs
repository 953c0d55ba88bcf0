//! A bench's world: a fresh directory, repositories, an upstream package, and the embedded server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use http::Method;
use offshoot::client::Client;
use offshoot::up::{self, Running};
use serde_json::{Value, json};

use super::package::Files;
use super::targets::LABEL;
use super::{FanoutArgs, Layout, Result};

/// How long a phase may take.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) struct World {
    root: tempfile::TempDir,
    /// The server in this process, if it is one of this process.
    server: Option<Running>,
    pub(super) client: Client,
    http: Option<testkit::git_http::Server>,
}

impl World {
    /// A world with its server in this process, so that CPU and counters are seen.
    pub(super) async fn start(args: &FanoutArgs) -> Result<Self> {
        let root = directory()?;
        let mut options = up::Options::at(&root.path().join("data"));
        options.durable = !args.no_fsync;
        let server = up::start(options).await.map_err(|e| e.to_string())?;
        let client = Client::with(server.kubeconfig())
            .await
            .map_err(|e| e.to_string())?;
        Ok(Self {
            http: served(args, root.path())?,
            root,
            server: Some(server),
            client,
        })
    }

    /// A world whose server is another process: nobody to talk to yet.
    pub(super) async fn elsewhere(args: &FanoutArgs) -> Result<Self> {
        let root = directory()?;
        let nobody = up::start(up::Options::at(&root.path().join("nobody"))).await;
        let nobody = nobody.map_err(|e| e.to_string())?;
        let client = Client::with(nobody.kubeconfig()).await;
        nobody.stop().await;
        Ok(Self {
            http: served(args, root.path())?,
            root,
            server: None,
            client: client.map_err(|e| e.to_string())?,
        })
    }

    /// The data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// What was counted so far, if the server is one of this process.
    pub(super) fn counted(&self) -> Vec<(String, u64)> {
        self.server
            .as_ref()
            .map(Running::counted)
            .unwrap_or_default()
    }

    /// Looks at everything again.
    pub(super) fn look_at_everything(&self) {
        if let Some(server) = &self.server {
            server.look_at_everything();
        }
    }

    /// Waits until nothing is to be done; a server elsewhere is not asked.
    pub(super) async fn settle(&self) {
        let Some(server) = &self.server else { return };
        let mut quiet = 0;
        while quiet < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            quiet = if server.busy() == 0 { quiet + 1 } else { 0 };
        }
    }

    /// Ends the server.
    pub(super) async fn stop(self) {
        if let Some(server) = self.server {
            server.stop().await;
        }
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

    /// Registers a repository, made beforehand where it is not on the file system.
    pub(super) async fn repository(&self, name: &str, downstream: bool) -> Result<()> {
        let path = self.path(name);
        let remote = self.http.as_ref().filter(|_| downstream);
        let git = match remote {
            None => json!({
                "repo": format!("file://{}", path.display()), "create": true, "createBranch": true,
            }),
            Some(http) => {
                git(
                    self.root.path(),
                    &["init", "--quiet", "--bare", &path.display().to_string()],
                )?;
                git(&path, &["config", "http.receivepack", "true"])?;
                json!({ "repo": http.url(&format!("{name}.git")), "createBranch": true })
            }
        };
        self.create(
            &format!("{CONFIG}/v1alpha1/namespaces/default/repositories"),
            &json!({
                "apiVersion": "config.porch.kpt.dev/v1alpha1",
                "kind": "Repository",
                "metadata": { "name": name, "labels": if downstream { json!({ LABEL: "yes" }) } else { json!({}) } },
                "spec": { "type": "git", "deployment": downstream, "git": git },
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
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Commits and tags a revision of the upstream package, with plain git.
    pub(super) fn push(&self, tag: &str, files: &Files) -> Result<()> {
        self.push_package("bench", tag, files)
    }

    /// The same of any package of the blueprints.
    pub(super) fn push_package(&self, name: &str, tag: &str, files: &Files) -> Result<()> {
        let checkout = self.root.path().join("checkout");
        if !checkout.exists() {
            git(
                self.root.path(),
                &[
                    "clone",
                    "--quiet",
                    &self.path("blueprints").display().to_string(),
                    "checkout",
                ],
            )?;
        }
        let package = checkout.join(name);
        if package.exists() {
            std::fs::remove_dir_all(&package).map_err(|e| e.to_string())?;
        }
        std::fs::create_dir_all(&package).map_err(|e| e.to_string())?;
        for (path, text) in files {
            std::fs::write(package.join(path), text).map_err(|e| e.to_string())?;
        }
        git(&checkout, &["add", "--all"])?;
        git(&checkout, &["commit", "--quiet", "--message", tag])?;
        git(&checkout, &["tag", &format!("{name}/{tag}")])?;
        git(&checkout, &["push", "--quiet", "--tags", "origin", "HEAD"])?;
        Ok(())
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

fn directory() -> Result<tempfile::TempDir> {
    let root = tempfile::Builder::new().prefix("offshoot-bench-").tempdir();
    root.map_err(|e| format!("make a directory: {e}"))
}

fn served(args: &FanoutArgs, root: &Path) -> Result<Option<testkit::git_http::Server>> {
    if !matches!(args.layout, Layout::OneHttp | Layout::ManyHttp) {
        return Ok(None);
    }
    let server = testkit::git_http::Server::start(root.to_owned());
    server.map(Some).map_err(|e| format!("serve git: {e}"))
}

/// The group of our kinds.
pub(super) const CONFIG: &str = "/apis/config.porch.kpt.dev";

/// Runs git; what it says.
pub(super) fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
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
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!(
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}
