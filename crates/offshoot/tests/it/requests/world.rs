//! The server of all scenarios, and the repositories that each begins with.

use std::path::Path;

use offshoot::client::Client;
use serde_json::{Value, json};

use super::answers::Told;
use crate::edges::{kptfile, map, write};
use crate::process::{Process, copy, git, wait_for};

/// Files of a package.
type Files = &'static [(&'static str, &'static [u8])];

/// A running server over a directory of repositories.
pub(super) struct World {
    process: Process,
    directory: tempfile::TempDir,
}

impl World {
    pub(super) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        templates(directory.path());
        let process = Process::start(directory.path(), &[]).await;
        Self { process, directory }
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
            copy(&self.root().join("templates"), &self.root().join(namespace));
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
        let [(_, namespace), _] = &told.namespaces;
        let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
        self.process
            .create(&format!("{path}/roles"), &super::role())
            .await;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "packages"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "packages"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"}],
        });
        self.process
            .create(&format!("{path}/rolebindings"), &binding)
            .await;
    }
}

/// `blueprints.git` and `deploy.git` as the recordings' README tells.
fn templates(root: &Path) {
    let to = root.join("templates");
    std::fs::create_dir_all(&to).unwrap();
    let desk = root.join("template-desk");
    for name in ["blueprints", "deploy"] {
        git(&to, &["init", "--quiet", "--bare", &format!("{name}.git")]);
    }
    git(root, &["init", "--quiet", "template-desk"]);
    let save = |tag: Option<&str>| {
        git(&desk, &["add", "--all"]);
        git(
            &desk,
            &["commit", "--quiet", "--message", tag.unwrap_or("readme")],
        );
        if let Some(tag) = tag {
            git(&desk, &["tag", tag]);
        }
    };
    let push = |name: &str| {
        let url = to.join(format!("{name}.git")).display().to_string();
        git(&desk, &["push", "--quiet", "--tags", &url, "HEAD:main"]);
    };
    write(&desk, &[("README.md", b"# packages\n")]);
    save(None);
    push("deploy");
    let deployment = |replicas: u32| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: {replicas}\n"
        )
    };
    let web = kptfile("web");
    let settings = map("settings", "one");
    write(
        &desk.join("web"),
        &[
            ("Kptfile", web.as_bytes()),
            ("deployment.yaml", deployment(1).as_bytes()),
            ("README.md", b"# web\n"),
            ("conf/settings.yaml", settings.as_bytes()),
        ],
    );
    save(Some("web/v1"));
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    write(
        &desk.join("web"),
        &[
            ("deployment.yaml", deployment(2).as_bytes()),
            ("service.yaml", service.as_bytes()),
        ],
    );
    save(Some("web/v2"));
    let others: [(&str, &str, Files); 3] = [
        (
            "db",
            "db",
            &[(
                "db.yaml",
                b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\n",
            )],
        ),
        (
            "team/cache",
            "cache",
            &[(
                "cache.yaml",
                b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cache\n",
            )],
        ),
        (
            "logo",
            "logo",
            &[
                (
                    "cm.yaml",
                    b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: logo\n",
                ),
                ("logo.png", b"\x89PNG\r\n\x1a\n\xff\xfe\x00"),
            ],
        ),
    ];
    for (directory, name, files) in others {
        let text = kptfile(name);
        write(&desk.join(directory), &[("Kptfile", text.as_bytes())]);
        write(&desk.join(directory), files);
        save(Some(&format!("{directory}/v1")));
    }
    push("blueprints");
}
