//! A kind that comes and goes is heard of (S3, S5).

use engine::ports::{Cluster as _, Delta, OurKind, Requester};
use serde_json::json;

use super::*;
use crate::ports::cluster::ApiCluster;
use crate::ports::embedded::{Embedded, definitions};
use apiserver::{ResourceName, Server, Whose};
use engine::ports::{Found, Gvk};
use objectstore::{Memory, Options};
use std::time::Duration;

const NS: &str = "default";

fn kind() -> Gvk {
    Gvk::of("example.test/v1", "Site")
}

fn sites() -> ResourceName {
    ResourceName::new("example.test", "v1", "sites")
}

fn whose(server: &Server) -> Whose {
    server.handle().own("tests")
}

async fn server(scope: &str) -> Server {
    let builder = crate::ports::recording(Server::builder()).memory(Memory::new());
    let mut builder = builder.store_options(Options::default());
    for crd in api::crds().unwrap() {
        builder = builder.crd(crd);
    }
    let server = builder.build().await.unwrap();
    define(&server, scope).await;
    server
}

async fn define(server: &Server, scope: &str) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "sites.example.test" },
        "spec": {
            "group": "example.test", "scope": scope,
            "names": { "kind": "Site", "plural": "sites", "singular": "site", "listKind": "SiteList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    });
    let handle = server.handle();
    let whose = whose(server);
    handle
        .create(&definitions(), "", definition, &whose)
        .await
        .unwrap();
    handle.settle().await.unwrap();
}

async fn put(server: &Server, namespace: &str, name: &str, finalizers: &[&str]) {
    let site = json!({
        "apiVersion": "example.test/v1", "kind": "Site",
        "metadata": { "name": name, "finalizers": finalizers },
    });
    let whose = whose(server);
    let made = server
        .handle()
        .create(&sites(), namespace, site, &whose)
        .await;
    made.unwrap();
}

async fn remove(server: &Server, resource: &ResourceName, namespace: &str, name: &str) {
    let how = objects::write::delete::DeleteOptions::default();
    let whose = whose(server);
    let gone = server
        .handle()
        .delete(resource, namespace, name, &how, &whose)
        .await;
    gone.unwrap();
}

async fn next(feed: &mut Feed<ObjectSummary>) -> Option<Delta<ObjectSummary>> {
    let soon = tokio::time::timeout(Duration::from_secs(10), feed.next());
    soon.await.expect("something is told")
}

fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(
        Namespace::parse(namespace).unwrap(),
        ObjectName::parse(name).unwrap(),
    )
}

/// S3: a kind that terminates has no selection any more, and whoever follows it hears of its end.
#[tokio::test]
async fn a_kind_whose_definition_goes_is_heard_of() {
    let server = server("Namespaced").await;
    let cluster = ApiCluster::new(Embedded::new(server.handle()));
    put(&server, NS, "one", &["example.test/hold"]).await;
    let mut feed = cluster.objects(&kind()).await.unwrap().expect("served");
    let Some(Delta::Snapshot(all)) = next(&mut feed).await else {
        panic!("no list");
    };
    assert_eq!(all.len(), 1);
    let requester = Requester {
        kind: OurKind::Repository,
        key: key(NS, "any"),
    };
    let asked = cluster.listable(&kind(), &requester).await.unwrap();
    assert_ne!(asked, Found::KindMissing);

    remove(&server, &definitions(), "", "sites.example.test").await;
    server.handle().settle().await.unwrap();
    // Its object is there still.
    let now = cluster
        .objects_now(&kind(), &Namespace::parse(NS).unwrap())
        .await;
    assert_eq!(now.unwrap(), None);
    let asked = cluster.listable(&kind(), &requester).await.unwrap();
    assert_eq!(asked, Found::KindMissing);
    let Some(Delta::Put(one)) = next(&mut feed).await else {
        panic!("it is marked");
    };
    assert_eq!(one.key, key(NS, "one"));

    let patch = json!({ "metadata": { "finalizers": null } });
    let whose = whose(&server);
    let let_go = server
        .handle()
        .patch(&sites(), NS, "one", "", &patch, &whose)
        .await;
    let_go.unwrap();
    server.handle().settle().await.unwrap();
    while let Some(delta) = next(&mut feed).await {
        assert!(!matches!(delta, Delta::Snapshot(_)), "{delta:?}");
    }
    assert!(cluster.objects(&kind()).await.unwrap().is_none());

    define(&server, "Namespaced").await;
    let mut feed = cluster
        .objects(&kind())
        .await
        .unwrap()
        .expect("served again");
    assert_eq!(next(&mut feed).await, Some(Delta::Snapshot(Vec::new())));
}

/// S5: the end of an object that has no namespace is heard of, too.
#[tokio::test]
async fn a_cluster_scoped_object_that_goes_is_heard_of() {
    let server = server("Cluster").await;
    let cluster = ApiCluster::new(Embedded::new(server.handle()));
    put(&server, "", "one", &[]).await;
    let mut feed = cluster.objects(&kind()).await.unwrap().expect("served");
    let Some(Delta::Snapshot(all)) = next(&mut feed).await else {
        panic!("no list");
    };
    let listed: Vec<_> = all.iter().map(|o| o.key.clone()).collect();
    assert_eq!(listed, [key("default", "one")]);
    remove(&server, &sites(), "", "one").await;
    let told = next(&mut feed).await;
    assert!(
        matches!(&told, Some(Delta::Deleted { key, .. }) if *key == listed[0]),
        "{told:?}"
    );
}
