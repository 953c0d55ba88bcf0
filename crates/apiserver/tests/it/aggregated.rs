//! A server within a cluster that keeps everything but its own resources.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use apiserver::aggregated::{Host, HostWrite, Listed, Mirror, NamespacePhase};
use apiserver::gateway::{AccessDecision, Attributes, Authorizer, User};
use apiserver::{Call, CallAnswer, Gateway, Record, Refusal, RefusalClass, Server, ServerHandle};
use async_trait::async_trait;
use http::Method;
use http::request::Parts;
use objects::{Failure, Resource};
use objectstore::{CommitError, Expect, key_of};
use serde_json::{Value, json};

use crate::world::{ask, ask_as};

const CRATES: &str = "/apis/ware.dev/v1/namespaces/default/crates";

/// A cluster that gives out versions, far apart as those of a store that holds more than crates.
#[derive(Debug, Default)]
struct Elsewhere {
    mirror: OnceLock<Mirror>,
    version: AtomicU64,
    /// How often somebody asked what a namespace is.
    looks: AtomicU64,
    /// How many writes are under way, and were at most.
    under_way: (AtomicU64, AtomicU64),
}

#[async_trait]
impl Host for Elsewhere {
    async fn identify(&self, parts: &Parts) -> Result<User, Failure> {
        match parts.headers.get("authorization") {
            None => Ok(User::new("system:anonymous", &["system:unauthenticated"])),
            Some(token) if token == "Bearer ann" => Ok(User::new("ann", &[])),
            Some(_) => Err(Failure::unauthorized()),
        }
    }

    async fn namespace(&self, name: &str) -> Result<NamespacePhase, Failure> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        Ok(match name {
            "default" => NamespacePhase::Active,
            "going" => NamespacePhase::Terminating,
            _ => NamespacePhase::Absent,
        })
    }

    fn is_ready(&self) -> bool {
        self.mirror.get().is_some_and(|m| m.version() > 0)
    }

    async fn write(&self, write: HostWrite) -> Result<u64, CommitError> {
        let (now, most) = &self.under_way;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // A cluster takes its time; versions are given in the order of the writes all the same.
        tokio::time::sleep(Duration::from_millis(1)).await;
        now.fetch_sub(1, Ordering::SeqCst);
        let mirror = self.mirror.get().expect("a mirror");
        let held = mirror.get(&write.namespace, &write.name);
        let met = match write.expect {
            Expect::Absent => held.is_none(),
            Expect::Rv(version) => held.as_ref().is_some_and(|o| o.rv == version),
            Expect::Present => held.is_some(),
            Expect::Any => true,
        };
        if !met {
            return Err(CommitError::Conflict {
                index: 0,
                resource: "crates.ware.dev".into(),
                key: key_of(&write.namespace, &write.name),
                found: held,
            });
        }
        let version = self.version.fetch_add(10, Ordering::SeqCst) + 10;
        match write.object {
            Some(object) => {
                let (namespace, name) = (write.namespace, write.name);
                let one = Listed {
                    namespace,
                    name,
                    version,
                    object,
                };
                mirror.put(&one).await.expect("mirrored");
            }
            None => mirror
                .remove((&write.namespace, &write.name), version)
                .await
                .expect("mirrored"),
        }
        Ok(version)
    }
}

/// Lets ann do everything with crates, after a while; notes what it was asked.
#[derive(Default)]
struct Far(Mutex<Vec<String>>);

#[async_trait]
impl Authorizer for Far {
    async fn decide(&self, request: &Attributes<'_>) -> AccessDecision {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let asked = format!("{} {}{}", request.verb, request.resource, request.path);
        self.0.lock().expect("asked").push(asked);
        let allowed = request.user.name == "ann" || request.user.is_master();
        AccessDecision {
            allowed,
            reason: String::new(),
        }
    }
}

/// Writes what it is asked for.
struct Clerk(ServerHandle);

