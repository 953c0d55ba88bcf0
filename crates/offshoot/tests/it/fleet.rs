//! Variants and sets as others use them: controllers of their own, `why`, older versions.

use std::path::Path;
use std::time::Duration;

use offshoot::client::Client;
use serde_json::{Value, json};

use crate::local::offshoot;
use crate::process::{Process, git, push, repository, wait_for};

pub(crate) const REPOSITORIES: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
pub(crate) const VARIANTS: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants";
pub(crate) const SETS: &str =
    "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";
pub(crate) const REVISION_SETS: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionsets";
pub(crate) const OLD_SETS: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariantsets";
pub(crate) const EVENTS: &str = "/api/v1/namespaces/default/events";
pub(crate) const REVISIONS: &str =
    "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";

pub(crate) async fn prepare(root: &Path, server: &Process) {
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
pub(crate) fn condition(object: &Value, kind: &str) -> String {
    let list = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let found = list.into_iter().flatten().find(|c| c["type"] == kind);
    found
        .map_or("", |c| c["status"].as_str().unwrap())
        .to_owned()
}

pub(crate) fn settled(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
        && condition(object, "Ready") == "True"
}

pub(crate) async fn apply(client: &Client, path: &str, object: &Value) -> Value {
    let path = format!("{path}?fieldManager=fleet&fieldValidation=Strict");
    client.apply(&path, object).await.unwrap()
}

pub(crate) fn variant(name: &str, labels: &Value) -> Value {
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

/// What a client makes or changes is its own, whatever name the revision is given.
#[tokio::test(flavor = "multi_thread")]
async fn revisions_name_who_wrote_their_fields() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    prepare(root.path(), &server).await;
    let draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1",
        "kind": "PackageRevision",
        "metadata": { "namespace": "default", "name": "unheard-of" },
        "spec": { "repository": "deploy", "packageName": "shop", "workspaceName": "v1",
            "tasks": [{ "type": "init", "init": { "description": "a shop" } }] },
    });
    let path = format!("{REVISIONS}?fieldManager=hand");
    let made = server.client.post(&path, &draft).await.unwrap();
    assert_eq!(made["metadata"]["name"], "deploy.shop.v1");
    let entry = &made["metadata"]["managedFields"][0];
    assert_eq!(
        (&entry["manager"], &entry["operation"]),
        (&json!("hand"), &json!("Update"))
    );
    assert!(
        entry["fieldsV1"]["f:spec"]["f:packageName"].is_object(),
        "{entry}"
    );

    let mut wanted = server.get(&format!("{REVISIONS}/deploy.shop.v1")).await;
    assert_eq!(
        wanted["metadata"]["managedFields"],
        made["metadata"]["managedFields"]
    );
    wanted["metadata"]["labels"]["colour"] = "red".into();
    let path = format!("{REVISIONS}/deploy.shop.v1?fieldManager=brush");
    let painted = server.client.put(&path, &wanted).await.unwrap();
    let entries = painted["metadata"]["managedFields"].as_array().unwrap();
    let brush = entries.iter().find(|e| e["manager"] == "brush").unwrap();
    assert!(
        brush["fieldsV1"]["f:metadata"]["f:labels"]["f:colour"].is_object(),
        "{brush}"
    );
    assert!(
        entries.iter().any(|e| e["manager"] == "hand"),
        "{entries:?}"
    );
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
    let waits = "UpstreamNotFound: could not find upstream package revision 'commented/v7' in repo 'blueprints'";
    assert!(answer.out.contains(waits), "{}", answer.out);
    let answer = why("packagevariant/web");
    let seen = "- downstream deploy.web.packagevariant-1 (Draft), ours\n";
    assert!(answer.out.contains(seen), "{}", answer.out);
    let waits = "- 'deploy.web.packagevariant-1' waits to be proposed\n  hint: offshoot rpkg propose deploy.web.packagevariant-1\n";
    let rest = "next: rest, until a person acts\n";
    assert!(
        answer.out.contains("state: draft to propose\n")
            && answer.out.contains(waits)
            && answer.out.ends_with(rest),
        "{}",
        answer.out
    );
    assert!(!answer.out.contains("steps:"), "{}", answer.out);
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

