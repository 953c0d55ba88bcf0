//! The cluster behind the engine's ports: what is written, and what is not.

use std::sync::Arc;
use std::time::Duration;

use apiserver::ResourceName;
use apiserver::gateway::User;
use engine::ports::{Delta, Gvk, Known};
use futures::StreamExt as _;
use model::ObjectKey;
use serde_json::{Value, json};

use super::super::objects::{ClusterObjects, Namespaces};
use super::super::seen::Seen;
use super::super::term::{Term, boot_time};
use super::world::World;
use crate::ports::{ObjectApi, Part};

fn variants() -> ResourceName {
    ResourceName::new(api::CONFIG_GROUP, "v1alpha1", "packagevariants")
}

fn key(name: &str) -> ObjectKey {
    api::read_key(&json!({"metadata": {"namespace": "shop", "name": name}})).unwrap()
}

fn variant(name: &str) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "PackageVariant",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "upstream": {"repo": "blueprints", "package": "web", "revision": "v1"},
            "downstream": {"repo": "edge", "package": "web"},
        },
    })
}

fn objects(world: &World, namespaces: Namespaces) -> (Arc<ClusterObjects>, Arc<Term>) {
    let term = Term::new();
    term.renewed(1, boot_time());
    let parts = (world.remote(), Arc::<Seen>::default(), Arc::clone(&term));
    let account = User::new("offshoot", &[]);
    let objects = ClusterObjects::new(parts, &world.server.handle(), namespaces, account);
    (objects, term)
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_change_is_a_patch_of_what_changed_and_nothing_else() {
    let world = World::new().await;
    let (objects, _) = objects(&world, Namespaces::default());
    let made = objects
        .create(&variants(), "shop", variant("web"))
        .await
        .unwrap();
    let at = version(&made);
    let gets = world.seen.asked("GET");
    let set = |new: &mut Value| new["status"] = json!({"conditions": []});
    let next = objects
        .write(&variants(), &key("web"), &at, Part::Status, &set)
        .await
        .unwrap();
    assert_ne!(next, at);
    assert_eq!(
        world.seen.asked("GET"),
        gets,
        "what was just written is known"
    );
    let again = objects
        .write(&variants(), &key("web"), &next, Part::Status, &set)
        .await
        .unwrap();
    assert_eq!(again, next, "an equal status is no write");
    assert_eq!(world.seen.asked("PATCH"), 1);
    let other = |new: &mut Value| new["status"] = json!({"late": true});
    let late = objects
        .write(&variants(), &key("web"), &at, Part::Status, &other)
        .await;
    assert_eq!(late.unwrap_err().code, 409, "another version is a conflict");
}

#[tokio::test]
async fn an_object_goes_with_its_last_finalizer() {
    let world = World::new().await;
    let (objects, _) = objects(&world, Namespaces::default());
    let mut held = variant("web");
    held["metadata"]["finalizers"] = json!(["example.test/held"]);
    let made = objects.create(&variants(), "shop", held).await.unwrap();
    let uid = made["metadata"]["uid"].as_str().unwrap();
    objects
        .delete(&variants(), &key("web"), "of-another-one")
        .await
        .unwrap_err();
    objects.delete(&variants(), &key("web"), uid).await.unwrap();
    let now = objects
        .get(&variants(), "shop", "web")
        .await
        .unwrap()
        .unwrap();
    let none = |new: &mut Value| new["metadata"]["finalizers"] = json!([]);
    let left = objects
        .write(&variants(), &key("web"), &version(&now), Part::Some, &none)
        .await;
    assert_eq!(left.unwrap(), "", "it went");
    assert_eq!(objects.get(&variants(), "shop", "web").await.unwrap(), None);
    objects.delete(&variants(), &key("web"), uid).await.unwrap();
}

#[tokio::test]
async fn nothing_is_written_outside_of_the_term() {
    let world = World::new().await;
    let (objects, term) = objects(&world, Namespaces::default());
    let made = objects
        .create(&variants(), "shop", variant("web"))
        .await
        .unwrap();
    term.end();
    let change = |new: &mut Value| new["metadata"]["labels"] = json!({"late": "yes"});
    let written = objects
        .write(
            &variants(),
            &key("web"),
            &version(&made),
            Part::Some,
            &change,
        )
        .await;
    assert_eq!(written.unwrap_err().code, 503);
    assert_eq!(
        objects
            .create(&variants(), "shop", variant("b"))
            .await
            .unwrap_err()
            .code,
        503
    );
    let uid = made["metadata"]["uid"].as_str().unwrap();
    assert_eq!(
        objects
            .delete(&variants(), &key("web"), uid)
            .await
            .unwrap_err()
            .code,
        503
    );
    let now = objects
        .get(&variants(), "shop", "web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(version(&now), version(&made));
}

#[tokio::test]
async fn a_feed_tells_everything_then_changes_of_the_namespaces_that_are_served() {
    let world = World::new().await;
    let only = Arc::new(vec![model::Namespace::parse("shop").unwrap()]);
    let (objects, _) = objects(&world, only);
    objects
        .create(&variants(), "shop", variant("web"))
        .await
        .unwrap();
    let mut feed = objects.feed(&variants(), Known::nothing());
    let mut next = async || {
        let soon = tokio::time::timeout(Duration::from_secs(5), feed.next());
        soon.await.expect("in time").expect("a feed that goes on")
    };
    let Delta::Snapshot(all) = next().await else {
        panic!("everything comes first")
    };
    assert_eq!(all.len(), 1);
    let mut elsewhere = variant("other");
    elsewhere["metadata"]["namespace"] = "offshoot-system".into();
    objects
        .create(&variants(), "offshoot-system", elsewhere)
        .await
        .unwrap();
    let second = objects
        .create(&variants(), "shop", variant("second"))
        .await
        .unwrap();
    let Delta::Put(told) = next().await else {
        panic!("a change is told")
    };
    assert_eq!(
        told["metadata"]["name"], "second",
        "of a namespace that is not served nothing is told"
    );
    let uid = second["metadata"]["uid"].as_str().unwrap();
    objects
        .delete(&variants(), &key("second"), uid)
        .await
        .unwrap();
    let Delta::Deleted { key: gone, .. } = next().await else {
        panic!("a deletion is told")
    };
    assert_eq!(gone, key("second"));
}

#[tokio::test]
async fn kinds_are_found_by_discovery() {
    let world = World::new().await;
    let (objects, _) = objects(&world, Namespaces::default());
    let of = |version: &str, kind: &str| Gvk::of(version, kind);
    let maps = objects
        .served(&of("v1", "ConfigMap"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (maps.resource.plural.as_str(), maps.namespaced, maps.leaving),
        ("configmaps", true, false)
    );
    let namespaces = objects
        .served(&of("v1", "Namespace"))
        .await
        .unwrap()
        .unwrap();
    assert!(!namespaces.namespaced);
    assert_eq!(
        objects
            .served(&of("example.test/v1", "Site"))
            .await
            .unwrap(),
        None
    );
    let asked = world.seen.asked("GET /api/v1");
    objects.served(&of("v1", "Secret")).await.unwrap().unwrap();
    assert_eq!(
        world.seen.asked("GET /api/v1"),
        asked,
        "an answer counts for a moment"
    );
}

#[tokio::test]
async fn a_creation_whose_answer_was_lost_is_done_and_anothers_object_is_none_of_ours() {
    let world = World::new().await;
    let (objects, _) = objects(&world, Namespaces::default());
    let owned = |uid: &str| {
        let mut owned = variant("web");
        owned["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "name": "set", "uid": uid,
            "controller": true,
        }]);
        owned
    };
    let place = "POST /apis/config.porch.kpt.dev/v1alpha1/namespaces/shop/packagevariants";
    world.seen.lose(place);
    let made = objects.create(&variants(), "shop", owned("ours")).await;
    let made = made.expect("it is there");
    assert!(world.seen.has_lost());
    assert_eq!(made["metadata"]["name"], "web");
    let other = objects.create(&variants(), "shop", owned("another")).await;
    assert_eq!(other.unwrap_err().code, 409);
    let mut changed = owned("ours");
    changed["spec"]["downstream"]["package"] = "other".into();
    let changed = objects.create(&variants(), "shop", changed).await;
    assert_eq!(changed.unwrap_err().code, 409, "it says something else");
}
