//! One case of the record: its namespace, its repositories, its inputs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot::client::Client;
use serde_json::{Value, json};

use super::client::{Api, MAPS, REPOSITORIES, RESOURCES, REVISIONS, VARIANTS};
use super::world::{World, observed};
use crate::process::{git, wait_for};

/// A namespace of the shared server.
pub(super) struct Case {
    world: Arc<World>,
    observed: PathBuf,
    pub(super) api: Api,
}

impl Case {
    /// A case with `blueprints` and the deployment repositories, or a word about why not.
    pub(super) async fn with(namespace: &str, deployments: &[(&str, Value)]) -> Option<Self> {
        let Some(observed) = observed() else {
            eprintln!("skipped: the record of the existing implementation is not here");
            return None;
        };
        let world = World::shared(&observed.join("inputs")).await;
        let kubeconfig = world.root().join("data/kubeconfig");
        let client = Client::with(&kubeconfig).await.unwrap();
        let api = Api {
            client,
            namespace: namespace.to_owned(),
        };
        let object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        drop(api.client.post("/api/v1/namespaces", &object).await);
        let case = Self {
            world,
            observed,
            api,
        };
        case.register("blueprints", "blueprints", false, &Value::Null)
            .await;
        for (name, labels) in deployments {
            seed(case.world.root(), &format!("{namespace}-{name}"));
            case.register(name, &format!("{namespace}-{name}"), true, labels)
                .await;
        }
        Some(case)
    }

    /// A case with `blueprints` and `deploy`.
    pub(super) async fn new(namespace: &str) -> Option<Self> {
        Self::with(namespace, &[("deploy", Value::Null)]).await
    }

