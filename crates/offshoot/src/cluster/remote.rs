//! Requests to the cluster's API server, objects as JSON in the order in which they were sent.
//!
//! Nothing is retried here but reads, and what the client does for a server that is too busy: whoever asks knows what a lost
//! answer means. No request but a watch waits longer than [`PATIENCE`], and what changes something in a term not beyond its end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use apiserver::ResourceName;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use kube::core::WatchEvent;
use kube::core::response::Status;
use objects::{Failure, Reason};
use serde_json::Value;

use super::term::Term;
use crate::exit;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a read is tried, and how long after.
const READS: usize = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// How many objects one answer to a list holds.
const PAGE: usize = 500;

/// How long a watch lasts at most before it starts anew, in seconds: a connection that died is noticed a little later.
const WATCH_SECONDS: u64 = 280;

/// The field manager of what is written.
const MANAGER: &str = "offshoot-controllers";

/// A list, whole.
#[derive(Debug)]
pub(crate) struct Listed {
    /// The version that it is of.
    pub(crate) version: u64,
    /// The objects, with their `apiVersion` and `kind` where the server says them.
    pub(crate) items: Vec<Value>,
}

/// What a watch tells.
#[derive(Debug)]
pub(super) enum Told {
    /// An object is new or changed.
    Put(Value),
    /// An object is gone; its last state at the version of its deletion.
    Gone(Value),
    /// Nothing happened up to this version.
    Version(u64),
}

/// How often the cluster was asked, by verb.
#[derive(Debug, Default)]
pub(super) struct Asked {
    get: AtomicU64,
    list: AtomicU64,
    watch: AtomicU64,
    create: AtomicU64,
    patch: AtomicU64,
    delete: AtomicU64,
}

impl Asked {
    /// Each verb with how often it was asked for.
    pub(super) fn entries(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("gets", &self.get),
            ("lists", &self.list),
            ("watches", &self.watch),
            ("creates", &self.create),
            ("patches", &self.patch),
            ("deletes", &self.delete),
        ];
        all.map(|(name, count)| (name, count.load(Ordering::Relaxed)))
            .to_vec()
    }
}

/// The API server of the cluster around the program.
#[derive(Clone)]
pub(crate) struct Remote {
    client: kube::Client,
    asked: Arc<Asked>,
    /// The term in which something may be changed, where it is bound to one.
    term: Option<Arc<Term>>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Remote")
    }
}

impl Remote {
    pub(super) fn new(client: kube::Client) -> Self {
        Self {
            client,
            asked: Arc::default(),
            term: None,
        }
    }

    /// The same, for what is done in a term: the client tries nothing anew after it, and nothing is waited for.
    pub(super) fn within(&self, term: &Arc<Term>) -> Self {
        Self {
            term: Some(Arc::clone(term)),
            ..self.clone()
        }
    }

    /// How often the cluster was asked.
    pub(super) fn asked(&self) -> &Arc<Asked> {
        &self.asked
    }

    /// Connects by a kubeconfig, or as the pod's own account.
    ///
    /// # Errors
    /// The kubeconfig cannot be read, or there is no cluster around this process.
    pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Self, exit::ExitFailure> {
        client(kubeconfig).await.map(Self::new)
    }

    /// Reads one object, of the newest state that a majority of the store knows.
    ///
    /// # Errors
    /// What the server says.
    pub(crate) async fn get(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        self.asked.get.fetch_add(1, Ordering::Relaxed);
        let uri = path(resource, namespace, name, "");
        match self.ask("GET", &uri, "", Vec::new()).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.code == 404 && !is_unserved(&failure) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// What a path holds that names no object, such as discovery.
    ///
    /// # Errors
    /// What the server says.
    pub(super) async fn read(&self, uri: &str) -> Result<Value, Failure> {
        self.asked.get.fetch_add(1, Ordering::Relaxed);
        self.ask("GET", uri, "", Vec::new()).await
    }

    /// Lists a namespace (empty: all) page by page, all of one version.
    ///
    /// # Errors
    /// What the server says; 410 where it took too long.
    pub(crate) async fn list(
        &self,
        resource: &ResourceName,
        namespace: &str,
    ) -> Result<Listed, Failure> {
        let mut listed = Listed {
            version: 0,
            items: Vec::new(),
        };
        let mut more = String::new();
        let base = path(resource, namespace, "", "");
        loop {
            self.asked.list.fetch_add(1, Ordering::Relaxed);
            let uri = format!("{base}?limit={PAGE}{more}");
            let mut page = self.ask("GET", &uri, "", Vec::new()).await?;
            let version = api::str_at(&page, &["metadata", "resourceVersion"]);
            listed.version = number(version.unwrap_or_default());
            let kind = api::str_at(&page, &["kind"]).unwrap_or_default();
            let kind = kind.strip_suffix("List").unwrap_or_default().to_owned();
            let api_version = page["apiVersion"].clone();
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                listed.items.extend(items.into_iter().map(|mut item| {
                    if item.get("kind").is_none() {
                        item["apiVersion"] = api_version.clone();
                        item["kind"] = kind.clone().into();
                    }
                    item
                }));
            }
            match api::str_at(&page, &["metadata", "continue"]) {
                Some(token) if !token.is_empty() => more = format!("&continue={}", encode(token)),
                _ => return Ok(listed),
            }
        }
    }

