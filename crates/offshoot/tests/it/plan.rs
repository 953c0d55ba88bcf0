//! `offshoot plan` against the running server: what it foretells is what is then there, and asking changes nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::edges::{
    RESOURCES, REVISIONS, VARIANTS, checkout, commit, register, until_there, write,
};
use crate::process::{Process, git, wait_for};

pub(crate) const SETS: &str =
    "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n";
const CONTEXT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: example\n";
pub(crate) const DEPLOYMENT: &str = "# The web.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3 # enough\n  paused: false\n  template:\n    spec:\n      containers:\n      - name: web\n        image: example.test/web:1.4\n";
const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: key\nstringData:\n  password: VALUE\n";

/// Exit code, standard output and standard error.
pub(crate) fn typed(root: &Path, kubeconfig: &str, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(arguments)
        .env("KUBECONFIG", root.join(kubeconfig))
        .current_dir(root)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    (code, text(&output.stdout), text(&output.stderr))
}

pub(crate) fn plan(root: &Path, arguments: &[&str]) -> (i32, String, String) {
    typed(root, "data/kubeconfig", &[&["plan"], arguments].concat())
}

pub(crate) fn document(root: &Path, arguments: &[&str]) -> Value {
    let (code, out, err) = plan(root, &[arguments, &["-o", "json"]].concat());
    assert!(code == 0 || code == 2, "{code}: {out}{err}");
    serde_json::from_str(&out).unwrap()
}

/// Publishes a version of the upstream package: the checkout of blueprints holds it.
pub(crate) fn upstream(root: &Path, deployment: &str, password: &str, tag: Option<&str>) {
    let work = checkout(root, "blueprints");
    let secret = SECRET.replace("VALUE", password);
    write(
        &work.join("web"),
        &[
            ("Kptfile", KPTFILE.as_bytes()),
            ("package-context.yaml", CONTEXT.as_bytes()),
            ("deployment.yaml", deployment.as_bytes()),
            ("secret.yaml", secret.as_bytes()),
        ],
    );
    if let Some(tag) = tag {
        commit(&work, &format!("web/{tag}"));
    }
}

pub(crate) fn set(count: usize) -> Value {
    let names: Vec<String> = (0..count).map(|i| format!("web-{i:02}")).collect();
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "web" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "web" },
            "targets": [{
                "repositories": [{ "name": "deploy", "packageNames": names }],
                "template": { "packageContext": { "data": { "region": "europe" } } },
            }],
        },
    })
}

