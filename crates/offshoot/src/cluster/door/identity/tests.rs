use std::sync::atomic::Ordering;
use std::time::Duration;

use apiserver::Authority;
use http::Request;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::super::world::World;
use super::*;

const MAP: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
const REVIEWS: &str = "POST /apis/authentication.k8s.io/v1/tokenreviews";

/// What a cluster says of itself.
fn map(proxies: &str, clients: &str, allowed: &[&str]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": {
            "client-ca-file": clients,
            "requestheader-allowed-names": serde_json::to_string(allowed).unwrap(),
            "requestheader-client-ca-file": proxies,
            "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
            "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-uid-headers": "[\"X-Remote-Uid\"]",
            "requestheader-username-headers": "[\"X-Remote-User\"]",
        },
    })
}

/// The certificate of somebody, as a connection brings it.
fn shown(pem: &str) -> Chain {
    let all = CertificateDer::pem_slice_iter(pem.as_bytes());
    Chain(Arc::new(all.collect::<Result<_, _>>().unwrap()))
}

fn proxy_of(authority: &Authority) -> Chain {
    let issued = authority.issue("front-proxy-client", &[], 2).unwrap();
    shown(&issued.certificate)
}

struct Door {
    world: World,
    identity: Arc<Identity>,
    proxies: Authority,
    clients: Authority,
}

impl Door {
    /// A door that has read how the front proxy is recognised, and follows it.
    async fn new() -> Self {
        let world = World::new().await;
        let (proxies, clients) = (Authority::make(2).unwrap(), Authority::make(2).unwrap());
        let said = map(&proxies.ca_pem, &clients.ca_pem, &["front-proxy-client"]);
        world.apply(MAP, said).await;
        let identity = Arc::new(Identity::new(world.client()));
        let follow = Arc::clone(&identity);
        tokio::spawn(async move { follow.follow().await });
        until(|| identity.is_ready()).await;
        Self {
            world,
            identity,
            proxies,
            clients,
        }
    }

    async fn ask(&self, chain: Option<&Chain>, headers: &[(&str, &str)]) -> Result<User, u16> {
        ask(&self.identity, chain, headers).await
    }
}

async fn ask(
    identity: &Identity,
    chain: Option<&Chain>,
    headers: &[(&str, &str)],
) -> Result<User, u16> {
    let mut request = Request::get("/apis/porch.kpt.dev");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (mut parts, ()) = request.body(()).unwrap().into_parts();
    if let Some(chain) = chain {
        parts.extensions.insert(chain.clone());
    }
    let said = identity.identify(&parts).await;
    said.map_err(|failure| failure.code)
}

async fn soon<E: std::fmt::Debug>(changed: impl Future<Output = Result<(), E>>) {
    let changed = tokio::time::timeout(Duration::from_secs(5), changed).await;
    changed.expect("within 5 s").unwrap();
}

async fn until(done: impl Fn() -> bool) {
    for _ in 0..500 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within 5 s");
}

const ANN: [(&str, &str); 1] = [("X-Remote-User", "ann")];

#[tokio::test]
async fn the_front_proxy_is_believed_whoever_it_names() {
    let door = Door::new().await;
    let proxy = proxy_of(&door.proxies);
    let said = door
        .ask(
            Some(&proxy),
            &[
                ("X-Remote-User", "ann"),
                ("X-Remote-Uid", "u-1"),
                ("X-Remote-Group", "team"),
                ("X-Remote-Group", "system:authenticated"),
                ("X-Remote-Extra-Acme.com%2FScopes", "one"),
                ("X-Remote-Extra-Acme.com%2FScopes", "two"),
                ("X-Remote-Extra-100%", "kept"),
            ],
        )
        .await
        .unwrap();
    assert_eq!((said.name.as_str(), said.uid.as_str()), ("ann", "u-1"));
    assert_eq!(said.groups, ["team", "system:authenticated"]);
    let extra = json!({"acme.com/scopes": ["one", "two"], "100%": ["kept"]});
    assert_eq!(serde_json::to_value(&said.extra).unwrap(), extra);
    // It says nobody: then it is nobody.
    assert_eq!(door.ask(Some(&proxy), &[]).await, Err(401));
}

#[tokio::test]
async fn its_headers_count_for_nothing_from_anybody_else() {
    let door = Door::new().await;
    let other = Authority::make(2).unwrap();
    let name = "front-proxy-client";
    let (expired, misnamed) = (
        door.proxies.issue(name, &[], 0).unwrap(),
        door.proxies.issue("kubelet", &[], 2).unwrap(),
    );
    let server = door.proxies.issue_server(vec![name.to_owned()], 2).unwrap();
    let (user, expired) = (
        door.clients.issue(name, &[], 2).unwrap(),
        shown(&expired.certificate),
    );
    let misnamed = shown(&misnamed.certificate);
    for (chain, why) in [
        (None, "no certificate"),
        (Some(proxy_of(&other)), "another authority's"),
        (Some(expired), "expired"),
        (Some(misnamed), "another name"),
        (Some(shown(&server.certificate)), "a server's"),
        (Some(shown(&user.certificate)), "a user's"),
    ] {
        assert_eq!(door.ask(chain.as_ref(), &ANN).await, Err(401), "{why}");
        for header in ["X-Remote-Group", "X-Remote-Uid", "X-Remote-Extra-Scopes"] {
            let headers = [
                (header, "system:masters"),
                ("Authorization", "Bearer ann-token"),
            ];
            let said = door.ask(chain.as_ref(), &headers).await;
            assert_eq!(said, Err(401), "{why}, {header}");
        }
    }
}

