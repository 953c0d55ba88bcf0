use std::sync::Arc;
use std::sync::atomic::Ordering;

use apiserver::Authority;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};

use super::super::world::World;
use super::*;

const SECRET: &str = "/api/v1/namespaces/default/secrets/offshoot-serving";
const SERVICE: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.porch.kpt.dev";
const HOOK: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/offshoot-written-by";
const NAME: &str = "offshoot.default.svc";

fn source() -> CertificateSource {
    CertificateSource::Secret {
        namespace: "default".to_owned(),
        name: "offshoot-serving".to_owned(),
        dns: vec![NAME.to_owned()],
    }
}

async fn open(world: &World) -> Result<Serving, String> {
    let serving = Serving::open(world.client(), source()).await;
    serving.map_err(|error| chain(&error))
}

/// Follows in a task.
async fn followed(world: &World, source: CertificateSource) -> Arc<Serving> {
    let serving = Arc::new(Serving::open(world.client(), source).await.unwrap());
    let follow = Arc::clone(&serving);
    tokio::spawn(async move { follow.follow().await });
    serving
}

/// Whether a client that trusts this authority talks to whoever shows the certificate, under a name.
async fn trusts(serving: &Serving, authority: &str, name: &str) -> bool {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(serving.certificate().clone()));
    let mut roots = rustls::RootCertStore::empty();
    for one in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(one.unwrap()).unwrap();
    }
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let (here, there) = tokio::io::duplex(1 << 16);
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
    let connector = tokio_rustls::TlsConnector::from(Arc::new(client));
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let (_, connected) = tokio::join!(acceptor.accept(here), connector.connect(name, there));
    connected.is_ok()
}

fn decoded(value: &Value) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap());
    String::from_utf8(bytes.unwrap()).unwrap()
}

async fn eventually(world: &World, path: &str, at: &str, done: impl Fn(&Value) -> bool) {
    for _ in 0..500 {
        let object = world.get(path).await;
        if object.pointer(at).is_some_and(&done) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within 5 s: {}", world.get(path).await);
}

fn service(label: &str) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1alpha1.porch.kpt.dev", "labels": {"offshoot.dev/serving": label}},
        "spec": {
            "group": "porch.kpt.dev", "version": "v1alpha1", "groupPriorityMinimum": 1000, "versionPriority": 15,
            "service": {"name": "offshoot", "namespace": "default", "port": 443},
        },
    })
}

fn hook() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "offshoot-written-by", "labels": {"offshoot.dev/serving": "own-ca"}},
        "webhooks": [{
            "name": "written-by.offshoot.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "offshoot", "namespace": "default", "path": "/written-by"}},
        }],
    })
}

const BUNDLE: &str = "/spec/caBundle";
const HOOK_BUNDLE: &str = "/webhooks/0/clientConfig/caBundle";

#[tokio::test]
async fn replicas_that_come_at_once_share_one_authority() {
    let world = World::new().await;
    world.seen.slow.store(5, Ordering::SeqCst);
    let all = futures::future::join_all((0..5).map(|_| open(&world))).await;
    let all: Vec<Serving> = all.into_iter().map(Result::unwrap).collect();
    let secret = world.get(SECRET).await;
    let authority = decoded(&secret["data"]["ca.crt"]);
    for serving in &all {
        assert_eq!(serving.authority().as_deref(), Some(authority.as_str()));
        assert!(trusts(serving, &authority, NAME).await);
        assert!(!trusts(serving, &authority, "other.default.svc").await);
    }
    let other = Authority::make(2).unwrap();
    assert!(!trusts(&all[0], &other.ca_pem, NAME).await);
    assert_eq!(
        world.seen.asked("POST /api/v1/namespaces/default/secrets"),
        5
    );
    assert_eq!(world.seen.asked("PUT"), 0);
    // One that comes later makes none.
    let late = open(&world).await.unwrap();
    assert_eq!(late.authority(), all[0].authority());
}

#[tokio::test]
async fn an_empty_secret_is_filled_and_somebody_elses_is_left_alone() {
    let world = World::new().await;
    let secret = |data: Value| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "data": data,
            "metadata": {"name": "offshoot-serving", "namespace": "default", "labels": {"a": "b"}},
        })
    };
    world
        .apply(SECRET, secret(json!({"password": "eA=="})))
        .await;
    assert_eq!(
        open(&world).await.unwrap_err(),
        "secret default/offshoot-serving holds something, but not the keys ca.crt and ca.key: remove it, or name another"
    );
    world
        .apply(SECRET, secret(json!({"ca.crt": "eA==", "ca.key": "eA=="})))
        .await;
    let why = open(&world).await.unwrap_err();
    assert!(
        why.starts_with("use the certificate of default/offshoot-serving: "),
        "{why}"
    );
    assert_eq!(world.seen.asked("PUT"), 0);
    world.apply(SECRET, secret(json!({}))).await;
    let serving = open(&world).await.unwrap();
    let filled = world.get(SECRET).await;
    assert_eq!(filled["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(
        Some(decoded(&filled["data"]["ca.crt"])),
        serving.authority()
    );
}