pub(crate) async fn started(root: &Path) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    upstream(root, DEPLOYMENT, "hunter1", Some("v1"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v1")).await;
    server
}

/// The drafts' trees by the variant that owns them.
pub(crate) async fn drafts(server: &Process) -> BTreeMap<String, String> {
    let list = server.get(REVISIONS).await;
    let items = list["items"].as_array().unwrap().iter();
    let drafts = items.filter(|r| r["spec"]["lifecycle"] == "Draft");
    drafts
        .map(|r| {
            let owner = r["metadata"]["ownerReferences"][0]["name"].as_str();
            let tree = r["status"]["offshoot"]["tree"].as_str();
            (
                owner.unwrap_or_default().to_owned(),
                tree.unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

/// Everything that a plan must leave as it is: versions of all objects, refs, counters of writes.
async fn state(server: &Process, root: &Path) -> (Vec<String>, String, Vec<String>) {
    let mut versions = Vec::new();
    for path in [
        REVISIONS,
        VARIANTS,
        SETS,
        "/api/v1/namespaces/default/events",
        RESOURCES,
    ] {
        let list = server.get(path).await;
        for item in list["items"].as_array().into_iter().flatten() {
            versions.push(format!(
                "{} {}",
                item["metadata"]["name"], item["metadata"]["resourceVersion"]
            ));
        }
    }
    let refs = ["deploy.git", "blueprints.git"].map(|r| git(&root.join(r), &["for-each-ref"]));
    let page = server.client.text("/metrics").await.unwrap();
    let written = [
        "offshoot_store_packs_total",
        "offshoot_store_fsyncs_total",
        "offshoot_derivations",
        "offshoot_reconcil",
    ];
    let counted = page
        .lines()
        .filter(|l| written.iter().any(|w| l.starts_with(w)) && !l.contains("epository"));
    (
        versions,
        refs.concat(),
        counted.map(ToOwned::to_owned).collect(),
    )
}

/// The same, once the controllers have nothing left to do: they stay quiet for a second.
pub(crate) async fn state_at_rest(
    server: &Process,
    root: &Path,
) -> (Vec<String>, String, Vec<String>) {
    let last = std::cell::RefCell::new(state(server, root).await);
    wait_for("controllers at rest", async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = state(server, root).await;
        last.replace(now.clone()) == now
    })
    .await;
    last.into_inner()
}

pub(crate) async fn drafts_of(server: &Process, count: usize) -> BTreeMap<String, String> {
    wait_for("all drafts", async || drafts(server).await.len() == count).await;
    let path = format!("{SETS}/web");
    wait_for("the set", async || {
        // A draft with conflicts is there, and its variant is not Ready.
        server.get(&path).await.pointer("/status/draftVariants") == Some(&json!(count))
    })
    .await;
    drafts(server).await
}

pub(crate) fn trees(document: &Value) -> BTreeMap<String, String> {
    let targets = document["targets"].as_array().unwrap().iter();
    targets
        .filter_map(|t| {
            let name = t["variant"].as_str()?.strip_prefix("default/")?;
            Some((name.to_owned(), t["tree"].as_str()?.to_owned()))
        })
        .collect()
}

/// F2, F1: creation and upgrade of a fan-out with a lone outlier, then a conflict, and what leaves.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_plan_says_is_what_is_then_there() {
    const COUNT: usize = 6;
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    std::fs::write(root.join("web.json"), set(COUNT).to_string()).unwrap();
    let before = state_at_rest(&server, root).await;
    let foretold = document(root, &["-f", "web.json", "--out", "plan.json"]);
    assert_eq!(state(&server, root).await, before, "a plan changes nothing");
    assert_eq!(foretold["sets"][0]["counts"]["create"], COUNT);
    assert_eq!(
        foretold["classes"].as_array().unwrap().len(),
        1,
        "{foretold:#}"
    );
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("plan.json")).unwrap()).unwrap();
    assert_eq!(kept, foretold);
    server.create(SETS, &set(COUNT)).await;
    assert_eq!(drafts_of(&server, COUNT).await, trees(&foretold));
    assert_eq!(
        plan(root, &["-f", "web.json"]).0,
        0,
        "nothing is left to do"
    );

    // One of them is edited; all are published.
    let edited = server
        .get(&format!("{RESOURCES}/deploy.web-03.packagevariant-1"))
        .await;
    let mut edited = edited;
    let text = edited["spec"]["resources"]["deployment.yaml"]
        .as_str()
        .unwrap()
        .replace("paused: false", "paused: true");
    edited["spec"]["resources"]["deployment.yaml"] = text.into();
    let path = format!("{RESOURCES}/deploy.web-03.packagevariant-1");
    server.client.put(&path, &edited).await.unwrap();
    let all = ["--field-selector", "spec.repository=deploy"];
    for verb in ["propose", "approve"] {
        let (code, out, err) = typed(
            root,
            "data/kubeconfig",
            &[&["rpkg", verb], &all[..]].concat(),
        );
        assert_eq!(code, 0, "{out}{err}");
    }
    wait_for("all published", async || drafts(&server).await.is_empty()).await;

    // The next upstream, from a directory: one class, and the edited one in another.
    let next = DEPLOYMENT
        .replace("web:1.4", "web:1.5")
        .replace("  paused: false\n", "");
    upstream(root, &next, "hunter2", None);
    let from = format!(
        "blueprints/web@v2={}",
        root.join("checkout-blueprints/web").display()
    );
    let (code, page, err) = plan(root, &["--upstream", &from]);
    assert_eq!(code, 2, "{err}");
    assert!(
        page.contains("set default/web: blueprints/web v1 → v2"),
        "{page}"
    );
    assert!(page.contains("5 upgrade · 1 conflict"), "{page}");
    assert!(
        page.contains("image  example.test/web:1.4 → example.test/web:1.5"),
        "{page}"
    );
    assert!(!page.contains("hunter"), "{page}");
    // A revision that nobody wants is no news; somebody may have forgotten the manifest that names it.
    let nobody = from.replace("blueprints/web@v2", "blueprints/other@v2");
    let (code, _, err) = plan(root, &["--upstream", &nobody]);
    assert!(code == 0 && err.contains("nobody follows"), "{code} {err}");
    let supposed = document(root, &["--upstream", &from]);
    assert!(
        !supposed.to_string().contains("hunter"),
        "no value of a Secret"
    );
    let exact = supposed["targets"].as_array().unwrap().iter();
    assert!(
        exact
            .clone()
            .all(|t| t["exact"] == false && t["tree"].is_null())
    );

    // The same, committed and not yet tagged: exact, in the same classes.
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
    // A plan finds the commit in git before the revision `main` tells of it.
    let main = format!("{RESOURCES}/blueprints.web.main");
    wait_for("main shows the commit", async || {
        server.get(&main).await.to_string().contains("web:1.5")
    })
    .await;
    let before = state_at_rest(&server, root).await;
    let foretold = document(root, &["--upstream", &by_ref]);
    assert_eq!(state(&server, root).await, before, "a plan changes nothing");
    let ids = |document: &Value| -> Vec<String> {
        let classes = document["classes"].as_array().unwrap().iter();
        classes.map(|c| c["id"].to_string()).collect()
    };
    assert_eq!(ids(&foretold), ids(&supposed));
    assert_eq!(ids(&foretold).len(), 2);
    // A class alone, as a diff and as Markdown.
    let largest = foretold["classes"].as_array().unwrap().iter();
    let largest = largest.max_by_key(|c| c["count"].as_u64()).unwrap();
    let id = largest["id"].as_str().unwrap().get(..8).unwrap();
    let (code, diff, err) = plan(root, &["--upstream", &by_ref, "-o", "diff", "--class", id]);
    assert_eq!(code, 2, "{err}");
    assert!(
        diff.contains(
            "-        image: example.test/web:1.4\n+        image: example.test/web:1.5\n"
        ),
        "{diff}"
    );
    assert!(!diff.contains("hunter"), "{diff}");
    let (_, markdown, _) = plan(root, &["--upstream", &by_ref, "-o", "markdown"]);
    assert!(
        markdown.len() <= 65_536 && ids(&foretold).iter().all(|id| markdown.contains(&id[1..9])),
        "{markdown}"
    );
    assert!(!markdown.contains("hunter"));
    git(&work, &["tag", "web/v2"]);
    git(&work, &["push", "--quiet", "--tags", "origin"]);
    assert_eq!(drafts_of(&server, COUNT).await, trees(&foretold));

    // Half of the targets leave.
    std::fs::write(root.join("web.json"), set(COUNT / 2).to_string()).unwrap();
    let (code, page, err) = plan(root, &["-f", "web.json"]);
    assert_eq!(code, 2, "{err}");
    assert!(page.contains("3 leave"), "{page}");
    assert!(page.contains("deploy.web-05.packagevariant-1 deletion proposed, deploy.web-05.packagevariant-2 deleted"), "{page}");
    let gone = document(root, &["--delete", "pvset/web"]);
    assert_eq!(gone["leaving"].as_array().unwrap().len(), COUNT, "{gone:#}");
}

/// Writes credentials of a user into a file of that name.
fn credentials(root: &Path, user: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["user", user, "--group", user, "--data"])
        .arg(root.join("data"))
        .output()
        .unwrap();
    std::fs::write(root.join(user), output.stdout).unwrap();
}

