//! The world that the transcripts begin in: two repositories in a namespace, and a directory to work in.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Process, git, wait_for};

/// Where the transcripts say that git and the API server are.
const GIT: &str = "http://git.example.test";
const SERVER: &str = "api.example.test:6443";

/// A server and a working directory.
pub(super) struct World {
    _process: Process,
    root: TempDir,
    address: String,
    /// The version that was pulled last: transcripts have `<commit>` there.
    version: String,
}

impl World {
    /// The namespace `demo`, with both repositories if the scenario begins with them.
    pub(super) async fn new(with_repositories: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["desk", "home", "git/demo"] {
            std::fs::create_dir_all(root.path().join(name)).unwrap();
        }
        fill(root.path());
        let process = Process::start(root.path(), &[]).await;
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "demo" } });
        process.create("/api/v1/namespaces", &namespace).await;
        let text = std::fs::read_to_string(root.path().join("data/kubeconfig")).unwrap();
        let address = text.split("server: https://").nth(1).unwrap();
        let address = address.lines().next().unwrap().to_owned();
        let there = text.replace(
            "    user: offshoot\n",
            "    user: offshoot\n    namespace: demo\n",
        );
        std::fs::write(root.path().join("there"), &there).unwrap();
        std::fs::write(
            root.path().join("gone"),
            there.replace(&address, "127.0.0.1:1"),
        )
        .unwrap();
        let world = Self {
            _process: process,
            root,
            address,
            version: "0".to_owned(),
        };
        if with_repositories {
            world.register().await;
        }
        world
    }

    async fn register(&self) {
        let place = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/demo/repositories";
        for name in ["blueprints", "deploy"] {
            let repository = json!({
                "apiVersion": "config.porch.kpt.dev/v1alpha1",
                "kind": "Repository",
                "metadata": { "name": name },
                "spec": {
                    "type": "git",
                    "deployment": name == "deploy",
                    "git": { "repo": self.ours(&format!("{GIT}/demo/{name}.git")), "branch": "main", "directory": "/" },
                },
            });
            self._process.create(place, &repository).await;
        }
        for name in ["blueprints", "deploy"] {
            let object = format!("{place}/{name}");
            wait_for(name, async || {
                let conditions = &self._process.get(&object).await["status"]["conditions"];
                conditions
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|c| c["type"] == "Ready" && c["status"] == "True")
            })
            .await;
        }
    }

    pub(super) fn desk(&self) -> PathBuf {
        self.root.path().join("desk")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(super) fn kubeconfig(&self, unreachable: bool) -> PathBuf {
        self.root
            .path()
            .join(if unreachable { "gone" } else { "there" })
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
            let path = self.desk().join(path);
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
        for entry in std::fs::read_dir(self.desk()).unwrap() {
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

fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Both repositories as the record's README describes them.
fn fill(root: &Path) {
    let desk = root.join("author");
    git(root, &["init", "--quiet", "author"]);
    for (tag, files) in COMMITS {
        for (path, text) in *files {
            write(&desk.join(path), text.as_bytes());
        }
        if *tag == "logo/v1" {
            write(
                &desk.join("logo/logo.png"),
                b"\x89PNG\r\n\x1a\n\x00\xff\xfe\x01",
            );
        }
        git(&desk, &["add", "--all"]);
        git(&desk, &["commit", "--quiet", "--message", tag]);
        if tag.contains('/') {
            git(&desk, &["tag", tag]);
        }
    }
    for (name, commits) in [("blueprints", "HEAD"), ("deploy", "HEAD~5")] {
        let bare = root
            .join(format!("git/demo/{name}.git"))
            .display()
            .to_string();
        git(root, &["init", "--quiet", "--bare", &bare]);
        git(
            &desk,
            &[
                "push",
                "--quiet",
                &bare,
                &format!("{commits}:refs/heads/main"),
            ],
        );
        if name == "blueprints" {
            git(&desk, &["push", "--quiet", "--tags", &bare]);
        }
    }
}

type Commit = (&'static str, &'static [(&'static str, &'static str)]);

const COMMITS: &[Commit] = &[
    ("begin", &[("README.md", "# packages\n")]),
    (
        "web/v1",
        &[
            (
                "web/Kptfile",
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: A web server\n",
            ),
            ("web/README.md", "# web\n\nversion 1\n"),
            (
                "web/conf/settings.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  level: info\n",
            ),
            (
                "web/deployment.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n  selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: web\n        image: registry.example.test/web:1.0\n",
            ),
        ],
    ),
    (
        "web/v2",
        &[
            ("web/README.md", "# web\n\nversion 2\n"),
            (
                "web/deployment.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 2\n  selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: web\n        image: registry.example.test/web:2.0\n",
            ),
            (
                "web/service.yaml",
                "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n",
            ),
        ],
    ),
    (
        "db/v1",
        &[
            (
                "db/Kptfile",
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: A database\n",
            ),
            (
                "db/db.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\ndata:\n  size: small\n",
            ),
        ],
    ),
    (
        "team/cache/v1",
        &[
            (
                "team/cache/Kptfile",
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: cache\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: A cache\n",
            ),
            (
                "team/cache/cache.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cache\ndata:\n  size: small\n",
            ),
        ],
    ),
    (
        "logo/v1",
        &[
            (
                "logo/Kptfile",
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: logo\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: Holds a file that is not text\n",
            ),
            (
                "logo/cm.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: logo\ndata:\n  a: b\n",
            ),
        ],
    ),
];
