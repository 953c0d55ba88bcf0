//! Plans without a server, and plans that are kept: what a directory foretells is what the server does, and what was
//! planned of another upstream is not approved.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::edges::{REVISIONS, VARIANTS, checkout, commit, until_there};
use crate::plan::{
    DEPLOYMENT, SETS, document, drafts, drafts_of, plan, set, started, state_at_rest, trees, typed,
    upstream,
};
use crate::process::{Process, git, wait_for};

const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A fleet of four, published, of which a person edited one; the next upstream is committed and not tagged. Answers its
/// commit.
async fn published(root: &Path) -> (Process, String) {
    let server = started(root).await;
    server.create(SETS, &set(4)).await;
    drafts_of(&server, 4).await;
    let path = format!("{}/deploy.web-01.packagevariant-1", crate::edges::RESOURCES);
    let mut edited = server.get(&path).await;
    let text = edited["spec"]["resources"]["deployment.yaml"]
        .as_str()
        .unwrap();
    edited["spec"]["resources"]["deployment.yaml"] =
        text.replace("replicas: 3", "replicas: 9").into();
    server.client.put(&path, &edited).await.unwrap();
    for verb in ["propose", "approve"] {
        let arguments = ["rpkg", verb, "--field-selector", "spec.repository=deploy"];
        let (code, out, err) = typed(root, "data/kubeconfig", &arguments);
        assert_eq!(code, 0, "{out}{err}");
    }
    wait_for("all published", async || drafts(&server).await.is_empty()).await;
    let next = DEPLOYMENT
        .replace("web:1.4", "web:1.5")
        .replace("replicas: 3", "replicas: 5");
    upstream(root, &next, "hunter2", None);
    let work = checkout(root, "blueprints");
    git(&work, &["add", "--all"]);
    git(&work, &["commit", "--quiet", "--message", "next"]);
    git(&work, &["push", "--quiet", "origin", "HEAD"]);
    let head = git(&work, &["rev-parse", "HEAD"]).trim().to_owned();
    let by_ref = format!("blueprints/web@v2={head}");
    wait_for("the commit is known", async || {
        plan(root, &["--upstream", &by_ref]).0 == 2
    })
    .await;
    state_at_rest(&server, root).await;
    (server, by_ref)
}

/// The objects as kubectl prints them, and the clones, in a directory.
async fn export(server: &Process, root: &Path, dir: &Path) {
    let mut items = Vec::new();
    for path in [REPOSITORIES, SETS, VARIANTS, CONFIGMAPS] {
        let list = server.get(path).await;
        let kind = list["kind"]
            .as_str()
            .unwrap()
            .trim_end_matches("List")
            .to_owned();
        for item in list["items"].as_array().unwrap() {
            let mut item = item.clone();
            item["kind"] = kind.clone().into();
            item["apiVersion"] = list["apiVersion"].clone();
            items.push(item);
        }
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::create_dir_all(dir.join("git")).unwrap();
    std::fs::write(dir.join("objects.yaml"), list.to_string()).unwrap();
    for name in ["blueprints.git", "deploy.git"] {
        let (from, to) = (root.join(name), dir.join("git").join(name));
        let (from, to) = (from.display().to_string(), to.display().to_string());
        git(root, &["clone", "--quiet", "--mirror", &from, &to]);
    }
}

/// A plan without a server; no kubeconfig is there.
fn offline(root: &Path, arguments: &[&str]) -> (i32, Value, String) {
    let all = [&["plan", "--offline", "fleet", "-o", "json"], arguments].concat();
    let (code, out, err) = typed(root, "none", &all);
    let document = serde_json::from_str(&out);
    assert!(document.is_ok(), "{document:?}: {out}{err}");
    let document = document.unwrap();
    (code, document, err)
}

/// F2: offline equals the server, and what the directory lacks is unknown. The clones stay as they are.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_foretells_what_the_server_does() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let (server, by_ref) = published(root).await;
    let dir = root.join("fleet");
    export(&server, root, &dir).await;
    std::fs::write(root.join("web.json"), set(2).to_string()).unwrap();
    let clones = || {
        ["blueprints.git", "deploy.git"].map(|name| {
            let clone = dir.join("git").join(name);
            git(&clone, &["for-each-ref"])
                + &git(
                    root,
                    &["-C", &clone.display().to_string(), "count-objects", "-v"],
                )
        })
    };
    let before = clones();
    for arguments in [
        &["--upstream", &by_ref][..],
        &["-f", "web.json"],
        &["--upstream", &by_ref, "-f", "web.json"],
        &["--delete", "pvset/web"],
        &[],
    ] {
        let (code, told, err) = offline(root, arguments);
        let served = document(root, arguments);
        assert_eq!(told, served, "{arguments:?}: {err}");
        assert_eq!(code, plan(root, arguments).0);
    }
    assert_eq!(clones(), before);
    assert_eq!(
        document(root, &["--upstream", &by_ref])["sets"][0]["counts"]["conflict"],
        1
    );

    // Without the variants' uids, nobody can tell whose the packages are.
    let text = std::fs::read_to_string(dir.join("objects.yaml")).unwrap();
    let mut list: Value = serde_json::from_str(&text).unwrap();
    let items = list["items"].as_array_mut().unwrap();
    items.retain(|item| item["kind"] != "PackageVariant");
    std::fs::write(dir.join("objects.yaml"), list.to_string()).unwrap();
    let (code, told, err) = offline(root, &["--upstream", &by_ref]);
    assert_eq!(told["sets"][0]["counts"]["unknown"], 4, "{told:#}");
    // No plan can be made, which is neither "nothing would change" nor somebody's slip.
    assert_eq!((code, err.contains("nobody follows")), (1, false), "{err}");
    assert_eq!(told["failed"], json!([]));
    assert!(
        told["unknown"].to_string().contains("kubectl get pvar"),
        "{told:#}"
    );
    // Without its clone, nothing of a repository is known, and nothing is guessed.
    std::fs::write(dir.join("objects.yaml"), text).unwrap();
    std::fs::rename(dir.join("git/deploy.git"), root.join("away.git")).unwrap();
    let (code, told, err) = offline(root, &["--upstream", &by_ref]);
    assert_eq!((code, err.contains("nobody follows")), (1, false), "{err}");
    let verdicts = told["targets"].as_array().unwrap().iter();
    assert!(
        verdicts.clone().all(|t| t["verdict"] == "unknown") && verdicts.count() == 4,
        "{told:#}"
    );
    assert!(
        told["unknown"]
            .to_string()
            .contains("git/deploy.git is not there"),
        "{told:#}"
    );
    let (code, _, err) = typed(root, "none", &["plan", "--offline", "nowhere"]);
    assert!(
        code == 64 && err.contains("is no directory"),
        "{code} {err}"
    );
}

