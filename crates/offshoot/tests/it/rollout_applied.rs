//! A rollout beside the tools that people have: kubectl applies the set's own manifest amid an undo, and prints its columns.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::edges::{REVISIONS, VARIANTS, until_there};
use crate::plan::{DEPLOYMENT, SETS, typed, upstream};
use crate::process::{Process, wait_for};
use crate::rollout::{fleet, publish, set, state, until};

/// Runs kubectl; what it prints, or `None` where there is none.
fn kubectl(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("kubectl")
        .args(arguments)
        .env("KUBECONFIG", root.join("data/kubeconfig"))
        .current_dir(root)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no kubectl here");
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {out}{err}");
    Some(out)
}

/// The canary has published v2, and the next step is open.
async fn amid(root: &Path) -> Process {
    let server = fleet(root).await;
    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter1", Some("v2"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    publish(&server, root, "canary.web.packagevariant-2").await;
    until_there(
        &server,
        &format!("{REVISIONS}/deploy.web-00.packagevariant-2"),
    )
    .await;
    server
}

/// What an undo has written: the specs of all variants, the names of all revisions, and the set's own spec and annotations.
async fn written(server: &Process) -> Value {
    let variants = server.get(VARIANTS).await;
    let specs = variants["items"].as_array().unwrap().iter();
    let specs: Vec<Value> = specs.map(|v| v["spec"].clone()).collect();
    let revisions = crate::rollout::names(server).await;
    let set = server.get(&format!("{SETS}/web")).await;
    let undo = &set["metadata"]["annotations"]["offshoot.dev/rollout-undo"];
    json!([
        specs,
        revisions,
        set["spec"],
        undo,
        set["metadata"]["generation"]
    ])
}

/// Nothing comes of it later on, either: the set and its variants are looked at again.
async fn still(server: &Process) {
    let path = format!("{SETS}/web");
    for round in ["first", "second"] {
        let touch = json!({ "metadata": { "annotations": { "example.test/look": round } } });
        server.client.patch(&path, &touch).await.unwrap();
        let generation = server.get(&path).await["metadata"]["generation"].clone();
        wait_for("the set to be looked at", async || {
            server.get(&path).await["status"]["observedGeneration"] == generation
        })
        .await;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}

/// Whoever keeps manifests in git applies them every few minutes, in the one way or the other: an undo is no part of the spec, so
/// that nothing of it is put back.
#[tokio::test(flavor = "multi_thread")]
async fn kubectl_that_applies_the_sets_manifest_amid_an_undo_changes_nothing_of_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut manifest = set();
    manifest["metadata"]["namespace"] = "default".into();
    std::fs::write(root.join("web.json"), manifest.to_string()).unwrap();
    let server = amid(root).await;
    // It is kubectl's from before the undo on.
    if kubectl(root, &["apply", "-f", "web.json"]).is_none() {
        return;
    }
    let (code, out, err) = typed(root, "data/kubeconfig", &["rollout", "undo", "web"]);
    assert_eq!(code, 0, "{out}{err}");
    until(&server, "Undone").await;
    publish(&server, root, "canary.web.packagevariant-3").await;
    wait_for("all to be back", async || {
        let set = server.get(&format!("{SETS}/web")).await;
        let message = set["status"]["rollout"]["message"].as_str();
        message.is_some_and(|m| m.starts_with("3 of 3 members"))
    })
    .await;
    let before = written(&server).await;
    assert!(before[3].is_string(), "{before}");
    let ways: [&[&str]; 3] = [
        &["apply", "-f", "web.json"],
        &["apply", "--server-side", "-f", "web.json"],
        &[
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager=gitops",
            "-f",
            "web.json",
        ],
    ];
    for way in ways {
        kubectl(root, way);
        still(&server).await;
        assert_eq!(state(&server).await, "Undone", "{way:?}");
        assert_eq!(written(&server).await, before, "{way:?}");
    }
    // The same manifest with another upstream is something else that is wanted: it ends the undo.
    manifest["spec"]["upstream"]["revision"] = "v2".into();
    std::fs::write(root.join("web.json"), manifest.to_string()).unwrap();
    kubectl(root, &["apply", "-f", "web.json"]);
    until_there(&server, &format!("{REVISIONS}/canary.web.packagevariant-4")).await;
    assert_ne!(state(&server).await, "Undone");
}

