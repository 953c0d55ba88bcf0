//! The client side of `rpkg` and `repo`: a connection by kubeconfig, requests, and listings.

mod answers;
pub(crate) mod follow;
mod jsonpath;
mod log;
mod output;
mod paths;

use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};

use http::Method;
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use crate::cli::remote::Connect;
use crate::exit::ExitFailure;

pub(crate) use answers::{lifecycle, refused};
pub(crate) use output::{align, print, without_go_templates};
pub use paths::{
    BULK, EXPLANATIONS, PACKAGES, PLANS, REPOSITORIES, RESOURCES, ResourcePath, SECRETS, SETS,
    VARIANTS, collection, object,
};

/// A connection to a server.
pub struct Client {
    client: RwLock<kube::Client>,
    log: log::Log,
    /// What the server warned about, the newest last.
    warnings: Mutex<Vec<String>>,
    /// Where the server is, for messages.
    server: String,
    /// The namespace that commands work in.
    pub namespace: String,
    /// Whether that namespace was asked for, and is not just that of the context.
    pub(crate) names_namespace: bool,
}

/// What kept a request from its answer: the innermost cause, which the layers around it only repeat.
fn unreachable(server: &str, error: &kube::Error) -> ExitFailure {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let cause = cause.to_string();
    // Its words are those of the library that checks certificates: the server was reached, and is not the one that is meant.
    let hint = match cause.contains("invalid peer certificate") {
        true => {
            "the server has another authority than the kubeconfig names, as one with a new data directory has: `offshoot user` on its machine writes another kubeconfig"
        }
        false => {
            "offshoot up starts one and prints the line `export KUBECONFIG=…`; --server, --context and KUBECONFIG name another"
        }
    };
    ExitFailure::new(format!("cannot reach the server {server}: {cause}")).hint(hint)
}

fn no_kubeconfig(error: &dyn std::error::Error) -> ExitFailure {
    ExitFailure::of("read the kubeconfig", error)
        .hint("offshoot up prints the line `export KUBECONFIG=…`")
}

fn kubeconfig(flags: &Connect) -> Result<Kubeconfig, ExitFailure> {
    let file = match &flags.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    file.map_err(|e| no_kubeconfig(&e))
}

impl Client {
    /// The flags with the context that is the current one now: whoever reads the kubeconfig again later stays with it.
    ///
    /// # Errors
    /// The kubeconfig cannot be read.
    pub(crate) fn pinned(flags: &Connect) -> Result<Connect, ExitFailure> {
        let mut pinned = flags.clone();
        if pinned.context.is_none() {
            pinned.context = kubeconfig(flags)?.current_context;
        }
        Ok(pinned)
    }

    /// The namespace that a listing is of: the connection's, or (empty) all.
    ///
    /// # Errors
    /// Names across all namespaces: nobody would know which of several is meant.
    pub(crate) fn scope(&self, names: &[String], all: bool) -> Result<&str, ExitFailure> {
        match all {
            true if !names.is_empty() => Err(ExitFailure::usage(
                "a resource cannot be retrieved by name across all namespaces",
            )
            .hint("name its namespace with -n, or leave the name out")),
            true => Ok(""),
            false => Ok(&self.namespace),
        }
    }

    /// Connects by kubeconfig and flags.
    ///
    /// # Errors
    /// The kubeconfig cannot be read, or names something that it does not hold.
    pub(crate) async fn connect(flags: &Connect) -> Result<Self, ExitFailure> {
        let options = KubeConfigOptions {
            context: flags.context.clone(),
            cluster: flags.cluster.clone(),
            user: flags.user.clone(),
        };
        let file = kubeconfig(flags)?;
        // Without this check, a user that is not there would be nobody.
        if let Some(user) = &flags.user
            && !file.auth_infos.iter().any(|known| known.name == *user)
        {
            return Err(
                ExitFailure::usage(format!("auth info {user:?} does not exist"))
                    .hint("name a user of the kubeconfig with --user, or leave it out"),
            );
        }
        let config = kube::Config::from_custom_kubeconfig(file, &options).await;
        let mut config = config.map_err(|e| no_kubeconfig(&e))?;
        // Whoever waits at a terminal hears at once that a repository cannot be reached.
        config.default_retry = false;
        if let Some(server) = &flags.server {
            let url = server.parse();
            config.cluster_url =
                url.map_err(|_| ExitFailure::usage(format!("--server {server:?} is no address")))?;
        }
        identity(&mut config, flags)?;
        let namespace = flags
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let log = log::Log::new(flags, &config);
        let server = config.cluster_url.to_string();
        let server = server.trim_end_matches('/').to_owned();
        let client = kube::Client::try_from(config).map_err(|e| ExitFailure::of("connect", &e))?;
        Ok(Self {
            client: RwLock::new(client),
            log,
            warnings: Mutex::default(),
            server,
            namespace,
            names_namespace: flags.namespace.is_some(),
        })
    }

