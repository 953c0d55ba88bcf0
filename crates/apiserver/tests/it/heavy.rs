//! Bodies within the limit of three megabytes whose answer must not cost much more than they do: each is one request of
//! somebody who may write one kind, and nobody else is to notice.

use apiserver::Server;
use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::world::{admin, ask, ask_as, shoe, still};

const SHOES: &str = "/apis/test.dev/v1/namespaces/default/shoes";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const THINGS: &str = "/apis/test.dev/v1/namespaces/default/things";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Seconds of this thread's processor time: what grows with the body takes one to three in a debug build, what grows with its
/// square takes minutes.
const PATIENCE: f64 = 12.0;

/// The processor time that this thread has had, in seconds; each test runs on one thread. Elsewhere than on Linux nothing.
fn worked() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Sends a request; answers status and the length of the answer's text.
async fn send(
    server: &Server,
    what: &str,
    (method, path, media): (Method, &str, &str),
    body: Value,
) -> u16 {
    let started = worked();
    let length = body.to_string().len();
    assert!(length < 3 << 20, "{what}: {length} bytes");
    let (code, answer, warnings) =
        ask_as(server, method, path, media, Some(body), Some(admin())).await;
    let took = worked() - started;
    let told: usize = warnings.iter().map(String::len).sum();
    println!(
        "{what}: {code} after {took:.1} s, {} + {told} bytes",
        answer.to_string().len()
    );
    assert!(took < PATIENCE, "{what}: {took:.1} s");
    assert!(
        answer.to_string().len() < 16 << 20,
        "{what}: the answer is longer than the question"
    );
    assert!(told < 16 << 10, "{what}: {told} bytes of warnings");
    code
}

fn finalizers(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

fn map(name: &str, metadata: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    object["metadata"]["name"] = name.into();
    object
}

/// A kind with a set, a list by keys, a free part, and defaults in the items of a list.
fn things() -> Value {
    let text = json!({"type": "string"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.test.dev"},
        "spec": {
            "group": "test.dev", "scope": "Namespaced", "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
                "keys": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}},
                "short": {"type": "array", "items": {"type": "string", "maxLength": 1, "pattern": "^[a-z]$"}},
                "maps": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "defaults": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string", "default": "x".repeat(1_000)}}}},
            }}}}],
        },
    })
}

fn thing(field: &str, value: Value) -> Value {
    json!({"apiVersion": "test.dev/v1", "kind": "Thing", "metadata": {"name": "a"}, field: value})
}

#[tokio::test]
async fn long_metadata() {
    let server = still(&Memory::new(), Vec::new()).await;
    let post = (Method::POST, SHOES, "application/json");
    let with = |field: &str, value: Value| {
        let mut body = shoe("a", 40);
        body["metadata"][field] = value;
        body
    };
    let named = finalizers("dev/", 30_000);
    send(
        &server,
        "finalizers",
        post.clone(),
        with("finalizers", named.into()),
    )
    .await;
    let bare = finalizers("f", 30_000);
    send(
        &server,
        "finalizers without domain",
        post.clone(),
        with("finalizers", bare.into()),
    )
    .await;
    let owners = vec![json!({"controller": true}); 150_000];
    send(
        &server,
        "controllers",
        post.clone(),
        with("ownerReferences", owners.into()),
    )
    .await;
    let owner = |n: usize| json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": n.to_string(), "controller": true});
    let owners: Vec<Value> = (0..30_000).map(owner).collect();
    send(
        &server,
        "many controllers",
        post.clone(),
        with("ownerReferences", owners.into()),
    )
    .await;
    let labels: serde_json::Map<String, Value> = (0..150_000)
        .map(|n| (format!("-{n}"), "-".into()))
        .collect();
    send(
        &server,
        "labels",
        post.clone(),
        with("labels", labels.into()),
    )
    .await;
}

#[tokio::test]
async fn many_things_to_tell() {
    let server = still(&Memory::new(), Vec::new()).await;
    let post = (Method::POST, SHOES, "application/json");
    let mut unknown = shoe("b", 40);
    for n in 0..150_000 {
        unknown["spec"][format!("u{n}")] = 1.into();
    }
    send(&server, "unknown fields", post.clone(), unknown.clone()).await;
    let strict = format!("{SHOES}?fieldValidation=Strict");
    send(
        &server,
        "unknown fields, strictly",
        (Method::POST, &strict, "application/json"),
        unknown,
    )
    .await;
    let entry = json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}});
    let mut managed = shoe("a", 40);
    managed["metadata"]["managedFields"] = vec![entry; 20_000].into();
    send(&server, "managed fields", post, managed).await;
}

