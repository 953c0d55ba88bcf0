//! Which places a `Repository` may name.

use serde_json::json;

use super::{REPOSITORIES, register, until};
use crate::process::{Process, git, repository};

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
