//! The Lease: one holds it, terms grow, and whoever loses it knows.

use std::sync::atomic::Ordering;
use std::time::Duration;

use apiserver::ResourceName;
use serde_json::json;

use super::super::holder;
use super::super::records;
use super::world::{Loss, World};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/offshoot-system/leases";

fn leases() -> ResourceName {
    ResourceName::new("coordination.k8s.io", "v1", "leases")
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, what).await.expect("in time")
}

#[tokio::test]
async fn one_takes_it_and_who_waits_gets_it_when_it_is_released() {
    let world = World::new().await;
    let (first, term) = world.lease("a");
    assert_eq!(soon(first.acquire()).await.unwrap(), 1);
    assert!(term.is_on());
    let (second, waits) = world.lease("b");
    let taken = tokio::spawn({
        let second = second.clone();
        async move { second.acquire().await }
    });
    let mut heard = second.heard();
    soon(heard.wait_for(|held| held.holder == "a"))
        .await
        .unwrap();
    assert_eq!(
        heard.borrow().address,
        "a:10250",
        "a standby knows where the holder is"
    );
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!taken.is_finished() && !waits.is_on(), "one holds it");
    first.release().await;
    assert!(!term.is_on());
    assert_eq!(
        soon(taken).await.unwrap().unwrap(),
        2,
        "a term is never used again"
    );
    assert!(waits.is_on());
}

#[tokio::test]
async fn a_term_is_above_every_record_even_without_a_lease() {
    let world = World::new().await;
    let remote = world.remote();
    let record = api::write_record(("shop", "edge.web.v1"), 41, None, None);
    remote
        .create(&records::resource(), "shop", &record)
        .await
        .unwrap();
    let (lease, _) = world.lease("a");
    assert_eq!(soon(lease.acquire()).await.unwrap(), 42);
}

#[tokio::test]
async fn who_loses_it_is_told_and_writes_no_more() {
    let world = World::new().await;
    let (lease, term) = world.lease("a");
    let number = soon(lease.acquire()).await.unwrap();
    let remote = world.remote();
    let found = remote
        .get(&leases(), "offshoot-system", "offshoot")
        .await
        .unwrap()
        .unwrap();
    let uid = found["metadata"]["uid"].as_str().unwrap();
    remote
        .delete(&leases(), ("offshoot-system", "offshoot"), (uid, None))
        .await
        .unwrap();
    let lost = soon(lease.hold(number)).await;
    assert!(
        lost.to_string()
            .contains("offshoot-system/offshoot is lost"),
        "{lost}"
    );
    assert!(!term.is_on());
    let (other, _) = world.lease("b");
    assert_eq!(
        soon(other.acquire()).await.unwrap(),
        1,
        "a Lease that is gone locks nobody out"
    );
}

#[tokio::test]
async fn another_holder_ends_this_one() {
    let world = World::new().await;
    let (lease, term) = world.lease("a");
    let number = soon(lease.acquire()).await.unwrap();
    let place = ("offshoot-system", "offshoot", "");
    let patch = json!({"spec": {"holderIdentity": "b"}});
    let media = "application/merge-patch+json";
    world
        .remote()
        .patch(&leases(), place, media, &patch)
        .await
        .unwrap();
    let lost = soon(lease.hold(number)).await;
    assert!(lost.to_string().contains("\"b\" holds it"), "{lost}");
    assert!(!term.is_on());
}

#[tokio::test]
async fn records_of_a_newer_format_are_not_written_over() {
    let world = World::new().await;
    let (first, _) = world.lease("a");
    soon(first.acquire()).await.unwrap();
    let place = ("offshoot-system", "offshoot", "");
    let newer = (api::RECORD_FORMAT + 1).to_string();
    let patch = json!({"metadata": {"annotations": {"offshoot.dev/format": newer}}, "spec": {"holderIdentity": ""}});
    let media = "application/merge-patch+json";
    world
        .remote()
        .patch(&leases(), place, media, &patch)
        .await
        .unwrap();
    let (second, term) = world.lease("b");
    let waits = tokio::time::timeout(Duration::from_millis(800), second.acquire()).await;
    assert!(
        waits.is_err() && !term.is_on(),
        "an older version only forwards"
    );
}

#[tokio::test]
async fn a_term_begins_when_its_marker_came_back() {
    let world = World::new().await;
    let (host, _) = world.host(7).await;
    let remote = world.remote();
    soon(holder::mark(&remote, &host.records, "offshoot-system", 7))
        .await
        .unwrap();
    soon(holder::mark(&remote, &host.records, "offshoot-system", 8))
        .await
        .unwrap();
    let marker = remote
        .get(&records::resource(), "offshoot-system", "offshoot-term")
        .await;
    assert_eq!(marker.unwrap().unwrap()["spec"]["term"], 8);
    let mirror = host.records.mirror().unwrap();
    assert!(
        mirror.get("offshoot-system", "offshoot-term").is_none(),
        "a marker is no package revision"
    );
    let back = tokio::time::timeout(Duration::from_millis(200), host.records.heard_of(9)).await;
    assert!(back.is_err(), "nobody marked that term");
}

