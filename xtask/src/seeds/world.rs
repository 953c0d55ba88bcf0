//! The world that the documents suppose: repositories, upstream packages, teams, and the embedded server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use http::Method;
use offshoot::client::Client;
use offshoot::up::{self, Running};
use serde_json::{Value, json};

use super::Result;

/// Teams, and whether the documents' selector takes them.
pub(super) const TEAMS: [(&str, bool); 3] =
    [("team-blue", true), ("team-red", true), ("team-ops", false)];
/// How long something may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where our kinds are served.
pub(super) const CONFIG: &str = "/apis/config.porch.kpt.dev";

/// A server with only the sets controller: variants stay as they are made.
pub(super) struct World {
    root: tempfile::TempDir,
    server: Running,
    pub(super) client: Client,
}

impl World {
    pub(super) async fn start() -> Result<Self> {
        let root = tempfile::Builder::new().prefix("offshoot-seeds-").tempdir();
        let root = root.map_err(|e| format!("make a directory: {e}"))?;
        let mut options = up::Options::at(&root.path().join("data"));
        options.reconcilers = vec!["packagevariantsets".to_owned()];
        let server = up::start(options).await.map_err(|e| e.to_string())?;
        let client = Client::with(server.kubeconfig()).await;
        let world = Self {
            root,
            client: client.map_err(|e| e.to_string())?,
            server,
        };
        for (repository, package) in [("example-repo", "foo"), ("platform-catalog", "base-ns")] {
            world.upstream(repository, package).await?;
        }
        world.teams().await?;
        Ok(world)
    }

    pub(super) async fn stop(self) {
        self.server.stop().await;
    }

    /// Makes the repositories of a text the ones that are registered, with their labels.
    pub(super) async fn repositories(
        &self,
        wanted: &BTreeMap<String, BTreeMap<String, String>>,
    ) -> Result<()> {
        let path = format!("{CONFIG}/v1alpha1/namespaces/default/repositories");
        for (name, labels) in wanted {
            let one = format!("{path}/{name}");
            if let Ok(mut found) = self.client.get(&one).await {
                found["metadata"]["labels"] = json!(labels);
                self.put(&one, &found).await?;
            } else {
                self.create(&path, &self.repository(name, labels)).await?;
            }
        }
        self.settle().await;
        Ok(())
    }

    fn repository(&self, name: &str, labels: &BTreeMap<String, String>) -> Value {
        let at = self.root.path().join(format!("{name}.git"));
        json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1",
            "kind": "Repository",
            "metadata": { "name": name, "labels": labels },
            "spec": { "type": "git", "git": {
                "repo": format!("file://{}", at.display()), "create": true, "createBranch": true,
            } },
        })
    }

    /// An upstream repository with one published package.
    async fn upstream(&self, repository: &str, package: &str) -> Result<()> {
        let root = self.root.path();
        let bare = format!("{repository}.git");
        git(root, &["init", "--quiet", "--bare", &bare])?;
        git(root, &["clone", "--quiet", &bare, repository])?;
        let checkout = root.join(repository);
        let at = checkout.join(package);
        let kptfile =
            format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {package}\n");
        let write =
            std::fs::create_dir_all(&at).and_then(|()| std::fs::write(at.join("Kptfile"), kptfile));
        write.map_err(|e| format!("{}: {e}", at.display()))?;
        git(&checkout, &["add", "--all"])?;
        git(&checkout, &["commit", "--quiet", "--message", "first"])?;
        git(&checkout, &["tag", &format!("{package}/v1")])?;
        git(
            &checkout,
            &["push", "--quiet", "--tags", "origin", "HEAD:main"],
        )?;
        let path = format!("{CONFIG}/v1alpha1/namespaces/default/repositories");
        self.create(&path, &self.repository(repository, &BTreeMap::new()))
            .await?;
        let ready = "/status/conditions/0/status";
        let one = format!("{path}/{repository}");
        self.wait(&one, |o| o.pointer(ready) == Some(&json!("True")))
            .await
            .map(drop)
    }

    /// The kind that the documents select by, and objects of it.
    async fn teams(&self) -> Result<()> {
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "teams.krm-platform.bigco.com" },
            "spec": {
                "group": "krm-platform.bigco.com",
                "names": { "kind": "Team", "plural": "teams", "singular": "team", "listKind": "TeamList" },
                "scope": "Namespaced",
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
            },
        });
        self.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &definition,
        )
        .await?;
        let path = "/apis/krm-platform.bigco.com/v1/namespaces/default/teams";
        let started = Instant::now();
        while self.client.get(path).await.is_err() && started.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for (name, taken) in TEAMS {
            let role = if taken { "dev" } else { "ops" };
            let team = json!({
                "apiVersion": "krm-platform.bigco.com/v1",
                "kind": "Team",
                "metadata": { "name": name, "labels": { "org": "hr", "role": role } },
            });
            self.create(path, &team).await?;
        }
        Ok(())
    }

    pub(super) async fn create(&self, path: &str, object: &Value) -> Result<Value> {
        let made = self.client.post(path, object).await;
        made.map_err(|e| format!("create {path}: {e}"))
    }

    async fn put(&self, path: &str, object: &Value) -> Result<()> {
        let put = self
            .client
            .request(Method::PUT, path, "application/json", Some(object));
        put.await.map(drop).map_err(|e| format!("put {path}: {e}"))
    }

    /// Waits until an object is as wanted.
    pub(super) async fn wait(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        let started = Instant::now();
        loop {
            let found = self.client.get(path).await.unwrap_or(Value::Null);
            if holds(&found) {
                return Ok(found);
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("waited in vain for {path}: {found}"));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until nothing is to be done.
    pub(super) async fn settle(&self) {
        let mut quiet = 0;
        while quiet < 5 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            quiet = if self.server.busy() == 0 {
                quiet + 1
            } else {
                0
            };
        }
    }
}

fn git(directory: &Path, arguments: &[&str]) -> Result<()> {
    let identity = [
        "user.name=Seeds",
        "user.email=seeds@example.com",
        "init.defaultBranch=main",
    ];
    let output = Command::new("git")
        .args(identity.iter().flat_map(|set| ["-c", set]))
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
