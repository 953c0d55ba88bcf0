//! Names of removed records are remembered, and not without limit.

use objectstore::{Memory, Options, Store};

use super::*;

const NAMES: &str = "retired:crates";

fn note(name: &str) -> Op {
    Op {
        resource: NAMES.into(),
        key: key_of("default", name),
        expect: Expect::Any,
        put: Some(empty().unwrap()),
        homes: Vec::new(),
    }
}

#[tokio::test]
async fn the_oldest_names_are_forgotten_and_that_is_noted() {
    let store = Store::in_memory(Memory::new(), Options::default()).unwrap();
    let most = 8;
    for n in 0..30 {
        let new = note(&format!("crate-{n:02}"));
        let mut ops = forgotten(&store, std::slice::from_ref(&new), most);
        ops.push(new);
        store.commit(ops).await.unwrap();
        assert!(
            store.count(NAMES) <= most + 1,
            "{n}: {}",
            store.count(NAMES)
        );
    }
    let there = |name: &str| store.get(NAMES, name).is_some();
    assert!(there("default/crate-29"), "the newest is remembered");
    assert!(!there("default/crate-00"), "the oldest is not");
    assert!(there(FORGOTTEN), "and any name counts as used");
}

#[tokio::test]
async fn nothing_is_forgotten_while_there_is_room() {
    let store = Store::in_memory(Memory::new(), Options::default()).unwrap();
    let all: Vec<Op> = (0..8).map(|n| note(&format!("crate-{n}"))).collect();
    let ops = forgotten(&store, &all, 8);
    assert!(ops.is_empty());
}

#[test]
fn a_record_counts_a_generation_where_what_is_asked_for_differs() {
    let record = |spec: serde_json::Value, note: &str| {
        serde_json::json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
            "metadata": { "name": "a", "annotations": { "note": note } },
            "status": { "said": note }, "spec": spec,
        })
    };
    let spec = serde_json::json!({ "b": [1, 1.0, "ä\"\n", null], "a": { "z": true, "y": {} } });
    let stored = NewObject::new(&record(spec.clone(), "one")).unwrap();
    let former = Former::of(Arc::new(stored.seal(7)));
    let mut other_order = serde_json::Map::new();
    for key in ["a", "b"] {
        other_order.insert(key.to_owned(), spec[key].clone());
    }
    let same = record(other_order.into(), "two");
    assert!(!former.differs(true, &same));
    // Where the status is not written apart, it is asked for, too.
    assert!(former.differs(false, &same));
    for other in [
        serde_json::json!({ "b": [1, 1, "ä\"\n", null], "a": { "z": true, "y": {} } }),
        serde_json::json!({ "b": spec["b"] }),
        serde_json::Value::Null,
    ] {
        assert!(former.differs(true, &record(other, "one")));
    }
    let mut more = record(spec, "one");
    more["data"] = "more".into();
    assert!(former.differs(true, &more));
}
