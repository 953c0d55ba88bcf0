//! Variants and sets read what whoever last wrote them may read, and nothing else (X6).

use apiserver::storage::{Memory, Options};
use apiserver::{Server, Whose};
use engine::ports::{Cluster, Found};
use model::{Namespace, ObjectKey, ObjectName};
use serde_json::{Value, json};

use super::*;
use crate::ports::cluster::ServerCluster;

const NS: &str = "default";

fn whose(name: &str, groups: &[&str]) -> Whose {
    Whose {
        user: User::new(name, groups),
        agent: "tests".to_owned(),
    }
}

fn bob() -> Whose {
    whose("bob", &["system:authenticated"])
}

fn admin() -> Whose {
    whose("admin", &["system:masters"])
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(
        Namespace::parse(NS).unwrap(),
        ObjectName::parse(name).unwrap(),
    )
}

async fn server() -> Server {
    let mut builder = Server::builder()
        .backend(Box::new(Memory::new()))
        .store_options(Options::default());
    for crd in api::crds().unwrap() {
        builder = builder.crd(crd);
    }
    let server = builder.build().await.unwrap();
    let handle = server.handle();
    drop(crate::ports::over(
        &handle,
        std::sync::Arc::new(functions::BuiltIns),
    ));
    let secret = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "inside" }, "data": { "a": "b" },
    });
    let maps = apiserver::ResourceName::new("", "v1", "configmaps");
    handle.create(&maps, NS, secret, &admin()).await.unwrap();
    server
}

fn variant(package: &str) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "PackageVariant",
        "metadata": { "name": "v", "annotations": {
            "offshoot.dev/written-by": "{\"username\":\"admin\",\"groups\":[\"system:masters\"]}",
        } },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "app", "revision": 1 },
            "downstream": { "repo": "deploy", "package": package },
        },
    })
}

async fn injected(server: &Server) -> bool {
    let cluster = ServerCluster::new(server.handle());
    let requester = Requester {
        kind: OurKind::Variant,
        key: key("v"),
    };
    let kind = Gvk::of("v1", "ConfigMap");
    match cluster.object(&kind, &key("inside"), &requester).await {
        Ok(Found::Here(_)) => true,
        Ok(Found::Forbidden(why)) => {
            assert!(
                why.contains("\"bob\"") && why.contains("configmaps"),
                "{why}"
            );
            false
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn x6_what_is_injected_is_read_as_whoever_last_wrote_the_variant() {
    let server = server().await;
    let handle = server.handle();
    // What he says about who he is counts for nothing.
    let forged = handle.create(&variants(), NS, variant("one"), &bob()).await;
    let stored = forged.unwrap();
    assert!(!injected(&server).await, "bob may not read it: {stored}");
    let rewrite = |package: &'static str, whose: Whose| {
        let handle = handle.clone();
        async move {
            let mut object = handle.get(&variants(), NS, "v").await.unwrap().unwrap();
            object["spec"]["downstream"]["package"] = package.into();
            handle
                .update(&variants(), NS, "v", object, &whose)
                .await
                .unwrap();
        }
    };
    rewrite("two", admin()).await;
    assert!(injected(&server).await, "the admin may");
    // Writing what is there already makes nobody its writer.
    rewrite("two", bob()).await;
    assert!(injected(&server).await);
    rewrite("three", bob()).await;
    assert!(!injected(&server).await);
    // A status says nothing about who wants what.
    let mut object = handle.get(&variants(), NS, "v").await.unwrap().unwrap();
    object["status"] = json!({ "observedGeneration": 1 });
    handle
        .update_status(&variants(), NS, "v", object, &admin())
        .await
        .unwrap();
    assert!(!injected(&server).await);
}

#[tokio::test]
async fn x6_a_variant_that_a_set_made_reads_as_whoever_wrote_the_set() {
    let server = server().await;
    let handle = server.handle();
    let set = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet",
        "metadata": { "name": "fan" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "app", "revision": 1 },
            "targets": [{ "objectSelector": {
                "apiVersion": "v1", "kind": "ConfigMap", "matchLabels": { "a": "b" },
            } }],
        },
    });
    let set = handle.create(&sets(), NS, set, &bob()).await.unwrap();
    let mut made = variant("one");
    made["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "name": "fan",
        "uid": set["metadata"]["uid"], "controller": true,
    }]);
    let controllers = crate::ports::controllers(&handle);
    let made = handle.create(&variants(), NS, made, &controllers).await;
    let made = made.unwrap();
    let forged = made.pointer("/metadata/annotations/offshoot.dev~1written-by");
    assert_eq!(forged, None, "a controller is nobody");
    assert!(!injected(&server).await, "bob wrote the set");
    let cluster = ServerCluster::new(handle.clone());
    let requester = Requester {
        kind: OurKind::Set,
        key: key("fan"),
    };
    let kind = Gvk::of("v1", "ConfigMap");
    let selects = cluster.may_select(&kind, &requester).await.unwrap();
    assert!(matches!(selects, Found::Forbidden(_)), "{selects:?}");
    let mut object = handle.get(&sets(), NS, "fan").await.unwrap().unwrap();
    object["spec"]["upstream"]["revision"] = 2.into();
    let updated = handle.update(&sets(), NS, "fan", object, &admin()).await;
    updated.unwrap();
    let selects = cluster.may_select(&kind, &requester).await.unwrap();
    assert!(matches!(selects, Found::Here(())), "{selects:?}");
    assert!(injected(&server).await);
}
