//! What one registration fetched with its credentials is not another one's, though they name one address and share a mirror.

use serde_json::{Value, json};
use testkit::git_http::Server;

use crate::edges::{CORE, REPOSITORIES, RESOURCES, REVISIONS, VARIANTS, until, variant};
use crate::process::{Process, git, repository, wait_for};

fn there(path: &str) -> String {
    path.replace("/namespaces/default", "/namespaces/other")
}

fn registration(git: &Server, secret: Option<&str>) -> Value {
    let mut object = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": { "name": "deploy" },
        "spec": { "type": "git", "git": { "repo": git.url("far.git") } },
    });
    if let Some(secret) = secret {
        object["spec"]["git"]["secretRef"] = json!({ "name": secret });
    }
    object
}

/// A private remote with a published package, registered with its password in one namespace.
async fn private(root: &std::path::Path) -> (Server, Process) {
    let served = root.join("served");
    std::fs::create_dir(&served).unwrap();
    git(&served, &["init", "--quiet", "--bare", "far.git"]);
    git(
        &served.join("far.git"),
        &["config", "http.receivepack", "true"],
    );
    let remote = Server::start(served).unwrap();
    remote.set(|m| m.basic = Some(("ada".to_owned(), "secret".to_owned())));
    let server = Process::start(root, &[]).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "ada" }, "type": "kubernetes.io/basic-auth",
        "stringData": { "username": "ada", "password": "secret" },
    });
    server.create(&format!("{CORE}/secrets"), &secret).await;
    let mut first = registration(&remote, Some("ada"));
    first["spec"]["git"]["createBranch"] = true.into();
    server.create(REPOSITORIES, &first).await;
    let path = format!("{REPOSITORIES}/deploy");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    let draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": { "packageName": "v", "repository": "deploy", "workspaceName": "w", "lifecycle": "Draft",
            "tasks": [{ "type": "init", "init": { "description": "private" } }] },
    });
    server.create(REVISIONS, &draft).await;
    for (door, to) in [("", "Proposed"), ("/approval", "Published")] {
        let path = format!("{REVISIONS}/deploy.v.w{door}");
        let change = json!({ "spec": { "lifecycle": to } });
        server.client.patch(&path, &change).await.unwrap();
    }
    (remote, server)
}

/// Names what another namespace holds by a variant's downstream, and looks at what is listed of it.
async fn nothing_is_seen(server: &Process) {
    let path = there(VARIANTS);
    server.create(&path, &variant("v", "app")).await;
    let path = format!("{path}/v");
    let looked = async || !server.get(&path).await["status"]["conditions"].is_null();
    wait_for("a look at the variant", looked).await;
    server.client.delete(&path).await.unwrap();
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_secs(3) {
        let list = server.get(&there(REVISIONS)).await;
        assert_eq!(list["items"], json!([]));
        let files = format!("{}/deploy.v.w", there(RESOURCES));
        let files = server.client.get(&files).await;
        assert!(files.is_err(), "{files:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// Asks what would be if a revision of the second registration were published, which is stored or only supposed.
async fn no_plan_shows_it(server: &Process, root: &std::path::Path, remote: &Server) {
    let mut loot = repository(root, "loot", false);
    loot["metadata"]["namespace"] = "other".into();
    let path = there(REPOSITORIES);
    if server.get(&format!("{path}/loot")).await.is_null() {
        server.create(&path, &loot).await;
    }
    let loot = format!("{path}/loot");
    until(server, &loot, "Ready", |c| c.0 == "True").await;
    let far = root.join("served/far.git");
    let commit = git(&far, &["rev-parse", "main"]);
    for name in ["deploy", "supposed"] {
        let mut wanted = variant("x", "v");
        wanted["metadata"]["namespace"] = "other".into();
        wanted["spec"]["upstream"] = json!({ "repo": name, "package": "v", "revision": "v9" });
        wanted["spec"]["downstream"] = json!({ "repo": "loot", "package": "x" });
        let mut second = registration(remote, None);
        second["metadata"] = json!({ "name": name, "namespace": "other" });
        for wish in ["main", commit.trim()] {
            let plan = json!({
                "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "Plan", "metadata": { "name": "p" },
                "spec": {
                    "objects": [second, wanted],
                    "upstreams": [{ "repository": name, "package": "v", "revision": "v9", "ref": wish }],
                },
            });
            let plans = "/apis/fleet.offshoot.dev/v1alpha1/namespaces/other/plans";
            let told = match server.client.post(plans, &plan).await {
                Ok(told) => told["status"].to_string(),
                Err(why) => why.to_string(),
            };
            assert!(!told.contains("description: private"), "{told}");
        }
    }
}

/// An address that cannot be reached, or does not show that it is who it says, decides nothing about who may read.
#[tokio::test(flavor = "multi_thread")]
async fn a_registration_without_the_password_sees_nothing_of_the_mirror() {
    let root = tempfile::tempdir().unwrap();
    let (remote, mut server) = private(root.path()).await;
    remote.set(|m| m.down = true);
    let name = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other" } });
    server.create("/api/v1/namespaces", &name).await;
    let second = registration(&remote, None);
    server.create(&there(REPOSITORIES), &second).await;
    let path = format!("{}/deploy", there(REPOSITORIES));
    until(&server, &path, "Ready", |c| c.0 == "False").await;
    nothing_is_seen(&server).await;
    no_plan_shows_it(&server, root.path(), &remote).await;
    // Nor when the next process opens the mirror for it first.
    server.kill();
    let server = Process::start(root.path(), &[]).await;
    until(&server, &path, "Ready", |c| c.0 == "False").await;
    nothing_is_seen(&server).await;
    remote.set(|m| m.down = false);
    let denied = |c: &(String, String, String)| c.0 == "False" && c.2.contains("credentials");
    until(&server, &path, "Ready", denied).await;
    nothing_is_seen(&server).await;
    no_plan_shows_it(&server, root.path(), &remote).await;
    let first = format!("{RESOURCES}/deploy.v.w");
    assert!(server.client.get(&first).await.is_ok());
}
