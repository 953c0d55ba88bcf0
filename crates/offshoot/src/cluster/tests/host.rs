//! Records: what is lost on the way, what another one wrote, and when nothing may be written.

use std::sync::atomic::Ordering;

use apiserver::aggregated::{Host as _, HostWrite};
use objectstore::{CommitError, Expect};
use serde_json::{Value, json};

use super::super::records;
use super::super::term::{GRACE, boot_time};
use super::world::{Loss, World};

const RECORDS: &str = "/apis/offshoot.dev/v1alpha1/namespaces/shop/revisionrecords";

fn revision(label: &str) -> Value {
    json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": {"name": "edge.web.v1", "namespace": "shop", "uid": "of-the-revision", "labels": {"is": label}},
        "spec": {"lifecycle": "Draft", "nothing": null},
    })
}

fn write(expect: Expect, object: Option<Value>) -> HostWrite {
    HostWrite {
        namespace: "shop".to_owned(),
        name: "edge.web.v1".to_owned(),
        expect,
        object,
        old: None,
    }
}

async fn kept(world: &World) -> Option<Value> {
    let (remote, resource) = (world.remote(), records::resource());
    let found = remote.get(&resource, "shop", "edge.web.v1").await;
    found.unwrap()
}

fn label(record: &Value) -> &Value {
    &record["spec"]["payload"]["metadata"]["labels"]["is"]
}

#[tokio::test]
async fn what_is_answered_was_heard_of_and_comes_back_as_it_was() {
    let world = World::new().await;
    let (host, _) = world.host(3).await;
    let version = host
        .write(write(Expect::Absent, Some(revision("one"))))
        .await
        .unwrap();
    let mirror = host.records.mirror().unwrap();
    let held = mirror.get("shop", "edge.web.v1").unwrap();
    assert_eq!(
        held.rv, version,
        "the mirror holds it by the time of the answer"
    );
    assert_eq!(held.value()["metadata"]["labels"]["is"], "one");
    assert_eq!(kept(&world).await.unwrap()["spec"]["term"], 3);
    let next = host
        .write(write(Expect::Rv(version), Some(revision("two"))))
        .await
        .unwrap();
    assert!(next > version);
    let held = mirror.get("shop", "edge.web.v1").unwrap().value();
    assert_eq!(held["metadata"]["labels"]["is"], "two");
    assert!(
        held["spec"].as_object().unwrap().contains_key("nothing"),
        "a null is content"
    );
    host.write(write(Expect::Rv(next), None)).await.unwrap();
    assert!(mirror.get("shop", "edge.web.v1").is_none());
    assert_eq!(kept(&world).await, None);
}

#[tokio::test]
async fn a_lost_answer_makes_neither_a_duplicate_nor_an_error() {
    let world = World::new().await;
    let (host, _) = world.host(1).await;
    world.seen.lose(&format!("POST {RECORDS}"));
    let version = host
        .write(write(Expect::Absent, Some(revision("one"))))
        .await
        .unwrap();
    assert_eq!(label(&kept(&world).await.unwrap()), "one");
    world.seen.lose(&format!("PATCH {RECORDS}"));
    let next = host
        .write(write(Expect::Rv(version), Some(revision("two"))))
        .await
        .unwrap();
    assert!(
        next > version,
        "it is known at the version of the write that was lost"
    );
    assert_eq!(label(&kept(&world).await.unwrap()), "two");
    world.seen.lose(&format!("DELETE {RECORDS}"));
    host.write(write(Expect::Rv(next), None)).await.unwrap();
    assert_eq!(kept(&world).await, None);
}

#[tokio::test]
async fn what_another_one_wrote_is_a_conflict_and_stays() {
    let world = World::new().await;
    let (host, _) = world.host(1).await;
    let version = host
        .write(write(Expect::Absent, Some(revision("one"))))
        .await
        .unwrap();
    let again = host
        .write(write(Expect::Absent, Some(revision("other"))))
        .await;
    assert!(
        matches!(again, Err(CommitError::Conflict { .. })),
        "{again:?}"
    );
    let next = host
        .write(write(Expect::Rv(version), Some(revision("two"))))
        .await
        .unwrap();
    let late = host
        .write(write(Expect::Rv(version), Some(revision("late"))))
        .await;
    assert!(
        matches!(late, Err(CommitError::Conflict { .. })),
        "{late:?}"
    );
    let gone = host.write(write(Expect::Rv(version), None)).await;
    assert!(
        matches!(gone, Err(CommitError::Conflict { .. })),
        "a removal names what was decided on: {gone:?}"
    );
    assert_eq!(label(&kept(&world).await.unwrap()), "two");
    host.write(write(Expect::Any, Some(revision("repaired"))))
        .await
        .unwrap();
    assert_eq!(label(&kept(&world).await.unwrap()), "repaired");
    assert!(next > version);
}