/// What a set selects among namespaces is in the directory, too, and so is the plan's own namespace, whatever it is called.
#[tokio::test(flavor = "multi_thread")]
async fn namespaces_of_a_directory_are_selected_as_a_server_would() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    let dir = root.join("fleet");
    export(&server, root, &dir).await;
    drop(server);
    let objects = std::fs::read_to_string(dir.join("objects.yaml")).unwrap();
    std::fs::write(
        dir.join("objects.yaml"),
        objects.replace("\"namespace\":\"default\"", "\"namespace\":\"fleet\""),
    )
    .unwrap();
    let fleet = json!({ "labels": { "of": "fleet" } });
    let namespaces: Vec<Value> = ["a", "default", "b", "fleet"]
        .into_iter()
        .map(|name| {
            let mut metadata = match name {
                "b" => json!({}),
                // Who may write to the plan's namespace may look at the cluster's objects (X6).
                "fleet" => json!({ "labels": { "offshoot.dev/cluster-targets": "true" } }),
                _ => fleet.clone(),
            };
            metadata["name"] = name.into();
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })
        })
        .collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": namespaces });
    std::fs::write(dir.join("namespaces.json"), list.to_string()).unwrap();
    let mut selecting = set(1);
    selecting["metadata"]["namespace"] = "fleet".into();
    selecting["spec"]["targets"] = json!([{
        "objectSelector": { "apiVersion": "v1", "kind": "Namespace", "matchLabels": { "of": "fleet" } },
        "template": { "downstream": { "repo": "deploy", "packageExpr": "target.name" } },
    }]);
    std::fs::write(dir.join("set.json"), selecting.to_string()).unwrap();
    let (_, told, err) = offline(root, &["-n", "fleet"]);
    let made: Vec<[&str; 2]> = told["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| ["variant", "verdict"].map(|key| t[key].as_str().unwrap_or_default()))
        .collect();
    let want = [
        ["fleet/web-deploy-a", "create"],
        ["fleet/web-deploy-default", "create"],
    ];
    assert_eq!(made, want, "{told:#}{err}");
}

/// F3: a plan that was kept before the upstream moved approves nothing of what the drafts hold now.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_plan_does_not_approve_what_came_later() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let (server, by_ref) = published(root).await;
    let (code, _, err) = plan(root, &["--upstream", &by_ref, "--out", "kept.json"]);
    assert_eq!(code, 2, "{err}");
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("kept.json")).unwrap()).unwrap();
    let planned = trees(&kept);
    // The upstream moves before it is tagged.
    let later = DEPLOYMENT.replace("web:1.4", "web:1.6");
    upstream(root, &later, "hunter2", None);
    commit(&checkout(root, "blueprints"), "web/v2");
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    wait_for("all drafts", async || drafts(&server).await.len() == 4).await;
    let holds = drafts(&server).await;
    let class = kept["classes"][0]["id"].as_str().unwrap();
    for more in [&[][..], &["--class", class.get(..8).unwrap()]] {
        let arguments = [&["rpkg", "propose", "--plan", "kept.json"], more].concat();
        let (code, out, err) = typed(root, "data/kubeconfig", &arguments);
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        assert!(err.contains("which was seen"), "{err}");
    }
    let (_, _, err) = typed(
        root,
        "data/kubeconfig",
        &["rpkg", "propose", "--plan", "kept.json"],
    );
    for name in ["web-deploy-web-00", "web-deploy-web-03"] {
        assert!(
            err.contains(&planned[name]) && err.contains(&holds[name]),
            "{err}"
        );
    }
    assert_eq!(drafts(&server).await, holds);
}

