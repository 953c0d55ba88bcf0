//! What a script waits for before it decides about all of a set: `offshoot status --wait`.

use std::path::Path;

use serde_json::{Value, json};

use crate::bulk::admin;
use crate::edges::{REPOSITORIES, REVISIONS, register, until_there};
use crate::plan::{DEPLOYMENT, SETS, upstream};
use crate::plan_page::edit_in;
use crate::process::{Process, repository};

const CLUSTERS: usize = 4;

fn set(name: &str, targets: &[Value]) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "metadata": { "name": name },
        "spec": { "upstream": { "repo": "blueprints", "package": "web" }, "targets": [{ "repositories": targets }] },
    })
}

async fn drafts(server: &Process) -> usize {
    let list = server.get(REVISIONS).await;
    let items = list["items"].as_array().unwrap().iter();
    items.filter(|r| r["spec"]["lifecycle"] == "Draft").count()
}

/// Waits for a set, and finds so many drafts at once.
async fn all_drafts(server: &Process, root: &Path, wanted: usize) {
    let (code, out, err) = admin(root, &["status", "web", "--wait"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(drafts(server).await, wanted, "{out}{err}");
}

/// Also where some are in conflict, and where a new version changes nothing of a variant's spec.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_set_finds_every_draft_made() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    upstream(root, DEPLOYMENT, "hunter1", Some("v1"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v1")).await;
    for cluster in 0..CLUSTERS {
        let one = repository(root, &format!("edge-{cluster}"), true);
        server.create(REPOSITORIES, &one).await;
    }
    let target = |n| json!({ "name": format!("edge-{n}"), "packageNames": ["shop", "docs"] });
    let targets: Vec<Value> = (0..CLUSTERS).map(target).collect();
    server.create(SETS, &set("web", &targets)).await;
    all_drafts(&server, root, 2 * CLUSTERS).await;
    let nine = ("deployment.yaml", "replicas: 3", "replicas: 9");
    edit_in(&server, "edge-0.shop.packagevariant-1", nine).await;
    let of_set = ["-l", "offshoot.dev/set=web"];
    for verb in ["propose", "approve"] {
        let (code, _, err) = admin(root, &[&["rpkg", verb], &of_set[..]].concat());
        assert!(code == 0 && !err.contains("not there yet"), "{err}");
    }
    let next = DEPLOYMENT.replace("replicas: 3", "replicas: 5");
    upstream(root, &next, "hunter1", Some("v2"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    all_drafts(&server, root, 2 * CLUSTERS).await;
    let (code, out, _) = admin(root, &["status", "web", "-o", "json"]);
    let told: Value = serde_json::from_str(&out).unwrap();
    let counts = ["draft", "conflicts"].map(|kind| told["groups"][0][kind].clone());
    assert_eq!((code, counts), (0, [json!(7), json!(1)]), "{out}");

    let (code, _, err) = admin(root, &["status", "wbe", "--wait"]);
    assert!(code == 1 && err.contains("did you mean web?"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_get_there_is_named_when_the_time_is_over() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    upstream(root, DEPLOYMENT, "hunter1", Some("v1"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v1")).await;
    let mut away = repository(root, "away", true);
    away["spec"]["git"]["create"] = false.into();
    server.create(REPOSITORIES, &away).await;
    server
        .create(SETS, &set("far", &[json!({ "name": "away" })]))
        .await;
    let (code, out, err) = admin(root, &["status", "far", "--wait", "--timeout", "5"]);
    assert!(code == 1 && out.contains("far"), "{out}{err}");
    let told = "after 5 s 1 of 1 variant not there yet: far-away-web";
    assert!(
        err.contains(told) && err.contains("why pvar/far-away-web"),
        "{err}"
    );
    let (code, _, err) = admin(root, &["rpkg", "propose", "-l", "offshoot.dev/set=far"]);
    assert!(
        code == 0 && err.contains("1 of 1 variant not there yet"),
        "{err}"
    );
}
