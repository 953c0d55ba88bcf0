//! Variants and sets as others use them: controllers of their own, `why`, expressions at a desk, older versions.

use std::path::Path;
use std::time::Duration;

use offshoot::client::Client;
use serde_json::{Value, json};

use crate::local::offshoot;
use crate::process::{Process, git, push, repository, wait_for};

const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
const VARIANTS: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants";
const SETS: &str = "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";
const OLD_SETS: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariantsets";
const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";

async fn prepare(root: &Path, server: &Process) {
    for (name, deployment) in [("blueprints", false), ("deploy", true)] {
        server
            .create(REPOSITORIES, &repository(root, name, deployment))
            .await;
        let path = format!("{REPOSITORIES}/{name}");
        wait_for("the repository", async || {
            condition(&server.get(&path).await, "Ready") == "True"
        })
        .await;
    }
    push(root, "blueprints", "commented", "v1");
    let path = format!("{REVISIONS}/blueprints.commented.v1");
    wait_for("the upstream", async || !server.get(&path).await.is_null()).await;
}

/// The status of a condition that speaks of the object's generation.
fn condition(object: &Value, kind: &str) -> String {
    let list = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let found = list.into_iter().flatten().find(|c| c["type"] == kind);
    found
        .map_or("", |c| c["status"].as_str().unwrap())
        .to_owned()
}

fn settled(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
        && condition(object, "Ready") == "True"
}

async fn apply(client: &Client, path: &str, object: &Value) -> Value {
    let path = format!("{path}?fieldManager=fleet&fieldValidation=Strict");
    client.apply(&path, object).await.unwrap()
}

fn variant(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "PackageVariant",
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "commented", "revision": 1 },
            "downstream": { "repo": "deploy", "package": name },
            "pipeline": { "mutators": [{ "image": "set-labels", "configMap": labels }] },
        },
    })
}

/// R117, R193: a controller of others applies variants from the server's side, waits for Ready of its generation,
/// reads `downstreamTargets`, and finds its fields its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_of_others_builds_on_variants() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    prepare(root.path(), &server).await;
    let path = format!("{VARIANTS}/shop");
    let wanted = variant("shop", &json!({ "team": "web" }));
    apply(&server.client, &path, &wanted).await;
    wait_for("Ready", async || settled(&server.get(&path).await)).await;
    let first = server.get(&path).await;
    let target = &first["status"]["downstreamTargets"][0];
    assert_eq!(target["name"], "deploy.shop.packagevariant-1");
    assert_eq!(target["lifecycle"], "Draft");
    // Once more: nothing changes, and nobody else took its fields.
    let again = apply(&server.client, &path, &wanted).await;
    assert_eq!(
        again["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let managers = again["metadata"]["managedFields"].as_array().unwrap();
    let mine: Vec<&Value> = managers
        .iter()
        .filter(|m| m["manager"] == "fleet")
        .collect();
    assert_eq!(mine.len(), 1);
    assert!(mine[0]["fieldsV1"]["f:spec"].is_object());
    let others = managers.iter().filter(|m| m["manager"] != "fleet");
    assert!(
        others
            .clone()
            .all(|m| m["fieldsV1"].get("f:spec").is_none()),
        "{managers:?}"
    );
    // What it takes off is gone, and the draft follows.
    let mut changed = wanted;
    changed["spec"]["pipeline"]["mutators"][0]["configMap"] = json!({ "tier": "gold" });
    apply(&server.client, &path, &changed).await;
    wait_for("Ready again", async || {
        let now = server.get(&path).await;
        now["metadata"]["generation"] == 2 && settled(&now)
    })
    .await;
    let stored = server.get(&path).await;
    let functions = &stored["spec"]["pipeline"]["mutators"];
    assert_eq!(functions, &changed["spec"]["pipeline"]["mutators"]);
    let bare = root.path().join("deploy.git");
    let text = git(
        &bare,
        &["show", "drafts/shop/packagevariant-1:shop/Kptfile"],
    );
    assert!(
        text.contains("tier: gold") && !text.contains("team: web"),
        "{text}"
    );
}

/// R181: each controller runs only where it is asked for, by flag or as Porch asks.
#[tokio::test(flavor = "multi_thread")]
async fn controllers_are_enabled_one_by_one() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &["--reconcilers=packagevariantsets"]).await;
    prepare(root.path(), &server).await;
    let set = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "PackageVariantSet",
        "metadata": { "name": "fan", "namespace": "default" },
        "spec": {
            "upstream": { "package": { "repo": "blueprints", "name": "commented" }, "revision": "v1" },
            "targets": [{ "package": { "repo": "deploy", "name": "web" } }],
        },
    });
    // In the older shape, which the newer version shows in its own.
    server.create(OLD_SETS, &set).await;
    let path = format!("{VARIANTS}/fan-deploy-web");
    wait_for("the variant", async || !server.get(&path).await.is_null()).await;
    let shown = server.get(&format!("{SETS}/fan")).await;
    assert_eq!(
        shown["spec"]["targets"][0]["repositories"][0]["packageNames"],
        json!(["web"])
    );
    let shown = server.get(&format!("{OLD_SETS}/fan")).await;
    assert_eq!(shown["spec"], set["spec"]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(
        server.get(&path).await.get("status").is_none(),
        "nobody looks after variants"
    );
    drop(server);
    let enabled = [("ENABLE_PACKAGEVARIANTS", "true")];
    let server = Process::start_with(root.path(), &[], &enabled).await;
    wait_for("Ready", async || settled(&server.get(&path).await)).await;
    let mut other = set;
    other["metadata"]["name"] = json!("other");
    server.create(OLD_SETS, &other).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let path = format!("{SETS}/other");
    assert!(
        server.get(&path).await.get("status").is_none(),
        "nobody looks after sets"
    );
}

