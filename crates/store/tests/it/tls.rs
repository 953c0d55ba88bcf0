//! Remotes over TLS: trusted through the user's bundle, and not otherwise.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use model::Class;
use store::conformance::World as _;
use store::{Credential, CredentialError, Credentials, GitOptions, NoCredentials, RemoteSpec};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::http::Remote;
use crate::local::{draft_on, head, who};
use crate::oracle::available;

/// A certificate for `localhost`, signed by itself.
fn certificate() -> rcgen::CertifiedKey<rcgen::KeyPair> {
    rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap()
}

/// Ends TLS in front of a server that speaks without; where it listens.
async fn terminate(server: SocketAddr, key: &rcgen::CertifiedKey<rcgen::KeyPair>) -> u16 {
    let chain = vec![key.cert.der().clone()];
    let secret = PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into());
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust us goes away.
                let Ok(mut inside) = acceptor.accept(stream).await else {
                    return;
                };
                let mut outside = TcpStream::connect(server).await.unwrap();
                drop(tokio::io::copy_bidirectional(&mut inside, &mut outside).await);
            });
        }
    });
    port
}

struct Trusting(Vec<u8>);

#[async_trait]
impl Credentials for Trusting {
    async fn credential(&self, _url: &str) -> Result<Credential, CredentialError> {
        Ok(Credential::None)
    }

    async fn ca_bundle(&self, _url: &str) -> Result<Option<Vec<u8>>, CredentialError> {
        Ok(Some(self.0.clone()))
    }
}

async fn certificates_decide(options: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(options);
    let key = certificate();
    let port = terminate(world.server.address(), &key).await;
    let spec = |host: &str, credentials: Arc<dyn Credentials>| {
        let mut spec = RemoteSpec::new(format!("https://{host}:{port}/repo.git"));
        spec.branch = Some("main".to_owned());
        spec.create_branch = Some(who());
        RemoteSpec {
            credentials,
            ..spec
        }
    };
    let trusting = || Arc::new(Trusting(key.cert.pem().into_bytes()));
    // Nobody vouches for it; somebody else does; the name is another.
    let other = Arc::new(Trusting(certificate().cert.pem().into_bytes()));
    let wrong = || {
        [
            spec("localhost", Arc::new(NoCredentials)),
            spec("localhost", Arc::clone(&other) as Arc<dyn Credentials>),
        ]
    };
    for wrong in wrong().into_iter().chain([spec("127.0.0.1", trusting())]) {
        let error = world.store().open(wrong).await.err().unwrap();
        assert_eq!(error.class(), Class::Unavailable, "{error}");
        assert!(
            world.server.requests().is_empty(),
            "nothing was said to a stranger"
        );
    }
    let repo = world
        .store()
        .open(spec("localhost", trusting()))
        .await
        .unwrap();
    let id = draft_on(&*repo, "safe").await;
    assert_eq!(head(&world.served(), "refs/heads/drafts/safe/ws"), Some(id));
    assert!(repo.fetch().await.unwrap().values().any(|c| *c == id));
    // What one registration trusts vouches for the address to no other one, also once there is a mirror.
    for _ in 0..2 {
        let said = world.server.requests().len();
        for wrong in wrong() {
            let error = world.store().open(wrong).await.err().unwrap();
            assert_eq!(error.class(), Class::Unavailable, "{error}");
        }
        assert_eq!(world.server.requests().len(), said);
        assert!(repo.fetch().await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_decide_directly() {
    certificates_decide(GitOptions::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_decide_through_the_program() {
    certificates_decide(GitOptions {
        direct: false,
        ..GitOptions::default()
    })
    .await;
}