#[async_trait]
impl Gateway for Clerk {
    async fn handle(&self, call: Call) -> Result<CallAnswer, Refusal> {
        let expect = call.options.expect_rv.map_or(Expect::Absent, Expect::Rv);
        let record = Record {
            group: call.group,
            resource: call.resource,
            namespace: call.namespace,
            name: call.name,
            expect,
            object: call.new.clone(),
            manager: String::new(),
        };
        let written = self.0.commit(vec![record]).await;
        let written = written.map_err(|e| Refusal::new(RefusalClass::Conflict, e.to_string()))?;
        let object = call.new.and_then(|_| written.first()).map(|o| o.value());
        Ok(CallAnswer {
            object: object.unwrap_or_default(),
            ..CallAnswer::default()
        })
    }
}

async fn aggregated() -> (Server, Arc<Elsewhere>, Arc<Far>) {
    let crates = Resource::from_crd(&json!({"spec": {
        "group": "ware.dev", "scope": "Namespaced", "names": {"plural": "crates", "kind": "Crate"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        }}}],
    }}));
    let (host, far) = (Arc::new(Elsewhere::default()), Arc::new(Far::default()));
    let server = Server::builder()
        .resource(crates.expect("definition").write_through())
        .authorizer(Arc::<Far>::clone(&far))
        .aggregated(Arc::<Elsewhere>::clone(&host))
        .build()
        .await
        .expect("build");
    let mirror = server.handle().mirror("ware.dev", "crates");
    host.mirror.set(mirror).expect("the first mirror");
    server.set_gateway(Arc::new(Clerk(server.handle())));
    (server, host, far)
}

/// A server whose mirror has been filled.
async fn started() -> (Server, Arc<Elsewhere>, Arc<Far>) {
    let (server, host, far) = aggregated().await;
    host.version.store(1_000, Ordering::SeqCst);
    let mirror = host.mirror.get().expect("a mirror");
    mirror.list(1_000, Vec::new()).await.expect("a list");
    (server, host, far)
}

fn a_crate(name: &str) -> Value {
    json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": {"name": name}, "spec": {"weight": 1}})
}

