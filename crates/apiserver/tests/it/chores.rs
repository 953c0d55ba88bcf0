//! Housekeeping: what cannot be done to one object keeps nobody else's from being done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use apiserver::{
    Call, CallAnswer, Clock, Gateway, Record, Refusal, RefusalClass, ResourceName, Server,
    ServerHandle,
};
use async_trait::async_trait;
use http::Method;
use jiff::Timestamp;
use objects::Resource;
use objectstore::{Expect, Memory, Options};
use serde_json::{Value, json};

use crate::world::{ask, shoes};

/// Deletes nothing that is called `stuck`, unless it was mended, and never answers for what is called `hanging`.
struct Keeper {
    handle: ServerHandle,
    mended: AtomicBool,
}

#[async_trait]
impl Gateway for Keeper {
    async fn handle(&self, call: Call) -> Result<CallAnswer, Refusal> {
        if call.name == "hanging" {
            std::future::pending::<()>().await;
        }
        if call.name == "stuck" && !self.mended.load(Ordering::SeqCst) {
            return Err(Refusal::new(
                RefusalClass::Denied,
                "it is glued to the floor",
            ));
        }
        let gone = Record {
            expect: Expect::Any,
            ..record(&call.name, None)
        };
        let written = self.handle.commit(vec![gone]).await;
        written.map_err(|e| Refusal::new(RefusalClass::Conflict, e.to_string()))?;
        Ok(CallAnswer::default())
    }
}

fn record(name: &str, object: Option<Value>) -> Record {
    Record {
        group: "ware.dev".to_owned(),
        resource: "crates".to_owned(),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        expect: Expect::Absent,
        object,
        manager: String::new(),
    }
}

/// A reference to an owner that never was.
fn dangling() -> Value {
    json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "never"}])
}

#[derive(Default)]
struct Seconds(AtomicI64);

impl Clock for Seconds {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).expect("a time")
    }
}

/// A server with a crate of this name that nobody owns.
async fn server(name: &str, threaded: bool, clock: Arc<Seconds>) -> (Server, Arc<Keeper>) {
    let crates = Resource::from_crd(&json!({"spec": {
        "group": "ware.dev", "scope": "Namespaced", "names": {"plural": "crates", "kind": "Crate"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        }}}],
    }}));
    let builder = Server::builder()
        .memory(Memory::new())
        .store_options(Options {
            threaded,
            ..Options::default()
        })
        .counted_uids(1)
        .clock(clock)
        .crd(shoes())
        .resource(crates.expect("definition").write_through());
    let server = builder.build().await.expect("build");
    let handle = server.handle();
    let keeper = Arc::new(Keeper {
        handle: handle.clone(),
        mended: AtomicBool::new(false),
    });
    server.set_gateway(Arc::clone(&keeper) as Arc<dyn Gateway>);
    let metadata = json!({"name": name, "namespace": "default", "uid": "crate", "ownerReferences": dangling()});
    let object = json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": metadata});
    let made = handle.commit(vec![record(name, Some(object))]).await;
    made.expect("a record");
    (server, keeper)
}

