//! What the recordings of porchctl begin with: the packages of its README in two repositories, and the role of a step.

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::process::{Process, copy, git};

/// `blueprints.git` and `deploy.git`, made once and copied wherever they are asked for.
pub(crate) struct Repositories(TempDir);

impl Repositories {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        make(place.path());
        Self(place)
    }

    pub(crate) fn copy(&self, to: &Path) {
        copy(self.0.path(), to);
    }
}

fn make(place: &Path) {
    let author = tempfile::tempdir().unwrap();
    let checkout = author.path();
    let begin = checkout.join("begin");
    git(checkout, &["init", "--quiet", "begin"]);
    for name in ["blueprints", "deploy"] {
        git(
            place,
            &["init", "--quiet", "--bare", &format!("{name}.git")],
        );
    }
    let push = |name: &str| {
        let bare = place.join(format!("{name}.git")).display().to_string();
        git(
            &begin,
            &["push", "--quiet", "--tags", &bare, "HEAD:refs/heads/main"],
        );
    };
    for (tag, files) in COMMITS {
        for (path, bytes) in *files {
            write(&begin.join(path), bytes);
        }
        git(&begin, &["add", "--all"]);
        git(&begin, &["commit", "--quiet", "--message", tag]);
        if tag.contains('/') {
            git(&begin, &["tag", tag]);
        } else {
            push("deploy");
        }
    }
    push("blueprints");
}

/// Writes a file and the directories that lead to it.
pub(crate) fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Gives bob the role that a recording tells of: package revisions, nothing of their subresources.
pub(crate) async fn let_bob_in(process: &Process, namespace: &str) {
    let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "packages"},
        "rules": [{
            "apiGroups": ["porch.kpt.dev"], "verbs": ["*"],
            "resources": ["packagerevisions", "packagerevisionresources"],
        }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "packages"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "packages"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"}],
    });
    process.create(&format!("{path}/roles"), &role).await;
    process
        .create(&format!("{path}/rolebindings"), &binding)
        .await;
}

type Commit = (&'static str, &'static [(&'static str, &'static [u8])]);

const COMMITS: &[Commit] = &[
    ("begin", &[("README.md", b"# packages\n")]),
    (
        "web/v1",
        &[
            (
                "web/Kptfile",
                b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: A web server\n",
            ),
            ("web/README.md", b"# web\n\nversion 1\n"),
            (
                "web/conf/settings.yaml",
                b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  level: info\n",
            ),
            (
                "web/deployment.yaml",
                b"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n  selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: web\n        image: registry.example.test/web:1.0\n",
            ),
        ],
    ),
    (
        "web/v2",
        &[
            ("web/README.md", b"# web\n\nversion 2\n"),
            (
                "web/deployment.yaml",
                b"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 2\n  selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: web\n        image: registry.example.test/web:2.0\n",
            ),
            (
                "web/service.yaml",
                b"apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n",
            ),
        ],
    ),
    (
        "db/v1",
        &[
            (
                "db/Kptfile",
                b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: A database\n",
            ),
            (
                "db/db.yaml",
                b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\ndata:\n  size: small\n",
            ),
        ],
    ),
    (
        "team/cache/v1",
        &[
            (
                "team/cache/Kptfile",
                b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: cache\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: A cache\n",
            ),
            (
                "team/cache/cache.yaml",
                b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cache\ndata:\n  size: small\n",
            ),
        ],
    ),
    (
        "logo/v1",
        &[
            (
                "logo/Kptfile",
                b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: logo\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: Holds a file that is not text\n",
            ),
            (
                "logo/cm.yaml",
                b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: logo\ndata:\n  a: b\n",
            ),
            ("logo/logo.png", b"\x89PNG\r\n\x1a\n\x00\xff\xfe\x01"),
        ],
    ),
];
