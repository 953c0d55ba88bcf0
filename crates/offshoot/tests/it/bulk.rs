//! One request for many package revisions, against the running server: what is done, skipped and refused; two who
//! approve at once; a kill in the middle; rights; limits.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use offshoot::client::Client;
use serde_json::{Value, json};

use crate::edges::{RESOURCES, REVISIONS, register, until_there};
use crate::process::{Process, git, push, wait_for};

pub(crate) const SETS: &str =
    "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";
pub(crate) const BULK: &str = "/apis/fleet.offshoot.dev/v1alpha1/namespaces/default/bulkchanges";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

/// Exit code, standard output and standard error.
fn typed(root: &Path, kubeconfig: &str, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(arguments)
        .env("KUBECONFIG", root.join(kubeconfig))
        .current_dir(root)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    )
}

pub(crate) fn admin(root: &Path, arguments: &[&str]) -> (i32, String, String) {
    typed(root, "data/kubeconfig", arguments)
}

/// A server with so many drafts of a set in one repository.
pub(crate) async fn drafts(root: &Path, count: usize) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    push(root, "blueprints", "commented", "v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v1")).await;
    let names: Vec<String> = (0..count).map(|i| format!("web-{i}")).collect();
    let set = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "web" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "commented", "revision": 1 },
            "targets": [{ "repositories": [{ "name": "deploy", "packageNames": names }] }],
        },
    });
    server.create(SETS, &set).await;
    let path = format!("{SETS}/web");
    wait_for("all drafts", async || {
        server.get(&path).await.pointer("/status/readyVariants") == Some(&json!(count))
    })
    .await;
    server
}

/// The revisions of the packages, without those of the branch: name, lifecycle and tree.
pub(crate) async fn revisions(server: &Process) -> BTreeMap<String, (String, String)> {
    let list = server.get(REVISIONS).await;
    let text = |object: &Value, path: &str| {
        let found = object.pointer(path).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let items = list["items"].as_array().unwrap().iter();
    items
        .filter(|r| r["spec"]["repository"] == "deploy" && r["spec"]["workspaceName"] != "main")
        .map(|r| {
            let what = (text(r, "/spec/lifecycle"), text(r, "/status/offshoot/tree"));
            (text(r, "/metadata/name"), what)
        })
        .collect()
}

pub(crate) async fn lifecycles(server: &Process) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (lifecycle, _) in revisions(server).await.into_values() {
        *counts.entry(lifecycle).or_default() += 1;
    }
    counts
}

fn request(verb: &str, entries: impl IntoIterator<Item = (String, Option<String>)>) -> Value {
    let changes: Vec<Value> = entries
        .into_iter()
        .map(|(name, tree)| json!({ "name": name, "verb": verb, "tree": tree }))
        .collect();
    json!({
        "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "BulkChange",
        "spec": { "changes": changes },
    })
}

/// What came of each entry.
fn results(answer: &Value) -> BTreeMap<String, String> {
    let results = answer["status"]["results"].as_array().unwrap().iter();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    results
        .map(|r| (text(&r["name"]), text(&r["result"])))
        .collect()
}

/// A counter of `/metrics`.
async fn counter(server: &Process, name: &str) -> u64 {
    let page = server.client.text("/metrics").await.unwrap();
    let line = page.lines().find(|line| line.starts_with(name));
    let line = line.unwrap();
    line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64
}

async fn counters(server: &Process) -> (u64, u64) {
    (
        counter(server, "offshoot_store_packs_total").await,
        counter(server, "offshoot_store_fsyncs_total").await,
    )
}

const ALL: [&str; 2] = ["--field-selector", "spec.repository=deploy"];

