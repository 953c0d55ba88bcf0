//! A stop and a start: objects, versions, definitions, certificates and watches survive.

use futures::StreamExt;
use http::Method;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::json;

use crate::world::{TOKEN, ask, listening, shoe};

async fn client(kubeconfig: &str) -> Client {
    let config = Kubeconfig::from_yaml(kubeconfig).expect("kubeconfig");
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .expect("config");
    Client::try_from(config).expect("client")
}

fn shoes(client: Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("test.dev", "v1", "Shoe");
    Api::namespaced_with(
        client,
        "default",
        &ApiResource::from_gvk_with_plural(&kind, "shoes"),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_resumes_after_a_restart() {
    let directory = tempfile::tempdir().expect("directory");
    let (server, running) = listening(Some(directory.path())).await;
    let api = shoes(client(&running.kubeconfig("t", TOKEN)).await);
    let object: DynamicObject = serde_json::from_value(shoe("a", 40)).expect("shoe");
    let made = api
        .create(&PostParams::default(), &object)
        .await
        .expect("create");
    let seen = made.metadata.resource_version.expect("version");
    let patch = json!({"spec": {"size": 42}});
    api.patch("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("patch");
    let first_ca = running.ca.clone();
    running.stop().await;
    drop(server);

    let (server, running) = listening(Some(directory.path())).await;
    assert_eq!(running.ca, first_ca, "clients trust the same authority");
    let api = shoes(client(&running.kubeconfig("t", TOKEN)).await);
    let mut events = api
        .watch(&WatchParams::default(), &seen)
        .await
        .expect("watch")
        .boxed();
    match events.next().await {
        Some(Ok(WatchEvent::Modified(object))) => assert_eq!(object.data["spec"]["size"], 42),
        other => panic!("the event before the restart is delivered after it: {other:?}"),
    }
    api.delete("a", &Default::default()).await.expect("delete");
    assert!(matches!(
        events.next().await,
        Some(Ok(WatchEvent::Deleted(_)))
    ));
    let (code, crd) = ask(
        &server,
        Method::GET,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shoes.test.dev",
        None,
    )
    .await;
    assert_eq!(
        (code, &crd["metadata"]["generation"]),
        (200, &json!(1)),
        "installing it again changes nothing"
    );
    running.stop().await;
}

#[tokio::test]
async fn one_process_has_a_data_directory_to_itself() {
    let directory = tempfile::tempdir().expect("directory");
    let (_server, running) = listening(Some(directory.path())).await;
    let second = apiserver::Server::builder()
        .data_dir(directory.path())
        .build()
        .await;
    assert!(second.is_err());
    running.stop().await;
}
