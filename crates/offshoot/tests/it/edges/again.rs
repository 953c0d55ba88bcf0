//! A second start on the same directory.

use std::process::Command;

use serde_json::Value;

use super::{CORE, REPOSITORIES, REVISIONS, VARIANTS, register, until, until_there, variant};
use crate::process::{Process, bare, git, push, wait_for};

/// Every object and every ref, versions included.
async fn everything(server: &Process, root: &std::path::Path) -> Vec<String> {
    let mut all = Vec::new();
    for path in [REVISIONS, VARIANTS, REPOSITORIES, &format!("{CORE}/events")] {
        let list = server.get(path).await;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        assert!(!items.is_empty(), "{path}");
        all.extend(items.iter().map(Value::to_string));
    }
    for name in ["blueprints", "deploy"] {
        all.push(git(&bare(root, name), &["for-each-ref"]));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_start_finds_everything_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "blueprints", false).await;
    register(&server, root.path(), "deploy", true).await;
    push(root.path(), "blueprints", "commented", "v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v1")).await;
    server.create(VARIANTS, &variant("web", "commented")).await;
    until(&server, &format!("{VARIANTS}/web"), "Ready", |c| {
        c.0 == "True"
    })
    .await;

    // A repository's status counts its packages at its next look.
    for (name, count) in [("blueprints", 2), ("deploy", 1)] {
        wait_for("the repository to count its packages", async || {
            let now = server.get(&format!("{REPOSITORIES}/{name}")).await;
            now.pointer("/status/packageCount") == Some(&serde_json::json!(count))
        })
        .await;
    }

    // Somebody else on the same directory is turned away, and disturbs nobody.
    let second = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["up", "--data"])
        .arg(root.path().join("data"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains("in use by another offshoot"), "{said}");

    let mut before = Vec::new();
    for _ in 0..20 {
        let now = everything(&server, root.path()).await;
        if now == before {
            break;
        }
        before = now;
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    }
    drop(server);
    let server = Process::start(root.path(), &[]).await;
    // Long enough for every controller to have looked at everything.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(everything(&server, root.path()).await, before);
}
