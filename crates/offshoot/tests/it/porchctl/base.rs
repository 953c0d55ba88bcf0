//! The world that the transcripts begin in: two repositories in a namespace or two, users, and a directory to work in.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Process, wait_for};
use crate::recorded::{self, Repositories, write};

/// Where the transcripts say that git and the API server are.
const GIT: &str = "http://git.example.test";
const SERVER: &str = "api.example.test:6443";

/// A server and a working directory.
pub(super) struct World {
    process: Process,
    root: TempDir,
    address: String,
    /// The version that was pulled last: transcripts have `<commit>` there.
    version: String,
}

impl World {
    /// The namespaces of a scenario, with both repositories in each if the scenario begins with them.
    pub(super) async fn new(repositories: &Repositories, scenario: &Value) -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["checkout", "home"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        let process = Process::start(root.path(), &[]).await;
        let text = std::fs::read_to_string(root.path().join("data/kubeconfig")).unwrap();
        let address = text.split("server: https://").nth(1).unwrap();
        let address = address.lines().next().unwrap().to_owned();
        let world = Self {
            process,
            root,
            address,
            version: "0".to_owned(),
        };
        world.write_kubeconfigs(&text);
        let teams = scenario.to_string().contains("/namespaces/team/");
        for namespace in ["demo", "team"] {
            let place = world.root.path().join("git").join(namespace);
            repositories.copy(&place);
            let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
            world.process.create("/api/v1/namespaces", &object).await;
            if scenario["start"] == "base" && (teams || namespace == "demo") {
                world.register(namespace).await;
            }
        }
        world
    }

    /// The administrator's, the same for a port that is closed, and one with a certificate for bob.
    fn write_kubeconfigs(&self, text: &str) {
        let there = text.replace(
            "    user: offshoot\n",
            "    user: offshoot\n    namespace: demo\n",
        );
        let gone = there.replace(&self.address, "127.0.0.1:1");
        let user = Command::new(env!("CARGO_BIN_EXE_offshoot"))
            .args(["user", "bob", "--data"])
            .arg(self.root.path().join("data"))
            .output()
            .unwrap();
        let mut bob: Value = serde_json::from_slice(&user.stdout).unwrap();
        bob["contexts"][0]["context"]["namespace"] = json!("demo");
        for (name, text) in [("there", there), ("gone", gone), ("bob", bob.to_string())] {
            std::fs::write(self.root.path().join(name), text).unwrap();
        }
    }

    async fn register(&self, namespace: &str) {
        let place =
            format!("/apis/config.porch.kpt.dev/v1alpha1/namespaces/{namespace}/repositories");
        for name in ["blueprints", "deploy"] {
            let repository = json!({
                "apiVersion": "config.porch.kpt.dev/v1alpha1",
                "kind": "Repository",
                "metadata": { "name": name },
                "spec": {
                    "type": "git",
                    "deployment": name == "deploy",
                    "git": {
                        "repo": self.ours(&format!("{GIT}/{namespace}/{name}.git")),
                        "branch": "main", "directory": "/",
                    },
                },
            });
            self.process.create(&place, &repository).await;
        }
        for name in ["blueprints", "deploy"] {
            let object = format!("{place}/{name}");
            wait_for(name, async || {
                let conditions = &self.process.get(&object).await["status"]["conditions"];
                conditions
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|c| c["type"] == "Ready" && c["status"] == "True")
            })
            .await;
        }
    }

    /// What is done besides commands: a wait, or bob's role.
    pub(super) async fn act(&self, step: &Value) {
        if step.get("action").is_some() {
            recorded::let_bob_in(&self.process, "demo").await;
        } else {
            tokio::time::sleep(Duration::from_millis(1500)).await;
        }
    }

    pub(super) fn checkout(&self) -> PathBuf {
        self.root.path().join("checkout")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Who runs a step, and whether the server can be reached.
    pub(super) fn kubeconfig(&self, step: &Value) -> PathBuf {
        let name = match step["user"].as_str() {
            Some("bob") => "bob",
            _ if step.get("server").is_some() => "gone",
            _ => "there",
        };
        self.root.path().join(name)
    }

    fn git(&self) -> String {
        format!("file://{}", self.root.path().join("git").display())
    }

    /// A text of the transcripts, with our addresses.
    pub(super) fn ours(&self, text: &str) -> String {
        text.replace(GIT, &self.git())
            .replace(SERVER, &self.address)
    }

    /// A text of ours, with the addresses of the transcripts.
    pub(super) fn theirs(&self, text: &str) -> String {
        text.replace(&self.git(), GIT)
            .replace(&self.address, SERVER)
            .replace("offshoot", "porchctl")
    }

    /// The files that somebody puts there by hand before a step.
    pub(super) fn put_files(&self, step: &Value) {
        for (path, content) in step
            .get("files_put")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let path = self.checkout().join(path);
            match content {
                Value::Null if path.is_dir() => std::fs::remove_dir_all(path).unwrap(),
                Value::Null => std::fs::remove_file(path).unwrap(),
                Value::String(text) => write(&path, self.with_version(&self.ours(text)).as_bytes()),
                // Bytes that are no text.
                _ => write(&path, &[0x89, b'P', b'N', b'G', 0xff]),
            }
        }
    }

    pub(super) fn with_version(&self, text: &str) -> String {
        text.replace(
            "resourceVersion: <commit>",
            &format!("resourceVersion: \"{}\"", self.version),
        )
        .replace("<commit>", "0123456789abcdef0123456789abcdef01234567")
    }

    /// Remembers the version that a pull noted, on standard output or in the directory.
    pub(super) fn note_version(&mut self, stdout: &str) {
        let mut newest = (std::time::SystemTime::UNIX_EPOCH, String::new());
        for entry in std::fs::read_dir(self.checkout()).unwrap() {
            let note = entry.unwrap().path().join(".KptRevisionMetadata");
            if let Ok(text) = std::fs::read_to_string(&note) {
                newest = newest.max((note.metadata().unwrap().modified().unwrap(), text));
            }
        }
        let text = if stdout.contains("kind: KptRevisionMetadata") {
            stdout
        } else {
            &newest.1
        };
        if let Some(rest) = text.split("resourceVersion: ").nth(1) {
            let version = rest.lines().next().unwrap_or_default().trim_matches('"');
            version.clone_into(&mut self.version);
        }
    }
}