#[tokio::test]
async fn long_lists_in_patches() {
    let server = still(&Memory::new(), Vec::new()).await;
    let old = map("a", json!({"finalizers": finalizers("dev.old/", 20_000)}));
    assert_eq!(
        send(
            &server,
            "create",
            (Method::POST, MAPS, "application/json"),
            old
        )
        .await,
        201
    );
    let path = format!("{MAPS}/a");
    let strategic = (
        Method::PATCH,
        path.as_str(),
        "application/strategic-merge-patch+json",
    );
    let more = finalizers("dev.new/", 15_000);
    let patch = json!({"metadata": {"finalizers": more}});
    assert_eq!(
        send(&server, "merge of sets", strategic.clone(), patch).await,
        200
    );
    let mut turned = finalizers("dev.old/", 20_000);
    turned.reverse();
    let patch = json!({"metadata": {"$setElementOrder/finalizers": turned, "finalizers": []}});
    send(&server, "order", strategic.clone(), patch).await;
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": finalizers("dev.new/", 15_000)}});
    assert_eq!(
        send(&server, "deletion", strategic.clone(), patch).await,
        200
    );
    let patch = json!({"metadata": {"$retainKeys": finalizers("k", 200_000)}});
    send(&server, "retained keys", strategic.clone(), patch).await;
    let owner =
        |n: usize| json!({"uid": n.to_string(), "name": "n", "kind": "K", "apiVersion": "v1"});
    let owners: Vec<Value> = (0..15_000).map(owner).collect();
    let patch = json!({"metadata": {"ownerReferences": owners}});
    send(&server, "owners", strategic.clone(), patch.clone()).await;
    send(&server, "owners again", strategic.clone(), patch).await;
    let gone = |n: usize| json!({"uid": n.to_string(), "$patch": "delete"});
    let patch = json!({"metadata": {"ownerReferences": (0..15_000).map(gone).collect::<Vec<_>>()}});
    send(&server, "owners deleted", strategic, patch).await;
    let applied = format!("{path}?fieldManager=m&force=true");
    let config = map("a", json!({"finalizers": finalizers("dev.new/", 30_000)}));
    send(
        &server,
        "apply",
        (Method::PATCH, &applied, "application/apply-patch+yaml"),
        config,
    )
    .await;
}

#[tokio::test]
async fn long_lists_of_custom_resources() {
    let server = still(&Memory::new(), Vec::new()).await;
    assert_eq!(
        ask(&server, Method::POST, CRDS, Some(things())).await.0,
        201
    );
    let one = format!("{THINGS}/a?fieldManager=m&force=true");
    let post = (Method::POST, THINGS, "application/json");
    let apply = (Method::PATCH, one.as_str(), "application/apply-patch+yaml");
    let twice = vec!["same"; 200_000];
    send(
        &server,
        "a set of equals",
        post.clone(),
        thing("set", twice.clone().into()),
    )
    .await;
    send(
        &server,
        "a set of equals, applied",
        apply.clone(),
        thing("set", twice.into()),
    )
    .await;
    let set = finalizers("s", 30_000);
    send(
        &server,
        "a set, applied",
        apply.clone(),
        thing("set", set.into()),
    )
    .await;
    let keys: Vec<Value> = (0..20_000).map(|n| json!({"k": format!("k{n}")})).collect();
    send(
        &server,
        "a list by keys, applied",
        apply.clone(),
        thing("keys", keys.clone().into()),
    )
    .await;
    let turned: Vec<Value> = keys.into_iter().rev().collect();
    send(
        &server,
        "turned round, applied",
        apply,
        thing("keys", turned.into()),
    )
    .await;
}

#[tokio::test]
async fn misfits_and_defaults_of_custom_resources() {
    let server = still(&Memory::new(), Vec::new()).await;
    assert_eq!(
        ask(&server, Method::POST, CRDS, Some(things())).await.0,
        201
    );
    let one = format!("{THINGS}/a?fieldManager=m&force=true");
    let post = (Method::POST, THINGS, "application/json");
    let apply = (Method::PATCH, one.as_str(), "application/apply-patch+yaml");
    send(
        &server,
        "no keys",
        post.clone(),
        thing("keys", vec![json!({}); 400_000].into()),
    )
    .await;
    send(
        &server,
        "misfits",
        post.clone(),
        thing("short", vec![0; 1_000_000].into()),
    )
    .await;
    send(
        &server,
        "misfitting texts",
        post.clone(),
        thing("short", vec!["AB"; 400_000].into()),
    )
    .await;
    let mut fields = serde_json::Map::new();
    for n in 0..100_000 {
        fields.insert(format!("u{n}"), 1.into());
    }
    let maps = json!({"k".repeat(1_500_000): fields});
    send(
        &server,
        "below a long key",
        post.clone(),
        thing("maps", maps.clone()),
    )
    .await;
    send(
        &server,
        "below a long key, applied",
        apply,
        thing("maps", maps),
    )
    .await;
    let mut defaults = thing("defaults", vec![json!({}); 400_000].into());
    defaults["metadata"]["name"] = "b".into();
    let code = send(&server, "defaults", post, defaults).await;
    assert_eq!(code, 500);
}
