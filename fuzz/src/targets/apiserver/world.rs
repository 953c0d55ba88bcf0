//! A small server in this thread: two namespaces, one of them another's, and a user who may use the first.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use apiserver::gateway::User;
use apiserver::{Clock, Server, Whose};
use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use objectstore::{Memory, Options};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use super::answer::{Answer, MARK};

/// The namespace that inputs are about.
pub(super) const MINE: &str = "mine";

/// Writes after which a server is made anew: what has been is kept for watches, and would fill the memory.
const WORN: u64 = 20_000;

struct Still;

impl Clock for Still {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

/// A server and what it began with.
pub(super) struct World {
    runtime: Runtime,
    server: Server,
    router: axum::Router,
    /// The version at which everything is as it was.
    rest: u64,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Runs something in this thread's world.
pub(super) fn with<T>(run: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(|world| run(world.get_or_insert_with(World::new)))
}

fn object(api: &str, kind: &str, name: &str, rest: &Value) -> Value {
    let mut out = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": {"app": "shop", "tier": "edge"}}});
    for (key, value) in rest.as_object().into_iter().flatten() {
        out[key] = value.clone();
    }
    out
}

impl World {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        #[expect(
            clippy::expect_used,
            reason = "without a runtime nothing can be fuzzed"
        )]
        let runtime = runtime.expect("a runtime");
        let server = runtime.block_on(server());
        let router = server.router("127.0.0.1:0");
        let mut world = Self {
            runtime,
            server,
            router,
            rest: 0,
        };
        world.fill();
        world
    }

    fn fill(&mut self) {
        for (namespace, text) in [(MINE, "plain"), ("other", MARK)] {
            let space = json!({"metadata": {"name": namespace}});
            drop(self.ask_as_admin(
                &Method::POST,
                "/api/v1/namespaces",
                "",
                space.to_string().into(),
            ));
            for name in ["one", "two", "three"] {
                self.put(namespace, name, text);
            }
        }
        let all = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "ann"},
            "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}});
        let place = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{MINE}/rolebindings");
        let made = self.ask_as_admin(&Method::POST, &place, "", all.to_string().into());
        assert_eq!(made.status, 201, "{}", made.text());
        self.rest = self.version();
    }

    fn put(&mut self, namespace: &str, name: &str, text: &str) {
        let objects = [
            (
                "api/v1",
                "configmaps",
                object("v1", "ConfigMap", name, &json!({"data": {"text": text}})),
            ),
            (
                "api/v1",
                "secrets",
                object("v1", "Secret", name, &json!({"stringData": {"text": text}})),
            ),
            (
                "apis/test.dev/v1",
                "shoes",
                object(
                    "test.dev/v1",
                    "Shoe",
                    name,
                    &json!({"spec": {"size": 40, "colour": text}}),
                ),
            ),
        ];
        for (group, plural, object) in objects {
            let place = format!("/{group}/namespaces/{namespace}/{plural}");
            let made = self.ask_as_admin(&Method::POST, &place, "", object.to_string().into());
            assert!(matches!(made.status, 201 | 409), "{place}: {}", made.text());
        }
    }

    fn version(&self) -> u64 {
        self.server.handle().version()
    }

    /// Brings the user's namespace back to what it was, if anything changed.
    pub(super) fn restore(&mut self) {
        if self.version() == self.rest {
            return;
        }
        if self.version() > WORN || self.gone() {
            *self = Self::new();
            return;
        }
        for place in [
            format!("/api/v1/namespaces/{MINE}/configmaps"),
            format!("/api/v1/namespaces/{MINE}/secrets"),
            format!("/api/v1/namespaces/{MINE}/events"),
            format!("/api/v1/namespaces/{MINE}/serviceaccounts"),
            format!("/apis/coordination.k8s.io/v1/namespaces/{MINE}/leases"),
            format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{MINE}/roles"),
            format!("/apis/test.dev/v1/namespaces/{MINE}/shoes"),
        ] {
            drop(self.ask_as_admin(&Method::DELETE, &place, "", Vec::new()));
        }
        for name in ["one", "two", "three"] {
            self.put(MINE, name, "plain");
        }
        self.settle();
        self.rest = self.version();
    }

    /// Whether the user's namespace, its rights or something with a finalizer stands in the way of starting over.
    fn gone(&mut self) -> bool {
        let place = format!("/api/v1/namespaces/{MINE}");
        let space = self.ask_as_admin(&Method::GET, &place, "", Vec::new());
        let place = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{MINE}/rolebindings");
        let rights = self.ask_as_admin(&Method::GET, &place, "", Vec::new());
        let bound = rights.text().matches("\"roleRef\"").count();
        space.deleted() || bound != 1 || {
            let places = [
                "configmaps",
                "secrets",
                "shoes",
                "leases",
                "events",
                "serviceaccounts",
                "roles",
            ];
            places.into_iter().any(|plural| {
                let place = self.place(plural);
                let list = self.ask_as_admin(&Method::GET, &place, "", Vec::new());
                list.text().contains("\"finalizers\"")
            })
        }
    }

    /// Begins anew, definitions included.
    pub(super) fn fresh(&mut self) {
        *self = Self::new();
    }

    /// Has housekeeping done.
    pub(super) fn settle(&mut self) {
        let handle = self.server.handle();
        let done = self.runtime.block_on(handle.settle());
        assert!(done.is_ok(), "housekeeping: {done:?}");
    }

    /// Where a resource of the user's namespace is: `plural` or `plural/name`.
    pub(super) fn place(&self, what: &str) -> String {
        let plural = what.split('/').next().unwrap_or_default();
        let group = match plural {
            "shoes" => "apis/test.dev/v1",
            "leases" => "apis/coordination.k8s.io/v1",
            "roles" | "rolebindings" => "apis/rbac.authorization.k8s.io/v1",
            _ => "api/v1",
        };
        format!("/{group}/namespaces/{MINE}/{what}")
    }

    /// A continue token as the server gives one.
    pub(super) fn token(&mut self) -> String {
        let place = format!("{}?limit=1", self.place("configmaps"));
        let page = self.ask(&Method::GET, &place, "", Vec::new()).value();
        let token = page.pointer("/metadata/continue").and_then(Value::as_str);
        token.unwrap_or_default().to_owned()
    }

    /// Asks as the user.
    pub(super) fn ask(
        &mut self,
        method: &Method,
        place: &str,
        media: &str,
        body: Vec<u8>,
    ) -> Answer {
        self.send("ann", &[], method, place, media, body)
    }

    /// Asks as somebody who may do anything.
    pub(super) fn ask_as_admin(
        &mut self,
        method: &Method,
        place: &str,
        media: &str,
        body: Vec<u8>,
    ) -> Answer {
        self.send("admin", &["system:masters"], method, place, media, body)
    }

    fn send(
        &mut self,
        user: &str,
        groups: &[&str],
        method: &Method,
        place: &str,
        media: &str,
        body: Vec<u8>,
    ) -> Answer {
        let whose = Whose {
            user: User::new(user, groups),
            agent: "fuzz".to_owned(),
        };
        let mut builder = Request::builder()
            .method(method)
            .uri(place)
            .extension(whose);
        if !media.is_empty() {
            builder = builder.header("content-type", media);
        }
        let Ok(request) = builder.body(Body::from(body)) else {
            return Answer::default();
        };
        let router = self.router.clone();
        self.runtime.block_on(async move {
            // A read that waits for a version that never comes is given up, as clients do.
            let asked = tokio::time::timeout(Duration::from_millis(40), router.oneshot(request));
            let Ok(Ok(response)) = asked.await else {
                return Answer::default();
            };
            let status = response.status().as_u16();
            let mut body = response.into_body();
            let mut bytes = Vec::new();
            // A watch tells at once what there is; then nothing more comes.
            while let Ok(Some(Ok(frame))) =
                tokio::time::timeout(Duration::from_millis(4), body.frame()).await
            {
                bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            }
            Answer { status, bytes }
        })
    }
}

async fn server() -> Server {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "shoes.test.dev"},
        "spec": {"group": "test.dev", "scope": "Namespaced", "names": {"plural": "shoes", "kind": "Shoe"}, "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "selectableFields": [{"jsonPath": ".spec.size"}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "x-kubernetes-validations": [{"rule": "!has(self.max) || self.size <= self.max"}], "properties": {
                    "size": {"type": "integer", "minimum": 1}, "max": {"type": "integer", "nullable": true},
                    "colour": {"type": "string", "default": "black", "maxLength": 64},
                    "laces": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": {
                        "type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "length": {"x-kubernetes-int-or-string": true}}}},
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }},
                "status": {"type": "object", "properties": {"worn": {"type": "boolean"}}},
            }}},
        }]},
    });
    let builder = Server::builder()
        .memory(Memory::new())
        .store_options(Options {
            ring_bytes: 4 << 20,
            ..Options::default()
        })
        .clock(Arc::new(Still))
        .counted_uids(1)
        .crd(crd);
    #[expect(clippy::expect_used, reason = "without a server nothing can be fuzzed")]
    builder.build().await.expect("a server")
}