/// Asks with a bearer token, or without credentials.
async fn ask_with(
    server: &Server,
    token: Option<&str>,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> u16 {
    use tower::ServiceExt as _;
    let mut request = http::Request::builder().method(method).uri(path);
    request = request.header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = body.map_or_else(axum::body::Body::empty, |b| b.to_string().into());
    let request = request.body(body).expect("a request");
    let answer = server.router("127.0.0.1:6443").oneshot(request).await;
    answer.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn records_lie_in_the_cluster_and_have_the_versions_that_it_gives_them() {
    let (server, _, _) = started().await;
    let (code, made) = ask(&server, Method::POST, CRATES, Some(a_crate("a"))).await;
    assert_eq!(code, 201, "{made}");
    assert_eq!(made["metadata"]["resourceVersion"], "1010");
    assert!(made["metadata"]["uid"].is_string());
    let (_, list) = ask(&server, Method::GET, CRATES, None).await;
    assert_eq!(list["metadata"]["resourceVersion"], "1010");
    assert_eq!(list["items"][0]["metadata"], made["metadata"]);
    let mut heavier = made.clone();
    heavier["spec"]["weight"] = 2.into();
    let path = format!("{CRATES}/a");
    let (code, changed) = ask(&server, Method::PUT, &path, Some(heavier.clone())).await;
    assert_eq!(code, 200, "{changed}");
    assert_eq!(changed["metadata"]["resourceVersion"], "1020");
    assert_eq!(changed["metadata"]["uid"], made["metadata"]["uid"]);
    let (code, _) = ask(&server, Method::PUT, &path, Some(heavier)).await;
    assert_eq!(code, 409, "the version was changed since");
    let (code, _) = ask(&server, Method::DELETE, &path, None).await;
    assert_eq!(code, 200);
    let (code, _) = ask(&server, Method::GET, &path, None).await;
    assert_eq!(code, 404);
}

/// Whoever empties a namespace waits for a collection: each of its objects is a write to the cluster, and they do not wait for each other.
#[tokio::test]
async fn a_collection_is_deleted_by_many_at_once() {
    const CRATES_OF_ALL: u64 = 40;
    let (server, host, _) = started().await;
    for n in 0..CRATES_OF_ALL {
        let made = ask(
            &server,
            Method::POST,
            CRATES,
            Some(a_crate(&format!("c{n}"))),
        )
        .await;
        assert_eq!(made.0, 201);
    }
    let (_, most) = &host.under_way;
    most.store(0, Ordering::SeqCst);
    let (code, body) = ask(&server, Method::DELETE, CRATES, None).await;
    assert_eq!(code, 200, "{body}");
    assert_eq!(most.load(Ordering::SeqCst), 16);
    let (_, list) = ask(&server, Method::GET, CRATES, None).await;
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn nothing_but_its_own_resources_is_served_there() {
    let (server, _, _) = started().await;
    for path in [
        "/api/v1/namespaces",
        "/api/v1/namespaces/default/configmaps",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ] {
        let (code, body) = ask(&server, Method::GET, path, None).await;
        assert_eq!(code, 404, "{path}: {body}");
    }
    let (_, groups) = ask(&server, Method::GET, "/apis", None).await;
    let groups = groups["groups"].as_array().expect("groups");
    let names: Vec<&Value> = groups.iter().map(|group| &group["name"]).collect();
    assert_eq!(names, ["ware.dev"]);
}

#[tokio::test]
async fn only_what_is_new_asks_whether_its_namespace_is_there_to_stay() {
    let (server, host, _) = started().await;
    for (namespace, wanted) in [("default", 201), ("going", 403), ("nowhere", 404)] {
        let path = format!("/apis/ware.dev/v1/namespaces/{namespace}/crates");
        let (code, body) = ask(&server, Method::POST, &path, Some(a_crate("a"))).await;
        assert_eq!(code, wanted, "{body}");
    }
    assert_eq!(host.looks.load(Ordering::SeqCst), 3);
    let path = format!("{CRATES}/a");
    let patch = json!({"spec": {"weight": 3}});
    let merge = "application/merge-patch+json";
    let whose = Some(crate::world::admin());
    let (code, body, _) = ask_as(&server, Method::PATCH, &path, merge, Some(patch), whose).await;
    assert_eq!(code, 200, "{body}");
    assert_eq!(host.looks.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn the_cluster_says_who_asks_and_what_they_may_do() {
    let (server, _, far) = started().await;
    let get = Method::GET;
    assert_eq!(
        ask_with(&server, Some("ann"), get.clone(), CRATES, None).await,
        200
    );
    assert_eq!(
        ask_with(&server, Some("eve"), get.clone(), CRATES, None).await,
        401
    );
    assert_eq!(ask_with(&server, None, get, CRATES, None).await, 403);
    let asked = far.0.lock().expect("asked").clone();
    assert_eq!(asked, ["list crates", "list crates"]);
}

#[tokio::test]
async fn whether_it_lives_and_what_it_serves_asks_no_authoriser() {
    let (server, host, far) = aggregated().await;
    let served = [
        "/",
        "/api",
        "/apis",
        "/apis/ware.dev/v1",
        "/openapi/v2",
        "/openapi/v3",
    ];
    for path in served {
        let code = ask_with(&server, Some("ann"), Method::GET, path, None).await;
        assert_eq!(code, 200, "{path}");
    }
    for path in ["/livez", "/healthz", "/version"] {
        let code = ask_with(&server, None, Method::GET, path, None).await;
        assert_eq!(code, 200, "{path}");
    }
    let ready = |server| ask_with(server, None, Method::GET, "/readyz", None);
    assert_eq!(ready(&server).await, 503);
    let mirror = host.mirror.get().expect("a mirror");
    mirror.list(1, Vec::new()).await.expect("a list");
    assert_eq!(ready(&server).await, 200);
    assert!(far.0.lock().expect("asked").is_empty());
    for path in served {
        let code = ask_with(&server, None, Method::GET, path, None).await;
        assert_eq!(code, 403, "{path}: what is served is for whoever came in");
    }
    let code = ask_with(&server, None, Method::GET, "/metrics", None).await;
    assert_eq!(code, 403, "figures are for those who may read them");
}