/// F3: what a selection holds is proposed and approved by one request each, in a few packs, and twice equals once.
#[tokio::test(flavor = "multi_thread")]
async fn a_selection_is_approved_in_few_packs_and_twice_equals_once() {
    const COUNT: usize = 100;
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = drafts(root, COUNT).await;
    let run = |verb: &str, more: &[&str]| admin(root, &[&["rpkg", verb], &ALL[..], more].concat());

    let (code, out, err) = run("propose", &["--dry-run"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.lines().count(), COUNT);
    assert!(out.contains(" proposed (dry run)"), "{out}");
    assert_eq!(
        lifecycles(&server).await,
        [("Draft".to_owned(), COUNT)].into()
    );

    // What the verb is not for is counted, and no error.
    let (code, out, err) = run("approve", &[]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert!(
        err.contains("0 approved, 100 skipped")
            && err
                .contains("skipped: 100 (cannot change approval from Draft to Published): deploy."),
        "{err}"
    );

    let (code, out, err) = run("propose", &[]);
    assert_eq!((code, out.lines().count()), (0, COUNT), "{err}");
    let before = counters(&server).await;
    let (code, out, err) = run("approve", &[]);
    assert_eq!((code, out.lines().count()), (0, COUNT), "{err}");
    assert!(err.contains("100 approved\n"), "{err}");
    let after = counters(&server).await;
    let (packs, fsyncs) = (after.0 - before.0, after.1 - before.1);
    println!("{COUNT} approvals: {packs} packs, {fsyncs} fsyncs");
    assert!(packs <= 8 && fsyncs <= 80, "{packs} packs, {fsyncs} fsyncs");
    assert_eq!(
        lifecycles(&server).await,
        [("Published".to_owned(), COUNT)].into()
    );
    let tags = git(&root.join("deploy.git"), &["tag", "--list"]);
    assert_eq!(tags.lines().count(), COUNT);

    let head = git(&root.join("deploy.git"), &["rev-parse", "main"]);
    let (code, out, err) = run("approve", &[]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    // The branch's own revisions are published, too.
    assert!(err.contains("0 approved, 200 already so"), "{err}");
    assert_eq!(git(&root.join("deploy.git"), &["rev-parse", "main"]), head);
    assert_eq!(counters(&server).await.0, after.0);
}

/// F3: each revision is approved by one of two who ask at once, and nothing is approved that was not seen.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_approvers_one_wins_and_nothing_is_approved_unseen() {
    const COUNT: usize = 40;
    let root = tempfile::tempdir().unwrap();
    let server = drafts(root.path(), COUNT).await;
    let seen = revisions(&server).await;
    let entries = || {
        seen.iter()
            .map(|(name, (_, tree))| (name.clone(), Some(tree.clone())))
    };
    // Somebody edits one after everybody looked.
    let edited = seen.keys().next().unwrap().clone();
    let path = format!("{RESOURCES}/{edited}");
    let mut files = server.get(&path).await;
    files["spec"]["resources"]["note.yaml"] =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\n".into();
    server.client.put(&path, &files).await.unwrap();
    let proposal = request("propose", seen.keys().map(|name| (name.clone(), None)));
    server.client.post(BULK, &proposal).await.unwrap();

    let approval = request("approve", entries());
    let (one, other) = tokio::join!(
        server.client.post(BULK, &approval),
        server.client.post(BULK, &approval)
    );
    let (one, other) = (results(&one.unwrap()), results(&other.unwrap()));
    for name in seen.keys() {
        let mut both = [one[name].as_str(), other[name].as_str()];
        both.sort_unstable();
        if *name == edited {
            assert_eq!(both, ["Refused", "Refused"], "{name}");
        } else {
            assert_eq!(both, ["Already", "Done"], "{name}");
        }
    }
    let now = revisions(&server).await;
    for (name, (_, tree)) in &seen {
        let (lifecycle, holds) = &now[name];
        let wanted = if *name == edited {
            "Proposed"
        } else {
            "Published"
        };
        assert_eq!(lifecycle, wanted, "{name}");
        assert_eq!(holds == tree, *name != edited, "{name}");
    }
    let tags = git(&root.path().join("deploy.git"), &["tag", "--list"]);
    assert_eq!(tags.lines().count(), COUNT - 1, "each has one number");

    // The single approval is bound by a flag; the refusal names both trees.
    let wrong = &seen[&edited].1;
    let arguments = ["rpkg", "approve", &edited, "--expected-tree", wrong];
    let (code, _, err) = admin(root.path(), &arguments);
    let right = &now[&edited].1;
    assert!(
        code == 1 && err.contains(wrong) && err.contains(right),
        "{err}"
    );
    let arguments = ["rpkg", "approve", &edited, "--expected-tree", right];
    let (code, out, err) = admin(root.path(), &arguments);
    assert_eq!((code, out), (0, format!("{edited} approved\n")), "{err}");
}

/// F3: a plan binds what is approved to what it lists; what is not so is named, and the rest goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_binds_approvals_to_what_it_lists() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = drafts(root, 3).await;
    let seen = revisions(&server).await;
    let class = "5f02c1d9".repeat(8);
    let other = "c41a77e0".repeat(8);
    let targets: Vec<Value> = seen
        .iter()
        .enumerate()
        .map(|(at, (name, (_, tree)))| {
            json!({
                "variant": format!("default/{name}"), "draft": name, "verdict": "create", "exact": true,
                "class": if at < 2 { &class } else { &other },
                "tree": if at == 1 { "0123456789abcdef0123456789abcdef01234567" } else { tree },
            })
        })
        .collect();
    let plan = json!({
        "format": 1, "plan": "0".repeat(64), "sets": [], "targets": targets, "leaving": [],
        "classes": [{ "id": class, "count": 2 }, { "id": other, "count": 1 }],
    });
    std::fs::write(
        root.join("plan.json"),
        crate::sealed::sealed(plan).to_string(),
    )
    .unwrap();
    let (code, out, err) = admin(
        root,
        &[
            "rpkg",
            "propose",
            "--plan",
            "plan.json",
            "--class",
            "5f02c1d9",
        ],
    );
    let names: Vec<&String> = seen.keys().collect();
    assert_eq!(code, 1, "{err}");
    assert_eq!(out, format!("{} proposed\n", names[0]));
    assert!(
        err.contains(&format!("{} failed (", names[1]))
            && err.contains("0123456789abcdef0123456789abcdef01234567, which was seen")
            && err.contains("1 proposed, 1 refused")
            && err.contains("1 of 2 package revisions failed"),
        "{err}"
    );
    let now = revisions(&server).await;
    let states: Vec<&str> = names.iter().map(|name| now[*name].0.as_str()).collect();
    assert_eq!(states, ["Proposed", "Draft", "Draft"]);
}

/// F3: what was answered before a kill is done, and the same request does the rest.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_the_same_request_does_the_rest() {
    const COUNT: usize = 60;
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = drafts(root, COUNT).await;
    let propose: Vec<&str> = [&["rpkg", "propose"], &ALL[..]].concat();
    assert_eq!(admin(root, &propose).0, 0);
    let seen = revisions(&server).await;
    let tagged = || {
        git(&root.join("deploy.git"), &["tag", "--list"])
            .lines()
            .count()
    };
    let approve: Vec<&str> = [&["rpkg", "approve"], &ALL[..]].concat();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| admin(root, &approve));
        while tagged() == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        server.kill();
        let (code, ..) = asked.join().unwrap();
        println!("killed at {} of {COUNT}, code {code}", tagged());
    });
    let server = Process::start(root, &[]).await;
    let all = async || {
        let known = revisions(&server).await;
        known.len() == COUNT
    };
    wait_for("the records", all).await;
    wait_for("the approvals that were durable", async || {
        lifecycles(&server).await.get("Published").copied() == Some(tagged())
    })
    .await;
    let (code, _, err) = admin(root, &approve);
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        lifecycles(&server).await,
        [("Published".to_owned(), COUNT)].into()
    );
    assert_eq!(tagged(), COUNT);
    for (name, (_, tree)) in revisions(&server).await {
        assert_eq!(tree, seen[&name].1, "{name}");
    }
}