#[tokio::test]
async fn a_rotation_needs_no_restart_and_what_cannot_be_read_changes_nothing() {
    let door = Door::new().await;
    let fresh = Authority::make(2).unwrap();
    let (old, new) = (proxy_of(&door.proxies), proxy_of(&fresh));
    assert_eq!(door.ask(Some(&new), &ANN).await, Err(401));
    let mut seen = door.identity.trust.subscribe();
    let both = format!("{}{}", door.proxies.ca_pem, fresh.ca_pem);
    door.world.apply(MAP, map(&both, "", &[])).await;
    soon(seen.changed()).await;
    for chain in [&old, &new] {
        assert_eq!(door.ask(Some(chain), &ANN).await.unwrap().name, "ann");
    }
    // From here on any name will do, and users have no authority.
    let any = shown(&fresh.issue("anybody", &[], 2).unwrap().certificate);
    assert_eq!(door.ask(Some(&any), &ANN).await.unwrap().name, "ann");
    seen.mark_unchanged();
    door.world.apply(MAP, map("no certificate", "", &[])).await;
    door.world.apply(MAP, map(&fresh.ca_pem, "", &[])).await;
    soon(seen.changed()).await;
    assert_eq!(door.ask(Some(&old), &ANN).await, Err(401));
    assert_eq!(door.ask(Some(&new), &ANN).await.unwrap().name, "ann");
}

#[tokio::test]
async fn a_client_certificate_of_the_cluster_names_its_user() {
    let door = Door::new().await;
    let of = |authority: &Authority, days| {
        let groups = ["team".to_owned()];
        shown(&authority.issue("bob", &groups, days).unwrap().certificate)
    };
    let bob = door.ask(Some(&of(&door.clients, 2)), &[]).await.unwrap();
    assert_eq!(bob.name, "bob");
    assert_eq!(bob.groups, ["team", "system:authenticated"]);
    let other = Authority::make(2).unwrap();
    assert_eq!(door.ask(Some(&of(&other, 2)), &[]).await, Err(401));
    assert_eq!(door.ask(Some(&of(&door.clients, 0)), &[]).await, Err(401));
    // A certificate that is not accepted does not spoil a token that is.
    let token = [("Authorization", "Bearer ann-token")];
    let ann = door.ask(Some(&of(&other, 2)), &token).await.unwrap();
    assert_eq!(ann.name, "ann");
}

#[tokio::test]
async fn a_token_is_judged_by_the_cluster_once() {
    let door = Door::new().await;
    door.world.seen.slow.store(20, Ordering::SeqCst);
    let good = [("Authorization", "Bearer ann-token")];
    let asked = futures::future::join_all((0..100).map(|_| door.ask(None, &good))).await;
    for said in asked {
        let ann = said.unwrap();
        assert_eq!((ann.name.as_str(), ann.groups.len()), ("ann", 2));
    }
    for _ in 0..3 {
        let bad = [("Authorization", "Bearer forged")];
        assert_eq!(door.ask(None, &bad).await, Err(401));
    }
    assert_eq!(door.world.seen.asked(REVIEWS), 2);
    for other in ["Basic YTpi", "Bearer", "Bearer  "] {
        let said = door.ask(None, &[("Authorization", other)]).await;
        assert_eq!(said, Err(401), "{other}");
    }
    assert_eq!(door.world.seen.asked(REVIEWS), 2);
}

#[tokio::test]
async fn a_verdict_on_a_token_that_is_lost_is_asked_for_again() {
    let door = Door::new().await;
    door.world.seen.lost.store(1, Ordering::SeqCst);
    let good = [("Authorization", "Bearer ann-token")];
    assert_eq!(door.ask(None, &good).await.unwrap().name, "ann");
}

#[tokio::test]
async fn a_cluster_that_cannot_be_asked_is_no_verdict_on_a_token() {
    let door = Door::new().await;
    let good = [("Authorization", "Bearer ann-token")];
    door.world.seen.down.store(true, Ordering::SeqCst);
    assert_eq!(door.ask(None, &good).await, Err(503));
    door.world.seen.down.store(false, Ordering::SeqCst);
    assert_eq!(door.ask(None, &good).await.unwrap().name, "ann");
}

#[tokio::test]
async fn before_anything_is_known_probes_are_answered_and_credentials_wait() {
    let world = World::new().await;
    let identity = Identity::new(world.client());
    assert!(!identity.is_ready());
    let nobody = ask(&identity, None, &[]).await.unwrap();
    assert_eq!(nobody.name, "system:anonymous");
    assert_eq!(nobody.groups, ["system:unauthenticated"]);
    let proxy = proxy_of(&Authority::make(2).unwrap());
    assert_eq!(ask(&identity, Some(&proxy), &ANN).await, Err(503));
    let token = [("Authorization", "Bearer ann-token")];
    assert_eq!(ask(&identity, None, &token).await, Err(503));
    assert_eq!(ask(&identity, None, &ANN).await, Err(503));
}
