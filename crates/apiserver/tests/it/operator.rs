//! A small operator on kube-rs, as anybody would write one: unmodified clients cannot tell the difference.
//!
//! Its twin on controller-runtime is `tests/operators/go`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apiserver::audit::{Audit, Rotation};
use apiserver::gateway::User;
use apiserver::{Running, Server, ServerBuilder};
use futures::StreamExt as _;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Event, ObjectReference, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, NamespaceResourceScope};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event as Finalizer, finalizer};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Config, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::world::{TOKEN, shoe, shoes};

/// A durable server that can be started again at its address, and its audit log.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    address: SocketAddr,
    running: Option<Running>,
}

impl Place {
    pub(crate) async fn new() -> Self {
        let mut place = Self {
            directory: tempfile::tempdir().expect("directory"),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            running: None,
        };
        place.start().await;
        place
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("audit.jsonl")
    }

    async fn start(&mut self) {
        let builder: ServerBuilder = Server::builder()
            .token(TOKEN, User::new("admin", &["system:masters"]))
            .data_dir(self.directory.path())
            .audit(Audit::open(&self.log(), Rotation::default()).expect("audit log"))
            .crd(shoes());
        let server = builder.build().await.expect("build");
        let mut running = server.listen(self.address).await;
        // A connection of somebody else's may have the port for a moment.
        for _ in 0..100 {
            if running.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            running = server.listen(self.address).await;
        }
        let running = running.expect("listen");
        self.address = running.address;
        self.running = Some(running);
    }

    /// Stops the server, leaves clients alone for a while, and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.running.take().expect("it runs").stop().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        self.start().await;
    }

    pub(crate) async fn client(&self) -> Client {
        let text = self
            .running
            .as_ref()
            .expect("it runs")
            .kubeconfig("t", TOKEN);
        let kubeconfig = kube::config::Kubeconfig::from_yaml(&text).expect("kubeconfig");
        let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
        Client::try_from(config.expect("config")).expect("client")
    }

    /// Verb and resource of every request so far.
    fn requests(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(self.log()).expect("audit log");
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("an event"));
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        events
            .map(|e| (word(&e["verb"]), word(&e["objectRef"]["resource"])))
            .collect()
    }
}

fn kind() -> ApiResource {
    let kind = GroupVersionKind::gvk("test.dev", "v1", "Shoe");
    ApiResource::from_gvk_with_plural(&kind, "shoes")
}

/// Tries until it holds; only a failure takes long.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let mut held = false;
    for _ in 0..1200 {
        held = holds().await;
        if held {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(held, "never: {what}");
}

/// Takes a typed object through everything that a client of its kind can do.
async fn life<K>(
    client: Client,
    object: K,
    change: impl Fn(&mut K),
    same: impl Fn(&K) -> Value,
    apply: Value,
) where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client, "default");
    let name = object.name_any();
    let mut made = api
        .create(&PostParams::default(), &object)
        .await
        .expect("create");
    assert_eq!(same(&made), same(&object), "as it was sent");
    assert!(made.uid().is_some() && made.creation_timestamp().is_some());
    let twice = api.create(&PostParams::default(), &object).await;
    assert!(matches!(twice, Err(kube::Error::Api(status)) if status.is_already_exists()));

    change(&mut made);
    let changed = api
        .replace(&name, &PostParams::default(), &made)
        .await
        .expect("replace");
    assert_eq!(same(&changed), same(&made));
    made.labels_mut()
        .insert("late".to_owned(), "yes".to_owned());
    let stale = api.replace(&name, &PostParams::default(), &made).await;
    assert!(matches!(stale, Err(kube::Error::Api(status)) if status.is_conflict()));

    let body = |text: &str| json!({"metadata": {"labels": {"patched": text}}});
    let json_patch =
        json!([{"op": "replace", "path": "/metadata/labels/patched", "value": "json"}]);
    for (patch, word) in [
        (Patch::Merge(body("merge")), "merge"),
        (Patch::Strategic(body("strategic")), "strategic"),
        (
            Patch::Json(serde_json::from_value(json_patch).expect("a patch")),
            "json",
        ),
    ] {
        let patched = api
            .patch(&name, &PatchParams::default(), &patch)
            .await
            .expect(word);
        assert_eq!(patched.labels()["patched"], word);
    }
    let applied = |body: Value| {
        let api = api.clone();
        let name = name.clone();
        async move {
            let params = PatchParams::apply("applier");
            api.patch(&name, &params, &Patch::Apply(&body))
                .await
                .expect("apply")
        }
    };
    let once = applied(apply.clone()).await;
    assert_eq!(once.labels()["applied"], "yes");
    let again = applied(apply).await;
    assert_eq!(
        once.resource_version(),
        again.resource_version(),
        "the same changes nothing"
    );
    let list = api
        .list(&ListParams::default().labels("applied=yes"))
        .await
        .expect("list");
    assert_eq!(list.items.len(), 1);
    let got = api.get(&name).await.expect("get");
    assert_eq!(same(&got), same(&again));
    api.delete(&name, &DeleteParams::default())
        .await
        .expect("delete");
    assert!(api.get_opt(&name).await.expect("get").is_none());
}

