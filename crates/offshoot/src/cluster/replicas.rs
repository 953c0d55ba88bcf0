//! Requests that one replica hands to the one that holds the Lease.
//!
//! A forward goes over TLS in both directions: the holder is known by the release's own certificate, the replica by one
//! whose fingerprint stands in the Lease, which only this program's account writes. It says for which term and which holder
//! it is meant (addresses are reused) and who asks; it is never forwarded again.

use std::sync::{Arc, OnceLock};

use apiserver::authn::Chain;
use apiserver::gateway::User;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use objects::{Failure, Reason};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::door::Serving;
use super::held::Held;
use super::lease::Lease;
use super::repeats::{Known, LARGEST};

/// For which holder and term a request is meant.
const HOLDER: HeaderName = HeaderName::from_static("offshoot-holder");
/// See [`HOLDER`].
const TERM: HeaderName = HeaderName::from_static("offshoot-term");
/// Who asks: JSON in base64.
const USER: HeaderName = HeaderName::from_static("offshoot-user");

/// The number that a replica gives a request which changes something: it may come again.
const REQUEST: HeaderName = HeaderName::from_static("offshoot-request");

/// How often a request is handed over whose answer does not come.
const TRIES: usize = 4;

/// How long an answer to a change is waited for before the request is handed over again, which joins the one that is under way.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(15);

/// What the other side says about itself and whom it speaks for; nothing of it comes from a client.
const OURS: [HeaderName; 4] = [HOLDER, TERM, USER, REQUEST];

/// The replicas of this release.
#[derive(Debug)]
pub(super) struct Replicas {
    me: String,
    heard: watch::Receiver<Held>,
    lease: OnceLock<Arc<Lease>>,
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lease")
    }
}

impl Replicas {
    /// Those of a Lease, as this replica knows them.
    pub(super) fn of(lease: &Arc<Lease>, me: &str) -> Arc<Self> {
        let cell = OnceLock::new();
        cell.get_or_init(|| Arc::clone(lease));
        Arc::new(Self {
            me: me.to_owned(),
            heard: lease.heard(),
            lease: cell,
        })
    }

    /// Who asks through another replica; `None` where nobody claims to be one.
    ///
    /// # Errors
    /// 401 where whoever claims it is none, 503 where it means another holder or term.
    pub(super) async fn forwarded(&self, parts: &Parts) -> Result<Option<User>, Failure> {
        let Some(user) = parts.headers.get(USER) else {
            return Ok(None);
        };
        let chain = parts.extensions.get::<Chain>();
        let shown = chain.and_then(|chain| chain.0.first().map(|own| fingerprint(own)));
        let shown = shown.ok_or_else(Failure::unauthorized)?;
        if !self.knows(&shown) {
            if let Some(lease) = self.lease.get() {
                lease.look().await?;
            }
            if !self.knows(&shown) {
                return Err(Failure::unauthorized());
            }
        }
        let now = self.heard.borrow().clone();
        let text = |name| {
            let value = parts.headers.get(name);
            value
                .and_then(|v: &HeaderValue| v.to_str().ok())
                .unwrap_or_default()
        };
        if text(HOLDER) != self.me || text(TERM) != now.term.to_string() || now.holder != self.me {
            return Err(elsewhere("this replica does not hold that term"));
        }
        read_user(user).map(Some).ok_or_else(Failure::unauthorized)
    }

    fn knows(&self, fingerprint: &str) -> bool {
        let now = self.heard.borrow();
        now.replicas
            .iter()
            .any(|(id, known)| *id != self.me && known == fingerprint)
    }
}

/// Hands requests to the holder.
pub(super) struct Forward {
    /// How to reach a holder: all but the address.
    base: kube::Config,
    heard: watch::Receiver<Held>,
    /// Whose authority holders' certificates are signed by, as it is now.
    serving: Arc<Serving>,
    /// The connection to the holder that it was made for.
    holder: tokio::sync::Mutex<Option<(String, kube::Client)>>,
}

impl Forward {
    /// Forwards with this replica's certificate and key (PEM) to holders that show a certificate of the release's authority
    /// for `name`.
    pub(super) fn new(
        heard: watch::Receiver<Held>,
        (certificate, key): (&str, &str),
        (serving, name): (Arc<Serving>, &str),
    ) -> Self {
        let mut base = kube::Config::new(http::Uri::from_static("https://holder.invalid"));
        base.tls_server_name = Some(name.to_owned());
        base.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
        base.auth_info.client_key_data = Some(STANDARD.encode(key).into());
        base.connect_timeout = Some(std::time::Duration::from_secs(2));
        base.default_retry = false;
        Self {
            base,
            heard,
            serving,
            holder: tokio::sync::Mutex::default(),
        }
    }

