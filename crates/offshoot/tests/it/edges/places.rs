//! Which places a `Repository` may name, and what others may read in ours.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{REPOSITORIES, REVISIONS, kptfile, register, until, until_there, write};
use crate::process::{Process, bare, git, repository, wait_for};

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_opens_nothing_outside_of_its_fence() {
    let elsewhere = tempfile::tempdir().unwrap();
    git(
        elsewhere.path(),
        &["init", "--quiet", "--bare", "secret.git"],
    );
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "inside", false).await;
    let link = root.path().join("link.git");
    std::os::unix::fs::symlink(elsewhere.path().join("secret.git"), link).unwrap();
    let outside = elsewhere.path().join("secret.git");
    let made = elsewhere.path().join("made.git");
    let cases = [
        ("outside", format!("file://{}", outside.display())),
        ("made", format!("file://{}", made.display())),
        ("link", format!("file://{}/link.git", root.path().display())),
        ("dots", format!("file://{}/x/../..", root.path().display())),
        ("own", format!("file://{}/data/git", root.path().display())),
    ];
    for (name, url) in cases {
        let mut object = repository(root.path(), name, false);
        object["spec"]["git"]["repo"] = json!(url);
        server.create(REPOSITORIES, &object).await;
        let path = format!("{REPOSITORIES}/{name}");
        let ready = until(&server, &path, "Ready", |c| c.0 == "False").await;
        assert!(ready.2.contains("may not be opened"), "{name}: {ready:?}");
    }
    assert!(!made.exists(), "nothing is made there");
    drop(server);
    let below = elsewhere.path().display().to_string();
    let server = Process::start(root.path(), &["--repositories-below", &below]).await;
    let path = format!("{REPOSITORIES}/made");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
}

/// Files that others could read: in directories that they may enter.
fn open_to_others(at: &std::path::Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(at).unwrap().flatten() {
        let meta = entry.metadata().unwrap();
        let open = meta.permissions().mode() & 0o077 != 0;
        if meta.is_dir() && open {
            open_to_others(&entry.path(), found);
        } else if open {
            found.push(entry.path().display().to_string());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_reads_what_is_stored_whatever_the_directory() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let shared = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(root.path(), shared.clone()).unwrap();
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, shared).unwrap();
    let log = data.join("audit.log").display().to_string();
    let mut server = Process::start(root.path(), &["--audit-log", &log]).await;
    register(&server, root.path(), "deploy", false).await;
    let mut found = Vec::new();
    open_to_others(&data, &mut found);
    assert_eq!(found, [""; 0]);
    server.kill();
    // What an earlier version left open is closed.
    let objects = data.join("objects.redb");
    std::fs::set_permissions(&objects, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(Process::start(root.path(), &["--audit-log", &log]).await);
    open_to_others(&data, &mut found);
    assert_eq!(found, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_whose_history_is_replaced_is_read_anew_and_nothing_is_written_there() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    let upstream = root.path().join("upstream");
    std::fs::create_dir(&upstream).unwrap();
    git(&upstream, &["init", "--quiet", "--initial-branch=main"]);
    write(&upstream, &[("web/Kptfile", kptfile("web").as_bytes())]);
    git(&upstream, &["add", "--all"]);
    git(&upstream, &["commit", "--quiet", "--message", "first"]);
    git(&upstream, &["tag", "web/v1"]);
    let mut object = repository(root.path(), "upstream", false);
    object["spec"]["git"]["repo"] = json!(format!("file://{}", upstream.display()));
    server.create(REPOSITORIES, &object).await;
    until_there(&server, &format!("{REVISIONS}/upstream.web.v1")).await;
    let first = git(&upstream, &["rev-parse", "HEAD"]);
    git(
        &upstream,
        &["commit", "--quiet", "--amend", "--message", "anew"],
    );
    git(&upstream, &["tag", "--force", "web/v1"]);
    let head = git(&upstream, &["rev-parse", "HEAD"]);
    assert_ne!(first, head);
    for name in ["main", "v1"] {
        let path = format!("{REVISIONS}/upstream.web.{name}");
        wait_for("what is there now", async || {
            server.get(&path).await.to_string().contains(head.trim())
        })
        .await;
    }
    let path = format!("{REPOSITORIES}/upstream");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    let refs = git(&upstream, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs.trim(), "refs/heads/main\nrefs/tags/web/v1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposed_deletion_stands_while_its_tag_cannot_be_read() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "deploy", false).await;
    let draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": { "packageName": "p", "repository": "deploy", "workspaceName": "w", "lifecycle": "Draft",
            "tasks": [{ "type": "init", "init": { "description": "a package" } }] },
    });
    server.create(REVISIONS, &draft).await;
    let revision = format!("{REVISIONS}/deploy.p.w");
    for (door, to) in [
        ("", "Proposed"),
        ("/approval", "Published"),
        ("/approval", "DeletionProposed"),
    ] {
        let change = json!({ "spec": { "lifecycle": to } });
        let path = format!("{revision}{door}");
        server.client.patch(&path, &change).await.unwrap();
    }
    let deploy = bare(root.path(), "deploy");
    let tag = deploy.join("refs/tags/p/v1");
    // What is packed is hidden by a file that a power cut left empty.
    git(&deploy, &["pack-refs", "--all"]);
    std::fs::create_dir_all(tag.parent().unwrap()).unwrap();
    std::fs::write(&tag, "").unwrap();
    let path = format!("{REPOSITORIES}/deploy");
    until(&server, &path, "Ready", |c| c.2.contains("refs/tags/p/v1")).await;
    // Another package is read all the same.
    let mut other = draft.clone();
    other["spec"]["packageName"] = json!("q");
    server.create(REVISIONS, &other).await;
    std::fs::remove_file(&tag).unwrap();
    until(&server, &path, "Ready", |c| !c.2.contains("refs/tags/p/v1")).await;
    let shown = server.get(&revision).await;
    assert_eq!(shown["spec"]["lifecycle"], "DeletionProposed", "{shown}");
    let refs = git(&deploy, &["for-each-ref", "--format=%(refname)"]);
    assert!(refs.contains("deletionProposed/p/v1"), "{refs}");
}
