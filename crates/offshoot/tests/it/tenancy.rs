//! One repository, two namespaces: the second one reads, and takes nothing from the first (V25).

use std::path::Path;

use serde_json::{Value, json};

use crate::edges::{REVISIONS, VARIANTS, condition, register, until, until_there, variant};
use crate::process::{Process, git, push, repository, wait_for};

const NAMESPACES: &str = "/api/v1/namespaces";

/// A path of the default namespace in another one.
fn within(path: &str, namespace: &str) -> String {
    path.replace("/namespaces/default/", &format!("/namespaces/{namespace}/"))
}

/// All refs of the repository of deployments.
fn refs(root: &Path) -> String {
    git(&root.join("deploy.git"), &["for-each-ref"])
}

/// Registers the repository of deployments in a namespace, under an address of this form.
async fn registers(server: &Process, root: &Path, namespace: &str, address: &str) -> String {
    let name =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
    server.create(NAMESPACES, &name).await;
    let mut second = repository(root, "deploy", true);
    second["spec"]["git"]["repo"] = address.into();
    let path = within(crate::edges::REPOSITORIES, namespace);
    server.create(&path, &second).await;
    let path = format!("{path}/deploy");
    until(server, &path, "Ready", |c| c.0 == "True").await;
    path
}

/// The names of the revisions in a namespace that are drafts or proposals, and their owners.
async fn open(server: &Process, namespace: &str) -> Vec<(String, usize)> {
    let list = server.get(&within(REVISIONS, namespace)).await;
    let items = list["items"].as_array().into_iter().flatten();
    let open = items.filter(|r| r["spec"]["lifecycle"] != "Published");
    let owners = |r: &Value| {
        r["metadata"]["ownerReferences"]
            .as_array()
            .map_or(0, Vec::len)
    };
    let mut open: Vec<_> = open
        .map(|r| {
            (
                r["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                owners(r),
            )
        })
        .collect();
    open.sort();
    open
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_registration_reads_and_takes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    push(root, "blueprints", "commented", "v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v1")).await;
    server.create(VARIANTS, &variant("web", "commented")).await;
    server.create(VARIANTS, &variant("shop", "commented")).await;
    let shop = format!("{REVISIONS}/deploy.shop.packagevariant-1");
    until_there(&server, &shop).await;
    until_there(&server, &format!("{REVISIONS}/deploy.web.packagevariant-1")).await;
    let mut proposal = server.get(&shop).await;
    proposal["spec"]["lifecycle"] = "Proposed".into();
    server.client.put(&shop, &proposal).await.unwrap();
    let (before, ours) = (refs(root), open(&server, "default").await);
    assert_eq!(ours.len(), 2);
    // Creation times are whole seconds.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;

    std::os::unix::fs::symlink(root.join("deploy.git"), root.join("link.git")).unwrap();
    let spellings = [
        ("plain", format!("file://{}/deploy.git", root.display())),
        ("dotted", format!("file://{}/./deploy.git", root.display())),
        ("linked", format!("file://{}/link.git", root.display())),
    ];
    for (namespace, address) in &spellings {
        let path = registers(&server, root, namespace, address).await;
        let said = until(&server, &path, "ReadOnly", |c| c.0 == "True").await;
        assert_eq!(said.1, "AnotherRegistrationWrites", "{namespace}");
        assert!(said.2.contains("default/deploy"), "{}", said.2);
        assert!(said.2.contains("offshoot.dev/shared=true"), "{}", said.2);
        let shown = |all: &[(String, usize)]| all.len() == 2 && all.iter().all(|(_, n)| *n == 0);
        wait_for("the same drafts, nobody's", async || {
            shown(&open(&server, namespace).await)
        })
        .await;
        let draft = within(
            &format!("{REVISIONS}/deploy.web.packagevariant-1"),
            namespace,
        );
        let refused = server.client.delete(&draft).await.unwrap_err().to_string();
        assert!(
            refused.contains("is forbidden") && refused.contains("read-only"),
            "{refused}"
        );
        let approval = within(&shop, namespace);
        let mut wish = server.get(&approval).await;
        wish["spec"]["lifecycle"] = "Published".into();
        let refused = server
            .client
            .put(&format!("{approval}/approval"), &wish)
            .await;
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("is forbidden") && refused.contains("read-only"),
            "{refused}"
        );
    }
    // Housekeeping, the controllers and a restart had their time.
    server.kill();
    let server = Process::start(root, &["--rebuild"]).await;
    for (name, _) in &ours {
        until_there(&server, &format!("{REVISIONS}/{name}")).await;
    }
    wait_for("the owners", async || {
        open(&server, "default").await == ours
    })
    .await;
    for (namespace, _) in &spellings {
        wait_for("records", async || {
            open(&server, namespace).await.len() == 2
        })
        .await;
    }
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(open(&server, "default").await, ours);
    assert_eq!(refs(root), before);

    // One is taken away, another's namespace goes: nobody else notices.
    let path = within(crate::edges::REPOSITORIES, "plain");
    server
        .client
        .delete(&format!("{path}/deploy"))
        .await
        .unwrap();
    server
        .client
        .delete(&format!("{NAMESPACES}/dotted"))
        .await
        .unwrap();
    wait_for("the namespace to go", async || {
        server.get(&format!("{NAMESPACES}/dotted")).await.is_null()
    })
    .await;
    wait_for("the records to go", async || {
        open(&server, "plain").await.is_empty()
    })
    .await;
    assert_eq!(open(&server, "default").await, ours);
    assert_eq!(refs(root), before);
    let web = server.get(&format!("{VARIANTS}/web")).await;
    assert_eq!(condition(&web, "Ready").0, "True", "{web}");
}
