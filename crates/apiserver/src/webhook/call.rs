//! One HTTPS request to a webhook, from a runtime of its own: whoever asks may stand in any thread.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;

/// How long a webhook may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer.
const LIMIT: usize = 32 << 20;

/// How many calls are open at once; further ones wait for their turn within their time.
const OPEN: usize = 16;

/// Where a webhook is and whom it must be.
#[derive(Clone)]
pub(super) struct Endpoint {
    uri: http::Uri,
    tls: Arc<rustls::ClientConfig>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Endpoint({})", self.uri)
    }
}

impl Endpoint {
    /// Reads `clientConfig`.
    pub(super) fn read(config: &Value) -> Result<Self, String> {
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("url").is_empty() {
            return Err(
                "service references need a cluster's network: give clientConfig.url instead"
                    .to_owned(),
            );
        }
        let uri: http::Uri = text("url").parse().map_err(|e| format!("url: {e}"))?;
        if uri.scheme_str() != Some("https") || uri.host().is_none() {
            return Err("url: must be an https URL with a host".to_owned());
        }
        let bundle = base64::engine::general_purpose::STANDARD
            .decode(text("caBundle"))
            .map_err(|e| format!("caBundle: {e}"))?;
        if bundle.is_empty() {
            return Err("caBundle: required, the system's authorities are not trusted".to_owned());
        }
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&bundle) {
            let certificate = certificate.map_err(|e| format!("caBundle: {e}"))?;
            roots
                .add(certificate)
                .map_err(|e| format!("caBundle: {e}"))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| format!("TLS: {e}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            uri,
            tls: Arc::new(tls),
        })
    }
}

struct Calls {
    runtime: tokio::runtime::Runtime,
    turns: Arc<tokio::sync::Semaphore>,
}

static CALLS: LazyLock<Option<Calls>> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("webhooks")
        .enable_all()
        .build();
    Some(Calls {
        runtime: runtime.ok()?,
        turns: Arc::new(tokio::sync::Semaphore::new(OPEN)),
    })
});

/// Posts JSON and waits for the answer, for so long as a webhook may take.
pub(super) fn post(endpoint: &Endpoint, body: Bytes) -> Result<Bytes, String> {
    let calls = CALLS.as_ref().ok_or("no thread can be started for it")?;
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let (endpoint, turns) = (endpoint.clone(), Arc::clone(&calls.turns));
    let url = endpoint.uri.to_string();
    calls.runtime.spawn(async move {
        let asked = async {
            let _turn = turns.acquire().await.map_err(|e| e.to_string())?;
            send(&endpoint, body).await
        };
        let answer = tokio::time::timeout(PATIENCE, asked).await;
        let late = || Err("context deadline exceeded".to_owned());
        // Whoever asked may be gone.
        drop(tell.send(answer.unwrap_or_else(|_| late())));
    });
    let wait = || told.recv_timeout(PATIENCE + Duration::from_secs(1));
    let answer = match tokio::runtime::Handle::try_current() {
        Ok(here) if here.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(wait)
        }
        _ => wait(),
    };
    let answer = answer.unwrap_or_else(|e| Err(e.to_string()));
    answer.map_err(|why| format!("Post \"{url}?timeout={}s\": {why}", PATIENCE.as_secs()))
}

async fn send(endpoint: &Endpoint, body: Bytes) -> Result<Bytes, String> {
    let uri = &endpoint.uri;
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(443);
    let socket = TcpStream::connect((bare, port))
        .await
        .map_err(|e| format!("dial tcp {host}:{port}: {e}"))?;
    let name = ServerName::try_from(bare.to_owned()).map_err(|e| e.to_string())?;
    let connector = tokio_rustls::TlsConnector::from(Arc::clone(&endpoint.tls));
    let stream = connector
        .connect(name, socket)
        .await
        .map_err(|e| format!("tls: {e}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| e.to_string())?;
    let driven = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |p| p.as_str());
    let mark = if path.contains('?') { '&' } else { '?' };
    let request = http::Request::post(format!("{path}{mark}timeout={}s", PATIENCE.as_secs()))
        .header(http::header::HOST, format!("{host}:{port}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .header(http::header::ACCEPT, "application/json")
        .body(Full::new(body))
        .map_err(|e| e.to_string())?;
    let answer = sender
        .send_request(request)
        .await
        .map_err(|e| e.to_string())?;
    let code = answer.status();
    let collected = Limited::new(answer.into_body(), LIMIT).collect().await;
    driven.abort();
    let bytes = collected.map_err(|e| e.to_string())?.to_bytes();
    if code.is_success() {
        Ok(bytes)
    } else {
        Err(format!("the server answered with status {code}"))
    }
}