#[tokio::test]
async fn an_authority_is_renewed_before_it_ends_and_what_it_signed_stays_valid() {
    let world = World::new().await;
    let old = Authority::make(300).unwrap();
    let text = json!({"ca.crt": old.ca_pem, "ca.key": old.key_pem()});
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": text,
        "metadata": {"name": "offshoot-serving", "namespace": "default"},
    });
    world.apply(SECRET, secret).await;
    let serving = open(&world).await.unwrap();
    let renewed = serving.authority().unwrap();
    assert_ne!(renewed, old.ca_pem);
    let held = world.get(SECRET).await;
    assert_eq!(decoded(&held["data"]["ca.crt"]), renewed);
    assert_eq!(decoded(&held["data"]["ca.key"]), old.key_pem());
    // The cluster may know either, and so may a certificate be of before.
    assert!(trusts(&serving, &old.ca_pem, NAME).await);
    assert!(trusts(&serving, &renewed, NAME).await);
    let leaf = old.issue_server(vec![NAME.to_owned()], 2).unwrap();
    serving.certificate().replace(&leaf).unwrap();
    assert!(trusts(&serving, &renewed, NAME).await);
    assert_eq!(open(&world).await.unwrap().authority(), Some(renewed));
}

#[tokio::test]
async fn the_authority_is_written_where_it_is_asked_for_and_kept_there() {
    let world = World::new().await;
    world.apply(SERVICE, service("own-ca")).await;
    world.apply(HOOK, hook()).await;
    let other = SERVICE.replace("porch.kpt.dev", "other.dev");
    let mut theirs = service("theirs");
    theirs["metadata"]["name"] = "v1alpha1.other.dev".into();
    theirs["spec"]["group"] = "other.dev".into();
    world.apply(&other, theirs).await;
    let serving = followed(&world, source()).await;
    let authority = serving.authority().unwrap();
    let ours = |value: &Value| decoded(value) == authority;
    eventually(&world, SERVICE, BUNDLE, ours).await;
    eventually(&world, HOOK, HOOK_BUNDLE, ours).await;
    let patches = || world.seen.asked("PATCH") - 3;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(patches(), 2);
    // An upgrade puts them back.
    let reset = json!([{"op": "add", "path": BUNDLE, "value": "b2xk"}]);
    world.patch(SERVICE, reset).await;
    eventually(&world, SERVICE, BUNDLE, ours).await;
    let webhook = world.get(HOOK).await;
    assert_eq!(
        webhook["webhooks"][0]["clientConfig"]["service"]["path"],
        "/written-by"
    );
    assert_eq!(world.get(&other).await.pointer(BUNDLE), None);
}

#[tokio::test]
async fn whoever_empties_the_secret_gets_another_authority_without_a_restart() {
    let world = World::new().await;
    world.apply(SERVICE, service("own-ca")).await;
    let serving = followed(&world, source()).await;
    let old = serving.authority().unwrap();
    eventually(&world, SERVICE, BUNDLE, |value| decoded(value) == old).await;
    world
        .patch(SECRET, json!([{"op": "remove", "path": "/data"}]))
        .await;
    eventually(&world, SERVICE, BUNDLE, |value| decoded(value) != old).await;
    let new = serving.authority().unwrap();
    assert!(trusts(&serving, &new, NAME).await);
    assert!(!trusts(&serving, &old, NAME).await);
    assert_eq!(decoded(&world.get(SECRET).await["data"]["ca.crt"]), new);
}

#[tokio::test]
async fn a_cluster_that_is_down_is_named() {
    let world = World::new().await;
    world.seen.down.store(true, Ordering::SeqCst);
    let why = open(&world).await.unwrap_err();
    assert!(
        why.starts_with("read secret default/offshoot-serving: "),
        "{why}"
    );
}

struct Files(tempfile::TempDir, Authority);

impl Files {
    fn write(&self, certificate: &str, key: &str) {
        for (name, text) in [
            ("tls.crt", certificate),
            ("tls.key", key),
            ("ca.crt", &self.1.ca_pem),
        ] {
            std::fs::write(self.0.path().join(name), text).unwrap();
        }
    }
}

#[tokio::test]
async fn files_are_read_again_when_they_change_and_a_half_written_pair_shows_nothing() {
    let world = World::new().await;
    let files = Files(tempfile::tempdir().unwrap(), Authority::make(9).unwrap());
    let source = CertificateSource::Directory(files.0.path().to_owned());
    let why = Serving::open(world.client(), source.clone())
        .await
        .unwrap_err();
    assert!(
        chain(&why).contains("tls.crt: No such file"),
        "{}",
        chain(&why)
    );
    let issue = |name: &str| files.1.issue_server(vec![name.to_owned()], 9).unwrap();
    let (one, two) = (issue("one"), issue("two"));
    files.write(&one.certificate, &two.key);
    let why = Serving::open(world.client(), source.clone())
        .await
        .unwrap_err();
    assert!(
        chain(&why).starts_with("use the certificate of "),
        "{}",
        chain(&why)
    );
    files.write(&one.certificate, &one.key);
    world.apply(SERVICE, service("own-ca")).await;
    let serving = followed(&world, source).await;
    assert!(trusts(&serving, &files.1.ca_pem, "one").await);
    eventually(&world, SERVICE, BUNDLE, |value| {
        decoded(value) == files.1.ca_pem
    })
    .await;
    // The cluster is not asked any more; a look takes ten seconds.
    tokio::time::pause();
    files.write(&two.certificate, &one.key);
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert!(trusts(&serving, &files.1.ca_pem, "one").await);
    files.write(&two.certificate, &two.key);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(trusts(&serving, &files.1.ca_pem, "two").await);
    assert!(!trusts(&serving, &files.1.ca_pem, "one").await);
}
