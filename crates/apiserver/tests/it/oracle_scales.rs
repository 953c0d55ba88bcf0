//! Scales as kube-apiserver answers them.

use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle::{APPLY, MERGE, send};
use crate::world::{ask, shoes, still};

pub(crate) const BOOTS: &str = "/apis/test.dev/v1/namespaces/default/boots";

/// A server with shoes that have a scale, and an older version.
pub(crate) async fn scaled() -> apiserver::Server {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut crd = shoes();
    crd["metadata"]["name"] = "boots.test.dev".into();
    crd["spec"]["names"] =
        json!({"plural": "boots", "singular": "boot", "kind": "Boot", "listKind": "BootList"});
    let paths = json!({"specReplicasPath": ".spec.pairs", "statusReplicasPath": ".status.pairs", "labelSelectorPath": ".status.selector"});
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str| json!({"name": name, "served": true, "storage": name == "v1", "deprecated": name != "v1", "schema": schema, "subresources": {"scale": paths}});
    crd["spec"]["versions"] = json!([version("v1"), version("v1beta1")]);
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer) = ask(&server, Method::POST, path, Some(crd)).await;
    assert_eq!(code, 201, "{answer}");
    server
}

pub(crate) fn boot(spec: Value) -> Value {
    json!({"apiVersion": "test.dev/v1", "kind": "Boot", "metadata": {"name": "a"}, "spec": spec})
}

#[tokio::test]
async fn a_scale_without_a_wanted_count_cannot_be_read_or_left_so() {
    let server = scaled().await;
    ask(&server, Method::POST, BOOTS, Some(boot(json!({})))).await;
    let scale = format!("{BOOTS}/a/scale");
    let (code, answer) = ask(&server, Method::GET, &scale, None).await;
    let why = "Internal error occurred: the spec replicas field \".spec.pairs\" does not exist";
    assert_eq!((code, answer["message"].as_str()), (500, Some(why)));
    let (code, answer) = send(&server, Method::PATCH, &scale, MERGE, json!({})).await;
    let why = "the spec replicas field \".spec.pairs\" cannot be empty";
    assert_eq!((code, answer["message"].as_str()), (400, Some(why)));
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &scale,
        MERGE,
        json!({"spec": {"replicas": 3}}),
    )
    .await;
    assert_eq!((code, &answer["spec"]["replicas"]), (200, &json!(3)));
    let (_, object) = ask(&server, Method::GET, &format!("{BOOTS}/a"), None).await;
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries
        .iter()
        .find(|e| e["subresource"] == "scale")
        .unwrap();
    assert_eq!(entry["fieldsV1"], json!({"f:spec": {"f:pairs": {}}}));
    assert_eq!(entry.get("time"), None);
}

#[tokio::test]
async fn a_scale_must_be_one() {
    let server = scaled().await;
    ask(
        &server,
        Method::POST,
        BOOTS,
        Some(boot(json!({"pairs": 1}))),
    )
    .await;
    let scale = format!("{BOOTS}/a/scale");
    let whole = |spec: Value| json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": spec});
    for body in [
        whole(json!("x")),
        whole(json!({"replicas": "2"})),
        json!({"kind": "Boot", "metadata": {"name": "a"}}),
    ] {
        let (code, answer) = ask(&server, Method::PUT, &scale, Some(body)).await;
        let why =
            "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:110\"";
        assert_eq!((code, answer["message"].as_str()), (400, Some(why)));
    }
    let (code, answer) = ask(&server, Method::PUT, &scale, Some(whole(json!({})))).await;
    assert_eq!(
        (code, &answer["spec"]),
        (200, &json!({})),
        "no count is zero"
    );
    let (code, answer) = send(&server, Method::PATCH, &scale, APPLY, json!({})).await;
    assert_eq!(
        (code, &answer["details"]["causes"][0]["field"]),
        (422, &json!("fieldManager"))
    );
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &scale,
        MERGE,
        json!({"spec": {"replicas": -1}}),
    )
    .await;
    assert_eq!(
        (code, &answer["details"]["causes"][0]["field"]),
        (422, &json!(".spec.pairs"))
    );
}

#[tokio::test]
async fn what_scale_paths_find_is_checked() {
    let server = scaled().await;
    let cases = [
        (
            json!({"pairs": "2"}),
            "Invalid value: 0: .spec.pairs accessor error: 2 is of the type string, expected int64",
        ),
        (
            json!({"pairs": -1}),
            "Invalid value: -1: should be a non-negative integer",
        ),
        (
            json!({"pairs": 3_000_000_000_u64}),
            "Invalid value: 3000000000: should be less than or equal to 2147483647",
        ),
    ];
    for (spec, why) in cases {
        let (code, answer) = ask(&server, Method::POST, BOOTS, Some(boot(spec))).await;
        assert_eq!(
            (code, &answer["details"]["causes"][0]["message"]),
            (422, &json!(why))
        );
    }
}

#[tokio::test]
async fn a_conflict_of_an_applied_scale_names_the_field_of_the_scale() {
    let server = scaled().await;
    let made = boot(json!({"pairs": 1}));
    ask(&server, Method::POST, BOOTS, Some(made)).await;
    let scale = format!("{BOOTS}/a/scale?fieldManager=one");
    let wanted = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 5}});
    let (code, answer) = send(&server, Method::PATCH, &scale, APPLY, wanted).await;
    let message = answer["message"].as_str().unwrap_or_default();
    assert_eq!(code, 409, "{answer}");
    assert!(message.ends_with(": .spec.replicas"), "{message}");
    assert_eq!(
        answer["details"]["causes"][0]["field"],
        json!(".spec.replicas")
    );
}
