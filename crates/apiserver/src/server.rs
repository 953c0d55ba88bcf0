//! A running server: store, resources, TLS, credentials, housekeeping.

mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::authz::Rbac;
use crate::clock::{Clock, RandomUids, SystemClock, Uids};
use crate::gateway::{Authorizer, Gateway, User};
use crate::http::{Credentials, Door};
use crate::logic::WriteOptions;
use crate::registry::{Converter, Resource, builtins};
use crate::status::Failure;
use crate::storage::{Backend, Durability, Memory, Options, RedbFile, StorageError, Store};
use crate::verbs::handle::ServerHandle;
use crate::verbs::{Core, Target};

pub use tls::{Identity, TlsError};

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The object store.
    #[error("open the object store")]
    Store(#[source] StorageError),
    /// The data directory.
    #[error("prepare the data directory {path}")]
    Data {
        /// Where it lies.
        path: PathBuf,
        /// What the file system said.
        #[source]
        source: std::io::Error,
    },
    /// Certificates.
    #[error("prepare the certificates")]
    Tls(#[source] TlsError),
    /// The socket.
    #[error("listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// First objects.
    #[error("write the first objects")]
    Bootstrap(#[source] Failure),
    /// A definition that the embedding program gave.
    #[error("install the definition {name}: {why}")]
    Definition {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Gathers what a server is made of.
pub struct ServerBuilder {
    data: Option<PathBuf>,
    backend: Option<Box<dyn Backend>>,
    durability: Durability,
    options: Options,
    crds: Vec<Value>,
    resources: Vec<Resource>,
    converters: BTreeMap<String, Arc<dyn Converter>>,
    clock: Arc<dyn Clock>,
    uids: Arc<dyn Uids>,
    authorizer: Option<Arc<dyn Authorizer>>,
    roles: Vec<Value>,
    tokens: Vec<(String, User)>,
}

impl std::fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            data: None,
            backend: None,
            durability: Durability::Immediate,
            options: Options {
                threaded: true,
                ..Options::default()
            },
            crds: Vec::new(),
            resources: Vec::new(),
            converters: BTreeMap::new(),
            clock: Arc::new(SystemClock),
            uids: Arc::new(RandomUids),
            authorizer: None,
            roles: Vec::new(),
            tokens: Vec::new(),
        }
    }
}

impl ServerBuilder {
    /// Keeps objects and certificates in a directory; without it nothing survives.
    #[must_use]
    pub fn data_dir(mut self, path: &Path) -> Self {
        self.data = Some(path.to_owned());
        self
    }

    /// Keeps objects on this medium instead of the data directory.
    #[must_use]
    pub fn backend(mut self, backend: Box<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Says when a write counts as done.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the store's options; `threaded: false` makes it deterministic.
    #[must_use]
    pub fn store_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Installs a `CustomResourceDefinition` at the start, as if it had been applied.
    #[must_use]
    pub fn crd(mut self, crd: Value) -> Self {
        self.crds.push(crd);
        self
    }

    /// Converts between the versions of a definition (`plural.group`) in process, whatever it says about webhooks.
    #[must_use]
    pub fn converter(mut self, definition: &str, converter: Arc<dyn Converter>) -> Self {
        self.converters.insert(definition.to_owned(), converter);
        self
    }

    /// Serves a resource of the embedding program that is no CRD.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Sets the clock that objects are stamped with.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of uids and generated names.
    #[must_use]
    pub fn uids(mut self, uids: Arc<dyn Uids>) -> Self {
        self.uids = uids;
        self
    }

    /// Sets who may do what; by default what roles and bindings say ([`Rbac`]).
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Adds a `ClusterRole` to the default ones; labelled so that `admin`, `edit` or `view` gather it.
    #[must_use]
    pub fn cluster_role(mut self, role: Value) -> Self {
        self.roles.push(role);
        self
    }

    /// Accepts a bearer token as a user.
    #[must_use]
    pub fn token(mut self, token: &str, user: User) -> Self {
        self.tokens.push((token.to_owned(), user));
        self
    }

    /// Opens the store and makes everything ready, without a socket: enough for in-process use.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn build(mut self) -> Result<Server, StartError> {
        let backend = match (self.backend.take(), &self.data) {
            (Some(backend), _) => backend,
            (None, Some(path)) => {
                let prepare = |source| StartError::Data {
                    path: path.clone(),
                    source,
                };
                std::fs::create_dir_all(path).map_err(prepare)?;
                let file = RedbFile::open(&path.join("objects.redb"), self.durability);
                Box::new(file.map_err(StartError::Store)?)
            }
            (None, None) => Box::new(Memory::new()),
        };
        let store = Store::open(backend, self.options.clone()).map_err(StartError::Store)?;
        let mut core = Core::new(store, Arc::clone(&self.clock), Arc::clone(&self.uids));
        core.converters = std::mem::take(&mut self.converters);
        for resource in builtins::resources()
            .into_iter()
            .chain(self.resources.drain(..))
        {
            core.registry.put(resource);
        }
        let first = core.store.rv() == 0;
        core.bootstrap().await.map_err(StartError::Bootstrap)?;
        let roles = core.bootstrap_roles(&self.roles).await;
        roles.map_err(StartError::Bootstrap)?;
        let authorizer = self.authorizer.take();
        let rbac = || -> Arc<dyn Authorizer> { Arc::new(Rbac::new(core.store.clone())) };
        let authorizer = authorizer.unwrap_or_else(rbac);
        core.authorizer.get_or_init(|| Arc::clone(&authorizer));
        for crd in &self.crds {
            install(&core, crd).await?;
        }
        core.load_crds().await.map_err(StartError::Bootstrap)?;
        if first {
            // Nobody has seen the versions of the first objects.
            core.store.compact();
        }
        Ok(Server {
            core: Arc::new(core),
            data: self.data,
            authorizer,
            tokens: self.tokens,
        })
    }
}

/// Creates a definition, or brings its spec up to date.
async fn install(core: &Core, crd: &Value) -> Result<(), StartError> {
    let name = crate::logic::meta(crd, "name").to_owned();
    let fail = |why: String| StartError::Definition {
        name: name.clone(),
        why,
    };
    Resource::from_crd(crd).map_err(|e| fail(e.to_string()))?;
    let catalog = core.registry.catalog();
    let resource = catalog.get("apiextensions.k8s.io", "customresourcedefinitions");
    let resource = resource.ok_or_else(|| fail("definitions are not served".to_owned()))?;
    let target = Target::stored(resource, "", &name);
    let whose = core.own("system:apiserver");
    let options = WriteOptions {
        field_manager: whose.agent.clone(),
        ..WriteOptions::default()
    };
    let created = core
        .create(&target.clone().at("", ""), &whose, crd.clone(), &options)
        .await;
    let written = match created {
        Err(failure) if failure.reason == "AlreadyExists" => {
            let patch =
                serde_json::json!({"spec": crd.get("spec"), "metadata": crd.get("metadata")});
            core.patch(
                &target,
                &whose,
                crate::logic::patching::PatchKind::Merge,
                &patch,
                &options,
            )
            .await
        }
        other => other,
    };
    written.map(drop).map_err(|failure| fail(failure.message))
}

/// An opened server. It serves in process at once and a socket after [`Server::listen`].
#[derive(Debug)]
pub struct Server {
    core: Arc<Core>,
    data: Option<PathBuf>,
    authorizer: Arc<dyn Authorizer>,
    tokens: Vec<(String, User)>,
}

impl std::fmt::Debug for dyn Authorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authorizer")
    }
}