/// F8: what a rollout takes back is approved by no selection: whoever means it names it.
#[tokio::test(flavor = "multi_thread")]
async fn a_selection_leaves_out_what_an_undo_takes_back() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = amid(root).await;
    let run = |arguments: &[&str]| typed(root, "data/kubeconfig", arguments);
    let taken_back = "deploy.web-00.packagevariant-2";
    assert_eq!(run(&["rpkg", "propose", taken_back]).0, 0);
    assert_eq!(run(&["rollout", "undo", "web"]).0, 0);
    until(&server, "Undone").await;
    let back = "canary.web.packagevariant-3";
    until_there(&server, &format!("{REVISIONS}/{back}")).await;
    let all = ["rpkg", "propose", "-l", "offshoot.dev/set=web"];
    assert_eq!(run(&all).0, 0);
    let (code, out, err) = run(&["rpkg", "approve", "-l", "offshoot.dev/set=web"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains(&format!("{back} approved")), "{out}{err}");
    let told = format!("1 of another version than the rollout wants left out: {taken_back}; ");
    assert!(err.contains(&told), "{err}");
    let kept = server.get(&format!("{REVISIONS}/{taken_back}")).await;
    assert_eq!(kept["spec"]["lifecycle"], "Proposed");
}

/// The columns of a list of sets, with the cells of the only one, and which of them only `-o wide` prints.
async fn columns(server: &Process) -> Vec<(String, Value, bool)> {
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table = server.client.request(http::Method::GET, SETS, accept, None);
    let table = table.await.unwrap();
    let cells = table["rows"][0]["cells"].as_array().unwrap().clone();
    let columns = table["columnDefinitions"].as_array().unwrap().iter();
    let named = columns.map(|c| (c["name"].as_str().unwrap().to_owned(), c["priority"] == 1));
    let both = named.zip(cells);
    both.map(|((name, wide), cell)| (name, cell, wide))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wide_list_of_sets_says_where_each_rollout_stands_and_each_variant_its_step() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = amid(root).await;
    let all = columns(&server).await;
    let rollout = all.iter().find(|(name, ..)| name == "Rollout");
    let wanted = ("Rollout".to_owned(), json!("rest 2/2, 0 of 2"), true);
    assert_eq!(rollout, Some(&wanted), "{all:?}");
    // Each member says which rollout reached it, in which step, and what it had published before.
    let set = server.get(&format!("{SETS}/web")).await;
    let id = &set["status"]["rollout"]["id"];
    let first = "canary.web.packagevariant-1";
    let published = server.get(&format!("{REVISIONS}/{first}")).await;
    let lock = &published["status"]["upstreamLock"]["git"]["commit"];
    for (variant, step) in [("web-canary-web", "canary"), ("web-deploy-web-00", "rest")] {
        let path = format!("{VARIANTS}/{variant}");
        wait_for("the note", async || {
            let note = &server.get(&path).await["status"]["offshoot"]["rollout"];
            note["rollout"] == *id
        })
        .await;
        let note = server.get(&path).await["status"]["offshoot"]["rollout"].clone();
        assert_eq!(note["step"], step, "{note}");
        let before = json!({ "repo": "blueprints", "package": "web", "commit": lock });
        assert_eq!(note["before"], before, "{note}");
    }
    let Some(narrow) = kubectl(root, &["get", "packagevariantsets"]) else {
        return;
    };
    assert!(!narrow.contains("ROLLOUT"), "{narrow}");
    let wide = kubectl(root, &["get", "packagevariantsets", "-o", "wide"]).unwrap();
    let (header, row) = wide.split_once('\n').unwrap();
    let at = header.find("ROLLOUT").unwrap();
    assert!(row[at..].starts_with("rest 2/2, 0 of 2 "), "{wide}");
}
