//! `offshoot rollout` against the running server: steps, pause, a rejection, the way back.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::edges::{REVISIONS, VARIANTS, register, until_there};
use crate::plan::{DEPLOYMENT, SETS, document, started, typed, upstream};
use crate::process::{Process, repository, wait_for};

const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";

/// A set over a canary repository and another one.
pub(crate) fn set() -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "web" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "web" },
            "targets": [{
                "repositories": [
                    { "name": "canary", "packageNames": ["web"] },
                    { "name": "deploy", "packageNames": ["web-00", "web-01"] },
                ],
            }],
            "rollout": {
                "steps": [
                    { "name": "canary", "selector": { "matchLabels": { "ring": "0" } } },
                    { "name": "rest" },
                ],
            },
        },
    })
}

fn rollout(root: &Path, verb: &str) -> (i32, String, String) {
    typed(root, "data/kubeconfig", &["rollout", verb, "web"])
}

/// A verb that is carried out; what it prints.
fn said(root: &Path, verb: &str) -> String {
    let (code, out, err) = rollout(root, verb);
    assert_eq!(code, 0, "{verb}: {out}{err}");
    out
}

pub(crate) async fn state(server: &Process) -> String {
    let set = server.get(&format!("{SETS}/web")).await;
    let state = set.pointer("/status/rollout/state").and_then(Value::as_str);
    state.unwrap_or_default().to_owned()
}

pub(crate) async fn until(server: &Process, wanted: &str) {
    wait_for(wanted, async || state(server).await == wanted).await;
}

pub(crate) async fn names(server: &Process) -> Vec<String> {
    let list = server.get(REVISIONS).await;
    let items = list["items"].as_array().unwrap().iter();
    let names = items.map(|r| r["metadata"]["name"].as_str().unwrap_or_default());
    names.map(str::to_owned).collect()
}

/// Proposes and approves a draft once it is there.
pub(crate) async fn publish(server: &Process, root: &Path, name: &str) {
    until_there(server, &format!("{REVISIONS}/{name}")).await;
    for verb in ["propose", "approve"] {
        let typed = typed(root, "data/kubeconfig", &["rpkg", verb, name]);
        assert_eq!(typed.0, 0, "{verb} {name}: {typed:?}");
    }
}

/// A set over a canary repository and another one, all of it published at v1.
pub(crate) async fn fleet(root: &Path) -> Process {
    let server = started(root).await;
    register(&server, root, "canary", true).await;
    let mut labelled = repository(root, "canary", true);
    labelled["metadata"]["labels"] = json!({ "ring": "0" });
    let path = format!("{REPOSITORIES}/canary");
    server.client.patch(&path, &labelled).await.unwrap();
    server.client.post(SETS, &set()).await.unwrap();
    publish(&server, root, "canary.web.packagevariant-1").await;
    for name in ["web-00", "web-01"] {
        publish(&server, root, &format!("deploy.{name}.packagevariant-1")).await;
    }
    until(&server, "Complete").await;
    server
}

