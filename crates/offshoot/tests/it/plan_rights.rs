//! What a plan tells: only what whoever asks may see, and nothing of a Secret.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::edges::{
    CORE, RESOURCES, REVISIONS, VARIANTS, checkout, commit, register, until_there, write,
};
use crate::plan::{SETS, typed};
use crate::process::{Process, git, wait_for};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n";
const POINT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: endpoint\n  annotations:\n    kpt.dev/config-injection: required\ndata:\n  host: nowhere\n";
const OTHER: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\ndata:\n  size: one\n";
/// What nobody but those who may read ConfigMaps sees.
const VALUE: &str = "host.internal.example";

/// The upstream package, with an injection point or without.
fn upstream(root: &Path, point: bool, size: &str, tag: &str) {
    let work = checkout(root, "blueprints");
    let other = OTHER.replace("one", size);
    let mut files = vec![
        ("Kptfile", KPTFILE.as_bytes()),
        ("other.yaml", other.as_bytes()),
    ];
    if point {
        files.push(("endpoint.yaml", POINT.as_bytes()));
    }
    write(&work.join("web"), &files);
    match tag {
        "" => {
            git(&work, &["add", "--all"]);
            git(&work, &["commit", "--quiet", "--message", "next"]);
            git(&work, &["push", "--quiet", "origin", "HEAD"]);
        }
        tag => commit(&work, &format!("web/{tag}")),
    }
}

async fn started(root: &Path, point: bool) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    upstream(root, point, "one", "v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v1")).await;
    server
}

/// A user who may look at packages and make some, and at none of the objects around them.
async fn stranger(server: &Process, root: &Path, more: &[Value]) {
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["user", "carl", "--group", "carl", "--data"])
        .arg(root.join("data"))
        .output()
        .unwrap();
    std::fs::write(root.join("carl"), output.stdout).unwrap();
    let mut rules = vec![
        json!({ "verbs": ["create"], "apiGroups": ["fleet.offshoot.dev"], "resources": ["plans"] }),
        json!({ "verbs": ["get", "list", "watch"], "apiGroups": ["config.porch.kpt.dev"],
            "resources": ["packagevariants", "packagevariantsets", "repositories"] }),
        json!({ "verbs": ["get", "list", "watch", "create"], "apiGroups": ["porch.kpt.dev"],
            "resources": ["packagerevisions", "packagerevisionresources"] }),
    ];
    rules.extend_from_slice(more);
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": { "name": "carl" }, "rules": rules });
    server.create(&format!("{RBAC}/roles"), &role).await;
    let binding = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": "carl" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "carl" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "carl" }] });
    server
        .create(&format!("{RBAC}/rolebindings"), &binding)
        .await;
    wait_for("Carl's rights", async || {
        let (code, _, err) = typed(root, "carl", &["plan"]);
        code != 1 || !err.contains("forbidden")
    })
    .await;
}

fn variant() -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "PackageVariant",
        "metadata": { "name": "web" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "web" },
            "downstream": { "repo": "deploy", "package": "web" },
            "injectors": [{ "kind": "ConfigMap", "name": "settings" }],
        },
    })
}

fn settings(host: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "host": host } })
}

/// Everything that a plan puts out: each page, the document, the file, and the diff of each of its classes.
fn outputs(root: &Path, who: &str, arguments: &[&str]) -> (Value, Vec<String>) {
    let plan = |more: &[&str]| typed(root, who, &[&["plan"], arguments, more].concat());
    let (code, json, err) = plan(&["-o", "json", "--out", "kept.json"]);
    let document: Value = serde_json::from_str(&json).unwrap();
    let unknown = document["targets"].to_string().contains("\"unknown\"")
        || document["sets"].to_string().contains("\"unknown\":true");
    assert_eq!(code == 1, unknown, "{code} {json}{err}");
    let mut all = vec![
        json,
        err,
        std::fs::read_to_string(root.join("kept.json")).unwrap(),
    ];
    for form in [&["-o", "table", "--all"][..], &["-o", "markdown", "--all"]] {
        let (_, out, err) = plan(form);
        all.extend([out, err]);
    }
    for class in document["classes"].as_array().unwrap() {
        let (_, out, err) = plan(&["-o", "diff", "--class", class["id"].as_str().unwrap()]);
        all.extend([out, err]);
    }
    (document, all)
}

/// Whoever may make packages supposes one that asks for an object which only the variant's writer may read.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_injected_is_told_to_nobody_who_may_not_read_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root, false).await;
    server
        .create(&format!("{CORE}/configmaps"), &settings(VALUE))
        .await;
    server.create(VARIANTS, &variant()).await;
    until_there(&server, &format!("{REVISIONS}/deploy.web.packagevariant-1")).await;
    stranger(&server, root, &[]).await;
    upstream(root, true, "two", "");
    let from = format!(
        "blueprints/web@v2={}",
        root.join("checkout-blueprints/web").display()
    );
    // Whoever may read it sees it.
    let (document, shown) = outputs(root, "data/kubeconfig", &["--upstream", &from]);
    assert!(
        shown.iter().any(|text| text.contains(VALUE)),
        "{document:#}"
    );
    for by in [from.as_str(), "blueprints/web@v2=main"] {
        let (document, shown) = outputs(root, "carl", &["--upstream", by]);
        for text in &shown {
            assert!(!text.contains(VALUE), "{text}");
        }
        let target = &document["targets"][0];
        let why = "you may not read ConfigMap default/settings";
        assert_eq!(target["verdict"], "unknown", "{document:#}");
        assert_eq!(
            (&target["exact"], &target["class"], &target["tree"]),
            (&json!(false), &Value::Null, &Value::Null)
        );
        assert!(
            target["inexact"].as_str().unwrap().contains(why),
            "{document:#}"
        );
        assert!(document["classes"].as_array().unwrap().is_empty());
        assert!(shown.iter().any(|page| page.contains(why)));
    }
    // Whether it is there at all is not told either.
    let gone = format!("{CORE}/configmaps/settings");
    server.client.delete(&gone).await.unwrap();
    let (document, _) = outputs(root, "carl", &["--upstream", &from]);
    assert_eq!(document["targets"][0]["verdict"], "unknown", "{document:#}");
}