    /// Follows a resource (`select` adds to the query) from a version on. The stream ends after a failure, and when the
    /// server ends it.
    ///
    /// # Errors
    /// What the server says at once; 410 where the version is too old.
    pub(super) async fn watch(
        &self,
        resource: &ResourceName,
        namespace: &str,
        from: u64,
        select: &str,
    ) -> Result<BoxStream<'static, Result<Told, Failure>>, Failure> {
        let uri = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={from}&timeoutSeconds={WATCH_SECONDS}{select}",
            path(resource, namespace, "", "")
        );
        self.asked.watch.fetch_add(1, Ordering::Relaxed);
        let asked = self
            .client
            .request_events::<Value>(request("GET", &uri, "", Vec::new())?);
        let events = within(tokio::time::Instant::now() + PATIENCE, asked).await?;
        // A server that neither speaks nor ends the watch in time is not there any more.
        let silence = Duration::from_secs(WATCH_SECONDS + 15);
        let state = (events.boxed(), false);
        let told = futures::stream::unfold(state, move |(mut events, ended)| async move {
            if ended {
                return None;
            }
            let Ok(next) = tokio::time::timeout(silence, events.next()).await else {
                return Some((Err(unreachable("the watch fell silent")), (events, true)));
            };
            let told = match next? {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    Ok(Told::Put(object))
                }
                Ok(WatchEvent::Deleted(object)) => Ok(Told::Gone(object)),
                Ok(WatchEvent::Bookmark(mark)) => {
                    Ok(Told::Version(number(&mark.metadata.resource_version)))
                }
                Ok(WatchEvent::Error(status)) => Err(said(&status)),
                Err(error) => Err(failure(error)),
            };
            let ended = told.is_err();
            Some((told, (events, ended)))
        });
        Ok(told.boxed())
    }

    /// Creates an object; answers it as it is kept.
    ///
    /// # Errors
    /// What the server says.
    pub(super) async fn create(
        &self,
        resource: &ResourceName,
        namespace: &str,
        object: &Value,
    ) -> Result<Value, Failure> {
        let uri = format!(
            "{}?fieldManager={MANAGER}",
            path(resource, namespace, "", "")
        );
        self.asked.create.fetch_add(1, Ordering::Relaxed);
        let body = object.to_string().into_bytes();
        self.ask("POST", &uri, "application/json", body).await
    }

    /// Changes an object by a patch of a media type; `subresource` may be empty.
    ///
    /// # Errors
    /// What the server says; 409 where the patch names another version.
    pub(crate) async fn patch(
        &self,
        resource: &ResourceName,
        (namespace, name, subresource): (&str, &str, &str),
        media: &str,
        patch: &Value,
    ) -> Result<Value, Failure> {
        self.asked.patch.fetch_add(1, Ordering::Relaxed);
        let place = path(resource, namespace, name, subresource);
        let uri = format!("{place}?fieldManager={MANAGER}");
        self.ask("PATCH", &uri, media, patch.to_string().into_bytes())
            .await
    }

    /// Deletes the object of this uid (and version, where one is given).
    ///
    /// # Errors
    /// What the server says.
    pub(super) async fn delete(
        &self,
        resource: &ResourceName,
        (namespace, name): (&str, &str),
        (uid, version): (&str, Option<&str>),
    ) -> Result<(), Failure> {
        let mut conditions = serde_json::json!({ "uid": uid });
        if let Some(version) = version {
            conditions["resourceVersion"] = version.into();
        }
        let body = serde_json::json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "propagationPolicy": "Background", "preconditions": conditions,
        });
        self.asked.delete.fetch_add(1, Ordering::Relaxed);
        let uri = path(resource, namespace, name, "");
        let body = body.to_string().into_bytes();
        self.ask("DELETE", &uri, "application/json", body)
            .await
            .map(drop)
    }

    async fn ask(
        &self,
        method: &str,
        uri: &str,
        media: &str,
        body: Vec<u8>,
    ) -> Result<Value, Failure> {
        let patience = match (&self.term, method) {
            (None, _) | (_, "GET") => PATIENCE,
            (Some(term), _) => PATIENCE.min(term.left()),
        };
        let until = tokio::time::Instant::now() + patience;
        let mut tries = if method == "GET" { READS } else { 1 };
        loop {
            let request = request(method, uri, media, body.clone())?;
            let asked = self.client.request::<Value>(request);
            tries -= 1;
            match within(until, asked).await {
                // A read that was lost changed nothing.
                Err(failure) if failure.code == 503 && tries > 0 => {
                    tokio::time::sleep(PAUSE).await;
                }
                answer => return answer,
            }
        }
    }
}