/// What a plan foresees for closed steps is not made yet: it is counted, and no error.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_proposed_as_far_as_its_steps_are_open() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    said(root, "pause");
    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter1", Some("v2"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    until(&server, "Paused").await;
    let file = root.join("plan.json");
    let file = file.to_str().unwrap();
    let (code, _, err) = typed(root, "data/kubeconfig", &["plan", "--out", file]);
    assert_eq!(code, 2, "{err}");
    let propose = || {
        typed(
            root,
            "data/kubeconfig",
            &["rpkg", "propose", "--plan", file],
        )
    };
    let (code, out, err) = propose();
    assert!(code == 0 && out.is_empty(), "{out}{err}");
    let none = "3 of closed steps of a rollout left out: canary.web.packagevariant-2, deploy.web-00.packagevariant-2, deploy.web-01.packagevariant-2; none is made before its step opens";
    assert!(err.contains(none), "{err}");
    said(root, "resume");
    let draft = "canary.web.packagevariant-2";
    until_there(&server, &format!("{REVISIONS}/{draft}")).await;
    let (code, out, err) = propose();
    assert_eq!(
        (code, out.as_str()),
        (0, "canary.web.packagevariant-2 proposed\n"),
        "{err}"
    );
    assert!(
        err.contains("2 of closed steps of a rollout left out: deploy.web-00"),
        "{err}"
    );
    // Of what is there and was approved it is said as ever.
    let approved = typed(
        root,
        "data/kubeconfig",
        &["rpkg", "approve", "--plan", file],
    );
    assert_eq!(approved.0, 0, "{approved:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_is_held_halted_and_taken_back_by_hand() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let told = said(root, "status");
    assert!(told.contains("of web: complete\n"), "{told}");
    assert!(told.contains("\nwanted blueprints/web v1 "), "{told}");
    assert!(told.contains(" PUBLISHED FAILED  BESIDES\n"), "{told}");
    let flags = ["rollout", "status", "web", "-o", "json"];
    let (_, json, _) = typed(root, "data/kubeconfig", &flags);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["version"], version(&told));
    assert_eq!(json["upstreams"][0]["revision"], "v1");
    assert_eq!(rollout(root, "retry").0, 1, "nothing halted it");
    assert_eq!(rollout(root, "resume").0, 1, "nothing holds it");

    said(root, "pause");
    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter1", Some("v2"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    until(&server, "Paused").await;
    assert!(!names(&server).await.iter().any(|n| n.ends_with("-2")));
    let plan = document(root, &[]);
    let steps: Vec<(&str, &str, &str)> = plan["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| {
            let text = |key: &str| t[key].as_str().unwrap_or_default();
            (text("repository"), text("step"), text("verdict"))
        })
        .collect();
    let wanted = [
        ("canary", "canary", "upgrade"),
        ("deploy", "rest", "upgrade"),
        ("deploy", "rest", "upgrade"),
    ];
    assert_eq!(steps, wanted);
    assert_eq!(plan["sets"][0]["steps"], json!(["canary", "rest"]));
    let (_, table, _) = typed(root, "data/kubeconfig", &["plan"]);
    assert!(table.contains("in steps: canary 1 · rest 2"), "{table}");

    said(root, "resume");
    let draft = "canary.web.packagevariant-2";
    until_there(&server, &format!("{REVISIONS}/{draft}")).await;
    let (code, ..) = typed(root, "data/kubeconfig", &["rpkg", "propose", draft]);
    assert_eq!(code, 0);
    let (code, ..) = typed(root, "data/kubeconfig", &["rpkg", "reject", draft]);
    assert_eq!(code, 0);
    until(&server, "Halted").await;
    let told = said(root, "status");
    assert!(told.contains("1 member rejected, more than 0"), "{told}");
    assert!(told.contains("- web-canary-web (canary)"), "{told}");
    assert!(told.contains("offshoot rollout retry web"), "{told}");
    let (_, why, _) = typed(root, "data/kubeconfig", &["why", "pvset/web"]);
    assert!(why.contains("RolledOut=False Halted"), "{why}");

    publish(&server, root, draft).await;
    // What was seen before is not what stands now.
    let old = version(&told);
    let bound = |verb: &str, version: &str| {
        let flags = ["rollout", verb, "web", "--if-version", version];
        typed(root, "data/kubeconfig", &flags)
    };
    let halted = version(&said(root, "status"));
    assert!(halted.contains(":halted:1:"), "{halted}");
    let (code, _, err) = bound("undo", &old.replace(":halted:", ":progressing:"));
    assert_ne!(code, 0);
    assert!(err.contains("it was progressing, and is halted"), "{err}");
    let (code, _, err) = bound("retry", &halted);
    assert_eq!(code, 0, "{err}");
    let next = "deploy.web-00.packagevariant-2";
    until_there(&server, &format!("{REVISIONS}/{next}")).await;

    said(root, "undo");
    until(&server, "Undone").await;
    let gone = async || !names(&server).await.iter().any(|n| n == next);
    wait_for("the open drafts to go", gone).await;
    publish(&server, root, "canary.web.packagevariant-3").await;
    let (_, out, _) = typed(
        root,
        "data/kubeconfig",
        &[
            "rpkg",
            "diff",
            "canary.web.packagevariant-3",
            "--against",
            "upstream",
        ],
    );
    assert!(!out.contains("web:1.5"), "{out}");
    wait_for("all to be back", async || {
        let set = server.get(&format!("{SETS}/web")).await;
        let message = set.pointer("/status/rollout/message");
        let message = message.and_then(Value::as_str).unwrap_or_default();
        message.starts_with("3 of 3 members")
    })
    .await;
    // A tool applies the manifest again, as it has done before.
    let mut again = set();
    again["metadata"]["namespace"] = "default".into();
    crate::fleet::apply(&server.client, &format!("{SETS}/web"), &again).await;
    assert_eq!(state(&server).await, "Undone");
    let commits = async || {
        let list = server.get(VARIANTS).await;
        let items = list["items"].as_array().unwrap().clone();
        let commit = |v: &Value| v.pointer("/spec/upstream/commit").cloned();
        items.iter().map(commit).collect::<Vec<_>>()
    };
    let pinned = commits().await;
    assert!(pinned.iter().all(|c| c.is_some() && *c == pinned[0]));

    // One word ends both, and says so.
    said(root, "pause");
    let told = said(root, "resume");
    assert!(
        told.contains("the pause has ended, and the undo of "),
        "{told}"
    );
    until_there(&server, &format!("{REVISIONS}/canary.web.packagevariant-4")).await;
    assert!(
        !names(&server)
            .await
            .iter()
            .any(|n| n.starts_with("deploy") && n.ends_with("-3"))
    );
}

