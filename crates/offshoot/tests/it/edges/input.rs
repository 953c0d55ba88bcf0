//! Wrong input, one after the other: each is answered clearly, and changes nothing.

use std::path::Path;

use serde_json::{Value, json};

use super::{RESOURCES, REVISIONS, VARIANTS, checkout, condition, kptfile, map, register};
use super::{until, until_there, variant, write};
use crate::process::{Process, git, push};

async fn prepared(root: &Path) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_and_types_are_checked_as_kubectl_expects() {
    let root = tempfile::tempdir().unwrap();
    let server = prepared(root.path()).await;
    let client = &server.client;
    drop(client.take_warnings());
    let mut object = variant("odd", "app");
    object["spec"]["nonsense"] = json!(1);
    object["spec"]["upstream"]["colour"] = json!("red");
    client.post(VARIANTS, &object).await.unwrap();
    assert_eq!(
        client.take_warnings(),
        [
            "unknown field \"spec.nonsense\"",
            "unknown field \"spec.upstream.colour\""
        ]
    );
    let strict = format!("{VARIANTS}?fieldValidation=Strict");
    object["metadata"]["name"] = json!("strict");
    let why = client.post(&strict, &object).await.unwrap_err().to_string();
    assert!(why.contains("strict decoding error"), "{why}");
    for (field, wrong) in [
        ("upstream", json!("app")),
        ("downstream", json!([1])),
        ("adoptionPolicy", json!(7)),
        ("labels", json!("a=b")),
    ] {
        let mut object = variant("wrong", "app");
        object["spec"][field] = wrong;
        let why = client
            .post(VARIANTS, &object)
            .await
            .unwrap_err()
            .to_string();
        assert!(why.contains(&format!("spec.{field}")), "{field}: {why}");
        assert!(server.get(&format!("{VARIANTS}/wrong")).await.is_null());
    }
    // What Porch's definitions let through is said on the object (A4a).
    let path = format!("{VARIANTS}/nowhere");
    let mut object = variant("nowhere", "app");
    object["spec"]["downstream"]["repo"] = json!("nowhere");
    object["spec"]["upstream"]["repo"] = json!("nowhere");
    server.create(VARIANTS, &object).await;
    let stalled = until(&server, &path, "Stalled", |c| c.0 == "True").await;
    assert_eq!(stalled.1, "UpstreamNotFound");
    assert!(
        stalled.2.contains("register a Repository 'nowhere'"),
        "{stalled:?}"
    );
    let mut object = variant("branch", "app");
    object["spec"]["upstream"]["workspaceName"] = json!("main");
    server.create(VARIANTS, &object).await;
    let path = format!("{VARIANTS}/branch");
    let stalled = until(&server, &path, "Stalled", |c| c.0 == "True").await;
    assert!(
        stalled.2.contains("spec.upstream.revision: main"),
        "{stalled:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_of_files_cannot_leave_the_package() {
    let root = tempfile::tempdir().unwrap();
    let server = prepared(root.path()).await;
    let client = &server.client;
    let draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": { "name": "ignored" },
        "spec": {
            "packageName": "app", "repository": "deploy", "workspaceName": "v1",
            "tasks": [{ "type": "init", "init": { "description": "an app" } }],
        },
    });
    client.post(REVISIONS, &draft).await.unwrap();
    let path = format!("{RESOURCES}/deploy.app.v1");
    let before = client.get(&path).await.unwrap();
    let refs = git(&root.path().join("deploy.git"), &["for-each-ref"]);
    for file in [
        "../evil.yaml",
        "/etc/passwd",
        "a/../../b.yaml",
        "a/../b.yaml",
        ".git/config",
        "sub/.GIT/hooks/post-checkout",
        "./a.yaml",
        "a//b.yaml",
        "a\\b.yaml",
        "bad\u{0}name",
        "",
    ] {
        let mut object = before.clone();
        object["spec"]["resources"][file] = json!("a: 1\n");
        let why = client.put(&path, &object).await.unwrap_err().to_string();
        assert!(why.contains("spec.resources"), "{file:?}: {why}");
    }
    let mut object = before.clone();
    object["spec"]["resources"]["readme.md"] = json!("1");
    object["spec"]["resources"]["README.MD"] = json!("2");
    let why = client.put(&path, &object).await.unwrap_err().to_string();
    assert!(why.contains("case"), "{why}");
    for text in [
        "",
        "a: [",
        "kind: Other\n",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline: 5\n",
    ] {
        let mut object = before.clone();
        object["spec"]["resources"]["Kptfile"] = json!(text);
        let why = client.put(&path, &object).await.unwrap_err().to_string();
        assert!(why.contains("Kptfile"), "{text:?}: {why}");
    }
    // A selector that is not understood would select everything.
    let mut object = before.clone();
    let pipeline = "pipeline:\n  mutators:\n  - image: set-labels:v0.1.5\n    configMap: {a: b}\n    selectors:\n    - labelSelector: {app: x}\n";
    object["spec"]["resources"]["Kptfile"] = json!(format!("{}{pipeline}", kptfile("app")));
    let why = client.put(&path, &object).await.unwrap_err().to_string();
    assert!(
        why.contains("pipeline.mutators[0].selectors[0].labelSelector"),
        "{why}"
    );
    assert_eq!(client.get(&path).await.unwrap(), before);
    let after = git(&root.path().join("deploy.git"), &["for-each-ref"]);
    assert_eq!(after, refs, "nothing was written");
}