/// What the package holds already is planned with, and what the object says by now is not told.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_injected_before_stays_in_a_plan_that_may_not_read_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root, true).await;
    server
        .create(&format!("{CORE}/configmaps"), &settings("first.example"))
        .await;
    server.create(VARIANTS, &variant()).await;
    let first = format!("{RESOURCES}/deploy.web.packagevariant-1");
    until_there(&server, &first).await;
    for verb in ["propose", "approve"] {
        let (code, out, err) = typed(
            root,
            "data/kubeconfig",
            &["rpkg", verb, "deploy.web.packagevariant-1"],
        );
        assert_eq!(code, 0, "{out}{err}");
    }
    let more =
        json!({ "verbs": ["create", "update"], "apiGroups": [""], "resources": ["configmaps"] });
    stranger(&server, root, &[more]).await;
    upstream(root, true, "two", "");
    let from = "blueprints/web@v2=main";
    wait_for("the commit is known", async || {
        typed(root, "data/kubeconfig", &["plan", "--upstream", from]).0 == 2
    })
    .await;
    // Suspended, so that the controller does not write the value before the plan is asked for.
    let mut held = server.get(&format!("{VARIANTS}/web")).await;
    held["spec"]["suspend"] = true.into();
    server
        .client
        .put(&format!("{VARIANTS}/web"), &held)
        .await
        .unwrap();
    let object = format!("{CORE}/configmaps/settings");
    let mut now = server.get(&object).await;
    now["data"]["host"] = VALUE.into();
    server.client.put(&object, &now).await.unwrap();
    let mut free = server.get(&format!("{VARIANTS}/web")).await;
    free["spec"]["suspend"] = false.into();
    for field in ["managedFields", "resourceVersion", "uid"] {
        free["metadata"].as_object_mut().unwrap().remove(field);
    }
    std::fs::write(root.join("free.json"), free.to_string()).unwrap();
    let all = ["-f", "free.json", "--upstream", from];
    let (_, shown) = outputs(root, "data/kubeconfig", &all);
    assert!(shown.iter().any(|text| text.contains(VALUE)), "{shown:?}");
    // A manifest without `data` leaves what stands there: no way to read what one may only write.
    let label = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings", "labels": { "a": "b" } } });
    std::fs::write(root.join("label.json"), label.to_string()).unwrap();
    for arguments in [
        &["--upstream", from][..],
        &["--upstream", from, "-f", "label.json"],
    ] {
        let (document, shown) = outputs(root, "carl", arguments);
        for text in &shown {
            assert!(!text.contains(VALUE), "{text}");
        }
        let target = &document["targets"][0];
        assert_eq!(target["exact"], false, "{document:#}");
        let inexact = target["inexact"].as_str().unwrap();
        assert!(
            inexact.contains("you may not read ConfigMap default/settings"),
            "{document:#}"
        );
        assert_eq!(target["tree"], Value::Null);
    }
}

/// A set of another's that selects what whoever asks may not list: its targets are unknown.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_set_selects_is_told_to_nobody_who_may_not_list_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root, false).await;
    let mut site = settings("any");
    site["metadata"] = json!({ "name": "site-a", "labels": { "site": "yes" }, "annotations": { "secret-place": VALUE } });
    server.create(&format!("{CORE}/configmaps"), &site).await;
    stranger(&server, root, &[]).await;
    let set = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "metadata": { "name": "web" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "web" },
            "targets": [{
                "objectSelector": { "apiVersion": "v1", "kind": "ConfigMap", "matchLabels": { "site": "yes" } },
                "template": {
                    "downstream": { "repo": "deploy", "packageExpr": "target.name" },
                    "packageContext": { "dataExprs": [{ "key": "place", "valueExpr": "target.annotations['secret-place']" }] },
                },
            }],
        },
    });
    server.create(SETS, &set).await;
    until_there(
        &server,
        &format!("{REVISIONS}/deploy.site-a.packagevariant-1"),
    )
    .await;
    // Another object appears with a plan of who may write it and may not list it.
    let (document, shown) = outputs(root, "carl", &[]);
    assert!(
        shown
            .iter()
            .any(|page| page.contains("you may not list ConfigMap of namespace default")),
        "{document:#}"
    );
    let unknown = document["unknown"].as_array().unwrap();
    assert!(
        unknown
            .iter()
            .any(|u| u["what"] == "targets of set default/web"),
        "{document:#}"
    );
    assert!(
        document["failed"].as_array().unwrap().is_empty(),
        "{document:#}"
    );
    let (document, _) = outputs(root, "data/kubeconfig", &[]);
    assert!(
        document["unknown"].as_array().unwrap().is_empty(),
        "{document:#}"
    );
}