/// The version that `rollout status` shows.
fn version(told: &str) -> String {
    let line = told.lines().find_map(|line| line.strip_prefix("version "));
    line.expect("a version").to_owned()
}

/// Starts `kubectl wait` for the end of the rollout; `None` where there is no kubectl.
fn waiting(root: &Path, timeout: &str) -> Option<std::process::Child> {
    let child = Command::new("kubectl")
        .args(["wait", "packagevariantset/web", "--for=condition=RolledOut"])
        .arg(format!("--timeout={timeout}"))
        .env("KUBECONFIG", root.join("data/kubeconfig"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if child.is_err() {
        eprintln!("skipped: there is no kubectl here");
    }
    child.ok()
}

/// It follows the last step, and is not content with what was so before the spec changed.
#[tokio::test(flavor = "multi_thread")]
async fn kubectl_waits_for_the_last_step() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let Some(mut before) = waiting(root, "30s") else {
        return;
    };
    assert!(before.wait().unwrap().success(), "v1 is rolled out");
    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    said(root, "pause");
    upstream(root, &next, "hunter1", Some("v2"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    until(&server, "Paused").await;
    let held = waiting(root, "1s").unwrap().wait().unwrap();
    assert!(!held.success(), "it is held before its first step");
    let pinned = json!({ "spec": { "upstream": { "revision": "v2" } } });
    let path = format!("{SETS}/web");
    server.client.patch(&path, &pinned).await.unwrap();
    let mut kubectl = waiting(root, "60s").unwrap();
    said(root, "resume");
    for name in ["canary.web", "deploy.web-00"] {
        publish(&server, root, &format!("{name}.packagevariant-2")).await;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        assert!(
            kubectl.try_wait().unwrap().is_none(),
            "not before the last member: {name}"
        );
    }
    publish(&server, root, "deploy.web-01.packagevariant-2").await;
    assert!(kubectl.wait().unwrap().success());
    assert_eq!(state(&server).await, "Complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_without_a_rollout_says_so() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    let one = crate::plan::set(1);
    server.client.post(SETS, &one).await.unwrap();
    for verb in ["status", "pause", "resume", "retry", "undo"] {
        let (code, _, err) = rollout(root, verb);
        assert_eq!(code, 1);
        assert!(err.contains("has no spec.rollout"), "{verb}: {err}");
    }
}

/// What can never end is taken, and whoever writes it is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_can_never_end_is_warned_of_when_it_is_written() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    server.client.take_warnings();
    server.client.post(SETS, &set()).await.unwrap();
    assert_eq!(server.client.take_warnings(), [""; 0]);
    let ring = json!({ "matchLabels": { "ring": "0", "zone": "a" } });
    let steps = json!([
        set()["spec"]["rollout"]["steps"][0],
        { "name": "early", "selector": ring },
        { "name": "rest" },
    ]);
    let endless = json!({ "spec": { "rollout": { "steps": steps } } });
    let path = format!("{SETS}/web");
    server.client.patch(&path, &endless).await.unwrap();
    let said = server.client.take_warnings();
    let wanted = "step 'early' can never have a target, and the rollout halts there: every repository that it selects belongs to the earlier step 'canary'";
    assert_eq!(said, [wanted]);
}