    /// Hands a request of somebody to the holder; answers what it answers.
    pub(super) async fn hand_over(&self, user: &User, request: Request) -> Response {
        match self.ask(user, request).await {
            Ok(response) => response,
            Err(failure) => refusal(&failure),
        }
    }

    async fn ask(&self, user: &User, mut request: Request) -> Result<Response, Failure> {
        let now = self.heard.borrow().clone();
        if now.holder.is_empty() || now.address.is_empty() {
            return Err(elsewhere("no replica holds the Lease"));
        }
        let headers = request.headers_mut();
        for name in [
            http::header::AUTHORIZATION,
            http::header::HOST,
            http::header::CONNECTION,
        ] {
            headers.remove(name);
        }
        let remote: Vec<HeaderName> = headers
            .keys()
            .filter(|name| name.as_str().starts_with("x-remote-") || OURS.contains(name))
            .cloned()
            .collect();
        for name in remote {
            headers.remove(name);
        }
        let value =
            |text: &str| HeaderValue::from_str(text).map_err(|e| Failure::internal(e.to_string()));
        headers.insert(HOLDER, value(&now.holder)?);
        headers.insert(TERM, value(&now.term.to_string())?);
        headers.insert(USER, value(&write_user(user))?);
        let changes = !request.method().is_safe();
        if changes {
            let number = uuid::Uuid::new_v4().simple().to_string();
            request.headers_mut().insert(REQUEST, value(&number)?);
        }
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, LARGEST).await;
        let body = body.map_err(|_| Failure::too_large(LARGEST))?;
        self.repeat(&now, &parts, &body, changes).await
    }

    /// Hands a request over until an answer comes: one that changes something is known to the holder by its number.
    async fn repeat(
        &self,
        now: &Held,
        parts: &Parts,
        body: &Bytes,
        changes: bool,
    ) -> Result<Response, Failure> {
        let mut sent = false;
        for _ in 0..TRIES {
            let client = self.client(&now.address).await?;
            let request = again(parts, body)?;
            let answered = match changes {
                // What it answers is short, and could be cut off.
                true => tokio::time::timeout(PATIENCE, whole(&client, request)).await,
                false => Ok(asked(&client, request).await),
            };
            match answered {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(lost)) => {
                    tracing::debug!(why = lost.why, "the holder did not answer");
                    sent |= lost.sent;
                }
                Err(_) => sent = true,
            }
            *self.holder.lock().await = None;
            let still = {
                let heard = self.heard.borrow();
                (&heard.holder, heard.term) == (&now.holder, now.term)
            };
            if !still {
                break;
            }
        }
        match changes && sent {
            // Nobody may take this for a request that was not done, and send it again unseen.
            true => Err(Failure::new(
                504,
                Reason::Timeout,
                "the replica that holds the Lease did not answer: what was asked for may be done or not",
            )),
            false => Err(elsewhere(
                "the replica that holds the Lease cannot be reached",
            )),
        }
    }

    async fn client(&self, address: &str) -> Result<kube::Client, Failure> {
        let mut holder = self.holder.lock().await;
        if let Some((at, client)) = &*holder
            && at == address
        {
            return Ok(client.clone());
        }
        let mut config = self.base.clone();
        let authority = self.serving.authority();
        let authority =
            authority.ok_or_else(|| elsewhere("the release's authority is not known"))?;
        let authority = certificates(&authority);
        config.root_cert = Some(authority.map_err(|e| Failure::internal(e.to_string()))?);
        let uri = format!("https://{address}").parse();
        config.cluster_url = uri.map_err(|_| elsewhere("the holder's address is none"))?;
        let client = kube::Client::try_from(config);
        let client = client.map_err(|e| Failure::internal(e.to_string()))?;
        *holder = Some((address.to_owned(), client.clone()));
        Ok(client)
    }
}

/// The same request once more.
fn again(parts: &Parts, body: &Bytes) -> Result<http::Request<kube::client::Body>, Failure> {
    let mut request = http::Request::builder()
        .method(parts.method.clone())
        .uri(parts.uri.path_and_query().map_or("/", |p| p.as_str()));
    if let Some(all) = request.headers_mut() {
        all.clone_from(&parts.headers);
    }
    let request = request.body(kube::client::Body::from(body.to_vec()));
    request.map_err(|e| Failure::internal(e.to_string()))
}

