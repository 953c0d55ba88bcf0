//! A full disk: what cannot be made durable is refused, what was answered stays, and everything goes on
//! when there is room again.
//!
//! It needs a small file system of its own, which only root can mount; elsewhere it says that it was skipped.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{CORE, REVISIONS, VARIANTS, register, until, until_there, variant};
use crate::process::{Process, bare, git, push, wait_for};

/// A mounted file system of a few megabytes.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
            .arg(dir.path())
            .output();
        match mount {
            Ok(done) if done.status.success() => Some(Self(dir)),
            _ => None,
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all room there is.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.path().join("filler")).unwrap();
        for size in [1 << 16, 1 << 12, 1 << 8, 1] {
            let block = vec![1_u8; size];
            while file.write_all(&block).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(
            Command::new("umount")
                .arg("--lazy")
                .arg(self.path())
                .status(),
        );
    }
}

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
        "data": { "value": "x".repeat(100_000) },
    })
}

/// Writes until the disk is full: the names of what was answered.
async fn write_until_full(server: &Process, maps: &str) -> Vec<String> {
    let mut kept = Vec::new();
    let mut refused = Vec::new();
    for i in 0..60 {
        let name = format!("map-{i:02}");
        match server.client.post(maps, &config_map(&name)).await {
            Ok(_) => kept.push(name),
            Err(why) => refused.push(why.to_string()),
        }
        if refused.len() > 3 {
            break;
        }
    }
    assert!(
        !refused.is_empty(),
        "24 megabytes hold no 60 maps: {kept:?}"
    );
    for why in &refused {
        assert!(why.contains("write the object store"), "{why}");
    }
    kept
}

/// The maps of this test that are there.
async fn written(server: &Process, maps: &str) -> Vec<String> {
    let list = server.get(maps).await;
    let names = list["items"].as_array().unwrap().iter();
    let names = names.filter_map(|m| m["metadata"]["name"].as_str());
    let ours = names.filter(|name| *name == "last" || name.starts_with("map-"));
    ours.map(str::to_owned).collect()
}

/// Makes a variant, and waits for it.
async fn make(server: &Process, name: &str) {
    server.create(VARIANTS, &variant(name, "commented")).await;
    let path = format!("{VARIANTS}/{name}");
    until(server, &path, "Ready", |c| c.0 == "True").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_loses_nothing_and_passes() {
    let Some(disk) = Small::new() else {
        eprintln!("skipped: a small file system cannot be mounted here");
        return;
    };
    let root = disk.path();
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    push(root, "blueprints", "commented", "v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v1")).await;
    make(&server, "early").await;
    make(&server, "late").await;

    disk.fill();
    let maps = format!("{CORE}/configmaps");
    let kept = write_until_full(&server, &maps).await;
    // Reads go on, and so does nothing that would have to be durable: neither drafts nor refs.
    let refs = git(&bare(root, "deploy"), &["for-each-ref"]);
    let proposal = json!({ "spec": { "lifecycle": "Proposed" } });
    let early = format!("{REVISIONS}/deploy.early.packagevariant-1");
    let answer = server.client.patch(&early, &proposal).await;
    let why = answer.unwrap_err().to_string();
    assert!(!why.is_empty());
    assert_eq!(server.get(&early).await["spec"]["lifecycle"], "Draft");
    assert_eq!(git(&bare(root, "deploy"), &["for-each-ref"]), refs);
    let names = written(&server, &maps).await;
    assert_eq!(names, kept, "what was answered is there, and nothing else");

    // There is room again: the same process goes on, without a restart.
    disk.free();
    for name in &kept {
        server
            .client
            .delete(&format!("{maps}/{name}"))
            .await
            .unwrap();
    }
    wait_for("the proposal", async || {
        server.client.patch(&early, &proposal).await.is_ok()
    })
    .await;
    make(&server, "more").await;
    server.create(&maps, &config_map("last")).await;

    // And a restart finds exactly that.
    drop(server);
    let server = Process::start(root, &[]).await;
    assert_eq!(server.get(&early).await["spec"]["lifecycle"], "Proposed");
    assert_eq!(written(&server, &maps).await, ["last"]);
    until(&server, &format!("{VARIANTS}/more"), "Ready", |c| {
        c.0 == "True"
    })
    .await;
    git(
        &bare(root, "deploy"),
        &["fsck", "--strict", "--no-dangling"],
    );
}