/// F3: each change is allowed as if it were asked for alone.
#[tokio::test(flavor = "multi_thread")]
async fn each_change_takes_the_right_to_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = drafts(root, 2).await;
    let names: Vec<String> = revisions(&server).await.into_keys().collect();
    for user in ["ann", "bob"] {
        let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
            .args(["user", user, "--group", user, "--data"])
            .arg(root.join("data"))
            .output()
            .unwrap();
        std::fs::write(root.join(user), output.stdout).unwrap();
    }
    let bind = |role: &str, group: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": format!("{role}-{group}")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": group}],
        })
    };
    server.create(BINDINGS, &bind("edit", "ann")).await;
    let ann = Client::with(&root.join("ann")).await.unwrap();
    let ask = async |client: &Client, verb: &str| {
        let body = request(verb, names.iter().map(|name| (name.clone(), None)));
        client.post(BULK, &body).await
    };
    let proposed = results(&ask(&ann, "propose").await.unwrap());
    assert!(proposed.values().all(|r| r == "Done"), "{proposed:?}");
    let answer = ask(&ann, "approve").await.unwrap();
    assert_eq!(answer["status"]["refused"], 2);
    let told = &answer["status"]["results"][0];
    assert_eq!(told["reason"], "Forbidden");
    assert!(
        told["message"].as_str().unwrap().contains(
            "is forbidden: User \"ann\" cannot update resource \"packagerevisions/approval\" in API group \"porch.kpt.dev\""
        ),
        "{told}"
    );
    assert_eq!(
        lifecycles(&server).await,
        [("Proposed".to_owned(), 2)].into()
    );
    // To delete what was published takes the right to approve, too.
    for verb in ["approve", "propose-delete"] {
        let done = results(&ask(&server.client, verb).await.unwrap());
        assert!(done.values().all(|r| r == "Done"), "{verb}: {done:?}");
    }
    let answer = ask(&ann, "delete").await.unwrap();
    assert_eq!(answer["status"]["refused"], 2, "{answer}");
    // Whoever may approve, but was not given the request for many, asks one by one.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "approver"},
        "rules": [
            {"apiGroups": ["porch.kpt.dev"], "resources": ["packagerevisions"], "verbs": ["get", "list"]},
            {"apiGroups": ["porch.kpt.dev"], "resources": ["packagerevisions/approval"], "verbs": ["update"]},
        ],
    });
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    server.create(roles, &role).await;
    server.create(BINDINGS, &bind("approver", "bob")).await;
    let bob = Client::with(&root.join("bob")).await.unwrap();
    assert!(ask(&bob, "reject").await.is_err());
    let arguments = ["rpkg", "reject", &names[0], &names[1]];
    let (code, out, err) = typed(root, "bob", &arguments);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.matches("no longer proposed for deletion").count(), 2);
    // Nothing of a package goes where not all of it may.
    for arguments in [
        &[
            "rpkg",
            "init",
            "mine",
            "--repository=deploy",
            "--workspace=v1",
        ][..],
        &["rpkg", "propose", "deploy.mine.v1"],
        &["rpkg", "approve", "deploy.mine.v1"],
        &["rpkg", "copy", "deploy.mine.v1", "--workspace=v2"],
    ] {
        let (code, _, err) = admin(root, arguments);
        assert_eq!(code, 0, "{err}");
    }
    let before = lifecycles(&server).await;
    let (code, _, err) = typed(root, "ann", &["rpkg", "del", "--package", "mine"]);
    assert!(
        code == 1 && err.contains("you may not approve its deletion; nothing was removed"),
        "{err}"
    );
    assert_eq!(lifecycles(&server).await, before);
}

