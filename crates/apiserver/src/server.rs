//! A running server: store, resources, TLS, credentials, housekeeping.

mod connections;
mod gather;
mod meter;
mod open;
mod running;
mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::aggregated::Host;
use crate::audit::Audit;
use crate::authn::{Authenticator, Certificates, TokenKeys};
use crate::authz::Rbac;
use crate::clock::{Clock, RandomUids, SystemClock, Uids};
use crate::gateway::{Authorizer, Gateway, User};
use crate::http::{Door, Guard};
use crate::limits::Limits;
use crate::verbs::handle::ServerHandle;
use crate::verbs::{Core, Target, keep as housekeeping};

use connections::Serving;
use objects::logic::WriteOptions;
use objects::resource::{Converter, builtins};
use objects::{Failure, Reason, Resource};
use objectstore::{Backend, Durability, Memory, Options, StorageError, Store};
pub use running::Running;
pub use tls::{Identity, Issued, ServingCertificate, TlsError};

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
    how: open::How,
    options: Options,
    crds: Vec<Value>,
    resources: Vec<Resource>,
    converters: BTreeMap<String, Arc<dyn Converter>>,
    clock: Arc<dyn Clock>,
    uids: Arc<dyn Uids>,
    authorizer: Option<Arc<dyn Authorizer>>,
    roles: Vec<Value>,
    tokens: Vec<(String, User)>,
    limits: Limits,
    audit: Option<Audit>,
    host: Option<Arc<dyn Host>>,
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
            how: open::How::default(),
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
            limits: Limits::default(),
            audit: None,
            host: None,
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
        self.how.durability = durability;
        self
    }

    /// Says that the data directory was used before, where more than its keys tell: a store that is missing or empty there
    /// is refused.
    #[must_use]
    pub fn used_before(mut self, used: bool) -> Self {
        self.how.used = used;
        self
    }

    /// Begins with an empty store where that of the data directory is damaged or missing; what is found is kept beside it.
    #[must_use]
    pub fn begin_anew(mut self, anew: bool) -> Self {
        self.how.anew = anew;
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

    /// Sets how much is done at once, and for how long.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Writes an audit log.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Accepts a bearer token as a user.
    #[must_use]
    pub fn token(mut self, token: &str, user: User) -> Self {
        self.tokens.push((token.to_owned(), user));
        self
    }

    /// Serves its resources within a cluster that keeps everything else: no built-in kinds, roles, namespaces or collector
    /// of its own, and records are kept there. Who may do what is for [`Self::authorizer`] to ask that cluster.
    #[must_use]
    pub fn aggregated(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Opens the store and makes everything ready, without a socket: enough for in-process use.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn build(mut self) -> Result<Server, StartError> {
        let options = self.options.clone();
        let store = match (self.backend.take(), &self.data) {
            (Some(backend), _) => Store::open(backend, options),
            (None, Some(path)) => {
                let prepare = |source| StartError::Data {
                    path: path.clone(),
                    source,
                };
                objectstore::files::directory(path).map_err(prepare)?;
                open::store(path, self.how, &options)
            }
            (None, None) => Store::open(Box::new(Memory::new()), options),
        };
        let store = store.map_err(StartError::Store)?;
        let mut core = Core::new(store, Arc::clone(&self.clock), Arc::clone(&self.uids));
        core.converters = std::mem::take(&mut self.converters);
        core.host = self.host.take();
        let built_in = match core.host {
            Some(_) => Vec::new(),
            None => builtins::resources(),
        };
        for resource in built_in.into_iter().chain(self.resources.drain(..)) {
            core.registry.put(resource);
        }
        let first = core.store.rv() == 0;
        if core.host.is_none() {
            core.bootstrap().await.map_err(StartError::Bootstrap)?;
            let roles = core.bootstrap_roles(&self.roles).await;
            roles.map_err(StartError::Bootstrap)?;
        }
        let authorizer = self.authorizer.take();
        let rbac = || -> Arc<dyn Authorizer> { Arc::new(Rbac::new(core.store.clone())) };
        let authorizer = authorizer.unwrap_or_else(rbac);
        core.authorizer.get_or_init(|| Arc::clone(&authorizer));
        for crd in &self.crds {
            install(&core, crd).await?;
        }
        if core.host.is_none() {
            core.load_crds().await.map_err(StartError::Bootstrap)?;
        }
        if first && core.host.is_none() {
            // Nobody has seen the versions of the first objects.
            core.store.compact();
        }
        let data = self.data.as_deref();
        let identity = Identity::load_or_make(data).map_err(StartError::Tls)?;
        let keys = TokenKeys::of(&tls::key_pair(data, "sa.key").map_err(StartError::Tls)?);
        let guard = Guard::new(self.limits, self.audit);
        core.metrics.watch_connections(guard.connections());
        Ok(Server {
            core: Arc::new(core),
            certificates: identity.certificates().map_err(StartError::Tls)?,
            identity,
            keys: Arc::new(keys),
            limits: self.limits,
            guard: Arc::new(guard),
            authorizer,
            tokens: self.tokens,
        })
    }
}

/// Creates a definition, or brings its spec up to date.
async fn install(core: &Core, crd: &Value) -> Result<(), StartError> {
    let name = objects::logic::meta(crd, "name").to_owned();
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
        Err(failure) if failure.reason == Reason::AlreadyExists => {
            let patch =
                serde_json::json!({"spec": crd.get("spec"), "metadata": crd.get("metadata")});
            core.patch(
                &target,
                &whose,
                objects::logic::patching::PatchKind::Merge,
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
    identity: Identity,
    certificates: Certificates,
    keys: Arc<TokenKeys>,
    limits: Limits,
    guard: Arc<Guard>,
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

    /// Signs a certificate for a client: `name` is the user, `groups` holds at most one group.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn issue(&self, name: &str, groups: &[String], days: u16) -> Result<Issued, StartError> {
        let issued = self.identity.issue(name, groups, days);
        issued.map_err(StartError::Tls)
    }

    /// Judges the certificates of clients, for routers that are served otherwise: a [`Peer`](crate::authn::Peer)
    /// is a request extension.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The router, for in-process clients: identities come as a [`Whose`](crate::verbs::Whose) request extension.
    pub fn router(&self, address: &str) -> Router {
        let authenticator = Authenticator::new(
            Arc::clone(&self.core),
            self.tokens.clone(),
            Arc::clone(&self.keys),
        );
        let door = Door::new(
            Arc::clone(&self.core),
            authenticator,
            Arc::clone(&self.authorizer),
            Arc::clone(&self.guard),
            address,
        );
        door.router()
    }

    /// Serves TLS on a socket and does the housekeeping, until [`Running::stop`].
    ///
    /// # Errors
    /// The certificates or the socket cannot be had.
    pub async fn listen(&self, address: SocketAddr) -> Result<Running, StartError> {
        let acceptor = self.identity.acceptor(address.ip());
        let acceptor = acceptor.map_err(StartError::Tls)?;
        self.listen_with(address, acceptor, |router| router).await
    }

    /// The same with a certificate that somebody else made and may replace; `around` puts around the API what else is done
    /// there. Whatever certificate a client brings is taken, and judged afterwards.
    ///
    /// # Errors
    /// The certificate or the socket cannot be used.
    pub async fn listen_as(
        &self,
        address: SocketAddr,
        shown: &ServingCertificate,
        around: impl FnOnce(Router) -> Router,
    ) -> Result<Running, StartError> {
        let acceptor = tls::acceptor_of(shown).map_err(StartError::Tls)?;
        self.listen_with(address, acceptor, around).await
    }

    async fn listen_with(
        &self,
        address: SocketAddr,
        acceptor: TlsAcceptor,
        around: impl FnOnce(Router) -> Router,
    ) -> Result<Running, StartError> {
        let serving = Serving {
            acceptor,
            certificates: self.certificates.clone(),
            router: Router::new(),
            limits: self.limits,
            connections: self.guard.connections().clone(),
            judged_by_host: self.core.host.is_some(),
        };
        let fail = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let bound = listener.local_addr().map_err(fail)?;
        let (stop, stopped) = watch::channel(false);
        let router = around(self.router(&bound.to_string()));
        let serving = Serving { router, ..serving };
        let mut tasks = JoinSet::new();
        tasks.spawn(connections::accept(listener, serving, stopped.clone()));
        if self.core.host.is_none() {
            tasks.spawn(housekeeping(Arc::clone(&self.core), stopped));
        }
        Ok(Running {
            address: bound,
            ca: self.identity.ca_pem.clone(),
            core: Arc::clone(&self.core),
            stop,
            tasks,
        })
    }
}