impl Server {
    /// Starts gathering what a server is made of.
    #[must_use]
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// The handle for the embedding program.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(Arc::clone(&self.core))
    }

    /// Says who handles write-through and virtual resources.
    pub fn set_gateway(&self, gateway: Arc<dyn Gateway>) {
        self.handle().set_gateway(gateway);
    }

    /// The router, for in-process clients: identities come as a [`Whose`](crate::verbs::Whose) request extension.
    pub fn router(&self, address: &str) -> Router {
        let accept = |credentials: Credentials, (token, user): &(String, User)| {
            credentials.with_token(token, user.clone())
        };
        let credentials = self.tokens.iter().fold(Credentials::default(), accept);
        let door = Door::new(
            Arc::clone(&self.core),
            credentials,
            Arc::clone(&self.authorizer),
            address,
        );
        door.router()
    }

    /// Serves TLS on a socket and does the housekeeping, until [`Running::stop`].
    ///
    /// # Errors
    /// The certificates or the socket cannot be had.
    pub async fn listen(&self, address: SocketAddr) -> Result<Running, StartError> {
        let identity = Identity::load_or_make(self.data.as_deref()).map_err(StartError::Tls)?;
        let acceptor = identity.acceptor().map_err(StartError::Tls)?;
        let fail = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let bound = listener.local_addr().map_err(fail)?;
        let (stop, stopped) = watch::channel(false);
        let router = self.router(&bound.to_string());
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, acceptor, router, stopped.clone()));
        tasks.spawn(keep(Arc::clone(&self.core), stopped));
        Ok(Running {
            address: bound,
            ca: identity.ca_pem,
            core: Arc::clone(&self.core),
            stop,
            tasks,
        })
    }
}

