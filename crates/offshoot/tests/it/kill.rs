//! `kill -9` in the middle of a fan-out, many times: nothing lost, nothing doubled, nothing half.
//!
//! Each kill falls where between 1 and 49 of 50 drafts are in git; one outside of that window is
//! repeated. `OFFSHOOT_KILLS` says how many kills; 20 by default.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{Process, bare, git, push, repository, wait_for};

const TARGETS: usize = 50;
const SETS: &str = "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";
const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";

fn set() -> Value {
    let names: Vec<String> = (0..TARGETS).map(|i| format!("web-{i}")).collect();
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "web" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "commented", "revision": 1 },
            "targets": [{ "repositories": [{ "name": "deploy", "packageNames": names }] }],
        },
    })
}

/// The draft branches in git, with the files of each package: contents by id, and the Kptfile's
/// text without what differs between two runs (where the upstream is, and its commit).
fn drafts(root: &Path) -> BTreeMap<String, String> {
    let repo = bare(root, "deploy");
    let refs = git(
        &repo,
        &[
            "for-each-ref",
            "--format=%(refname:lstrip=2)",
            "refs/heads/drafts",
        ],
    );
    refs.lines()
        .map(|name| {
            let package = name
                .trim_start_matches("drafts/")
                .rsplit_once('/')
                .unwrap()
                .0;
            let listing = git(&repo, &["ls-tree", "-r", &format!("{name}:{package}")]);
            let files = listing.lines().filter(|line| !line.ends_with("\tKptfile"));
            let kptfile = git(&repo, &["show", &format!("{name}:{package}/Kptfile")]);
            let kptfile = kptfile
                .lines()
                .filter(|line| !line.trim_start().starts_with("commit:"));
            let text: Vec<_> = files.chain(kptfile).collect();
            let text = text.join("\n");
            (
                name.to_owned(),
                text.replace(&root.display().to_string(), "ROOT"),
            )
        })
        .collect()
}

async fn prepare(root: &Path, server: &Process) {
    for (name, deployment) in [("blueprints", false), ("deploy", true)] {
        server
            .create(REPOSITORIES, &repository(root, name, deployment))
            .await;
        let path = format!("{REPOSITORIES}/{name}");
        let ready = async || {
            server
                .get(&path)
                .await
                .pointer("/status/conditions/0/status")
                == Some(&json!("True"))
        };
        wait_for("the repository", ready).await;
    }
    push(root, "blueprints", "commented", "v1");
    let path = format!("{REVISIONS}/blueprints.commented.v1");
    wait_for("the upstream", async || !server.get(&path).await.is_null()).await;
}

async fn all_ready(server: &Process) {
    let path = format!("{SETS}/web");
    let ready =
        async || server.get(&path).await.pointer("/status/readyVariants") == Some(&json!(TARGETS));
    wait_for("all variants to be ready", ready).await;
}

/// What an uninterrupted run makes.
async fn uninterrupted() -> BTreeMap<String, String> {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    prepare(root.path(), &server).await;
    server.create(SETS, &set()).await;
    all_ready(&server).await;
    drafts(root.path())
}

/// One kill; how many drafts were durable, or `None` if it fell outside of the window.
async fn one(expected: &BTreeMap<String, String>, delay: Duration) -> Option<usize> {
    let root = tempfile::tempdir().unwrap();
    let mut server = Process::start(root.path(), &["--batch-limit", "4"]).await;
    prepare(root.path(), &server).await;
    server.create(SETS, &set()).await;
    let begun = || {
        let refs = ["for-each-ref", "refs/heads/drafts"];
        !git(&bare(root.path(), "deploy"), &refs).is_empty()
    };
    wait_for("the first draft", async || begun()).await;
    tokio::time::sleep(delay).await;
    server.kill();
    let durable = drafts(root.path()).len();
    if !(1..TARGETS).contains(&durable) {
        return None;
    }
    let mut server = Process::start(root.path(), &["--batch-limit", "4"]).await;
    all_ready(&server).await;
    assert_eq!(
        &drafts(root.path()),
        expected,
        "package trees equal those of an uninterrupted run"
    );
    let list = server.get(REVISIONS).await;
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["spec"]["repository"] == "deploy")
        .filter_map(|r| r["metadata"]["name"].as_str())
        .collect();
    assert_eq!(
        names.len(),
        TARGETS,
        "one draft for each variant, none doubled: {names:?}"
    );
    // Nobody rolls packs up while they are checked.
    server.kill();
    git(
        &bare(root.path(), "deploy"),
        &["fsck", "--strict", "--no-dangling"],
    );
    Some(durable)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_by_kills() {
    let kills: usize = std::env::var("OFFSHOOT_KILLS")
        .ok()
        .and_then(|k| k.parse().ok())
        .unwrap_or(20);
    let expected = uninterrupted().await;
    assert_eq!(expected.len(), TARGETS);
    let mut seen = Vec::new();
    let mut attempts = 0;
    while seen.len() < kills {
        attempts += 1;
        assert!(
            attempts < kills * 5,
            "too many kills fell outside of the window: {seen:?}"
        );
        let delay = Duration::from_millis(u64::try_from(attempts % 7).unwrap() * 4);
        seen.extend(one(&expected, delay).await);
    }
    eprintln!("{kills} kills with {seen:?} drafts durable, {attempts} attempts");
}