/// Why there is no answer.
struct Lost {
    why: String,
    /// Whether the holder may have got the request.
    sent: bool,
}

async fn asked(
    client: &kube::Client,
    request: http::Request<kube::client::Body>,
) -> Result<Response, Lost> {
    match client.send(request).await {
        Ok(response) => Ok(response.map(Body::new)),
        Err(error) => Err(Lost {
            why: error.to_string(),
            sent: !is_unreached(&error),
        }),
    }
}

async fn whole(
    client: &kube::Client,
    request: http::Request<kube::client::Body>,
) -> Result<Response, Lost> {
    let (parts, body) = asked(client, request).await?.into_parts();
    let body = axum::body::to_bytes(body, LARGEST).await;
    let body = body.map_err(|error| Lost {
        why: error.to_string(),
        sent: true,
    })?;
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// Whether there was no connection.
fn is_unreached(error: &kube::Error) -> bool {
    use std::io::ErrorKind::{
        ConnectionRefused, HostUnreachable, NetworkDown, NetworkUnreachable, TimedOut,
    };
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(now) = cause {
        if let Some(io) = now.downcast_ref::<std::io::Error>() {
            let unreached = [
                ConnectionRefused,
                HostUnreachable,
                NetworkDown,
                NetworkUnreachable,
                TimedOut,
            ];
            return unreached.contains(&io.kind());
        }
        cause = now.source();
    }
    false
}

/// 503 with the time after which it is worth to ask again.
fn elsewhere(why: &str) -> Failure {
    Failure::new(503, Reason::ServiceUnavailable, why)
}

/// Whether a request was handed over by another replica, or claims so.
pub(super) fn is_forwarded(headers: &http::HeaderMap) -> bool {
    headers.contains_key(USER)
}

/// By which number and certificate a request is known that another replica may hand over again; `None` for any other.
pub(super) fn known(parts: &http::HeaderMap, chain: Option<&Chain>) -> Option<Known> {
    let number = parts.get(REQUEST)?.to_str().ok()?;
    let shown = fingerprint(chain?.0.first()?);
    (is_forwarded(parts) && number.len() <= 64).then(|| (shown, number.to_owned()))
}

/// A refusal as clients of Kubernetes read it.
pub(super) fn refusal(failure: &Failure) -> Response {
    let mut response = Response::new(Body::from(failure.to_status().to_string()));
    let code = http::StatusCode::from_u16(failure.code);
    *response.status_mut() = code.unwrap_or(http::StatusCode::SERVICE_UNAVAILABLE);
    let headers = response.headers_mut();
    headers.insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if failure.code == 503 {
        headers.insert(http::header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// The fingerprint of a certificate.
pub(super) fn fingerprint(der: &[u8]) -> String {
    let hash = Sha256::digest(der);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The certificates of a text, in DER.
pub(super) fn certificates(text: &str) -> Result<Vec<Vec<u8>>, pem::Error> {
    let all = CertificateDer::pem_slice_iter(text.as_bytes());
    all.map(|one| one.map(|der| der.to_vec())).collect()
}

fn write_user(user: &User) -> String {
    let user =
        json!({"name": user.name, "groups": user.groups, "uid": user.uid, "extra": user.extra});
    STANDARD.encode(user.to_string())
}

fn read_user(value: &HeaderValue) -> Option<User> {
    let bytes = STANDARD.decode(value.as_bytes()).ok()?;
    let user: Value = serde_json::from_slice(&bytes).ok()?;
    let texts = |value: &Value| -> Option<Vec<String>> {
        let all = value.as_array()?.iter();
        all.map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let extra = user["extra"].as_object()?.iter();
    let extra = extra.map(|(key, values)| Some((key.clone(), texts(values)?)));
    Some(User {
        name: user["name"].as_str()?.to_owned(),
        groups: texts(&user["groups"])?,
        uid: user["uid"].as_str()?.to_owned(),
        extra: extra.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_comes_through_whole() {
        let mut user = User::new("ann ünïcode", &["system:authenticated", "web"]);
        user.uid = "u-1".to_owned();
        user.extra
            .insert("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()]);
        let sent = HeaderValue::from_str(&write_user(&user)).unwrap();
        assert_eq!(read_user(&sent), Some(user));
        assert_eq!(read_user(&HeaderValue::from_static("e30=")), None, "nobody");
    }
}