/// A server with a socket.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// The certificate authority that clients must trust, PEM.
    pub ca: String,
    core: Arc<Core>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

/// How long open requests may take to finish when a server stops.
const DRAIN: std::time::Duration = std::time::Duration::from_secs(5);

impl Running {
    /// Stops accepting, ends watches, waits for open requests, makes everything durable.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let drained = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            tracing::warn!("requests were still open after the grace period");
        }
        self.tasks.abort_all();
        let core = Arc::clone(&self.core);
        if tokio::task::spawn_blocking(move || core.store.close())
            .await
            .is_err()
        {
            tracing::error!("closing the object store ended by a panic");
        }
    }

    /// A kubeconfig for a bearer token.
    #[must_use]
    pub fn kubeconfig(&self, context: &str, token: &str) -> String {
        use base64::Engine as _;
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {context}\nclusters:\n- name: {context}\n  cluster:\n    certificate-authority-data: {ca}\n    server: https://{}\ncontexts:\n- name: {context}\n  context:\n    cluster: {context}\n    user: {context}\nusers:\n- name: {context}\n  user:\n    token: {token}\n",
            self.address
        )
    }
}

async fn keep(core: Arc<Core>, mut stopped: watch::Receiver<bool>) {
    loop {
        if let Err(failure) = core.housekeeping().await {
            tracing::warn!(%failure, "housekeeping will be tried again");
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
        tokio::select! {
            () = core.store.changed() => {}
            _ = stopped.changed() => return,
        }
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = stopped.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(connection(socket, acceptor.clone(), router.clone(), stopped.clone()));
                }
                Err(error) => {
                    // Out of descriptors, most likely: wait instead of spinning.
                    tracing::warn!(%error, "accept a connection");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    while connections.join_next().await.is_some() {}
}

async fn connection(
    socket: TcpStream,
    acceptor: TlsAcceptor,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    const HANDSHAKE: std::time::Duration = std::time::Duration::from_secs(10);
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "set nodelay");
    }
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(socket)).await else {
        return;
    };
    let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(HANDSHAKE);
    builder
        .http2()
        .timer(hyper_util::rt::TokioTimer::new())
        .max_concurrent_streams(250);
    let service = TowerToHyperService::new(router);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        _ = stopped.changed() => {
            serving.as_mut().graceful_shutdown();
            // Watches do not end by themselves: give plain requests a moment, then hang up.
            match tokio::time::timeout(std::time::Duration::from_secs(1), serving.as_mut()).await {
                Ok(ended) => ended,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