#[tokio::test]
async fn nothing_is_written_outside_of_the_term_nor_in_an_older_one() {
    let world = World::new().await;
    let (host, term) = world.host(5).await;
    let version = host
        .write(write(Expect::Absent, Some(revision("one"))))
        .await
        .unwrap();
    term.end();
    let asked = world.seen.asked("PATCH");
    let late = host
        .write(write(Expect::Rv(version), Some(revision("late"))))
        .await;
    assert!(matches!(late, Err(CommitError::Storage(_))), "{late:?}");
    assert_eq!(
        world.seen.asked("PATCH"),
        asked,
        "the cluster is not even asked"
    );
    // Another process that believes in a term before: the cluster itself says no.
    let (old, _) = world.host(4).await;
    let refused = old
        .write(write(Expect::Rv(version), Some(revision("old"))))
        .await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(label(&kept(&world).await.unwrap()), "one");
}

#[tokio::test]
async fn a_cluster_that_is_away_is_no_verdict_on_what_was_expected() {
    let world = World::new().await;
    let (host, _) = world.host(1).await;
    world.seen.away.store(true, Ordering::SeqCst);
    let failed = host
        .write(write(Expect::Absent, Some(revision("one"))))
        .await;
    assert!(matches!(failed, Err(CommitError::Storage(_))), "{failed:?}");
    world.seen.away.store(false, Ordering::SeqCst);
    host.write(write(Expect::Absent, Some(revision("one"))))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_record_that_is_too_large_is_refused_before_anything_is_sent() {
    let world = World::new().await;
    let (host, _) = world.host(1).await;
    let mut large = revision("large");
    large["spec"]["text"] = "x".repeat(1 << 20).into();
    let refused = host
        .write(write(Expect::Absent, Some(large)))
        .await
        .unwrap_err();
    let text = format!("{refused:?}");
    assert!(text.contains("1048576 at most"), "{text}");
    assert_eq!(world.seen.asked(&format!("POST {RECORDS}")), 0);
}

#[tokio::test]
async fn a_record_that_somebody_else_removes_is_a_loss_and_ours_is_none() {
    let world = World::new().await;
    let (host, _) = world.host(1).await;
    let namespaces = super::super::namespaces::resource();
    let shop = world
        .remote()
        .get(&namespaces, "", "shop")
        .await
        .unwrap()
        .unwrap();
    host.seen.put("namespaces", shop);
    let soon = std::time::Duration::from_millis(300);
    let version = host
        .write(write(Expect::Absent, Some(revision("one"))))
        .await
        .unwrap();
    let removed = async { host.write(write(Expect::Rv(version), None)).await };
    let (loses, done) = tokio::join!(tokio::time::timeout(soon, host.records.loses()), removed);
    assert!(done.is_ok() && loses.is_err(), "a removal of ours is none");
    host.write(write(Expect::Absent, Some(revision("two"))))
        .await
        .unwrap();
    let record = kept(&world).await.unwrap();
    let uid = record["metadata"]["uid"].as_str().unwrap();
    let (remote, resource) = (world.remote(), records::resource());
    let removed = remote.delete(&resource, ("shop", "edge.web.v1"), (uid, None));
    let loses = tokio::time::timeout(soon * 10, host.records.loses());
    let (loses, done) = tokio::join!(loses, removed);
    assert!(done.is_ok() && loses.is_ok());
    tokio::time::sleep(soon).await;
    let mirror = host.records.mirror().unwrap();
    assert!(
        mirror.get("shop", "edge.web.v1").is_some(),
        "until the holder ends nothing is decided on what lacks it"
    );
}

#[tokio::test]
async fn no_write_is_waited_for_beyond_the_term() {
    let world = World::new().await;
    let (host, term) = world.host(1).await;
    let left = std::time::Duration::from_millis(500);
    term.renewed(1, (boot_time() + left).saturating_sub(GRACE));
    world
        .seen
        .lose_of(&format!("POST {RECORDS}"), Loss::Silence);
    let write = host.write(write(Expect::Absent, Some(revision("one"))));
    // Whoever waited for as long as for any answer would wait twice as long.
    let written = tokio::time::timeout(GRACE, write).await;
    assert!(
        written.is_ok_and(|written| written.is_err()),
        "it is given up when the term ends"
    );
    assert!(world.seen.has_lost());
}
