//! What a plan says of a manifest is what applying it does: what it takes off included.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::edges::{REPOSITORIES, REVISIONS, VARIANTS, checkout, until_there};
use crate::plan::{
    DEPLOYMENT, SETS, document, drafts, drafts_of, plan, set, started, typed, upstream,
};
use crate::process::{git, repository, wait_for};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn names(list: &Value) -> BTreeSet<String> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter_map(|item| Some(item["metadata"]["name"].as_str()?.to_owned()))
        .collect()
}

/// The revisions that leave, with what becomes of each.
fn fates(document: &Value) -> BTreeSet<(String, String)> {
    let leaving = document["leaving"].as_array().unwrap().iter();
    let revisions = leaving.flat_map(|one| one["revisions"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    revisions
        .map(|r| (text(&r["name"]), text(&r["fate"])))
        .collect()
}

/// A label that a manifest says no more takes three variants away, as it then does.
#[tokio::test(flavor = "multi_thread")]
async fn a_label_that_a_manifest_takes_off_is_planned() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    let place = format!("{REPOSITORIES}/deploy");
    let mut manifest = repository(root, "deploy", true);
    manifest["metadata"]["labels"] = json!({"tier": "edge", "zone": "a"});
    let labels = json!({"metadata": {"labels": {"tier": "edge", "zone": "a"}}});
    server.client.patch(&place, &labels).await.unwrap();
    let target = |name: &str| {
        json!({
            "repositorySelector": {"matchLabels": {"tier": "edge"}},
            "template": {"downstream": {"package": name}},
        })
    };
    let mut wanted = set(1);
    wanted["spec"]["targets"] = json!([target("web-a"), target("web-b"), target("web-c")]);
    wanted["spec"]["deletionGuard"] = json!({"enabled": false});
    server.create(SETS, &wanted).await;
    drafts_of(&server, 3).await;
    let mut less = manifest.clone();
    less["metadata"]["labels"] = json!({"zone": "a"});
    std::fs::write(root.join("one.json"), less.to_string()).unwrap();
    // Nobody wrote down what was applied: it stays, as it does for kubectl, and that is said.
    let told = document(root, &["-f", "one.json"]);
    assert_eq!(told["leaving"], json!([]), "{told:#}");
    assert!(told.to_string().contains("labels.tier"), "{told:#}");
    // It was applied with the label.
    let last = json!({"metadata": {"annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": manifest.to_string(),
    }}});
    server.client.patch(&place, &last).await.unwrap();
    let (code, page, err) = plan(root, &["-f", "one.json"]);
    assert_eq!(code, 2, "{page}{err}");
    let told = document(root, &["-f", "one.json"]);
    let foretold = fates(&told);
    assert_eq!(told["leaving"].as_array().unwrap().len(), 3, "{told:#}");
    let deleted = |(_, fate): &(String, String)| fate == "deleted";
    assert!(
        foretold.len() == 3 && foretold.iter().all(deleted),
        "{told:#}"
    );
    let before = names(&server.get(REVISIONS).await);
    let off = json!({"metadata": {"labels": {"tier": null}}});
    server.client.patch(&place, &off).await.unwrap();
    wait_for("the variants are gone", async || {
        names(&server.get(VARIANTS).await).is_empty()
    })
    .await;
    let after = names(&server.get(REVISIONS).await);
    let gone: BTreeSet<String> = before.difference(&after).cloned().collect();
    assert_eq!(gone, foretold.into_iter().map(|(name, _)| name).collect());
}

/// What may be executed is the same from a directory and from a commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_has_the_modes_of_a_commit() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    server.create(SETS, &set(1)).await;
    drafts_of(&server, 1).await;
    for verb in ["propose", "approve"] {
        let arguments = ["rpkg", verb, "--field-selector", "spec.repository=deploy"];
        let (code, out, err) = typed(root, "data/kubeconfig", &arguments);
        assert_eq!(code, 0, "{out}{err}");
    }
    wait_for("all published", async || drafts(&server).await.is_empty()).await;
    upstream(root, DEPLOYMENT, "hunter1", None);
    let work = checkout(root, "blueprints");
    let script = work.join("web/run.sh");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let from = format!("blueprints/web@v2={}", work.join("web").display());
    let (code, page, err) = plan(root, &["--upstream", &from]);
    assert!(code == 2 && !err.contains("Warning"), "{code} {page}{err}");
    assert!(page.contains("the whole file, mode 0755"), "{page}");
    let supposed = document(root, &["--upstream", &from]);
    git(&work, &["add", "--all"]);
    git(&work, &["commit", "--quiet", "--message", "next"]);
    git(&work, &["push", "--quiet", "origin", "HEAD"]);
    let head = git(&work, &["rev-parse", "HEAD"]).trim().to_owned();
    let by_ref = format!("blueprints/web@v2={head}");
    wait_for("the commit is known", async || {
        plan(root, &["--upstream", &by_ref]).0 == 2
    })
    .await;
    let committed = document(root, &["--upstream", &by_ref]);
    let told = |document: &Value| {
        let class = &document["classes"][0];
        (
            class["id"].clone(),
            class["modes"].clone(),
            class["changes"].clone(),
        )
    };
    assert_eq!(told(&supposed), told(&committed));
    assert_eq!(
        committed["classes"][0]["modes"],
        json!({"run.sh": [null, "0755"]})
    );
}

/// Objects to delete are called as people call them.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_is_found_by_every_name_of_its_kind() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "edge-7"}});
    server.create(MAPS, &map).await;
    until_there(&server, &format!("{MAPS}/edge-7")).await;
    for kind in [
        "configmap",
        "ConfigMap",
        "configmaps",
        "cm",
        "CM",
        "Repository",
        "repo",
    ] {
        let name = if kind.to_lowercase().starts_with('c') {
            "edge-7"
        } else {
            "deploy"
        };
        let (code, out, err) = plan(root, &["--delete", &format!("{kind}/{name}")]);
        assert!(code == 0 || code == 2, "{kind}: {code} {out}{err}");
    }
    let (code, _, err) = plan(root, &["--delete", "configmap/edge-8"]);
    assert!(
        code == 1 && err.contains("\"edge-8\" is not there"),
        "{err}"
    );
    let (code, _, err) = plan(root, &["--delete", "nonsense/edge-8"]);
    assert!(code == 1 && err.contains("is not served here"), "{err}");
}

/// What a plan takes and cannot plan is listed, so that "nothing would change" is not what is read.
#[tokio::test(flavor = "multi_thread")]
async fn what_goes_with_a_namespace_and_what_revisions_are_made_is_listed_as_unknown() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v1")).await;
    let mut revision = server.get(&format!("{REVISIONS}/blueprints.web.v1")).await;
    revision["spec"]["lifecycle"] = "DeletionProposed".into();
    std::fs::write(root.join("revision.json"), revision.to_string()).unwrap();
    for (arguments, told) in [
        (["--delete", "ns/default"], "Namespace default"),
        (["-f", "revision.json"], "PackageRevision blueprints.web.v1"),
    ] {
        let (_, page, err) = plan(root, &arguments);
        assert!(
            page.contains(told) && page.contains("is not planned"),
            "{page}{err}"
        );
    }
}