/// What was planned is what is approved, class by class; what a plan says goes is what `rpkg del` takes away.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_plan_approves_what_it_foretold_class_by_class() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let (server, by_ref) = published(root).await;
    assert_eq!(
        plan(root, &["--upstream", &by_ref, "--out", "kept.json"]).0,
        2
    );
    let kept = std::fs::read_to_string(root.join("kept.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let head = by_ref.rsplit('=').next().unwrap();
    let blueprints = root.join("blueprints.git");
    git(&blueprints, &["tag", "web/v2", head]);
    wait_for("all drafts", async || drafts(&server).await.len() == 4).await;
    assert_eq!(drafts(&server).await, trees(&kept), "as it was planned");
    let ask = |arguments: &[&str]| typed(root, "data/kubeconfig", arguments);
    let classes = kept["classes"].as_array().unwrap();
    assert_eq!(classes.len(), 2, "the edited one is a class of its own");
    let of = |class: &Value, verb: &str| {
        let id = class["id"].as_str().unwrap();
        ask(&[
            "rpkg",
            verb,
            "--plan",
            "kept.json",
            "--class",
            id.get(..8).unwrap(),
        ])
    };
    let without = classes.iter().find(|c| c["count"] == 3).expect("three");
    for verb in ["propose", "approve"] {
        let (code, out, err) = of(without, verb);
        assert_eq!((code, out.lines().count()), (0, 3), "{out}{err}");
    }
    let left = drafts(&server).await;
    assert_eq!(left.keys().collect::<Vec<_>>(), ["web-deploy-web-01"]);
    // What is approved already is so, and the rest of the plan is a conflict that nobody decided.
    let (code, _, err) = ask(&["rpkg", "propose", "--plan", "kept.json"]);
    assert!(
        code == 1 && err.contains("deploy.web-01.packagevariant-2"),
        "{err}"
    );
    assert_eq!(drafts(&server).await, left);
    // All of it goes again.
    let (code, out, err) = plan(root, &["--delete", "pvset/web", "--out", "gone.json"]);
    assert_eq!(code, 2, "{out}{err}");
    let gone = format!("{SETS}/web");
    server.client.delete(&gone).await.unwrap();
    let gone: Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("gone.json")).unwrap()).unwrap();
    assert_eq!(gone["leaving"].as_array().unwrap().len(), 4);
    let published = async || {
        let all = server.get(REVISIONS).await;
        let items = all["items"].as_array().unwrap().iter();
        // The head of a branch stays what it is.
        let of_web = items.filter(|r| {
            r["spec"]["repository"] == "deploy" && r["spec"]["workspaceName"] != "main"
        });
        let states = of_web.map(|r| r["spec"]["lifecycle"].as_str().unwrap().to_owned());
        states.collect::<Vec<_>>()
    };
    wait_for("the deletions are proposed", async || {
        let all = published().await;
        let is = |state: &str| all.iter().any(|l| l == state);
        is("DeletionProposed") && !is("Published")
    })
    .await;
    let (code, out, err) = ask(&["rpkg", "del", "--plan", "gone.json"]);
    assert_eq!(code, 0, "{out}{err}");
    wait_for("they are gone", async || {
        !published().await.iter().any(|l| l == "DeletionProposed")
    })
    .await;
}

/// What others wrote into the directory leads nowhere else, and holds nobody up (X9).
#[test]
fn a_directory_that_leads_elsewhere_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let clone = root.join("fleet/git/blueprints.git/refs/heads");
    std::fs::create_dir_all(&clone).unwrap();
    let repository = crate::process::repository(root, "blueprints", false);
    std::fs::write(root.join("fleet/a.json"), repository.to_string()).unwrap();
    let refused = |told: &str| {
        let (code, _, err) = typed(root, "none", &["plan", "--offline", "fleet"]);
        assert!(code == 1 && err.contains(told), "{told}: {code} {err}");
    };
    std::os::unix::fs::symlink("/dev/zero", root.join("fleet/z.yaml")).unwrap();
    refused("fleet/z.yaml is a symbolic link");
    std::fs::remove_file(root.join("fleet/z.yaml")).unwrap();
    let pipe = Command::new("mkfifo").arg(clone.join("pipe")).status();
    assert!(pipe.unwrap().success());
    refused("refs/heads/pipe is neither a file nor a directory");
}