/// A client by a kubeconfig, or as the pod's own account.
///
/// # Errors
/// The kubeconfig cannot be read, or there is no cluster around this process.
pub(super) async fn client(kubeconfig: Option<&Path>) -> Result<kube::Client, exit::ExitFailure> {
    let config = match kubeconfig {
        Some(path) => {
            let failed = |e: &dyn std::error::Error| {
                exit::ExitFailure::of(&format!("read the kubeconfig {}", path.display()), e)
            };
            let file = kube::config::Kubeconfig::read_from(path).map_err(|e| failed(&e))?;
            let config = kube::Config::from_custom_kubeconfig(file, &Default::default()).await;
            config.map_err(|e| failed(&e))?
        }
        None => kube::Config::incluster().map_err(|e| {
            exit::ExitFailure::of("find the cluster around this pod", &e)
                .hint("outside of a cluster, name a kubeconfig with --kubeconfig")
        })?,
    };
    kube::Client::try_from(config).map_err(|e| exit::ExitFailure::of("connect to the cluster", &e))
}

/// Waits for an answer, not for ever.
async fn within<T>(
    until: tokio::time::Instant,
    asked: impl Future<Output = kube::Result<T>>,
) -> Result<T, Failure> {
    match tokio::time::timeout_at(until, asked).await {
        Ok(answer) => answer.map_err(failure),
        Err(_) => Err(unreachable("no answer came in time")),
    }
}

fn request(
    method: &str,
    uri: &str,
    media: &str,
    body: Vec<u8>,
) -> Result<http::Request<Vec<u8>>, Failure> {
    let mut request = http::Request::builder().method(method).uri(uri);
    if !media.is_empty() {
        request = request.header("content-type", media);
    }
    let request = request.body(body);
    request.map_err(|e| Failure::internal(format!("{method} {uri}: {e}")))
}

/// The path of a resource, an object or a part of it.
fn path(resource: &ResourceName, namespace: &str, name: &str, subresource: &str) -> String {
    let mut path = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    if !namespace.is_empty() {
        path.push_str("/namespaces/");
        path.push_str(namespace);
    }
    for part in [resource.plural.as_str(), name, subresource] {
        if !part.is_empty() {
            path.push('/');
            path.push_str(part);
        }
    }
    path
}

/// A token within a query.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// A version as a number, which it is in every server that keeps its objects in etcd.
pub(super) fn number(version: &str) -> u64 {
    version.parse().unwrap_or_default()
}

/// The version of an object.
pub(super) fn version_of(object: &Value) -> u64 {
    number(api::str_at(object, &["metadata", "resourceVersion"]).unwrap_or_default())
}

/// Whether a 404 says that the resource is not served, and not that an object is missing.
pub(super) fn is_unserved(failure: &Failure) -> bool {
    let details = failure.details.as_ref();
    let named = details.is_some_and(|d| d.get("name").is_some_and(|n| n != ""));
    failure.code == 404 && !named
}

fn unreachable(why: &str) -> Failure {
    let message = format!("the cluster's API server cannot be asked: {why}");
    Failure::new(503, Reason::ServiceUnavailable, message)
}

fn failure(error: kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) => said(&status),
        other => {
            let mut cause: &dyn std::error::Error = &other;
            while let Some(next) = cause.source() {
                cause = next;
            }
            unreachable(&cause.to_string())
        }
    }
}

/// What the server said, in its words.
fn said(status: &Status) -> Failure {
    let reason = match status.code {
        400 => Reason::BadRequest,
        401 => Reason::Unauthorized,
        403 => Reason::Forbidden,
        404 => Reason::NotFound,
        409 if status.reason == Reason::AlreadyExists.word() => Reason::AlreadyExists,
        409 => Reason::Conflict,
        410 => Reason::Expired,
        413 => Reason::RequestEntityTooLarge,
        422 => Reason::Invalid,
        429 => Reason::TooManyRequests,
        503 => Reason::ServiceUnavailable,
        504 => Reason::Timeout,
        _ => Reason::InternalError,
    };
    // What a server of a cluster could not do now, it may do later.
    let code = if status.code == 500 { 503 } else { status.code };
    let mut failure = Failure::new(code, reason, status.message.clone());
    if let Some(details) = &status.details
        && !details.name.is_empty()
    {
        let mut named = serde_json::Map::new();
        named.insert("name".to_owned(), details.name.clone().into());
        failure = failure.with_details(named);
    }
    failure
}

#[cfg(test)]
mod tests;
