//! Variants and sets read what whoever last wrote them may read, and nothing else (X6).

use apiserver::{Server, Whose};
use engine::ports::{Cluster, Found};
use model::{Namespace, ObjectKey, ObjectName};
use objectstore::{Memory, Options};
use plan::set::KindScope;
use serde_json::{Value, json};

use super::*;
use crate::ports::cluster::ApiCluster;
use crate::ports::embedded::Embedded;

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
    let mut builder = crate::ports::recording(Server::builder())
        .memory(Memory::new())
        .store_options(Options::default());
    for crd in api::crds().unwrap() {
        builder = builder.crd(crd);
    }
    let server = builder.build().await.unwrap();
    let handle = server.handle();
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

/// What an admin says about themselves under the server's name for it.
const FORGED: &str = "offshoot.dev/written-by";

async fn read(server: &Server) -> Found<()> {
    let cluster = ApiCluster::new(Embedded::new(server.handle()));
    let requester = Requester {
        kind: OurKind::Variant,
        key: key("v"),
    };
    let kind = Gvk::of("v1", "ConfigMap");
    match cluster
        .object(&kind, &key("inside"), &requester)
        .await
        .unwrap()
    {
        Found::Here(_) => Found::Here(()),
        other => other.why_not().unwrap(),
    }
}

async fn injected(server: &Server) -> bool {
    match read(server).await {
        Found::Here(()) => true,
        Found::Forbidden(why) => {
            assert!(
                why.contains("\"bob\"") && why.contains("configmaps"),
                "{why}"
            );
            false
        }
        other => panic!("{other:?}"),
    }
}

/// Changes the variant, as somebody.
async fn change(server: &Server, whose: &Whose, change: impl FnOnce(&mut Value)) {
    let handle = server.handle();
    let mut object = handle.get(&variants(), NS, "v").await.unwrap().unwrap();
    change(&mut object);
    let written = handle.update(&variants(), NS, "v", object, whose).await;
    written.unwrap();
}

fn set() -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet",
        "metadata": { "name": "fan" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "app", "revision": 1 },
            "targets": [{ "objectSelector": {
                "apiVersion": "v1", "kind": "ConfigMap", "matchLabels": { "a": "b" },
            } }],
        },
    })
}

fn owned_by(set: &Value) -> Value {
    json!([{
        "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet",
        "name": set["metadata"]["name"], "uid": set["metadata"]["uid"], "controller": true,
    }])
}

/// A variant of a set, as its controller writes it: with what the set's own record says.
async fn made_by(server: &Server, set: &Value) {
    let handle = server.handle();
    let mut made = variant("one");
    let record = set.pointer("/metadata/annotations/offshoot.dev~1written-by");
    made["metadata"]["annotations"] = json!({});
    if let Some(record) = record {
        made["metadata"]["annotations"][FORGED] = record.clone();
    }
    made["metadata"]["ownerReferences"] = owned_by(set);
    let controllers = crate::ports::controllers(&handle);
    let made = handle.create(&variants(), NS, made, &controllers).await;
    made.unwrap();
}

#[tokio::test]
async fn x6_what_is_injected_is_read_as_whoever_last_wrote_the_variant() {
    let server = server().await;
    let handle = server.handle();
    // What he says about who he is counts for nothing.
    let forged = handle.create(&variants(), NS, variant("one"), &bob()).await;
    let stored = forged.unwrap();
    assert!(!injected(&server).await, "bob may not read it: {stored}");
    let package = |package: &'static str| {
        move |object: &mut Value| object["spec"]["downstream"]["package"] = package.into()
    };
    change(&server, &admin(), package("two")).await;
    assert!(injected(&server).await, "the admin may");
    // Writing what is there already makes nobody its writer.
    change(&server, &bob(), package("two")).await;
    assert!(injected(&server).await);
    change(&server, &bob(), package("three")).await;
    assert!(!injected(&server).await);
    // A status says nothing about who wants what.
    let mut object = handle.get(&variants(), NS, "v").await.unwrap().unwrap();
    object["status"] = json!({ "observedGeneration": 1 });
    object["metadata"]["annotations"][FORGED] =
        json!({ "username": "admin", "groups": ["system:masters"] })
            .to_string()
            .into();
    handle
        .update_status(&variants(), NS, "v", object, &bob())
        .await
        .unwrap();
    assert!(!injected(&server).await);
    // A label and an annotation are wishes, too.
    change(&server, &admin(), |object| {
        object["metadata"]["labels"] = json!({ "a": "b" })
    })
    .await;
    assert!(injected(&server).await);
    change(&server, &bob(), |object| {
        object["metadata"]["annotations"]["offshoot.dev/reconcile"] = "now".into();
    })
    .await;
    assert!(!injected(&server).await);
}

#[tokio::test]
async fn x6_a_variant_that_a_set_made_reads_as_whoever_wrote_the_set() {
    let server = server().await;
    let handle = server.handle();
    let set = handle.create(&sets(), NS, set(), &bob()).await.unwrap();
    made_by(&server, &set).await;
    assert!(!injected(&server).await, "bob wrote the set");
    let cluster = ApiCluster::new(Embedded::new(handle.clone()));
    let requester = Requester {
        kind: OurKind::Set,
        key: key("fan"),
    };
    let kind = Gvk::of("v1", "ConfigMap");
    let selects = cluster.listable(&kind, &requester).await.unwrap();
    assert!(matches!(selects, Found::Forbidden(_)), "{selects:?}");
    let mut object = handle.get(&sets(), NS, "fan").await.unwrap().unwrap();
    object["spec"]["upstream"]["revision"] = 2.into();
    let updated = handle.update(&sets(), NS, "fan", object, &admin()).await;
    let updated = updated.unwrap();
    let selects = cluster.listable(&kind, &requester).await.unwrap();
    assert_eq!(selects, Found::Here(KindScope::Namespaced));
    // Its variants say so once the set wrote them anew.
    let controllers = crate::ports::controllers(&handle);
    change(&server, &controllers, |object| {
        let record = updated["metadata"]["annotations"][FORGED].clone();
        object["metadata"]["annotations"][FORGED] = record;
    })
    .await;
    assert!(injected(&server).await);
}

