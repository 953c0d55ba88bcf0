use objectstore::{EventKind, Memory, Options};
use serde_json::json;

use super::*;

fn mirror() -> (Store, Mirror) {
    let options = Options::default();
    let store = Store::in_memory(Memory::new(), options).unwrap();
    let mirror = Mirror::new(store.clone(), "shoes.example.com".into());
    (store, mirror)
}

fn shoe(name: &str, version: u64) -> Listed {
    Listed {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        version,
        object: json!({"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": version}),
    }
}

#[tokio::test]
async fn objects_keep_the_versions_that_the_cluster_gave_them() {
    let (store, mirror) = mirror();
    mirror
        .list(40, vec![shoe("b", 31), shoe("a", 12)])
        .await
        .unwrap();
    assert_eq!(store.rv(), 40);
    assert_eq!(mirror.get("ns", "a").unwrap().rv, 12);
    let value = mirror.get("ns", "b").unwrap().value();
    assert_eq!(value["metadata"]["resourceVersion"], "31");
    // What was before the first list is forgotten.
    assert!(store.watch(&"shoes.example.com".into(), 39).is_err());
}

#[tokio::test]
async fn a_watch_sees_each_change_once_in_the_order_of_versions() {
    let (store, mirror) = mirror();
    mirror.list(40, vec![shoe("a", 12)]).await.unwrap();
    let mut watch = store.watch(&"shoes.example.com".into(), 40).unwrap();
    mirror.put(&shoe("a", 41)).await.unwrap();
    mirror.put(&shoe("a", 41)).await.unwrap();
    mirror.remove(("ns", "a"), 45).await.unwrap();
    mirror.advance(50).await.unwrap();
    let told: Vec<_> = watch
        .ready()
        .unwrap()
        .iter()
        .map(|event| (event.kind, event.rv))
        .collect();
    assert_eq!(told, [(EventKind::Modified, 41), (EventKind::Deleted, 45)]);
    assert_eq!((store.rv(), mirror.version()), (50, 50));
}

#[tokio::test]
async fn a_new_list_tells_what_changed_and_what_is_gone_and_an_old_one_is_refused() {
    let (store, mirror) = mirror();
    mirror
        .list(40, vec![shoe("a", 12), shoe("b", 13)])
        .await
        .unwrap();
    let mut watch = store.watch(&"shoes.example.com".into(), 40).unwrap();
    mirror
        .list(60, vec![shoe("a", 12), shoe("c", 50)])
        .await
        .unwrap();
    let told: Vec<_> = watch
        .ready()
        .unwrap()
        .iter()
        .map(|e| (e.kind, e.object.fields.name.clone(), e.rv))
        .collect();
    assert_eq!(
        told,
        [
            (EventKind::Added, "c".to_owned(), 50),
            (EventKind::Deleted, "b".to_owned(), 60)
        ]
    );
    let old = mirror.list(59, Vec::new()).await;
    assert!(matches!(old, Err(MirrorError::Stale { .. })));
    assert!(mirror.get("ns", "a").is_some());
}

#[tokio::test]
async fn whoever_waits_for_a_version_hears_of_it() {
    let (_, mirror) = mirror();
    let short = Duration::from_millis(5);
    assert!(!mirror.wait(short, |m| m.version() >= 7).await);
    mirror.list(7, Vec::new()).await.unwrap();
    assert!(mirror.wait(short, |m| m.version() >= 7).await);
}
