//! A copy of a running server, a directory made from it, and the check of both.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::edges::{CORE, REPOSITORIES, REVISIONS, VARIANTS, condition, register, until, variant};
use crate::process::{Process, git, push};

fn offshoot(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(arguments)
        .current_dir(root)
        .env("KUBECONFIG", root.join("data/kubeconfig"))
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A server with one variant that has its draft.
async fn world(root: &Path) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    push(root, "blueprints", "commented", "v1");
    server.create(VARIANTS, &variant("shop", "commented")).await;
    until(&server, &format!("{VARIANTS}/shop"), "Ready", |c| {
        c.0 == "True"
    })
    .await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"k": "v"}});
    server.create(&format!("{CORE}/configmaps"), &map).await;
    // A name that was used is remembered, and is no object.
    let gone = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": {"packageName": "gone", "repository": "deploy", "workspaceName": "one", "lifecycle": "Draft",
            "tasks": [{"type": "init", "init": {"description": "a package"}}]},
    });
    server.create(REVISIONS, &gone).await;
    let gone = format!("{REVISIONS}/deploy.gone.one");
    server.client.delete(&gone).await.unwrap();
    server
}

fn without_times(mut object: Value) -> Value {
    object["metadata"]["managedFields"] = Value::Null;
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_brings_everything_back() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = world(root).await;
    let before = server.get(&format!("{CORE}/configmaps/kept")).await;
    let draft = format!("{REVISIONS}/deploy.shop.packagevariant-1");
    let record = server.get(&draft).await;
    let output = offshoot(root, &["backup", "monday.jsonl"]);
    assert!(output.status.success(), "{}", told(&output));
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(root.join("monday.jsonl"))
            .unwrap()
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let output = offshoot(root, &["check", "--data", "data"]);
    assert!(told(&output).contains("in use"), "{}", told(&output));
    server.kill();
    let output = offshoot(root, &["check", "--data", "data"]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(
        told(&output).contains("everything holds"),
        "{}",
        told(&output)
    );

    std::fs::rename(root.join("data"), root.join("lost")).unwrap();
    let output = offshoot(
        root,
        &["backup", "monday.jsonl", "--restore", "--data", "data"],
    );
    assert!(output.status.success(), "{}", told(&output));
    let again = offshoot(
        root,
        &["backup", "monday.jsonl", "--restore", "--data", "data"],
    );
    assert!(!again.status.success(), "{}", told(&again));
    let output = offshoot(root, &["check", "--data", "data"]);
    assert!(output.status.success(), "{}", told(&output));
    let mut server = Process::start(root, &[]).await;
    assert_eq!(server.get(&format!("{CORE}/configmaps/kept")).await, before);
    let found = server.get(&draft).await;
    assert_eq!(found["metadata"]["uid"], record["metadata"]["uid"]);
    assert_eq!(without_times(found)["spec"], without_times(record)["spec"]);
    let ready = server.get(&format!("{VARIANTS}/shop")).await;
    assert_eq!(condition(&ready, "Ready").0, "True");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later"}});
    let made = server
        .client
        .post(&format!("{CORE}/configmaps"), &map)
        .await
        .unwrap();
    let rv = |object: &Value| -> u64 {
        object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    assert!(
        rv(&made) > rv(&before) + 1_000_000,
        "no version is given out twice"
    );
    server.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_names_what_git_no_longer_holds() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = world(root).await;
    server.kill();
    let bare = root.join("deploy.git");
    let refs = git(&bare, &["for-each-ref", "--format=%(refname)"]);
    let draft = refs.lines().find(|r| r.contains("drafts")).unwrap();
    git(&bare, &["update-ref", "-d", draft]);
    let output = offshoot(root, &["check", "--data", "data"]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(
        told(&output).contains("deploy.shop.packagevariant-1: no ref of"),
        "{}",
        told(&output)
    );
    let nothing = offshoot(root, &["check", "--data", "nothing"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(!root.join("nothing").exists(), "a check makes nothing");
}

/// Records of a repository that is elsewhere are compared with its mirror; where that cannot be, it is said, and nothing
/// is said to hold.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_says_what_it_could_not_compare() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let served = root.join("served");
    std::fs::create_dir(&served).unwrap();
    git(&served, &["init", "--quiet", "--bare", "far.git"]);
    git(
        &served.join("far.git"),
        &["config", "http.receivepack", "true"],
    );
    let remote = testkit::git_http::Server::start(served).unwrap();
    let mut server = Process::start(root, &[]).await;
    let far = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "far"},
        "spec": {"type": "git", "git": {"repo": remote.url("far.git"), "createBranch": true}},
    });
    server.create(REPOSITORIES, &far).await;
    let path = format!("{REPOSITORIES}/far");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    let draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": {"packageName": "p", "repository": "far", "workspaceName": "one", "lifecycle": "Draft",
            "tasks": [{"type": "init", "init": {"description": "a package"}}]},
    });
    server.create(REVISIONS, &draft).await;
    server.kill();
    let check = ["check", "--data", "data"];
    let output = offshoot(root, &check);
    let said = told(&output);
    assert!(
        output.status.success() && said.contains("everything holds"),
        "{said}"
    );
    assert!(
        said.contains("default/far: compared with the mirror of http://"),
        "{said}"
    );
    assert!(
        said.contains("git: 1 records compared in 1 repositories"),
        "{said}"
    );

    let mirrors = std::fs::read_dir(root.join("data/git/git")).unwrap();
    let mirrors = mirrors.map(|home| home.unwrap().path().join("mirror.git"));
    let mirror = mirrors.into_iter().find(|m| m.exists()).unwrap();
    git(&mirror, &["update-ref", "-d", "refs/heads/drafts/p/one"]);
    let output = offshoot(root, &check);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(
        told(&output).contains("far.p.one: no ref of"),
        "{}",
        told(&output)
    );

    std::fs::remove_dir_all(&mirror).unwrap();
    let output = offshoot(root, &check);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("default/far: not compared"), "{said}");
    assert!(!said.contains("everything holds"), "{said}");
    let output = offshoot(root, &[&check[..], &["--skip-uncompared"]].concat());
    assert!(output.status.success(), "{}", told(&output));
    assert!(!told(&output).contains("everything holds"));
}