    /// Registers a repository of the server's root.
    pub(super) async fn register(
        &self,
        name: &str,
        directory: &str,
        deployment: bool,
        labels: &Value,
    ) {
        let url = self.world.root().join(format!("{directory}.git"));
        let repository = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1",
            "kind": "Repository",
            "metadata": { "name": name, "labels": labels },
            "spec": {
                "type": "git",
                "deployment": deployment,
                "git": { "repo": format!("file://{}", url.display()), "create": true, "createBranch": true },
            },
        });
        self.api.create(REPOSITORIES, &repository).await;
        wait_for("the repository", async || {
            condition(&self.api.get(REPOSITORIES, name).await, "Ready").0 == "True"
        })
        .await;
    }

    /// Clones a repository of the server's root.
    pub(super) fn copy(&self, from: &str, to: &str) {
        let names = [format!("{from}.git"), format!("{to}.git")];
        let clone = ["clone", "--quiet", "--bare", &names[0], &names[1]];
        git(self.world.root(), &clone);
    }

    /// An input of the record.
    pub(super) fn input(&self, name: &str) -> Value {
        read(&self.observed.join("inputs").join(name))
    }

    /// A record of a package, by file: the sections of an `e-…txt`.
    pub(super) fn record(&self, name: &str) -> String {
        std::fs::read_to_string(self.observed.join(name)).unwrap()
    }

    /// Creates a variant of the record.
    pub(super) async fn variant(&self, input: &str) -> String {
        let object = self.input(&format!("packagevariant-{input}.yaml"));
        self.api.create(VARIANTS, &object).await;
        object["metadata"]["name"].as_str().unwrap().to_owned()
    }

    /// Creates a variant of the record and waits until it is ready.
    pub(super) async fn ready(&self, input: &str) -> String {
        let name = self.variant(input).await;
        self.until_ready(&name).await;
        name
    }

    pub(super) async fn until_ready(&self, variant: &str) {
        self.until(variant, "Ready", |c| c.0 == "True").await;
    }

    /// Waits for a condition of a variant; what it says then.
    pub(super) async fn until(
        &self,
        variant: &str,
        kind: &str,
        holds: impl Fn(&(String, String, String)) -> bool,
    ) -> (String, String, String) {
        let what = format!("{kind} of {}/{variant}", self.api.namespace);
        wait_for(&what, async || {
            holds(&condition(&self.api.get(VARIANTS, variant).await, kind))
        })
        .await;
        condition(&self.api.get(VARIANTS, variant).await, kind)
    }

    pub(super) async fn until_lifecycle(&self, revision: &str, lifecycle: &str) {
        let what = format!("{revision} to be {lifecycle}");
        wait_for(&what, async || {
            self.api.get(REVISIONS, revision).await["spec"]["lifecycle"] == lifecycle
        })
        .await;
    }

    /// Name and lifecycle of the revisions in a repository, in order, without the branch's rows.
    pub(super) async fn revisions(&self, repository: &str) -> Vec<(String, String)> {
        let query = format!("?fieldSelector=spec.repository={repository}");
        let mut rows: Vec<(String, String)> = (self.api.list(REVISIONS, &query).await.iter())
            .filter(|r| r["spec"]["workspaceName"] != "main")
            .map(|r| (text(&r["metadata"]["name"]), text(&r["spec"]["lifecycle"])))
            .collect();
        rows.sort();
        rows
    }

    /// A file of a revision.
    pub(super) async fn file(&self, revision: &str, file: &str) -> String {
        text(&self.api.get(RESOURCES, revision).await["spec"]["resources"][file])
    }

    pub(super) async fn kptfile(&self, revision: &str) -> Value {
        parse(&self.file(revision, "Kptfile").await)
    }

    /// Proposes and approves.
    pub(super) async fn publish(&self, revision: &str) {
        self.api.approve(revision).await.unwrap();
    }

    /// Runs git in the repository behind a Repository of this case.
    pub(super) fn git(&self, repository: &str, arguments: &[&str]) -> String {
        let name = format!("{}-{repository}.git", self.api.namespace);
        git(&self.world.root().join(name), arguments)
    }

    /// Refs and the subjects of their commits, as the record has them.
    pub(super) fn refs(&self) -> String {
        let format = "--format=%(refname) %(objecttype) %(contents:subject)";
        self.git(
            "deploy",
            &["for-each-ref", format, "refs/heads", "refs/tags"],
        )
    }

    pub(super) async fn map(&self, name: &str, labels: Value, data: Value) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "labels": labels }, "data": data,
        });
        self.api.create(MAPS, &map).await;
    }

    /// Comes to rest: soon nothing at all is written for a while, neither an object nor a ref.
    pub(super) async fn rests(&self) {
        let mut before = self.state().await;
        for _ in 0..40 {
            tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
            let after = self.state().await;
            if before == after {
                return;
            }
            before = after;
        }
        unreachable!("nothing changes, yet something is written: {before:?}");
    }

    async fn state(&self) -> Vec<String> {
        let mut state = vec![
            self.refs(),
            self.git("deploy", &["for-each-ref", "refs/heads"]),
        ];
        for kind in [VARIANTS, REVISIONS] {
            for object in self.api.list(kind, "").await {
                let meta = &object["metadata"];
                state.push(format!(
                    "{} {}",
                    text(&meta["name"]),
                    text(&meta["resourceVersion"])
                ));
            }
        }
        state
    }
}

/// A repository as the record began with: one commit by somebody else.
fn seed(root: &Path, name: &str) {
    let bare = format!("{name}.git");
    git(root, &["init", "--quiet", "--bare", &bare]);
    git(root, &["init", "--quiet", name]);
    let checkout = root.join(name);
    git(
        &checkout,
        &[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            "initial commit",
        ],
    );
    git(
        &checkout,
        &[
            "push",
            "--quiet",
            &root.join(bare).display().to_string(),
            "HEAD:main",
        ],
    );
}

/// Status, reason and message of a condition; empty where there is none.
pub(super) fn condition(object: &Value, kind: &str) -> (String, String, String) {
    let all = object["status"]["conditions"].as_array();
    let found = all.into_iter().flatten().find(|c| c["type"] == kind);
    let found = found.unwrap_or(&Value::Null);
    (
        text(&found["status"]),
        text(&found["reason"]),
        text(&found["message"]),
    )
}

/// A string, empty where there is none.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn parse(yaml: &str) -> Value {
    let limits = yaml::Limits::default();
    yaml::first_document_json(yaml, yaml::Reader::Sigs, false, &limits).unwrap()
}

fn read(path: &Path) -> Value {
    parse(&std::fs::read_to_string(path).unwrap())
}
