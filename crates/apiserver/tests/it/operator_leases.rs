//! Replicas of an operator that elect one by a Lease.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, PostParams};

use crate::operator::{Place, metadata, until};

/// What a replica writes that holds a lease from now on.
fn held(me: &str, before: Option<&LeaseSpec>) -> LeaseSpec {
    let changes = before.is_some_and(|b| b.holder_identity.as_deref() != Some(me));
    let transitions = before.and_then(|b| b.lease_transitions);
    LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: Some(15),
        renew_time: Some(MicroTime(jiff::Timestamp::now())),
        lease_transitions: Some(transitions.unwrap_or_default() + i32::from(changes)),
        ..Default::default()
    }
}

/// Writes a lease that was read before; whether nobody else was first.
async fn take(api: &Api<Lease>, me: &str, seen: &Lease) -> bool {
    let lease = Lease {
        metadata: seen.metadata.clone(),
        spec: Some(held(me, seen.spec.as_ref())),
    };
    let replaced = api.replace("leader", &PostParams::default(), &lease).await;
    let conflict = matches!(&replaced, Err(kube::Error::Api(status)) if status.is_conflict());
    assert!(replaced.is_ok() || conflict, "{me}: {replaced:?}");
    replaced.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_fail_over_by_lease_and_never_lead_together() {
    let mut place = Place::new().await;
    let api: Api<Lease> = Api::namespaced(place.client().await, "default");
    let first = Lease {
        metadata: metadata("leader"),
        spec: Some(held("one", None)),
    };
    let made = api
        .create(&PostParams::default(), &first)
        .await
        .expect("create");
    let late = api.create(&PostParams::default(), &first).await;
    assert!(matches!(late, Err(kube::Error::Api(status)) if status.is_already_exists()));
    place.restart().await;
    until("a client comes in again", async || {
        api.get("leader").await.is_ok()
    })
    .await;
    assert!(
        take(&api, "one", &made).await,
        "the leader renews across a restart, by the version it had"
    );
    assert!(!take(&api, "one", &made).await, "once");

    // It goes without a word: of several that saw the same, one gets the lease.
    let (api, others) = (&api, ["two", "three", "four", "five"]);
    let seen = api.get("leader").await.expect("get");
    let tried = others.map(|me| take(api, me, &seen));
    let leaders = futures::future::join_all(tried).await;
    assert_eq!(
        leaders.iter().filter(|leads| **leads).count(),
        1,
        "{leaders:?}"
    );
    let lease = api.get("leader").await.expect("get").spec.expect("spec");
    assert_eq!(lease.lease_transitions, Some(1));
    assert!(!take(api, "one", &seen).await, "it has lost it");
}