#[tokio::test]
async fn a_term_that_nobody_can_have_had_locks_nobody_out() {
    let world = World::new().await;
    let (first, _) = world.lease("a");
    soon(first.acquire()).await.unwrap();
    let place = ("offshoot-system", "offshoot", "");
    let forged = json!({
        "metadata": {"annotations": {"offshoot.dev/term": i64::MAX.to_string()}},
        "spec": {"holderIdentity": ""},
    });
    let media = "application/merge-patch+json";
    world
        .remote()
        .patch(&leases(), place, media, &forged)
        .await
        .unwrap();
    let record = api::write_record(("shop", "edge.web.v1"), 7, None, None);
    let remote = world.remote();
    remote
        .create(&records::resource(), "shop", &record)
        .await
        .unwrap();
    let (second, _) = world.lease("b");
    assert_eq!(soon(second.acquire()).await.unwrap(), 8);
}

#[tokio::test]
async fn the_holders_address_is_put_back() {
    let world = World::new().await;
    let (lease, term) = world.lease("a");
    let number = soon(lease.acquire()).await.unwrap();
    let holding = tokio::spawn({
        let lease = lease.clone();
        async move { lease.hold(number).await }
    });
    let place = ("offshoot-system", "offshoot", "");
    let forged = json!({"metadata": {"annotations": {"offshoot.dev/address": "127.0.0.1:1"}}});
    let media = "application/merge-patch+json";
    world
        .remote()
        .patch(&leases(), place, media, &forged)
        .await
        .unwrap();
    let put_back = async {
        loop {
            let now = world
                .remote()
                .get(&leases(), place.0, place.1)
                .await
                .unwrap()
                .unwrap();
            if now["metadata"]["annotations"]["offshoot.dev/address"] == "a:10250" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon(put_back).await;
    assert!(!holding.is_finished() && term.is_on());
    holding.abort();
}

#[tokio::test]
async fn a_lease_whose_answer_was_lost_is_held_in_the_same_term() {
    let world = World::new().await;
    world.seen.lose(&format!("POST {LEASES}"));
    let (lease, term) = world.lease("a");
    assert_eq!(
        soon(lease.acquire()).await.unwrap(),
        1,
        "it is not waited for, as if it were another one's"
    );
    assert!(term.is_on());
    lease.release().await;
    world.seen.lose(&format!("PATCH {LEASES}"));
    assert_eq!(soon(lease.acquire()).await.unwrap(), 2);
    assert!(world.seen.has_lost() && term.is_on());
}

#[tokio::test]
async fn a_renewal_that_nobody_answers_costs_no_term() {
    let world = World::new().await;
    let (lease, term) = world.lease("a");
    let number = soon(lease.acquire()).await.unwrap();
    let holding = tokio::spawn({
        let lease = lease.clone();
        async move { lease.hold(number).await }
    });
    world
        .seen
        .lose_of(&format!("PATCH {LEASES}"), Loss::Silence);
    let renewed_since = async {
        while !world.seen.has_lost() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let before = world.seen.asked(&format!("PATCH {LEASES}"));
        while world.seen.asked(&format!("PATCH {LEASES}")) == before {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon(renewed_since).await;
    assert!(!holding.is_finished() && term.is_on());
    holding.abort();
}

#[tokio::test]
async fn a_lease_is_handed_over_though_the_first_request_never_arrived() {
    let world = World::new().await;
    let (lease, _) = world.lease("a");
    soon(lease.acquire()).await.unwrap();
    world
        .seen
        .lose_of(&format!("PATCH {LEASES}"), Loss::Request);
    lease.release().await;
    let now = world
        .remote()
        .get(&leases(), "offshoot-system", "offshoot")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(now["spec"]["holderIdentity"], "");
}

/// The deadline has passed: nothing is written, and what the Lease says decides whether the term goes on.
#[tokio::test]
async fn whoever_is_late_goes_on_if_nobody_took_the_lease() {
    let world = World::new().await;
    let (lease, term) = world.lease("a");
    let number = soon(lease.acquire()).await.unwrap();
    let holding = tokio::spawn({
        let lease = lease.clone();
        async move { lease.hold(number).await }
    });
    term.end();
    world.seen.away.store(true, Ordering::SeqCst);
    let tried = async {
        let asked = || world.seen.asked(&format!("GET {LEASES}/offshoot"));
        let before = asked();
        while asked() < before + 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon(tried).await;
    assert!(
        !holding.is_finished() && !term.is_on(),
        "it waits, and writes nothing"
    );
    world.seen.away.store(false, Ordering::SeqCst);
    let on = async {
        while !term.is_on() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon(on).await;
    assert_eq!(term.number(), number);
    assert!(!holding.is_finished());
    holding.abort();
}

#[tokio::test]
async fn whoever_is_late_ends_if_somebody_took_the_lease() {
    let world = World::new().await;
    let (lease, term) = world.lease("a");
    let number = soon(lease.acquire()).await.unwrap();
    let place = ("offshoot-system", "offshoot", "");
    // Somebody had it and gave it back: the term tells.
    let patch = json!({"metadata": {"annotations": {"offshoot.dev/term": "2"}}, "spec": {"holderIdentity": "a"}});
    let media = "application/merge-patch+json";
    let remote = world.remote();
    remote.patch(&leases(), place, media, &patch).await.unwrap();
    term.end();
    let lost = soon(lease.hold(number)).await;
    assert!(lost.to_string().contains("in term 2"), "{lost}");
    assert!(!term.is_on());
}
