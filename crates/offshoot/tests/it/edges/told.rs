//! Events: what has happened is told, once, on the object that it happened to.

use serde_json::{Value, json};

use super::{CORE, REVISIONS, VARIANTS, checkout, commit, kptfile, register, until, until_there};
use super::{variant, write};
use crate::process::{Process, git, push, wait_for};

/// Kind, name, type, reason, message and count of all events.
async fn events(server: &Process) -> Vec<(String, String, String, i64)> {
    let list = server.get(&format!("{CORE}/events")).await;
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = items
        .iter()
        .map(|e| {
            let about = &e["involvedObject"];
            (
                format!("{}/{}", text(&about["kind"]), text(&about["name"])),
                format!("{} {}", text(&e["type"]), text(&e["reason"])),
                text(&e["message"]),
                e["count"].as_i64().unwrap_or_default(),
            )
        })
        .collect();
    all.sort();
    all
}

async fn told(server: &Process, about: &str, what: &str, message: &str) {
    wait_for(&format!("{what} of {about}"), async || {
        let all = events(server).await;
        let wanted = |e: &&(String, String, String, i64)| {
            e.0 == about && e.1 == what && e.2.contains(message)
        };
        all.iter().find(wanted).is_some_and(|e| e.3 == 1)
    })
    .await;
}

/// R20, R118.
#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_told_once_and_rest_is_silent() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "blueprints", false).await;
    register(&server, root.path(), "deploy", true).await;
    told(&server, "Repository/deploy", "Normal Ready", "").await;
    push(root.path(), "blueprints", "commented", "v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v1")).await;

    // Somebody's own draft stands where a variant is to work (V15).
    let deploy = checkout(root.path(), "deploy");
    write(&deploy, &[("web/Kptfile", kptfile("web").as_bytes())]);
    git(&deploy, &["checkout", "--quiet", "-b", "drafts/web/hand"]);
    commit(&deploy, "unrelated");
    until_there(&server, &format!("{REVISIONS}/deploy.web.hand")).await;
    server.create(VARIANTS, &variant("web", "commented")).await;
    let path = format!("{VARIANTS}/web");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    let about = "PackageVariant/web";
    told(
        &server,
        about,
        "Normal DraftCreated",
        "deploy.web.packagevariant-1",
    )
    .await;
    told(&server, about, "Normal NotAdopted", "'deploy.web.hand'").await;

    // What cannot work warns.
    server.create(VARIANTS, &variant("lost", "nowhere")).await;
    told(
        &server,
        "PackageVariant/lost",
        "Warning UpstreamNotFound",
        "'nowhere'",
    )
    .await;

    // A person's own doing stands on the revision.
    let name = "deploy.web.packagevariant-1";
    let revision = format!("{REVISIONS}/{name}");
    for (door, to) in [("", "Proposed"), ("/approval", "Published")] {
        let patch = json!({ "spec": { "lifecycle": to } });
        let path = format!("{revision}{door}");
        server.client.patch(&path, &patch).await.unwrap();
        let about = format!("PackageRevision/{name}");
        told(&server, &about, &format!("Normal {to}"), "by admin").await;
    }

    // Nothing more is told while nothing happens.
    let mut before = events(&server).await;
    for _ in 0..30 {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let now = events(&server).await;
        if now == before {
            return;
        }
        before = now;
    }
    unreachable!("nothing happens, yet something is told: {before:?}");
}