/// Pushes packages that hold what no package should: bytes that are no text, links, a submodule, broken Kptfiles.
fn push_odd_packages(checkout: &Path) {
    let binary: &[u8] = b"\x89PNG\xff\xfe\x00";
    let fine = kptfile("blob");
    let (broken, latin) = (
        "a: [\n".to_owned(),
        b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: caf\xe9\n",
    );
    write(
        checkout,
        &[
            ("blob/Kptfile", fine.as_bytes()),
            ("blob/logo.png", binary),
            ("blob/latin1.yaml", b"a: caf\xe9\n"),
            ("blob/map.yaml", map("one", "1").as_bytes()),
            ("broken/Kptfile", broken.as_bytes()),
            ("latin/Kptfile", latin),
        ],
    );
    std::os::unix::fs::symlink("/etc/passwd", checkout.join("blob/link")).unwrap();
    std::os::unix::fs::symlink("map.yaml", checkout.join("blob/near.yaml")).unwrap();
    for name in [&b"bad\xff.yaml"[..], b"line\nbreak.yaml"] {
        let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name);
        std::fs::write(checkout.join("blob").join(name), "a: 1\n").unwrap();
    }
    let head = git(checkout, &["rev-parse", "HEAD"]);
    let gitlink = format!("160000,{},blob/lib", head.trim());
    git(
        checkout,
        &["update-index", "--add", "--cacheinfo", &gitlink],
    );
    for tag in ["blob/v1", "broken/v1", "latin/v1"] {
        // `--all` would take the submodule's entry out again: it has no directory.
        git(checkout, &["add", "blob", "broken", "latin"]);
        git(
            checkout,
            &["update-index", "--add", "--cacheinfo", &gitlink],
        );
        git(
            checkout,
            &["commit", "--quiet", "--allow-empty", "--message", tag],
        );
        git(checkout, &["tag", tag]);
    }
    git(checkout, &["push", "--quiet", "--tags", "origin", "HEAD"]);
}

/// Bytes that are no text come along; what is no plain file does not, and that is said.
async fn odd_files_come_along(root: &Path, checkout: &Path, server: &Process) {
    server.create(VARIANTS, &variant("blob", "blob")).await;
    let path = format!("{VARIANTS}/blob");
    until(server, &path, "Ready", |c| c.0 == "True").await;
    let draft = "drafts/blob/packagevariant-1";
    let deploy = root.join("deploy.git");
    let listing = git(&deploy, &["ls-tree", "-r", "--name-only", draft]);
    let files: Vec<&str> = listing.lines().collect();
    for file in [
        "blob/Kptfile",
        "blob/latin1.yaml",
        "blob/logo.png",
        "blob/map.yaml",
    ] {
        assert!(files.contains(&file), "{file} of {files:?}");
    }
    let same = |file: &str| {
        let id = |repo: &Path, name: String| git(repo, &["rev-parse", &name]);
        id(&deploy, format!("{draft}:{file}")) == id(checkout, format!("blob/v1:{file}"))
    };
    assert!(same("blob/logo.png") && same("blob/latin1.yaml"));
    let draft = format!("{REVISIONS}/deploy.blob.packagevariant-1");
    let said = left_out(&server.get(&draft).await);
    for what in ["symlink `link`", "symlink `near.yaml`", "submodule `lib`"] {
        assert!(said.2.contains(what), "{said:?}");
    }
}

