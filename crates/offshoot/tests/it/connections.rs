//! Thousands of connections that never ask, at a server that may have 256 files open: everybody else is served.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::edges::{
    CORE, REVISIONS, VARIANTS, checkout, commit, register, until, until_there, variant,
};
use crate::process::{Process, bare, git, push};

/// Connections of each kind, unless `OFFSHOOT_CONNECTIONS` says otherwise.
const MANY: usize = 400;

/// The beginning of a conversation in HTTP 2: the preface and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A ping of HTTP 2.
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0stranger";

/// Somebody who connects and never asks.
struct Stranger {
    address: String,
    token: String,
    /// A token of somebody else, who may write.
    other: String,
    one: TlsConnector,
    two: TlsConnector,
}

impl Stranger {
    fn of(root: &Path, other: String) -> Self {
        let text = std::fs::read_to_string(root.join("data/kubeconfig")).unwrap();
        let field = |name: &str| {
            let line = text.lines().find_map(|l| l.trim().strip_prefix(name));
            line.unwrap().trim().to_owned()
        };
        let config = |protocols: &[&[u8]]| {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let mut roots = rustls::RootCertStore::empty();
            let pem = root.join("data/pki/ca.crt");
            let ca = <rustls::pki_types::CertificateDer<'_> as rustls::pki_types::pem::PemObject>::from_pem_file(pem);
            roots.add(ca.unwrap()).unwrap();
            let mut config = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth();
            config.alpn_protocols = protocols.iter().map(|p| p.to_vec()).collect();
            TlsConnector::from(Arc::new(config))
        };
        Self {
            address: field("server: https://"),
            token: field("token:"),
            other,
            one: config(&[]),
            two: config(&[b"h2"]),
        }
    }

    async fn plain(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.unwrap()
    }

    async fn greet(&self, connector: &TlsConnector) -> TlsStream<TcpStream> {
        let name = "localhost".try_into().unwrap();
        connector.connect(name, self.plain().await).await.unwrap()
    }

    /// One connection of a kind.
    async fn connect(&self, kind: &str) -> Held {
        match kind {
            "plain" => return Held::Plain(self.plain().await),
            "pings" => {
                let mut stream = self.greet(&self.two).await;
                stream.write_all(PREFACE).await.unwrap();
                stream.write_all(PING).await.unwrap();
                return Held::Tls(stream);
            }
            _ => {}
        }
        let mut stream = self.greet(&self.one).await;
        let authorization = format!("authorization: Bearer {}\r\n", self.token);
        match kind {
            "kept" => {
                let request = format!("GET /version HTTP/1.1\r\nhost: x\r\n{authorization}\r\n");
                stream.write_all(request.as_bytes()).await.unwrap();
                let mut some = [0; 4096];
                assert!(stream.read(&mut some).await.unwrap() > 0);
            }
            "headers" => {
                let request = format!("GET /version HTTP/1.1\r\n{authorization}x-long: ");
                stream.write_all(request.as_bytes()).await.unwrap();
            }
            "body" => {
                let request = format!(
                    "POST {CORE}/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 100\r\n\r\n{{",
                    self.other
                );
                stream.write_all(request.as_bytes()).await.unwrap();
            }
            _ => {}
        }
        Held::Tls(stream)
    }
}

/// A connection that is held.
#[expect(dead_code, reason = "it is held, and nothing else")]
#[expect(clippy::large_enum_variant, reason = "a test has memory")]
enum Held {
    Plain(TcpStream),
    Tls(TlsStream<TcpStream>),
}

/// A token of a service account that may write config maps.
async fn account(server: &Process) -> String {
    let binding = json!({
        "metadata": { "name": "slow" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "default" }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    server.create(bindings, &binding).await;
    let accounts = format!("{CORE}/serviceaccounts/default");
    until_there(server, &accounts).await;
    let request =
        json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let answer = server
        .client
        .post(&format!("{accounts}/token"), &request)
        .await;
    answer.unwrap()["status"]["token"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// What somebody at work does: reads, writes, has a draft made, and reads what git was told.
async fn work(server: &Process, root: &Path, name: &str) {
    let soon = async {
        server.create(VARIANTS, &variant(name, "commented")).await;
        until(server, &format!("{VARIANTS}/{name}"), "Ready", |c| {
            c.0 == "True"
        })
        .await;
    };
    let done = tokio::time::timeout(Duration::from_secs(30), soon).await;
    assert!(done.is_ok(), "{name}: no answer");
    let refs = git(
        &bare(root, "deploy"),
        &["for-each-ref", "refs/heads/drafts"],
    );
    assert!(refs.contains(&format!("drafts/{name}/")), "{refs}");
    // And git is started: a person's push is fetched.
    let checkout = checkout(root, "blueprints");
    commit(&checkout, &format!("commented/{name}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_never_ask_shut_nobody_out() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = Process::start_with_files(root, 256).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    push(root, "blueprints", "commented", "v1");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v1")).await;
    let many = std::env::var("OFFSHOOT_CONNECTIONS").ok();
    let many = many.and_then(|n| n.parse().ok()).unwrap_or(MANY);
    let stranger = Stranger::of(root, account(&server).await);
    for kind in ["plain", "greeted", "kept", "headers", "pings", "body"] {
        let mut held = Vec::new();
        for _ in 0..many {
            match tokio::time::timeout(Duration::from_secs(10), stranger.connect(kind)).await {
                Ok(one) => held.push(one),
                Err(_) => panic!("{kind}: the server does not answer after {}", held.len()),
            }
        }
        work(&server, root, kind).await;
        assert_eq!(held.len(), many);
    }
    let page = server.client.text("/metrics").await.unwrap();
    let closed =
        |line: &&str| line.starts_with("offshoot_connections_ended_total{reason=\"room\"}");
    let closed = page.lines().find(closed).and_then(|l| l.rsplit_once(' '));
    let closed: usize = closed.unwrap().1.parse().unwrap();
    // Some end by their own answers, a refused body for one: how many depends on who is faster.
    assert!(closed > 2 * many, "{page}");
    let log = std::fs::read_to_string(root.join("stderr")).unwrap();
    assert!(log.contains("too many connections"), "{log}");
    assert!(
        log.lines().count() < 100 && !log.contains("os error 24"),
        "{log}"
    );
}
