//! What programs that were made for Porch rely on, beyond what was recorded of it (docs/compatibility.md).

use std::path::Path;

use serde_json::{Value, json};

use crate::edges::{REPOSITORIES, RESOURCES, REVISIONS, register, until};
use crate::local::{offshoot, put};
use crate::process::{Process, bare, git, repository};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

async fn prepared(root: &Path) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "deploy", true).await;
    server
}

fn draft(package: &str) -> Value {
    json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "spec": {
            "packageName": package, "repository": "deploy", "workspaceName": "ws1",
            "tasks": [{ "type": "init", "init": { "description": "an app" } }],
        },
    })
}

/// A PUT as it is answered: code and body.
pub(crate) async fn replace(server: &Process, path: &str, object: &Value) -> (u16, Value) {
    let request = http::Request::put(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes());
    let (code, _, body) = server.client.exchange(request.unwrap()).await.unwrap();
    (code, serde_json::from_slice(&body).unwrap())
}

/// Changes an object as it is now, whoever else writes it.
async fn edit(server: &Process, path: &str, change: impl Fn(&mut Value)) -> (u16, Value) {
    loop {
        let mut object = server.client.get(path).await.unwrap();
        change(&mut object);
        let (code, answer) = replace(server, path, &object).await;
        if code != 409 {
            return (code, answer);
        }
    }
}

/// A4a: where packages lie is what a registration is.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_stays_what_it_was_registered_as() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    let client = &server.client;
    let mut object = repository(root.path(), "fixed", false);
    object["spec"]["git"]["directory"] = json!("packages");
    server.create(REPOSITORIES, &object).await;
    let path = format!("{REPOSITORIES}/fixed");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    for (field, other) in [
        ("spec.type", json!("oci")),
        ("spec.git.repo", json!("https://git.example.test/other.git")),
        ("spec.git.branch", json!("other")),
        ("spec.git.directory", json!("other")),
    ] {
        let pointer = format!("/{}", field.replace('.', "/"));
        let change = |object: &mut Value| *object.pointer_mut(&pointer).unwrap() = other.clone();
        let (code, status) = edit(&server, &path, change).await;
        assert_eq!(code, 422, "{status}");
        let cause = &status["details"]["causes"][0];
        let said = cause["message"].as_str().unwrap();
        assert_eq!(cause["field"], field, "{status}");
        assert!(said.ends_with(&format!("{field} is immutable")), "{status}");
        // By patch and by apply, too.
        let patch = field.rsplit('.').filter(|key| *key != "spec");
        let patch = patch.fold(other, |inner, key| json!({ key: inner }));
        let patch = json!({ "spec": patch });
        let why = client.patch(&path, &patch).await.unwrap_err().to_string();
        assert!(why.contains(&format!("{field} is immutable")), "{why}");
        let mut applied = patch;
        applied["apiVersion"] = object["apiVersion"].clone();
        applied["kind"] = object["kind"].clone();
        applied["metadata"] = json!({ "name": "fixed" });
        let forced = format!("{path}?fieldManager=test&force=true");
        let why = client.apply(&forced, &applied).await.unwrap_err();
        assert!(
            why.to_string().contains(&format!("{field} is immutable")),
            "{why}"
        );
    }
    // What else it says can be changed, and what is left out is what it was by default.
    let change = |object: &mut Value| {
        object["spec"]["description"] = json!("new");
        object["spec"]["type"].take();
        object["spec"]["git"]["branch"].take();
    };
    let (code, now) = edit(&server, &path, change).await;
    assert_eq!((code, &now["spec"]["description"]), (200, &json!("new")));
    // A directory that is left out is the root, however that was written.
    let mut object = repository(root.path(), "root", false);
    object["spec"]["git"]["directory"] = json!("/");
    server.create(REPOSITORIES, &object).await;
    let path = format!("{REPOSITORIES}/root");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    for directory in [Value::Null, json!(""), json!("/")] {
        let change = |object: &mut Value| object["spec"]["git"]["directory"] = directory.clone();
        let (code, status) = edit(&server, &path, change).await;
        assert_eq!(code, 200, "{status}");
        let change = |object: &mut Value| object["spec"]["git"]["directory"] = json!("sub");
        let (code, status) = edit(&server, &path, change).await;
        assert_eq!(code, 422, "{directory}: {status}");
    }
    let change = |object: &mut Value| object["spec"]["git"]["directory"] = json!("sub");
    assert_eq!(edit(&server, &path, change).await.0, 422);
}