pub(crate) fn metadata(name: &str) -> kube::core::ObjectMeta {
    kube::core::ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(BTreeMap::from([("app".to_owned(), "shop".to_owned())])),
        ..Default::default()
    }
}

#[expect(clippy::too_many_lines, reason = "one kind after the other")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typed_clients_write_the_kinds_that_operators_need() {
    let place = Place::new().await;
    let client = place.client().await;
    let text = |k: &str, v: &str| BTreeMap::from([(k.to_owned(), v.to_owned())]);
    let apply = |api: &str, kind: &str, rest: Value| {
        let mut out = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "a", "labels": {"applied": "yes"}}});
        for (key, value) in rest.as_object().expect("an object") {
            out[key] = value.clone();
        }
        out
    };
    let map = ConfigMap {
        metadata: metadata("a"),
        data: Some(text("k", "v")),
        ..Default::default()
    };
    let change = |o: &mut ConfigMap| o.data = Some(text("k", "w"));
    let applied = apply("v1", "ConfigMap", json!({"data": {"more": "x"}}));
    life(client.clone(), map, change, |o| json!(o.data), applied).await;

    let bytes = |b: &[u8]| k8s_openapi::ByteString(b.to_vec());
    let secret = Secret {
        metadata: metadata("a"),
        data: Some(BTreeMap::from([("p".to_owned(), bytes(&[0, 255]))])),
        type_: Some("Opaque".to_owned()),
        ..Default::default()
    };
    let change = |o: &mut Secret| {
        drop(
            o.data
                .get_or_insert_default()
                .insert("q".to_owned(), bytes(b"x")),
        )
    };
    let applied = apply("v1", "Secret", json!({"stringData": {"more": "x"}}));
    life(
        client.clone(),
        secret,
        change,
        |o| json!([o.data, o.type_]),
        applied,
    )
    .await;

    let about = ObjectReference {
        kind: Some("ConfigMap".to_owned()),
        name: Some("a".to_owned()),
        namespace: Some("default".to_owned()),
        ..Default::default()
    };
    let event = Event {
        metadata: metadata("a"),
        involved_object: about.clone(),
        reason: Some("Kept".to_owned()),
        count: Some(1),
        type_: Some("Normal".to_owned()),
        ..Default::default()
    };
    let applied = apply(
        "v1",
        "Event",
        json!({"message": "better", "involvedObject": about}),
    );
    let same = |o: &Event| json!([o.involved_object, o.reason, o.count, o.type_]);
    life(client.clone(), event, |o| o.count = Some(2), same, applied).await;

    let now = jiff::Timestamp::from_microsecond(1_700_000_000_123_456).expect("a time");
    let lease = Lease {
        metadata: metadata("a"),
        spec: Some(LeaseSpec {
            holder_identity: Some("one".to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(MicroTime(now)),
            ..Default::default()
        }),
    };
    let change =
        |o: &mut Lease| o.spec.get_or_insert_default().holder_identity = Some("two".to_owned());
    let applied = apply(
        "coordination.k8s.io/v1",
        "Lease",
        json!({"spec": {"leaseTransitions": 1}}),
    );
    life(client, lease, change, |o| json!(o.spec), applied).await;
}

/// What the operator is made of.
struct Operator {
    client: Client,
    struck: Mutex<Vec<String>>,
}

/// Keeps a ConfigMap for a shoe, by server-side apply, and says so in its status.
async fn keep(shoe: Arc<DynamicObject>, operator: Arc<Operator>) -> Result<Action, kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced(operator.client.clone(), "default");
    let shoes: Api<DynamicObject> =
        Api::namespaced_with(operator.client.clone(), "default", &kind());
    let name = shoe.name_any();
    let owner = shoe.controller_owner_ref(&kind()).expect("it has a uid");
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": [owner]},
        "data": {"size": shoe.data["spec"]["size"].to_string()},
    });
    let params = PatchParams::apply("shoemaker");
    maps.patch(&name, &params, &Patch::Apply(map)).await?;
    let status = json!({"status": {"worn": true}});
    shoes
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(Action::await_change())
}

