//! A local repository that is moved away and put back: what could not be written meanwhile is written without anybody's doing,
//! and nothing is made in its place.

use std::path::Path;

use super::{REPOSITORIES, REVISIONS, VARIANTS, register, until, until_there, variant};
use crate::process::{Process, bare, git, push, repository, wait_for};

async fn fleet(root: &Path) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    push(root, "blueprints", "commented", "v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v1")).await;
    server.create(VARIANTS, &variant("web", "commented")).await;
    until(&server, &format!("{VARIANTS}/web"), "Ready", |c| {
        c.0 == "True"
    })
    .await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_back_gets_what_was_to_be_written_meanwhile() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let (deploy, away) = (bare(root, "deploy"), root.join("elsewhere"));
    std::fs::rename(&deploy, &away).unwrap();
    push(root, "blueprints", "commented", "v2");
    let web = format!("{VARIANTS}/web");
    // Whoever meets it first, the repository's own look or the variant: it is the repository that is not there.
    let said = until(&server, &web, "Ready", |c| c.0 == "False").await;
    assert_eq!(said.1, "RepositoryNotReady", "{said:?}");
    std::fs::rename(&away, &deploy).unwrap();
    until(&server, &web, "Ready", |c| c.0 == "True").await;
    // The repository may have been missed before the second version was seen.
    let draft = format!("{REVISIONS}/deploy.web.packagevariant-1");
    wait_for("a draft of the second version", async || {
        let lock = server.get(&draft).await["status"]["upstreamLock"].clone();
        lock["git"]["ref"] == "commented/v2"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_made_where_a_repository_was() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = fleet(root).await;
    let (deploy, away) = (bare(root, "deploy"), root.join("elsewhere"));
    let refs = git(&deploy, &["for-each-ref"]);
    assert!(refs.contains("drafts/web/"), "{refs}");
    std::fs::rename(&deploy, &away).unwrap();
    // Another registration of the place asks for one, too.
    let mut other = repository(root, "deploy", true);
    other["metadata"]["name"] = "other".into();
    other["spec"]["git"]["directory"] = "sub".into();
    server.create(REPOSITORIES, &other).await;
    server.kill();
    let mut server = Process::start(root, &[]).await;
    let others = format!("{REPOSITORIES}/other");
    let said = until(&server, &others, "Ready", |c| c.0 == "False").await;
    assert!(said.2.contains("is gone: none is made"), "{said:?}");
    let path = format!("{REPOSITORIES}/deploy");
    let said = until(&server, &path, "Ready", |c| c.0 == "False").await;
    assert!(said.2.contains("is gone: none is made"), "{said:?}");
    assert!(!deploy.exists());
    std::fs::rename(&away, &deploy).unwrap();
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    assert_eq!(git(&deploy, &["for-each-ref"]), refs);
    server.kill();
}

/// The way out that is told: the registration goes, and a new one makes what it asks for.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_registration_makes_a_repository_where_one_was() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let (deploy, away) = (bare(root, "deploy"), root.join("elsewhere"));
    std::fs::rename(&deploy, &away).unwrap();
    let path = format!("{REPOSITORIES}/deploy");
    until(&server, &path, "Ready", |c| c.0 == "False").await;
    server.client.delete(&path).await.unwrap();
    wait_for("the registration is gone", async || {
        server.get(&path).await.is_null()
    })
    .await;
    server
        .create(REPOSITORIES, &repository(root, "deploy", true))
        .await;
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    assert!(deploy.exists());
    until(&server, &format!("{VARIANTS}/web"), "Ready", |c| {
        c.0 == "True"
    })
    .await;
    let refs = git(&deploy, &["for-each-ref"]);
    assert!(refs.contains("drafts/web/"), "{refs}");
}