/// A role that allows a verb on resources of a group.
fn role(name: &str, [verb, group, resource]: [&str; 3]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": name },
        "rules": [{ "verbs": [verb], "apiGroups": [group], "resources": [resource] }],
    })
}

/// Gives a user a role.
fn bind(user: &str, kind: &str, role: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": user },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    })
}

/// Each manifest is the caller's to write, and nobody is told of what they may not list.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_asks_for_the_rights_of_what_it_supposes() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    std::fs::write(root.join("web.json"), set(2).to_string()).unwrap();
    for user in ["ann", "bob"] {
        credentials(root, user);
    }
    // Ann may look at everything; Bob may plan, and look at nothing.
    server
        .create(BINDINGS, &bind("ann", "ClusterRole", "view"))
        .await;
    let role = role("plans", ["create", "fleet.offshoot.dev", "plans"]);
    server.create(ROLES, &role).await;
    server.create(BINDINGS, &bind("bob", "Role", "plans")).await;
    wait_for("Ann's rights", async || {
        typed(root, "ann", &["plan"]).0 == 0
    })
    .await;
    let (code, _, err) = typed(root, "ann", &["plan", "-f", "web.json"]);
    assert_eq!(code, 1);
    assert!(
        err.contains("cannot create resource \"packagevariantsets\""),
        "{err}"
    );
    let (code, _, err) = typed(
        root,
        "ann",
        &["plan", "--upstream", "blueprints/web@v9=main"],
    );
    assert!(
        code == 1 && err.contains("cannot create resource \"packagerevisions\""),
        "{err}"
    );
    let (code, _, err) = typed(root, "bob", &["plan"]);
    assert!(
        code == 1 && err.contains("cannot list resource \"packagevariants\""),
        "{err}"
    );
    let (code, out, err) = plan(root, &["-f", "web.json", "--class", "ffffffff"]);
    assert!(code == 1 && err.contains("there is no class"), "{out}{err}");
}

