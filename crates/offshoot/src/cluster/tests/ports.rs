//! A cluster keeps what ports promise: in memory, and a real one where there is one (PEER_KUBECONFIG, of tests/peer/run).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apiserver::aggregated::Mirror;
use apiserver::gateway::User;
use apiserver::{ResourceName, Server};
use engine::ports::Ports;
use futures::FutureExt as _;
use serde_json::{Value, json};
use testkit::conformance::{World as Suite, cases};

use super::super::door::{Access, Identity};
use super::super::host::{ClusterHost, LARGEST};
use super::super::objects::{ClusterObjects, Namespaces};
use super::super::records::{self, Ingest};
use super::super::remote::{self, Remote};
use super::super::replicas::Replicas;
use super::super::seen::Seen;
use super::super::term::{Term, boot_time};
use super::world::World;
use crate::{gateway, ports};

/// The ports of a replica in its first term, over the cluster of a client.
async fn ports_over(client: kube::Client, world: &World) -> (Server, Ports) {
    let term = Term::new();
    term.renewed(1, boot_time());
    let (lease, _) = world.lease("a");
    let seen = Arc::<Seen>::default();
    let records = Ingest::new(Arc::clone(&seen), Arc::clone(&term));
    let remote = Remote::new(client.clone());
    let host = Arc::new(ClusterHost {
        remote: remote.within(&term),
        identity: Arc::new(Identity::new(client.clone())),
        replicas: Replicas::of(&lease, "a"),
        seen: Arc::clone(&seen),
        records: Arc::clone(&records),
        term: Arc::clone(&term),
    });
    let access = Arc::new(Access::new(client));
    let mut builder = Server::builder().aggregated(host).authorizer(access);
    for resource in gateway::definitions(1 << 20).unwrap() {
        builder = builder.resource(resource);
    }
    let server = builder.build().await.unwrap();
    let handle = server.handle();
    records.feeds(handle.mirror("porch.kpt.dev", "packagerevisions"));
    tokio::spawn({
        let (records, remote) = (Arc::clone(&records), remote.clone());
        async move { records.run(remote).await }
    });
    let listed = |mirror: &Mirror| mirror.version() > 0;
    let soon = Duration::from_secs(10);
    assert!(records.mirror().unwrap().wait(soon, listed).await);
    let parts = (remote.within(&term), seen, Arc::clone(&term));
    let account = User::new("offshoot", &["system:masters"]);
    let objects = ClusterObjects::new(parts, &handle, Namespaces::default(), account);
    let ports = ports::within(
        &handle,
        objects,
        Arc::new(functions::BuiltIns),
        (term, LARGEST),
        Arc::default(),
    );
    (server, ports)
}

#[tokio::test]
async fn a_cluster_in_memory_conforms() {
    for (name, case) in cases() {
        let world = World::new().await;
        let (_server, ports) = ports_over(world.client(), &world).await;
        let suite = suite(ports, Remote::new(world.client()));
        case(&suite)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// The suite over a cluster, where people make objects by its API.
fn suite(ports: Ports, remote: Remote) -> Suite {
    Suite::new(ports, "shop", move |object| {
        let remote = remote.clone();
        async move {
            let resource = ports::tests::resource(&object);
            remote.create(&resource, "shop", &object).await.unwrap();
        }
        .boxed()
    })
}

fn definitions() -> ResourceName {
    ResourceName::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

/// Our definitions on a cluster that has none, and the namespace of the cases.
async fn prepare(remote: &Remote) {
    let mut all = api::embedded_crds().unwrap();
    all.push(api::records_crd().unwrap());
    for definition in all {
        remote
            .create(&definitions(), "", &definition)
            .await
            .unwrap();
    }
    let shop = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let namespaces = super::super::namespaces::resource();
    remote.create(&namespaces, "", &shop).await.unwrap();
    for resource in [records::resource(), of_ours("v1alpha1", "packagevariants")] {
        while remote.list(&resource, "shop").await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

fn of_ours(version: &str, plural: &str) -> ResourceName {
    ResourceName::new(api::CONFIG_GROUP, version, plural)
}

/// Takes away what a case left.
async fn clean(remote: &Remote) {
    let ours = ["packagevariants", "repositories"].map(|plural| of_ours("v1alpha1", plural));
    let sets = of_ours("v1alpha2", "packagevariantsets");
    for resource in ours.into_iter().chain([sets, records::resource()]) {
        for object in remote.list(&resource, "shop").await.unwrap().items {
            let text = |field: &str| object["metadata"][field].as_str().unwrap().to_owned();
            let place = ("shop", text("name"));
            let none: Value = json!({"metadata": {"finalizers": null}});
            let media = "application/merge-patch+json";
            let patch = remote.patch(&resource, (place.0, &place.1, ""), media, &none);
            patch.await.unwrap();
            let condition = (&*text("uid"), None);
            let gone = remote.delete(&resource, (place.0, &place.1), condition);
            gone.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_real_cluster_conforms() {
    let Some(kubeconfig) = std::env::var_os("PEER_KUBECONFIG") else {
        return;
    };
    let client = remote::client(Some(Path::new(&kubeconfig))).await;
    let client = client.map_err(|failure| failure.to_string()).unwrap();
    let remote = Remote::new(client.clone());
    prepare(&remote).await;
    let world = World::new().await;
    for (name, case) in cases() {
        let (_server, ports) = ports_over(client.clone(), &world).await;
        let suite = suite(ports, remote.clone());
        case(&suite)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        clean(&remote).await;
    }
}
