//! What people do halfway: a draft broken by hand in git, a published revision taken back.

use serde_json::{Value, json};

use super::{REVISIONS, VARIANTS, checkout, commit, kptfile, register, until, until_there};
use super::{variant, write};
use crate::process::{Process, git, push, wait_for};

async fn moved(server: &Process, name: &str, lifecycle: &str, door: &str) -> Result<(), String> {
    let path = format!("{REVISIONS}/{name}");
    let mut object = server.get(&path).await;
    object["spec"]["lifecycle"] = json!(lifecycle);
    let answer = server.client.put(&format!("{path}{door}"), &object).await;
    answer.map(drop).map_err(|why| why.to_string())
}

pub(super) async fn publish(server: &Process, name: &str) {
    moved(server, name, "Proposed", "").await.unwrap();
    moved(server, name, "Published", "/approval").await.unwrap();
}

/// A Kptfile that cannot be read holds neither gates nor locks: nobody approves such a draft by mistake.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_broken_in_git_is_not_proposed_until_it_is_mended() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "deploy", true).await;
    let deploy = checkout(root.path(), "deploy");
    git(&deploy, &["checkout", "--quiet", "-b", "drafts/web/hand"]);
    write(&deploy, &[("web/Kptfile", b"not: [valid")]);
    commit(&deploy, "broken");
    let path = format!("{REVISIONS}/deploy.web.hand");
    until_there(&server, &path).await;
    let kind = "offshoot.dev/Kptfile";
    let said = until(&server, &path, kind, |c| c.0 == "False").await;
    assert_eq!(said.1, "KptfileUnreadable");
    assert!(said.2.contains("cannot be parsed"), "{}", said.2);
    let why = moved(&server, "deploy.web.hand", "Proposed", "").await;
    let why = why.unwrap_err();
    assert!(why.contains("offshoot.dev/Kptfile"), "{why}");

    write(&deploy, &[("web/Kptfile", kptfile("web").as_bytes())]);
    commit(&deploy, "mended");
    until(&server, &path, kind, |c| c.0.is_empty()).await;
    publish(&server, "deploy.web.hand").await;
}

/// V10: the revision that a person took back is made again when they ask, although the branch still holds it.
#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_was_taken_back_is_made_again_on_request() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "blueprints", false).await;
    register(&server, root.path(), "deploy", true).await;
    push(root.path(), "blueprints", "commented", "v1");
    push(root.path(), "blueprints", "commented", "v2");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v2")).await;
    let mut web = variant("web", "commented");
    web["spec"]["upstream"]["revision"] = json!(1);
    server.create(VARIANTS, &web).await;
    let place = format!("{VARIANTS}/web");
    let (first, second) = ("deploy.web.packagevariant-1", "deploy.web.packagevariant-2");
    until_there(&server, &format!("{REVISIONS}/{first}")).await;
    publish(&server, first).await;
    let patch = |change: Value| async {
        let change = change;
        server.client.patch(&place, &change).await.unwrap();
    };
    patch(json!({ "spec": { "upstream": { "revision": 2 } } })).await;
    until_there(&server, &format!("{REVISIONS}/{second}")).await;
    publish(&server, second).await;
    moved(&server, second, "DeletionProposed", "")
        .await
        .unwrap();
    until(&server, &place, "Ready", |c| {
        c.1 == "DownstreamDeletionProposed"
    })
    .await;
    let path = format!("{REVISIONS}/{second}");
    server.client.delete(&path).await.unwrap();
    until(&server, &place, "Ready", |c| c.1 == "DownstreamDeleted").await;
    patch(json!({ "metadata": { "annotations": { "offshoot.dev/recreate": second } } })).await;
    wait_for("the draft", async || {
        server.get(&path).await["spec"]["lifecycle"] == "Draft"
    })
    .await;
    publish(&server, second).await;
    let lock = server.get(&path).await["status"]["upstreamLock"]["git"]["ref"].clone();
    assert_eq!(lock, "commented/v2");
    until(&server, &place, "Ready", |c| c.1 == "NoErrors").await;
}