/// Carol may do everything in the namespace: what lies in none is not hers, and is not told.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_asks_for_rights_where_the_object_lies() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    credentials(root, "carol");
    let role = role("all", ["*", "*", "*"]);
    server.create(ROLES, &role).await;
    server.create(BINDINGS, &bind("carol", "Role", "all")).await;
    wait_for("Carol's rights", async || {
        typed(root, "carol", &["plan"]).0 == 0
    })
    .await;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other" } });
    std::fs::write(root.join("other.json"), namespace.to_string()).unwrap();
    for (arguments, verb) in [
        (["-f", "other.json"], "create"),
        (["--delete", "Namespace/default"], "delete"),
        (["--delete", "Namespace/other"], "delete"),
    ] {
        let (code, out, err) = typed(root, "carol", &["plan", arguments[0], arguments[1]]);
        let refused =
            format!("cannot {verb} resource \"namespaces\" in API group \"\" at the cluster scope");
        assert!(code == 1 && err.contains(&refused), "{out}{err}");
    }
}

/// What `kubectl apply` would refuse is refused, and a set that would be stalled is a failure.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_passes_nothing_that_would_not_work() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = started(root).await;
    let write = |set: &Value| std::fs::write(root.join("web.json"), set.to_string()).unwrap();
    let mut wrong = set(2);
    wrong["spec"]["upstream"]["revison"] = "v1".into();
    write(&wrong);
    let (code, out, err) = plan(root, &["-f", "web.json"]);
    assert!(
        code == 1 && err.contains("unknown field \"spec.upstream.revison\""),
        "{code}: {out}{err}"
    );
    let mut missing = set(2);
    missing["spec"]["upstream"]["revision"] = "v9".into();
    write(&missing);
    let (code, out, err) = plan(root, &["-f", "web.json"]);
    assert!(
        code == 1 && out.contains("x set default/web: "),
        "{code}: {out}{err}"
    );
}