/// Limits, at and one beyond: how many entries, and how many bytes.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_limits_that_it_names() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    let of = |count: usize| {
        request(
            "approve",
            (0..count).map(|n| (format!("deploy.none-{n}.v1"), None)),
        )
    };
    let answer = server.client.post(BULK, &of(10_000)).await.unwrap();
    assert_eq!(answer["status"]["refused"], 10_000);
    assert_eq!(answer["status"]["results"][9_999]["reason"], "NotFound");
    let ask = async |body: &Value| {
        let (code, answer) = server
            .client
            .ask(http::Method::POST, BULK, Some(body))
            .await
            .unwrap();
        (
            code,
            answer["message"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let (code, why) = ask(&of(10_001)).await;
    assert!(
        code == 422 && why.contains("10001 entries") && why.contains("10000"),
        "{code} {why}"
    );
    let mut long = of(1);
    long["spec"]["changes"][0]["verb"] = "x".repeat(3 << 20).into();
    assert_eq!(ask(&long).await.0, 413);
    for (body, wanted) in [
        (
            request("approve", []),
            "spec.changes must name at least one",
        ),
        (of(1), ""),
        (
            request("approve", [("a".to_owned(), None), ("a".to_owned(), None)]),
            "spec.changes[1].name: a stands there twice",
        ),
        (
            request("publish", [("a".to_owned(), None)]),
            "supported values: propose, approve, reject, propose-delete, delete",
        ),
        (
            request("approve", [("a".to_owned(), Some("v1".to_owned()))]),
            "must be the id of a tree",
        ),
    ] {
        let (code, why) = ask(&body).await;
        let wanted_code = if wanted.is_empty() { 201 } else { 422 };
        assert!(code == wanted_code && why.contains(wanted), "{code} {why}");
    }
}