    fn http(&self) -> kube::Client {
        let held = self.client.read().unwrap_or_else(PoisonError::into_inner);
        held.clone()
    }

    /// Reads the kubeconfig again, for whoever stays longer than a token or a port does: a server that was started anew has
    /// others. The namespace stays.
    ///
    /// # Errors
    /// As [`Client::connect`]; the connection is then as it was.
    pub(crate) async fn renew(&self, flags: &Connect) -> Result<(), ExitFailure> {
        let fresh = Self::connect(flags).await?.http();
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    fn unreachable(&self, error: &kube::Error) -> ExitFailure {
        unreachable(&self.server, error)
    }

    /// Connects with the kubeconfig in this file.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn with(kubeconfig: &Path) -> Result<Self, ExitFailure> {
        Self::connect(&Connect {
            kubeconfig: Some(kubeconfig.to_owned()),
            ..Connect::default()
        })
        .await
    }

    /// Reads a page that is no object: `/metrics`, `/healthz`.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn text(&self, path: &str) -> Result<String, ExitFailure> {
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|e| ExitFailure::of("build the request", &e))?;
        let answer = self.http().request_text(request).await;
        answer.map_err(|e| ExitFailure::of("read the page", &e))
    }

    /// One request; the answer's object.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<&Value>,
    ) -> Result<Value, ExitFailure> {
        let kind = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        self.send(method, path, accept, kind, body).await
    }

    /// Applies an object from the server's side; the path names the field manager.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn apply(&self, path: &str, object: &Value) -> Result<Value, ExitFailure> {
        let (accept, kind) = ("application/json", "application/apply-patch+yaml");
        self.send(Method::PATCH, path, accept, kind, Some(object))
            .await
    }

    /// One request; the code of the answer, and its object (or its text).
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), ExitFailure> {
        let json = "application/json";
        self.answer(method, path, json, json, body).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        kind: &str,
        body: Option<&Value>,
    ) -> Result<Value, ExitFailure> {
        match self.answer(method, path, accept, kind, body).await? {
            (200..300, object) => Ok(object),
            (code, answer) => Err(refused(code, &answer)),
        }
    }

    async fn answer(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        kind: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), ExitFailure> {
        let bytes = body.map(Value::to_string).unwrap_or_default().into_bytes();
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::ACCEPT, accept)
            .header(http::header::CONTENT_TYPE, kind)
            .header(http::header::USER_AGENT, "offshoot")
            .body(bytes)
            .map_err(|e| ExitFailure::of("build the request", &e))?;
        let failed = |e: kube::Error| self.unreachable(&e);
        let asked = self.log.asks(&request);
        let answer = self.http().send(request.map(Body::from)).await;
        let answer = answer.map_err(failed)?;
        self.note_warnings(answer.headers());
        asked.answered(&answer);
        let code = answer.status();
        let bytes = answer.into_body().collect_bytes().await.map_err(failed)?;
        asked.body(&bytes);
        let object = serde_json::from_slice(&bytes);
        Ok((
            code.as_u16(),
            object.unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into()),
        ))
    }

    /// Sends a request as it is; answers status, media type and body, whatever they are.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn exchange(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<(u16, String, bytes::Bytes), ExitFailure> {
        let failed = |e: kube::Error| self.unreachable(&e);
        let answer = self.http().send(request.map(Body::from)).await;
        let answer = answer.map_err(failed)?;
        let media = answer.headers().get(http::header::CONTENT_TYPE);
        let media = media.and_then(|v| v.to_str().ok()).unwrap_or_default();
        let (code, media) = (answer.status().as_u16(), media.to_owned());
        let bytes = answer.into_body().collect_bytes().await.map_err(failed)?;
        Ok((code, media, bytes))
    }

    /// Opens the answer of a GET, which then comes piece by piece: a watch, or what is too large to hold.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn open(
        &self,
        path: &str,
    ) -> Result<
        impl futures::Stream<Item = Result<bytes::Bytes, ExitFailure>> + Unpin + use<>,
        ExitFailure,
    > {
        let request = http::Request::get(path)
            .header(http::header::USER_AGENT, "offshoot")
            .body(Body::empty())
            .map_err(|e| ExitFailure::of("build the request", &e))?;
        let failed = |e: kube::Error| self.unreachable(&e);
        let asked = self.log.reads(path);
        let answer = self.http().send(request).await.map_err(failed)?;
        asked.answered(&answer);
        let code = answer.status();
        if !code.is_success() {
            let bytes = answer.into_body().collect_bytes().await.map_err(failed)?;
            let object: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            return Err(refused(code.as_u16(), &object));
        }
        let frames = answer.into_body().into_data_stream();
        let server = self.server.clone();
        let failed = move |e: kube::Error| unreachable(&server, &e);
        Ok(futures::TryStreamExt::map_err(frames, failed))
    }

    /// Writes the answer of a GET as it comes.
    ///
    /// # Errors
    /// The server's own message; an answer that breaks off, or that cannot be written.
    pub(crate) async fn download(
        &self,
        path: &str,
        into: &mut impl std::io::Write,
    ) -> Result<(), ExitFailure> {
        let mut frames = self.open(path).await?;
        while let Some(frame) = futures::StreamExt::next(&mut frames).await {
            into.write_all(&frame?)
                .map_err(|e| ExitFailure::of("write the answer", &e))?;
        }
        Ok(())
    }

    /// Takes what the server warned about since the last call, in its words.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_warnings(&self, headers: &http::HeaderMap) {
        let texts = headers.get_all(http::header::WARNING).iter();
        let heard = texts.filter_map(|v| warning_text(std::str::from_utf8(v.as_bytes()).ok()?));
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.extend(heard);
    }

    /// Reads one object or a list.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn get(&self, path: &str) -> Result<Value, ExitFailure> {
        self.request(Method::GET, path, "application/json", None)
            .await
    }

    /// Replaces an object.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Value, ExitFailure> {
        self.request(Method::PUT, path, "application/json", Some(body))
            .await
    }

    /// Creates an object.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, ExitFailure> {
        self.request(Method::POST, path, "application/json", Some(body))
            .await
    }

    /// Changes an object by a merge patch.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn patch(&self, path: &str, body: &Value) -> Result<Value, ExitFailure> {
        self.request(Method::PATCH, path, "application/json", Some(body))
            .await
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// The server's own message.
    pub async fn delete(&self, path: &str) -> Result<Value, ExitFailure> {
        self.request(Method::DELETE, path, "application/json", None)
            .await
    }
}