/// A4a: a number that is not there is left out. Tables print it as Porch's do.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_has_no_number() {
    let root = tempfile::tempdir().unwrap();
    let server = prepared(root.path()).await;
    let client = &server.client;
    client.post(REVISIONS, &draft("app")).await.unwrap();
    let path = format!("{REVISIONS}/deploy.app.ws1");
    let number = |object: &Value| object["spec"].get("revision").cloned();
    assert_eq!(number(&client.get(&path).await.unwrap()), None);
    let files = format!("{RESOURCES}/deploy.app.ws1");
    assert_eq!(number(&client.get(&files).await.unwrap()), None);
    let table = client.request(http::Method::GET, &path, TABLE, None).await;
    assert_eq!(table.unwrap()["rows"][0]["cells"][3], 0);
    for resource in [REVISIONS, RESOURCES] {
        let count = async |selector: &str| {
            let list = client
                .get(&format!("{resource}?fieldSelector={selector}"))
                .await;
            list.unwrap()["items"].as_array().unwrap().len()
        };
        assert_eq!(count("spec.revision%3D0").await, 1);
        assert_eq!(count("spec.revision%3D1").await, 0);
    }
    let kubeconfig = root.path().join("data/kubeconfig");
    let kubeconfig = kubeconfig.to_str().unwrap();
    let columns = "custom-columns=REV:.spec.revision";
    let get = [
        "rpkg",
        "get",
        "--kubeconfig",
        kubeconfig,
        "-o",
        columns,
        "deploy.app.ws1",
    ];
    let told = offshoot(root.path(), &get, "");
    assert_eq!(told.out, "REV\n<none>\n", "{}", told.err);
    for verb in ["propose", "approve"] {
        let told = offshoot(
            root.path(),
            &["rpkg", verb, "--kubeconfig", kubeconfig, "deploy.app.ws1"],
            "",
        );
        assert_eq!(told.code, 0, "{}", told.err);
    }
    assert_eq!(number(&client.get(&path).await.unwrap()), Some(json!(1)));
}

/// A4a: what cannot be changed is no reason to refuse the rest, as long as somebody is told.
#[tokio::test(flavor = "multi_thread")]
async fn tasks_stay_whatever_is_sent() {
    let root = tempfile::tempdir().unwrap();
    let server = prepared(root.path()).await;
    let client = &server.client;
    let made = client.post(REVISIONS, &draft("app")).await.unwrap();
    let path = format!("{REVISIONS}/deploy.app.ws1");
    let stay = "spec.tasks cannot be changed: the tasks stay as they are";
    for (tasks, warning) in [
        (
            json!([{ "type": "init", "init": { "description": "another" } }]),
            stay,
        ),
        (
            json!([{ "type": "edit", "edit": { "sourceRef": { "name": "deploy.app.ws0" } } }]),
            stay,
        ),
        (
            json!([{ "type": "nonsense" }]),
            "; the tasks stay as they are",
        ),
    ] {
        let mut object = client.get(&path).await.unwrap();
        object["spec"]["tasks"] = tasks.clone();
        object["metadata"]["labels"] = json!({ "seen": tasks[0]["type"] });
        drop(client.take_warnings());
        let now = client.put(&path, &object).await.unwrap();
        assert_eq!(now["spec"]["tasks"], made["spec"]["tasks"]);
        assert_eq!(now["metadata"]["labels"]["seen"], tasks[0]["type"]);
        let warnings = client.take_warnings().join("\n");
        assert!(warnings.ends_with(warning), "{warnings}");
    }
    // Of two who send others at once, one is told.
    let mut object = client.get(&path).await.unwrap();
    object["spec"]["tasks"] = json!([{ "type": "init", "init": { "description": "mine" } }]);
    client.put(&path, &object).await.unwrap();
    let (code, status) = replace(&server, &path, &object).await;
    assert_eq!(
        (code, &status["reason"]),
        (409, &json!("Conflict")),
        "{status}"
    );
    // Leaving them out says nothing.
    let mut object = client.get(&path).await.unwrap();
    object["spec"]["tasks"].take();
    drop(client.take_warnings());
    let now = client.put(&path, &object).await.unwrap();
    assert_eq!(now["spec"]["tasks"], made["spec"]["tasks"]);
    assert_eq!(client.take_warnings(), [""; 0]);
}