/// What is seen, what follows, and the way out, for every kind.
#[tokio::test(flavor = "multi_thread")]
async fn why_says_what_is_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    prepare(root.path(), &server).await;
    let mut wrong = variant("shop", &json!({ "team": "web" }));
    wrong["spec"]["upstream"]["revision"] = json!(7);
    apply(&server.client, &format!("{VARIANTS}/shop"), &wrong).await;
    let fine = variant("web", &json!({ "team": "web" }));
    apply(&server.client, &format!("{VARIANTS}/web"), &fine).await;
    let set = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "fan", "namespace": "default" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "commented" },
            "targets": [{ "repositories": [{ "name": "nowhere" }] }],
        },
    });
    server.create(SETS, &set).await;
    let path = format!("{VARIANTS}/web");
    wait_for("Ready", async || settled(&server.get(&path).await)).await;
    let kubeconfig = root.path().join("data/kubeconfig");
    let kubeconfig = kubeconfig.display().to_string();
    let why = |what: &str| offshoot(root.path(), &["why", "--kubeconfig", &kubeconfig, what], "");
    let answer = why("pvar/shop");
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.out.contains("- no upstream\n"), "{}", answer.out);
    let waits = "UpstreamNotFound: could not find upstream package revision 'commented/7' in repo 'blueprints'";
    assert!(answer.out.contains(waits), "{}", answer.out);
    let answer = why("packagevariant/web");
    let seen = "- downstream deploy.web.packagevariant-1 (Draft), ours\n";
    assert!(answer.out.contains(seen), "{}", answer.out);
    assert!(
        answer.out.contains("state: up to date\n") && answer.out.contains("steps:\nstatus:"),
        "{}",
        answer.out
    );
    let answer = why("pvset/fan");
    assert!(
        answer
            .out
            .contains("repository \"nowhere\" could not be loaded"),
        "{}",
        answer.out
    );
    let answer = why("pkgrev/deploy.web.packagevariant-1");
    assert!(answer.out.starts_with("state: Draft\n"), "{}", answer.out);
    assert!(
        answer
            .out
            .contains("hint: offshoot why packagevariant/web\n"),
        "{}",
        answer.out
    );
    let answer = why("repo/deploy");
    assert!(answer.out.contains("- Ready=True"), "{}", answer.out);
    let answer = why("pvar/nobody");
    assert_eq!(answer.code, 1);
    assert!(answer.err.contains("not found"), "{}", answer.err);
    assert_eq!(why("shop").code, 64);
    // Looking wrote nothing.
    let before = server.get(&path).await;
    why("pvar/web");
    assert_eq!(server.get(&path).await, before);
}

/// R150–R153, R156: what a set's expression yields, and where it is wrong.
#[test]
fn an_expression_is_evaluated_at_a_desk() {
    let root = tempfile::tempdir().unwrap();
    let vars =
        "repoDefault: east\npackageDefault: app\ntarget:\n  name: site\n  labels: {region: eu}\n";
    std::fs::write(root.path().join("vars.yaml"), vars).unwrap();
    std::fs::write(root.path().join("odd.yaml"), "target: {labels: {n: 1}}\n").unwrap();
    let eval = |arguments: &[&str]| {
        let all = [&["template", "eval", "--expr"], arguments].concat();
        offshoot(root.path(), &all, "")
    };
    let answer = eval(&[
        "target.labels['region'] + '-' + packageDefault",
        "--vars",
        "vars.yaml",
    ]);
    assert_eq!(
        (answer.code, answer.out.as_str()),
        (0, "eu-app\n"),
        "{}",
        answer.err
    );
    let wrong = |arguments: &[&str], part: &str| {
        let answer = eval(arguments);
        assert_eq!((answer.code, answer.out.as_str()), (1, ""));
        assert!(answer.err.contains(part), "{}", answer.err);
    };
    wrong(&["'a' +"], "ERROR: <input>:1:6: Syntax error");
    wrong(&["nothing"], " | nothing\n | ^");
    wrong(
        &["1 + 1"],
        "unsupported type conversion from 'int' to string",
    );
    wrong(
        &["repository.name", "--repo-expr"],
        "it is not available in downstream.repoExpr",
    );
    wrong(
        &["target.labels['zone']", "--vars", "vars.yaml"],
        "no such key: zone",
    );
    wrong(
        &["'x'", "--vars", "odd.yaml"],
        "variables hold texts and mappings only",
    );
    wrong(
        &["'x'", "--vars", "missing.yaml"],
        "cannot read missing.yaml",
    );
    assert_eq!(eval(&[]).code, 64);
}
