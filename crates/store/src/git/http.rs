//! A small HTTP client for git's smart protocol: one request, one answer, nothing followed.
//!
//! The `git` program spends most of a large push on comparing names with names; a push of ours is
//! one look and one request. Certificates are checked against the system's and a bundle of the
//! user's. Where a proxy is configured the program is used instead.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, LOCATION, RETRY_AFTER, USER_AGENT,
};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use model::Class;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::disk::Who;
use crate::error::Missing;
use crate::lru::lock;
use crate::remote::Credential;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    pub(crate) class: Class,
    pub(crate) text: String,
    /// What it was asked without, if that is why.
    pub(crate) missing: Option<Missing>,
    /// Whether the other side may have acted all the same.
    pub(crate) acted: bool,
    /// Whether a question broke off that was being answered: it may be asked again at once.
    pub(crate) broke: bool,
}

impl NoAnswer {
    fn before(class: Class, text: impl Into<String>) -> Self {
        Self {
            class,
            text: text.into(),
            missing: None,
            acted: false,
            broke: false,
        }
    }
}

/// A request to a git server.
pub(crate) struct Ask<'a> {
    pub(crate) url: &'a str,
    /// Such as `/info/refs?service=git-upload-pack`.
    pub(crate) path: String,
    /// The service, for content types.
    pub(crate) service: &'static str,
    /// What is posted; `None` is a GET.
    pub(crate) body: Option<Vec<u8>>,
}

struct HostAddress {
    tls: bool,
    host: String,
    port: u16,
    path: String,
}

/// Whether a proxy is configured: then the program speaks, which knows their ways.
pub(crate) fn behind_a_proxy() -> bool {
    [
        "http_proxy",
        "https_proxy",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ]
    .iter()
    .any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()))
}

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// When something last went over a connection.
#[derive(Clone)]
struct Pulse(Arc<Mutex<Instant>>);

impl Pulse {
    fn beat(&self) {
        *lock(&self.0) = Instant::now();
    }

    /// Waits until nothing has gone over the connection for so long.
    async fn stops(&self, silence: Duration) {
        loop {
            let due = *lock(&self.0) + silence;
            if due <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(due).await;
        }
    }
}

/// What is sent, piece by piece, so that it shows that it goes on.
struct Sent {
    rest: Bytes,
    pulse: Pulse,
}

impl Sent {
    const PIECE: usize = 64 << 10;
}

impl Body for Sent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        self.pulse.beat();
        let piece = self.rest.len().min(Self::PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// Takes an answer piece by piece, or says why it is not read any further.
pub(crate) type Hear<'a> = dyn FnMut(&[u8]) -> Result<(), NoAnswer> + Send + 'a;

/// Asks and hands on the answer; anything but success is a failure. A connection over which nothing goes for
/// as long as `silence` is given up.
pub(crate) async fn ask(
    ask: Ask<'_>,
    who: &Who,
    silence: Duration,
    hear: &mut Hear<'_>,
) -> Result<(), NoAnswer> {
    let place =
        parse(ask.url).ok_or_else(|| NoAnswer::before(Class::Invalid, "it is no HTTP URL"))?;
    let denied = |e: crate::CredentialError| NoAnswer {
        missing: e.absent.then_some(Missing::Secret),
        ..NoAnswer::before(e.class, e.text)
    };
    let authorization = header(&who.credential(ask.url).await.map_err(denied)?);
    let bundle = who.ca_bundle(ask.url).await.map_err(denied)?;
    let post = ask.body.is_some();
    let pulse = Pulse(Arc::new(Mutex::new(Instant::now())));
    let request = request(&place, ask, authorization, &pulse)?;
    let address = (place.host.trim_matches(['[', ']']), place.port);
    let late = |_| NoAnswer::before(Class::Unavailable, "it cannot be reached: no answer");
    let stream = tokio::time::timeout(CONNECT, TcpStream::connect(address))
        .await
        .map_err(late)?
        .map_err(|e| NoAnswer::before(Class::Unavailable, format!("it cannot be reached: {e}")))?;
    drop(stream.set_nodelay(true));
    if place.tls {
        let stream = tokio::time::timeout(CONNECT, secure(stream, &place.host, bundle));
        let stream = stream.await.map_err(late)??;
        exchange(stream, request, (post, pulse, silence), hear).await
    } else {
        exchange(stream, request, (post, pulse, silence), hear).await
    }
}

fn parse(url: &str) -> Option<HostAddress> {
    let (tls, rest) = match url.strip_prefix("https://") {
        Some(rest) => (true, rest),
        None => (false, url.strip_prefix("http://")?),
    };
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(h, p)| (h, p));
    let bare_v6 = host.ends_with(']');
    let (host, port) = match host.rsplit_once(':').filter(|_| !bare_v6) {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (host, if tls { 443 } else { 80 }),
    };
    Some(HostAddress {
        tls,
        host: host.to_owned(),
        port,
        path: format!("/{path}"),
    })
}

fn header(credential: &Credential) -> Option<String> {
    use base64::Engine as _;
    match credential {
        Credential::None => None,
        Credential::Basic { username, password } => {
            let pair = base64::prelude::BASE64_STANDARD.encode(format!("{username}:{password}"));
            Some(format!("Basic {pair}"))
        }
        Credential::Bearer { token } => Some(format!("Bearer {token}")),
    }
}