/// V2, A4: kept, and told.
#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_kept_although_it_fails_ends_with_1() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = prepared(root).await;
    server.client.post(REVISIONS, &draft("app")).await.unwrap();
    let kubeconfig = root.join("data/kubeconfig");
    let kubeconfig = kubeconfig.to_str().unwrap();
    let rpkg = |verb: &str, to: &str| {
        let arguments = [
            "rpkg",
            verb,
            "--kubeconfig",
            kubeconfig,
            "deploy.app.ws1",
            to,
        ];
        offshoot(root, &arguments, "")
    };
    let path = format!("{REVISIONS}/deploy.app.ws1");
    for (keep, said, there) in [
        ("false", "NOT pushed to remote", false),
        (
            "true",
            "Package pushed to remote despite render failure",
            true,
        ),
    ] {
        let annotation = json!({ "metadata": { "annotations": { "porch.kpt.dev/push-on-render-failure": keep } } });
        server.client.patch(&path, &annotation).await.unwrap();
        let to = format!("files-{keep}");
        assert_eq!(rpkg("pull", &to).code, 0);
        let broken = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n  - image: set-labels:v0.2.0\n    configMap: {a: b}\n  - image: example.test/no-such:v1\n";
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n";
        put(&root.join(&to), &[("Kptfile", broken), ("one.yaml", map)]);
        let told = rpkg("push", &to);
        assert_eq!(told.code, 1, "{}", told.err);
        let begins = "error rendering package in kpt function pipeline. Package ";
        assert!(
            told.err.contains(begins) && told.err.contains(said),
            "{}",
            told.err
        );
        let files = git(
            &bare(root, "deploy"),
            &["ls-tree", "--name-only", "drafts/app/ws1:app"],
        );
        assert_eq!(files.contains("one.yaml"), there, "{files}");
    }
    let stored = git(
        &bare(root, "deploy"),
        &["show", "drafts/app/ws1:app/one.yaml"],
    );
    assert_eq!(
        stored,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
    );
}

/// A4: who reads the answers of another's programs.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_name_what_was_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let server = prepared(root.path()).await;
    let client = &server.client;
    client.post(REVISIONS, &draft("app")).await.unwrap();
    let files = format!("{RESOURCES}/deploy.app.ws1");
    let mut stale = client.get(&files).await.unwrap();
    let mut first = stale.clone();
    first["spec"]["resources"]["one.txt"] = json!("1");
    client.put(&files, &first).await.unwrap();
    stale["spec"]["resources"]["one.txt"] = json!("2");
    let (code, status) = replace(&server, &files, &stale).await;
    assert_eq!(code, 409);
    let modified = "Operation cannot be fulfilled on packagerevisionresources.porch.kpt.dev \"deploy.app.ws1\": the object has been modified; please apply your changes to the latest version and try again";
    assert_eq!(status["message"], modified);
    let mut again = draft("app");
    again["spec"]["workspaceName"] = json!("ws2");
    let why = client
        .post(REVISIONS, &again)
        .await
        .unwrap_err()
        .to_string();
    let exists = "package \"app\" already exists in repository \"deploy\" (make subsequent revisions using `copy`)";
    assert_eq!(why, exists);
}

