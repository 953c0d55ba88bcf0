//! Sets that follow several upstream packages.

use serde_json::{Value, json};

use crate::fleet::{
    OLD_SETS, REVISION_SETS, REVISIONS, SETS, VARIANTS, apply, condition, prepare, settled,
};
use crate::process::{Process, push, wait_for};

/// What the column of upstreams shows of the only set.
async fn column(server: &Process, sets: &str) -> Value {
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let request = http::Request::get(sets).header("accept", accept);
    let request = request.body(Vec::new()).unwrap();
    let (_, _, table) = server.client.exchange(request).await.unwrap();
    let table: Value = serde_json::from_slice(&table).unwrap();
    let columns = table["columnDefinitions"].as_array().unwrap();
    let at = columns.iter().position(|c| c["name"] == "Upstream");
    table["rows"][0]["cells"][at.unwrap()].clone()
}

/// A set of the packages of a selection, and of those with a label.
fn set_of_several() -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "fan", "namespace": "default" },
        "spec": {
            "upstreams": [{ "revisionSet": "stack" }, { "selector": { "matchLabels": { "tier": "base" } } }],
            "targets": [{ "repositories": [{ "name": "deploy" }] }],
        },
    })
}

/// Waits until the set gives this as the reason why it is not ready.
async fn set_says(server: &Process, path: &str, wanted: &str) {
    wait_for(wanted, async || {
        let now = server.get(path).await;
        let conditions = now["status"]["conditions"].as_array().cloned();
        let mut conditions = conditions.unwrap_or_default().into_iter();
        conditions.any(|c| c["type"] == "Ready" && c["message"] == wanted)
    })
    .await;
}

/// The selection of the set: missing, wrong, and then of one package.
async fn select(server: &Process, path: &str) {
    set_says(server, path, "could not find PackageRevisionSet 'stack'").await;
    let mut stack = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "PackageRevisionSet",
        "metadata": { "name": "stack", "namespace": "default" },
        "spec": { "upstreams": [{ "repo": "blueprints" }] },
    });
    server.client.take_warnings();
    let at = format!("{REVISION_SETS}/stack");
    apply(&server.client, &at, &stack).await;
    let wrong = "spec.upstreams[0].package is a required field";
    assert_eq!(server.client.take_warnings(), [wrong]);
    let told = format!("PackageRevisionSet 'stack' cannot be used: {wrong}");
    set_says(server, path, &told).await;
    stack["spec"]["upstreams"] =
        json!([{ "repo": "blueprints", "package": "commented", "revision": "v1" }]);
    apply(&server.client, &at, &stack).await;
    let made = format!("{VARIANTS}/fan-deploy-commented");
    wait_for("its package", async || settled(&server.get(&made).await)).await;
}

/// R184, R185, R186: a set of several upstream packages, some of them named by a selection that sets share, some by
/// labels; what is wrong is warned about, and whoever wrote the set must be allowed to read the selection.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_follows_several_upstream_packages() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    prepare(root.path(), &server).await;
    push(root.path(), "blueprints", "shop", "v1");
    let shop = format!("{REVISIONS}/blueprints.shop.v1");
    wait_for("the other upstream", async || {
        !server.get(&shop).await.is_null()
    })
    .await;
    let (path, set) = (format!("{SETS}/fan"), set_of_several());
    apply(&server.client, &path, &set).await;
    select(&server, &path).await;
    let of = |package: &str| format!("{VARIANTS}/fan-deploy-{package}");
    assert!(server.get(&of("shop")).await.is_null());
    let labels = json!({ "metadata": { "labels": { "tier": "base" } } });
    let patched = server.client.patch(&shop, &labels).await.unwrap();
    assert_eq!(patched["metadata"]["labels"]["tier"], "base");
    wait_for("the labelled package", async || {
        !server.get(&of("shop")).await.is_null()
    })
    .await;
    let made = server.get(&of("shop")).await;
    assert_eq!(
        made["spec"]["upstream"],
        json!({ "repo": "blueprints", "package": "shop", "revision": 1 })
    );
    for sets in [SETS, OLD_SETS] {
        // The set may be Ready from before the label.
        wait_for("both upstream packages in the column", async || {
            column(&server, sets).await == "commented, shop"
        })
        .await;
    }
    assert_eq!(condition(&server.get(&path).await, "Ready"), "True");
    // As it was written, also in the older version.
    let shown = server.get(&format!("{OLD_SETS}/fan")).await;
    assert_eq!(shown["spec"]["upstreams"], set["spec"]["upstreams"]);
    let both = json!({ "spec": { "upstream": { "repo": "blueprints", "package": "shop" } } });
    server.client.take_warnings();
    server.client.patch(&path, &both).await.unwrap();
    let wrong = "spec must specify only one of `upstream` and `upstreams`";
    assert_eq!(server.client.take_warnings(), [wrong]);
    set_says(&server, &path, wrong).await;
    assert!(
        !server.get(&of("shop")).await.is_null(),
        "nothing is deleted"
    );
}