async fn reconcile(
    shoe: Arc<DynamicObject>,
    operator: Arc<Operator>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let api: Api<DynamicObject> = Api::namespaced_with(operator.client.clone(), "default", &kind());
    finalizer(&api, "test.dev/shoemaker", shoe, |event| async move {
        match event {
            Finalizer::Apply(shoe) => keep(shoe, operator).await,
            Finalizer::Cleanup(shoe) => {
                operator
                    .struck
                    .lock()
                    .expect("struck")
                    .push(shoe.name_any());
                Ok(Action::await_change())
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_keeps_and_lets_go() {
    let mut place = Place::new().await;
    let client = place.client().await;
    let operator = Arc::new(Operator {
        client: client.clone(),
        struck: Mutex::default(),
    });
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let controller = Controller::new_with(api.clone(), watcher::Config::default(), kind())
        .owns(maps.clone(), watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(200)),
            Arc::clone(&operator),
        );
    let working = tokio::spawn(controller.for_each(|_| async {}));

    let make =
        |name: &str, size| serde_json::from_value::<DynamicObject>(shoe(name, size)).expect("shoe");
    api.create(&PostParams::default(), &make("a", 40))
        .await
        .expect("create");
    let kept = async |name: &str, size: &str| {
        let map = maps.get_opt(name).await.ok().flatten();
        map.is_some_and(|m| m.data.is_some_and(|d| d["size"] == size))
    };
    until("the map is kept", async || kept("a", "40").await).await;
    let bigger = Patch::Merge(json!({"spec": {"size": 41}}));
    api.patch("a", &PatchParams::default(), &bigger)
        .await
        .expect("patch");
    until("the change is followed", async || kept("a", "41").await).await;
    maps.delete("a", &DeleteParams::default())
        .await
        .expect("delete");
    until("what somebody deleted comes back", async || {
        kept("a", "41").await
    })
    .await;
    until("the status is written", async || {
        api.get("a")
            .await
            .is_ok_and(|s| s.data["status"]["worn"] == true)
    })
    .await;

    let before = place.requests().len();
    place.restart().await;
    until("a client comes in again", async || {
        api.get("a").await.is_ok()
    })
    .await;
    api.create(&PostParams::default(), &make("b", 42))
        .await
        .expect("create");
    until("the operator works on", async || kept("b", "42").await).await;
    let since = place.requests().split_off(before);
    let lists = since.iter().filter(|(verb, _)| verb == "list").count();
    assert_eq!(lists, 0, "nothing was listed again: {since:?}");

    api.delete("a", &DeleteParams::default())
        .await
        .expect("delete");
    until("the shoe and its map are gone", async || {
        let gone = (api.get_opt("a").await, maps.get_opt("a").await);
        matches!(gone, (Ok(None), Ok(None)))
    })
    .await;
    // At least once: a cleanup whose last write met a newer version runs again, as in a cluster.
    let struck: BTreeSet<String> = operator.struck.lock().expect("struck").drain(..).collect();
    assert_eq!(struck, BTreeSet::from(["a".to_owned()]));
    working.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reflectors_survive_a_restart_without_listing_again() {
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
    ] {
        let mut place = Place::new().await;
        let client = place.client().await;
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind());
        let make = |name: &str| ConfigMap {
            metadata: metadata(name),
            ..Default::default()
        };
        maps.create(&PostParams::default(), &make("before"))
            .await
            .expect("create");

        let (map_store, map_writer) = reflector::store();
        let shoe_writer = reflector::store::Writer::<DynamicObject>::new(kind());
        let shoe_store: Store<DynamicObject> = shoe_writer.as_reader();
        let map_stream = watcher(maps.clone(), config.clone()).default_backoff();
        let shoe_stream = watcher(api.clone(), config.clone()).default_backoff();
        let following = [
            tokio::spawn(reflector::reflector(map_writer, map_stream).for_each(|_| async {})),
            tokio::spawn(reflector::reflector(shoe_writer, shoe_stream).for_each(|_| async {})),
        ];
        let has = |name: &str| {
            map_store
                .get(&ObjectRef::new(name).within("default"))
                .is_some()
        };
        until("the cache is filled", async || has("before")).await;
        shoe_store.wait_until_ready().await.expect("ready");
        let before = place.requests().len();

        place.restart().await;
        until("a client comes in again", async || {
            maps.get("before").await.is_ok()
        })
        .await;
        maps.create(&PostParams::default(), &make("after"))
            .await
            .expect("create");
        let shoe: DynamicObject = serde_json::from_value(shoe("late", 40)).expect("shoe");
        api.create(&PostParams::default(), &shoe)
            .await
            .expect("create");
        until("the cache goes on", async || has("after")).await;
        let late = ObjectRef::new_with("late", kind()).within("default");
        until("the other cache goes on", async || {
            shoe_store.get(&late).is_some()
        })
        .await;
        let since = place.requests().split_off(before);
        let lists = since.iter().filter(|(verb, _)| verb == "list").count();
        assert_eq!(lists, 0, "nothing was listed again: {since:?}");
        following.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