fn request(
    place: &HostAddress,
    ask: Ask<'_>,
    authorization: Option<String>,
    pulse: &Pulse,
) -> Result<Request<Sent>, NoAnswer> {
    let default = if place.tls { 443 } else { 80 };
    let mut host = place.host.clone();
    if place.port != default {
        host.push_str(&format!(":{}", place.port));
    }
    let method = if ask.body.is_some() {
        Method::POST
    } else {
        Method::GET
    };
    let path = format!("{}{}", place.path.trim_end_matches('/'), ask.path);
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, host);
    // Some servers hand out what we ask for only to those who call themselves git.
    request = request.header(USER_AGENT, "git/2 (offshoot)");
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let kind = |what: &str| format!("application/x-{}-{what}", ask.service);
    if ask.body.is_some() {
        request = request
            .header(CONTENT_TYPE, kind("request"))
            .header(ACCEPT, kind("result"));
    }
    let body = Sent {
        rest: Bytes::from(ask.body.unwrap_or_default()),
        pulse: pulse.clone(),
    };
    // The text of a builder's error names no header's value.
    request.body(body).map_err(|e| {
        NoAnswer::before(
            Class::Invalid,
            format!("the request or the credentials are malformed: {e}"),
        )
    })
}

/// The authorities that this system trusts: where `SSL_CERT_FILE` and `SSL_CERT_DIR` say, otherwise where its kind of system keeps
/// them. They are read once, since there may be hundreds of files.
fn system_roots() -> RootCertStore {
    static READ: OnceLock<RootCertStore> = OnceLock::new();
    if let Some(roots) = READ.get() {
        return roots.clone();
    }
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "certificates of the system cannot be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    // A system that has none may get them yet.
    if !roots.is_empty() {
        return READ.get_or_init(|| roots).clone();
    }
    roots
}

async fn secure(
    stream: TcpStream,
    host: &str,
    bundle: Option<Vec<u8>>,
) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + 'static, NoAnswer> {
    let invalid = |text: String| NoAnswer::before(Class::Invalid, text);
    let mut roots = system_roots();
    if let Some(pem) = &bundle {
        let all: Vec<_> = CertificateDer::pem_slice_iter(pem).flatten().collect();
        roots.add_parsable_certificates(all);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| invalid(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
    let name = name.map_err(|e| invalid(e.to_string()))?;
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.map_err(|e| {
        NoAnswer::before(
            Class::Unavailable,
            format!("no secure connection can be made: {e}"),
        )
    })
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Sent>,
    (post, pulse, silence): (bool, Pulse, Duration),
    hear: &mut Hear<'_>,
) -> Result<(), NoAnswer> {
    let lost = |e: &dyn std::fmt::Display| NoAnswer {
        class: Class::Unavailable,
        text: format!("the connection was lost: {e}"),
        missing: None,
        acted: post,
        broke: !post,
    };
    pulse.beat();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| NoAnswer::before(Class::Unavailable, e.to_string()))?;
    let talk = async {
        let answer = sender.send_request(request).await.map_err(|e| lost(&e))?;
        let (head, mut body) = answer.into_parts();
        if head.status != StatusCode::OK {
            return Err(refusal(head.status, &head.headers, post));
        }
        while let Some(frame) = body.frame().await {
            pulse.beat();
            let frame = frame.map_err(|e| lost(&e))?;
            hear(&frame.into_data().unwrap_or_default())?;
        }
        Ok(())
    };
    tokio::pin!(talk);
    tokio::pin!(connection);
    let mut ended = false;
    loop {
        tokio::select! {
            biased;
            // The conversation first: a server may answer and close at once, and the answer counts.
            done = &mut talk => return done,
            // What the connection says is said to the conversation, too.
            _ = &mut connection, if !ended => ended = true,
            () = pulse.stops(silence) => {
                let seconds = silence.as_secs_f64();
                // Whoever says nothing is not asked again at once: everybody would wait twice as long.
                let broke = false;
                return Err(NoAnswer { broke, ..lost(&format!("nothing was heard for {seconds} s")) });
            }
        }
    }
}

/// Scheme, host and port of where a remote says that it moved to: the rest may hold what is nobody's to see.
fn place_of(location: &str) -> String {
    let place = location.parse::<hyper::Uri>().ok();
    let known = place.as_ref().and_then(|place| {
        let scheme = place.scheme_str()?;
        let port = place.port().map_or_else(String::new, |p| format!(":{p}"));
        Some(format!("{scheme}://{}{port}", place.host()?))
    });
    known.unwrap_or_else(|| "another place".to_owned())
}

fn refusal(status: StatusCode, headers: &HeaderMap, post: bool) -> NoAnswer {
    let said = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (class, acted) = match status.as_u16() {
        401 | 403 => (Class::Denied, false),
        404 | 410 => (Class::NotFound, false),
        413 => (Class::Limit, false),
        300..=399 => (Class::Invalid, false),
        429 => (Class::Unavailable, false),
        _ => (Class::Unavailable, post),
    };
    let text = match (status.as_u16(), said(LOCATION)) {
        (401, _) => "it asks for credentials and none were accepted".to_owned(),
        (404, _) => "there is no such repository".to_owned(),
        (300..=399, Some(place)) => {
            let host = place_of(place);
            format!("it moved to {host}; credentials follow no redirect, so register that URL")
        }
        // Never waited for here: others wait for this writer.
        _ => match said(RETRY_AFTER).and_then(|seconds| seconds.parse::<u32>().ok()) {
            Some(seconds) => {
                format!("it answered {status} and wants to be left alone for {seconds} s")
            }
            None => format!("it answered {status}"),
        },
    };
    NoAnswer {
        class,
        text,
        missing: (status == StatusCode::UNAUTHORIZED).then_some(Missing::Login),
        acted,
        broke: false,
    }
}
