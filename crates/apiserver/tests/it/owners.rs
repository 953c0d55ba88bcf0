//! Owner references: what goes with its owner, what stays, and that no circle and no crafted reference stops anything.

use apiserver::Server;
use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::world::{ask, still};

struct World(Server);

impl World {
    async fn new() -> Self {
        let world = Self(still(&Memory::new(), Vec::new()).await);
        world
            .post("/api/v1/namespaces", json!({"metadata": {"name": "other"}}))
            .await;
        world
    }

    async fn post(&self, path: &str, object: Value) -> Value {
        let (code, made) = ask(&self.0, Method::POST, path, Some(object)).await;
        assert_eq!(code, 201, "{made}");
        made
    }

    /// Makes a config map with owners; answers its uid.
    async fn map(&self, namespace: &str, name: &str, owners: Vec<Value>) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
        let made = self.post(&path, object).await;
        made["metadata"]["uid"].as_str().expect("uid").to_owned()
    }

    async fn own(&self, namespace: &str, name: &str, owner: Value) {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        let (_, mut object) = ask(&self.0, Method::GET, &path, None).await;
        object["metadata"]["ownerReferences"] = json!([owner]);
        let (code, answer) = ask(&self.0, Method::PUT, &path, Some(object)).await;
        assert_eq!(code, 200, "{answer}");
    }

    async fn delete(&self, namespace: &str, name: &str, policy: &str) {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        let options = json!({"propagationPolicy": policy});
        let (code, answer) = ask(&self.0, Method::DELETE, &path, Some(options)).await;
        assert_eq!(code, 200, "{answer}");
    }

    async fn settle(&self) {
        self.0.handle().settle().await.expect("housekeeping");
    }

    /// The names that are there in a namespace, those that wait with a `*`.
    async fn left(&self, namespace: &str) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let (_, list) = ask(&self.0, Method::GET, &path, None).await;
        let name = |item: &Value| {
            let waits = item["metadata"]["deletionTimestamp"].is_string();
            let name = item["metadata"]["name"].as_str().expect("name");
            format!("{name}{}", if waits { "*" } else { "" })
        };
        let names: Vec<_> = list["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(name)
            .collect();
        names.join(" ")
    }
}

fn owner(name: &str, uid: &str, block: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": block})
}

#[tokio::test]
async fn each_policy_does_what_it_says() {
    for (policy, left) in [
        ("Background", ""),
        ("Foreground", ""),
        ("Orphan", "child grandchild"),
    ] {
        let world = World::new().await;
        let top = world.map("default", "top", Vec::new()).await;
        let child = world
            .map("default", "child", vec![owner("top", &top, true)])
            .await;
        world
            .map("default", "grandchild", vec![owner("child", &child, true)])
            .await;
        world.settle().await;
        assert_eq!(world.left("default").await, "child grandchild top");
        world.delete("default", "top", policy).await;
        if policy == "Foreground" {
            assert_eq!(world.left("default").await, "child grandchild top*");
        }
        world.settle().await;
        assert_eq!(world.left("default").await, left, "{policy}");
    }
}

#[tokio::test]
async fn a_dependent_that_is_held_holds_its_owner() {
    let world = World::new().await;
    let top = world.map("default", "top", Vec::new()).await;
    world
        .map("default", "child", vec![owner("top", &top, true)])
        .await;
    let path = "/api/v1/namespaces/default/configmaps/child";
    let (_, mut child) = ask(&world.0, Method::GET, path, None).await;
    child["metadata"]["finalizers"] = json!(["a.example/hold"]);
    assert_eq!(ask(&world.0, Method::PUT, path, Some(child)).await.0, 200);
    world.delete("default", "top", "Foreground").await;
    world.settle().await;
    assert_eq!(world.left("default").await, "child* top*");
    let (_, mut child) = ask(&world.0, Method::GET, path, None).await;
    child["metadata"]["finalizers"] = json!([]);
    assert_eq!(ask(&world.0, Method::PUT, path, Some(child)).await.0, 200);
    world.settle().await;
    assert_eq!(world.left("default").await, "");
}

#[tokio::test]
async fn circles_end() {
    for policy in ["Background", "Foreground"] {
        let world = World::new().await;
        let a = world.map("default", "a", Vec::new()).await;
        let b = world.map("default", "b", vec![owner("a", &a, true)]).await;
        let c = world.map("default", "c", vec![owner("b", &b, true)]).await;
        world.own("default", "a", owner("c", &c, true)).await;
        let own = world.map("default", "self", Vec::new()).await;
        world
            .own("default", "self", owner("self", &own, true))
            .await;
        world.settle().await;
        assert_eq!(
            world.left("default").await,
            "a b c self",
            "a circle alone lives"
        );
        world.delete("default", "a", policy).await;
        world.delete("default", "self", policy).await;
        world.settle().await;
        assert_eq!(world.left("default").await, "", "{policy}");
    }
}

#[tokio::test]
async fn an_owner_is_looked_for_where_it_may_be() {
    let world = World::new().await;
    let there = world.map("other", "owner", Vec::new()).await;
    let here = world.map("default", "owner", Vec::new()).await;
    let unknown = json!({"apiVersion": "a.example/v1", "kind": "Odd", "name": "x", "uid": "x"});
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "name": "other", "uid": "not-its-uid"});
    world
        .map("default", "across", vec![owner("owner", &there, false)])
        .await;
    world
        .map("default", "misnamed", vec![owner("another", &here, false)])
        .await;
    world
        .map("default", "of-a-namespace", vec![namespace])
        .await;
    world.map("default", "of-the-unknown", vec![unknown]).await;
    world
        .map("default", "right", vec![owner("owner", &here, false)])
        .await;
    world
        .map(
            "default",
            "two",
            vec![owner("owner", &here, false), owner("gone", "gone", false)],
        )
        .await;
    world.settle().await;
    assert_eq!(
        world.left("default").await,
        "of-the-unknown owner right two"
    );
    let path = "/api/v1/namespaces/default/configmaps/two";
    let (_, two) = ask(&world.0, Method::GET, path, None).await;
    assert_eq!(
        two["metadata"]["ownerReferences"]
            .as_array()
            .expect("owners")
            .len(),
        1
    );
    let role = json!({"metadata": {"name": "wide", "ownerReferences": [owner("owner", &here, false)]}, "rules": []});
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    world.post(path, role).await;
    world.delete("default", "owner", "Background").await;
    world.settle().await;
    assert_eq!(world.left("default").await, "of-the-unknown");
    let (code, _) = ask(&world.0, Method::GET, &format!("{path}/wide"), None).await;
    assert_eq!(
        code, 200,
        "an owner in a namespace cannot be looked for from outside of all"
    );
}