/// V10: what a variant that cannot be understood leaves in place, who is told, and how it goes.
#[tokio::test(flavor = "multi_thread")]
async fn why_and_events_say_what_an_invalid_variant_leaves() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    prepare(root.path(), &server).await;
    let path = format!("{VARIANTS}/web");
    let web = variant("web", &json!({ "team": "web" }));
    apply(&server.client, &path, &web).await;
    wait_for("Ready", async || settled(&server.get(&path).await)).await;
    let kubeconfig = root.path().join("data/kubeconfig");
    let kubeconfig = kubeconfig.display().to_string();
    let run = |verb: &[&str]| {
        let arguments = [verb, &["--kubeconfig", &kubeconfig]].concat();
        let answer = offshoot(root.path(), &arguments, "");
        assert_eq!(answer.code, 0, "{}", answer.err);
        answer.out
    };
    let wrong = json!({ "spec": { "injectors": [{ "kind": "ConfigMap" }] } });
    server.client.patch(&path, &wrong).await.unwrap();
    wait_for("the refusal", async || {
        condition(&server.get(&path).await, "Stalled") == "True"
    })
    .await;
    let draft = "deploy.web.packagevariant-1";
    let out = run(&["why", "pvar/web"]);
    for line in [
        format!("- ours: {draft} (Draft)\n"),
        format!("- deleting the variant now leaves in place: '{draft}'\n"),
        "next: rest, until a person acts\n".to_owned(),
    ] {
        assert!(out.contains(&line), "{out}");
    }
    assert!(!out.contains("left behind"), "{out}");
    server.client.delete(&path).await.unwrap();
    wait_for("the variant to go", async || {
        server.get(&path).await.is_null()
    })
    .await;
    let removal = format!("offshoot rpkg del {draft}");
    wait_for("the event", async || {
        let events = server.get(EVENTS).await;
        let mut all = events["items"].as_array().into_iter().flatten();
        all.any(|e| {
            let message = e["message"].as_str().unwrap_or_default();
            message.starts_with(&format!("{draft} is left in place")) && message.contains(&removal)
        })
    })
    .await;
    let out = run(&["why", &format!("pkgrev/{draft}")]);
    let left = "- left in place by packagevariant 'default/web'\n";
    assert!(out.contains(left) && out.contains(&removal), "{out}");
    run(&["rpkg", "del", draft]);
    wait_for("the draft to go", async || {
        server.get(&format!("{REVISIONS}/{draft}")).await.is_null()
    })
    .await;
}

/// R166, R182: states and turns are counted by kind, and the status has what the columns show.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_tell_kinds_and_outcomes() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    prepare(root.path(), &server).await;
    let set = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "fan", "namespace": "default" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "commented" },
            "targets": [{ "repositories": [{ "name": "deploy", "packageNames": ["a", "b"] }, { "name": "nowhere" }] }],
        },
    });
    server.create(SETS, &set).await;
    let mut wrong = variant("lost", &json!({ "team": "web" }));
    wrong["spec"]["upstream"]["revision"] = json!(7);
    apply(&server.client, &format!("{VARIANTS}/lost"), &wrong).await;
    let path = format!("{SETS}/fan");
    wait_for("the drafts", async || {
        let now = server.get(&path).await;
        now["status"]["draftVariants"] == 2 && now["status"]["readyVariants"] == 2
    })
    .await;
    let status = server.get(&path).await["status"].clone();
    assert_eq!(status["targets"], 3);
    assert_eq!(status["failedTargets"], 1);
    assert_eq!(status["publishedVariants"], 0);
    let stalled = "offshoot_objects{kind=\"PackageVariant\",state=\"stalled\"} 1\n";
    wait_for("the stalled variant", async || {
        let page = server.client.text("/metrics").await.unwrap();
        page.contains(stalled)
    })
    .await;
    let page = server.client.text("/metrics").await.unwrap();
    for line in [
        "offshoot_objects{kind=\"PackageVariant\",state=\"ready\"} 2\n",
        "offshoot_objects{kind=\"PackageVariant\",state=\"unknown\"} 0\n",
        "offshoot_objects{kind=\"PackageVariantSet\",state=\"not_ready\"} 1\n",
        "offshoot_objects{kind=\"Repository\",state=\"ready\"} 2\n",
        "offshoot_objects{kind=\"PackageRevision\",state=\"Draft\"} 2\n",
    ] {
        assert!(page.contains(line), "{line}{page}");
    }
    for kind in ["PackageVariant", "PackageVariantSet", "Repository"] {
        let start = format!("offshoot_reconciles_total{{kind=\"{kind}\",outcome=\"done\"}} ");
        let line = page.lines().find_map(|l| l.strip_prefix(&start));
        assert!(
            line.is_some_and(|n| n.parse::<u64>().unwrap() > 0),
            "{page}"
        );
    }
}

/// A5: a name of one's own is told to be of no use, once; the right one, or none, is not commented.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_not_used_is_told() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    prepare(root.path(), &server).await;
    let draft = |package: &str, name: Value| {
        json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
            "metadata": { "name": name, "namespace": "default" },
            "spec": {
                "repository": "deploy", "packageName": package, "workspaceName": "w1",
                "tasks": [{ "type": "init", "init": {} }],
            },
        })
    };
    server.client.take_warnings();
    for (package, name) in [("a", json!("deploy.a.w1")), ("b", Value::Null)] {
        let made = draft(package, name);
        server.client.post(REVISIONS, &made).await.unwrap();
        assert_eq!(server.client.take_warnings(), [""; 0]);
    }
    let made = draft("c", json!("mine"));
    server.client.post(REVISIONS, &made).await.unwrap();
    let told = "metadata.name \"mine\" is not used: package revisions are called by repository, package and workspace, \
                this one \"deploy.c.w1\"";
    assert_eq!(server.client.take_warnings(), [told]);
}