/// A4: whoever loses a race hears that there was one.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_race_is_told_as_one() {
    let root = tempfile::tempdir().unwrap();
    let server = prepared(root.path()).await;
    let client = &server.client;
    let race = "another request is already in progress on package ";
    let mut told = [false; 2];
    // Requests overlap as the machine lets them: on a slow one not in every round.
    for round in 0..20 {
        let name = format!("app-{round}");
        let race = format!("{race}{name} in repository deploy: ");
        let object = draft(&name);
        let made = futures::future::join_all((0..8).map(|_| client.post(REVISIONS, &object))).await;
        let path = format!("{REVISIONS}/deploy.{name}.ws1");
        let gone = futures::future::join_all((0..8).map(|_| client.delete(&path))).await;
        for (answers, told) in [made, gone].into_iter().zip(&mut told) {
            let lost: Vec<String> = answers
                .iter()
                .filter_map(|a| Some(a.as_ref().err()?.to_string()))
                .collect();
            assert_eq!(lost.len(), 7, "{lost:?}");
            *told |= lost.iter().any(|why| why.contains(&race));
        }
        if told == [true; 2] {
            return;
        }
    }
    panic!(
        "no race was told of: creations {}, deletions {}",
        told[0], told[1]
    );
}

/// A11: one limit for a package, none for a file; what is not shown stays, and goes by name.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_may_hold_large_files_and_keeps_what_is_not_shown() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = prepared(root).await;
    let client = &server.client;
    client.post(REVISIONS, &draft("app")).await.unwrap();
    let path = format!("{RESOURCES}/deploy.app.ws1");
    let mut object = client.get(&path).await.unwrap();
    let line = "\"a line\"\n".repeat(700_000);
    object["spec"]["resources"]["large.txt"] = json!(line);
    let now = client.put(&path, &object).await.unwrap();
    assert_eq!(now["spec"]["resources"]["large.txt"], json!(line));
    // Somebody adds by git what no GET shows.
    let checkout = crate::edges::checkout(root, "deploy");
    git(&checkout, &["checkout", "--quiet", "drafts/app/ws1"]);
    crate::edges::write(
        &checkout.join("app"),
        &[
            ("huge.txt", &[b'x'; 17 << 20]),
            ("logo.png", &[0, 159, 146, 150]),
        ],
    );
    git(&checkout, &["add", "--all"]);
    git(&checkout, &["commit", "--quiet", "--message", "by hand"]);
    git(&checkout, &["push", "--quiet", "origin", "HEAD"]);
    let annotation = |object: &Value, name: &str| {
        let text = object["metadata"]["annotations"][format!("offshoot.dev/{name}")].as_str();
        text.map(str::to_owned).unwrap_or_default()
    };
    crate::process::wait_for("the push", async || {
        annotation(&server.get(&path).await, "oversized-files").contains("huge.txt")
    })
    .await;
    let in_git = || {
        git(
            &root.join("deploy.git"),
            &["ls-tree", "--name-only", "drafts/app/ws1:app"],
        )
    };
    let mut object = client.get(&path).await.unwrap();
    assert_eq!(annotation(&object, "binary-files"), "[\"logo.png\"]");
    object["spec"]["resources"]
        .as_object_mut()
        .unwrap()
        .remove("large.txt");
    let now = client.put(&path, &object).await.unwrap();
    assert!(
        annotation(&now, "oversized-files").contains("huge.txt"),
        "{now}"
    );
    let files = in_git();
    assert!(
        files.contains("huge.txt") && files.contains("logo.png"),
        "{files}"
    );
    assert!(!files.contains("large.txt"), "{files}");
    let remove = "offshoot.dev/remove-files";
    for wrong in ["logo.png", "[\"../x\"]", "[\"README.md\"]"] {
        let mut object = client.get(&path).await.unwrap();
        object["metadata"]["annotations"][remove] = json!(wrong);
        let (code, status) = replace(&server, &path, &object).await;
        assert_eq!(code, 422, "{wrong}: {status}");
    }
    let mut object = client.get(&path).await.unwrap();
    object["metadata"]["annotations"][remove] = json!("[\"logo.png\", \"huge.txt\"]");
    client.put(&path, &object).await.unwrap();
    let files = in_git();
    assert!(
        !files.contains("huge.txt") && !files.contains("logo.png"),
        "{files}"
    );
    assert_eq!(
        annotation(&client.get(&path).await.unwrap(), "remove-files"),
        ""
    );
}