/// Who asks, and which certificate is expected, where flags say so.
fn identity(config: &mut kube::Config, flags: &Connect) -> Result<(), ExitFailure> {
    if let Some(name) = &flags.tls_server_name {
        config.tls_server_name = Some(name.clone());
    }
    config.disable_compression |= flags.disable_compression;
    let who = &mut config.auth_info;
    if let Some(user) = &flags.as_user {
        who.impersonate = Some(user.clone());
    }
    if !flags.as_groups.is_empty() {
        who.impersonate_groups = Some(flags.as_groups.clone());
    }
    if let Some(uid) = &flags.as_uid {
        who.impersonate_uid = Some(uid.clone());
    }
    let nobody = who.impersonate.as_deref().unwrap_or_default().is_empty();
    let what = if who.impersonate_uid.is_some() {
        "a uid"
    } else {
        "groups"
    };
    if nobody && (who.impersonate_uid.is_some() || who.impersonate_groups.is_some()) {
        return Err(
            ExitFailure::usage(format!("{what} of another user, but no user is named"))
                .hint("name the user with --as"),
        );
    }
    Ok(())
}

/// The text of a `Warning` header: `299 - "text"`.
fn warning_text(header: &str) -> Option<String> {
    let quoted = header.split_once('"')?.1.rsplit_once('"')?.0;
    Some(quoted.replace("\\\"", "\"").replace("\\\\", "\\"))
}
