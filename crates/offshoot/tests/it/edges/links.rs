//! A person puts a link into a package: it stays, and no file of upstream's goes in its place unasked.

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
    let listed = std::process::Command::new("git")
        .args(["ls-tree", "drafts/web/packagevariant-2", "web/"])
        .current_dir(root.path().join("deploy.git"))
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for link in ["added", "notes"] {
        let is_link = |line: &str| line.starts_with("120000") && line.ends_with(link);
        assert!(listed.lines().any(is_link), "{link}: {listed}");
    }
    git(&root.path().join("deploy.git"), &["fsck", "--strict"]);
}
