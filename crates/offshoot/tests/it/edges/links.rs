//! A person puts a link into a package: it stays, and no file of upstream's goes in its place unasked.

use std::path::Path;

use serde_json::json;

use super::halfway::publish;
use super::{REVISIONS, VARIANTS, checkout, commit, kptfile, map, register};
use super::{until_there, variant, write};
use crate::process::{Process, git, wait_for};

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_asks_about_files_in_whose_place_a_person_put_links() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "blueprints", false).await;
    register(&server, root.path(), "deploy", true).await;
    let up = checkout(root.path(), "blueprints");
    let (text, one) = (kptfile("web"), map("one", "1"));
    write(
        &up,
        &[
            ("web/Kptfile", text.as_bytes()),
            ("web/map.yaml", one.as_bytes()),
            ("web/notes", b"first\n"),
        ],
    );
    commit(&up, "web/v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v1")).await;
    let mut wanted = variant("web", "web");
    wanted["spec"]["upstream"]["revision"] = json!(1);
    server.create(VARIANTS, &wanted).await;
    let first = "deploy.web.packagevariant-1";
    until_there(&server, &format!("{REVISIONS}/{first}")).await;
    publish(&server, first).await;

    let deploy = checkout(root.path(), "deploy");
    std::fs::remove_file(deploy.join("web/notes")).unwrap();
    std::os::unix::fs::symlink("map.yaml", deploy.join("web/notes")).unwrap();
    std::os::unix::fs::symlink("map.yaml", deploy.join("web/added")).unwrap();
    git(&deploy, &["add", "--all"]);
    git(&deploy, &["commit", "--quiet", "--message", "links"]);
    git(&deploy, &["push", "--quiet", "origin", "HEAD"]);
    write(&up, &[("web/notes", b"second\n"), ("web/added", b"new\n")]);
    commit(&up, "web/v2");
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    let path = format!("{VARIANTS}/web");
    let two = json!({ "spec": { "upstream": { "revision": 2 } } });
    server.client.patch(&path, &two).await.unwrap();

    let second = format!("{REVISIONS}/deploy.web.packagevariant-2");
    let told = async || {
        let all = server.get(&second).await["status"]["conflicts"].clone();
        let all = all.as_array().cloned().unwrap_or_default();
        let word = |c: &serde_json::Value, field| c[field].as_str().unwrap_or_default().to_owned();
        let place = |c| format!("{} {}", word(c, "file"), word(c, "state"));
        all.iter().map(place).collect::<Vec<_>>()
    };
    wait_for("the conflicts", async || {
        told().await == ["added open", "notes open"]
    })
    .await;
    links_are(
        root.path(),
        "drafts/web/packagevariant-2",
        &["added", "notes"],
    )
    .await;

    // One that comes while the draft is open is in what is approved, too.
    std::os::unix::fs::symlink("map.yaml", deploy.join("web/late")).unwrap();
    std::fs::remove_file(deploy.join("web/added")).unwrap();
    git(&deploy, &["add", "--all"]);
    git(&deploy, &["commit", "--quiet", "--message", "another link"]);
    git(&deploy, &["push", "--quiet", "origin", "HEAD"]);
    links_are(
        root.path(),
        "drafts/web/packagevariant-2",
        &["late", "notes"],
    )
    .await;
    wait_for("the conflicts", async || told().await == ["notes open"]).await;
    let mut draft = server.get(&second).await;
    draft["spec"]["resolvedConflicts"] = json!([draft["status"]["conflicts"][0]["id"]]);
    server.client.put(&second, &draft).await.unwrap();
    publish(&server, "deploy.web.packagevariant-2").await;
    links_are(root.path(), "main", &["late", "notes"]).await;
    git(&root.path().join("deploy.git"), &["fsck", "--strict"]);
}

/// Waits until these are the links of the package at a ref.
async fn links_are(root: &Path, at: &str, wanted: &[&str]) {
    let links = || {
        let mut git = std::process::Command::new("git");
        git.args(["ls-tree", at, "web/"]);
        let listed = git.current_dir(root.join("deploy.git")).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let links = listed.lines().filter(|line| line.starts_with("120000"));
        let name = |line: &str| line.rsplit('/').next().unwrap_or_default().to_owned();
        links.map(name).collect::<Vec<_>>()
    };
    wait_for(&format!("the links of {at}"), async || links() == wanted).await;
}
