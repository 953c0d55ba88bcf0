//! Credentials for git go where whoever may read them sends them, and nowhere else (X8).

use std::process::Command;

use offshoot::client::Client;
use serde_json::{Value, json};
use testkit::git_http::{Server, encode};

use crate::edges::{CORE, REPOSITORIES, REVISIONS, register, until};
use crate::process::{Process, git};

const PASSWORD: &str = "s3cr3t-passw0rd";

struct World {
    root: tempfile::TempDir,
    server: Process,
    /// A user who may do everything with packages and repositories, and read no Secret.
    ann: Client,
    /// Where the password is to be used.
    home: Server,
    /// A host of somebody else.
    foreign: Server,
}

fn role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "packages" },
        "rules": [{ "apiGroups": ["porch.kpt.dev", "config.porch.kpt.dev"], "resources": ["*"], "verbs": ["*"] }],
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "packages" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "packages" },
        "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann" }],
    })
}

fn served(root: &std::path::Path, place: &str) -> Server {
    let served = root.join(place);
    std::fs::create_dir(&served).unwrap();
    git(&served, &["init", "--quiet", "--bare", "a.git"]);
    git(
        &served.join("a.git"),
        &["config", "http.receivepack", "true"],
    );
    let server = Server::start(served).unwrap();
    server.set(|m| m.basic = Some(("ada".to_owned(), PASSWORD.to_owned())));
    server
}

impl World {
    async fn new(flags: impl FnOnce(&Server) -> Vec<String>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (home, foreign) = (served(root.path(), "home"), served(root.path(), "foreign"));
        let flags = flags(&home);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let server = Process::start(root.path(), &flags).await;
        let file = root.path().join("ann.kubeconfig");
        let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
            .args(["user", "ann", "--data"])
            .arg(root.path().join("data"))
            .arg("--output")
            .arg(&file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        server
            .create(&format!("{rbac}/clusterroles"), &role())
            .await;
        let bindings = format!("{rbac}/namespaces/default/rolebindings");
        server.create(&bindings, &binding()).await;
        let world = Self {
            ann: Client::with(&file).await.unwrap(),
            root,
            server,
            home,
            foreign,
        };
        world
            .secret("git-auth", "kubernetes.io/basic-auth", None)
            .await;
        world
    }

    async fn secret(&self, name: &str, kind: &str, hosts: Option<&str>) {
        let mut secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "type": kind,
            "stringData": { "username": "ada", "password": PASSWORD },
        });
        if let Some(hosts) = hosts {
            secret["metadata"]["annotations"] = json!({ "offshoot.dev/hosts": hosts });
        }
        self.server
            .create(&format!("{CORE}/secrets"), &secret)
            .await;
    }

    /// What is said of a repository that is not ready.
    async fn refused(&self, name: &str) -> String {
        let path = format!("{REPOSITORIES}/{name}");
        until(&self.server, &path, "Ready", |c| c.0 == "False")
            .await
            .2
    }

    async fn ready(&self, name: &str) {
        let path = format!("{REPOSITORIES}/{name}");
        until(&self.server, &path, "Ready", |c| c.0 == "True").await;
    }
}

fn repository(name: &str, at: &Server, secret: &str) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": { "name": name },
        "spec": { "type": "git", "git": {
            "repo": at.url("a.git"), "directory": name, "createBranch": true, "secretRef": { "name": secret },
        } },
    })
}

fn clone(workspace: &str, at: &Server, secret: &str) -> Value {
    json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": { "packageName": "p", "repository": "deploy", "workspaceName": workspace, "tasks": [{
            "type": "clone", "clone": { "upstreamRef": { "type": "git", "git": {
                "repo": at.url("a.git"), "ref": "main", "directory": "p", "secretRef": { "name": secret },
            } } },
        }] },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn x8_a_password_goes_nowhere_for_those_who_may_not_read_it() {
    let world = World::new(|_| Vec::new()).await;
    register(&world.server, world.root.path(), "deploy", false).await;
    let wish = repository("stolen", &world.foreign, "git-auth");
    world.ann.post(REPOSITORIES, &wish).await.unwrap();
    let why = world.refused("stolen").await;
    assert!(
        why.contains("\"ann\"") && why.contains("\"secrets\""),
        "{why}"
    );
    for (workspace, query) in [("dry", "?dryRun=All"), ("wet", "")] {
        let wish = clone(workspace, &world.foreign, "git-auth");
        let path = format!("{REVISIONS}{query}");
        let told = world.ann.post(&path, &wish).await.unwrap_err().to_string();
        assert!(
            told.contains("is forbidden") && told.contains("\"secrets\""),
            "{told}"
        );
    }
    let heard = world.foreign.requests();
    assert!(heard.is_empty(), "{heard:?}");
    // Whoever may read it uses it, and one who may not goes on using what that one registered.
    let wish = repository("mine", &world.home, "git-auth");
    world.server.create(REPOSITORIES, &wish).await;
    world.ready("mine").await;
    let change = json!({ "metadata": { "labels": { "by": "ann" } } });
    let path = format!("{REPOSITORIES}/mine");
    world.ann.patch(&path, &change).await.unwrap();
    let draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": { "packageName": "p", "repository": "mine", "workspaceName": "w", "tasks": [
            { "type": "init", "init": { "description": "a package" } },
        ] },
    });
    world.ann.post(REVISIONS, &draft).await.unwrap();
    let basic = format!("Basic {}", encode(&format!("ada:{PASSWORD}")));
    let heard = world.home.requests();
    let told: Vec<_> = heard
        .iter()
        .filter_map(|h| h.authorization.as_ref())
        .collect();
    assert!(!told.is_empty() && told.iter().all(|a| **a == basic));
    assert!(world.foreign.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn x8_a_secret_goes_only_where_it_is_meant_to_go() {
    let world = World::new(|_| Vec::new()).await;
    let (home, foreign) = (world.home.address().to_string(), &world.foreign);
    world
        .secret("bound", "kubernetes.io/basic-auth", Some(&home))
        .await;
    world.secret("database", "Opaque", None).await;
    for (name, secret, told) in [
        ("elsewhere", "bound", "is bound to other hosts"),
        ("misused", "database", "holds no bearerToken"),
    ] {
        let wish = repository(name, foreign, secret);
        world.server.create(REPOSITORIES, &wish).await;
        let why = world.refused(name).await;
        assert!(why.contains(told) && !why.contains(PASSWORD), "{why}");
    }
    let heard = foreign.requests();
    assert!(heard.is_empty(), "{heard:?}");
    let wish = repository("right", &world.home, "bound");
    world.server.create(REPOSITORIES, &wish).await;
    world.ready("right").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn x8_hosts_that_the_server_was_not_told_of_are_not_contacted() {
    let world = World::new(|home| vec!["--git-hosts".to_owned(), home.address().to_string()]).await;
    register(&world.server, world.root.path(), "deploy", false).await;
    let wish = repository("outside", &world.foreign, "git-auth");
    world.server.create(REPOSITORIES, &wish).await;
    let why = world.refused("outside").await;
    assert!(why.contains("--git-hosts"), "{why}");
    let wish = clone("w", &world.foreign, "git-auth");
    let told = world.server.client.post(REVISIONS, &wish).await;
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("is forbidden") && told.contains("--git-hosts"),
        "{told}"
    );
    let heard = world.foreign.requests();
    assert!(heard.is_empty(), "{heard:?}");
    let wish = repository("inside", &world.home, "git-auth");
    world.server.create(REPOSITORIES, &wish).await;
    world.ready("inside").await;
}