/// Gives housekeeping something to do for everybody else.
async fn work(server: &Server) {
    let post = async |path: &str, body: Value| {
        let (code, answer) = ask(server, Method::POST, path, Some(body)).await;
        assert_eq!(code, 201, "{answer}");
    };
    post("/api/v1/namespaces", json!({"metadata": {"name": "late"}})).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    post(
        maps,
        json!({"metadata": {"name": "orphan", "ownerReferences": dangling()}}),
    )
    .await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]});
    post(
        roles,
        json!({"metadata": {"name": "part", "labels": {"part": "yes"}}, "rules": [rule]}),
    )
    .await;
    let selectors = json!({"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]});
    post(
        roles,
        json!({"metadata": {"name": "whole"}, "aggregationRule": selectors, "rules": null}),
    )
    .await;
}

/// Whether all of it was done.
fn done(handle: &ServerHandle) -> bool {
    let stored = |group, plural, namespace, name| {
        let resource = ResourceName::new(group, "v1", plural);
        handle.stored(&resource, namespace, name).expect("served")
    };
    let account = stored("", "serviceaccounts", "late", "default");
    let role = stored("rbac.authorization.k8s.io", "clusterroles", "", "whole");
    let rules = role.map(|role| role.value()["rules"].as_array().map_or(0, Vec::len));
    let orphan = stored("", "configmaps", "default", "orphan");
    account.is_some() && rules == Some(1) && orphan.is_none()
}

#[tokio::test]
async fn one_object_that_cannot_go_keeps_nobody_else() {
    let clock = Arc::new(Seconds::default());
    let (server, keeper) = server("stuck", false, Arc::clone(&clock)).await;
    let handle = server.handle();
    work(&server).await;
    let refused = handle.settle().await.expect_err("it cannot go");
    assert!(refused.message.contains("glued"), "{refused}");
    assert!(done(&handle));
    keeper.mended.store(true, Ordering::SeqCst);
    let crates = ResourceName::new("ware.dev", "v1", "crates");
    let there = || {
        let stored = handle.stored(&crates, "default", "stuck");
        stored.expect("served").is_some()
    };
    assert!(
        handle.settle().await.is_ok() && there(),
        "it is not due yet"
    );
    clock.0.store(10, Ordering::SeqCst);
    assert!(handle.settle().await.is_ok() && !there(), "it is due");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_object_that_hangs_keeps_nobody_else() {
    let (server, _) = server("hanging", true, Arc::new(Seconds::default())).await;
    let handle = server.handle();
    let running = server.listen(([127, 0, 0, 1], 0).into()).await;
    let running = running.expect("listen");
    work(&server).await;
    let all = async {
        while !done(&handle) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), all).await;
    assert!(waited.is_ok(), "housekeeping stands still");
    running.stop().await;
}

/// What of a namespace cannot be deleted is told in its status, and the rest goes.
#[tokio::test]
async fn a_namespace_tells_what_cannot_be_deleted() {
    let clock = Arc::new(Seconds::default());
    let (server, keeper) = server("stuck", false, Arc::clone(&clock)).await;
    let handle = server.handle();
    let post = async |path: &str, body: Value| ask(&server, Method::POST, path, Some(body)).await.0;
    assert_eq!(
        post("/api/v1/namespaces", json!({"metadata": {"name": "going"}})).await,
        201
    );
    let object = json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": {"name": "stuck", "namespace": "going", "uid": "other"}});
    let mut made = record("stuck", Some(object));
    made.namespace = "going".to_owned();
    handle.commit(vec![made]).await.expect("a record");
    assert_eq!(
        post(
            "/api/v1/namespaces/going/secrets",
            json!({"metadata": {"name": "s"}})
        )
        .await,
        201
    );
    assert_eq!(
        ask(&server, Method::DELETE, "/api/v1/namespaces/going", None)
            .await
            .0,
        200
    );
    assert!(handle.settle().await.is_err());
    let secrets = ResourceName::new("", "v1", "secrets");
    let secret = handle.stored(&secrets, "going", "s");
    assert!(secret.expect("served").is_none());
    let (_, namespace) = ask(&server, Method::GET, "/api/v1/namespaces/going", None).await;
    let conditions = namespace["status"]["conditions"]
        .as_array()
        .expect("conditions")
        .iter();
    let failed = conditions
        .clone()
        .find(|c| c["type"] == "NamespaceDeletionContentFailure");
    let failed = failed.expect("a condition");
    assert_eq!(
        (&failed["status"], &failed["reason"]),
        (&json!("True"), &json!("ContentDeletionFailed"))
    );
    assert!(
        failed["message"].as_str().expect("text").contains("glued"),
        "{failed}"
    );
    drop(keeper);
}

/// An owner that goes with its dependents first waits for those that block it alone: what cannot be collected is tried again.
#[tokio::test]
async fn what_cannot_be_collected_holds_no_owner_up_that_it_does_not_block() {
    let clock = Arc::new(Seconds::default());
    let (server, _keeper) = server("other", false, Arc::clone(&clock)).await;
    let handle = server.handle();
    let maps = "/api/v1/namespaces/default/configmaps";
    let top = json!({"metadata": {"name": "top"}});
    let (_, top) = ask(&server, Method::POST, maps, Some(top)).await;
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "top", "uid": top["metadata"]["uid"]}]);
    let metadata =
        json!({"name": "stuck", "namespace": "default", "uid": "below", "ownerReferences": owner});
    let object = json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": metadata});
    let made = handle.commit(vec![record("stuck", Some(object))]).await;
    made.expect("a record");
    let foreground = format!("{maps}/top?propagationPolicy=Foreground");
    ask(&server, Method::DELETE, &foreground, None).await;
    let refused = handle.settle().await.expect_err("it cannot go");
    assert!(refused.message.contains("glued"), "{refused}");
    let top = handle.stored(&ResourceName::new("", "v1", "configmaps"), "default", "top");
    assert!(top.expect("served").is_none(), "the owner has gone");
    let crates = ResourceName::new("ware.dev", "v1", "crates");
    let stuck = handle.stored(&crates, "default", "stuck");
    assert!(stuck.expect("served").is_some());
}

/// What the server serves by itself no definition takes over, and none takes its objects along.
#[tokio::test]
async fn a_definition_named_as_what_is_built_in_is_not_accepted() {
    let server = Server::builder()
        .memory(Memory::new())
        .store_options(Options::default())
        .crd(shoes())
        .build()
        .await
        .expect("build");
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "mine"}, "rules": [],
    });
    let (code, answer) = ask(&server, Method::POST, roles, Some(role)).await;
    assert_eq!(code, 201, "{answer}");
    let group = "rbac.authorization.k8s.io";
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let named = |plural: &str, kind: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}"), "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        })
    };
    for (plural, kind) in [("roles", "Role"), ("others", "Role")] {
        let made = ask(
            &server,
            Method::POST,
            definitions,
            Some(named(plural, kind)),
        )
        .await;
        assert_eq!(made.0, 201, "{}", made.1);
        server.handle().settle().await.expect("done");
        let at = format!("{definitions}/{plural}.{group}");
        let (_, definition) = ask(&server, Method::GET, &at, None).await;
        let conditions = definition["status"]["conditions"].as_array().cloned();
        let all = conditions.unwrap_or_default();
        let is = |kind: &str| {
            all.iter()
                .find(|c| c["type"] == kind)
                .map(|c| c["status"].clone())
        };
        assert_eq!(is("NamesAccepted"), Some(json!("False")), "{definition}");
        assert_eq!(is("Established"), Some(json!("False")), "{definition}");
        let (code, list) = ask(&server, Method::GET, roles, None).await;
        assert_eq!(
            (code, list["items"].as_array().map(Vec::len)),
            (200, Some(1))
        );
        let (code, _) = ask(&server, Method::DELETE, &at, None).await;
        assert_eq!(code, 200);
        server.handle().settle().await.expect("done");
        let (code, _) = ask(&server, Method::GET, &at, None).await;
        assert_eq!(code, 404);
        let (_, list) = ask(&server, Method::GET, roles, None).await;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    }
}