/// An orphan reads as whoever wrote its set, however it lost it: with the set, or since somebody took the owner off.
#[tokio::test]
async fn x6_a_variant_without_its_set_reads_as_whoever_wrote_it() {
    for whose in [
        crate::ports::controllers(&server().await.handle()),
        bob(),
        admin(),
    ] {
        let server = server().await;
        let handle = server.handle();
        let set = handle.create(&sets(), NS, set(), &bob()).await.unwrap();
        made_by(&server, &set).await;
        change(&server, &whose, |object| {
            object["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("ownerReferences");
        })
        .await;
        assert!(!injected(&server).await, "{}", whose.user.name);
    }
}

/// Whoever makes a set the controller of a variant is its writer.
#[tokio::test]
async fn x6_a_set_of_somebody_else_lends_its_rights_to_nobody() {
    let server = server().await;
    let handle = server.handle();
    let bobs = handle.create(&sets(), NS, set(), &bob()).await.unwrap();
    let mut of_admin = set();
    of_admin["metadata"]["name"] = "admins".into();
    let admins = handle
        .create(&sets(), NS, of_admin, &admin())
        .await
        .unwrap();
    // A variant that nobody is recorded for, as of a time before that was.
    let mut unsigned = bobs.clone();
    unsigned["metadata"]["annotations"] = json!({});
    made_by(&server, &unsigned).await;
    assert!(!injected(&server).await, "it is its set's");
    change(&server, &bob(), |object| {
        object["metadata"]["ownerReferences"] = owned_by(&admins);
    })
    .await;
    assert!(!injected(&server).await, "bob made it the admin's set's");
    let record = handle.get(&variants(), NS, "v").await.unwrap().unwrap();
    let record = record["metadata"]["annotations"][FORGED]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(record.contains("\"bob\""), "{record}");
    // A reference by name alone is no set's.
    let mut gone = bobs.clone();
    gone["metadata"]["uid"] = "another".into();
    change(&server, &crate::ports::controllers(&handle), |object| {
        object["metadata"]["ownerReferences"] = owned_by(&gone);
        object["metadata"]["ownerReferences"][0]["name"] = "admins".into();
        object["metadata"]["annotations"] = json!({});
    })
    .await;
    assert_eq!(read(&server).await, Found::WriterUnknown);
}

/// Without a known writer nothing is read; whoever changes anything that is a wish is known from then on.
#[tokio::test]
async fn x6_nothing_is_read_for_nobody() {
    let server = server().await;
    let handle = server.handle();
    let unsigned = json!({ "metadata": { "name": "gone", "uid": "gone" } });
    made_by(&server, &unsigned).await;
    assert_eq!(read(&server).await, Found::WriterUnknown);
    change(&server, &admin(), |object| {
        object["metadata"]["finalizers"] = json!(["example.com/x"]);
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("ownerReferences");
    })
    .await;
    assert_eq!(read(&server).await, Found::WriterUnknown, "no wish");
    change(&server, &admin(), |object| {
        object["metadata"]["annotations"] = json!({ "offshoot.dev/reconcile": "1" });
    })
    .await;
    assert_eq!(read(&server).await, Found::Here(()));
    let cluster = ApiCluster::new(Embedded::new(handle));
    let nobody = Requester {
        kind: OurKind::Set,
        key: key("nobody"),
    };
    let kind = Gvk::of("v1", "ConfigMap");
    let selects = cluster.listable(&kind, &nobody).await.unwrap();
    assert_eq!(selects, Found::WriterUnknown);
    let named = cluster.revision_set(&key("any"), &nobody).await.unwrap();
    assert!(matches!(named, Found::WriterUnknown), "{named:?}");
}

/// S5: what decides about a kind without namespaces is what the set's own namespace carries; nothing of it is injected.
#[tokio::test]
async fn a_kind_without_namespaces_tells_what_the_namespace_carries() {
    let server = server().await;
    let handle = server.handle();
    let set = handle.create(&sets(), NS, set(), &admin()).await.unwrap();
    made_by(&server, &set).await;
    let mark = json!({ "metadata": { "labels": { "offshoot.dev/cluster-targets": "true" } } });
    let namespaces = apiserver::ResourceName::new("", "v1", "namespaces");
    let marked = handle.patch(&namespaces, "", NS, "", &mark, &admin()).await;
    marked.unwrap();
    let cluster = ApiCluster::new(Embedded::new(handle));
    let kind = Gvk::of("v1", "Namespace");
    let by_set = Requester {
        kind: OurKind::Set,
        key: key("fan"),
    };
    let Found::Here(KindScope::Cluster { labels, .. }) =
        cluster.listable(&kind, &by_set).await.unwrap()
    else {
        panic!("it lies in no namespace");
    };
    assert_eq!(
        labels
            .get("offshoot.dev/cluster-targets")
            .map(String::as_str),
        Some("true")
    );
    let by_variant = Requester {
        kind: OurKind::Variant,
        key: key("v"),
    };
    let found = cluster.object(&kind, &key(NS), &by_variant).await;
    assert_eq!(found.unwrap(), Found::ClusterScoped);
}
