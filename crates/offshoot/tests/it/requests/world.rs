//! The server of all scenarios, and the repositories that each begins with.

use std::path::Path;

use offshoot::client::Client;
use serde_json::{Value, json};

use super::answers::Told;
use crate::process::{Process, wait_for};
use crate::recorded::{self, Repositories};

/// A running server over a directory of repositories.
pub(super) struct World {
    process: Process,
    directory: tempfile::TempDir,
    repositories: Repositories,
}

impl World {
    pub(super) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let process = Process::start(directory.path(), &[]).await;
        Self {
            process,
            directory,
            repositories: Repositories::new(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn client(&self) -> &Client {
        &self.process.client
    }

    /// Makes a scenario's namespaces and repositories; registers them where it begins with them, in `team`, too, if it
    /// speaks of it.
    pub(super) async fn prepare(&self, told: &Told<'_>, registered: bool, teams: bool) {
        for (theirs, namespace) in &told.namespaces {
            let object =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            self.process.create("/api/v1/namespaces", &object).await;
            self.repositories.copy(&self.root().join(namespace));
            if registered && (teams || *theirs == "demo") {
                self.register(namespace).await;
            }
        }
    }

    async fn register(&self, namespace: &str) {
        let path =
            format!("/apis/config.porch.kpt.dev/v1alpha1/namespaces/{namespace}/repositories");
        for (name, deployment) in [("blueprints", false), ("deploy", true)] {
            let url = format!("file://{}/{namespace}/{name}.git", self.root().display());
            let object = json!({
                "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository",
                "metadata": {"name": name},
                "spec": {"type": "git", "deployment": deployment, "git": {"repo": url, "branch": "main", "directory": "/"}},
            });
            self.process.create(&path, &object).await;
        }
        let revisions =
            format!("/apis/porch.kpt.dev/v1alpha1/namespaces/{namespace}/packagerevisions");
        wait_for("nine package revisions", async || {
            let list = self.process.get(&revisions).await;
            let ready = self.process.get(&path).await;
            let is_ready = |r: &Value| crate::edges::condition(r, "Ready").0 == "True";
            list["items"].as_array().map_or(0, Vec::len) == 9
                && ready["items"]
                    .as_array()
                    .is_some_and(|all| all.iter().all(is_ready))
        })
        .await;
    }

    /// Gives bob the role that a recording tells of.
    pub(super) async fn let_bob_in(&self, told: &Told<'_>) {
        recorded::let_bob_in(&self.process, &told.namespaces[0].1).await;
    }
}