/// What the conditions of the draft say about files that were left out.
fn left_out(object: &Value) -> (String, String, String) {
    condition(object, "UpstreamFilesLeftOut")
}

/// A clone by hand of such a package.
fn clone_of(name: &str, package: &str) -> Value {
    let upstream = format!("blueprints.{name}.v1");
    json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": { "name": "ignored" },
        "spec": {
            "packageName": package, "repository": "deploy", "workspaceName": "v1",
            "tasks": [{ "type": "clone", "clone": { "upstreamRef": { "upstreamRef": { "name": upstream } } } }],
        },
    })
}

/// A Kptfile that cannot be read stops its own package alone, and says which file.
async fn broken_kptfiles_are_named(server: &Process) {
    for name in ["broken", "latin"] {
        server.create(VARIANTS, &variant(name, name)).await;
        let path = format!("{VARIANTS}/{name}");
        let ready = until(server, &path, "Ready", |c| c.0 == "False").await;
        assert!(ready.2.contains("Kptfile"), "{name}: {ready:?}");
        let clone = clone_of(name, &format!("my-{name}"));
        let answer = server.client.post(REVISIONS, &clone).await;
        let why = answer.unwrap_err().to_string();
        assert!(why.contains("Kptfile"), "{name}: {why}");
    }
    server.create(VARIANTS, &variant("fine", "commented")).await;
    until(server, &format!("{VARIANTS}/fine"), "Ready", |c| {
        c.0 == "True"
    })
    .await;
}

/// Packages that come by git can hold anything.
#[tokio::test(flavor = "multi_thread")]
async fn what_git_holds_is_served_as_far_as_it_goes() {
    let root = tempfile::tempdir().unwrap();
    let server = prepared(root.path()).await;
    push(root.path(), "blueprints", "commented", "v1");
    let checkout = checkout(root.path(), "blueprints");
    push_odd_packages(&checkout);
    for name in ["commented", "blob", "broken", "latin"] {
        until_there(&server, &format!("{REVISIONS}/blueprints.{name}.v1")).await;
    }
    let repository = format!("{}/blueprints", super::REPOSITORIES);
    let ready = until(&server, &repository, "Ready", |c| c.2.contains("latin")).await;
    assert_eq!(ready.0, "True");
    assert!(ready.2.contains("broken"), "{ready:?}");

    odd_files_come_along(root.path(), &checkout, &server).await;
    drop(server.client.take_warnings());
    let clone = clone_of("blob", "mine");
    server.client.post(REVISIONS, &clone).await.unwrap();
    let warnings = server.client.take_warnings().join("\n");
    let mine = format!("{REVISIONS}/deploy.mine.v1");
    let told = left_out(&server.get(&mine).await);
    for what in [
        "symlink `link`",
        r"file `bad\xff.yaml`",
        r"file `line\nbreak.yaml`",
    ] {
        assert!(told.2.contains(what), "{told:?}");
        assert!(warnings.contains(what), "{warnings}");
    }
    broken_kptfiles_are_named(&server).await;

    // What the draft's conditions say survives the loss of all records.
    let path = format!("{REVISIONS}/deploy.blob.packagevariant-1");
    let said = left_out(&server.get(&path).await);
    let mut saved = server
        .get(&mine.replace("revisions", "revisionresources"))
        .await;
    saved["spec"]["resources"]["map.yaml"] = map("one", "2").into();
    let resources = mine.replace("revisions", "revisionresources");
    server.client.put(&resources, &saved).await.unwrap();
    assert_eq!(left_out(&server.get(&mine).await), told);
    drop(server);
    let server = Process::start(root.path(), &["--rebuild"]).await;
    until_there(&server, &path).await;
    until_there(&server, &mine).await;
    assert_eq!(left_out(&server.get(&path).await), said);
    assert_eq!(left_out(&server.get(&mine).await), told);
}
